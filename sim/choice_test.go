package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSplitMix holds the finalizer to published outputs: those of SplitMix64 with
// seed 1234567, whose state grows by the golden ratio.
func TestSplitMix(t *testing.T) {
	want := []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}
	x := uint64(1234567)
	for i, w := range want {
		x += mixer
		if got := scramble(x); got != w {
			t.Errorf("output %d: got %d, want %d", i, got, w)
		}
	}
}

// TestGoldenDraws pins the seeded choosers: every replay token depends on them.
func TestGoldenDraws(t *testing.T) {
	tests := []struct {
		seed uint64
		key  Key
		draw uint64
		full int // the option of 10 at rate Uniform
		half int // the option of 10 at rate 1/2
	}{
		{0, Key{Proc: -1, Site: SiteTie, Count: 0}, 0, 0, 1},
		{1, Key{Proc: 0, Site: SiteDrop, Count: 0}, 16123895722829579495, 4, 0},
		{1, Key{Proc: 0, Site: SiteDrop, Count: 1}, 18357619071639516480, 5, 0},
		{1, Key{Proc: 1, Site: SiteDrop, Count: 0}, 10170300317044061357, 3, 0},
		{2, Key{Proc: 0, Site: SiteDrop, Count: 0}, 2609885940714579349, 7, 7},
		{18446744073709551615, Key{Proc: 3, Site: SiteUser, Count: 7}, 395072994163738534, 5, 6},
		{12345678901234567, Key{Proc: 11, Site: SiteCrash, Count: 70000}, 15747104641684480299, 4, 0},
		{42, Key{Proc: 2, Site: SitePause, Count: 4294967295}, 9149476206711946364, 9, 9},
		{99, Key{Proc: 5, Site: SiteDelay, Count: 3}, 16486279673847737027, 3, 0},
		{7, Key{Proc: 0, Site: SiteTie, Count: 0}, 18142462909517338651, 2, 0},
	}
	for _, x := range tests {
		c := &Seeded{Seed: x.seed}
		if got := c.draw(x.key); got != x.draw {
			t.Errorf("seed %d, %v: draws %d, want %d", x.seed, x.key, got, x.draw)
		}
		c.Rates[x.key.Site] = Uniform
		if got := c.Choose(Choice{Key: x.key, Options: 10}); got != x.full {
			t.Errorf("seed %d, %v: option %d of 10 at the uniform rate, want %d", x.seed, x.key, got, x.full)
		}
		c.Rates[x.key.Site] = 1 << 15
		if got := c.Choose(Choice{Key: x.key, Options: 10}); got != x.half {
			t.Errorf("seed %d, %v: option %d of 10 at rate 1/2, want %d", x.seed, x.key, got, x.half)
		}
	}
}

// TestKeyedDraws: what a key draws does not depend on what else is drawn, and
// seed, process, site and count all matter.
func TestKeyedDraws(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{0, 1, 2, 1 << 40} {
		c := &Seeded{Seed: seed}
		for proc := int32(-1); proc < 8; proc++ {
			for site := range siteCount {
				for count := range uint32(50) {
					k := Key{Proc: proc, Site: site, Count: count}
					name := fmt.Sprint(seed, k)
					d := c.draw(k)
					if other, ok := seen[d]; ok {
						t.Fatalf("%s and %s draw the same", name, other)
					}
					seen[d] = name
				}
			}
		}
	}
	c := &Seeded{Seed: 7, Rates: everySite(Uniform)}
	alone := c.Choose(Choice{Key: Key{Proc: 3, Site: SiteDrop, Count: 9}, Options: 1000})
	for count := range uint32(9) {
		c.Choose(Choice{Key: Key{Proc: 3, Site: SiteDrop, Count: count}, Options: 1000})
	}
	if again := c.Choose(Choice{Key: Key{Proc: 3, Site: SiteDrop, Count: 9}, Options: 1000}); again != alone {
		t.Errorf("after other draws the same key gives %d, alone %d", again, alone)
	}
}

