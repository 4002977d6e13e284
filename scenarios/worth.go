package scenarios

import (
	"fmt"
	"strings"

	"staleproof/checker"
	"staleproof/sim"
)

// worth counts what the schedules of a test tried.
type worth struct {
	replay    bool // of one schedule, by its token
	schedules int64
	facts     checker.Counts
	calls     [len(methods)]int64 // of the store's methods
	yields    int64               // inside them
	crashable int64               // of these yields, in runs in which it could crash
	stalls    int64               // that struck there
	crashes   int64
	// several says that there were leases of two resources, alone the property that
	// the calm run with two breaks, and aloneRun the token of that run.
	several         bool
	alone, aloneRun string
}

// deletes is the place of Delete among the methods.
const (
	reads   = 1
	deletes = 3
)

// add counts a run.
func (w *worth) add(u *userTest, p *Plan, o *Outcome) {
	w.schedules++
	for i, n := range o.Sometimes {
		w.facts[i] += n
	}
	if u.config.opt.NewStore == nil {
		return
	}
	store := u.r.world.Lookup("store")
	inside := int64(u.r.world.Yields(store))
	for _, s := range u.config.stores {
		calls, arrived := s.Calls()
		inside -= arrived // each yields before the store is asked
		for i, n := range calls {
			w.calls[i] += n
		}
	}
	w.yields += inside
	if p.Rates[sim.SiteCrash] > 0 && u.crashes() {
		w.crashable += inside
	}
	for _, d := range o.Result.Decisions {
		switch {
		case sim.ID(d.Proc) != store || d.Label == "request":
		case d.Site == sim.SiteStall:
			w.stalls++
		case d.Site == sim.SiteCrash:
			w.crashes++
		}
	}
}

// crashes reports whether the user's store may crash.
func (u *userTest) crashes() bool { return u.r.sc.StoreCrashes || u.config.opt.StoreCrashes }

// text returns the counts in one line.
func (w *worth) text(u *userTest) string {
	if w.replay {
		return "the schedule of the token breaks nothing"
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	say("%d schedules of %s: %d stale writes attempted, %d refused", w.schedules, u.r.sc.Name,
		w.facts[checker.StaleWriteAttempted], w.facts[checker.StaleWriteRejected])
	if u.config.opt.NewStore == nil {
		return b.String()
	}
	say("; inside the store %d yields, at which %d stalls struck", w.yields, w.stalls)
	if u.crashes() {
		say(", and %d places of a crash, at which %d struck", w.crashable, w.crashes)
	} else {
		say(", and no crash (WithStoreCrashes)")
	}
	for i, name := range methods {
		switch {
		case !u.config.offers[i]:
		case w.calls[i] == 0:
			say("; %s was never called", name)
		default:
			say("; %s %d times", name, w.calls[i])
		}
	}
	if w.yields == 0 && w.calls != [len(methods)]int64{} {
		say("; no interleaving inside the store was tried, as it never yields, sleeps or waits: p.Yield marks such places, and goroutines, channels and real time are not seen")
	}
	if len(u.config.spoilt) > 0 {
		say("; not judged, as %s breaks it with a right store too: %s", u.r.opt.Defects, strings.Join(u.config.spoilt, ", "))
	}
	if w.alone != "" {
		say("; leases of one resource alone, as the calm run with two breaks %s: %s='%s' shows it", w.alone, ReplayVariable, w.aloneRun)
	}
	return b.String()
}
