package checker

import (
	"fmt"
	"slices"
	"strings"

	"staleproof/model/history"
)

// Some verdicts depend on how the history is read: the initial value, what a failed
// cas did, what a model leaves out. The notes of a report say where that is so, and
// name the option that decides.

// judgedAgain bounds the operations of a history that is judged again to find out
// whether its verdict depends on an option.
const judgedAgain = 20_000

// readings are the events as the judges take them. Data without a name are under
// the only lock that has one. Where the initial value is not
// nil and nothing writes nil, a read of nil that began before anything was written
// is one of the register before it was set.
func (s *survey) readings(init history.Value) Events {
	events := s.events
	if s.unnamed && s.locks == 1 {
		events = func(yield func(*history.Event)) error {
			return s.events(func(e *history.Event) {
				if e.F.IsStore() && e.Type != history.Note && e.ScopeName() == "" {
					named := *e
					named.Scope = s.lock
					e = &named
				}
				yield(e)
			})
		}
	}
	if init == history.NilValue || s.canBeNil {
		return events
	}
	return func(yield func(*history.Event)) error {
		r := unsetReads{init: init, written: make(map[string]bool)}
		err := events(func(e *history.Event) { yield(r.read(e)) })
		s.nilReads = r.count
		return err
	}
}

// unsetReads turns reads of nil into reads of the initial value.
type unsetReads struct {
	init    history.Value
	written map[string]bool // resources that were; a delete unsets them
	open    opTable[bool]   // reads that began when nothing was written
	copy    history.Event
	count   int
}

func (u *unsetReads) read(e *history.Event) *history.Event {
	switch {
	case e.Type == history.Note || !onRegister(e.F):
	case e.F == history.Delete && e.Type != history.Fail:
		u.written[e.Resource] = false
	case e.F != history.Read:
		u.written[e.Resource] = u.written[e.Resource] || e.Type == history.OK
	case e.Type == history.Invoke:
		o, _ := u.open.add(e.Op)
		o.rec = !u.written[e.Resource]
	default:
		o := u.open.find(e.Op)
		if o == nil {
			return e
		}
		unset := o.rec
		u.open.remove(o)
		if unset && e.Type == history.OK && nilFor(e.Value) == history.NilValue {
			u.count++
			u.copy = *e
			u.copy.Value = u.init
			return &u.copy
		}
	}
	return e
}

