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
//	go test ./scenarios/search -run TestKillTable -table 500 -v -timeout 2h
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
// kill of each defect.
func TestKillTable(t *testing.T) {
	if *table == 0 {
		t.Skip("takes minutes; asked for by -table")
	}
	names := strings.Split(*tableOf, ",")
	head := fmt.Sprintf("%-48s", "defect")
	for _, n := range names {
		head += fmt.Sprintf(" %9s", n)
	}
	fmt.Println(head)
	var better, cheaper []float64 // the last than the first: in schedules, in events
	worst := 0.0
	for _, sc := range scenarios.Scenarios() {
		for _, x := range sc.Defects {
			if !strings.Contains(sc.Name+" "+x.Defect.String(), *tableOnly) {
				continue
			}
			line := fmt.Sprintf("%-48s", sc.Name+" "+x.Defect.String())
			var medians, events []uint64
			for _, n := range names {
				m, e := kills(t, sc, x, n)
				medians, events = append(medians, m), append(events, e)
				line += fmt.Sprintf(" %9d", m)
			}
			fmt.Println(line)
			last := len(names) - 1
			ratio := float64(medians[0]) / float64(medians[last])
			if medians[0] >= 20 {
				better = append(better, ratio)
				cheaper = append(cheaper, float64(events[0])/float64(events[last]))
			}
			worst = max(worst, 1/ratio)
		}
	}
	mean := geometricMean(better)
	fmt.Printf("over the %d defects with a median of at least 20, geometric means: %.2f times fewer schedules, %.2f times fewer events; in schedules the worst of all is %.2f times worse\n",
		len(better), mean, geometricMean(cheaper), worst)
	if len(names) == 2 && (mean < 3 || worst > 1.5) {
		t.Errorf("expected %s to be 3 times better than %s and nowhere 1.5 times worse", names[1], names[0])
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
func kills(t *testing.T, sc *scenarios.Scenario, x scenarios.Exposure, strategy string) (schedules, events uint64) {
	list, cost := make([]uint64, *table), make([]uint64, *table)
	var wg sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := w; i < len(list); i += runtime.GOMAXPROCS(0) {
				n, e, err := firstKill(sc, x, strategy, uint64(i)+1, *tableLimit)
				if err != nil {
					t.Error(err)
				}
				list[i], cost[i] = cmp.Or(n, *tableLimit), e
			}
		})
	}
	wg.Wait()
	return median(list), median(cost)
}
