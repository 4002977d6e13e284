package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"staleproof/model/history"
	"staleproof/sim"
)

// HolderConfig is the workload of a [Holder].
type HolderConfig struct {
	Config
	Resource string
	// More are other resources that it takes leases of, each less often than of
	// Resource. Turn is how far it is on its way round them at first.
	More []string
	Turn int
	// Acquisitions is how many leases it takes, one after another, and Writes how
	// many values it writes under each.
	Acquisitions int
	Writes       int
	// Tries is how often it asks for a lease at most; 0 means four times as often
	// as Acquisitions.
	Tries int
	// Work is how long it works before each write, on its own clock.
	Work time.Duration
	// Renew starts a task beside the work that renews the lease at each third of
	// its term.
	Renew bool
	// Renewals is how often the task renews one lease at most; 0: without a limit.
	Renewals int
	// Modify makes each write a read-modify-write: one more than the value that
	// the lease's read, or its last write, gave.
	Modify bool
	// Reenter acquires the lease once more in the middle of the work, as code does
	// that takes a lock inside a lock.
	Reenter bool
	// ReadsBack makes it read behind each of them what it wrote.
	ReadsBack bool
	// Deletes makes one write of three a delete.
	Deletes bool
}

// resource is the one of the n-th lease, from 0: Resource twice, then each of More.
func (c *HolderConfig) resource(n int) string {
	if k := (c.Turn+n)%(len(c.More)+2) - 2; k >= 0 {
		return c.More[k]
	}
	return c.Resource
}

// Holder is a client that works under a lease. It believes in the lease until
// its own deadline, lifts the fence before it reads anything, looks at its clock
// before each write, and gives up when the store calls its token stale.
type Holder struct {
	cfg         HolderConfig
	coordinator Coordinator
	store       Store
	keeper      Coordinator // of the renewal task
	keepAliveFn func(context.Context)
	clients     [2]Client // which coordinator, store and keeper may be
	resource    string    // of the next lease
	lease       Lease
	holds       bool
	writes      int64
	told        history.Event
}

// NewHolder returns a holder that speaks to the processes of p's world called
// "manager" and "store".
func NewHolder(p *sim.Proc, cfg HolderConfig) *Holder {
	h := &Holder{}
	h.Init(p, cfg)
	return h
}

// Init makes h what NewHolder returns, in the memory that it has. Nobody may use h
// any more as what it was.
func (h *Holder) Init(p *sim.Proc, cfg HolderConfig) {
	manager, store := p.Peer("manager"), p.Peer("store")
	c, keeper := &h.clients[0], &h.clients[1]
	c.init(p, cfg.Config, manager, store, "")
	h.cfg, h.coordinator, h.store, h.keeper = cfg, c, c, nil
	if cfg.Renew {
		keeper.init(p, cfg.Config, manager, store, "renew")
		h.keeper = keeper
		if h.keepAliveFn == nil {
			h.keepAliveFn = h.keepAlive
		}
	}
	h.resource, h.lease, h.holds, h.writes = cfg.Resource, Lease{}, false, 0
}

// Run takes leases and works under them until it has had cfg.Acquisitions, or
// has asked cfg.Tries times.
func (h *Holder) Run(ctx context.Context) {
	had := 0
	for try := 0; had < h.cfg.Acquisitions && try < h.tries(); try++ {
		h.checkpoint(ctx, had, try, 0, 0)
		if len(h.cfg.More) > 0 {
			h.resource = h.cfg.resource(had)
		}
		sim.Yield(ctx, "acquire")
		if err := h.Acquire(ctx); err != nil {
			sim.Sleep(ctx, h.patience(err))
			continue
		}
		had++
		h.work(ctx, had, try)
	}
}

// tries is how often the holder asks for a lease at most.
func (h *Holder) tries() int {
	if h.cfg.Tries > 0 {
		return h.cfg.Tries
	}
	return 4 * h.cfg.Acquisitions
}

