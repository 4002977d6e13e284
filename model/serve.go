package model

import (
	"fmt"
	"slices"
	"strconv"

	"staleproof/model/history"
	"staleproof/sim"
)

// StoreServer is a user's own store under test. Write answers one write: [OK] or
// [Stale]. Every request is handled in a task of its own, so where Write yields,
// sleeps or calls, other requests go on.
//
// A store may also implement [StoreReader], [StoreRaiser] and [StoreDeleter];
// what it lacks is not judged: a read is answered by the value last written, and counts
// as one that the store does not support, as do a raise and a delete.
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
// the history when a request took effect: in the step in which the store answers. A
// scenario that finds something wrong with that order looks, by a [Watch], in which
// steps the store really changed, and judges by these. A write that a crash cut off is
// noted if the store, asked before it serves anybody else, reads its value.
//
// Copies of a message are answered from a record of replies, and those of a request
// that a crash cut off with something on the disk get no answer, so that the store
// need not know of them. At the arrival of each request the store may crash, and at
// each call that blocks a task may stall or crash.
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
	starter sim.Starter
}

// Start lets the store start.
func (s *servedStarter) Start(p *sim.Proc) {
	s.recover(p, bookOf(p))
	s.starter.Start(p)
}

// Applied notes that the write r took effect in this step, before Write returns:
// call it right after the change, where no crash can take it back any more, and then
// return [OK]. It is for a store whose memory cannot be watched; see [Watch]. p is any
// task of the store; for another process Applied does nothing.
func Applied(p *sim.Proc, r Request) {
	h, ok := p.Handler().(interface{ self() *served }) // which a servedStarter has too
	if !ok {
		return
	}
	s, b := h.self(), bookOf(p)
	if w := b.works[r.Op]; w != nil && !w.noted && w.mark.Records == w.mark.Durable {
		s.note(p, b, w, OK(r.Value))
		if w.effect != nil {
			s.watch.says(w, &s.told)
		}
	}
}

// served is a user's store as a process.
type served struct {
	store   StoreServer
	seen    []shown // in this incarnation
	arrived int64   // requests
	calls   [4]int64
	told    history.Event
	asked   bool   // inquire was called
	watch   *Watch // nil: the store is not watched
	// looked says that the watch has seen the store as it was made.
	looked bool
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
	cut   []*work // mutations that a crash cut off with something on the disk
	seen  []shown // in any incarnation
}

// work is a request that a store has begun to serve.
type work struct {
	Request
	reply Reply // none yet if the Status is 0
	noted bool
	mark  sim.Mark
	task  *sim.Proc // that serves it
	// effect is what the request changed so far, until it is noted; nil without a watch.
	effect *Effect
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
	s.inquire(p, b)
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
	if s.watch != nil && !s.looked {
		s.looked = true
		s.watch.look(p, s)
	}
	if b.life == p.Incarnation() {
		return
	}
	b.life = p.Incarnation()
	for _, w := range b.open {
		switch {
		case w.noted:
		case w.mark.Durable == 0:
			delete(b.works, w.Op)
		case w.F.IsMutation():
			b.cut = append(b.cut, w)
		}
	}
	b.open = nil
}

// inquire finds out, by reading, which of the mutations that a crash cut off took
// effect, before anybody else is served. What each may have left is its token in the
// fence: that is in the history as a raise of its own, whose outcome is unknown.
func (s *served) inquire(p *sim.Proc, b *book) {
	if s.asked {
		return
	}
	s.asked = true
	for _, w := range b.cut {
		e := note(&s.told, history.Raise, p.Serial())
		e.Type, e.Process = history.Invoke, p.Name()+"/"+strconv.FormatInt(e.Op, 10)
		e.Resource, e.Token, e.Lease = w.Resource, w.Token, w.Lease
		p.Observe(e)
	}
	x, _ := s.store.(StoreReader)
	for ; len(b.cut) > 0; b.cut = b.cut[1:] { // behind a read, which a crash may cut off too
		w := b.cut[0]
		if x == nil || w.F != history.Write || w.Value == of(&b.seen, w.Resource).value {
			continue
		}
		reply := x.Read(p, Request{F: history.Read, Op: p.Serial(), Resource: w.Resource, Client: w.Client, Token: w.Token, Lease: w.Lease})
		if reply.Status != StatusOK || reply.Value != w.Value {
			continue
		}
		s.note(p, b, w, OK(w.Value))
		if s.watch != nil {
			s.watch.end(w, StatusOK, &s.told)
		}
	}
}

// Stepped lets the watch look at what a step of the task p has changed.
func (s *served) Stepped(p *sim.Proc) {
	if s.watch == nil {
		return
	}
	b := bookOf(p)
	s.watch.step(p, s, b.open, b.servedBy(p))
}

// servedBy returns the request that the task p serves, or nil.
func (b *book) servedBy(p *sim.Proc) *work {
	for _, w := range b.open {
		if w.task == p {
			return w
		}
	}
	return nil
}

// serve lets the store answer w.
func (s *served) serve(p *sim.Proc, b *book, w *work) {
	w.task = p
	if s.watch != nil {
		s.watch.begin(s, w)
	}
	p.Mark(&w.mark)
	reply := s.ask(p, b, w.Request)
	p.Mark(nil)
	switch reply.Status {
	case StatusOK, StatusUnsupported, StatusStale, StatusUnknown:
	default:
		panic(sim.Misuse(fmt.Sprintf("the store answered a %s with a Reply of Status %d: expected model.OK(value), model.Stale(highest) or model.Unknown()", w.F, reply.Status)))
	}
	if s.watch != nil {
		s.watch.step(p, s, b.open, w)
	}
	s.note(p, b, w, reply)
	if s.watch != nil {
		s.watch.end(w, reply.Status, &s.told)
	}
	reply.Vague = reply.Status == StatusStale && reply.Highest != of(&s.seen, w.Resource).highest
	w.reply, w.task = reply, nil
	b.open = slices.DeleteFunc(b.open, func(o *work) bool { return o == w })
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
		return Reply{Status: StatusUnsupported, Value: of(&b.seen, r.Resource).value}
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
	greatest := ever.highest
	switch f { // what accepts shows what is known now
	case history.Apply:
		greatest = now.highest
	case history.Raised:
		greatest = w.Token // unless the store is seen to keep a greater one
	case history.Reject:
		if greatest <= w.Token {
			greatest = 0 // it knows of another: one of unknown outcome
		}
	}
	e := note(&s.told, f, w.Op)
	e.Resource, e.Token, e.Lease, e.Owner = w.Resource, w.Token, w.Lease, w.Client
	e.Highest, e.Rejections, e.Basis = greatest, now.refused, w.Basis
	switch w.F {
	case history.Write:
		e.Value = history.IntValue(w.Value)
	case history.Read:
		e.Value = history.IntValue(reply.Value)
	}
	p.Observe(e)
}
