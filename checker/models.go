package checker

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"staleproof/model/history"
)

// Model is a specification that a recorded history can be judged against.
type Model struct {
	Name string
	// Guarantee is what must hold, in a sentence.
	Guarantee string
	// Doc says what is judged and how.
	Doc string

	// needs names what a history must hold to be judged and does not; empty
	// when it does.
	needs func(*survey) string
	judge func(*survey, Options, *Report) error
	// judges reports whether the model judges operations of that verb.
	judges func(history.F) bool
}

// models is every model, in the order in which they are listed.
var models = []Model{fencedModel, leaseModel, mutexModel, casRegisterModel, registerModel, tokenSourceModel}

// Models lists the models that [Check] knows.
func Models() []Model { return append([]Model(nil), models...) }

// Options say how [Check] judges. The zero Options guess the model.
type Options struct {
	// Model names one of [Models]; empty guesses it from the operations.
	Model string
	// Init is the value of every resource before the first event. Absent means nil, and
	// a verdict that depends on it says so.
	Init history.Value
	// FailedCAS says that a cas which failed without a reason found another value
	// than it expected. Otherwise a failure says nothing about the value.
	FailedCAS bool
	// Memory bounds each search for a linearization, in bytes; 0 means
	// [DefaultMemory].
	Memory int64
}

// Report is the judgement of a recorded history.
type Report struct {
	Model   string
	Guessed bool // the model was guessed from the operations
	// Advice names a model that would say more or less, after a guess between
	// several; empty when there is none.
	Advice string
	// Notes are sentences about how the history was read, where the verdict depends
	// on it, and about what was not judged.
	Notes []string
	// Operations counts the invocations of clients that were judged.
	Operations int
	// Outcome is Violated when a result is, else Inconclusive when one is.
	Outcome Outcome
	// Results has one entry per property judged: for models that are one
	// specification a single one, named like the model. What is locked is judged
	// beside the locks, as a register.
	Results []Result
	// Violations are those of the violated results, in order of occurrence.
	Violations []Violation
	// Sometimes counts what the fenced model saw happen.
	Sometimes Counts
}

// Events replays a history from its first event, whenever it is called. The
// events are valid during the call of yield only.
type Events func(yield func(*history.Event)) error

// EventsOf replays a history that is in memory.
func EventsOf(h *history.History) Events {
	return func(yield func(*history.Event)) error {
		for i := range h.Events {
			yield(&h.Events[i])
		}
		return nil
	}
}

// Check judges a recorded history. Its error says which model was asked for in
// vain, or why none can be guessed.
func Check(h *history.History, opt Options) (Report, error) {
	return CheckEvents(h.Header, EventsOf(h), opt)
}

// CheckSource judges a history that need not fit in memory, such as a file that
// open opens anew at each call: it is read twice, and once more when a search
// for a linearization is needed, which keeps the operations in memory. Errors
// are those of [Check] and of the source.
func CheckSource(open func() (history.Source, error), opt Options) (Report, error) {
	source, err := open()
	if err != nil {
		return Report{}, err
	}
	return CheckEvents(source.Header(), replay(open), opt)
}

func replay(open func() (history.Source, error)) Events {
	return func(yield func(*history.Event)) error {
		source, err := open()
		if err != nil {
			return err
		}
		var e history.Event
		for {
			switch err := source.Next(&e); err {
			case nil:
				yield(&e)
			case io.EOF:
				return nil
			default:
				return err
			}
		}
	}
}

// CheckEvents judges a history that can be replayed; see [CheckSource].
func CheckEvents(h history.Header, events Events, opt Options) (Report, error) {
	s, err := look(h, events)
	r := Report{Operations: s.operations, Model: opt.Model}
	if err != nil {
		return r, err
	}
	if r.Model == "" {
		name, err := s.guess()
		if err != nil {
			return r, err
		}
		r.Model, r.Guessed = name, true
		if name == leaseModel.Name {
			r.Advice = "a lease may be lost unnoticed; --model mutex is stricter: held until released"
		}
	}
	m, err := lookupModel(r.Model)
	if err != nil {
		return r, err
	}
	if lacks := m.needs(&s); s.any && lacks != "" {
		return r, fmt.Errorf("cannot judge it as %s: expected %s, found none; name another model", m.Name, lacks)
	}
	if opt.Memory <= 0 {
		opt.Memory = DefaultMemory
	}
	if err := s.judge(m, opt, &r); err != nil {
		return r, err
	}
	return r, s.notes(m, opt, &r)
}

// judge judges the history by the model, and what it locks by that of a register.
func (s *survey) judge(m Model, opt Options, r *Report) error {
	judged := *s
	opt.Init = nilFor(opt.Init)
	judged.events = s.readings(opt.Init)
	if err := m.judge(&judged, opt, r); err != nil {
		return err
	}
	if data := s.beside(m); data != nil {
		locks := *r
		r.Violations = nil
		if err := data.judge(&judged, opt, r); err != nil {
			return err
		}
		r.Results = append(locks.Results, r.Results...)
		r.Violations = append(locks.Violations, r.Violations...)
		slices.SortStableFunc(r.Violations, func(a, b Violation) int { return cmp.Compare(lastOf(a), lastOf(b)) })
	}
	r.Outcome = Satisfied
	for _, result := range r.Results {
		if result.Outcome == Violated || result.Outcome == Inconclusive && r.Outcome == Satisfied {
			r.Outcome = result.Outcome
		}
	}
	return nil
}

