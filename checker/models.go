package checker

import (
	"fmt"
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

	judge func(*history.History, Options, *Report) error
}

// models is every model, in the order in which they are listed.
var models = []Model{fencedModel, registerModel, casRegisterModel}

// Models lists the models that [Check] knows.
func Models() []Model { return append([]Model(nil), models...) }

// Options say how [Check] judges. The zero Options guess the model.
type Options struct {
	// Model names one of [Models]; empty guesses it from the operations.
	Model string
	// Init is the value of every resource before the first event: nil when absent.
	Init history.Value
	// Budget bounds each search for a linearization, in steps; 0 means
	// [DefaultBudget].
	Budget int64
}

// Report is the judgement of a recorded history.
type Report struct {
	Model   string
	Guessed bool // the model was guessed from the operations
	// Operations counts the invocations of clients.
	Operations int
	// Outcome is Violated when a result is, else Inconclusive when one is.
	Outcome Outcome
	// Results has one entry per property judged: for models that are one
	// specification a single one, named like the model.
	Results []Result
	// Violations are those of the violated results, in order of occurrence.
	Violations []Violation
	// Sometimes counts what the fenced model saw happen.
	Sometimes Counts
}

// Check judges a recorded history. Its error says which model was asked for in
// vain, or why none can be guessed.
func Check(h *history.History, opt Options) (Report, error) {
	var r Report
	for i := range h.Events {
		if h.Events[i].Type == history.Invoke {
			r.Operations++
		}
	}
	if r.Model = opt.Model; r.Model == "" {
		name, err := guess(h)
		if err != nil {
			return r, err
		}
		r.Model, r.Guessed = name, true
	}
	m, err := lookupModel(r.Model)
	if err != nil {
		return r, err
	}
	if opt.Budget <= 0 {
		opt.Budget = DefaultBudget
	}
	opt.Init = nilFor(opt.Init)
	if err := m.judge(h, opt, &r); err != nil {
		return r, err
	}
	for _, result := range r.Results {
		if result.Outcome == Violated || result.Outcome == Inconclusive && r.Outcome == Satisfied {
			r.Outcome = result.Outcome
		}
	}
	return r, nil
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

// guess finds the model whose operations a history holds.
func guess(h *history.History) (string, error) {
	var verbs [128]bool
	tokens := false
	for i := range h.Events {
		e := &h.Events[i]
		if e.F < 128 {
			verbs[e.F] = true
		}
		tokens = tokens || e.Token != 0 || e.Lease != ""
	}
	switch data := verbs[history.Write] || verbs[history.Read] || verbs[history.CAS]; {
	case tokens || verbs[history.Grant] || verbs[history.Apply]:
		return fencedModel.Name, nil
	case verbs[history.CAS]:
		return casRegisterModel.Name, nil
	case data:
		return registerModel.Name, nil
	case len(h.Events) == 0:
		return "", fmt.Errorf("cannot guess the model: the history has no events")
	}
	return "", fmt.Errorf("cannot guess the model: expected tokens, or reads and writes, found neither; name a model")
}

// sight finds whose notes a history holds.
func sight(h *history.History) View {
	var v View
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Type != history.Note:
		case e.F >= history.Grant && e.F <= history.Expire:
			v.Coordinator = true
		case e.F >= history.Apply && e.F <= history.Served:
			v.Store = true
		}
		if v.Coordinator && v.Store {
			break
		}
	}
	return v
}
