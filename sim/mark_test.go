package sim

import (
	"fmt"
	"testing"
	"time"
)

// TestMark: a Mark counts what its task puts on the disk, and what becomes durable:
// by a sync of any task, or because it survives a crash; a Ledger outlives the crash
// and not the run.
func TestMark(t *testing.T) {
	crash := Decision{Key: Key{Proc: 0, Site: SiteCrash, Count: 1}, Option: 1}
	survive := Decision{Key: Key{Proc: 0, Site: SiteDisk}, Option: 2}
	for _, c := range []struct {
		name string
		s    Schedule
		want string
	}{
		{"another task syncs", nil, "life 0: {2 2 2 0} {5 1 1 4} lives 1"},
		{"a crash takes all", Schedule{crash}, "life 1: {2 2 0 0} {5 1 0 4} lives 2"},
		{"two records survive a crash", Schedule{crash, survive}, "life 1: {2 2 2 0} {5 1 0 4} lives 2"},
	} {
		w := NewWorld(Config{Restarts: []time.Duration{milli}}, NewReplay(c.s), nil)
		defer w.Close()
		for range 2 { // the second time as the first
			var marks [2]Mark // of the first life
			var got string
			spawn(w, "A", func(p *Proc) {
				lives, _ := (*p.Ledger()).(int)
				*p.Ledger() = lives + 1
				if p.Incarnation() == 0 {
					p.Put("unmarked", 0)
					p.Sync()
					p.Go("other", func(p *Proc) {
						p.Mark(&marks[0])
						p.Put("a", 1)
						p.Append("b")
						p.Mark(nil)
						p.Put("c", 3)
						p.Sleep(time.Second)
					})
					p.Sleep(milli)
					p.Mark(&marks[1])
					p.Get("a")
					p.Remove("a")
					p.Sync()
				}
				got = fmt.Sprintf("life %d: %v %v lives %d", p.Incarnation(), marks[0], marks[1], *p.Ledger())
			})
			w.Run()
			if got != c.want {
				t.Errorf("%s: expected %s, found %s", c.name, c.want, got)
			}
			w.Reset(Config{Restarts: []time.Duration{milli}}, NewReplay(c.s), nil)
		}
	}
}
