package reports

import (
	"strings"

	"staleproof/model/history"
)

// state is what is known of a scope right after an event: who owns it, and
// where its fence stands.
type state struct {
	scope, owner, lease string
	generation          int64
	token               history.Token // of the lease in force
	highest             history.Token // accepted so far
	rejections          int64
}

// fold follows the scopes of a history from event to event.
type fold struct {
	v      *view
	noted  bool // the store's own notes tell, not the replies that clients saw
	scopes map[string]*state
	values map[string]string // last applied, by resource
	lane   map[int]string    // scope that a lane was last busy with
}

func newFold(v *view) *fold {
	return &fold{v: v, noted: v.storeNotes(), scopes: map[string]*state{}, values: map[string]string{}, lane: map[int]string{}}
}

// next folds in the event at pos and says what it changed, in words.
func (f *fold) next(pos int) (after state, change string) {
	e := &f.v.h.Events[pos]
	scope := f.scopeOf(e)
	s := f.scopes[scope]
	if s == nil {
		s = &state{scope: scope}
		f.scopes[scope] = s
	}
	before := *s
	f.lease(s, e)
	f.fence(s, e)
	changes := differences(&before, s)
	if text := f.value(e); text != "" {
		changes = append(changes, text)
	}
	if ok, _ := atStore(e); ok && e.Highest != 0 && e.Highest < s.highest {
		changes = append(changes, "the store itself remembers no more than token "+e.Highest.String())
	}
	if e.Token != 0 && e.Token < before.highest && e.F == history.Apply {
		changes = append(changes, "although token "+before.highest.String()+" was accepted before")
	}
	return *s, strings.Join(changes, "; ")
}

// scopeOf is the scope that an event is about: its own, its operation's, or the
// one that its process was last busy with.
func (f *fold) scopeOf(e *history.Event) string {
	lane := f.v.lane(f.v.who(e))
	scope := e.ScopeName()
	if scope == "" {
		scope = f.v.verb(e).ScopeName()
	}
	if scope == "" {
		scope = f.lane[lane]
	}
	if scope == "" && len(f.v.scopes) > 0 {
		scope = f.v.scopes[0]
	}
	f.lane[lane] = scope
	return scope
}

func (f *fold) lease(s *state, e *history.Event) {
	grants := e.F == history.Grant || !f.v.granted && e.Type == history.OK && e.F == history.Acquire
	ends := e.F == history.Expire || e.F == history.Released || !f.v.granted && e.Type == history.OK && e.F == history.Release
	switch {
	case grants:
		s.owner, s.lease, s.token, s.generation = e.Owner, e.Lease, e.Token, e.Generation
		if s.owner == "" {
			s.owner = f.v.presenter(e)
		}
	case e.F == history.Renewed && e.Token != 0:
		s.token = e.Token
	case ends && !f.v.granted && f.v.presenter(e) != s.owner:
	case ends && (e.Lease == s.lease || e.Lease == "" && (e.Token == s.token || e.Token == 0)):
		s.owner, s.lease, s.token = "", "", 0
	}
}

func (f *fold) fence(s *state, e *history.Event) {
	ok, accepted := atClient(e)
	if f.noted {
		ok, accepted = atStore(e)
	}
	if !ok {
		return
	}
	if accepted && lifts(e) {
		s.highest = max(s.highest, e.Token)
	}
	if !accepted {
		s.rejections = max(s.rejections+1, e.Rejections)
		s.highest = max(s.highest, e.Highest)
	}
}

// value tells how an applied mutation changes the value of its resource.
func (f *fold) value(e *history.Event) string {
	applied := e.F == history.Apply || !f.noted && e.Type == history.OK && (e.F == history.Write || e.F == history.CAS)
	v := value(e.Value)
	if !applied || v == "" {
		return ""
	}
	old := f.values[e.Resource]
	f.values[e.Resource] = v
	if old == "" {
		return "value becomes " + v
	}
	return "value " + old + " becomes " + v
}

func differences(a, b *state) []string {
	var out []string
	name := func(s, none string) string {
		if s == "" {
			return none
		}
		return s
	}
	if a.owner != b.owner || a.lease != b.lease {
		out = append(out, "owner "+name(a.owner, "nobody")+" becomes "+name(b.owner, "nobody")+prefixed(" under lease ", b.lease))
	}
	if a.token != b.token && b.token != 0 {
		out = append(out, "token of the lease becomes "+b.token.String())
	}
	if a.highest != b.highest {
		old := "none"
		if a.highest != 0 {
			old = a.highest.String()
		}
		out = append(out, "highest accepted token "+old+" becomes "+b.highest.String())
	}
	if a.rejections != b.rejections {
		out = append(out, "one more rejection")
	}
	return out
}