// lastOf is the event that broke the guarantee.
func lastOf(v Violation) int64 { return v.Events[len(v.Events)-1] }

// beside returns the model of the data that locks protect, nil when there are none
// or the model judges them itself.
func (s *survey) beside(m Model) *Model {
	switch {
	case m.Name != leaseModel.Name && m.Name != mutexModel.Name, !s.data():
		return nil
	case s.seen[history.CAS]:
		return &casRegisterModel
	}
	return &registerModel
}

// data reports whether there are operations on registers.
func (s *survey) data() bool {
	return s.seen[history.Read] || s.seen[history.Write] || s.seen[history.Delete] || s.seen[history.CAS]
}

func lookupModel(name string) (Model, error) {
	all := make([]string, len(models))
	for i, m := range models {
		if m.Name == name {
			return m, nil
		}
		all[i] = m.Name
	}
	return Model{}, fmt.Errorf("unknown model %q: did you mean %s? the models are %s",
		name, nearest(name, all), strings.Join(all, ", "))
}

// survey is what a first look at a history shows.
type survey struct {
	header     history.Header
	events     Events
	operations int
	view       View
	seen       [128]bool // verbs
	invoked    [128]int  // by verb
	tokens     bool
	granted    bool // a lease manager handed out tokens
	named      bool // an acquisition names what is acquired
	leases     bool // identities of leases
	any        bool
	canBeNil   bool // nil is written
	failedCAS  int  // cas that failed without a reason
	nilReads   int  // taken for reads of the initial value
	reentrant  reentry
	lock       string // the only name of a lock
	locks      int    // 0 or 1 name, or more
	unnamed    bool   // some operations on data name no resource
	// endless holds the indexes of the invokes of operations on registers that never end.
	endless []int64
}

func look(h history.Header, events Events) (survey, error) {
	s := survey{header: h, events: events}
	var open opTable[int64] // where operations on registers begin
	err := events(func(e *history.Event) {
		s.awaits(&open, e)
		s.any = true
		s.seen[e.F&127] = true
		s.tokens = s.tokens || e.Token != 0
		answered := (e.F == history.Acquire || e.F == history.Renew) && e.Type == history.OK
		noted := e.F == history.Grant || e.F == history.Renewed
		s.granted = s.granted || e.Token != 0 && (answered || noted)
		s.named = s.named || e.F == history.Acquire && e.ScopeName() != ""
		s.protect(e)
		s.leases = s.leases || e.Lease != ""
		s.reentrant.observe(e)
		switch {
		case e.Type == history.Invoke:
			s.operations++
			s.invoked[e.F&127]++
			s.canBeNil = s.canBeNil || (e.F == history.Write || e.F == history.CAS) && nilFor(e.Value) == history.NilValue
		case e.Type == history.Fail && e.F == history.CAS && e.Error == "":
			s.failedCAS++
		case e.Type != history.Note:
		case e.F >= history.Grant && e.F <= history.Expire:
			s.view.Coordinator = true
		case e.F >= history.Apply && e.F <= history.Served:
			s.view.Store = true
		}
	})
	for i := range open.ops {
		if o := &open.ops[i]; o.open {
			s.endless = append(s.endless, o.rec)
		}
	}
	slices.Sort(s.endless)
	return s, err
}

// awaits notes where the operations on registers begin that are open.
func (s *survey) awaits(open *opTable[int64], e *history.Event) {
	if e.Type == history.Note || !onRegister(e.F) {
		return
	}
	o := open.find(e.Op)
	if e.Type != history.Invoke && o != nil {
		open.remove(o)
	} else if e.Type == history.Invoke {
		if o != nil {
			s.endless = append(s.endless, o.rec)
		}
		o, _ = open.add(e.Op)
		o.rec = e.Index
	}
}

// protect notes the name of the lock that protects data without a name.
func (s *survey) protect(e *history.Event) {
	switch name := e.ScopeName(); {
	case e.F.IsLease() && e.Type != history.Note && name != "":
		if s.locks == 0 || s.lock != name {
			s.locks++
		}
		s.lock = name
	case onRegister(e.F) && e.Type != history.Note:
		s.unnamed = s.unnamed || name == ""
	}
}

// guess finds the model whose operations the history holds.
func (s *survey) guess() (string, error) {
	lease := s.seen[history.Acquire] || s.seen[history.Renew] || s.seen[history.Release]
	data := s.data() || s.seen[history.Raise] || s.seen[history.Batch]
	noted := s.view.Coordinator || s.view.Store
	switch {
	case lease && !noted && !s.leases && s.reentrant.found != nil:
		return "", s.reentrant.found
	case lease && !data && !noted && s.tokens && !s.leases && !s.named && !s.seen[history.Renew] && !s.seen[history.Release]:
		return tokenSourceModel.Name, nil
	case lease && !data && !noted && !s.tokens:
		return leaseModel.Name, nil
	case lease && !noted && !s.tokens && !s.leases && !s.seen[history.Renew] && s.header.TTL == 0:
		return mutexModel.Name, nil // no token and no term: the lock is a mutex
	case lease && !noted && !s.tokens && !s.leases:
		return leaseModel.Name, nil
	case s.tokens || s.leases || noted:
		return fencedModel.Name, nil
	case s.seen[history.CAS]:
		return casRegisterModel.Name, nil
	case data:
		return registerModel.Name, nil
	case !s.any:
		return "", fmt.Errorf("cannot guess the model: the history has no events")
	}
	return "", fmt.Errorf("cannot guess the model: expected operations on a lock or a register, found none; name a model")
}
