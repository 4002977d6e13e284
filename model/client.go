package model

import (
	"context"
	"math"
	"strconv"
	"time"

	"staleproof/model/history"
	"staleproof/sim"
)

// Client speaks to a lease manager and a store in a simulation and records in
// the history what it asked and was told. It serves one task of one process; its
// methods take the context of that task. It implements [Coordinator] and [Store].
type Client struct {
	cfg     Config
	manager sim.ID
	store   sim.ID
	client  string // who it is in the history
	process string // the line of operations, new after an unknown outcome
	base    string
	task    string // with life, what base was made of
	life    int
	unknown int
	open    int           // operations that wait for their answers
	basis   int64         // the last operation that told or made the value, under the lease
	told    history.Event // last
}

// NewClient returns the client of p's process; line names the task when the
// process has several, and is empty for its main one.
func NewClient(p *sim.Proc, cfg Config, manager, store sim.ID, line string) *Client {
	c := &Client{}
	c.init(p, cfg, manager, store, line)
	return c
}

// init makes c what NewClient returns, in the memory that it has; the name of its
// line is mostly the one that it had.
func (c *Client) init(p *sim.Proc, cfg Config, manager, store sim.ID, task string) {
	name, life := p.Name(), p.Incarnation()
	if !same(c.client, name) || !same(c.task, task) || c.life != life {
		c.client, c.task, c.life, c.base = name, task, life, firstLine(name, task, life)
	}
	c.cfg, c.manager, c.store, c.process = cfg, manager, store, c.base
	c.unknown, c.open, c.basis = 0, 0, 0
}

// firstLine names the first line of operations of a task.
func firstLine(process, task string, incarnation int) string {
	if task != "" {
		process += "." + task
	}
	if incarnation > 0 {
		process += "." + strconv.Itoa(incarnation)
	}
	return process
}

// Acquire asks the lease manager for a lease.
func (c *Client) Acquire(ctx context.Context, resource string, ttl time.Duration) (Lease, error) {
	c.basis = 0
	return c.acquire(ctx, &Request{F: history.Acquire, Resource: resource, TTL: ttl})
}

// Reenter acquires l once more: a lock taken inside a lock. The lease manager
// knows it by its identity.
func (c *Client) Reenter(ctx context.Context, l Lease) (Lease, error) {
	return c.acquire(ctx, &Request{F: history.Acquire, Resource: l.Resource, Lease: l.ID, TTL: l.TTL})
}

func (c *Client) acquire(ctx context.Context, r *Request) (Lease, error) {
	p := sim.FromContext(ctx)
	sent := p.Now()
	reply, err := c.do(ctx, c.manager, r)
	if err != nil {
		return Lease{}, err
	}
	if c.cfg.Defects.Has(DeadlineFromReceipt) {
		sent = p.Now()
	}
	return Lease{Resource: r.Resource, Token: reply.Token, ID: reply.Lease, Generation: reply.Generation,
		TTL: r.TTL, Deadline: c.deadline(sent, r.TTL)}, nil
}

// deadline is when the holder of a lease that it asked for at sent stops believing in
// it, or the last time that nanoseconds can tell.
func (c *Client) deadline(sent, ttl time.Duration) time.Time {
	term := min(c.cfg.Term(ttl), math.MaxInt64-sent)
	return time.Unix(0, int64(sent+term)).UTC()
}

// Renew extends l.
func (c *Client) Renew(ctx context.Context, l Lease) (Lease, error) {
	sent := sim.FromContext(ctx).Now()
	reply, err := c.do(ctx, c.manager, &Request{F: history.Renew, Resource: l.Resource, Token: l.Token, Lease: l.ID, TTL: l.TTL})
	if err != nil {
		return l, err
	}
	l.Token, l.Deadline = reply.Token, c.deadline(sent, l.TTL)
	return l, nil
}

// Release gives l back.
func (c *Client) Release(ctx context.Context, l Lease) error {
	_, err := c.do(ctx, c.manager, &Request{F: history.Release, Resource: l.Resource, Token: l.Token, Lease: l.ID})
	return err
}

// Raise lifts the store's fence.
func (c *Client) Raise(ctx context.Context, resource string, l Lease) error {
	_, err := c.ask(ctx, history.Raise, resource, &l, 0)
	return err
}

// Read reads a resource.
func (c *Client) Read(ctx context.Context, resource string, l Lease) (int64, error) {
	reply, err := c.ask(ctx, history.Read, resource, &l, 0)
	return reply.Value, err
}

