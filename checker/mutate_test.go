package checker_test

import (
	"fmt"
	"slices"

	"staleproof/model/history"
)

// mutations change a history a little, as recorders and buggy systems do. Each says
// what it did, or "" where it found nothing to change.
var mutations = []func(h *history.History, d *dice) string{
	// Fields of one event.
	func(h *history.History, d *dice) string {
		return change(h, d, "token", func(e *history.Event) bool { return e.Token > 0 }, func(e *history.Event) {
			e.Token = max(0, e.Token+history.Token([]int{-2, -1, 1, 2}[d.below(4)]))
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "highest", func(e *history.Event) bool { return e.Highest > 0 }, func(e *history.Event) {
			e.Highest = max(0, e.Highest+history.Token([]int{-9, -1, 1, 2}[d.below(4)]))
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "lease", func(e *history.Event) bool { return e.Lease != "" }, func(e *history.Event) {
			e.Lease = anyOf(h, d, func(e *history.Event) string { return e.Lease })
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "value", func(e *history.Event) bool { return e.Value.Kind == history.Int }, func(e *history.Event) {
			e.Value.Num += int64(d.below(3)) - 1
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "type", func(e *history.Event) bool { return e.Type.IsEnd() }, func(e *history.Event) {
			e.Type = []history.Type{history.OK, history.Fail, history.Info}[d.below(3)]
			if e.Error = ""; e.Type == history.Fail && e.F.IsStore() && d.below(2) == 0 {
				e.Error = history.Stale
			}
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "error", func(e *history.Event) bool { return e.Type == history.Fail }, func(e *history.Event) {
			e.Error = []string{history.Stale, "503", ""}[d.below(3)]
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "owner", func(e *history.Event) bool { return e.Owner != "" }, func(e *history.Event) {
			e.Owner = anyOf(h, d, func(e *history.Event) string { return e.Owner })
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "time limit", func(e *history.Event) bool { return e.Expires|e.Until != 0 }, func(e *history.Event) {
			n := int64([]int{0, 1, 2}[d.below(3)])
			e.Expires, e.Until = e.Expires*n/2, e.Until*n/2
		})
	},
	func(h *history.History, d *dice) string {
		return change(h, d, "basis", func(e *history.Event) bool { return e.Basis != 0 }, func(e *history.Event) {
			e.Basis = h.Events[d.below(len(h.Events))].Op
		})
	},
	// The order of events.
	func(h *history.History, d *dice) string {
		i := d.below(len(h.Events) - 1)
		for range len(h.Events) {
			if i++; i+1 >= len(h.Events) {
				i = 0
			}
			if a, b := &h.Events[i], &h.Events[i+1]; a.Process != b.Process {
				*a, *b = *b, *a
				a.Time, b.Time = b.Time, a.Time
				return fmt.Sprintf("swapped #%d and #%d", b.Index, a.Index)
			}
		}
		return ""
	},
	func(h *history.History, d *dice) string {
		return move(h, d, func(e *history.Event) bool { return e.F.IsServerNote() || e.F.IsHolderNote() || e.F.IsWorldNote() })
	},
	func(h *history.History, d *dice) string {
		return move(h, d, func(e *history.Event) bool { return e.Type == history.Invoke || e.Type.IsEnd() })
	},
	// Events that are missing, or there twice.
	func(h *history.History, d *dice) string {
		i := d.below(len(h.Events))
		gone := h.Events[i]
		h.Events = slices.Delete(h.Events, i, i+1)
		return fmt.Sprintf("dropped #%d", gone.Index)
	},
	func(h *history.History, d *dice) string {
		op := h.Events[d.below(len(h.Events))].Op
		return without(h, fmt.Sprintf("op %d", op), func(e *history.Event) bool { return op != 0 && e.Op == op })
	},
	func(h *history.History, d *dice) string {
		op := h.Events[d.below(len(h.Events))].Op
		return without(h, fmt.Sprintf("the end of op %d", op), func(e *history.Event) bool { return op != 0 && e.Op == op && e.Type.IsEnd() })
	},
	func(h *history.History, d *dice) string {
		i := d.below(len(h.Events))
		for range len(h.Events) {
			if i = (i + 1) % len(h.Events); h.Events[i].Type == history.Note {
				twin := h.Events[i]
				j := i + d.below(min(20, len(h.Events)-i))
				twin.Time = h.Events[j].Time
				h.Events = slices.Insert(h.Events, j+1, twin)
				return fmt.Sprintf("#%d twice, behind #%d", twin.Index, h.Events[j].Index)
			}
		}
		return ""
	},
	func(h *history.History, d *dice) string {
		n := d.below(len(h.Events))
		h.Events = h.Events[:n]
		return fmt.Sprintf("cut off behind %d events", n)
	},
	// Everything of a kind.
	func(h *history.History, d *dice) string {
		return without(h, "all notes", func(e *history.Event) bool { return e.Type == history.Note })
	},
	func(h *history.History, d *dice) string {
		return without(h, "the store's notes", func(e *history.Event) bool { return e.F >= history.Apply && e.F <= history.Served })
	},
	func(h *history.History, d *dice) string {
		return without(h, "the manager's notes", func(e *history.Event) bool { return e.F >= history.Grant && e.F <= history.Expire })
	},
	func(h *history.History, d *dice) string {
		return without(h, "the world's notes", func(e *history.Event) bool { return e.F.IsWorldNote() })
	},
	func(h *history.History, d *dice) string {
		f := history.Grant + history.F(d.below(8))
		return without(h, "all notes "+f.String(), func(e *history.Event) bool { return e.F == f })
	},
	func(h *history.History, d *dice) string {
		return without(h, "the holders' notes", func(e *history.Event) bool { return e.F.IsHolderNote() })
	},
	func(h *history.History, d *dice) string {
		return every(h, "no highest", func(e *history.Event) { e.Highest = 0 })
	},
	func(h *history.History, d *dice) string {
		return every(h, "no leases", func(e *history.Event) { e.Lease = "" })
	},
	func(h *history.History, d *dice) string {
		return every(h, "no owners", func(e *history.Event) { e.Owner = "" })
	},
	func(h *history.History, d *dice) string {
		return every(h, "no basis", func(e *history.Event) { e.Basis = 0 })
	},
	func(h *history.History, d *dice) string {
		from := anyOf(h, d, (*history.Event).ClientName)
		to := anyOf(h, d, (*history.Event).ClientName)
		return every(h, from+" is called "+to, func(e *history.Event) {
			if e.ClientName() == from && e.Type != history.Note {
				e.Client = to
			}
			if e.F.IsHolderNote() && e.ClientName() == from {
				e.Client = to
			}
			if e.Owner == from {
				e.Owner = to
			}
		})
	},
	func(h *history.History, d *dice) string {
		op := h.Events[d.below(len(h.Events))].Op
		return every(h, fmt.Sprintf("op %d is about another resource", op), func(e *history.Event) {
			if op != 0 && e.Op == op {
				e.Resource += "b"
			}
		})
	},
	func(h *history.History, d *dice) string {
		op := h.Events[d.below(len(h.Events))].Op
		return every(h, fmt.Sprintf("op %d is not named by notes", op), func(e *history.Event) {
			if e.Type == history.Note && e.Op == op {
				e.Op = 0
			}
		})
	},
	func(h *history.History, d *dice) string {
		h.Header.Scopes = "global"
		return "one fence"
	},
	func(h *history.History, d *dice) string {
		h.Header.Fence = []string{"accepted", "granted"}[d.below(2)]
		return "a fence of what was " + h.Header.Fence
	},
	func(h *history.History, d *dice) string {
		h.Header.Scenario, h.Header.Timing, h.Header.Replay = "", "", ""
		return "as recorded"
	},
}

// change changes one event of some kind.
func change(h *history.History, d *dice, what string, fits func(*history.Event) bool, to func(*history.Event)) string {
	i := d.below(len(h.Events))
	for range len(h.Events) {
		if i = (i + 1) % len(h.Events); fits(&h.Events[i]) {
			to(&h.Events[i])
			return fmt.Sprintf("the %s of #%d changed", what, h.Events[i].Index)
		}
	}
	return ""
}

// anyOf returns what some event has.
func anyOf(h *history.History, d *dice, of func(*history.Event) string) string {
	for range 50 {
		if s := of(&h.Events[d.below(len(h.Events))]); s != "" {
			return s
		}
	}
	return "other"
}

// move moves one event of some kind up to ten places.
func move(h *history.History, d *dice, fits func(*history.Event) bool) string {
	i := d.below(len(h.Events))
	for range len(h.Events) {
		if i = (i + 1) % len(h.Events); fits(&h.Events[i]) {
			break
		}
	}
	j := min(len(h.Events)-1, max(0, i+d.below(21)-10))
	e := h.Events[i]
	e.Time = h.Events[j].Time
	h.Events = slices.Insert(slices.Delete(h.Events, i, i+1), j, e)
	return fmt.Sprintf("#%d moved by %d", e.Index, j-i)
}

func without(h *history.History, what string, gone func(*history.Event) bool) string {
	n := len(h.Events)
	h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool { return gone(&e) })
	if len(h.Events) == n {
		return ""
	}
	return "without " + what
}

func every(h *history.History, what string, change func(*history.Event)) string {
	before := slices.Clone(h.Events)
	for i := range h.Events {
		change(&h.Events[i])
	}
	if slices.Equal(before, h.Events) {
		return ""
	}
	return what
}

// mutate returns the history with one to three changes. The events get new indexes.
func (s specimen) mutate(d *dice) specimen {
	h := &history.History{Header: s.Header, Events: slices.Clone(s.Events)}
	how := s.how
	if d.below(4) == 0 {
		how += "; " + without(h, "all notes", func(e *history.Event) bool { return e.Type == history.Note })
	}
	for range []int{1, 1, 2, 3}[d.below(4)] {
		if len(h.Events) < 2 {
			break
		}
		if did := mutations[d.below(len(mutations))](h, d); did != "" {
			how += "; " + did
		}
	}
	for i := range h.Events {
		h.Events[i].Index = int64(i + 1)
	}
	return specimen{how, h}
}
