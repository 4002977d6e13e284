package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Site is a kind of decision. The zero Site is tie.
type Site uint8

// The sites. At every one of them option 0 is the boring answer.
const (
	SiteTie       Site = iota // which of several events at the same time is first: 0 the one scheduled first
	SiteTask                  // which ready task of a process runs: 0 the one that was ready first
	SiteDelay                 // extra latency of a message: k is Config.Delays[k-1]
	SiteHold                  // a message is held back for Config.Holds[k-1]
	SiteDrop                  // a message is lost
	SiteDuplicate             // a message arrives twice, the copy Config.Delays[k-1] later
	SitePartition             // the link to the receiver is cut for Config.Partitions[(k-1)/2]: odd k one way, even k both ways
	SitePause                 // the process freezes at a yield for Config.Pauses[k-1]; its monotonic clock runs on
	SiteSuspend               // the same for Config.Suspends[k-1], but its monotonic clock stands still: a virtual machine
	SiteStall                 // one task stalls at a yield for Config.Stalls[k-1] while the others run
	SiteCrash                 // the process crashes at a yield and restarts after Config.Restarts[k-1]
	SiteDisk                  // at a crash the first k unsynced writes survive
	SiteDrift                 // the clocks of a process drift by Config.Drifts[k-1] ppm from its start
	SiteJump                  // its wall clock jumps by Config.Jumps[k-1] just before it is read
	SiteNext                  // untimed and bounded: which enabled event is next
	SiteUser                  // Proc.Choose
	siteCount
)

// SiteCount is the number of sites.
const SiteCount = int(siteCount)

var siteNames = [siteCount]string{
	"tie", "task", "delay", "hold", "drop", "duplicate", "partition", "pause", "suspend",
	"stall", "crash", "disk", "drift", "jump", "next", "user",
}

func (s Site) String() string {
	if s < siteCount {
		return siteNames[s]
	}
	return "site(" + strconv.Itoa(int(s)) + ")"
}

// SiteSet is a set of sites.
type SiteSet uint32

// Has reports whether s is in the set.
func (set SiteSet) Has(s Site) bool { return set>>s&1 != 0 }

// With returns the set with the given sites added.
func (set SiteSet) With(sites ...Site) SiteSet {
	for _, s := range sites {
		set |= 1 << s
	}
	return set
}

// AllSites holds every site.
const AllSites = SiteSet(1<<siteCount - 1)

// Key names one choice of a run: the site, the process that it concerns (its
// index in the order of spawning; -1 is the world), and how many choices of
// that site the process has met before.
type Key struct {
	Proc  int32
	Site  Site
	Count uint32
}

func (k Key) compare(o Key) int {
	switch {
	case k.Proc != o.Proc:
		return int(k.Proc) - int(o.Proc)
	case k.Site != o.Site:
		return int(k.Site) - int(o.Site)
	case k.Count < o.Count:
		return -1
	case k.Count > o.Count:
		return 1
	}
	return 0
}

// Decision is a choice that was not answered with 0.
type Decision struct {
	Key
	Option int
	// Time is the true time of the choice and Label the yield, choice or message
	// that it struck; both are for people and no part of the schedule.
	Time  int64
	Label string
}

// Schedule is what makes a run: the choices that differ from 0, each named by
// its key. A missing or impossible entry means 0.
type Schedule []Decision

// Text returns the schedule as "A/pause#2=3 *: ..." entries separated by
// spaces, in the order of processes, sites and counts; names gives the
// process names in the order of spawning. The world's own choices are written
// with the process "*".
func (s Schedule) Text(names []string) string {
	sorted := slices.Clone(s)
	slices.SortFunc(sorted, func(a, b Decision) int { return a.compare(b.Key) })
	var b strings.Builder
	for i, d := range sorted {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s/%s#%d=%d", procName(names, d.Proc), d.Site, d.Count, d.Option)
	}
	return b.String()
}

func procName(names []string, proc int32) string {
	if proc < 0 || int(proc) >= len(names) {
		return "*"
	}
	return names[proc]
}

// ParseSchedule reads what [Schedule.Text] writes.
func ParseSchedule(text string, names []string) (Schedule, error) {
	var s Schedule
	for _, entry := range strings.Fields(text) {
		d, err := parseDecision(entry, names)
		if err != nil {
			return nil, err
		}
		s = append(s, d)
	}
	return s, nil
}

func parseDecision(entry string, names []string) (Decision, error) {
	bad := func(expected, found string) (Decision, error) {
		return Decision{}, fmt.Errorf("schedule entry %q: expected %s, found %q", entry, expected, found)
	}
	who, rest, ok := strings.Cut(entry, "/")
	if !ok {
		return bad("process/site#count=option", entry)
	}
	proc := -1
	if who != "*" {
		if proc = slices.Index(names, who); proc < 0 {
			return bad("one of the processes "+strings.Join(names, ", "), who)
		}
	}
	site, rest, ok := strings.Cut(rest, "#")
	if !ok {
		return bad("a # before the count", site)
	}
	at := slices.Index(siteNames[:], site)
	if at < 0 {
		return bad("one of the sites "+strings.Join(siteNames[:], ", "), site)
	}
	count, option, ok := strings.Cut(rest, "=")
	if !ok {
		return bad("a = before the option", rest)
	}
	c, err := strconv.ParseUint(count, 10, 32)
	if err != nil {
		return bad("a count", count)
	}
	o, err := strconv.ParseUint(option, 10, 31)
	if err != nil {
		return bad("an option", option)
	}
	return Decision{Key: Key{Proc: int32(proc), Site: Site(at), Count: uint32(c)}, Option: int(o)}, nil
}