// Write writes a resource.
func (c *Client) Write(ctx context.Context, resource string, l Lease, value int64) error {
	_, err := c.ask(ctx, history.Write, resource, &l, value)
	return err
}

// Delete deletes a resource; reading it gives 0 then.
func (c *Client) Delete(ctx context.Context, resource string, l Lease) error {
	_, err := c.ask(ctx, history.Delete, resource, &l, 0)
	return err
}

// ask sends an operation to the store, with the lease under which it is made.
func (c *Client) ask(ctx context.Context, f history.F, resource string, l *Lease, value int64) (*Reply, error) {
	r := Request{F: f, Resource: resource, Token: l.Token, Lease: l.ID, Value: value,
		Unfenced: c.cfg.Defects.hasAny(LocalCheckOnly|RenewAndTrust) && f.IsMutation()}
	if f == history.Write {
		r.Basis = c.basis
	}
	return c.do(ctx, c.store, &r)
}

// noReply stands for the reply that did not come.
var noReply Reply

// do sends a request, waits for the answer and records both. The reply must not be
// changed.
func (c *Client) do(ctx context.Context, to sim.ID, r *Request) (*Reply, error) {
	p := sim.FromContext(ctx)
	r.Op, r.Client = p.Serial(), c.client
	line := c.line()
	p.Observe(c.begin(r, line))
	body, err := p.Call(to, r.box(p), c.cfg.Timeout)
	reply := sim.Peek[Reply](body)
	if err != nil || reply == nil || reply.Status == StatusUnknown {
		e := c.end(history.Info, r, line)
		if e.Error = "timeout"; err == nil {
			e.Error = "unknown"
		}
		p.Observe(e)
		if c.open--; c.process == line {
			c.nextLine()
		}
		return &noReply, ErrUnknownOutcome
	}
	c.open--
	e := c.end(history.Fail, r, line)
	if err = c.outcome(e, r, reply); err == nil && (r.F == history.Read || r.F == history.Write || r.F == history.Delete) {
		c.basis = r.Op
	}
	p.Observe(e)
	return reply, err
}

// outcome completes e, the end of r, and turns a refusal into an error.
func (c *Client) outcome(e *history.Event, r *Request, reply *Reply) error {
	switch reply.Status {
	case StatusStale:
		if e.Error, e.Owner = history.Stale, reply.Owner; !reply.Vague {
			e.Highest = reply.Highest
		}
		return &StaleTokenError{Resource: r.Resource, Presented: r.Token, Highest: reply.Highest, Owner: reply.Owner}
	case StatusHeld:
		e.Error = "held"
		return &HeldError{Resource: r.Resource, RetryAfter: reply.RetryAfter}
	case StatusNotHolder:
		e.Error = "not the holder"
		return ErrNotHolder
	case StatusUnsupported:
		e.Error = history.Unsupported
		return ErrUnsupported
	}
	e.Type = history.OK
	switch r.F {
	case history.Acquire:
		e.Token, e.Lease, e.Generation = reply.Token, reply.Lease, reply.Generation
	case history.Renew:
		e.Token = reply.Token
	case history.Read:
		e.Value = history.IntValue(reply.Value)
	}
	return nil
}

// line returns the line of operations on which the next one begins: a line has one
// operation at a time, and the renewal of a lease that was lost may still wait for
// its answer when that of the next one begins.
func (c *Client) line() string {
	if c.open > 0 {
		c.nextLine()
	}
	c.open++
	return c.process
}

func (c *Client) nextLine() {
	c.unknown++
	c.process = c.base + "/" + strconv.Itoa(c.unknown)
}

// begin returns the event that begins r on a line of operations. A client has one
// event, and an observer that keeps it copies it.
func (c *Client) begin(r *Request, line string) *history.Event {
	e := &c.told
	*e = history.Event{}
	e.Type, e.F, e.Op, e.Process = history.Invoke, r.F, r.Op, line
	if !same(line, c.client) {
		e.Client = c.client
	}
	e.Resource, e.Token, e.Lease = r.Resource, r.Token, r.Lease
	if r.F == history.Write {
		e.Value, e.Basis = history.IntValue(r.Value), r.Basis
	}
	return e
}

// end returns the event that ends r: the one that began it, unless another operation
// began meanwhile.
func (c *Client) end(t history.Type, r *Request, line string) *history.Event {
	if c.told.Op != r.Op {
		c.begin(r, line)
	}
	c.told.Type = t
	return &c.told
}
