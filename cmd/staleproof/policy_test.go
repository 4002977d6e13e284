// Package main_test holds the policy of the whole repository: which package
// may import which, and what code that must be deterministic may not do. It
// parses the sources, so that nobody has to remember. The policy is changed
// when the design is, not to make a build pass.
package main_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "staleproof"
	root   = "../.." // of the repository, from this folder
)

// layers says what of this module a folder's packages may import, tests
// excepted. The first row that fits decides.
//
//	sim, model/history  <  model  <  scenarios  <  reports  <  cmd/staleproof
//	model/history       <  checker  <  scenarios
var layers = []struct {
	dir string
	may []string
}{
	{"model/history", nil},
	{"sim", []string{"sim"}},
	{"model", []string{"model", "sim"}},
	{"checker", []string{"checker", "model/history"}},
	{"scenarios", []string{"scenarios", "sim", "model", "checker"}},
	{"reports", []string{"reports", "scenarios", "sim", "model", "checker"}},
	{"cmd", []string{"cmd", "reports", "scenarios", "sim", "model", "checker"}},
}

// dependencies says who may import code from outside the standard library.
var dependencies = []struct {
	module string
	dirs   []string
	tests  bool // any test may too
}{
	// rapid adds flags to every program that imports it.
	{"pgregory.net/rapid", []string{"scenarios/fuzz", "cmd"}, true},
	{"github.com/google/go-cmp", nil, true},
	{"github.com/anishathalye/porcupine", []string{"checker"}, false},
	{"github.com/spf13/cobra", []string{"cmd"}, false},
	{"github.com/spf13/pflag", []string{"cmd"}, false},
	{"github.com/mattn/go-isatty", []string{"cmd"}, false},
	{"github.com/goccy/go-yaml", []string{"cmd", "scenarios"}, false},
}

// deterministic are the folders whose code, tests excepted, must do the same
// on every run.
var deterministic = []string{"sim", "model", "scenarios", "checker"}

// exempt are folders below those that run many worlds, or real systems, and
// decide nothing inside a world.
var exempt = []string{
	"sim/watchdog",              // reports a process that blocks: it needs the real clock
	"sim/realtime",              // what sim falls back to for a context without a process
	"sim/explore",               // searches with several workers
	"scenarios/search",          // sweeps seeds in parallel
	"scenarios/storetest",       // runs against real stores
	"scenarios/coordinatortest", // runs against real lease managers
}

// bannedImports have no use in deterministic code.
var bannedImports = map[string]string{
	"math/rand":    "let the world choose (sim.Proc.Choose)",
	"math/rand/v2": "let the world choose (sim.Proc.Choose)",
	"crypto/rand":  "let the world choose (sim.Proc.Choose)",
	"hash/maphash": "hash with sim.Mix: its seeds differ between runs",
	"sync":         "the world runs one process at a time; use sim.Mutex inside a process",
	"sync/atomic":  "the world runs one process at a time",
	"unsafe":       "do without: addresses differ between runs",
	"C":            "write it in Go: nothing is known of what C code does",
}

// excused are uses of what is banned, file by file, in which no difference from
// run to run shows.
var excused = map[string]string{
	"sim/message.go":             "unsafe",                 // types are compared by one word, whichever that is
	"sim/slot.go":                "unsafe",                 // boxes are recognized by where they lie: the same hash either way
	"model/history/identical.go": "unsafe",                 // a short cut: texts that are not recognized are compared
	"sim/cell.go":                "reflect.Value.Pointer",  // addresses of code are told from the beginning of the code
	"model/watch.go":             "reflect.Value.MapRange", // the entries are sorted by their keys
	"sim/realtime.go":            "context.WithTimeout",    // for a context without a process, which no world runs
	"scenarios/test.go":          "os.Getenv",              // which run a test replays, said by who starts it
	"scenarios/fuzz/property.go": "os.Getenv",              // the same
	"model/history/formats.go":   "os.Open",                // the history that is to be judged
}

// bannedUses are functions, methods and variables whose results differ between
// runs or machines, by package: what each is, and what to do instead.
var bannedUses = map[string]struct {
	names  string
	advice string
}{
	"time": {"Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker Local Time.Local",
		"use the process's own clock (sim.Now, sim.Sleep)"},
	"context": {"WithDeadline WithDeadlineCause WithTimeout WithTimeoutCause WithCancel WithCancelCause AfterFunc",
		"use the process's own clock and tasks (sim.WithTimeout, sim.Go): these wait in goroutines and for the machine's clock"},
	"os": {"Getpid Getppid Getuid Geteuid Getgid Getegid Getgroups Hostname Getwd Executable TempDir CreateTemp MkdirTemp " +
		"Getenv LookupEnv Environ ExpandEnv UserHomeDir UserCacheDir UserConfigDir Args Stdin " +
		"Open OpenFile OpenInRoot OpenRoot DirFS ReadFile ReadDir Readlink Stat Lstat",
		"let the scenario say it: every machine and run has another"},
	"syscall": {"Getenv Environ Getpid Gettimeofday Open Read Stat", "let the scenario say it: every machine and run has another"},
	"runtime": {"NumGoroutine NumCPU NumCgoCall GOMAXPROCS Gosched ReadMemStats SetFinalizer AddCleanup",
		"decide nothing by what the machine does besides"},
	"reflect": {"Value.MapKeys Value.MapRange Value.Pointer Value.UnsafePointer Value.UnsafeAddr Select",
		"addresses and the order of a map differ between runs"},
}

