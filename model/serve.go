package model

import (
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

// Serve makes a process of a user's store. It notes in the history what the store
// did, at the moment of the answer: a write is taken to be applied in the step in
// which Write returns [OK]. A store that goes on after its write took effect (it
// yields, calls another process) says [Applied] where that was: a store that may
// crash, where the write is durable.
// Copies of a message are answered from a record of replies, so that the store
// need not know of them. At the arrival of each request the store may crash.
func Serve(s StoreServer) sim.Handler {
	if s == nil {
		panic(sim.Misuse("Serve: expected a store, found nil"))
	}
	return &served{store: s, replies: map[int64]Reply{}}
}

// Applied notes that the write r took effect in this step, before Write returns:
// call it right after the change, and then return [OK]. In a store that may crash
// call it after [sim.Proc.Sync]: what a crash can still undo has not taken effect,
// and to have lost it would be a violation. p is the task that was given to Write;
// for any other process Applied does nothing.
func Applied(p *sim.Proc, r Request) {
	if s, ok := p.Handler().(*served); ok && !slices.Contains(s.early, r.Op) {
		s.early = append(s.early, r.Op)
		s.note(p, r, OK(r.Value))
	}
}

type served struct {
	early   []int64 // operations that Applied has noted
	store   StoreServer
	highest Token // greatest accepted, as the answers show it
	value   int64
	refused int64
	replies map[int64]Reply
	told    history.Event
}

// Handle serves one request.
func (s *served) Handle(p *sim.Proc, msg sim.Message) {
	r, ok := msg.Body.(Request)
	if !ok {
		return
	}
	reply, again := s.replies[r.Op]
	if again && reply.Status == 0 {
		return // a copy of a request that is being served
	}
	if !again {
		s.replies[r.Op] = Reply{}
		p.Yield("request")
		reply = s.ask(p, r)
		s.replies[r.Op] = reply
		if !slices.Contains(s.early, r.Op) {
			s.note(p, r, reply)
		}
	}
	p.Reply(msg, reply)
}

// ask hands the request to the user's code.
func (s *served) ask(p *sim.Proc, r Request) Reply {
	switch r.F {
	case history.Write:
		return s.store.Write(p, r)
	case history.Read:
		if x, ok := s.store.(StoreReader); ok {
			return x.Read(p, r)
		}
		return OK(s.value)
	case history.Raise:
		if x, ok := s.store.(StoreRaiser); ok {
			return x.Raise(p, r)
		}
		return Reply{Status: StatusUnsupported}
	case history.Delete:
		if x, ok := s.store.(StoreDeleter); ok {
			return x.Delete(p, r)
		}
	}
	return Reply{Status: StatusUnsupported}
}

func (s *served) note(p *sim.Proc, r Request, reply Reply) {
	f := effect(r.F)
	switch reply.Status {
	case StatusOK:
		s.highest = max(s.highest, r.Token)
		if r.F == history.Write {
			s.value = r.Value
		}
	case StatusStale:
		f = history.Reject
		s.refused++
	default:
		return
	}
	e := note(&s.told, f, r.Op)
	e.Resource, e.Token, e.Lease, e.Owner = r.Resource, r.Token, r.Lease, r.Client
	e.Highest, e.Rejections = s.highest, s.refused
	if f == history.Reject {
		e.Highest = reply.Highest
	}
	switch r.F {
	case history.Write:
		e.Value = history.IntValue(r.Value)
	case history.Read:
		e.Value = history.IntValue(reply.Value)
	}
	p.Observe(e)
}
