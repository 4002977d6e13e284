package sim

import (
	"fmt"
	"strconv"
	"time"
)

// cut is a broken link, in one direction.
type cut struct {
	from, to ID
	until    int64
}

const netSites = SiteSet(1<<SiteDelay | 1<<SiteHold | 1<<SiteDrop | 1<<SiteDuplicate | 1<<SitePartition)

// send puts m on its way.
func (w *World) send(n *process, m *Message) {
	body := w.foldBody(m.Body)
	if uint(m.To) >= uint(w.count) {
		panic(Misuse(fmt.Sprintf("a message to process number %d: expected one of the %d processes of this world; take the number from Proc.Peer or Message.From", m.To, w.count)))
	}
	w.messages++
	m.ID = w.messages
	w.digest = mix(mix(w.digest, uint64(m.From)<<32^uint64(m.To)), body)
	if w.tally(NoteSend, m.From, uint64(m.ID)) {
		w.observer.Note(Note{Kind: NoteSend, Index: w.index, Time: w.now, Proc: m.From, Peer: m.To, Message: m.ID, Body: m.Body})
	}
	count := n.sends
	n.sends++
	if w.script != nil && w.script.catches(*m) {
		w.script.held = append(w.script.held, *m)
		return
	}
	late := int64(w.cfg.Latency)
	if sites := w.sites & netSites; len(w.cuts) > 0 || sites != 0 && (w.seeded == nil || w.seeded.strikesMessage(n.id, count, sites)) {
		extra, lost := w.disturb(n, m, count)
		if lost {
			return
		}
		late += extra
	}
	w.fly(m, late)
}

// fly lets m arrive after the given time.
func (w *World) fly(m *Message, after int64) {
	w.flying++
	at, ref := w.now+after, w.newFlight(m)
	if k := uint(w.nears); 0 < k && k < uint(len(w.near)) && at < w.near[k-1].at { // as enter does: mostly it is the next
		w.seq++
		w.nears++
		e := &w.near[k]
		e.at, e.seq, e.proc, e.ref, e.kind = at, w.seq, m.To, ref, atDelivery
		return
	}
	w.schedule(entry{at: at, kind: atDelivery, proc: m.To, ref: ref})
}

// disturb asks what the network does to m: how much later than usual it
// arrives, or whether it is lost.
func (w *World) disturb(n *process, m *Message, count uint32) (extra int64, lost bool) {
	cfg := &w.cfg
	w.receiver = m.To
	if k := w.choose(n, SitePartition, count, 2*w.durations(cfg.Partitions)+1, ""); k > 0 {
		w.partition(m.From, m.To, w.duration(cfg.Partitions, (k+1)/2), k%2 == 0)
	}
	if w.isCut(m.From, m.To) {
		w.note(Note{Kind: NoteDrop, Proc: m.From, Peer: m.To, Message: m.ID, For: 1, Body: m.Body})
		return 0, true
	}
	if w.choose(n, SiteDrop, count, 2, "") > 0 {
		w.note(Note{Kind: NoteDrop, Proc: m.From, Peer: m.To, Message: m.ID, Body: m.Body})
		return 0, true
	}
	if cfg.Timing != Timed {
		return 0, w.doubled(n, m, count)
	}
	if k := w.choose(n, SiteDelay, count, len(cfg.Delays)+1, ""); k > 0 {
		extra += int64(cfg.Delays[k-1])
	}
	if k := w.choose(n, SiteHold, count, len(cfg.Holds)+1, ""); k > 0 {
		extra += int64(cfg.Holds[k-1])
	}
	if k := w.choose(n, SiteDuplicate, count, len(cfg.Delays)+1, ""); k > 0 {
		twin := *m
		twin.Copy = true
		w.fly(&twin, int64(cfg.Latency)+extra+int64(cfg.Delays[k-1]))
	}
	return extra, false
}

// partition cuts the link from one process to another, or both ways.
func (w *World) partition(from, to ID, d int64, both bool) {
	w.note(Note{Kind: NotePartition, Proc: from, Peer: to, For: d, Both: both})
	w.cut(from, to, d)
	if both {
		w.cut(to, from, d)
	}
}

func (w *World) cut(from, to ID, d int64) {
	until := w.now + d
	if w.cfg.Timing != Timed {
		until = never
	}
	w.cuts = append(w.cuts, cut{from: from, to: to, until: until})
	w.schedule(entry{at: w.now + d, kind: atHeal, ref: int32(len(w.cuts) - 1)})
}

