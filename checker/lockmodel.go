package checker

import (
	"staleproof/model/history"
)

var mutexModel = Model{
	Name:      "mutex",
	Guarantee: "A lock that one client acquired is acquired by no other one until the first has released it.",
	Doc: "Acquire, renew and release, judged as a linearizable mutex, resource by resource, in linear time and exactly: the lock " +
		"is free at first, is not re-entrant, and is released by who holds it. An operation of unknown outcome may have taken " +
		"effect at any later time, or never; a failed one had no effect. Where a client went on under another name after an " +
		"unknown outcome, whoever renews or releases without a lease of its own is taken for it. A holder that can lose its " +
		"lock unnoticed, as every lease can, breaks this; see lease.",
	needs:  needsLocks,
	judges: history.F.IsLease,
	judge:  func(s *survey, opt Options, r *Report) error { return judgeLocks("mutex", true, s, r) },
}

var leaseModel = Model{
	Name: "lease",
	Guarantee: "From its acquisition to the last renewal or release that was accepted, a lease is its holder's alone; " +
		"after its release it is renewed and released no more.",
	Doc: "Acquire, renew and release as clients saw them, resource by resource, in linear time. A holder may lose its lease " +
		"unnoticed, so an acquisition by another client is fine at any time but within a proven hold: from the end of an " +
		"acquisition to the beginning of the last renewal or release of the same lease that was accepted, and on to the " +
		"lease's term (expires, or else the header's ttl, less rho and epsilon) unless a release was begun before. Violated " +
		"are: a grant to another client that lies within a proven hold, two proven holds of two clients that overlap, an " +
		"acceptance after the lease's release, and one of a lease that cannot be in force or of another one than was " +
		"presented. Leases are told apart by their identities, else by their tokens, else a client has one of a resource, " +
		"acquired once or several times. What was held when the history begins, what an acquisition of unknown outcome may " +
		"have been granted, and a release of unknown outcome are allowed for. For histories without re-entry and without " +
		"terms this is exact: what is satisfied has an order that explains it.",
	needs:  needsLocks,
	judges: history.F.IsLease,
	judge:  func(s *survey, opt Options, r *Report) error { return judgeLocks("lease", false, s, r) },
}

func needsLocks(s *survey) string {
	if s.seen[history.Acquire] || s.seen[history.Renew] || s.seen[history.Release] {
		return ""
	}
	return "operations that acquire, renew or release"
}

func judgeLocks(name string, strict bool, s *survey, r *Report) error {
	m := newLocks(name, strict, s.header)
	if err := s.events(m.observe); err != nil {
		return err
	}
	o, v := m.verdict()
	r.Results = []Result{{Property: name, Outcome: o, Violation: v}}
	if o == Violated {
		r.Violations = []Violation{*v}
	}
	return nil
}
