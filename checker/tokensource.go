package checker

import "staleproof/model/history"

var tokenSourceModel = Model{
	Name:      "token-source",
	Guarantee: "Every token that is handed out is unique, and greater than all that had been handed out when it was asked for.",
	Doc: "Acquisitions with tokens, such as the reads of a timestamp service, resource by resource, in linear time. One that " +
		"began after another one ended has the greater token; of two that overlap nothing is known but that their tokens " +
		"differ. That is all that can be known: tokens that pass come in an order that explains every answer. An operation " +
		"of unknown outcome may have used up a token that nobody saw.",
	needs: func(s *survey) string {
		if s.seen[history.Acquire] && s.tokens {
			return ""
		}
		return "acquisitions that were answered tokens"
	},
	judges: func(f history.F) bool { return f == history.Acquire },
	judge:  func(s *survey, _ Options, r *Report) error { return judgeTokens("token-source", s, r) },
}

func judgeTokens(name string, s *survey, r *Report) error {
	m := tokens{property: name}
	m.in.names = newNames(s.header.Scopes == "global")
	if err := s.events(m.observe); err != nil {
		return err
	}
	r.Results = []Result{{Property: name, Outcome: Satisfied}}
	if m.found != nil {
		r.Results[0] = Result{Property: name, Outcome: Violated, Violation: m.found}
		r.Violations = []Violation{*m.found}
	}
	return nil
}

// tokens judges the tokens of acquisitions.
type tokens struct {
	property string
	in       Input // resolves names
	open     opTable[tokenRead]
	fences   []tokenSource
	found    *Violation
}

// tokenRead is an acquisition that has not ended.
type tokenRead struct {
	invoked int64
	fence   int32
	floor   issued // the greatest token that was known when it began
}

// issued is a token and the end of the acquisition that it answered.
type issued struct {
	token  history.Token
	client int32
	at     int64
}

// tokenSource is what one source handed out: the greatest token, and those that
// an acquisition which is open may be answered with once more.
type tokenSource struct {
	greatest issued
	recent   map[history.Token]issued
	order    []history.Token // of recent, by their ends
	sweep    int             // how many are kept before it is looked whether all are needed
}

func (m *tokens) observe(e *history.Event) {
	if e.F != history.Acquire || e.Type == history.Note || m.found != nil {
		return
	}
	in := &m.in
	in.take(e)
	if e.Type == history.Invoke {
		r, _ := m.open.add(e.Op)
		r.rec = tokenRead{e.Index, in.fence(), at(&m.fences, in.fence()).greatest}
		return
	}
	r := m.open.find(e.Op)
	if r == nil {
		return
	}
	read := r.rec
	m.open.remove(r)
	if e.Type == history.OK && e.Token != 0 {
		m.judge(in, &read, at(&m.fences, read.fence))
	}
}

func (m *tokens) judge(in *Input, r *tokenRead, s *tokenSource) {
	who := clientText(m.in.names.clients.list[in.client()])
	where := inside(in.ScopeName())
	if f := &r.floor; in.Token <= f.token {
		m.found = newViolation(m.property, []int64{f.at, r.invoked, in.Index},
			"token %d was handed out to %s, #%d to #%d, after token %d at #%d%s", in.Token, who, r.invoked, in.Index, f.token, f.at, where)
		return
	}
	if o, twice := s.recent[in.Token]; twice {
		m.found = newViolation(m.property, []int64{o.at, in.Index}, "token %d was handed out to %s at #%d and to %s at #%d%s",
			in.Token, clientText(m.in.names.clients.list[o.client]), o.at, who, in.Index, where)
		return
	}
	i := issued{in.Token, in.client(), in.Index}
	if s.recent == nil {
		s.recent = make(map[history.Token]issued)
	}
	s.recent[in.Token] = i
	if s.order = append(s.order, in.Token); len(s.order) > s.sweep {
		m.forget(s, r.fence)
	}
	if in.Token > s.greatest.token {
		s.greatest = i
	}
}

// forget drops the tokens that no acquisition can be answered without being too
// low: those up to the lowest floor.
func (m *tokens) forget(s *tokenSource, fence int32) {
	lowest := s.greatest.token
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open && o.rec.fence == fence {
			lowest = min(lowest, o.rec.floor.token)
		}
	}
	kept := s.order[:0]
	for _, t := range s.order {
		if t > lowest {
			kept = append(kept, t)
		} else {
			delete(s.recent, t)
		}
	}
	s.order, s.sweep = kept, 2*len(kept)+1024
}