// source is one parsed file.
type source struct {
	dir  string // of the package, from the root: "sim/explore"
	test bool
	fset *token.FileSet
	file *ast.File
}

func parse(fset *token.FileSet, dir, name string, text any) (*source, error) {
	file, err := parser.ParseFile(fset, path.Join(dir, name), text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{dir: dir, test: strings.HasSuffix(name, "_test.go"), fset: fset, file: file}, nil
}

// mustBeDeterministic says whether the bans hold for this file.
func (s *source) mustBeDeterministic() bool {
	return !s.test && within(s.dir, deterministic) && !within(s.dir, exempt)
}

// within says whether the folder is one of those, or below one.
func within(dir string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return dir == d || strings.HasPrefix(dir, d+"/") })
}

// problem says where a rule is broken and what to do instead.
func (s *source) problem(at ast.Node, rule, advice string) string {
	p := s.fset.Position(at.Pos())
	return fmt.Sprintf("%s:%d: %s; %s", p.Filename, p.Line, rule, advice)
}

// check applies every rule that needs no types.
func (s *source) check() []string {
	problems := s.checkImports()
	if s.mustBeDeterministic() {
		problems = append(problems, s.checkBannedImports()...)
		problems = append(problems, s.checkLinks()...)
		problems = append(problems, s.checkSyntax()...)
	}
	return problems
}

func (s *source) checkImports() []string {
	var problems []string
	for _, spec := range s.file.Imports {
		target := importPath(spec)
		first, _, _ := strings.Cut(target, "/")
		rule, advice := "", ""
		switch {
		case first == module:
			rule, advice = s.checkLayer(strings.TrimPrefix(strings.TrimPrefix(target, module), "/"))
		case strings.Contains(first, "."):
			rule, advice = s.checkDependency(target)
		}
		if rule != "" {
			problems = append(problems, s.problem(spec, rule, advice))
		}
	}
	return problems
}

func importPath(spec *ast.ImportSpec) string {
	target, _ := strconv.Unquote(spec.Path.Value)
	return target
}

// checkLayer holds an import of this module against the layers.
func (s *source) checkLayer(target string) (rule, advice string) {
	if s.test {
		return "", "" // the compiler refuses what would turn the arrows round
	}
	for _, layer := range layers {
		if !within(s.dir, []string{layer.dir}) {
			continue
		}
		if within(target, layer.may) {
			return "", ""
		}
		may := "nothing of this module"
		if len(layer.may) > 0 {
			may = "only " + strings.Join(layer.may, ", ")
		}
		return s.dir + " imports " + target, layer.dir + " may import " + may + ": move the code to where the arrows of the design allow it"
	}
	return s.dir + " imports " + target, "the folder is none of the design's: put the package below one of them"
}

// checkDependency holds an import from outside against the dependencies.
func (s *source) checkDependency(target string) (rule, advice string) {
	for _, d := range dependencies {
		if !within(target, []string{d.module}) {
			continue
		}
		if s.test && d.tests || within(s.dir, d.dirs) {
			return "", ""
		}
		who := strings.Join(d.dirs, ", ")
		if d.tests {
			who = strings.TrimPrefix(who+", tests", ", ")
		}
		return s.dir + " imports " + target, "only " + who + " may"
	}
	return s.dir + " imports " + target, "the design names the dependencies, and this is none; do without it, or put it in a module of its own"
}

func (s *source) checkBannedImports() []string {
	var problems []string
	for _, spec := range s.file.Imports {
		target := importPath(spec)
		file := filepath.ToSlash(s.fset.Position(spec.Pos()).Filename)
		if advice, banned := bannedImports[target]; banned && excused[file] != target {
			problems = append(problems, s.problem(spec, "an import of "+target, advice))
		}
		if (target == "time" || target == "maps") && spec.Name != nil && spec.Name.Name == "." {
			problems = append(problems, s.problem(spec, "an import of "+target+" under no name", "give it one, so that its calls can be checked"))
		}
	}
	return problems
}

// checkLinks finds code that is not Go of this module: what a function is linked
// to may be anything, such as the runtime's clock.
func (s *source) checkLinks() []string {
	var problems []string
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname") {
				problems = append(problems, s.problem(c, "a go:linkname", "call what is exported, or do without"))
			}
		}
	}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil {
			problems = append(problems, s.problem(f, "function "+f.Name.Name+" without a body", "write it in Go"))
		}
	}
	return problems
}

// nameOf returns the name under which the file imports a package of the
// standard library, or "" when it does not.
func (s *source) nameOf(target string) string {
	for _, spec := range s.file.Imports {
		if importPath(spec) != target {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(target)
	}
	return ""
}

// pointerVerb finds %p, with any flags but a space: "50 % per" is prose.
var pointerVerb = regexp.MustCompile(`%[-+#0-9.*\[\]]*p`)

// checkSyntax looks at every statement and expression.
func (s *source) checkSyntax() []string {
	var problems []string
	add := func(at ast.Node, rule, advice string) { problems = append(problems, s.problem(at, rule, advice)) }
	mapsName, slicesName := s.nameOf("maps"), s.nameOf("slices")
	names := make(map[string]string) // of the packages of which not everything may be used
	for target := range bannedUses {
		names[target] = s.nameOf(target)
	}
	sorted := make(map[ast.Node]bool) // calls of package maps whose order is put right
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "a go statement", "start a task of the process (sim.Go)")
		case *ast.SelectStmt:
			add(n, "a select statement", "wait with sim.Proc.Wait, whose order is a choice")
		case *ast.BasicLit:
			s.checkLiteral(n, add)
		case *ast.Ident:
			switch n.Name {
			case "float32", "float64", "complex64", "complex128":
				add(n, "the type "+n.Name, "decide with integers: floats differ between machines")
			}
		case *ast.CallExpr:
			if name := selected(n.Fun, slicesName); (name == "Sorted" || name == "SortedFunc") && len(n.Args) > 0 {
				sorted[ast.Unparen(n.Args[0])] = true
			}
			if name := selected(n.Fun, mapsName); (name == "Keys" || name == "Values" || name == "All") && !sorted[n] {
				add(n, "the order of maps."+name, "sort it: slices.Sorted(maps.Keys(m))")
			}
		case *ast.SelectorExpr:
			for target, local := range names {
				if name := selected(n, local); name != "" && s.refuses(n, target, name) {
					add(n, "a use of "+target+"."+name, bannedUses[target].advice)
				}
			}
		}
		return true
	})
	return problems
}

