package model

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"staleproof/model/history"
	"staleproof/sim"
)

// Watch finds in which steps of a run the requests of a user's store changed its memory
// or its disk: the places where a write may have taken effect. It compares by value
// what the store holds at the end of each step with what it held before: all that can
// be reached from what newStore returned, through pointers, slices, maps, interfaces
// and structs, unexported fields too, and all that is on the disk. Functions, channels
// and what package sim declares are left out.
//
// A store of more than 20,000 values is not watched: each of its requests may have taken
// effect anywhere between its arrival and its answer.
type Watch struct {
	// Now returns the index of the newest event of the run, and the true time.
	Now func() (index, time int64)
	// Habits are learned from the run, if not nil.
	Habits *Habits
	// Effects are the requests that were answered OK, in the order of their answers.
	Effects []*Effect

	steps  int
	memory []leaf
	large  bool
	sum    uint64 // a hash of what memory was made of
	summer summer
	values []int64 // that were to be written so far
	tokens []Token
}

// Effect is a request that a store carried out.
type Effect struct {
	Op int64
	// From is the index of the newest event when the store got the request, At that
	// of the note, which came with the answer.
	From, At int64
	f        history.F
	traces   []trace
	large    bool  // the store was too large to be watched
	readable bool  // the store can be read
	said     Place // by Applied; the zero Place if it said nothing
}

// Place is where a request may have taken effect: in a step, at a time, behind the event
// of an index. Those of one step came in any order. Steps are counted from 1.
type Place struct {
	Index, Time int64
	Step        int
}

// trace is a value of the store that is another one after a step.
type trace struct {
	class   string // where it is, but for the indexes and keys on the way
	place   Place
	own     bool // the task of the request did it
	others  bool // the task of another request did it
	created bool // nothing was there
	empty   bool // nothing, or a zero, is there now
	lowered bool // it was greater
	text    bool
	value   bool // it is the value of the request
	token   bool // it is the token of the request
}

// Habits is what runs show of where a store keeps its values and its tokens.
type Habits struct {
	classes map[string]*habit
	shown   bool // there is a place where values are kept
}

type habit struct {
	values, tokens, others int  // how often a change made it such a thing
	overwrites             bool // a value took the place of another
	noise                  bool // requests without effect change it too
}

func (h *Habits) of(class string) *habit {
	if h.classes == nil {
		h.classes = map[string]*habit{}
	}
	x := h.classes[class]
	if x == nil {
		x = &habit{}
		h.classes[class] = x
	}
	return x
}

// data and fence report whether what is written, or the tokens, are kept there.
func (x *habit) data() bool  { return x.values > 0 && x.others == 0 && !x.noise }
func (x *habit) fence() bool { return x.tokens > 0 && x.others == 0 && !x.noise }

// Places returns the places where e may have taken effect, in the order of their
// indexes; none means anywhere from From to At.
func (e *Effect) Places(h *Habits) []Place {
	list := e.seen(h)
	if e.said.Step != 0 && !slices.Contains(list, e.said) {
		list = append(list, e.said)
		slices.SortFunc(list, func(a, b Place) int { return cmp.Compare(a.Step, b.Step) })
	}
	return list
}

// Lowered reports whether e, a raise, was seen to set the fence of the store back.
func (e *Effect) Lowered(h *Habits) bool {
	for i := range e.traces {
		if c := &e.traces[i]; c.own && c.token && c.lowered && h.of(c.class).fence() {
			return true
		}
	}
	return false
}

// Idle reports whether e changed nothing, in a store that was seen to change by others.
func (e *Effect) Idle(h *Habits) bool {
	return !e.large && e.said.Step == 0 && len(e.traces) == 0 && h.shown
}

// seen lists the places where e was seen to take effect; none: that was not seen. Of a
// store that can be read these are all that it may have been, since what others read
// tells them apart; else those that tell most.
func (e *Effect) seen(h *Habits) []Place {
	if e.large {
		return nil
	}
	best, served := 0, true
	for i := range e.traces {
		c := &e.traces[i]
		if r := e.rank(c, h.of(c.class)); r > 0 {
			best, served = max(best, r), served && c.others
		}
	}
	if best < tellsToken || served {
		return nil // it may have written what was there already
	}
	least := best
	if e.readable {
		least = tellsChange
	}
	var list []Place
	for i := range e.traces {
		c := &e.traces[i]
		if e.rank(c, h.of(c.class)) >= least && (len(list) == 0 || list[len(list)-1] != c.place) {
			list = append(list, c.place)
		}
	}
	return list
}

