package search

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/scenarios"
)

var someHeader = ResultHeader{Format: ResultFormat, Version: "1", Strategy: Mix, To: 4 * 3 * blockSize, Shards: 4,
	Trials: []ResultTrial{{"textbook", 1, "none"}, {"check-apart", 1, "store-checks-apart"}}}

// blockAt makes up the block of a key: equal keys, equal blocks.
func blockAt(trial int, shard uint64, index int64) *ResultBlock {
	n := int64(trial+1)*1000 + int64(shard)*100 + index
	return &ResultBlock{Trial: trial, Shard: shard, Index: index, Schedules: n, Events: 10 * n,
		Sometimes: map[string]int64{"renewed": n}, Strategies: []ResultStrategy{{"storm", n}}}
}

// drawResults draws some of the blocks of a search.
func drawResults(t *rapid.T, label string) *Results {
	r := NewResults(someHeader)
	for _, n := range rapid.SliceOfDistinct(rapid.IntRange(0, 2*4*3-1), rapid.ID[int]).Draw(t, label) {
		if err := r.Put(blockAt(n/12, uint64(n/3%4), int64(n%3))); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func mergeOf(t *rapid.T, list ...*Results) string {
	sum := NewResults(someHeader)
	for _, r := range list {
		if err := sum.Merge(r); err != nil {
			t.Fatal(err)
		}
	}
	return textOf(t, sum)
}

func textOf(t interface{ Fatal(...any) }, r *Results) string {
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// read reads back what was written.
func read(t interface{ Fatal(...any) }, text string) *Results {
	r, whole, err := ReadResults("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if whole != int64(len(text)) {
		t.Fatal("expected whole lines")
	}
	return r
}

// TestMergeLaws: results are a set of blocks.
func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawResults(t, "a"), drawResults(t, "b"), drawResults(t, "c")
		ab, ba := mergeOf(t, a, b), mergeOf(t, b, a)
		for _, x := range []struct{ law, want, got string }{
			{"commutative", ab, ba},
			{"associative", mergeOf(t, read(t, ab), c), mergeOf(t, a, read(t, mergeOf(t, b, c)))},
			{"idempotent", textOf(t, a), mergeOf(t, a, a)},
			{"absorbing", ab, mergeOf(t, a, read(t, ab), b)},
			{"written and read", ab, textOf(t, read(t, ab))},
		} {
			if diff := cmp.Diff(x.want, x.got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", x.law, diff)
			}
		}
		for trial := range someHeader.Trials {
			n := int64(0)
			for _, k := range read(t, ab).Blocks() {
				if k.Trial == trial {
					n += k.Schedules
				}
			}
			sum := read(t, ab).Campaign(trial)
			if sum.Schedules != n || sum.Events != 10*n {
				t.Fatalf("expected the sum of the blocks, %d, found %d", n, sum.Schedules)
			}
		}
	})
}

