package model

import (
	"cmp"
	"fmt"
	"slices"

	"staleproof/model/history"
	"staleproof/sim"
)

// StoreServer is a user's own store under test. Write answers one write: [OK] or
// [Stale]. Every request is handled in a task of its own, so where Write yields,
// sleeps or calls, other requests go on.
//
// A store may also implement [StoreReader], [StoreRaiser] and [StoreDeleter];
// what it lacks is answered without it: a read by the value last written, a
// raise without effect.
type StoreServer interface {
	Write(p *sim.Proc, r Request) Reply
}

// StoreReader answers reads: [OK] with the value, or [Stale].
type StoreReader interface {
	Read(p *sim.Proc, r Request) Reply
}

// StoreRaiser lifts the fence to the request's token without writing.
type StoreRaiser interface {
	Raise(p *sim.Proc, r Request) Reply
}

// StoreDeleter deletes the resource.
type StoreDeleter interface {
	Delete(p *sim.Proc, r Request) Reply
}

// Serve makes a process of a user's store, which may be a [sim.Starter]. It notes in
// the history when a request took effect: in the step in which the store answers,
// but where its task put something on the disk before another request's did, which
// is answered first, or before that one read the disk, it comes first. Of what a crash
// cuts off nobody can tell whether it took effect; it is not noted.
//
// A store that goes on after the change (it yields, calls another process, waits
// until another task has put the change on the disk) says [Applied] where that was.
// What a task puts aside, and is no effect, it puts between old := p.Mark(nil) and
// p.Mark(old).
//
// Copies of a message are answered from a record of replies, and those of a request
// that a crash cut off with something on the disk get no answer, so that the store
// need not know of them. At the arrival of each request the store may crash.
func Serve(s StoreServer) sim.Handler {
	if s == nil {
		panic(sim.Misuse("Serve: expected a store, found nil"))
	}
	h := &served{store: s}
	if starter, ok := s.(sim.Starter); ok {
		return &servedStarter{h, starter}
	}
	return h
}

// servedStarter is a user's store that has work to do before it serves.
type servedStarter struct {
	*served
	sim.Starter
}

// Applied notes that the write r took effect in this step, before Write returns:
// call it right after the change, where no crash can take it back any more, and then
// return [OK]. p is any task of the store; for another process Applied does nothing.
func Applied(p *sim.Proc, r Request) {
	h, ok := p.Handler().(interface{ self() *served }) // which a servedStarter has too
	if !ok {
		return
	}
	s, b := h.self(), bookOf(p)
	if w := b.works[r.Op]; w != nil && w.mark.Records == w.mark.Durable {
		s.expose(p, b, w)
		s.note(p, b, w, OK(r.Value))
	}
}

// served is a user's store as a process.
type served struct {
	store   StoreServer
	seen    []shown // in this incarnation
	arrived int64   // requests
	calls   [4]int64
	told    history.Event
}

// Calls returns how often the store was asked in this incarnation to write, to read,
// to raise its fence and to delete, and how many requests came: each yields once
// before the store is asked.
func (s *served) Calls() (calls [4]int64, arrived int64) { return s.calls, s.arrived }

// shown is what the answers of a store show of a resource.
type shown struct {
	resource string
	highest  Token // greatest accepted
	refused  int64
	value    int64 // last written, 0 after a delete
}

// of returns what list has of a resource, which may be new to it.
func of(list *[]shown, resource string) *shown {
	for i := range *list {
		if x := &(*list)[i]; same(x.resource, resource) {
			return x
		}
	}
	*list = append(*list, shown{resource: resource})
	return &(*list)[len(*list)-1]
}

func (s *served) self() *served { return s }

// book is what is known of the requests of a store, crashes included.
type book struct {
	life  int // the incarnation that wrote in it last
	works map[int64]*work
	open  []*work // that have no answer yet
	seen  []shown // in any incarnation
}

// work is a request that a store has begun to serve.
type work struct {
	Request
	reply Reply // none yet if the Status is 0
	noted bool
	mark  sim.Mark
	found Token // the greatest accepted when the store was asked
}

func bookOf(p *sim.Proc) *book {
	place := p.Ledger()
	b, ok := (*place).(*book)
	if !ok {
		b = &book{works: map[int64]*work{}}
		*place = b
	}
	return b
}

// Handle serves one request.
func (s *served) Handle(p *sim.Proc, msg sim.Message) {
	r, ok := msg.Body.(Request)
	if !ok {
		return
	}
	b := bookOf(p)
	s.recover(p, b)
	w := b.works[r.Op]
	if w == nil {
		w = &work{Request: r}
		b.works[r.Op], b.open = w, append(b.open, w)
		s.arrived++
		p.Yield("request")
		s.serve(p, b, w)
	}
	if w.reply.Status != 0 { // otherwise it is a copy of a request that is being served
		p.Reply(msg, w.reply)
	}
}