// checkpoint declares to an exhaustive search what the holder's future depends
// on: the numbers of its loops, the value that it builds upon, and its memory.
func (h *Holder) checkpoint(ctx context.Context, had, try, write int, value int64) {
	p := sim.FromContext(ctx)
	if !p.Explored() {
		return
	}
	l := h.lease
	if !h.holds {
		l = Lease{ID: l.ID}
	}
	p.Checkpoint(fmt.Sprint(had, try, write, value, h.writes, h.holds, l.Token, l.ID, l.Generation, l.Deadline.UnixNano(), h.lines()))
}

// lines is what its clients remember from one operation to the next.
func (h *Holder) lines() string {
	var text string
	for _, c := range []Coordinator{h.coordinator, h.keeper} {
		if c, ok := c.(*Client); ok {
			text += fmt.Sprint(c.unknown, " ", c.basis, " ")
		}
	}
	return text
}

// patience is how long to wait after an acquisition failed.
func (h *Holder) patience(err error) time.Duration {
	if held, ok := errors.AsType[*HeldError](err); ok {
		return held.RetryAfter
	}
	return h.cfg.Work
}

// Acquire takes a lease and lifts the fence to its token. On an error the holder
// holds nothing.
func (h *Holder) Acquire(ctx context.Context) error {
	l, err := h.coordinator.Acquire(ctx, h.resource, h.cfg.TTL)
	if err != nil {
		return err
	}
	h.believe(ctx, l)
	if h.cfg.Renew {
		sim.Go(ctx, "renew", h.keepAliveFn)
	}
	if h.cfg.Defects.Has(HolderSkipsRaise) {
		return nil
	}
	if err := h.store.Raise(ctx, l.Resource, l); !errors.Is(err, ErrUnsupported) {
		return h.failed(ctx, err)
	}
	return nil
}

// work reads once, writes, and releases.
func (h *Holder) work(ctx context.Context, had, try int) {
	value, err := h.Read(ctx)
	if err != nil && !h.holds {
		return
	}
	for i := range h.cfg.Writes {
		h.checkpoint(ctx, had, try, i+1, value)
		if sim.Sleep(ctx, h.cfg.Work); !h.holds {
			return
		}
		if h.cfg.Reenter && i == 0 {
			h.writes++
			h.Inner(ctx, h.value(ctx))
		}
		h.writes++
		if value++; !h.cfg.Modify {
			value = h.value(ctx)
		}
		if h.cfg.Deletes && h.writes%3 == 2 {
			value = 0
			h.Delete(ctx)
		} else {
			h.Write(ctx, value)
		}
		if h.cfg.ReadsBack && h.holds {
			h.Read(ctx)
		}
		if !h.holds {
			return
		}
	}
	h.Release(ctx)
}

// Inner takes the lease inside the lease and writes under what it is given; the
// outer work goes on under its own.
func (h *Holder) Inner(ctx context.Context, value int64) error {
	if err := h.check(ctx); err != nil {
		return err
	}
	r, ok := h.coordinator.(interface {
		Reenter(context.Context, Lease) (Lease, error)
	})
	if !ok {
		return ErrUnsupported
	}
	l, err := r.Reenter(ctx, h.lease)
	if err != nil {
		return h.failed(ctx, err)
	}
	return h.failed(ctx, h.store.Write(ctx, l.Resource, l, value))
}

// value is one that nobody else writes.
func (h *Holder) value(ctx context.Context) int64 {
	p := sim.FromContext(ctx)
	return int64(p.ID()+1)*100 + h.writes + 10_000*int64(p.Incarnation())
}

// Read reads the resource under the lease.
func (h *Holder) Read(ctx context.Context) (int64, error) {
	if err := h.check(ctx); err != nil {
		return 0, err
	}
	v, err := h.store.Read(ctx, h.lease.Resource, h.lease)
	return v, h.failed(ctx, err)
}

// ErrExpired is the error of an operation that the holder does not send, because
// by its own clock the lease has ended, or because it holds none.
var ErrExpired = errors.New("model: the lease has ended by its holder's clock")

// Write writes the resource under the lease, if the lease has not ended by the
// holder's own clock. Between that look and the sending anything may happen.
func (h *Holder) Write(ctx context.Context, value int64) error {
	if err := h.ready(ctx); err != nil {
		return err
	}
	return h.failed(ctx, h.store.Write(ctx, h.lease.Resource, h.lease, value))
}

