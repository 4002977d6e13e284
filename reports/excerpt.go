package reports

import (
	"fmt"
	"io"
	"slices"
	"sort"

	"staleproof/model/history"
)

// A page embeds whole histories up to maxWhole events. Of a longer one it
// embeds windows round the events that the finding names, maxWindows events in
// all: less, so that such a page opens as fast as any other.
var maxWhole, maxWindows = 250_000, 100_000

const (
	maxCited   = 100
	maxCarried = 1000
	maxKin     = 1000
)

// excerpt is what a page shows of a history.
type excerpt struct {
	history *history.History
	total   int64
	gaps    []Hole
}

// open returns the finding's events from the first one, nil when it has none.
func (f *Finding) open() (history.Source, error) {
	switch {
	case f.History != nil:
		return &replay{h: f.History}, nil
	case f.Open != nil:
		return f.Open()
	}
	return nil, nil
}

// replay hands out the events of a history that is in memory.
type replay struct {
	h  *history.History
	at int
}

func (r *replay) Header() history.Header { return r.h.Header }

func (r *replay) Next(e *history.Event) error {
	if r.at == len(r.h.Events) {
		return io.EOF
	}
	*e = r.h.Events[r.at]
	r.at++
	return nil
}

// excerpt reads the finding's history, in memory that is bounded whatever its
// length: at most whole events, or windows of at most part events in all.
func (f *Finding) excerpt(whole, part int) (excerpt, error) {
	if f.History != nil && f.Total > 0 {
		return excerpt{f.History, f.Total, f.Holes}, nil
	}
	if f.History != nil && len(f.History.Events) <= whole {
		return excerpt{history: f.History, total: int64(len(f.History.Events))}, nil
	}
	source, err := f.open()
	if source == nil || err != nil {
		return excerpt{history: &history.History{}}, err
	}
	w := newWindower(f, part)
	x := excerpt{history: &history.History{Header: source.Header()}}
	err = each(source, func(e *history.Event) {
		x.total++
		w.meet(e)
	})
	if err != nil {
		return x, err
	}
	if source, err = f.open(); err != nil {
		return x, err
	}
	if x.total <= int64(whole) {
		x.history.Events = make([]history.Event, 0, x.total)
		err = each(source, func(e *history.Event) { x.history.Events = append(x.history.Events, *e) })
		return x, err
	}
	if len(w.scopes) == 0 {
		w.scopes[w.last] = true
	}
	err = each(source, w.next)
	x.history.Events, x.gaps = w.finish(x.total)
	return x, err
}

// Excerpt reads what matters to the events of the given indexes: the whole of a
// history of at most 250,000 events, of a longer one windows of 100,000 events in
// all, and before each window how things stood when it begins. open is called
// twice at most. Errors are those of the source.
func Excerpt(open func() (history.Source, error), events []int64) (*history.History, error) {
	f := Finding{Events: events, Open: open}
	x, err := f.excerpt(maxWhole, maxWindows)
	return x.history, err
}

func each(source history.Source, do func(*history.Event)) error {
	var e history.Event
	for {
		switch err := source.Next(&e); err {
		case nil:
			do(&e)
		case io.EOF:
			return nil
		default:
			return fmt.Errorf("expected to read the history again for its page: %w", err)
		}
	}
}

// numbered is an event and its place in the whole history, from 1.
type numbered struct {
	history.Event
	at int64
}

// windower picks windows out of a history, event by event. Before each window
// it keeps the few events that say how things stood when the window begins: the
// last grant, belief, accepted token, open pause; and, however old, those of the
// leases and the operations that the finding names.
type windower struct {
	cited         map[int64]bool
	scopes        map[string]bool
	leases        map[named]bool
	ops           map[int64]bool
	kin           []numbered
	last          string // scope of the last event
	before, after int

	at, until int64 // of the event, and of the last one of the window
	ring      []numbered
	oldest    int
	kept      []numbered
	carried   map[carrying]numbered
}

// named is a lease by its token.
type named struct {
	scope string
	token history.Token
}

type carrying struct {
	f             history.F
	scope, client string
}

func newWindower(f *Finding, part int) *windower {
	w := &windower{cited: map[int64]bool{}, scopes: map[string]bool{}, leases: map[named]bool{}, ops: map[int64]bool{}, carried: map[carrying]numbered{}}
	indexes := append([]int64{}, f.Events...)
	for i := len(f.Chain) - 1; i >= 0; i-- {
		indexes = append(indexes, f.Chain[i].Index)
	}
	for i := 0; i < len(indexes) && len(w.cited) < maxCited; i++ {
		w.cited[indexes[i]] = true
	}
	share := max(4, part/max(1, len(w.cited)))
	w.before, w.after = share*3/4, share/4
	return w
}