// TestStrikes: nothing is struck where the short question says that nothing is, and
// mostly it says so.
func TestStrikes(t *testing.T) {
	const n = 20_000
	for name, ask := range map[string]struct {
		from, to Site
		strikes  func(c *Seeded, proc ID, count uint32, sites SiteSet) bool
	}{
		"message": {SiteDelay, SitePartition, (*Seeded).strikesMessage},
		"yield":   {SitePause, SiteCrash, (*Seeded).strikesYield},
	} {
		c := &Seeded{Seed: 11, Rates: everySite(1 << 13)}
		all, missed := SiteSet(0), 0
		for s := ask.from; s <= ask.to; s++ {
			all = all.With(s)
		}
		for i := range uint32(n) {
			struck := false
			for s := ask.from; s <= ask.to; s++ {
				if c.Choose(Choice{Key: Key{Proc: 2, Site: s, Count: i}, Options: 3}) == 0 {
					continue
				}
				if struck = true; !ask.strikes(c, 2, i, SiteSet(0).With(s)) {
					t.Fatalf("%s %d: %s is struck, and was denied", name, i, s)
				}
			}
			if !struck && ask.strikes(c, 2, i, all) {
				missed++
			}
		}
		if missed > n/1000 {
			t.Errorf("%s: %d of %d times nothing was struck, and that was not known", name, missed, n)
		}
		for s := ask.from; s <= ask.to; s++ {
			c := &Seeded{Seed: 5}
			c.Rates[s] = Uniform
			for i := range uint32(1000) {
				if !ask.strikes(c, 2, i, all) {
					t.Fatalf("%s %d: %s is uniform, and was denied", name, i, s)
				}
			}
		}
	}
}

func everySite(rate uint16) (r Rates) {
	for i := range r {
		r[i] = rate
	}
	return r
}

// TestRates: how often something else than 0 comes, and that what comes is
// spread evenly over the options. Bounds are five standard deviations.
func TestRates(t *testing.T) {
	const n = 40_000
	tests := []struct {
		rate    uint16
		options int
		zero    float64 // expected share of option 0
	}{
		{rate: 0, options: 4, zero: 1},
		{rate: 1 << 10, options: 2, zero: 1 - 1.0/64},
		{rate: 1 << 14, options: 4, zero: 0.75},
		{rate: 1 << 15, options: 2, zero: 0.5},
		{rate: Uniform - 1, options: 5, zero: 2.0 / 65536},
		{rate: Uniform, options: 5, zero: 0.2},
		{rate: Uniform, options: 2, zero: 0.5},
	}
	for _, x := range tests {
		counts := make([]int, x.options)
		c := &Seeded{Seed: 42}
		c.Rates[SitePause] = x.rate
		for i := range uint32(n) {
			counts[c.Choose(Choice{Key: Key{Site: SitePause, Count: i}, Options: x.options})]++
		}
		for k, got := range counts {
			share := x.zero
			if k > 0 {
				share = (1 - x.zero) / float64(x.options-1)
			}
			want := share * n
			slack := 5*sqrt(want*(1-share)) + 1
			if diff := float64(got) - want; diff > slack || diff < -slack {
				t.Errorf("rate %d: option %d of %d came %d times of %d, want %.0f +- %.0f", x.rate, k, x.options, got, n, want, slack)
			}
		}
	}
}

func sqrt(x float64) float64 {
	r := x
	for range 60 {
		if r > 0 {
			r = (r + x/r) / 2
		}
	}
	return r
}

func TestSeededSites(t *testing.T) {
	c := &Seeded{}
	c.Rates[SiteDrop], c.Rates[SiteUser] = 1, Uniform
	if got, want := c.Sites(), SiteSet(0).With(SiteDrop, SiteUser); got != want {
		t.Errorf("got %b, want %b", got, want)
	}
	if (&Seeded{Rates: everySite(1)}).Sites() != AllSites {
		t.Error("AllSites does not hold every site")
	}
}