func (s *source) checkLiteral(lit *ast.BasicLit, add func(at ast.Node, rule, advice string)) {
	if lit.Kind == token.STRING && pointerVerb.MatchString(strings.ReplaceAll(lit.Value, "%%", "")) {
		add(lit, "a format with %p", "print a name or a number: addresses differ between runs")
	}
}

// refuses says whether this file may not use what is at the node.
func (s *source) refuses(at ast.Node, target, name string) bool {
	file := filepath.ToSlash(s.fset.Position(at.Pos()).Filename)
	return banned(target, name) && excused[file] != target+"."+name
}

// banned says whether a function, Type.Method or variable of a package is.
func banned(target, name string) bool {
	return slices.Contains(strings.Fields(bannedUses[target].names), name)
}

// selected returns the name that the expression selects from the package, or
// "" when it is something else.
func selected(e ast.Expr, pkg string) string {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); !ok || pkg == "" || x.Name != pkg {
		return ""
	}
	return sel.Sel.Name
}

// checkTyped finds what takes the types of one package's files to see: loops
// over a map, float literals (1e9 may well be an integer), banned methods, banned
// uses under whatever name, and addresses that are printed. The errors are the
// compiler's.
func checkTyped(sources []*source, imports types.Importer) (problems []string, err error) {
	var files []*ast.File
	for _, s := range sources {
		files = append(files, s.file)
	}
	info := types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: imports, Sizes: types.SizesFor("gc", "amd64")}
	if _, err := config.Check(module+"/"+sources[0].dir, sources[0].fset, files, &info); err != nil {
		return nil, err
	}
	for _, s := range sources {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				if isMap(info.Types[n.X].Type) {
					problems = append(problems, s.problem(n, "a loop over a map", "its order differs between runs: loop over sorted keys, or keep a slice"))
				}
			case *ast.BasicLit:
				if isFloat(info.Types[n].Type) {
					problems = append(problems, s.problem(n, "the float "+n.Value, "count in integers of a smaller unit: floats differ between machines"))
				}
			case *ast.Ident:
				target, name := usedFrom(info.Uses[n])
				if s.refuses(n, target, name) {
					problems = append(problems, s.problem(n, "a use of "+target+"."+name, bannedUses[target].advice))
				}
			case *ast.CallExpr:
				if arg := printedAddress(n, &info); arg != nil {
					problems = append(problems, s.problem(arg, "an address that is printed, of a "+info.Types[arg].Type.String(), "print a name or a number: addresses differ between runs"))
				}
			}
			return true
		})
	}
	return problems, nil
}

// usedFrom returns the package of an object of another package, and its name there:
// that of a method with its type's before it.
func usedFrom(o types.Object) (target, name string) {
	if o == nil || o.Pkg() == nil {
		return "", ""
	}
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return o.Pkg().Path(), o.Name()
	}
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return o.Pkg().Path(), named.Obj().Name() + "." + o.Name()
	}
	return o.Pkg().Path(), o.Name()
}

// printedAddress returns the argument of a call of package fmt that is printed as
// an address, or nil.
func printedAddress(call *ast.CallExpr, info *types.Info) ast.Expr {
	fun := ast.Unparen(call.Fun)
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		fun = sel.Sel
	}
	id, ok := fun.(*ast.Ident)
	if !ok {
		return nil
	}
	target, name := usedFrom(info.Uses[id])
	if target != "fmt" || !strings.Contains(name, "rint") && !strings.HasPrefix(name, "Append") && name != "Errorf" {
		return nil
	}
	for i, arg := range call.Args {
		if i == 0 && strings.HasPrefix(name, "F") {
			continue // what is written to
		}
		if hasAddress(info.Types[arg].Type, 0, nil) {
			return arg
		}
	}
	return nil
}

// hasAddress says whether package fmt prints an address for a value of the type:
// it prints what a pointer points to at the outside only.
func hasAddress(t types.Type, depth int, above []types.Type) bool {
	if t == nil || depth > 8 || slices.Contains(above, t) || tellsItself(t) {
		return false
	}
	above = append(above, t)
	switch u := t.Underlying().(type) {
	case *types.Chan, *types.Signature:
		return true
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Pointer:
		switch u.Elem().Underlying().(type) {
		case *types.Struct, *types.Array, *types.Slice, *types.Map:
			return depth > 0 || hasAddress(u.Elem(), depth+1, above)
		}
		return true
	case *types.Slice:
		return hasAddress(u.Elem(), depth+1, above)
	case *types.Array:
		return hasAddress(u.Elem(), depth+1, above)
	case *types.Map:
		return hasAddress(u.Key(), depth+1, above) || hasAddress(u.Elem(), depth+1, above)
	case *types.Struct:
		for f := range u.Fields() {
			if hasAddress(f.Type(), depth+1, above) {
				return true
			}
		}
	}
	return false
}