// How much a change tells of where a request took effect, from nothing on.
const (
	tellsHabit    = iota + 1 // requests without effect make it too
	tellsChange              // of its own
	tellsToken               // to a token that others may have brought
	tellsFence               // to its token
	tellsContent             // to its value, or to a text, in a list that grows
	tellsVariable            // to its value, where each write puts its own
)

// rank says how much a change tells of where e took effect; 0: nothing.
func (e *Effect) rank(c *trace, x *habit) int {
	value := c.value
	if e.f == history.Delete {
		value = c.own && c.empty
	}
	writes := e.f != history.Raise
	switch {
	case writes && value && x.data() && x.overwrites:
		return tellsVariable
	case writes && (value && x.data() || c.own && c.text && !x.noise && x.tokens == 0):
		return tellsContent
	case c.own && c.token && x.fence():
		return tellsFence
	case c.token && x.fence():
		return tellsToken
	case c.own && !x.noise:
		return tellsChange
	case c.own || c.value || c.token:
		return tellsHabit
	}
	return 0
}

// On makes w watch the store of a handler that [Serve] returned.
func (w *Watch) On(h sim.Handler) sim.Handler {
	if x, ok := h.(interface{ self() *served }); ok {
		x.self().watch = w
	}
	return h
}

// look reads the store without asking who changed what.
func (w *Watch) look(p *sim.Proc, s *served) {
	w.sum = w.summer.of(p, s.store)
	w.memory, w.large = snapshot(p, s.store)
}

// begin notes that the store gets a request.
func (w *Watch) begin(s *served, k *work) {
	from, _ := w.Now()
	_, readable := s.store.(StoreReader)
	k.effect = &Effect{Op: k.Op, f: k.F, From: from, large: w.large, readable: readable}
	if k.F == history.Write {
		w.values = append(w.values, k.Value)
	}
	w.tokens = append(w.tokens, k.Token)
}

// step finds out what the task p has changed since the last step, for the requests
// that are open. own is the one that p serves; nil: none.
func (w *Watch) step(p *sim.Proc, s *served, open []*work, own *work) {
	if !w.large && w.sum == w.summer.of(p, s.store) {
		return // nothing changed
	}
	before := w.memory
	w.look(p, s)
	if w.large {
		for _, k := range open {
			if k.effect != nil {
				k.effect.large = true
			}
		}
		return
	}
	w.steps++
	changed := differences(before, w.memory)
	index, time := w.Now()
	for _, k := range open {
		if k.effect == nil {
			continue
		}
		for _, d := range changed {
			c := d.trace(k, k == own)
			c.others = own != nil && k != own
			c.place = Place{index, time, w.steps}
			if c.own || c.value || c.token {
				k.effect.traces = append(k.effect.traces, c)
			}
		}
	}
	if w.Habits != nil {
		w.learn(changed)
	}
}

// learn adds to the habits what a step changed.
func (w *Watch) learn(changed []difference) {
	for _, d := range changed {
		if d.after.empty() {
			continue
		}
		x := w.Habits.of(d.class)
		switch {
		case slices.ContainsFunc(w.values, d.after.holds):
			x.values++
			w.Habits.shown = true
			x.overwrites = x.overwrites || !d.before.empty()
		case slices.ContainsFunc(w.tokens, func(t Token) bool { return d.after.holds(int64(t)) }):
			x.tokens++
		default:
			x.others++
		}
	}
}

// says notes a call of Applied; e is the note of it.
func (w *Watch) says(k *work, e *history.Event) {
	w.steps++
	k.effect.At, k.effect.said = e.Index, Place{e.Index, e.Time, w.steps}
}

// end notes the answer to a request; e is the note of it.
func (w *Watch) end(k *work, status Status, e *history.Event) {
	if k.effect == nil {
		return
	}
	idle := status != StatusOK || k.F == history.Read
	for _, c := range k.effect.traces {
		if w.Habits != nil && idle && c.own && !(c.created && c.empty) && !(k.F == history.Read && c.token) {
			w.Habits.of(c.class).noise = true
		}
	}
	if !idle {
		if k.effect.said.Step == 0 {
			k.effect.At = e.Index
		}
		w.Effects = append(w.Effects, k.effect)
	}
	k.effect = nil
}

// leaf is a plain value that a store holds.
type leaf struct {
	path, class string
	kind        reflect.Kind // Int, String, or Bool of what is neither
	num         int64
	text        string
}

func (l *leaf) empty() bool { return l == nil || l.num == 0 && l.text == "" }

