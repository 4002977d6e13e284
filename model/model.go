// Package model is a lease and fence protocol, right, and with every known way
// to get it wrong.
//
//	Holder --acquire, renew, release--> LeaseManager   grants ordered tokens
//	   \-----raise, read, write-------> FencedStore    refuses what is stale
//
// The client side is written against the context interfaces [Coordinator] and
// [Store], so that the same [Holder] runs in a simulation and against a real
// system. A defect is a named branch in this same code: see [Defects].
package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"staleproof/model/history"
)

// Token is a fencing token; the zero Token is none.
type Token = history.Token

// Lease is the right to act on a resource for a while, as its holder knows it.
// The zero Lease is no lease.
type Lease struct {
	Resource string
	// Token orders the owners of the resource: a later acquisition has a greater one.
	Token Token
	// ID is the lease's random identity. It guards renew and release and says
	// nothing of order.
	ID string
	// Generation counts the acquisitions of the resource, from 1.
	Generation int64
	TTL        time.Duration
	// Deadline is when the holder stops believing, on the clock of sim.Now: the
	// time of sending the acquire or renew, plus the term shortened for clock drift.
	Deadline time.Time
}

// Coordinator grants leases.
type Coordinator interface {
	// Acquire asks for a lease. Errors: *[HeldError], [ErrUnknownOutcome].
	Acquire(ctx context.Context, resource string, ttl time.Duration) (Lease, error)
	// Renew extends l and keeps its token. Errors: [ErrNotHolder], [ErrUnknownOutcome].
	Renew(ctx context.Context, l Lease) (Lease, error)
	// Release gives l back. Errors: [ErrNotHolder], [ErrUnknownOutcome].
	Release(ctx context.Context, l Lease) error
}

// Store is the resource. Every operation presents the lease under which it is
// made; the store looks at its token and its identity. Errors of all:
// *[StaleTokenError], [ErrUnknownOutcome].
type Store interface {
	// Raise lifts the fence to the lease's token without writing, or is
	// [ErrUnsupported].
	Raise(ctx context.Context, resource string, l Lease) error
	Read(ctx context.Context, resource string, l Lease) (int64, error)
	Write(ctx context.Context, resource string, l Lease, value int64) error
	Delete(ctx context.Context, resource string, l Lease) error
}

// Errors of the interfaces above.
var (
	// ErrNotHolder means that the lease presented is not the one in force.
	ErrNotHolder = errors.New("model: not the holder of the lease")
	// ErrUnsupported means that the server does not do this; nothing was changed.
	ErrUnsupported = errors.New("model: not supported")
	// ErrUnknownOutcome means that no reply came: the operation may have taken
	// effect, or may still do so at any later time.
	ErrUnknownOutcome = errors.New("model: unknown outcome: no reply in time")
)

// StaleTokenError is a fence's refusal: a greater token was accepted before, or
// an equal one from another lease. The holder has lost its authority; trying
// again with the same token cannot help.
type StaleTokenError struct {
	Resource  string
	Presented Token
	Highest   Token  // the greatest accepted
	Owner     string // whose it is
}

func (e *StaleTokenError) Error() string {
	return fmt.Sprintf("model: stale token %d for %s: the store has accepted token %d of %s", e.Presented, e.Resource, e.Highest, e.Owner)
}

// HeldError means that somebody else holds the lease.
type HeldError struct {
	Resource   string
	RetryAfter time.Duration // when the lease ends, unless it is renewed
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("model: the lease of %s is held; it may be free in %s", e.Resource, e.RetryAfter)
}

// Config is what all parts of the protocol are told.
type Config struct {
	Defects Defects
	// TTL is the term of a lease, on the clock of the lease manager.
	TTL time.Duration
	// RhoPPM bounds the drift of any clock, in parts per million, at most 1e6.
	RhoPPM int64
	// FirstToken is the token of the first acquisition; 0 means 1.
	FirstToken Token
	// Timeout is how long a client waits for a reply.
	Timeout time.Duration
}

// Term returns how long a holder may believe in a lease of the given ttl, from
// the time at which it sent its request: ttl·(1−ρ)/(1+ρ), rounded down. Its own
// clock may be slow and that of the lease manager fast, each by ρ (Gray and
// Cheriton: Leases, 1989; the bound on clock rates is theirs).
func (c *Config) Term(ttl time.Duration) time.Duration {
	const million = 1_000_000
	whole, rest := int64(ttl)/(million+c.RhoPPM), int64(ttl)%(million+c.RhoPPM)
	return time.Duration(whole*(million-c.RhoPPM) + rest*(million-c.RhoPPM)/(million+c.RhoPPM))
}
