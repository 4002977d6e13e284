package search

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/scenarios"
)

// slice is how many schedules are timed at once: few, so that on a machine that
// others use too some slices meet nobody. Its chunks are small, so that the wait for
// the last one does not count.
const slice, sliceChunk = 384, 4

// BenchmarkSpeedup compares sweeps of the flagship: by one worker on one core, and
// by two workers on two. What two cores are worth on this machine, where they share
// caches, memory and perhaps more, is told by two processes of one worker each that
// do not know of each other. Everything is timed in turns, and of each the
// fastest of b.N slices counts:
//
//	go test ./scenarios/search -run - -bench Speedup -benchtime 600x
func BenchmarkSpeedup(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("needs two cores")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
	apart := []*sweeper{startSweeper(b), startSweeper(b)}
	best := map[string]time.Duration{}
	keep := func(what string, took time.Duration) {
		if old, ok := best[what]; !ok || took < old {
			best[what] = took
		}
	}
	b.ResetTimer()
	for range b.N {
		keep("one worker", sweepOn(b, 1))
		keep("two workers", sweepOn(b, 2))
		keep("one process", sweepApart(b, apart[:1], slice))
		keep("two processes", sweepApart(b, apart, slice/2))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(slice/best["one worker"].Seconds(), "schedules/s-on-1")
	b.ReportMetric(slice/best["two workers"].Seconds(), "schedules/s-on-2")
	b.ReportMetric(float64(best["one worker"])/float64(best["two workers"]), "speed-up")
	b.ReportMetric(float64(best["one process"])/float64(best["two processes"]), "speed-up-of-processes")
}

// sweepOn times a slice on some cores.
func sweepOn(tb testing.TB, cores int) time.Duration {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	began := time.Now()
	if _, err := (&Sweep{Scenario: textbook(tb), To: slice, Workers: cores, perChunk: sliceChunk}).Run(); err != nil {
		tb.Fatal(err)
	}
	return time.Since(began)
}

// sweeper is a process that sweeps when it is told to.
type sweeper struct {
	to   io.Writer
	from *bufio.Reader
}

const sweeperVariable = "STALEPROOF_TEST_SWEEPER"

func startSweeper(tb testing.TB) *sweeper {
	cmd := exec.Command(os.Args[0], "-test.run=^TestSweeper$")
	cmd.Env = append(os.Environ(), sweeperVariable+"=1", "GOMAXPROCS=1", "GOGC=400")
	to, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { to.Close(); cmd.Wait() })
	return &sweeper{to, bufio.NewReader(from)}
}

// TestSweeper is the process of [BenchmarkSpeedup]: for each number on stdin it
// sweeps that many schedules.
func TestSweeper(t *testing.T) {
	if os.Getenv(sweeperVariable) == "" {
		t.Skip("is run by BenchmarkSpeedup")
	}
	for {
		var n uint64
		if _, err := fmt.Scanln(&n); err != nil {
			return
		}
		if _, err := (&Sweep{Scenario: textbook(t), To: n, Workers: 1, perChunk: sliceChunk}).Run(); err != nil {
			t.Fatal(err)
		}
		fmt.Println(n)
	}
}

// sweepApart times sweeps of n schedules in each process.
func sweepApart(tb testing.TB, list []*sweeper, n int) time.Duration {
	began := time.Now()
	for _, s := range list {
		fmt.Fprintln(s.to, n)
	}
	for _, s := range list {
		if _, err := s.from.ReadString('\n'); err != nil {
			tb.Fatal(err)
		}
	}
	return time.Since(began)
}

// TestNoLock: nothing in a schedule waits, for a lock or for another worker.
func TestNoLock(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	sweep := Sweep{Scenario: textbook(t), To: 500, Workers: 4}
	if _, err := sweep.Run(); err != nil {
		t.Fatal(err)
	}
	mustFuzz(t, Fuzz{Scenario: textbook(t), To: 500, Workers: 4})
	var records [1000]runtime.BlockProfileRecord
	n, ok := runtime.BlockProfile(records[:])
	if !ok || n == 0 {
		t.Fatalf("expected the workers to be waited for at least, found %d waits", n)
	}
	for i := range records[:n] {
		frames, stack := runtime.CallersFrames(records[i].Stack()), ""
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			stack += fmt.Sprintf("  %s:%d\n", f.Function, f.Line)
		}
		if strings.Contains(stack, "runtime.gcStart") { // the garbage collector's start
			continue
		}
		if strings.Contains(stack, "search.(*Sweep).seeds") || strings.Contains(stack, "search.(*fuzzer).part") || strings.Contains(stack, "sim.(*") {
			t.Errorf("expected no wait inside of schedules, found %d at\n%s", records[i].Count, stack)
		}
	}
}

// TestMemoryIsFlat: what a search keeps does not grow with its schedules, also
// where they break something again and again: at most one kill for each chunk of
// [maxSweep] schedules, until those are done.
func TestMemoryIsFlat(t *testing.T) {
	if raceDetector {
		t.Skip("a hundred times slower")
	}
	small := *textbook(t)
	small.Params.Clients, small.Params.Acquisitions, small.Params.Writes = 2, 1, 1
	opt := scenarios.Options{Defects: model.TokenNotIncreased}
	for _, c := range []struct {
		reason string
		run    func(progress func(schedules int64)) error
	}{
		{"a search for all that breaks", func(progress func(int64)) error {
			f := Fuzz{Scenario: &small, Options: opt, Strategy: "uniform", To: 5_000, Workers: 2, Progress: func(p Progress) { progress(p.Schedules) }}
			_, err := f.Run()
			return err
		}},
		{"a sweep that never ends", func(progress func(int64)) error {
			s := Sweep{Scenario: &small, Options: opt, To: 5_000, Stop: []string{}, Workers: 2, Progress: func(n, _ int64) { progress(n) }}
			_, err := s.Run()
			return err
		}},
	} {
		var mu sync.Mutex
		var early, late int64
		err := c.run(func(schedules int64) {
			mu.Lock()
			defer mu.Unlock()
			if early == 0 && schedules >= 1_000 {
				early = live()
			}
			if late == 0 && schedules >= 4_500 {
				late = live()
			}
		})
		if grown := late - early; err != nil || early == 0 || late == 0 || grown > 1<<20 {
			t.Errorf("%s: expected no more memory after 4,500 schedules than after 1,000, found %d bytes more (%d, then %d), %v", c.reason, grown, early, late, err)
		}
	}
}

// live is how much memory is in use.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