// notes returns what the verdict depends on.
func (s *survey) notes(m Model, opt Options, r *Report) error {
	r.Operations = 0
	data := s.beside(m)
	var left []string
	for f, n := range s.invoked {
		switch f := history.F(f); {
		case n == 0:
		case m.judges(f) || data != nil && data.judges(f):
			r.Operations += n
		default:
			left = append(left, fmt.Sprintf("%d %s", n, f))
		}
	}
	if len(left) > 0 {
		r.note("not judged as %s: %s (--model names another)", m.Name, strings.Join(left, ", "))
	}
	if data != nil {
		r.note("the locks are judged as %s, and what they protect as %s", m.Name, data.Name)
	}
	if s.tokens && m.Name != fencedModel.Name && m.Name != tokenSourceModel.Name {
		r.note("tokens are not judged as %s: --model %s judges them", m.Name, fencedModel.Name)
	}
	if s.nilReads > 0 {
		r.note("%s answered nil, which nothing writes, before anything was written: taken for the initial value %s (--init)", count(s.nilReads, "read"), opt.Init)
	}
	if err := s.culprits(opt, r); err != nil {
		return err
	}
	if err := s.hangsOnInit(m, opt, r); err != nil {
		return err
	}
	return s.hangsOnFailedCAS(m, opt, r)
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// again judges the history with other options.
func (s *survey) again(m Model, opt Options) (Outcome, error) {
	var r Report
	opt.Memory = min(opt.Memory, DefaultMemory/8)
	err := s.judge(m, opt, &r)
	return r.Outcome, err
}

// hangsOnInit notes that a history is violated for an initial value that was not
// given: with another one it is not violated, or the finding is another.
func (s *survey) hangsOnInit(m Model, opt Options, r *Report) error {
	if opt.Init.Kind != history.Absent || r.Outcome != Violated {
		return nil
	}
	v := r.registerViolation()
	if v == nil {
		return nil
	}
	value, written, err := s.neverWritten(v)
	if err != nil || value == nilFor(opt.Init) || value.Kind == history.Absent {
		return err
	}
	if s.operations <= judgedAgain {
		opt.Init = value
		o, err := s.again(m, opt)
		if err != nil {
			return err
		}
		if o == Satisfied {
			r.note("the initial value is taken to be nil; if it is %s (--init %s), the history is satisfied", value, plain(value))
			return nil
		}
	}
	if !written {
		r.note("nobody had begun to write %s, and the initial value is taken to be nil (--init names another)", value)
	}
	return nil
}

// plain is a value as --init takes it on a command line.
func plain(v history.Value) string {
	text := v.Str
	isWord := text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz-_") == ""
	if v.Kind == history.Text && isWord && !slices.Contains([]string{"nil", "null", "true", "false"}, text) {
		return text
	} else if v.Kind == history.Text || v.Kind == history.Raw {
		return "'" + v.String() + "'"
	}
	return v.String()
}

// registerViolation returns the violation of what is specified as a register.
func (r *Report) registerViolation() *Violation {
	for i := range r.Violations {
		switch v := &r.Violations[i]; v.Property {
		case registerModel.Name, casRegisterModel.Name, linearizable.Name:
			return v
		}
	}
	return nil
}

// neverWritten returns the value that a violation says was found, and whether
// somebody had begun to write it by then. Absent means that it found none.
func (s *survey) neverWritten(v *Violation) (value history.Value, written bool, err error) {
	found, err := s.found(v)
	if err != nil || found.F == 0 {
		return value, false, err
	}
	if value = nilFor(found.Value); found.F == history.CAS {
		value = nilFor(found.Expect)
	}
	err = s.events(func(e *history.Event) {
		written = written || e.Type == history.Invoke && e.Index < found.Index && e.Op != found.Op && e.Resource == found.Resource &&
			(e.F == history.Write || e.F == history.CAS) && nilFor(e.Value) == value
	})
	return value, written, err
}

// found returns the read or the cas that a violation is about: its end, with what
// the invoke says. F is 0 where there is none.
func (s *survey) found(v *Violation) (found history.Event, err error) {
	var open opTable[history.Event]
	err = s.events(func(e *history.Event) {
		switch {
		case e.Type == history.Note || e.F != history.Read && e.F != history.CAS || !slices.Contains(v.Events, e.Index):
		case e.Type == history.Invoke:
			o, _ := open.add(e.Op)
			o.rec = *e
		case e.Type == history.OK:
			o := open.find(e.Op)
			if o == nil {
				return
			}
			found = *e
			found.Resource = o.rec.Resource
			if e.F == history.CAS {
				found.Value, found.Expect = o.rec.Value, o.rec.Expect
			}
		}
	})
	return found, err
}

// hangsOnFailedCAS notes that the verdict depends on what a failed cas did.
func (s *survey) hangsOnFailedCAS(m Model, opt Options, r *Report) error {
	if s.failedCAS == 0 || s.beside(m) != &casRegisterModel && !slices.Contains([]string{registerModel.Name, casRegisterModel.Name, fencedModel.Name}, m.Name) {
		return nil
	}
	what := fmt.Sprintf("%d cas failed without a reason: they are taken not to have happened (--failed-cas compares: each found another value than it expected)", s.failedCAS)
	if s.operations > judgedAgain {
		if !opt.FailedCAS {
			r.note("%s", what)
		}
		return nil
	}
	other := opt
	other.FailedCAS = !opt.FailedCAS
	o, err := s.again(m, other)
	switch {
	case err != nil || o == r.Outcome || o == Inconclusive:
	case opt.FailedCAS:
		r.note("a cas that failed is taken to have found another value than it expected; without --failed-cas compares the history is %s", o)
	default:
		r.note("a cas that failed is taken not to have happened, whatever it found; with --failed-cas compares (it found another value than it expected) the history is %s", o)
	}
	return err
}

// culprits names the failed write whose value was read, where no other operation can
// have written it.
func (s *survey) culprits(opt Options, r *Report) error {
	v := r.registerViolation()
	if v == nil || s.view.Store {
		return nil
	}
	found, err := s.found(v)
	if err != nil || found.F == 0 {
		return err
	}
	value := nilFor(found.Value)
	if found.F == history.CAS {
		value = nilFor(found.Expect)
	}
	if value == nilFor(opt.Init) {
		return nil // it was there at first
	}
	var writers opTable[history.Event]
	var failed []history.Event // invoke and end of the last one
	others := 0
	err = s.events(func(e *history.Event) {
		switch {
		case e.Type == history.Note || !onRegister(e.F) || e.F == history.Read:
		case e.Type == history.Invoke:
			if e.Index < found.Index && e.Op != found.Op && e.Resource == found.Resource && (e.F == history.Delete || nilFor(e.Value) == value) {
				o, _ := writers.add(e.Op)
				o.rec = *e
				others++
			}
		default:
			o := writers.find(e.Op)
			if o == nil {
				return
			}
			if e.Type == history.Fail {
				failed = []history.Event{o.rec, *e}
				others--
			}
			writers.remove(o)
		}
	})
	if err != nil || others > 0 || failed == nil {
		return err
	}
	s.blame(r, v, failed)
	return nil
}

// blame adds a failed write to a violation, and to the result that has it.
func (s *survey) blame(r *Report, v *Violation, failed []history.Event) {
	invoke, end := &failed[0], &failed[1]
	v.Message += fmt.Sprintf("; the %s by %s, #%d to #%d, failed, and nobody else wrote that value",
		describeCall(invoke.F, invoke.Value, invoke.Expect, invoke.Token), clientText(invoke.ClientName()), invoke.Index, end.Index)
	v.Events = append(slices.Clone(v.Events), invoke.Index, end.Index)
	slices.Sort(v.Events)
	for i := range r.Results {
		if r.Results[i].Violation != nil && r.Results[i].Property == v.Property {
			copied := *v
			r.Results[i].Violation = &copied
		}
	}
}
