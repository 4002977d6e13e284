package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"staleproof/reports"
)

var (
	chromium context.Context // nil when there is none
	kept     string          // a folder that lasts for all tests
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "staleproof-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	kept = filepath.Join(dir, "pages")
	path := Find()
	if path == "" {
		return m.Run()
	}
	ctx, end, err := Start(path, dir)
	defer end()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	chromium = ctx
	return m.Run()
}

var desk, phone = View{Width: 1280, Height: 900}, View{Width: 390, Height: 844}

// write writes a document and returns the address of its first finding's page.
func write(t *testing.T, doc *reports.Document) string {
	t.Helper()
	return writeTo(t, t.TempDir(), doc)
}

func writeTo(t *testing.T, dir string, doc *reports.Document) string {
	t.Helper()
	if err := reports.Write(dir, doc); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "run-*.html"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("expected a page of a finding in %s, found none (%v)", dir, err)
	}
	first := pages[0]
	for _, p := range pages {
		if strings.HasSuffix(p, "-"+doc.Runs[0].Findings[0].Property+".html") {
			first = p
		}
	}
	return (&url.URL{Scheme: "file", Path: first}).String()
}

var pages map[string]string // made by every, once

// every is the address of a page of every kind, by name.
func every(t *testing.T) map[string]string {
	t.Helper()
	if pages != nil {
		return pages
	}
	keep := func(name string, doc *reports.Document) string { return writeTo(t, filepath.Join(kept, name), doc) }
	pages = map[string]string{"long": keep("long", finding(long(3000, 5))), "windows": keep("windows", streamed(260_000)), "diff": diff(t, kept)}
	for _, name := range []string{"textbook", "store-forgets", "read-before-raise", "lock", "register", "recorded"} {
		pages[name] = keep(name, result(t, name))
	}
	pages["index"] = beside(pages["textbook"], "index.html")
	pages["scenario"] = beside(pages["textbook"], "scenario-textbook.html")
	pages["history"] = beside(pages["lock"], "index.html")
	pages["names"] = keep("names", named(t))
	green := result(t, "textbook")
	green.Runs[0].Expected = true
	pages["green"] = beside(keep("green", green), "index.html")
	return pages
}

// beside is the address of another page of the same report.
func beside(address, name string) string { return address[:strings.LastIndex(address, "/")+1] + name }