func TestReplayChooser(t *testing.T) {
	at := func(proc int32, site Site, count uint32) Key { return Key{Proc: proc, Site: site, Count: count} }
	s := Schedule{
		{Key: at(1, SiteDrop, 2), Option: 1},
		{Key: at(-1, SiteTie, 0), Option: 3},
		{Key: at(1, SiteDelay, 70_000), Option: 2},
		{Key: at(1, SiteDrop, 2), Option: 7}, // named twice: the first counts
	}
	r := NewReplay(s)
	s[0].Option = 5 // it keeps no reference
	if got, want := r.Sites(), SiteSet(0).With(SiteDrop, SiteTie, SiteDelay); got != want {
		t.Errorf("sites %b, want %b", got, want)
	}
	for _, x := range []struct {
		key  Key
		want int
	}{
		{at(1, SiteDrop, 2), 1}, {at(-1, SiteTie, 0), 3}, {at(1, SiteDelay, 70_000), 2},
		{at(1, SiteDrop, 1), 0}, {at(0, SiteDrop, 2), 0}, {at(1, SiteHold, 2), 0}, {at(0, SiteTie, 0), 0},
	} {
		if got := r.Choose(Choice{Key: x.key, Options: 10}); got != x.want {
			t.Errorf("%v: got %d, want %d", x.key, got, x.want)
		}
	}
	r.Reset(nil)
	if r.Sites() != 0 || r.Choose(Choice{Key: at(1, SiteDrop, 2), Options: 10}) != 0 {
		t.Error("Reset keeps the old schedule")
	}
}

func TestOverride(t *testing.T) {
	under := &Seeded{Seed: 3}
	under.Rates[SiteDelay] = Uniform
	o := &Override{Schedule: NewReplay(Schedule{{Key: Key{Site: SiteDelay, Count: 4}, Option: 2}, {Key: Key{Site: SiteCrash}, Option: 1}}), Under: under}
	if got, want := o.Sites(), SiteSet(0).With(SiteDelay, SiteCrash); got != want {
		t.Errorf("sites %b, want %b", got, want)
	}
	for count := range uint32(20) {
		c := Choice{Key: Key{Site: SiteDelay, Count: count}, Options: 3}
		want := under.Choose(c)
		if count == 4 {
			want = 2
		}
		if got := o.Choose(c); got != want {
			t.Errorf("delay %d: got %d, want %d", count, got, want)
		}
	}
	if got := o.Choose(Choice{Key: Key{Site: SiteCrash}, Options: 3}); got != 1 {
		t.Errorf("the schedule's crash: got %d, want 1", got)
	}
	// A chooser is not asked about a site that is not its own.
	strict := &Override{Schedule: NewReplay(nil), Under: &Bytes{Data: []byte{1, 1}, Where: SiteSet(0).With(SiteDrop)}}
	if strict.Choose(Choice{Key: Key{Site: SiteCrash}, Options: 2}) != 0 || strict.Choose(Choice{Key: Key{Site: SiteDrop}, Options: 2}) != 1 {
		t.Error("Override asked Under about a site that is not its own")
	}
}

func TestBytes(t *testing.T) {
	b := &Bytes{Data: []byte{7, 255, 2}, Where: SiteSet(0).With(SiteDrop)}
	var got []int
	for range 5 {
		got = append(got, b.Choose(Choice{Key: Key{Site: SiteDrop}, Options: 3}))
	}
	if want := []int{1, 0, 2, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if b.Sites() != SiteSet(0).With(SiteDrop) || (Calm{}).Sites() != 0 || (Calm{}).Choose(Choice{Options: 9}) != 0 {
		t.Error("Bytes or Calm names the wrong sites, or Calm is not calm")
	}
}

// TestScheduleText: Text and ParseSchedule are each other's inverse, up to order.
func TestScheduleText(t *testing.T) {
	names := []string{"A", "store-1", "L.2"}
	rapid.Check(t, func(t *rapid.T) {
		var s Schedule
		for _, d := range rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) Decision {
			return Decision{
				Key: Key{
					Proc:  rapid.Int32Range(-1, 2).Draw(t, "process"),
					Site:  Site(rapid.IntRange(0, SiteCount-1).Draw(t, "site")),
					Count: rapid.Uint32().Draw(t, "count"),
				},
				Option: rapid.IntRange(0, 1<<31-1).Draw(t, "option"),
			}
		}), func(d Decision) Key { return d.Key }).Draw(t, "decisions") {
			s = append(s, d)
		}
		text := s.Text(names)
		back, err := ParseSchedule(text, names)
		if err != nil {
			t.Fatal(err)
		}
		sorted := slices.Clone(s)
		slices.SortFunc(sorted, func(a, b Decision) int { return a.compare(b.Key) })
		if diff := cmp.Diff(sorted, back); diff != "" {
			t.Fatalf("parsed %q (-want +got):\n%s", text, diff)
		}
		if again := back.Text(names); again != text {
			t.Fatalf("written %q, then %q", text, again)
		}
	})
}

