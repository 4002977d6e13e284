package explore_test

import (
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
	"time"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// counted is a package variable, which a process must not use.
var counted int

// outside is captured by processes from outside of Build.
var outside = new(int)

// TestHiddenState has processes that decide by something that is no input of
// theirs. The search of each ends with an error that names the process and the line,
// and says nothing of complete. The line is the one that is marked with the name.
func TestHiddenState(t *testing.T) {
	source, err := os.ReadFile("hidden_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name  string
		build func(*sim.World)
		says  string
	}{
		{"a package variable", listening(func(p *sim.Proc) {
			sum := 0
			for range 4 {
				m, _ := p.Wait(0)
				counted++
				sum = sum*10 + m.Body.(int) + counted%3*100
			}
			p.Checkpoint(sum) // a package variable
		}), "variable outside"},
		{"a package variable that another process writes", spawn(func(p *sim.Proc) {
			p.Wait(0)
			p.Checkpoint(counted) // a package variable that another process writes
		}, func(p *sim.Proc) {
			m, _ := p.Wait(0)
			counted = m.Body.(int)
			p.Send(0, 0)
		}, func(p *sim.Proc) { p.Send(1, p.Choose("", 3)) }), "variable outside"},
		{"a variable captured from outside of Build", listening(func(p *sim.Proc) {
			for range 4 {
				m, _ := p.Wait(0)
				*outside = *outside*2%1024 + m.Body.(int)
			}
			p.Checkpoint(*outside) // a variable captured from outside of Build
		}), "variable outside"},
		{"the order of a map", listening(func(p *sim.Proc) {
			got := map[int]int{}
			for i := range 4 {
				m, _ := p.Wait(0)
				got[i] = m.Body.(int)
			}
			sum := 0
			for k, v := range got {
				sum = sum*10 + k*v
			}
			p.Checkpoint(sum) // the order of a map
		}), "the order of a map"},
		{"the order of a map of two, once", spawn(func(p *sim.Proc) {
			for k := range map[string]bool{"x": true, "y": true} {
				say(p, "%s", k) // the order of a map of two, once
				break
			}
		}), "the order of a map"},
		{"the real clock", listening(func(p *sim.Proc) {
			for range 4 {
				p.Wait(0)
			}
			p.Checkpoint(time.Now().UnixNano() % 7) // the real clock
		}), "the real clock"},
		{"math/rand", listening(func(p *sim.Proc) {
			for range 4 {
				p.Wait(0)
			}
			p.Send(0, rand.Intn(5)) // math/rand
		}), "math/rand"},
		{"how many choices there are", listening(func(p *sim.Proc) {
			p.Wait(0)
			p.Choose("", 2+rand.Intn(2)) // how many choices there are
		}), "math/rand"},
		{"State of a map", func(w *sim.World) {
			w.Serve("a", func() sim.Handler { return &mapped{set: map[int]bool{}} })
			w.Spawn("b", func() sim.Runner { return runner(two) })
			w.Spawn("c", func() sim.Runner { return runner(two) })
		}, "the order of a map"},
		{"a goroutine", spawn(func(p *sim.Proc) {
			got := make(chan int, 1)
			go func() { got <- 1 }()
			text := "none"
			select {
			case <-got:
				text = "got"
			default:
			}
			p.Checkpoint(text) // a goroutine
		}), "goroutine"},
		{"a goroutine that is waited for", spawn(func(p *sim.Proc) {
			got := make(chan int)
			go func() { got <- 1 }()
			p.Checkpoint(<-got) // a goroutine that is waited for
		}), "starts a goroutine"},
		{"Message.ID", listening(func(p *sim.Proc) {
			ids := ""
			for range 4 {
				m, _ := p.Wait(0)
				ids += fmt.Sprint(m.ID, " ")
			}
			p.Checkpoint(ids) // Message.ID
		}), "Message.ID or Message.Copy"},
		{"Message.Copy", listening(func(p *sim.Proc) {
			m, _ := p.Wait(0)
			say(p, "%v", m.Copy) // Message.Copy
		}), "Message.ID or Message.Copy"},
		{"a pointer made in Build, used by two", func(w *sim.World) {
			x := new(int)
			w.Spawn("a", func() sim.Runner {
				return runner(func(p *sim.Proc) {
					p.Wait(0)
					p.Checkpoint(*x) // a pointer made in Build, used by two
				})
			})
			w.Spawn("b", func() sim.Runner {
				return runner(func(p *sim.Proc) {
					*x = 1
					p.Send(0, 1)
					p.Sleep(1)
					*x = 2
					p.Checkpoint("b")
				})
			})
		}, "they share memory"},
		{"a slice made in Build, used by two servers", func(w *sim.World) {
			shared := make([]int, 1)
			for _, name := range []string{"a", "b"} {
				w.Serve(name, func() sim.Handler { return &sharer{shared} })
			}
			w.Spawn("c", func() sim.Runner {
				return runner(func(p *sim.Proc) {
					p.Call(1, 1, 0)
					p.Call(0, 1, 0)
				})
			})
		}, "they share memory"},
		{"a checkpoint that forgets a sum", listening(func(p *sim.Proc) {
			sum := 0
			for i := range 4 {
				p.Checkpoint(i)
				m, _ := p.Wait(0)
				sum = sum*10 + m.Body.(int)
			}
			p.Checkpoint(sum) // a checkpoint that forgets a sum
		}), "incomplete checkpoint"},
		{"a checkpoint that forgets what is used much later", spawn(func(p *sim.Proc) {
			m, _ := p.Wait(0)
			for i := range 40 {
				p.Checkpoint(i)
				p.Sleep(1)
			}
			p.Checkpoint(1000 + m.Body.(int)) // a checkpoint that forgets what is used much later
		}, func(p *sim.Proc) { p.Send(0, 1) }, func(p *sim.Proc) { p.Send(0, 2) }), "incomplete checkpoint"},
		{"a checkpoint that forgets how many choices there are", listening(func(p *sim.Proc) {
			m, _ := p.Wait(0)
			p.Checkpoint("")
			p.Wait(0)
			p.Choose("", 1+m.Body.(int)) // a checkpoint that forgets how many choices there are
			p.Wait(0)
		}), "incomplete checkpoint"},
		{"a Stater that forgets a field", func(w *sim.World) {
			w.Serve("a", func() sim.Handler { return &halfTold{} })
			for i := range 2 {
				w.Spawn(fmt.Sprint("c", i), func() sim.Runner {
					return runner(func(p *sim.Proc) {
						x, _ := p.Call(0, i+1, 0)
						y, _ := p.Call(0, 10*(i+1), 0)
						p.Checkpoint(fmt.Sprint(x, " ", y))
					})
				})
			}
		}, "incomplete checkpoint"},
		{"a checkpoint in a task that forgets what tasks share", spawn(func(p *sim.Proc) {
			x := 0
			p.Go("t", func(p *sim.Proc) { m, _ := p.Wait(0); x += m.Body.(int); p.Checkpoint("t done") })
			p.Go("u", func(p *sim.Proc) { m, _ := p.Wait(0); x = x*2 + m.Body.(int); p.Checkpoint("u done") })
			p.Sleep(5)
			p.Checkpoint(x) // a checkpoint in a task that forgets what tasks share
		}, func(p *sim.Proc) { p.Send(0, 3); p.Send(0, 4) }), "incomplete checkpoint"},
	} {
		t.Run(x.name, func(t *testing.T) {
			line := strings.Count(strings.SplitAfter(string(source), " // "+x.name+"\n")[0], "\n")
			r, err := explore.Run(explore.System{Build: x.build, Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
			if err == nil {
				t.Fatalf("no error, and %s", r.Covered())
			}
			for _, want := range []string{"process a", fmt.Sprintf("hidden_test.go:%d ", line), x.says} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("expected %q in the error, found: %v", want, err)
				}
			}
			if r.Complete() || strings.Contains(r.Covered(), "complete") {
				t.Errorf("with an error the search is %s", r.Covered())
			}
		})
	}
}

// TestOwnMemoryIsNotHidden has processes that use all the ways of keeping something
// to themselves that there are.
func TestOwnMemoryIsNotHidden(t *testing.T) {
	for _, x := range []struct {
		name  string
		build func(*sim.World)
	}{
		{"a variable that tasks share, without a checkpoint", spawn(func(p *sim.Proc) {
			x := 0
			p.Go("t", func(p *sim.Proc) { m, _ := p.Wait(0); x += m.Body.(int) })
			p.Go("u", func(p *sim.Proc) { m, _ := p.Wait(0); x = x*2 + m.Body.(int) })
			p.Sleep(5)
			p.Checkpoint(x)
		}, two)},
		{"a map that is read by key", listening(func(p *sim.Proc) {
			got := map[int]int{}
			for i := range 4 {
				m, _ := p.Wait(0)
				got[i] = m.Body.(int)
			}
			p.Checkpoint(fmt.Sprint(got))
		})},
		{"a constant from outside", listening(func(p *sim.Proc) {
			m, _ := p.Wait(0)
			p.Checkpoint(m.Body.(int) + len(faults))
		})},
		{"a pointer made in Build that one alone uses", func(w *sim.World) {
			x := new(int)
			w.Spawn("a", func() sim.Runner {
				return runner(func(p *sim.Proc) {
					for range 4 {
						m, _ := p.Wait(0)
						*x += m.Body.(int)
					}
					p.Checkpoint(*x)
				})
			})
			w.Spawn("b", func() sim.Runner { return runner(two) })
			w.Spawn("c", func() sim.Runner { return runner(two) })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r, err := explore.Run(explore.System{Build: x.build, Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
			if err != nil || !r.Complete() {
				t.Errorf("%s, %v", r.Covered(), err)
			}
		})
	}
}

// listening is a process that four messages come to.
func listening(run func(p *sim.Proc)) func(*sim.World) { return spawn(run, two, two) }

// two sends process 0 two messages.
func two(p *sim.Proc) {
	p.Send(0, 1)
	p.Send(0, 2)
}

// mapped declares its memory in an order that is not its own.
type mapped struct{ set map[int]bool }

func (x *mapped) Handle(p *sim.Proc, m sim.Message) { // State of a map
	x.set[len(x.set)] = true
}

func (x *mapped) State() any {
	text := ""
	for k := range x.set {
		text += fmt.Sprint(k)
	}
	return text
}

// sharer adds to what it shares with another.
type sharer struct{ sum []int }

func (s *sharer) State() any { return s.sum[0] }
func (s *sharer) Handle(p *sim.Proc, m sim.Message) {
	s.sum[0] += m.Body.(int)
	p.Reply(m, s.sum[0]) // a slice made in Build, used by two servers
}

// halfTold declares one of its two fields.
type halfTold struct{ a, b int }

func (s *halfTold) State() any { return s.a }
func (s *halfTold) Handle(p *sim.Proc, m sim.Message) {
	s.a++
	s.b = s.b*3 + m.Body.(int)
	p.Reply(m, s.b) // a Stater that forgets a field
}