// Delete deletes the resource as Write writes it.
func (h *Holder) Delete(ctx context.Context) error {
	if err := h.ready(ctx); err != nil {
		return err
	}
	return h.failed(ctx, h.store.Delete(ctx, h.lease.Resource, h.lease))
}

// ready returns an error if the holder may not write.
func (h *Holder) ready(ctx context.Context) error {
	if h.cfg.Defects.Has(RenewAndTrust) && h.holds {
		l, err := h.coordinator.Renew(ctx, h.lease)
		if err != nil {
			h.disbelieve(ctx)
			return err
		}
		h.believe(ctx, l)
	}
	if err := h.check(ctx); err != nil {
		return err
	}
	sim.Yield(ctx, "checked")
	return nil
}

// Raise lifts the fence to the lease's token once more.
func (h *Holder) Raise(ctx context.Context) error {
	if err := h.check(ctx); err != nil {
		return err
	}
	return h.failed(ctx, h.store.Raise(ctx, h.lease.Resource, h.lease))
}

// Renew extends the lease.
func (h *Holder) Renew(ctx context.Context) error {
	if err := h.check(ctx); err != nil {
		return err
	}
	l, err := h.coordinator.Renew(ctx, h.lease)
	if err != nil {
		return h.failed(ctx, err)
	}
	h.believe(ctx, l)
	return nil
}

// Release gives the lease back.
func (h *Holder) Release(ctx context.Context) error {
	if err := h.check(ctx); err != nil {
		return err
	}
	l := h.lease
	h.disbelieve(ctx)
	return h.coordinator.Release(ctx, l)
}

// check looks at the holder's own clock.
func (h *Holder) check(ctx context.Context) error {
	p := sim.FromContext(ctx)
	if h.holds && int64(p.Now()) < h.lease.Deadline.UnixNano() { // without making a time, as sim.Now does
		return nil
	}
	h.disbelieve(ctx)
	return ErrExpired
}

// failed decides what an error means for the holder's belief, and returns it. A
// rejection as stale ends it: what was prepared under the lease is dropped.
func (h *Holder) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, stale := errors.AsType[*StaleTokenError](err); stale && !h.cfg.Defects.Has(HolderIgnoresRejection) || errors.Is(err, ErrNotHolder) {
		h.disbelieve(ctx)
	}
	return err
}

// keepAlive renews the lease at each third of its term, as long as the holder
// believes in it.
func (h *Holder) keepAlive(ctx context.Context) {
	id := h.lease.ID
	for n := 0; h.cfg.Renewals == 0 || n < h.cfg.Renewals; n++ {
		if !sim.Rest(ctx, h.lease.TTL/3) || !h.holds || h.lease.ID != id {
			return
		}
		l, err := h.keeper.Renew(ctx, h.lease)
		switch {
		case !h.holds || h.lease.ID != id:
			return
		case err == nil:
			h.believe(ctx, l)
		case !errors.Is(err, ErrUnknownOutcome):
			h.disbelieve(ctx)
			return
		}
	}
}

// believe takes l as the holder's lease. Its deadline never moves back.
func (h *Holder) believe(ctx context.Context, l Lease) {
	if h.holds && h.lease.ID == l.ID && h.lease.Deadline.After(l.Deadline) {
		l.Deadline = h.lease.Deadline
	}
	h.lease, h.holds = l, true
	h.tell(ctx, history.Believe)
}

func (h *Holder) disbelieve(ctx context.Context) {
	if h.holds {
		h.holds = false
		h.tell(ctx, history.Disbelieve)
	}
}

func (h *Holder) tell(ctx context.Context, f history.F) {
	p := sim.FromContext(ctx)
	if p == nil {
		return
	}
	e, l := note(&h.told, f, 0), &h.lease
	e.Resource, e.Token, e.Lease, e.Owner, e.Generation = l.Resource, l.Token, l.ID, p.Name(), l.Generation
	if f == history.Believe {
		e.Until = l.Deadline.UnixNano()
	}
	p.Observe(e)
}

// Lease returns the lease that the holder has, or had last.
func (h *Holder) Lease() Lease { return h.lease }