func TestParseScheduleErrors(t *testing.T) {
	names := []string{"A", "B"}
	for _, x := range []struct{ text, want, reason string }{
		{"A/drop#0=1 A", `schedule entry "A": expected process/site#count=option, found "A"`, "no slash"},
		{"C/drop#0=1", `schedule entry "C/drop#0=1": expected one of the processes A, B, found "C"`, "unknown process"},
		{"A/drop=1", `schedule entry "A/drop=1": expected a # before the count, found "drop=1"`, "no count"},
		{"A/fall#0=1", `expected one of the sites tie, task, delay, hold, drop,`, "unknown site"},
		{"A/drop#1", `schedule entry "A/drop#1": expected a = before the option, found "1"`, "no option"},
		{"A/drop#x=1", `expected a count, found "x"`, "count is no number"},
		{"A/drop#-1=1", `expected a count, found "-1"`, "negative count"},
		{"A/drop#4294967296=1", `expected a count, found "4294967296"`, "count over 32 bits"},
		{"*/tie#0=", `expected an option, found ""`, "empty option"},
		{"*/tie#0=2147483648", `expected an option, found "2147483648"`, "option over 31 bits"},
		{"*/tie#0=1=2", `expected an option, found "1=2"`, "two options"},
	} {
		s, err := ParseSchedule(x.text, names)
		if err == nil {
			t.Errorf("%s: %q was read as %v", x.reason, x.text, s)
			continue
		}
		if !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q, want one line with %q", x.reason, err, x.want)
		}
	}
	if s, err := ParseSchedule(" \n", names); err != nil || len(s) != 0 {
		t.Errorf("the empty schedule: %v, %v", s, err)
	}
}

// TestParseScheduleAnything: no text makes it panic, and what it accepts it writes.
func TestParseScheduleAnything(t *testing.T) {
	names := []string{"A", "B"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([AB*]/?(drop|tie|x)?#?[0-9]{0,3}=?[0-9]{0,2}[ \n]?){0,4}`).Draw(t, "text")
		s, err := ParseSchedule(text, names)
		if err != nil {
			return
		}
		if _, err := ParseSchedule(s.Text(names), names); err != nil {
			t.Fatalf("%q was read, and written as %q: %v", text, s.Text(names), err)
		}
	})
}

func TestSiteNames(t *testing.T) {
	seen := map[string]bool{}
	for s := range siteCount {
		if s.String() == "" || seen[s.String()] {
			t.Errorf("site %d has no name of its own", s)
		}
		seen[s.String()] = true
	}
	if got := Site(99).String(); got != "site(99)" {
		t.Errorf("got %q", got)
	}
	set := SiteSet(0).With(SiteTie, SiteUser)
	if !set.Has(SiteTie) || !set.Has(SiteUser) || set.Has(SiteDrop) || set.With() != set {
		t.Errorf("the set %b does not hold exactly tie and user", set)
	}
}

// TestFailsafeChoosers: an answer outside the options counts as 0.
func TestFailsafeChoosers(t *testing.T) {
	for _, answer := range []int{-1, 0, 3, 1 << 30} {
		got := -1
		r := play(t, Config{}, constant(answer), remarks(), func(w *World) {
			spawn(w, "A", func(p *Proc) { got = p.Choose("which", 3) })
		})
		if got != 0 || len(r.Decisions) != 0 {
			t.Errorf("answer %d of 3: option %d, decisions %v", answer, got, r.Decisions)
		}
	}
}

// constant answers every choice of a process's own with the same number.
type constant int

func (c constant) Sites() SiteSet    { return SiteSet(0).With(SiteUser) }
func (c constant) Choose(Choice) int { return int(c) }
