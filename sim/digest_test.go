package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMixString: the hash depends on every byte, the order and the length.
func TestMixString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "s")
		h := MixString(1, string(s))
		other := append([]byte(nil), s...)
		switch i := rapid.IntRange(0, len(s)-1).Draw(t, "index"); rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			other[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 1:
			other = append(other, 0)
		case 2:
			other = append(other[:i], other[i+1:]...)
		}
		if MixString(1, string(other)) == h {
			t.Fatalf("%q and %q hash alike", s, other)
		}
		if Mix(h, 1) == Mix(h, 2) || Mix(h, 1) == Mix(h+1, 1) {
			t.Fatal("Mix does not depend on both")
		}
	})
}

// TestFoldAny: values that differ hash differently, equal ones alike, whatever
// the way in which they are hashed.
func TestFoldAny(t *testing.T) {
	type inner struct {
		A string
		B [2]int16
	}
	type outer struct {
		X inner
		Y any
		Z bool
	}
	values := []any{
		"", "a", "ab", "longer than eight bytes", "longer than eight bytes!",
		int8(2), int64(-3), uint32(4), uint64(math.MaxUint64), 1 << 20, [2]int{1, 2}, [2]int{2, 1}, [3]int{1, 2},
		inner{}, inner{A: "a"}, inner{B: [2]int16{0, 1}}, inner{B: [2]int16{1, 0}},
		outer{}, outer{X: inner{A: "a"}}, outer{Y: "a"}, outer{Y: inner{A: "a"}}, outer{Y: inner{A: "b"}}, outer{Z: true},
		outer{Y: [1]string{"a"}}, account{5, 6}, account{6, 5}, time.Second,
	}
	seen := map[uint64]any{}
	for _, v := range values {
		h := foldAny(7, v)
		if other, ok := seen[h]; ok {
			t.Errorf("%#v and %#v hash alike", v, other)
		}
		seen[h] = v
		if foldAny(7, v) != h || foldAny(8, v) == h {
			t.Errorf("the hash of %#v does not depend on what was before and it alone", v)
		}
	}
	if foldAny(7, 5) != foldAny(7, int64(5)) || foldAny(7, -5) != foldAny(7, int64(-5)) {
		t.Error("an int hashes by its size: not the same on every architecture")
	}
}

// TestDigestSees: runs that differ in one thing only have digests that differ.
func TestDigestSees(t *testing.T) {
	cfg := Config{Latency: milli, Delays: []time.Duration{milli}, Partitions: []time.Duration{milli}, Pauses: []time.Duration{milli}, Jumps: []time.Duration{1, 2}}
	seen := map[uint64]string{}
	for _, x := range []struct {
		name, schedule string
		body, seen     any
		peer           ID
	}{
		{name: "plain", body: 1},
		{name: "another body", body: 2},
		{name: "another receiver", body: 1, peer: 2},
		{name: "another order of arrival", body: 1, schedule: "*/tie#0=1"},
		{name: "later", body: 1, schedule: "A/delay#1=1"},
		{name: "lost", body: 1, schedule: "A/drop#1=1"},
		{name: "cut one way", body: 1, schedule: "A/partition#1=1"},
		{name: "cut both ways", body: 1, schedule: "A/partition#1=2"},
		{name: "paused", body: 1, schedule: "A/pause#0=1"},
		{name: "jumped", body: 1, schedule: "A/jump#0=1"},
		{name: "jumped further", body: 1, schedule: "A/jump#0=2"},
		{name: "an observation", body: 1, seen: "this"},
		{name: "another observation", body: 1, seen: "that"},
	} {
		r := play(t, cfg, replaying(t, x.schedule, "A", "B", "C"), remarks(), func(w *World) {
			spawn(w, "A", func(p *Proc) {
				p.Send(1, 0)
				p.Send(max(x.peer, 1), x.body)
				p.Wall()
				if x.seen != nil {
					say(p, "%v", x.seen)
				}
				p.Yield("here")
			})
			for _, name := range []string{"B", "C"} {
				serve(w, name, func(p *Proc, m Message) {})
			}
		})
		if other, ok := seen[r.Digest]; ok {
			t.Errorf("%s and %s have the same digest", x.name, other)
		}
		seen[r.Digest] = x.name
	}
}