// open opens a page, and skips the test where there is no browser.
func open(t *testing.T, address string, v View) *Tab {
	t.Helper()
	if chromium == nil {
		if os.Getenv("CI") != "" {
			t.Fatal("expected chromium on the PATH, found none; install Debian's package chromium")
		}
		t.Skip("skipped: there is no chromium on the PATH; install Debian's package chromium")
	}
	tab, end, err := Open(chromium, address, v)
	t.Cleanup(end)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// eval runs a script in the page.
func eval[T any](t *testing.T, tab *Tab, script string) T {
	t.Helper()
	out, err := Eval[T](tab, script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func press(t *testing.T, tab *Tab, keys ...string) {
	t.Helper()
	if err := tab.Press(keys...); err != nil {
		t.Fatal(err)
	}
}

func quiet(t *testing.T, tab *Tab) {
	t.Helper()
	for _, c := range tab.Complaints() {
		t.Errorf("the page should be silent and ask for nothing, found %s", c)
	}
}

// position is the event that the page says is selected: "129".
func position(t *testing.T, tab *Tab) string {
	t.Helper()
	text := eval[string](t, tab, `document.getElementById("position").textContent`)
	m := regexp.MustCompile(`^#(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("expected the position to begin with the number of an event, found %q", text)
	}
	return m[1]
}

func TestPagesAreSilent(t *testing.T) {
	for _, a := range every(t) {
		tab := open(t, a, desk)
		quiet(t, tab)
		if strings.Contains(a, "run-") {
			for _, keys := range [][]string{{"k", "k", "v", "n", "N", "0", "t", "+", "+", "-", "t"}, {"/"}} {
				press(t, tab, keys...)
			}
			if !eval[bool](t, tab, `document.activeElement.id === "q"`) {
				t.Error("/ should lead to the search")
			}
			quiet(t, tab)
		}
	}
}

// TestScriptsOff holds the pages to saying what happened without their script:
// which write, which token, who held what when, why, and how to see it again.
func TestScriptsOff(t *testing.T) {
	view := desk
	view.NoScript = true
	for name, wants := range map[string][]string{
		"textbook": {
			"A's write 302, with token 1, overwrote B's write 402, with token 2 (at 15.009s)", "token 1 applied at #88 after token 2 was accepted at #49",
			"A, token 1: granted at 0.001s, expired at 10.001s", "but still began write 302 at 15.008s", "B, token 2: granted at 10.003s, released at 13.013s",
			"A paused for 12s after it had checked its lease (#36)", "The store knew of token 2 and did not refuse it. A store that compares the token", "What was planted: the store applies every write",
			"staleproof replay sp1:", "applies A's write 302 to orders/7", "The same run also broke linearizable",
		},
		"read-before-raise": {
			"made from the ", "that update is lost", "had not raised the fence to its token", "but still began write", "its fence was at", "staleproof replay sp1:",
		},
		"store-forgets": {
			"although the store had accepted token 2 from B", "The store no longer knew of token 2: its greatest was 1 since its crash at #63",
			"B, token 2: granted at 10.003s, still in force at the violation", "token 1 after 2, which it had forgotten", "forgot 2", "staleproof replay sp1:",
		},
		"lock": {
			"process 0 acquired the lock at #8 while process 3 held it", "Process 3 asked to release it at #4 and was refused at #9: not-found: requested lease not found",
			"The answer says that the lease behind the lock had ended by itself",
			"process 3: acquired at 0.020s, asked to release it at 1.500s, refused at 4.094s", "process 0: acquired at 4.085s", "held by two at once",
			"Judged as leases, which may end unnoticed", "There are none to show: holds are compared by their times", "staleproof check --model mutex lock.jsonl",
			"2 of the numbers are entries of the file that say nothing known here",
		},
		"register": {
			"no order of the operations explains read -> 1 by process 70", "ends with the register at 3", "How far an explanation gets", "3 operations in order, 1 left over",
			"staleproof check --model cas-register register.jsonl",
		},
	} {
		tab := open(t, write(t, result(t, name)), view)
		text := eval[string](t, tab, `document.body.innerText + [...document.querySelectorAll("figure text")].map((e) => e.textContent).join("\n")`)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: with scripts off the page should say %q", name, want)
			}
		}
		if !eval[bool](t, tab, `document.getElementById("explorer").offsetHeight === 0 && document.querySelector("figure svg.lanes").getBoundingClientRect().height > 200`) {
			t.Errorf("%s: with scripts off the drawing should stand alone, without buttons that do nothing", name)
		}
	}
}

func TestKeyboardWalk(t *testing.T) {
	tab := open(t, write(t, finding(long(3000, 5))), desk)
	violation := position(t, tab)
	rows := func() string {
		return eval[string](t, tab, `document.querySelector("tr[aria-current]").dataset.pos + " " + document.querySelector("tr[aria-current] th").textContent`)
	}
	for _, step := range []struct {
		reason string
		keys   []string
		moved  func(was, is string) bool
	}{
		{"k goes to the event before", []string{"k"}, func(was, is string) bool { return is == minus(was, 1) }},
		{"j goes to the next", []string{"j"}, func(was, is string) bool { return is == minus(was, -1) }},
		{"N goes to the rejection before", []string{"N"}, func(was, is string) bool { return len(is) < len(was) || is < was }},
		{"n stays at the last rejection", []string{"n"}, func(was, is string) bool { return true }},
		{"v goes to the violation", []string{"N", "N", "v"}, func(was, is string) bool { return is == violation }},
	} {
		was := position(t, tab)
		press(t, tab, step.keys...)
		if is := position(t, tab); !step.moved(was, is) {
			t.Errorf("%s: was at #%s, found #%s", step.reason, was, is)
		}
		if got := rows(); !strings.HasSuffix(got, " "+position(t, tab)) {
			t.Errorf("%s: the table marks %q, the position is #%s", step.reason, got, position(t, tab))
		}
	}
	press(t, tab, "N")
	if text := eval[string](t, tab, `document.getElementById("position").textContent`); !strings.Contains(text, "refuses") {
		t.Errorf("N should lead to a rejection, found %q", text)
	}
	press(t, tab, "0", "+", "+")
	before := viewport(t, tab)
	press(t, tab, "+", "+")
	closer := viewport(t, tab)
	press(t, tab, "-", "-", kb.ArrowRight)
	if moved := viewport(t, tab); closer[1]-closer[0] >= before[1]-before[0] || moved[0] < before[0] {
		t.Errorf("+ should show less and the arrow move on: %v, %v, %v", before, closer, moved)
	}
	quiet(t, tab)
}

func minus(s string, n int) string {
	var v int
	fmt.Sscan(s, &v)
	return fmt.Sprint(v - n)
}

// viewport is the stretch that the overview marks, in pixels.
func viewport(t *testing.T, tab *Tab) [2]float64 {
	t.Helper()
	v := eval[[]float64](t, tab, `(() => { const r = document.querySelector("#overview .viewport"); return [Number(r.getAttribute("x")), Number(r.getAttribute("x")) + Number(r.getAttribute("width"))]; })()`)
	return [2]float64{v[0], v[1]}
}

func TestFilters(t *testing.T) {
	tab := open(t, write(t, textbook(t)), desk)
	for _, test := range []struct{ reason, set, each string }{
		{"search", `q.value = "write 302"`, "write 302"},
		{"process", `q.value = ""; who.value = "B"`, "B"},
		{"kind", `who.value = ""; kind.value = "expire"`, "ends the lease"},
	} {
		eval[any](t, tab, `(async () => { const [q, who, kind] = ["q", "who", "kind"].map((id) => document.getElementById(id)); `+test.set+`; for (const e of [q, who, kind]) e.dispatchEvent(new Event("input")); await new Promise((f) => setTimeout(f, 250)); })()`)
		rows := eval[[]string](t, tab, `[...document.querySelectorAll("#listed tr")].map((r) => r.innerText)`)
		if len(rows) == 0 {
			t.Errorf("%s: no row is left", test.reason)
		}
		for _, r := range rows {
			if !strings.Contains(r, test.each) {
				t.Errorf("%s: the row %q has no %q", test.reason, r, test.each)
			}
		}
	}
	quiet(t, tab)
}

// TestPermalink holds an address to lead back to where it was taken from.
func TestPermalink(t *testing.T) {
	address := write(t, finding(long(3000, 5)))
	tab := open(t, address, desk)
	press(t, tab, "N", "t", "+", "+", "j")
	eval[any](t, tab, `(async () => { kind.value = "store"; kind.dispatchEvent(new Event("input")); await new Promise((f) => setTimeout(f, 500)); })()`)
	const look = `[document.getElementById("position").textContent, document.getElementById("count").textContent, document.querySelector("[data-axis=time]").getAttribute("aria-pressed"), document.querySelector("tr[aria-current] th")?.textContent, location.hash]`
	want := eval[[]string](t, tab, look)
	was := viewport(t, tab)
	if want[2] != "true" || !strings.Contains(want[4], "kind=store") {
		t.Fatalf("expected a view in time with a filter, found %q", want)
	}
	again := open(t, address+want[4], desk)
	got := eval[[]string](t, again, look)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("want %q, found %q", want, got)
	}
	if is := viewport(t, again); abs(is[0]-was[0]) > 1 || abs(is[1]-was[1]) > 1 {
		t.Errorf("the viewport was %v, found %v", was, is)
	}
	quiet(t, again)
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

// The bounds of report.md: nodes of the document, and milliseconds.
const maxNodes, readyWithin = 5000, 1000

const countNodes = `(() => { const w = document.createTreeWalker(document, NodeFilter.SHOW_ALL); let n = 1; while (w.nextNode()) n++; return n; })()`

// quickest opens a page until it is ready in time, at most so often, and returns
// the best time in milliseconds: what else the machine does is not the page's
// doing.
func quickest(t *testing.T, address string) (tab *Tab, best int) {
	t.Helper()
	best = 1 << 30
	for range 12 {
		tab = open(t, address, desk)
		var ms int
		fmt.Sscan(eval[string](t, tab, `document.documentElement.dataset.ready`), &ms)
		if best = min(best, ms); best < readyWithin {
			break
		}
	}
	return tab, best
}

func TestHundredThousandEvents(t *testing.T) {
	address := write(t, finding(long(100_000, 5)))
	tab, best := quickest(t, address)
	t.Logf("ready after %d ms, %d KB", best, weight(t, address)/1024)
	if best == 0 || best >= readyWithin {
		t.Errorf("expected the page to be ready within %d ms, found %d", readyWithin, best)
	}
	nodes(t, tab)
	slowest := eval[float64](t, tab, `(async () => {
		const keys = ["0", "+", "+", "+", "ArrowLeft", "ArrowLeft", "-", "-"], best = keys.map(() => Infinity);
		for (let round = 0; round < 4; round++) for (const [i, key] of keys.entries()) {
			const from = performance.now();
			document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
			await `+settle+`;
			best[i] = Math.min(best[i], performance.now() - from);
		}
		return Math.max(...best);
	})()`)
	t.Logf("slowest key: %.0f ms", slowest)
	if slowest > 500 {
		t.Errorf("a key took %.0f ms at best", slowest)
	}
	quiet(t, tab)
}

// TestMillionEvents: a history of a million events that nobody holds gives a page
// that says which windows it shows, and that is as quick as the others.
func TestMillionEvents(t *testing.T) {
	address := write(t, streamed(1_000_000))
	tab, best := quickest(t, address)
	t.Logf("ready after %d ms, %d KB", best, weight(t, address)/1024)
	if best == 0 || best >= readyWithin {
		t.Errorf("expected the page to be ready within %d ms, found %d", readyWithin, best)
	}
	text := eval[string](t, tab, `document.body.innerText`)
	for _, want := range []string{"The run, in windows", "Of 1,000,000 events this page holds ", "to #1000000, round the events that the finding names", "What else happened is not here"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page should say %q", want)
		}
	}
	if got := position(t, tab); got != "1000000" {
		t.Errorf("the page begins at the violation, found #%s", got)
	}
	nodes(t, tab)
	quiet(t, tab)
}

// nodes walks through the run and counts what the page has in its document.
func nodes(t *testing.T, tab *Tab) {
	t.Helper()
	most := 0
	for _, keys := range [][]string{{"v"}, {"0"}, {"+", "+", "+"}, {"t"}, {"0"}, {"+", "+", "+", "+", "+", "+"}, {"t", "0", "+"}} {
		press(t, tab, keys...)
		n := eval[int](t, tab, countNodes)
		if most = max(most, n); n > maxNodes {
			t.Errorf("after %q the page has %d nodes, more than %d", keys, n, maxNodes)
		}
	}
	t.Logf("at most %d nodes", most)
}

// TestManyLanes holds the cap with more clients than there is room for.
func TestManyLanes(t *testing.T) {
	for _, clients := range []int{30, 300} {
		tab := open(t, write(t, finding(long(20_000, clients))), desk)
		nodes(t, tab)
		quiet(t, tab)
	}
}

func weight(t *testing.T, address string) int64 {
	t.Helper()
	info, err := os.Stat(strings.TrimPrefix(address, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestHostileTextIsText(t *testing.T) {
	address := write(t, hostile(t))
	scenarios, err := filepath.Glob(filepath.Join(filepath.Dir(strings.TrimPrefix(address, "file://")), "scenario-*.html"))
	if err != nil || len(scenarios) != 1 {
		t.Fatalf("expected the page of a scenario, found %q (%v)", scenarios, err)
	}
	for _, a := range []string{address, beside(address, "index.html"), "file://" + scenarios[0], hostileDiff(t)} {
		tab := open(t, a, desk)
		if strings.Contains(a, "run-") {
			press(t, tab, "k", "j", "0", "t", "v")
		}
		if n := eval[int](t, tab, `(window.broken ? 1000 : 0) + document.querySelectorAll("img, script:not(#packed)").length`); n > 1 {
			t.Errorf("a text of the history became an element or was run: %d", n)
		}
		if !strings.Contains(eval[string](t, tab, `document.body.textContent`), breaker) {
			t.Error("the texts should be shown to the letter")
		}
		if strings.Contains(a, "run-") && !strings.Contains(eval[string](t, tab, `document.getElementById("position").textContent`), breaker) {
			t.Error("the position should show the texts to the letter")
		}
		quiet(t, tab)
	}
}

// TestPrint holds a printed page to the words, the drawing and a bounded table.
func TestPrint(t *testing.T) {
	tab := open(t, every(t)["long"], desk)
	eval[any](t, tab, `dispatchEvent(new Event("beforeprint"))`)
	if n := eval[int](t, tab, `document.querySelectorAll("#still tbody tr").length`); n < 100 || n > 500 {
		t.Errorf("expected the static table back for print, found %d rows", n)
	}
	eval[any](t, tab, `dispatchEvent(new Event("afterprint"))`)
	if eval[bool](t, tab, `!!document.getElementById("still")`) {
		t.Error("after print the static table should be gone again")
	}
}