// Choice is one question to a [Chooser]: which of the options 0 to Options-1.
type Choice struct {
	Key
	// Peer is, at the sites of messages, the process that the message goes to; 0
	// elsewhere.
	Peer    ID
	Options int
}

// Chooser answers the choices of one run.
type Chooser interface {
	// Sites are those at which it may answer something else than 0. The world
	// does not ask it about the others.
	Sites() SiteSet
	// Choose answers c. An answer outside [0, c.Options) counts as 0.
	Choose(c Choice) int
}

// Calm answers 0 to everything.
type Calm struct{}

// Sites is empty.
func (Calm) Sites() SiteSet { return 0 }

// Choose returns 0.
func (Calm) Choose(Choice) int { return 0 }

// Rates give for each site how often a seeded chooser answers something else
// than 0, in units of 1/65536; [Uniform] makes every option equally likely. The
// zero value is the calm run.
type Rates [siteCount]uint16

// Uniform is the rate at which all options of a choice are equally likely.
const Uniform = 1<<16 - 1

// Seeded draws each choice from a pseudo-random function of the seed and the
// choice's key, not from a stream: one choice more does not shift the others.
type Seeded struct {
	Seed  uint64
	Rates Rates
}

// Sites are those with a rate above 0.
func (c *Seeded) Sites() SiteSet {
	var set SiteSet
	for s, rate := range c.Rates {
		if rate > 0 {
			set = set.With(Site(s))
		}
	}
	return set
}

// Choose draws the answer to ch.
func (c *Seeded) Choose(ch Choice) int { return c.answer(ch.Key, ch.Options) }

// strikesMessage and strikesYield report whether one of the sites may be struck
// there: false is certain, and mostly all that there is to know.
func (c *Seeded) strikesMessage(proc ID, count uint32, sites SiteSet) bool {
	k := Key{Proc: int32(proc), Count: count}
	return sites.Has(SiteDelay) && c.strikes(k, SiteDelay) || sites.Has(SiteHold) && c.strikes(k, SiteHold) ||
		sites.Has(SiteDrop) && c.strikes(k, SiteDrop) || sites.Has(SiteDuplicate) && c.strikes(k, SiteDuplicate) ||
		sites.Has(SitePartition) && c.strikes(k, SitePartition)
}

func (c *Seeded) strikesYield(proc ID, count uint32, sites SiteSet) bool {
	k := Key{Proc: int32(proc), Count: count}
	return sites.Has(SitePause) && c.strikes(k, SitePause) || sites.Has(SiteSuspend) && c.strikes(k, SiteSuspend) ||
		sites.Has(SiteStall) && c.strikes(k, SiteStall) || sites.Has(SiteCrash) && c.strikes(k, SiteCrash)
}

// strikes is true where answer may be something else than 0.
func (c *Seeded) strikes(k Key, s Site) bool {
	k.Site = s
	return uint16(c.draw(k)>>48) <= c.Rates[s]
}

func (c *Seeded) answer(k Key, options int) int {
	r := c.draw(k)
	rate := uint64(c.Rates[k.Site])
	if rate == Uniform {
		return below(scramble(r), options)
	}
	if r>>48 >= rate {
		return 0
	}
	return 1 + below(scramble(r), options-1)
}

// draw is the pseudo-random function behind the seeded choosers.
func (c *Seeded) draw(k Key) uint64 {
	x := uint64(uint32(k.Proc+1))<<40 | uint64(k.Site)<<32 | uint64(k.Count)
	return scramble(c.Seed + x*mixer)
}

// Replay answers from a schedule.
type Replay struct {
	sites SiteSet
	set   []Decision
}

// NewReplay returns a chooser that answers the choices of s as s says, and 0 to
// all others.
func NewReplay(s Schedule) *Replay {
	r := &Replay{}
	r.Reset(s)
	return r
}

// Reset makes r replay s. It keeps no reference to s.
func (r *Replay) Reset(s Schedule) {
	r.set = append(r.set[:0], s...)
	slices.SortStableFunc(r.set, func(a, b Decision) int { return a.compare(b.Key) })
	r.sites = 0
	for _, d := range s {
		r.sites = r.sites.With(d.Site)
	}
}

// Sites are those that the schedule names.
func (r *Replay) Sites() SiteSet { return r.sites }

// Choose looks c up.
func (r *Replay) Choose(c Choice) int {
	i, ok := slices.BinarySearchFunc(r.set, c.Key, func(d Decision, k Key) int { return d.compare(k) })
	if !ok {
		return 0
	}
	return r.set[i].Option
}

// Override answers from a schedule where it has an entry and asks another
// chooser otherwise: sparse overrides on top of a seed.
type Override struct {
	Schedule *Replay
	Under    Chooser
}

// Sites are those of both.
func (o *Override) Sites() SiteSet { return o.Schedule.Sites() | o.Under.Sites() }

// Choose prefers the schedule.
func (o *Override) Choose(c Choice) int {
	if k := o.Schedule.Choose(c); k > 0 {
		return k
	}
	if o.Under.Sites().Has(c.Site) {
		return o.Under.Choose(c)
	}
	return 0
}

// Bytes draws its answers from a byte string, one byte a choice, for
// coverage-guided fuzzing; when the bytes are spent it answers 0.
type Bytes struct {
	Data  []byte
	Where SiteSet // the sites that consume bytes
}

// Sites are the sites that consume bytes, while any are left.
func (b *Bytes) Sites() SiteSet { return b.Where }

// Choose consumes a byte.
func (b *Bytes) Choose(c Choice) int {
	if len(b.Data) == 0 {
		return 0
	}
	k := int(b.Data[0]) % c.Options
	b.Data = b.Data[1:]
	return k
}
