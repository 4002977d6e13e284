package scenarios

import (
	"strconv"
	"time"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/sim"
)

// textbook is the stale write that everybody draws: A's lease ends while A is
// paused or its write is on the wire, B is granted the next token and writes,
// and then A's write arrives.
var textbook = Scenario{
	Name:     "textbook",
	Revision: 2,
	Doc: "A lease ends while its holder is paused or its write is on the wire; the next holder " +
		"writes with a greater token; then the old write arrives and must be rejected.",
	Params: Params{
		Clients: 3, Acquisitions: 2, Writes: 2, Renew: 1,
		TTL: int64(10 * time.Second), Work: int64(1500 * time.Millisecond),
		Latency: int64(time.Millisecond), Timeout: int64(4 * time.Second), Rho: 200, FirstToken: 1,
	},
	Faults:     textbookFaults,
	Build:      buildTextbook,
	Properties: append([]string{"lease-identity"}, common...),
	Sometimes: []checker.Fact{checker.StaleWriteAttempted, checker.StaleWriteRejected,
		checker.LeaseRenewed, checker.LeaseReleased},
	Defects: []Exposure{
		{Defect: model.StoreIgnoresToken, Breaks: []string{"no-stale-write", "linearizable"}},
		{Defect: model.LocalCheckOnly, Breaks: []string{"no-stale-write"}},
		{Defect: model.RenewAndTrust, Breaks: []string{"no-stale-write"}},
		{Defect: model.StoreComparesIdentity, Breaks: []string{"no-stale-write"}},
		{Defect: model.StoreRefusesEqual, Breaks: []string{"no-false-fencing"}},
		{Defect: model.StoreReappliesCopies, Breaks: []string{"linearizable"}},
		{Defect: model.TokenNotIncreased, Breaks: []string{"token-order"}},
		{Defect: model.RenewalRaisesToken, Breaks: []string{"renewal-keeps-token"}},
		{Defect: model.GrantWhileHeld, Breaks: []string{"exclusive-grant"}},
		{Defect: model.HolderIgnoresRejection, Breaks: []string{"gives-up"}},
		{Defect: model.ManagerIgnoresIdentity, Breaks: []string{"lease-identity"}},
	},
	Scripts: textbookScripts,
}

// common are the properties that every scenario judges.
var common = []string{"no-stale-write", "token-order", "renewal-keeps-token", "exclusive-grant",
	"linearizable", "no-false-fencing", "gives-up"}

// textbookFaults are sized to the term of the lease: a third of it, a little
// more than it, and several times it.
var textbookFaults = Faults{
	Delays:     []time.Duration{500 * time.Microsecond, 3 * time.Millisecond, 40 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second},
	Holds:      []time.Duration{3 * time.Second, 11 * time.Second, 25 * time.Second},
	Pauses:     []time.Duration{3 * time.Second, 12 * time.Second, 35 * time.Second},
	Suspends:   []time.Duration{3 * time.Second, 12 * time.Second, 35 * time.Second},
	Stalls:     []time.Duration{2 * time.Millisecond, 3 * time.Second, 12 * time.Second},
	Restarts:   []time.Duration{100 * time.Millisecond, 2 * time.Second, 15 * time.Second},
	Partitions: []time.Duration{2 * time.Second, 12 * time.Second},
	Drifts:     []int64{200, -200},
	Jumps:      []time.Duration{-time.Hour, time.Hour},
	Rates: sim.Rates{
		sim.SiteTie: 6000, sim.SiteTask: 6000, sim.SiteDelay: 4000, sim.SiteHold: 3500, sim.SiteDrop: 500,
		sim.SiteDuplicate: 1300, sim.SitePartition: 250, sim.SitePause: 9000, sim.SiteSuspend: 4500,
		sim.SiteStall: 1000, sim.SiteCrash: 600, sim.SiteDisk: 20000, sim.SiteDrift: 20000,
	},
	Budget: map[sim.Site]int{sim.SiteCrash: 3},
}

