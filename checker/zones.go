package checker

// Three questions have one linear answer. Whether reads and writes of unique
// values are linearizable, whether a mutex is, and whether leases that nobody
// need notice losing are: in each, operations belong to one of many groups (the
// write of a value and its reads; an acquisition and what proves that it was
// still held), and the operations of a group must follow one another with those
// of no other group in between.
//
//	first   the earliest end of an operation of the group
//	last    the latest beginning of one
//
//	first < last   the group was certainly in progress from first to last
//	last < first   all its operations can share one moment from last to first
//
// The history can be put in order if and only if no two groups were certainly
// in progress at once, and no moment lies within a time in which another group
// certainly was: of two groups, the one that is first to end an operation has
// not begun its last one when the other ends its first, or the other one can
// come before it. Source: Gibbons and Korach, "Testing shared memories", SIAM J.
// Comput. 26 (1997), section 4.

// zone is what the order of a history has to know of a group.
type zone struct {
	owner       int32
	first, last int64     // indexes of events; last is never while it cannot have ended
	begun       int64     // where the group's first operation began
	proof       int64     // the end of the operation that began at last
	dead        bool      // no operation will be added
	at          int       // its place in the timeline; -1 when it was forgotten
	hold        *lockHold // of which it is the zone, among locks
}

// certain reports whether there is a time in which z was certainly in progress.
func (z *zone) certain() bool { return z.first < z.last }

// timeline is the zones of one scope in the order of their firsts. It forgets
// dead ones that other zones stand for, so that it grows with the groups that
// are not over, not with the history.
type timeline struct {
	zones []*zone
	alive int
	// lenient: zones of one owner do not exclude each other.
	lenient bool
}

func (l *timeline) exclude(a, b *zone) bool { return !l.lenient || a.owner != b.owner }

// open adds a zone whose first operation began at start and has ended at end,
// later than anything known.
func (l *timeline) open(z *zone, start, end int64) {
	if len(l.zones) > 2*l.alive+64 {
		l.forget()
	}
	z.first, z.last, z.begun, z.proof = end, start, start, end
	z.at = len(l.zones)
	l.zones = append(l.zones, z)
	l.alive++
}

// extend adds an operation that began at start and has ended at end to a zone.
// It returns the zone that excludes this one now, if there is one.
func (l *timeline) extend(z *zone, start, end int64) *zone {
	if start <= z.last || z.at < 0 {
		return nil
	}
	before := z.last
	z.last, z.proof = start, end
	if z.certain() {
		if o := l.within(z); o != nil {
			return o
		}
	}
	return l.around(z, before)
}

// next returns the first zone that excludes z if z goes on for ever.
func (l *timeline) next(z *zone) *zone {
	last := z.last
	z.last = never
	o := l.within(z)
	z.last = last
	return o
}

// within returns the first zone that has to lie within the certain time of z.
// It passes over those only that overlap the end of z's first operation.
func (l *timeline) within(z *zone) *zone {
	for _, o := range l.zones[z.at+1:] {
		if o.first > z.last {
			return nil
		}
		if o.last > z.first && l.exclude(z, o) {
			return o
		}
	}
	return nil
}

// around returns a zone that z has to lie within, since its last beginning
// moved on from before: one whose first end that beginning has passed.
func (l *timeline) around(z *zone, before int64) *zone {
	for i := z.at - 1; i >= 0 && l.zones[i].first > before; i-- {
		if o := l.zones[i]; o.last > z.first && z.last > o.first && l.exclude(z, o) {
			return o
		}
	}
	return nil
}

// close says that no operation will be added to z.
func (l *timeline) close(z *zone) {
	if !z.dead {
		l.alive--
		z.dead = true
	}
}

// forget drops each dead zone that cannot be around a zone that is alive, and
// before which another one would be found within any zone that is alive.
func (l *timeline) forget() {
	kept := l.zones[:0]
	fence := int64(never) // the latest first of a zone alive, so far
	var witness, other *zone
	for i, z := range l.zones {
		z.at = -1
		switch next := i + 1; {
		case !z.dead:
			fence, witness, other = z.first, nil, nil
		case next < len(l.zones) && z.last > l.zones[next].first:
		case fence == never:
			continue // no zone before it is alive
		case z.last <= fence:
		case witness == nil:
			witness = z
		case !l.exclude(witness, z) || !l.lenient || other != nil:
			continue
		default:
			other = z
		}
		z.at = len(kept)
		kept = append(kept, z)
	}
	clear(l.zones[len(kept):])
	l.zones = kept
}