func TestNanoseconds(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0s", 1: "1ns", 999: "999ns", 1000: "1us", 1500: "1.5us", 1_000_000: "1ms", 1_050_000: "1.05ms",
		35_000_000_000: "35s", 3_600_000_000_001: "3600.000000001s", -2_500_000: "-2.5ms",
		math.MaxInt64: "9223372036.854775807s", math.MinInt64: "-9223372036.854775807s",
	} {
		if got := Nanoseconds(ns); got != want {
			t.Errorf("%d is %q, want %q", ns, got, want)
		}
	}
}

// TestDescribe: every site has words, with its own duration.
func TestDescribe(t *testing.T) {
	w := NewWorld(richConfig, Calm{}, nil)
	defer w.Close()
	richWorld(w)
	for _, x := range []struct{ entry, label, want string }{
		{"*/tie#0=2", "", "of several events at the same time, number 3 came first"},
		{"ann/task#0=1", "", "another ready task of ann ran first"},
		{"ann/delay#4=2", "", "message 5 of ann was 3ms late"},
		{"ann/hold#0=1", "", "message 1 of ann was held back for 200ms"},
		{"ann/drop#0=1", "", "message 1 of ann was lost"},
		{"ann/duplicate#2=3", "", "message 3 of ann arrived a second time, 20ms later"},
		{"ann/partition#2=1", "", "the link of message 3 of ann was cut one way for 5ms"},
		{"ann/partition#2=2", "", "the link of message 3 of ann was cut both ways for 5ms"},
		{"ann/partition#2=3", "", "the link of message 3 of ann was cut one way for 60ms"},
		{"ann/partition#2=4", "", "the link of message 3 of ann was cut both ways for 60ms"},
		{"bank/pause#0=2", "locked", `bank was paused for 150ms at "locked"`},
		{"bank/suspend#0=1", "locked", `bank was suspended, its clock too, for 3ms at "locked"`},
		{"bank/stall#0=2", "locked", `one task of bank stalled for 90ms at "locked"`},
		{"bank/crash#0=2", "locked", `bank crashed at "locked" and restarted after 70ms`},
		{"bank/disk#0=2", "", "the first 2 unsynced writes of bank survived its crash"},
		{"bank/drift#0=4", "", "the clocks of bank drifted by -50000 ppm"},
		{"bank/jump#0=2", "", "the wall clock of bank jumped by -1s"},
		{"bank/user#0=2", "slow", `bank chose 2 at "slow"`},
		{"bank/drift#0=9", "", "the clocks of bank drifted by ? ppm"},
		{"bank/pause#0=9", "", "bank was paused for ?"},
	} {
		s, err := ParseSchedule(x.entry, w.Names())
		if err != nil {
			t.Fatal(err)
		}
		s[0].Label = x.label
		if got := w.Describe(s[0]); got != x.want {
			t.Errorf("%s: %q, want %q", x.entry, got, x.want)
		}
	}
	for site := range siteCount {
		for option := range 12 {
			if got := w.Describe(Decision{Key: Key{Proc: 1, Site: site}, Option: option}); got == "" || strings.Contains(got, "site(") {
				t.Errorf("%s=%d: %q", site, option, got)
			}
		}
	}
}

// TestNotesWanted: an observer hears the kinds that it wants, with the places
// that they have among all, and copies too.
func TestNotesWanted(t *testing.T) {
	all := everything()
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	digest := richRun(w, rich(4), all)
	for kind := range noteCount {
		some := &tape{kinds: NoteSet(0).With(kind)}
		if got := richRun(w, rich(4), some); got != digest {
			t.Errorf("%s: another run, heard by another: %s", noteNames[kind], got)
		}
		var want []string
		for _, l := range all.lines {
			observed := strings.Contains(strings.SplitN(l, " ", 3)[1], ":")
			if observed || strings.Contains(l, " "+noteNames[kind]+" ") || strings.HasSuffix(l, " "+noteNames[kind]) || strings.HasSuffix(l, " copy") {
				want = append(want, l)
			}
		}
		if got := some.String(); got != strings.Join(want, "\n") {
			t.Errorf("%s: heard\n%s\nwant\n%s", noteNames[kind], got, strings.Join(want, "\n"))
		}
	}
	if !AllNotes.Has(noteCount-1) || AllNotes.Has(noteCount) {
		t.Error("AllNotes does not hold exactly all kinds")
	}
}