func (w *World) isCut(from, to ID) bool {
	for _, c := range w.cuts {
		if c.from == from && c.to == to && c.until > w.now {
			return true
		}
	}
	return false
}

func (w *World) heal(ref int32) {
	c := w.cuts[ref]
	if !w.isCut(c.from, c.to) {
		w.note(Note{Kind: NoteHeal, Proc: c.from, Peer: c.to})
	}
}

// deliver hands m to its receiver.
func (w *World) deliver(n *process, m *Message) {
	w.flying--
	if !n.up {
		w.note(Note{Kind: NoteDrop, Proc: m.From, Peer: m.To, Message: m.ID, Label: "down", Body: m.Body})
		return
	}
	if w.tally(NoteDeliver, m.To, uint64(m.ID)) || m.Copy && w.wants != 0 {
		w.observer.Note(Note{Kind: NoteDeliver, Index: w.index, Time: w.now, Proc: m.To, Peer: m.From, Message: m.ID, Copy: m.Copy, Body: m.Body})
	}
	n.accept(m)
}

// newFlight stores m until it lands.
func (w *World) newFlight(m *Message) int32 {
	if k := len(w.freeSlot); k > 0 {
		i := w.freeSlot[k-1]
		w.freeSlot = w.freeSlot[:k-1]
		w.flights[i].msg = *m
		return i
	}
	w.flights = append(w.flights, flight{msg: *m})
	return int32(len(w.flights) - 1)
}

// land hands a message to its receiver and frees its slot.
func (w *World) land(n *process, i int32) {
	w.deliver(n, &w.flights[i].msg)
	w.freeFlight(i)
}

func (w *World) freeFlight(i int32) { w.freeSlot = append(w.freeSlot, i) }

// Describe says in words what a decision of a run of w means.
func (w *World) Describe(d Decision) string {
	c := &w.cfg
	who := procName(w.Names(), d.Proc)
	at := ""
	if d.Label != "" {
		at = " at " + strconv.Quote(d.Label)
	}
	nth := "message " + strconv.Itoa(int(d.Count)+1) + " of " + who
	switch d.Site {
	case SiteTie:
		return "of several events at the same time, number " + strconv.Itoa(d.Option+1) + " came first"
	case SiteTask:
		return "another ready task of " + who + " ran first"
	case SiteDelay:
		return nth + " was " + dur(c.Delays, d.Option) + " late"
	case SiteHold:
		return nth + " was held back for " + dur(c.Holds, d.Option)
	case SiteDrop:
		return nth + " was lost"
	case SiteDuplicate:
		return nth + " arrived a second time, " + dur(c.Delays, d.Option) + " later"
	case SitePartition:
		way := "one way"
		if d.Option%2 == 0 {
			way = "both ways"
		}
		return "the link of " + nth + " was cut " + way + " for " + dur(c.Partitions, (d.Option+1)/2)
	case SitePause:
		return who + " was paused for " + dur(c.Pauses, d.Option) + at
	case SiteSuspend:
		return who + " was suspended, its clock too, for " + dur(c.Suspends, d.Option) + at
	case SiteStall:
		return "one task of " + who + " stalled for " + dur(c.Stalls, d.Option) + at
	case SiteCrash:
		return who + " crashed" + at + " and restarted after " + dur(c.Restarts, d.Option)
	case SiteDisk:
		return "the first " + strconv.Itoa(d.Option) + " unsynced writes of " + who + " survived its crash"
	case SiteDrift:
		if d.Option < 1 || d.Option > len(c.Drifts) {
			return "the clocks of " + who + " drifted by ? ppm"
		}
		return "the clocks of " + who + " drifted by " + strconv.FormatInt(c.Drifts[d.Option-1], 10) + " ppm"
	case SiteJump:
		return "the wall clock of " + who + " jumped by " + dur(c.Jumps, d.Option)
	case SiteNext:
		return "of the events that could happen, number " + strconv.Itoa(d.Option+1) + " came next"
	case SiteUser:
		return who + " chose " + strconv.Itoa(d.Option) + at
	}
	return who + ": " + d.Site.String() + " " + strconv.Itoa(d.Option)
}

// dur formats option k of a site whose options are durations.
func dur(options []time.Duration, k int) string {
	if k < 1 || k > len(options) {
		return "?"
	}
	return Nanoseconds(int64(options[k-1]))
}
