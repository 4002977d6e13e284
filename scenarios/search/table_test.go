package search

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"staleproof/scenarios"
)

// The table of how soon each defect is found takes minutes:
//
//	go test ./scenarios/search -run TestKillTable -table 500 -update -v -timeout 2h
var (
	table      = flag.Int("table", 0, "how many master seeds the table of kills takes the median of")
	tableOf    = flag.String("table-strategies", "uniform,portfolio", "the strategies that the table of kills compares")
	tableOnly  = flag.String("table-only", "", "the rows of the table of kills, as a part of their names")
	tableLimit = flag.Uint64("table-limit", 20_000, "how many schedules a hunt of the table has at most")
)

// firstKill is how many schedules, and events in them, pass until one breaks what
// the defect must break, or limit.
func firstKill(sc *scenarios.Scenario, x scenarios.Exposure, strategy string, master, limit uint64) (schedules, events uint64, err error) {
	from := master << 24
	f := Fuzz{Scenario: sc, Options: scenarios.Options{Defects: x.Defect, Properties: x.Breaks}, Strategy: strategy,
		From: from, To: from + limit, Until: 1, Workers: 1}
	c, err := f.Run()
	if err != nil {
		return 0, 0, err
	}
	return uint64(c.Schedules), uint64(c.Events), nil
}

func median(list []uint64) uint64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// TestKillTable compares strategies by the schedules that they take to the first
// kill of each defect. With -update the table goes to KILLS.md.
func TestKillTable(t *testing.T) {
	if *table == 0 {
		t.Skip("takes minutes; asked for by -table")
	}
	k := killTable{strategies: strings.Split(*tableOf, ","), masters: *table, limit: *tableLimit}
	k.fill(t, *tableOnly, func(line string) { fmt.Println(line) })
	text := k.text()
	fmt.Print(text)
	if *tableOnly == "" && *update {
		keepTable(t, "KILLS.md", text)
	}
	if len(k.strategies) == 2 {
		k.check(t, 3, 0)
	}
}

// TestPortfolioIsBetter holds the claims of KILLS.md with fewer master seeds.
func TestPortfolioIsBetter(t *testing.T) {
	if raceDetector {
		t.Skip("a hundred times slower")
	}
	k := killTable{strategies: []string{"uniform", Portfolio}, masters: 21, limit: 2000}
	k.fill(t, "", func(string) {})
	k.check(t, 2.5, 1)
}

// killTable is how soon strategies kill each defect.
type killTable struct {
	strategies []string
	masters    int    // master seeds
	limit      uint64 // schedules of a hunt
	rows       []killRow
}

type killRow struct {
	defect            string
	schedules, events []uint64 // medians, by strategy
}

// ratio is how many times better the last strategy is than the first.
func (r *killRow) ratio(medians []uint64) float64 {
	return float64(medians[0]) / float64(medians[len(medians)-1])
}

// slow says that the first strategy takes long enough for a ratio to mean
// something.
func (r *killRow) slow() bool { return r.schedules[0] >= 20 }

func (r *killRow) line() string {
	line := "| " + strings.ReplaceAll(r.defect, "+", " + ") + " |"
	for _, n := range r.schedules {
		line += fmt.Sprintf(" %d |", n)
	}
	return line
}

// fill hunts for the defects whose names contain a text.
func (k *killTable) fill(t *testing.T, only string, tell func(line string)) {
	for _, sc := range scenarios.Scenarios() {
		for _, x := range sc.Defects {
			r := killRow{defect: sc.Name + " " + x.Defect.String()}
			if !strings.Contains(r.defect, only) {
				continue
			}
			for _, s := range k.strategies {
				n, e := k.kills(t, sc, x, s)
				r.schedules, r.events = append(r.schedules, n), append(r.events, e)
			}
			k.rows = append(k.rows, r)
			tell(r.line())
		}
	}
}

// means are over the slow rows: in schedules, and in events.
func (k *killTable) means() (schedules, events float64, rows int) {
	var better, cheaper []float64
	for i := range k.rows {
		if r := &k.rows[i]; r.slow() {
			better, cheaper = append(better, r.ratio(r.schedules)), append(cheaper, r.ratio(r.events))
		}
	}
	return geometricMean(better), geometricMean(cheaper), len(better)
}

// worst is the row in which the last strategy is worst.
func (k *killTable) worst(slow bool) *killRow {
	var w *killRow
	for i := range k.rows {
		if r := &k.rows[i]; (r.slow() || !slow) && (w == nil || r.ratio(r.schedules) < w.ratio(w.schedules)) {
			w = r
		}
	}
	return w
}

// text is the table as it stands in KILLS.md.
func (k *killTable) text() string {
	var b strings.Builder
	for i := range k.rows {
		b.WriteString(k.rows[i].line() + "\n")
	}
	first, last := k.strategies[0], k.strategies[len(k.strategies)-1]
	schedules, events, n := k.means()
	fmt.Fprintf(&b, "\nOver the %d defects that take %s 20 schedules or more, %s needs %.2f times fewer\n"+
		"schedules and %.2f times fewer events, as geometric means.", n, first, last, schedules, events)
	for _, slow := range []bool{true, false} {
		if w := k.worst(slow); w != nil {
			of := map[bool]string{true: "Of those it", false: "Of all defects it"}[slow]
			fmt.Fprintf(&b, "\n%s is worst at %s: %d schedules, where %s needs %d.", of, w.defect,
				w.schedules[len(w.schedules)-1], first, w.schedules[0])
		}
	}
	b.WriteString("\n")
	return b.String()
}

// check holds the last strategy against the first: so many times better where that
// takes long, nowhere there 1.5 times worse, and where it takes but a few schedules
// not either, give or take slack.
func (k *killTable) check(t *testing.T, least float64, slack uint64) {
	mean, _, n := k.means()
	if n == 0 || mean < least {
		t.Errorf("expected a geometric mean of at least %.1f over defects that take long, found %.2f over %d", least, mean, n)
	}
	for _, r := range k.rows {
		first, last := r.schedules[0], r.schedules[len(r.schedules)-1]
		if last*2 > first*3+2*slack {
			t.Errorf("%s: expected at most 1.5 times the schedules of %s, which are %d, found %d", r.defect, k.strategies[0], first, last)
		}
	}
}

func geometricMean(list []float64) float64 {
	sum := 0.0
	for _, r := range list {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(max(1, len(list))))
}

// kills hunts from each master seed and returns the median of the schedules, and
// of the events.
func (k *killTable) kills(t *testing.T, sc *scenarios.Scenario, x scenarios.Exposure, strategy string) (schedules, events uint64) {
	list, cost := make([]uint64, k.masters), make([]uint64, k.masters)
	var wg sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := w; i < len(list); i += runtime.GOMAXPROCS(0) {
				n, e, err := firstKill(sc, x, strategy, uint64(i)+1, k.limit)
				if err != nil {
					t.Error(err)
				}
				list[i], cost[i] = cmp.Or(n, k.limit), e
			}
		})
	}
	wg.Wait()
	return median(list), median(cost)
}