// TestMissing: a gap is seen wherever it is.
func TestMissing(t *testing.T) {
	full := func(shards ...uint64) *Results {
		r := NewResults(someHeader)
		for _, s := range shards {
			for i := range int64(3) {
				if err := r.Put(blockAt(0, s, i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return r
	}
	gap := full(0, 1, 2, 3)
	delete(gap.blocks, blockKey{0, 2, 1})
	end := full(0, 1, 2, 3)
	delete(end.blocks, blockKey{0, 3, 2})
	open := full(0, 1, 2, 3)
	open.Header.To = 0
	openEnd := full(0, 1, 2, 3)
	openEnd.Header.To = 0
	delete(openEnd.blocks, blockKey{0, 3, 2})
	openGap := full(0, 1, 3)
	openGap.Header.To = 0
	for _, c := range []struct {
		reason string
		r      *Results
		trial  int
		want   []string
	}{
		{"all there", full(0, 1, 2, 3), 0, nil},
		{"a shard", full(0, 1, 3), 0, []string{"shard 2/4"}},
		{"a block in the middle", gap, 0, []string{"1 of 3 blocks of shard 2/4"}},
		{"the last block", end, 0, []string{"1 of 3 blocks of shard 3/4"}},
		{"a trial", full(0, 1, 2, 3), 1, []string{"shard 0/4", "shard 1/4", "shard 2/4", "shard 3/4"}},
		{"time ended it: all there", open, 0, nil},
		{"time ended one shard sooner", openEnd, 0, nil},
		{"time ended it: a shard", openGap, 0, []string{"shard 2/4"}},
	} {
		if diff := cmp.Diff(c.want, c.r.Missing(c.trial)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestMismatch: what differs is named.
func TestMismatch(t *testing.T) {
	for _, c := range []struct {
		change func(*ResultHeader)
		what   string
	}{
		{func(h *ResultHeader) { h.Version = "2" }, "version"},
		{func(h *ResultHeader) { h.Trials = h.Trials[:1] }, "scenarios"},
		{func(h *ResultHeader) { h.Trials = []ResultTrial{{"textbook", 2, "none"}, h.Trials[1]} }, "scenarios"},
		{func(h *ResultHeader) { h.Strategy = "storm" }, "strategy"},
		{func(h *ResultHeader) { h.To++ }, "seeds"},
		{func(h *ResultHeader) { h.To = 0 }, "seeds"},
		{func(h *ResultHeader) { h.Shards = 8 }, "shards"},
	} {
		h := someHeader
		c.change(&h)
		err := NewResults(someHeader).Merge(NewResults(h))
		var bad *MismatchError
		if !errors.As(err, &bad) || !strings.Contains(bad.What, c.what) {
			t.Errorf("expected a mismatch of %s, found %v", c.what, err)
		}
	}
	a, b := NewResults(someHeader), NewResults(someHeader)
	other := blockAt(0, 1, 2)
	other.Events++
	if err := errors.Join(a.Put(blockAt(0, 1, 2)), b.Put(other)); err != nil {
		t.Fatal(err)
	}
	var conflict *ConflictError
	if err := a.Merge(b); !errors.As(err, &conflict) || conflict.Shard != 1 || conflict.Index != 2 {
		t.Errorf("expected a conflict, found %v", err)
	}
}

// farm runs a search in shards and returns the results of each as a file.
func farm(t *testing.T, f Fuzz, shards uint64) []string {
	t.Helper()
	h := ResultHeader{Format: ResultFormat, Version: "1", Strategy: f.Strategy, From: f.From, To: f.To, Shards: shards,
		Trials: []ResultTrial{{f.Scenario.Name, f.Scenario.Revision, f.Options.Defects.String()}}}
	var files []string
	for k := range shards {
		f.Shard, f.Shards = k, shards
		r := NewResults(h)
		f.Block = func(b *Block) error { return r.Put(ResultOf(0, &f, b)) }
		mustFuzz(t, f)
		files = append(files, textOf(t, r))
	}
	return files
}

// TestShardsMergeToTheWhole: 64 shards, in any order, come to what one run does.
func TestShardsMergeToTheWhole(t *testing.T) {
	f := Fuzz{Scenario: textbook(t), Options: scenarios.Options{Defects: model.RenewalRaisesToken}, Strategy: Mix, From: 7, To: 400}
	if raceDetector {
		f.To = 100
	}
	whole := mustFuzz(t, f)
	whole.Coverage = 0
	for i := range whole.Strategies {
		whole.Strategies[i].New = 0
	}
	files := farm(t, f, 64)
	slices.Reverse(files)
	sum := read(t, files[0])
	for _, text := range append(files[1:], files[3]) {
		if err := sum.Merge(read(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	if missing := sum.Missing(0); missing != nil {
		t.Errorf("expected nothing to be missing, found %v", missing)
	}
	got := sum.Campaign(0)
	for _, c := range []*Campaign{whole, got} {
		for i := range c.Kills { // a token does not hold the labels and times of decisions
			for j := range c.Kills[i].Schedule {
				c.Kills[i].Schedule[j].Label, c.Kills[i].Schedule[j].Time = "", 0
			}
		}
	}
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("(-whole +merged):\n%s", diff)
	}
}

// TestResume: a file that is cut off anywhere loses no whole block, and a search
// that goes on from it comes to the same file, without running again what it has.
func TestResume(t *testing.T) {
	f := Fuzz{Scenario: textbook(t), Options: scenarios.Options{Properties: []string{"token-order"}}, Strategy: "aimed", To: 700, perBlock: 300}
	text := farm(t, f, 1)[0]
	lines := strings.SplitAfter(text, "\n")
	for _, c := range []struct {
		reason string
		text   string
		blocks int
	}{
		{"whole", text, 3},
		{"in the last line", text[:len(text)-2], 2},
		{"without the last end of line", text[:len(text)-1], 2},
		{"behind the first block", lines[0] + lines[1], 1},
		{"behind the header", lines[0] + "{", 0},
	} {
		r, whole, err := ReadResults("x", strings.NewReader(c.text))
		if err != nil || len(r.Blocks()) != c.blocks || !strings.HasSuffix(c.text[:whole], "\n") {
			t.Errorf("cut off %s: expected %d blocks, found %v, %v", c.reason, c.blocks, r, err)
			continue
		}
		again := f
		again.Shards = 1
		ran := 0
		again.Known = func(index int64) *Block { return r.Known(0, 0, index) }
		again.Block = func(b *Block) error { ran++; return r.Put(ResultOf(0, &again, b)) }
		sum := mustFuzz(t, again)
		if textOf(t, r) != text || ran != 3-c.blocks || sum.Schedules != int64(f.To) {
			t.Errorf("cut off %s: expected to go on with %d blocks, found %d, %d schedules", c.reason, 3-c.blocks, ran, sum.Schedules)
		}
	}
}

// TestReadResultsErrors: what is wrong is named, with its line.
func TestReadResultsErrors(t *testing.T) {
	head := string(someHeader.Line())
	for _, c := range []struct {
		reason, text string
		line         int
		want         string
	}{
		{"empty", "", 1, "no whole line"},
		{"cut off in the header", head[:10], 1, "no whole line"},
		{"a history", `{"format":"staleproof.history/1"}` + "\n", 1, `format "staleproof.results/1"`},
		{"no JSON", "hello\n", 1, "hello"},
		{"no shards", `{"format":"staleproof.results/1"}` + "\n", 1, "shards"},
		{"a broken block", head + "{\n", 2, "a block of results"},
		{"a block of no shard", head + `{"shard":4}` + "\n", 2, "shards"},
		{"a strategy of another version", head + `{"strategies":[{"name":"luck"}]}` + "\n", 2, "not luck"},
		{"a token that is changed", head + `{"kills":[{"replay":"sp1:AAAA"}]}` + "\n", 2, "replay token"},
		{"more shards than there can be", headWith(func(h *ResultHeader) { h.Shards = 1 << 60 }), 1, "a number of shards from 1 to 65536, found 1152921504606846976"},
		{"more seeds than there are", headWith(func(h *ResultHeader) { h.To = 1 << 40 }), 1, "seeds below 2147483648, from before to, found from 0 to 1099511627776"},
		{"no seeds", headWith(func(h *ResultHeader) { h.From = h.To }), 1, "seeds below"},
		{"a strategy that learns", headWith(func(h *ResultHeader) { h.Strategy = Portfolio }), 1, "a strategy of fixed shares"},
		{"no trials", headWith(func(h *ResultHeader) { h.Trials = nil }), 1, "expected trials, found none"},
		{"a trial twice", headWith(func(h *ResultHeader) { h.Trials = append(h.Trials[:1:1], h.Trials[0]) }), 1, "each trial once, found textbook twice"},
		{"a block behind the last", blockWith(func(b *ResultBlock) { b.Index = 1 << 40 }), 2, "a block of this file's trials, shards and seeds"},
		{"no schedules", blockWith(func(b *ResultBlock) { b.Schedules = 0 }), 2, "1 to 8192 schedules"},
		{"more schedules than a block has", blockWith(func(b *ResultBlock) { b.Schedules = 8193 }), 2, "1 to 8192 schedules"},
		{"negative events", blockWith(func(b *ResultBlock) { b.Events = -1 }), 2, "and their events"},
		{"more schedules than those of its strategies", blockWith(func(b *ResultBlock) { b.Schedules++ }), 2, "strategies with 1102 schedules together"},
		{"a strategy twice", blockWith(func(b *ResultBlock) { b.Strategies = append(b.Strategies, b.Strategies[0]) }), 2, "each strategy once"},
		{"something that never happens", blockWith(func(b *ResultBlock) { b.Sometimes = map[string]int64{"luck": 1} }), 2, "what sometimes happens"},
		{"a negative count", blockWith(func(b *ResultBlock) { b.Sometimes["renewed"] = -1 }), 2, "what sometimes happens"},
		{"more undecided than there are", blockWith(func(b *ResultBlock) { b.Inconclusive = map[string]int64{"token-order": 9999} }), 2, "as many inconclusive"},
		{"a kill of another shard", killWith(func(k *ResultKill) { k.Seed++ }), 2, "kills at seeds of the shard, not at 2"},
		{"a kill of another scenario", killWith(func(k *ResultKill) { k.Replay = tokenOf("check-apart") }), 2, "replay tokens of textbook"},
		{"a kill that broke nothing", killWith(func(k *ResultKill) { k.Broken, k.Messages = nil, nil }), 2, "the properties that each kill broke"},
		{"a kill without a message", killWith(func(k *ResultKill) { k.Messages = nil }), 2, "a message for each"},
		{"an unknown property", killWith(func(k *ResultKill) { k.Broken = []string{"luck"} }), 2, "luck"},
		{"another result of the block", blockWith(func(*ResultBlock) {}) + string((&ResultBlock{Shard: 1, Index: 1, Schedules: 1, Strategies: []ResultStrategy{{"storm", 1}}}).Line()), 3, "one result of a block, found another"},
	} {
		_, _, err := ReadResults("f", strings.NewReader(c.text))
		var bad *history.SyntaxError
		if !errors.As(err, &bad) || bad.Line != c.line || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: expected %q at line %d, found %v", c.reason, c.want, c.line, err)
		}
	}
}

// headWith is a file of a header that was changed.
func headWith(change func(*ResultHeader)) string {
	h := someHeader
	change(&h)
	return string(h.Line())
}

// blockWith is a file of a block that was changed.
func blockWith(change func(*ResultBlock)) string {
	b := blockAt(0, 1, 1)
	change(b)
	return string(someHeader.Line()) + string(b.Line())
}

// killWith is a file of a kill that was changed.
func killWith(change func(*ResultKill)) string {
	return blockWith(func(b *ResultBlock) {
		k := ResultKill{Seed: 1, Strategy: "storm", Broken: []string{"token-order"}, Messages: []string{"broke it"}, Replay: tokenOf("textbook")}
		change(&k)
		b.Kills = []ResultKill{k}
	})
}

// tokenOf is that of the calm run of a scenario.
func tokenOf(name string) string {
	sc, err := scenarios.Lookup(name)
	if err != nil {
		panic(err)
	}
	return (&scenarios.Recorded{Scenario: name, Revision: sc.Revision, Params: sc.Params}).Token()
}

// TestReadGoodKill: what the table of errors changes is right to begin with.
func TestReadGoodKill(t *testing.T) {
	if r := read(t, killWith(func(*ResultKill) {})); len(r.Campaign(0).Kills) != 1 {
		t.Errorf("expected a kill, found %v", r.Blocks())
	}
}