// meet is the first reading: it finds the scopes that matter. Where the finding
// names no event, the last one stands for it.
func (w *windower) meet(e *history.Event) {
	if w.cited[e.Index] {
		w.scopes[e.ScopeName()] = true
		w.leases[named{e.ScopeName(), e.Token}] = e.Token != 0
		w.leases[named{e.ScopeName(), e.Highest}] = e.Highest != 0
		w.ops[e.Op] = e.Op != 0
	}
	w.last = e.ScopeName()
}

// isKin says whether an event belongs to a lease or an operation that the finding
// names. Of the operations under those leases only the named ones do.
func (w *windower) isKin(e *history.Event) bool {
	switch {
	case w.ops[e.Op]:
		return true
	case e.Type == history.OK && (e.F == history.Acquire || e.F == history.Release), e.F == history.Grant, e.F == history.Expire, e.F == history.Released:
		return w.leases[named{e.ScopeName(), e.Token}]
	}
	return false
}

// next is the second reading.
func (w *windower) next(e *history.Event) {
	w.at++
	if w.cited[e.Index] {
		w.open()
		w.until = w.at + int64(w.after)
	}
	n := numbered{*e, w.at}
	if w.at <= w.until {
		w.kept = append(w.kept, n)
		w.carry(n)
		return
	}
	if len(w.ring) < w.before {
		w.ring = append(w.ring, n)
		return
	}
	w.carry(w.ring[w.oldest])
	w.ring[w.oldest] = n
	w.oldest = (w.oldest + 1) % w.before
}

// open begins a window with what was carried and the events just before.
func (w *windower) open() {
	last := int64(0)
	if len(w.kept) > 0 {
		last = w.kept[len(w.kept)-1].at
	}
	var carried []numbered
	for _, n := range w.carried {
		if n.at > last {
			carried = append(carried, n)
		}
	}
	for _, n := range w.kin {
		if n.at > last && !slices.ContainsFunc(carried, func(c numbered) bool { return c.at == n.at }) {
			carried = append(carried, n)
		}
	}
	w.kin = w.kin[:0]
	sort.Slice(carried, func(i, j int) bool { return carried[i].at < carried[j].at })
	w.kept = append(w.kept, carried...)
	for i := range w.ring {
		n := w.ring[(w.oldest+i)%len(w.ring)]
		w.kept = append(w.kept, n)
		w.carry(n)
	}
	w.ring, w.oldest = w.ring[:0], 0
}

// carry notes an event that later ones must be read with.
func (w *windower) carry(n numbered) {
	e := &n.Event
	if len(w.kin) < maxKin && w.isKin(e) {
		w.kin = append(w.kin, n)
	}
	key := carrying{f: e.F, scope: e.ScopeName(), client: e.ClientName()}
	switch e.F {
	case history.Pause, history.Crash, history.Partition:
		key.scope = e.To
		w.put(key, n)
	case history.Resume, history.Restart, history.Heal:
		delete(w.carried, carrying{begins[e.F], e.To, key.client})
	}
	if !w.scopes[e.ScopeName()] {
		return
	}
	switch {
	case e.F == history.Grant || e.F == history.Renewed:
		w.put(carrying{f: e.F, scope: key.scope}, n)
	case e.F == history.Expire || e.F == history.Released:
		delete(w.carried, carrying{f: history.Grant, scope: key.scope})
		delete(w.carried, carrying{f: history.Renewed, scope: key.scope})
	case e.F == history.Believe, e.Type == history.OK && e.F == history.Acquire:
		w.put(key, n)
	case e.F == history.Disbelieve:
		delete(w.carried, carrying{history.Believe, key.scope, key.client})
	}
	_, served := atStore(e)
	_, replied := atClient(e)
	if served && lifts(e) {
		delete(w.carried, carrying{f: history.Write, scope: key.scope})
		w.greatest(carrying{f: history.Apply, scope: key.scope}, n)
	} else if _, noted := w.carried[carrying{f: history.Apply, scope: key.scope}]; replied && !noted && lifts(e) {
		w.greatest(carrying{f: history.Write, scope: key.scope}, n)
	}
}

func (w *windower) put(key carrying, n numbered) {
	if _, known := w.carried[key]; known || len(w.carried) < maxCarried {
		w.carried[key] = n
	}
}

// greatest keeps the event with the greatest token.
func (w *windower) greatest(key carrying, n numbered) {
	if old, ok := w.carried[key]; !ok || n.Token >= old.Token {
		w.put(key, n)
	}
}

// finish returns what was kept of a history of total events.
func (w *windower) finish(total int64) (events []history.Event, gaps []Hole) {
	if len(w.kept) == 0 {
		w.open() // nothing cited was found: the end stands for it
	}
	last := int64(0)
	for i, n := range w.kept {
		if n.at != last+1 {
			gaps = append(gaps, Hole{i, n.at - last - 1})
		}
		events, last = append(events, n.Event), n.at
	}
	if last < total {
		gaps = append(gaps, Hole{len(events), total - last})
	}
	return events, gaps
}
