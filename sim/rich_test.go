package sim

import (
	"context"
	"fmt"
	"time"
)

// richConfig has every fault switched on.
var richConfig = Config{
	Latency:    milli,
	Delays:     []time.Duration{milli / 2, 3 * milli, 20 * milli},
	Holds:      []time.Duration{200 * milli},
	Pauses:     []time.Duration{2 * milli, 150 * milli},
	Suspends:   []time.Duration{3 * milli, 160 * milli},
	Stalls:     []time.Duration{4 * milli, 90 * milli},
	Restarts:   []time.Duration{milli, 70 * milli},
	Partitions: []time.Duration{5 * milli, 60 * milli},
	Drifts:     []int64{200, -200, 50_000, -50_000},
	Jumps:      []time.Duration{time.Hour, -time.Second},
	Budget:     map[Site]int{SiteCrash: 6, SiteDrop: 12},
	Quiet:      900 * milli,
	Horizon:    3 * time.Second,
	MaxEvents:  5000,
}

// rich answers every site: rare faults, frequent reordering.
func rich(seed uint64) *Seeded {
	c := &Seeded{Seed: seed, Rates: everySite(2500)}
	c.Rates[SiteTie], c.Rates[SiteTask], c.Rates[SiteUser] = Uniform, Uniform, Uniform
	c.Rates[SiteDelay], c.Rates[SiteDrift], c.Rates[SiteDisk] = 20_000, 40_000, 40_000
	if seed%5 == 4 { // storms, too
		c.Rates = everySite(12_000)
	}
	return c
}

// deposit is a message body that is hashed by reflection, account by its own method.
type deposit struct {
	Account string
	Amounts [2]int32
	Last    bool
	Meta    any
}

type account struct{ id, sum int64 }

func (a account) Fold(h uint64) uint64 { return mix(mix(h, uint64(a.id)), uint64(a.sum)) }

// bank is a Handler and Starter with a disk, timers, tasks and a lock.
type bank struct {
	mu     *Mutex
	sum    int64
	served int
}

func (b *bank) Start(p *Proc) {
	if v, ok := p.Get("sum"); ok {
		b.sum = v.(int64)
	}
	p.Sleep(milli)
	for v := range p.Disk().Log {
		b.sum += v.(int64)
	}
	p.After(20*milli, "tick")
	say(p, "bank opens with %d", b.sum)
}

func (b *bank) Handle(p *Proc, m Message) {
	if m.Timer {
		say(p, "tick %d", b.served)
		if p.Now() < 2*time.Second {
			p.After(20*milli, m.Body)
		}
		return
	}
	d := m.Body.(deposit)
	ctx := p.Context()
	b.mu.Lock(ctx)
	defer b.mu.Unlock(ctx)
	p.Yield("locked")
	b.served++
	sum := b.sum + int64(d.Amounts[0])
	if p.Choose("slow", 3) == 2 {
		p.Sleep(2 * milli)
	}
	b.sum = sum
	if d.Last {
		p.Put("sum", sum)
		p.Put("last", d.Account)
	} else {
		p.Append(int64(d.Amounts[0]))
	}
	p.Sync()
	say(p, "%s: sum %d", d.Account, sum)
	p.Reply(m, account{id: int64(d.Amounts[1]), sum: sum})
}

// customer is a Runner with a task beside its main one.
func customer(name string) func(p *Proc) {
	return func(p *Proc) {
		beats := 0
		Go(p.Context(), "beat", func(ctx context.Context) {
			for range 12 {
				if Sleep(ctx, 25*milli) != nil {
					return
				}
				beats++
				FromContext(ctx).Yield("beat")
			}
		})
		for i := range int32(6) {
			ctx, cancel := WithTimeout(p.Context(), 80*milli)
			body := deposit{Account: name, Amounts: [2]int32{i, 7}, Last: i == 5, Meta: [2]uint8{1, uint8(i)}}
			reply, err := p.Call(p.Peer("bank"), body, Remaining(ctx))
			cancel()
			p.Yield("called")
			say(p, "%d at %s, wall %d, beats %d: %v %v", i, p.Now(), p.Wall().UnixNano(), beats, reply, err)
			if i == 3 {
				p.Send(p.Peer("echo"), fmt.Sprint(name, p.Serial()))
			}
		}
	}
}

// richWorld adds the processes: a bank, three customers, and an echo that is a
// Runner with a mailbox.
func richWorld(w *World) {
	w.Serve("bank", func() Handler { return &bank{mu: NewMutex()} })
	for _, name := range []string{"ann", "bob", "cyd"} {
		spawn(w, name, customer(name))
	}
	spawn(w, "echo", func(p *Proc) {
		for {
			m, ok := p.Wait(700 * milli)
			if !ok {
				return
			}
			p.Yield("echo")
			say(p, "echo %v", m.Body)
			p.Send(m.From, m.Body)
		}
	})
}
