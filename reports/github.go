package reports

import (
	"fmt"
	"io"
	"strings"
)

// GitHub shows ten annotations of a step and drops the rest in silence.
const maxAnnotations = 10

// Annotations writes a workflow command of GitHub Actions for each thing that is
// not as expected: an error for a violation or a defect that survived, a warning
// for what is inconclusive. Of more than ten, the last says how many are missing.
func Annotations(w io.Writer, doc *Document) error {
	if err := doc.validate(); err != nil {
		return err
	}
	all := troubles(doc)
	for i, t := range all {
		if i == maxAnnotations-1 && len(all) > maxAnnotations {
			t = trouble{title: "staleproof", text: fmt.Sprintf("and %d more that are not as expected; the job summary and the report have them all", len(all)-i)}
		}
		level := "error"
		if t.inconclusive {
			level = "warning"
		}
		text := t.text
		if t.short != "" {
			text += "\n" + t.short
		}
		if t.replay != "" {
			text += "\n" + t.replay
		}
		if _, err := fmt.Fprintf(w, "::%s title=%s::%s\n", level, commandProperty(t.title), commandData(text)); err != nil {
			return fmt.Errorf("annotations: %w", err)
		}
		if i == maxAnnotations-1 {
			break
		}
	}
	return nil
}

// trouble is something that is not as expected.
type trouble struct {
	title, text, short, replay string
	inconclusive               bool
}

func troubles(doc *Document) []trouble {
	var out []trouble
	for i := range doc.Runs {
		r := &doc.Runs[i]
		name := r.Scenario
		if !r.control() {
			name += " with " + r.defect()
		}
		switch {
		case r.passed():
		case r.Status == Inconclusive:
			out = append(out, trouble{title: name + ": inconclusive", text: inconclusive(r).Message, inconclusive: true})
		default:
			out = append(out, r.troubles(name)...)
		}
	}
	return out
}

// troubles of a run that is not as expected: its findings, what it broke without
// one, and what it did not break.
func (r *Run) troubles(name string) []trouble {
	var out []trouble
	told := map[string]bool{}
	for j := range r.Findings {
		f := &r.Findings[j]
		told[f.Property] = true
		out = append(out, trouble{title: name + ": " + f.Property, text: f.Message, short: f.Short(), replay: f.Replay})
	}
	for _, p := range union(r.Broken, missed(r)) {
		if !told[p] {
			out = append(out, trouble{title: name + ": " + p, text: failure(r, p).Message})
		}
	}
	if len(out) == 0 {
		out = append(out, trouble{title: name, text: failure(r, "").Message})
	}
	return out
}

// missed lists the properties that a defect had to break and did not.
func missed(r *Run) []string {
	var out []string
	for _, b := range r.Breaks {
		if !has(r.Broken, b) {
			out = append(out, b)
		}
	}
	return out
}

// commandData escapes the text of a workflow command.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(legibleText(s))
}

// commandProperty escapes the value of a workflow command's property.
func commandProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(s))
}

// A job summary may have 1 MiB; this many troubles and runs stay far below.
const (
	maxSummaryTroubles = 50
	maxSummaryRuns     = 500
)

// Summary writes doc as the Markdown of a job summary: append it to the file
// that GITHUB_STEP_SUMMARY names. The verdict first, then what is not as
// expected with its replay commands, then a table of the runs.
func Summary(w io.Writer, doc *Document) error {
	if err := doc.validate(); err != nil {
		return err
	}
	var b strings.Builder
	all := troubles(doc)
	wrong, open := 0, 0
	for i := range doc.Runs {
		switch r := &doc.Runs[i]; {
		case r.Status == Inconclusive:
			open++
		case !r.Expected:
			wrong++
		}
	}
	_, words := verdict(len(doc.Runs), wrong, open)
	fmt.Fprintf(&b, "## Staleproof: %s\n\n", words)
	for i, t := range all {
		if i == maxSummaryTroubles {
			fmt.Fprintf(&b, "… and %d more; the report has them all.\n\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "**%s**<br>%s\n\n", markdown(t.title), markdown(t.text))
		if t.short != "" {
			fmt.Fprintf(&b, "%s\n\n", markdown(t.short))
		}
		if t.replay != "" {
			fmt.Fprintf(&b, "    %s\n\n", strings.ReplaceAll(legibleText(t.replay), "\n", " "))
		}
	}
	b.WriteString("| scenario | defect | verdict | schedules | broken |\n|---|---|---|---:|---|\n")
	for i := range doc.Runs {
		if i == maxSummaryRuns {
			fmt.Fprintf(&b, "\n… and %d more.\n", len(doc.Runs)-i)
			break
		}
		r := &doc.Runs[i]
		what, effort := r.defect(), thousands(r.Schedules)
		switch {
		case r.recorded():
			what, effort = "a recorded history", ""
		case r.States > 0:
			effort = r.effort()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", markdown(r.Scenario), markdown(what), newSuiteRun(r, make([]string, len(r.Findings))).Word, effort, markdown(strings.Join(r.Broken, ", ")))
	}
	if _, err := io.WriteString(w, b.String()+"\n"); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

// markdown escapes text for a paragraph or a table's cell of GitHub's Markdown:
// whatever could be markup, a mention or a reference stands as itself.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range legibleText(s) {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case strings.ContainsRune("\\`*_{}[]()<>#+!|~@&\"'$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	// A bare address would become a link.
	return strings.ReplaceAll(b.String(), "://", "&#58;//")
}