// clientNames are those of people in the literature.
func clientName(i int64) string {
	if i < 26 {
		return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i : i+1]
	}
	return "C" + strconv.FormatInt(i, 10)
}

// buildTextbook spawns a lease manager, a store and the clients.
func buildTextbook(w *sim.World, s Setup) {
	c := s.cast
	if c == nil {
		c = &cast{}
	}
	c.begin(&s)
	c.spawnServers(w, &s)
	for i := range s.Params.Clients {
		w.Spawn(clientName(i), c.newWorker[i])
	}
}

// cast is who takes part in a run. A [Runner] keeps it, so that the processes of
// its next run are made in the memory of the last one's.
type cast struct {
	cfg        model.HolderConfig
	manager    role[model.LeaseManager]
	store      role[model.FencedStore]
	workers    []role[worker]
	newManager func() sim.Handler
	newStore   func() sim.Handler
	newWorker  []func() sim.Runner
}

// role is the memory of a process. Each incarnation of a run has its own: tasks of a
// dead one may still be on their way off its memory.
type role[T any] struct {
	memory []*T
	taken  int
}

// take returns the memory of the next incarnation.
func (r *role[T]) take() *T {
	if r.taken == len(r.memory) {
		r.memory = append(r.memory, new(T))
	}
	r.taken++
	return r.memory[r.taken-1]
}

// begin makes c ready for a run.
func (c *cast) begin(s *Setup) {
	c.cfg = holderConfig(s)
	if c.newManager == nil {
		c.newManager, c.newStore = c.startManager, c.startStore
	}
	for i := len(c.workers); i < int(s.Params.Clients); i++ {
		c.workers = append(c.workers, role[worker]{})
		c.newWorker = append(c.newWorker, func() sim.Runner {
			w := c.workers[i].take()
			w.cfg, w.turn = &c.cfg, i
			return w
		})
	}
	c.manager.taken, c.store.taken = 0, 0
	for i := range c.workers {
		c.workers[i].taken = 0
	}
}

func (c *cast) startManager() sim.Handler {
	m := c.manager.take()
	m.Init(c.cfg.Config)
	return m
}

func (c *cast) startStore() sim.Handler {
	s := c.store.take()
	s.Init(c.cfg.Config)
	return s
}

// spawnServers spawns the lease manager and the store. They are spared long
// pauses, which would stop everybody and hide the danger; single requests stall.
func (c *cast) spawnServers(w *sim.World, s *Setup) {
	manager := w.Serve("manager", c.newManager)
	w.Spare(manager, sim.SitePause, sim.SiteSuspend)
	newStore := s.NewStore
	if newStore == nil {
		newStore = c.newStore
	}
	store := w.Serve("store", newStore)
	w.Spare(store, sim.SitePause, sim.SiteSuspend)
	if s.NewStore != nil && !s.StoreCrashes {
		w.Spare(store, sim.SiteCrash)
	}
}

// resource is the name of what the leases protect, and more are others.
const resource = "orders/7"

var more = [8]string{"orders/8", "orders/9", "orders/10", "orders/11", "orders/12", "orders/13", "orders/14", "orders/15"}

// worker is a client that runs the workload of its parameters.
type worker struct {
	cfg    *model.HolderConfig
	turn   int
	holder model.Holder
}

func (c *worker) Run(p *sim.Proc) {
	cfg := *c.cfg
	cfg.Turn = c.turn
	c.holder.Init(p, cfg)
	c.holder.Run(p.Context())
}

func holderConfig(s *Setup) model.HolderConfig {
	return model.HolderConfig{Config: s.Config, Resource: resource, More: more[:s.Params.More], Deletes: s.Params.Deletes > 0, ReadsBack: s.Params.ReadsBack > 0,
		Acquisitions: int(s.Params.Acquisitions), Writes: int(s.Params.Writes), Tries: int(s.Params.Tries),
		Work: time.Duration(s.Params.Work), Renew: s.Params.Renew > 0, Renewals: int(s.Params.Renewals),
		Modify: s.Params.Modify > 0, Reenter: s.Params.Reenter > 0}
}