// recover forgets, before anything else happens in a new incarnation, the requests
// that the crash cut off. One that has put something that is still there may be done
// or undone, as the store decides: copies of it get no answer, of the others they
// begin anew.
func (s *served) recover(p *sim.Proc, b *book) {
	if b.life == p.Incarnation() {
		return
	}
	b.life = p.Incarnation()
	for _, w := range b.open {
		if !w.noted && w.mark.Durable == 0 {
			delete(b.works, w.Op)
		}
	}
	b.open = nil
}

func byFirst(a, b *work) int { return cmp.Compare(a.mark.First, b.mark.First) }

// serve lets the store answer w.
func (s *served) serve(p *sim.Proc, b *book, w *work) {
	w.found = of(&s.seen, w.Resource).highest
	p.Mark(&w.mark)
	reply := s.ask(p, b, w.Request)
	p.Mark(nil)
	switch reply.Status {
	case StatusOK, StatusUnsupported:
	case StatusStale:
		if w.noted {
			panic(sim.Misuse(fmt.Sprintf("the store refused a %s that had taken effect: it had put something on its disk, which others saw, or said Applied; put what is no effect between old := p.Mark(nil) and p.Mark(old)", w.F)))
		}
	default:
		panic(sim.Misuse(fmt.Sprintf("the store answered a %s with a Reply of Status %d: expected model.OK(value) or model.Stale(highest)", w.F, reply.Status)))
	}
	if reply.Status != StatusUnsupported {
		s.expose(p, b, w)
	}
	s.note(p, b, w, reply)
	w.reply = reply
	b.open = slices.DeleteFunc(b.open, func(o *work) bool { return o == w })
}

// expose notes those requests whose effect came before that of w, which takes effect
// now, though they have no answer yet: w put something on the disk, or read it, after
// they had. One with a token that is stale may yet be refused, and waits for its
// answer.
func (s *served) expose(p *sim.Proc, b *book, w *work) {
	slices.SortStableFunc(b.open, byFirst)
	for _, o := range b.open {
		before := o.mark.First != 0 && (o.mark.First < w.mark.First || w.mark.First == 0 && o.mark.First <= w.mark.Looked)
		if o != w && before && o.Resource == w.Resource && o.F != history.Read && o.Token >= of(&b.seen, o.Resource).highest {
			s.note(p, b, o, OK(o.Value))
		}
	}
}

// ask hands the request to the user's code.
func (s *served) ask(p *sim.Proc, b *book, r Request) Reply {
	switch r.F {
	case history.Write:
		s.calls[0]++
		return s.store.Write(p, r)
	case history.Read:
		if x, ok := s.store.(StoreReader); ok {
			s.calls[1]++
			return x.Read(p, r)
		}
		return OK(of(&b.seen, r.Resource).value)
	case history.Raise:
		if x, ok := s.store.(StoreRaiser); ok {
			s.calls[2]++
			return x.Raise(p, r)
		}
	case history.Delete:
		if x, ok := s.store.(StoreDeleter); ok {
			s.calls[3]++
			return x.Delete(p, r)
		}
	}
	return Reply{Status: StatusUnsupported}
}

// note notes w once.
func (s *served) note(p *sim.Proc, b *book, w *work, reply Reply) {
	if w.noted {
		return
	}
	f, now, ever := effect(w.F), of(&s.seen, w.Resource), of(&b.seen, w.Resource)
	switch reply.Status {
	case StatusOK:
		if w.F != history.Read {
			now.highest, ever.highest = max(now.highest, w.Token), max(ever.highest, w.Token)
		}
		if w.F.IsMutation() {
			ever.value = w.Value // 0 of a delete
		}
	case StatusStale:
		f = history.Reject
		now.refused++
	default:
		return
	}
	w.noted = true
	e := note(&s.told, f, w.Op)
	e.Resource, e.Token, e.Lease, e.Owner = w.Resource, w.Token, w.Lease, w.Client
	e.Highest, e.Rejections, e.Basis = now.highest, now.refused, w.Basis
	if f == history.Reject && (reply.Highest < w.found || reply.Highest > now.highest) {
		e.Highest = reply.Highest // otherwise others may have raised it since the store looked
	}
	switch w.F {
	case history.Write:
		e.Value = history.IntValue(w.Value)
	case history.Read:
		e.Value = history.IntValue(reply.Value)
	}
	p.Observe(e)
}
