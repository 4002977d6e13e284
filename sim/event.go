package sim

// happen takes the next event off the queue and lets it happen, or ends the run.
func (w *World) happen() {
	if w.running == 0 && w.flying == 0 && w.script == nil {
		w.finish(EndDone, nil)
		return
	}
	if w.cfg.Timing != Timed {
		w.happenAny()
		return
	}
	first := w.peek()
	if first == nil || first.kind != atDelivery {
		if first = w.first(); first == nil {
			w.finish(EndIdle, nil)
			return
		}
	}
	switch {
	case first.at > w.horizon:
		w.finish(EndHorizon, nil)
		return
	case w.events >= w.maxEvents:
		w.tooManyEvents(first)
		return
	}
	w.now = first.at
	w.events++
	w.steps = 0
	switch {
	case w.sites.Has(SiteTie) && w.tied():
		w.apply(w.untie())
	case first.kind == atDelivery:
		w.nears--
		w.land(w.processes[first.proc], first.ref)
	default:
		w.nears--
		w.apply(*first)
	}
}

// first returns the next entry, nil if there is none. Stale ones are dropped.
func (w *World) first() *entry {
	for {
		e := w.peek()
		if e == nil || e.kind == atDelivery || !w.stale(e) {
			return e
		}
		w.drop()
	}
}

// stale reports whether e is a timer that nobody waits for any more, or not yet.
func (w *World) stale(e *entry) bool {
	switch e.kind {
	case atWake:
		p := w.slots[e.ref]
		return p.alarm != e.seq || p.waiting == waitNothing || p.deadline == 0 ||
			!p.n.clock.stopped && p.n.clock.read(e.at) < p.deadline
	case atTimer:
		return w.flights[e.ref].incarnation != w.processes[e.proc].incarnation
	}
	return false
}

// drop takes the stale first entry off the queue. If it is the entry of a task
// that waits longer now, it is scheduled again.
func (w *World) drop() {
	e := w.take()
	if e.kind == atTimer {
		w.freeFlight(e.ref)
		return
	}
	p := w.slots[e.ref]
	if p.later == e.seq {
		p.later = 0
	}
	if p.alarm != e.seq {
		return
	}
	p.rang()
	if p.waiting != waitNothing && p.deadline != 0 {
		p.setAlarm()
	}
}

// tied reports whether several entries come at the same time first.
func (w *World) tied() bool {
	first := &w.near[w.nears-1]
	if w.nears > 1 {
		return w.near[w.nears-2].at == first.at
	}
	return len(w.queue) > 0 && w.queue[0].at == first.at
}

// untie removes one of the first entries: which one is a choice. The others, and
// stale ones among them, stay as they are.
func (w *World) untie() entry {
	w.ties, w.whom = w.ties[:0], w.whom[:0]
	at := w.near[w.nears-1].at
	for e := w.peek(); e != nil && e.at == at; e = w.peek() {
		w.ties = append(w.ties, *e)
		w.nears--
		if !w.stale(e) {
			w.whom = append(w.whom, e.proc)
		}
	}
	if w.untier != nil {
		w.untier.Tied(w.whom)
	}
	k := w.choose(nil, SiteTie, w.worldTies, len(w.whom), "")
	w.worldTies++
	var chosen entry
	left := len(w.whom)
	for i := len(w.ties) - 1; i >= 0; i-- {
		e := &w.ties[i]
		if !w.stale(e) {
			if left--; left == k {
				chosen = *e
				continue
			}
		}
		w.putBack(e)
	}
	return chosen
}

func (w *World) apply(e entry) {
	n := w.processes[e.proc]
	switch e.kind {
	case atDelivery:
		w.land(n, e.ref)
	case atWake:
		w.ring(n, e)
	case atTimer:
		w.ringTimer(n, e)
	case atResume:
		if n.frozen && n.thaw <= w.now {
			n.resume()
		}
	case atRestart:
		w.note(Note{Kind: NoteRestart, Proc: n.id})
		n.start()
	case atHeal:
		w.heal(e.ref)
	case atQuietTime:
		w.sites &= calmSites
		w.note(Note{Kind: NoteQuiet})
	}
}

// calmSites are the choices that are no faults: they go on after Config.Quiet.
const calmSites = SiteSet(1<<SiteTie | 1<<SiteTask | 1<<SiteDelay | 1<<SiteNext | 1<<SiteUser)

// ring ends a task's wait, unless the process's clock, which drifts or stood
// still meanwhile, has not come to the deadline.
func (w *World) ring(n *process, e entry) {
	p := w.slots[e.ref]
	if later := w.early(n, p.deadline); later > 0 {
		e.at = later
		w.schedule(e)
		p.alarm, p.alarmAt = w.seq, later
		return
	}
	p.rang()
	w.tick(n)
	p.wakeAlone(false)
}

func (w *World) ringTimer(n *process, e entry) {
	f := &w.flights[e.ref]
	if later := w.early(n, f.deadline); later > 0 {
		e.at = later
		w.schedule(e)
		return
	}
	w.tick(n)
	n.accept(&f.msg)
	w.freeFlight(e.ref)
}

// tick folds a timer's ringing into the digest.
func (w *World) tick(n *process) {
	w.digest = mix(w.digest, uint64(n.id)<<48^uint64(w.now))
}

// early returns the true time at which to look again if the clock of n has not
// reached deadline, and 0 if it has.
func (w *World) early(n *process, deadline int64) int64 {
	if n.clock.read(w.now) >= deadline {
		return 0
	}
	if n.clock.stopped {
		return n.thaw
	}
	return n.clock.when(w.now, deadline)
}