// holds reports whether l is the number n, or a text with it.
func (l *leaf) holds(n int64) bool {
	switch {
	case l == nil || n == 0 || l.kind == reflect.Bool:
		return false
	case l.kind == reflect.Int:
		return l.num == n
	}
	digits := strconv.FormatInt(n, 10)
	for rest := l.text; ; {
		i := strings.Index(rest, digits)
		if i < 0 {
			return false
		}
		end := i + len(digits)
		if (i == 0 || !isDigit(rest[i-1])) && (end == len(rest) || !isDigit(rest[end])) {
			return true
		}
		rest = rest[i+1:]
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// difference is a place where two snapshots differ; what is nil is not there.
type difference struct {
	class         string
	before, after *leaf
}

func (d *difference) trace(k *work, own bool) trace {
	return trace{class: d.class, lowered: d.before != nil && d.after != nil && d.before.num > d.after.num, own: own, created: d.before == nil, empty: d.after.empty(),
		text:  d.after != nil && d.after.kind == reflect.String,
		value: k.F == history.Write && d.after.holds(k.Value), token: d.after.holds(int64(k.Token))}
}

// differences compares two snapshots, both sorted by path.
func differences(before, after []leaf) []difference {
	var list []difference
	for i, j := 0, 0; i < len(before) || j < len(after); {
		switch {
		case j == len(after) || i < len(before) && before[i].path < after[j].path:
			list = append(list, difference{before[i].class, &before[i], nil})
			i++
		case i == len(before) || after[j].path < before[i].path:
			list = append(list, difference{after[j].class, nil, &after[j]})
			j++
		default:
			if before[i] != after[j] {
				list = append(list, difference{after[j].class, &before[i], &after[j]})
			}
			i, j = i+1, j+1
		}
	}
	return list
}

// manyLeaves is how many values of a store are compared.
const manyLeaves = 20_000

// snapshot returns what a store and its disk hold, sorted by path; large says that it
// is too much.
func snapshot(p *sim.Proc, s StoreServer) (list []leaf, large bool) {
	x := &reader{}
	x.read(reflect.ValueOf(s), "", "", 0)
	d := p.Disk()
	d.Keys(func(key string) bool {
		v, _ := d.Get(key)
		x.read(reflect.ValueOf(v), "disk/"+key, "disk/"+key, 0)
		return true
	})
	n := 0
	d.Log(func(v any) bool {
		x.read(reflect.ValueOf(v), "disk["+strconv.Itoa(n)+"]", "disk[]", 0)
		n++
		return true
	})
	slices.SortFunc(x.leaves, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	return x.leaves, len(x.leaves) >= manyLeaves
}

// reader collects the plain values that can be reached from a value.
type reader struct {
	leaves []leaf
	seen   map[reflect.Type][]reflect.Value // pointers
}

// deepest bounds the pointers in a row.
const deepest = 2000

func (x *reader) read(v reflect.Value, path, class string, depth int) {
	if len(x.leaves) >= manyLeaves || depth > deepest {
		return
	}
	switch k := v.Kind(); {
	case k == reflect.Bool && v.Bool():
		x.leaves = append(x.leaves, leaf{path, class, reflect.Bool, 1, ""})
	case k == reflect.Bool:
		x.leaves = append(x.leaves, leaf{path, class, reflect.Bool, 0, ""})
	case v.CanInt():
		x.leaves = append(x.leaves, leaf{path, class, reflect.Int, v.Int(), ""})
	case v.CanUint() && k != reflect.Uintptr:
		x.leaves = append(x.leaves, leaf{path, class, reflect.Int, int64(v.Uint()), ""})
	case k == reflect.String:
		x.leaves = append(x.leaves, leaf{path, class, reflect.String, 0, v.String()})
	case v.CanFloat():
		x.leaves = append(x.leaves, leaf{path, class, reflect.Bool, 0, strconv.FormatFloat(v.Float(), 'g', -1, 64)})
	case k == reflect.Pointer:
		x.follow(v, path, class, depth)
	case k == reflect.Interface && !v.IsNil():
		x.read(v.Elem(), path, class, depth+1)
	case k == reflect.Struct:
		x.fields(v, path, class, depth)
	case k == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		x.leaves = append(x.leaves, leaf{path, class, reflect.String, 0, string(v.Bytes())})
	case k == reflect.Slice, k == reflect.Array:
		for i := range v.Len() {
			x.read(v.Index(i), path+"["+strconv.Itoa(i)+"]", class+"[]", depth+1)
		}
	case k == reflect.Map:
		x.entries(v, path, class, depth)
	}
}

// entries reads a map, in the order of its keys.
func (x *reader) entries(v reflect.Value, path, class string, depth int) {
	type entry struct {
		name  string
		key   []leaf
		value reflect.Value
	}
	var list []entry
	for m := v.MapRange(); m.Next(); {
		key := &reader{}
		key.read(m.Key(), "", "", depth+1)
		name := "["
		for _, l := range key.leaves {
			name += l.text + strconv.FormatInt(l.num, 10) + "]"
		}
		list = append(list, entry{name, key.leaves, m.Value()})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range list {
		for i, l := range e.key {
			l.path, l.class = path+e.name+"key"+strconv.Itoa(i), class+"[]key"
			x.leaves = append(x.leaves, l)
		}
		x.read(e.value, path+e.name+"=", class+"[]", depth+1)
	}
}

// follow reads what a pointer points to, once.
func (x *reader) follow(v reflect.Value, path, class string, depth int) {
	if v.IsNil() || !inside(v.Type().Elem()) {
		return
	}
	if x.seen == nil {
		x.seen = map[reflect.Type][]reflect.Value{}
	}
	if slices.ContainsFunc(x.seen[v.Type()], v.Equal) {
		return
	}
	x.seen[v.Type()] = append(x.seen[v.Type()], v)
	x.read(v.Elem(), path+"*", class+"*", depth+1)
}

var simPackage = reflect.TypeFor[sim.Mutex]().PkgPath()

func (x *reader) fields(v reflect.Value, path, class string, depth int) {
	t := v.Type()
	if !inside(t) {
		return
	}
	for i := range v.NumField() {
		name := "." + t.Field(i).Name
		x.read(v.Field(i), path+name, class+name, depth+1)
	}
}

// summer hashes what can be reached from a value, as a reader reads it. It tells whether
// the store has to be read again, which costs fifty times as much.
type summer struct {
	seen []reflect.Value // pointers
	left int             // values that it still looks at
}

// of hashes a store and its disk.
func (x *summer) of(p *sim.Proc, s StoreServer) uint64 {
	x.seen, x.left = x.seen[:0], manyLeaves
	h := x.sum(reflect.ValueOf(s), 0)
	d := p.Disk()
	d.Keys(func(key string) bool {
		v, _ := d.Get(key)
		h = sim.Mix(sim.MixString(h, key), x.sum(reflect.ValueOf(v), 0))
		return true
	})
	d.Log(func(v any) bool {
		h = sim.Mix(h, x.sum(reflect.ValueOf(v), 0))
		return true
	})
	return h
}

func (x *summer) sum(v reflect.Value, depth int) uint64 {
	if x.left--; x.left < 0 || depth > deepest {
		return 0
	}
	switch k := v.Kind(); {
	case k == reflect.Bool:
		return 1 + b2u(v.Bool())
	case v.CanInt():
		return sim.Scramble(uint64(v.Int()))
	case v.CanUint() && k != reflect.Uintptr:
		return sim.Scramble(v.Uint())
	case v.CanFloat():
		return sim.MixString(1, strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case k == reflect.String:
		return sim.MixString(2, v.String())
	case k == reflect.Pointer && x.follows(v):
		return 1 + x.sum(v.Elem(), depth+1)
	case k == reflect.Interface && !v.IsNil():
		return x.sum(v.Elem(), depth+1)
	case k == reflect.Struct && inside(v.Type()):
		h := uint64(3)
		for i := range v.NumField() {
			h = sim.Mix(h, x.sum(v.Field(i), depth+1))
		}
		return h
	case k == reflect.Slice, k == reflect.Array:
		h := uint64(v.Len())
		for i := range v.Len() {
			h = sim.Mix(h, x.sum(v.Index(i), depth+1))
		}
		return h
	case k == reflect.Map:
		h := uint64(v.Len())
		for m := v.MapRange(); m.Next(); { // in any order: a sum
			h += sim.Mix(x.sum(m.Key(), depth+1), x.sum(m.Value(), depth+1))
		}
		return h
	}
	return 0
}

// follows reports whether to read what v points to, which is read once.
func (x *summer) follows(v reflect.Value) bool {
	if v.IsNil() || !inside(v.Type().Elem()) || slices.ContainsFunc(x.seen, func(o reflect.Value) bool { return o.Type() == v.Type() && v.Equal(o) }) {
		return false
	}
	x.seen = append(x.seen, v)
	return true
}

// inside reports whether a struct of type t is a part of a store: locks and clocks are
// not.
func inside(t reflect.Type) bool {
	home := t.PkgPath()
	return home != simPackage && home != "sync" && home != "time"
}
