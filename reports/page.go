package reports

import (
	"embed"
	"html/template"
	"io"
)

//go:embed templates
var files embed.FS

var templates = template.Must(template.New("").ParseFS(files, "templates/*.html"))

func renderSuite(w io.Writer, doc *Document, names [][]string) error {
	return templates.ExecuteTemplate(w, "suite", map[string]any{"Doc": doc, "Names": names})
}

func renderFinding(w io.Writer, doc *Document, run, finding int) error {
	return templates.ExecuteTemplate(w, "finding", map[string]any{"Run": &doc.Runs[run], "Finding": &doc.Runs[run].Findings[finding]})
}