// tellsItself says whether a value says in words what it is.
func tellsItself(t types.Type) bool {
	methods := types.NewMethodSet(t)
	for _, name := range []string{"String", "Error", "Format"} {
		if methods.Lookup(nil, name) != nil {
			return true
		}
	}
	return false
}

// isMap says whether the type is a map, or a type parameter that may be one.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface:
		for i := range u.NumEmbeddeds() {
			if isMap(u.EmbeddedType(i)) {
				return true
			}
		}
	case *types.Union:
		for i := range u.Len() {
			if isMap(u.Term(i).Type()) {
				return true
			}
		}
	}
	return false
}

// isFloat says whether the type is one of floating-point or complex numbers.
func isFloat(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
}

// compiled imports packages as the go command compiled them, which takes a
// tenth of the time that their sources would.
func compiled(t *testing.T, fset *token.FileSet, patterns ...string) types.Importer {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}, patterns...)...)
	list.Dir = root
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[name] = file
	}
	return importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		if files[name] == "" {
			return nil, fmt.Errorf("package %s does not compile", name)
		}
		return os.Open(files[name])
	})
}

// walk parses every file of the module, by folder. Nested modules are none of
// it.
func walk(t *testing.T, fset *token.FileSet) map[string][]*source {
	t.Helper()
	packages := make(map[string][]*source)
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if entry.IsDir() {
			return skipDir(name, dir)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parse(fset, path.Dir(dir), path.Base(dir), text)
		if err != nil {
			return err
		}
		packages[s.dir] = append(packages[s.dir], s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// skipDir returns fs.SkipDir for a folder that holds no code of this module.
func skipDir(name, dir string) error {
	if dir == "." {
		return nil
	}
	if base := path.Base(dir); base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func TestPolicy(t *testing.T) {
	fset := token.NewFileSet()
	packages := walk(t, fset)
	for _, dir := range append([]string{"model/history"}, deterministic...) {
		if len(packages[dir]) == 0 {
			t.Errorf("found no file in %s: the policy would hold of nothing", dir)
		}
	}
	imports := compiled(t, fset, "./sim/...", "./model/...", "./checker/...", "./scenarios/...")
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		sources := packages[dir]
		var built []*source
		for _, s := range sources {
			for _, problem := range s.check() {
				t.Error(problem)
			}
			name := filepath.Base(fset.Position(s.file.Pos()).Filename)
			match, err := build.Default.MatchFile(filepath.Join(root, dir), name)
			if err != nil {
				t.Error(err)
			}
			if match && s.mustBeDeterministic() {
				built = append(built, s)
			}
		}
		if len(built) == 0 {
			continue
		}
		problems, err := checkTyped(built, imports)
		if err != nil {
			t.Errorf("cannot check the types of %s: %v", dir, err)
		}
		for _, problem := range problems {
			t.Error(problem)
		}
	}
}

// Each rule is given a file that breaks it, and one like it that does not:
// a policy that accepts everything would pass TestPolicy.
func TestPolicyRefuses(t *testing.T) {
	const code = "package p\n\nfunc f() {\n"
	tests := []struct {
		name, dir, file, text string
		want                  string // the first problem's beginning; empty when there is none
	}{
		// Layers.
		{"history imports nothing", "model/history", "a.go", `package p; import _ "staleproof/sim"`, "model/history/a.go:1: model/history imports sim; "},
		{"sim imports nothing", "sim", "a.go", `package p; import _ "staleproof/model/history"`, "sim/a.go:1: sim imports model/history; "},
		{"sim imports what is below it", "sim", "a.go", `package p; import _ "staleproof/sim/watchdog"`, ""},
		{"below sim", "sim/explore", "a.go", `package p; import _ "staleproof/sim"`, ""},
		{"below sim, out of it", "sim/explore", "a.go", `package p; import _ "staleproof/checker"`, "sim/explore/a.go:1: sim/explore imports checker; "},
		{"model imports sim", "model", "a.go", `package p; import ( _ "staleproof/sim"; _ "staleproof/model/history" )`, ""},
		{"model imports no checker", "model", "a.go", `package p; import _ "staleproof/checker"`, "model/a.go:1: model imports checker; "},
		{"checker imports history", "checker", "a.go", `package p; import _ "staleproof/model/history"`, ""},
		{"checker imports no sim", "checker", "a.go", `package p; import _ "staleproof/sim"`, "checker/a.go:1: checker imports sim; "},
		{"checker imports no model", "checker", "a.go", `package p; import _ "staleproof/model"`, "checker/a.go:1: checker imports model; "},
		{"below checker", "checker/porcupined", "a.go", `package p; import _ "staleproof/model"`, "checker/porcupined/a.go:1: "},
		{"scenarios import all below", "scenarios", "a.go", `package p; import ( _ "staleproof/sim"; _ "staleproof/model"; _ "staleproof/model/history"; _ "staleproof/checker"; _ "staleproof/scenarios/search" )`, ""},
		{"scenarios import no reports", "scenarios", "a.go", `package p; import _ "staleproof/reports"`, "scenarios/a.go:1: scenarios imports reports; "},
		{"reports import all but cmd", "reports", "a.go", `package p; import ( _ "staleproof/scenarios"; _ "staleproof/sim"; _ "staleproof/checker"; _ "staleproof/model/history" )`, ""},
		{"nothing imports cmd", "reports", "a.go", `package p; import _ "staleproof/cmd/staleproof"`, "reports/a.go:1: reports imports cmd/staleproof; "},
		{"the command imports all", "cmd/staleproof", "a.go", `package p; import ( _ "staleproof/reports"; _ "staleproof/sim/explore" )`, ""},
		{"a name that only begins like one", "sim", "a.go", `package p; import _ "staleproof/simulator"`, "sim/a.go:1: sim imports simulator; "},
		{"a folder that is not in the design", "util", "a.go", `package p; import _ "staleproof/sim"`, "util/a.go:1: util imports sim; the folder is none"},
		{"tests import upwards", "sim", "a_test.go", `package p_test; import _ "staleproof/scenarios"`, ""},

		// Dependencies.
		{"rapid in a test", "sim", "a_test.go", `package p; import _ "pgregory.net/rapid"`, ""},
		{"rapid in the plan generator", "scenarios/fuzz", "a.go", `package p; import _ "pgregory.net/rapid"`, ""},
		{"rapid in the command", "cmd/staleproof", "a.go", `package p; import _ "pgregory.net/rapid"`, ""},
		{"rapid elsewhere", "scenarios", "a.go", `package p; import _ "pgregory.net/rapid"`, "scenarios/a.go:1: scenarios imports pgregory.net/rapid; only scenarios/fuzz, cmd, tests may"},
		{"porcupine in checker", "checker", "a.go", `package p; import _ "github.com/anishathalye/porcupine"`, ""},
		{"porcupine elsewhere", "scenarios", "a.go", `package p; import _ "github.com/anishathalye/porcupine"`, "scenarios/a.go:1: scenarios imports github.com/anishathalye/porcupine; only checker may"},
		{"porcupine in a test elsewhere", "model", "a_test.go", `package p; import _ "github.com/anishathalye/porcupine"`, "model/a_test.go:1: "},
		{"cobra in the command", "cmd/staleproof", "a.go", `package p; import _ "github.com/spf13/cobra"`, ""},
		{"cobra elsewhere", "reports", "a.go", `package p; import _ "github.com/spf13/cobra"`, "reports/a.go:1: "},
		{"isatty elsewhere", "reports", "a.go", `package p; import _ "github.com/mattn/go-isatty"`, "reports/a.go:1: "},
		{"yaml in scenarios", "scenarios/yaml", "a.go", `package p; import _ "github.com/goccy/go-yaml"`, ""},
		{"yaml elsewhere", "model", "a.go", `package p; import _ "github.com/goccy/go-yaml/ast"`, "model/a.go:1: "},
		{"go-cmp in a test", "model", "a_test.go", `package p; import _ "github.com/google/go-cmp/cmp"`, ""},
		{"go-cmp elsewhere", "cmd/staleproof", "a.go", `package p; import _ "github.com/google/go-cmp/cmp"`, "cmd/staleproof/a.go:1: cmd/staleproof imports github.com/google/go-cmp/cmp; only tests may"},
		{"a new dependency", "cmd/staleproof", "a_test.go", `package p; import _ "golang.org/x/tools/go/packages"`, "cmd/staleproof/a_test.go:1: cmd/staleproof imports golang.org/x/tools/go/packages; the design names"},
		{"the standard library", "sim", "a.go", `package p; import ( _ "fmt"; _ "encoding/json" )`, ""},

		// Bans.
		{"time.Now", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.Now()", "sim/a.go:3: a use of time.Now; "},
		{"time.Now as a value", "model", "a.go", "package p\nimport \"time\"\nvar now = time.Now", "model/a.go:3: a use of time.Now; "},
		{"time under another name", "model", "a.go", "package p\nimport clock \"time\"\nvar _ = clock.Since", "model/a.go:3: a use of time.Since; "},
		{"time under no name", "model", "a.go", "package p\nimport . \"time\"\nvar _ = Now()", "model/a.go:2: an import of time under no name; "},
		{"time.Until", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.Until", "sim/a.go:3: "},
		{"time.Sleep", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.Sleep", "sim/a.go:3: "},
		{"time.After", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.After", "sim/a.go:3: "},
		{"time.AfterFunc", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.AfterFunc", "sim/a.go:3: "},
		{"time.Tick", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.Tick", "sim/a.go:3: "},
		{"time.NewTimer", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.NewTimer", "sim/a.go:3: "},
		{"time.NewTicker", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.NewTicker", "sim/a.go:3: "},
		{"durations", "sim", "a.go", "package p\nimport \"time\"\nvar _ time.Duration = 2 * time.Second", ""},
		{"another Now", "sim", "a.go", "package p\nvar world struct{ Now int }\nvar _ = world.Now", ""},
		{"math/rand", "sim", "a.go", "package p\nimport _ \"math/rand\"", "sim/a.go:2: an import of math/rand; "},
		{"math/rand/v2", "scenarios", "a.go", "package p\nimport _ \"math/rand/v2\"", "scenarios/a.go:2: an import of math/rand/v2; "},
		{"crypto/rand", "model", "a.go", "package p\nimport _ \"crypto/rand\"", "model/a.go:2: an import of crypto/rand; "},
		{"sync", "checker", "a.go", "package p\nimport _ \"sync\"", "checker/a.go:2: an import of sync; "},
		{"sync/atomic", "sim", "a.go", "package p\nimport _ \"sync/atomic\"", "sim/a.go:2: an import of sync/atomic; "},
		{"hash/maphash", "sim", "a.go", "package p\nimport _ \"hash/maphash\"", "sim/a.go:2: an import of hash/maphash; "},
		{"maphash under another name", "checker", "a.go", "package p\nimport h \"hash/maphash\"\nvar _ h.Hash", "checker/a.go:2: an import of hash/maphash; "},
		{"another hash", "scenarios", "a.go", "package p\nimport _ \"hash/crc32\"", ""},
		{"unsafe", "model", "a.go", "package p\nimport _ \"unsafe\"", "model/a.go:2: an import of unsafe; "},
		{"unsafe in the file that may", "sim", "message.go", "package p\nimport _ \"unsafe\"", ""},
		{"unsafe in a file of that name elsewhere", "sim/disk", "message.go", "package p\nimport _ \"unsafe\"", "sim/disk/message.go:2: an import of unsafe; "},
		{"C", "sim", "a.go", "package p\nimport \"C\"", "sim/a.go:2: an import of C; "},
		{"go:linkname", "sim", "a.go", "package p\n//go:linkname nanotime runtime.nanotime\nfunc nanotime() int64", "sim/a.go:2: a go:linkname; "},
		{"go:linkname of one's own", "checker", "a.go", "package p\n\n//go:linkname f\nfunc f() {}", "checker/a.go:3: a go:linkname; "},
		{"go:linkname in words", "sim", "a.go", "package p\n\n// f is none of a //go:linkname.\nfunc f() {}", ""},
		{"another directive", "sim", "a.go", "package p\n\n//go:noinline\nfunc f() {}", ""},
		{"assembly", "sim", "a.go", "package p\nfunc now() int64", "sim/a.go:2: function now without a body; "},
		{"os.Getpid", "sim", "a.go", "package p\nimport \"os\"\nvar _ = os.Getpid()", "sim/a.go:3: a use of os.Getpid; "},
		{"os under another name", "sim", "a.go", "package p\nimport sys \"os\"\nvar _ = sys.Hostname", "sim/a.go:3: a use of os.Hostname; "},
		{"os.Getenv", "scenarios", "a.go", "package p\nimport \"os\"\nvar _ = os.Getenv", "scenarios/a.go:3: a use of os.Getenv; "},
		{"os.LookupEnv", "sim", "a.go", "package p\nimport \"os\"\nvar _ = os.LookupEnv", "sim/a.go:3: a use of os.LookupEnv; "},
		{"os.Environ", "model", "a.go", "package p\nimport \"os\"\nvar _ = os.Environ", "model/a.go:3: a use of os.Environ; "},
		{"os.ExpandEnv", "checker", "a.go", "package p\nimport \"os\"\nvar _ = os.ExpandEnv", "checker/a.go:3: a use of os.ExpandEnv; "},
		{"os.ReadFile", "checker", "a.go", "package p\nimport \"os\"\nvar _ = os.ReadFile", "checker/a.go:3: a use of os.ReadFile; "},
		{"os.ReadDir", "model", "a.go", "package p\nimport \"os\"\nvar _ = os.ReadDir", "model/a.go:3: a use of os.ReadDir; "},
		{"os.Open", "scenarios", "a.go", "package p\nimport \"os\"\nvar _ = os.Open", "scenarios/a.go:3: a use of os.Open; "},
		{"os.Args", "sim", "a.go", "package p\nimport \"os\"\nvar _ = os.Args", "sim/a.go:3: a use of os.Args; "},
		{"os.Getenv in the file that may", "scenarios", "test.go", "package p\nimport \"os\"\nvar _ = os.Getenv", ""},
		{"more of os in the file that may", "scenarios", "test.go", "package p\nimport \"os\"\nvar _ = os.LookupEnv", "scenarios/test.go:3: a use of os.LookupEnv; "},
		{"os.Getenv in a test", "scenarios", "a_test.go", "package p\nimport \"os\"\nvar _ = os.Getenv", ""},
		{"a file that is made", "scenarios", "a.go", "package p\nimport \"os\"\nvar _ = os.WriteFile", ""},
		{"context.WithTimeout", "sim", "a.go", "package p\nimport \"context\"\nvar _ = context.WithTimeout", "sim/a.go:3: a use of context.WithTimeout; "},
		{"context.WithTimeoutCause", "model", "a.go", "package p\nimport \"context\"\nvar _ = context.WithTimeoutCause", "model/a.go:3: a use of context.WithTimeoutCause; "},
		{"context.WithDeadline", "scenarios", "a.go", "package p\nimport \"context\"\nvar _ = context.WithDeadline", "scenarios/a.go:3: a use of context.WithDeadline; "},
		{"context.WithDeadlineCause", "checker", "a.go", "package p\nimport \"context\"\nvar _ = context.WithDeadlineCause", "checker/a.go:3: a use of context.WithDeadlineCause; "},
		{"context.WithCancel", "model", "a.go", "package p\nimport \"context\"\nvar _ = context.WithCancel", "model/a.go:3: a use of context.WithCancel; "},
		{"context.WithCancelCause", "model", "a.go", "package p\nimport \"context\"\nvar _ = context.WithCancelCause", "model/a.go:3: a use of context.WithCancelCause; "},
		{"context.AfterFunc", "sim", "a.go", "package p\nimport \"context\"\nvar _ = context.AfterFunc", "sim/a.go:3: a use of context.AfterFunc; "},
		{"context.WithTimeout in the file that may", "sim", "realtime.go", "package p\nimport \"context\"\nvar _ = context.WithTimeout", ""},
		{"context.AfterFunc in that file", "sim", "realtime.go", "package p\nimport \"context\"\nvar _ = context.AfterFunc", "sim/realtime.go:3: a use of context.AfterFunc; "},
		{"context.WithTimeout where exempt", "sim/realtime", "a.go", "package p\nimport \"context\"\nvar _ = context.WithTimeout", ""},
		{"values of a context", "sim", "a.go", "package p\nimport \"context\"\nvar _ = context.WithValue", ""},
		{"errors of a context", "sim", "a.go", "package p\nimport \"context\"\nvar _ = context.DeadlineExceeded", ""},
		{"syscall.Getenv", "model", "a.go", "package p\nimport \"syscall\"\nvar _ = syscall.Getenv", "model/a.go:3: a use of syscall.Getenv; "},
		{"runtime.NumGoroutine", "sim", "a.go", "package p\nimport \"runtime\"\nvar _ = runtime.NumGoroutine()", "sim/a.go:3: a use of runtime.NumGoroutine; "},
		{"runtime.Callers", "sim", "a.go", "package p\nimport \"runtime\"\nvar _ = runtime.Callers", ""},
		{"the zone of the machine", "sim", "a.go", "package p\nimport \"time\"\nvar _ = time.Local", "sim/a.go:3: a use of time.Local; "},
		{"go", "sim", "a.go", code + "go f()\n}", "sim/a.go:4: a go statement; "},
		{"select", "sim", "a.go", code + "select {}\n}", "sim/a.go:4: a select statement; "},
		{"%p", "sim", "a.go", code + "println(\"%p\")\n}", "sim/a.go:4: a format with %p; "},
		{"%p with flags", "sim", "a.go", code + "println(`at %-#16p`)\n}", "sim/a.go:4: a format with %p; "},
		{"percent and a p", "sim", "a.go", code + "println(\"5 % per run, 5%% p, %%p, %d p\")\n}", ""},
		{"float64", "sim", "a.go", code + "var x float64\n_ = x }", "sim/a.go:4: the type float64; "},
		{"float32 in a conversion", "sim", "a.go", code + "_ = float32(1)\n}", "sim/a.go:4: the type float32; "},
		{"order of maps.Keys", "sim", "a.go", "package p\nimport \"maps\"\nvar _ = maps.Keys(map[int]int{})", "sim/a.go:3: the order of maps.Keys; "},
		{"order of maps.All in a loop", "sim", "a.go", "package p\nimport \"maps\"\nfunc f() { for range maps.All(map[int]int{}) {} }", "sim/a.go:3: the order of maps.All; "},
		{"sorted keys", "sim", "a.go", "package p\nimport (\n\"maps\"\n\"slices\")\nvar _ = slices.Sorted(maps.Keys(map[int]int{}))", ""},
		// Where the bans hold.
		{"in a test", "sim", "a_test.go", "package p\nimport \"time\"\nvar _ = time.Now()", ""},
		{"in reports", "reports", "a.go", "package p\nimport \"time\"\nvar _ = time.Now()\nvar _ = 1.5", ""},
		{"in the command", "cmd/staleproof", "a.go", "package p\nimport \"sync\"\nvar _ sync.Mutex", ""},
		{"in a folder below", "sim/disk", "a.go", "package p\nimport \"time\"\nvar _ = time.Now()", "sim/disk/a.go:3: "},
		{"where exempt", "sim/explore", "a.go", "package p\nimport \"sync\"\nvar _ sync.Mutex\nfunc f(m map[int]int) { go f(m); for range m {} }", ""},
		{"below where exempt", "scenarios/search/worker", "a.go", "package p\nimport \"sync/atomic\"\nvar _ atomic.Int64", ""},
		{"beside where exempt", "scenarios/searching", "a.go", "package p\nimport \"sync\"\nvar _ sync.Mutex", "scenarios/searching/a.go:2: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := parse(token.NewFileSet(), test.dir, test.file, test.text)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, s.check(), test.want)
		})
	}
}

// expect holds the first problem against the beginning of what is wanted.
func expect(t *testing.T, problems []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(problems) > 0:
		t.Errorf("refused: %s", problems[0])
	case want != "" && len(problems) == 0:
		t.Errorf("accepted; want %s", want)
	case want != "" && !strings.HasPrefix(problems[0], want):
		t.Errorf("got  %s\nwant %s", problems[0], want)
	}
}

func TestPolicyRefusesByType(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"loop over a map", "func f(m map[int]int) {\nfor range m {}\n}", "sim/a.go:3: a loop over a map; "},
		{"with keys", "func f(m map[int]int) {\nfor k := range m { _ = k }\n}", "sim/a.go:3: a loop over a map; "},
		{"a named map", "type set map[int]bool\nfunc f(s *set) {\nfor range *s {}\n}", "sim/a.go:4: a loop over a map; "},
		{"what may be any map", "func f[M ~map[K]V, K comparable, V any](m M) {\nfor range m {}\n}", "sim/a.go:3: a loop over a map; "},
		{"a map from a call", "func g() map[int]int { return nil }\nfunc f() {\nfor range g() {}\n}", "sim/a.go:4: a loop over a map; "},
		{"a map of the standard library", "import \"net/url\"\nfunc f(v url.Values) {\nfor range v {}\n}", "sim/a.go:4: a loop over a map; "},
		{"a slice, a number, a text, an array", "func f(s []int) {\nfor range s {}\nfor range 3 {}\nfor range \"x\" {}\nfor range new([4]int) {}\n}", ""},
		{"a slice in a map", "func f(m map[int][]int) {\nfor range m[1] {}\n}", ""},
		{"sorted keys", "import (\n\"maps\"\n\"slices\"\n)\nfunc f(m map[int]int) {\nfor range slices.Sorted(maps.Keys(m)) {}\n}", ""},
		{"float literal", "var x = 1.5", "sim/a.go:2: the float 1.5; "},
		{"float literal without a type", "const x = 1e9", "sim/a.go:2: the float 1e9; "},
		{"float literal in a comparison", "import \"time\"\nfunc f(d time.Duration) bool { return d.Seconds() > 1.0 }", "sim/a.go:3: the float 1.0; "},
		{"imaginary literal", "var x = 2i", "sim/a.go:2: the float 2i; "},
		{"integer literals", "var n int64 = 1e9\nvar u = []int{1e3, 0xe1}", ""},
		{"time under no name", "import . \"time\"\nvar _ = Now()", "sim/a.go:3: a use of time.Now; "},
		{"a wait under no name", "import . \"time\"\nfunc f() { Sleep(Second) }", "sim/a.go:3: a use of time.Sleep; "},
		{"time under another name", "import clock \"time\"\nvar later = clock.AfterFunc", "sim/a.go:3: a use of time.AfterFunc; "},
		{"a method of a time", "import \"time\"\nfunc f(t time.Time) time.Time { return t.Local() }", "sim/a.go:3: a use of time.Time.Local; "},
		{"the same method in other hands", "import \"time\"\nvar f = time.Time.Local", "sim/a.go:3: a use of time.Time.Local; "},
		{"methods of times that differ nowhere", "import \"time\"\nfunc f(t time.Time) time.Time { return t.Add(time.Second).UTC() }", ""},
		{"what is only called Now", "type world struct{}\nfunc (world) Now() int { return 1 }\nvar _ = world{}.Now()", ""},
		{"os under no name", "import . \"os\"\nvar _ = Getpid()", "sim/a.go:3: a use of os.Getpid; "},
		{"the environment under no name", "import . \"os\"\nvar _ = Getenv(\"X\")", "sim/a.go:3: a use of os.Getenv; "},
		{"a deadline under no name", "import . \"context\"\nvar _ = WithDeadline", "sim/a.go:3: a use of context.WithDeadline; "},
		{"a deadline under another name", "import c \"context\"\nvar later = c.AfterFunc", "sim/a.go:3: a use of context.AfterFunc; "},
		{"a method that is called Open", "import \"embed\"\nfunc f(fs embed.FS) { _, _ = fs.Open(\"x\") }", ""},
		{"keys of a map by reflection", "import \"reflect\"\nfunc f(v reflect.Value) { _ = v.MapKeys() }", "sim/a.go:3: a use of reflect.Value.MapKeys; "},
		{"an address by reflection", "import r \"reflect\"\nfunc f(v any) uintptr { return r.ValueOf(v).Pointer() }", "sim/a.go:3: a use of reflect.Value.Pointer; "},
		{"types by reflection", "import \"reflect\"\nfunc f(v any) string { return reflect.TypeOf(v).String() }", ""},
		{"a pointer printed", "import \"fmt\"\nvar n int\nvar _ = fmt.Sprint(&n)", "sim/a.go:4: an address that is printed, of a *int; "},
		{"an unsafe pointer printed", "import (\n\"fmt\"\n\"unsafe\"\n)\nvar n int\nvar _ = fmt.Sprintf(\"%v\", unsafe.Pointer(&n))", "sim/a.go:7: an address that is printed, of a unsafe.Pointer; "},
		{"a channel printed", "import \"fmt\"\nfunc f(c chan int) error { return fmt.Errorf(\"%v\", c) }", "sim/a.go:3: an address that is printed, of a chan int; "},
		{"a function printed", "import p \"fmt\"\nfunc f() { p.Println(f) }", "sim/a.go:3: an address that is printed, of a func(); "},
		{"a pointer in a struct printed", "import \"fmt\"\ntype s struct{ next *s }\nfunc f(x *s) string { return fmt.Sprintf(\"%+v\", x) }", "sim/a.go:4: an address that is printed, of a *staleproof/sim.s; "},
		{"pointers in a slice printed", "import . \"fmt\"\nfunc f(x []*int) { Print(x) }", "sim/a.go:3: an address that is printed, of a []*int; "},
		{"a pointer to a struct printed", "import \"fmt\"\ntype s struct{ a int; b []string }\nfunc f(x *s) string { return fmt.Sprint(x) }", ""},
		{"pointers that tell what they are", "import \"fmt\"\ntype s struct{ next *s }\nfunc (*s) String() string { return \"s\" }\nfunc f(x *s, y []*s, e error) string { return fmt.Sprint(x, y, e) }", ""},
		{"where it is printed to", "import (\n\"fmt\"\n\"strings\"\n)\nfunc f(b *strings.Builder) { fmt.Fprint(b, 1) }", ""},
		{"what may be any slice", "func f[S ~[]E, E any](s S) {\nfor range s {}\n}", ""},
	}
	fset := token.NewFileSet()
	imports := compiled(t, fset, "context", "embed", "fmt", "maps", "net/url", "os", "reflect", "slices", "strings", "time")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := parse(fset, "sim", "a.go", "package p\n"+test.text)
			if err != nil {
				t.Fatal(err)
			}
			problems, err := checkTyped([]*source{s}, imports)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, problems, test.want)
		})
	}
}
