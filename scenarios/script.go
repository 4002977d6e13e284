package scenarios

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// Script is a directed run: a sequence of steps such as people write down.
//
//	A acquire                   a client takes the lease and lifts the fence
//	A write 10                  also read, raise, renew, release, delete
//	A write 10, held            the request stays on the wire
//	A write 10, paused at checked   the client freezes at that yield
//	A write 10, stalled in store at LABEL   the store's task stalls at that yield
//	A reenter 11                the lease once more, and a write under what it gives
//	expire A                    time passes until A's lease has ended
//	deliver A write 10          the held request arrives
//	resume A                    the frozen client goes on
//	go on store                 the stalled task goes on
//	crash store                 the server crashes and restarts on its disk
//
// What each step came to is written behind an arrow by [RunScript].
type Script struct {
	Name       string
	Doc        string
	FirstToken int64 // 0 means 1
	Steps      string
}

// textbookScripts are the sequences of the text that the project was born from,
// and their variants.
var textbookScripts = []Script{
	{Name: "packet-held", Doc: "A's write is on the wire while its lease ends and B takes over.",
		Steps: `A acquire
A write 10, held
expire A
B acquire
B write 20
deliver A write 10
B read`},
	{Name: "holder-paused", Doc: "A looks at its lease, finds it good, and is paused before it sends.",
		Steps: `A acquire
A write 10, paused at checked
expire A
B acquire
B write 20
resume A
B read`},
	{Name: "tokens-41-42", Doc: "A pauses with token 41; B writes with 42; A resumes and writes with 41.",
		FirstToken: 41,
		Steps: `A acquire
A write 1, paused at checked
expire A
B acquire
B write 2
resume A
B read`},
	{Name: "tokens-7-8", Doc: "A's write(7) is delayed in the network; B writes with 8; the old packet arrives.",
		FirstToken: 7,
		Steps: `A acquire
A write 1, held
expire A
B acquire
B write 2
deliver A write 1
B write 3
B read`},
}

// ScriptNamed returns the scenario's script of that name.
func (sc *Scenario) ScriptNamed(name string) (*Script, error) {
	var names []string
	for i := range sc.Scripts {
		if sc.Scripts[i].Name == name {
			return &sc.Scripts[i], nil
		}
		names = append(names, sc.Scripts[i].Name)
	}
	return nil, fmt.Errorf("unknown script %q of scenario %s%s", name, sc.Name, suggest(name, names))
}

// Played is a script that has run.
type Played struct {
	// Lines are the steps, each with what it came to behind an arrow.
	Lines   []string
	Outcome Outcome
	History *history.History
}

// Transcript returns the lines, then the verdict on them.
func (p *Played) Transcript() string {
	var b strings.Builder
	for _, line := range p.Lines {
		b.WriteString(line + "\n")
	}
	for _, v := range p.Outcome.Violations {
		b.WriteString("! " + v.Message + "\n")
	}
	return b.String()
}

// RunScript plays a script with the scenario's processes and judges it. An error
// names the step that it cannot carry out.
func RunScript(sc *Scenario, script *Script, opt Options) (*Played, error) {
	r, err := NewRunner(sc, opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	steps, err := parseSteps(script)
	if err != nil {
		return nil, err
	}
	d := &director{runner: r, results: map[string]string{}}
	d.prepare(script, steps)
	played := &Played{}
	for _, st := range steps {
		result, err := d.play(st)
		if err != nil {
			return nil, fmt.Errorf("script %s, step %q: %w", script.Name, st.text, err)
		}
		line := st.text
		if result != "" {
			line = fmt.Sprintf("%-30s -> %s", st.text, result)
		}
		played.Lines = append(played.Lines, line)
	}
	played.Outcome = r.judge(d.script.End())
	played.History = &history.History{Header: r.header(&d.params), Events: append([]history.Event(nil), r.log.Events()...)}
	return played, nil
}

// step is one parsed line of a script.
type step struct {
	text   string
	verb   string // "do", "expire", "deliver", "resume", "go", "crash"
	client string // or server
	do     command
	held   bool
	pause  string // yield at which the client freezes
	stall  string // yield at which the task of server stalls
	server string
}

// command tells an operator what to do.
type command struct {
	F       history.F
	Value   int64
	Reenter bool // before the write
}

func parseSteps(script *Script) ([]step, error) {
	var steps []step
	for i, line := range strings.Split(script.Steps, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		st, err := parseStep(line)
		if err != nil {
			return nil, fmt.Errorf("script %s, line %d: %w", script.Name, i+1, err)
		}
		steps = append(steps, st)
	}
	return steps, nil
}

func parseStep(line string) (step, error) {
	st := step{text: line, verb: "do"}
	line, how, _ := strings.Cut(line, ", ")
	switch {
	case how == "held":
		st.held = true
	case strings.HasPrefix(how, "paused at "):
		st.pause = strings.TrimPrefix(how, "paused at ")
	case strings.HasPrefix(how, "stalled in "):
		var ok bool
		if st.server, st.stall, ok = strings.Cut(strings.TrimPrefix(how, "stalled in "), " at "); !ok {
			return st, fmt.Errorf("expected \", stalled in SERVER at LABEL\", found %q", how)
		}
	case how != "":
		return st, fmt.Errorf("expected \", held\" or \", paused at LABEL\", found %q", how)
	}
	words := strings.Fields(line)
	switch w := words[0]; w {
	case "expire", "deliver", "resume", "crash":
		st.verb, words = w, words[1:]
	case "go":
		if len(words) < 2 || words[1] != "on" {
			return st, errors.New("expected \"go on SERVER\"")
		}
		st.verb, words = w, words[2:]
	}
	if len(words) == 0 {
		return st, errors.New("expected the name of a client")
	}
	st.client, words = words[0], words[1:]
	if st.verb != "do" && st.verb != "deliver" {
		return st, nil
	}
	return st, st.parseCommand(words)
}

func (st *step) parseCommand(words []string) error {
	if len(words) == 0 {
		return errors.New("expected an operation after the client")
	}
	if words[0] == "reenter" {
		words[0], st.do.Reenter = "write", true
	}
	f, err := history.ParseF(words[0])
	if err != nil || !f.IsOperation() {
		return fmt.Errorf("expected acquire, renew, release, raise, read, write or delete, found %q", words[0])
	}
	st.do.F = f
	if f != history.Write {
		return nil
	}
	if len(words) < 2 {
		return errors.New("expected a number to write")
	}
	st.do.Value, err = strconv.ParseInt(words[1], 10, 64)
	return err
}

// director plays the steps of a script.
type director struct {
	runner  *Runner
	script  *sim.Script
	params  Params
	results map[string]string // what each client's last operation came to
}

// prepare builds the world: the scenario's servers, and for each client of the
// script an operator that does what it is told.
func (d *director) prepare(script *Script, steps []step) {
	r := d.runner
	d.params = r.sc.Params
	d.params.Clients, d.params.Renew = 0, 0
	d.params.FirstToken = max(script.FirstToken, 1)
	r.prepare(&d.params, sim.Calm{}, digest|record)
	d.script = r.world.Script()
	setup := d.params.setup(r.opt.Defects)
	seen := map[string]bool{}
	for _, st := range steps {
		if name := st.client; !seen[name] && st.verb != "crash" && st.verb != "go" {
			seen[name] = true
			r.world.Spawn(name, func() sim.Runner { return &operator{setup: setup, results: d.results} })
		}
	}
	d.script.Settle()
}

// play carries out one step and says what it came to.
func (d *director) play(st step) (string, error) {
	w := d.runner.world
	id := w.Lookup(st.client)
	switch st.verb {
	case "expire":
		d.script.Advance(time.Duration(d.params.TTL))
		return "", nil
	case "crash":
		d.script.Crash(id, time.Millisecond)
		d.script.Advance(2 * time.Millisecond)
		return "", nil
	case "go":
		if !d.script.Stalled(id) {
			return "nothing stalls", nil // this store has no such yield
		}
		d.script.GoOn(id)
		return d.served(st), nil
	case "resume":
		if !d.script.Paused(id) {
			return "", errors.New("expected a client that is paused")
		}
		d.script.Resume(id)
		return d.results[st.client], nil
	case "deliver":
		if !d.script.Deliver(id, st.do.matches) {
			return "", errors.New("expected a message that is held")
		}
		return d.served(st), nil
	}
	delete(d.results, st.client)
	if st.held {
		d.script.Hold(id, w.Lookup(st.do.server()), st.do.matches)
	}
	if st.pause != "" {
		d.script.PauseAt(id, st.pause)
	}
	if st.stall != "" {
		d.script.StallAt(w.Lookup(st.server), st.stall)
	}
	d.script.Tell(id, st.do)
	if st.stall != "" && !d.script.Stalled(w.Lookup(st.server)) {
		return d.results[st.client], nil
	}
	if st.held && !d.script.Holding(id, st.do.matches) || st.pause != "" && !d.script.Paused(id) {
		return "", fmt.Errorf("expected it to be on its way, found %q", d.results[st.client])
	}
	return d.results[st.client], nil
}

// served returns what a server noted last about the operation of st.
func (d *director) served(st step) string {
	events := d.runner.log.Events()
	for i := len(events) - 1; i >= 0; i-- {
		switch e := &events[i]; e.F {
		case history.Apply:
			return "applied with token " + e.Token.String()
		case history.Reject:
			return fmt.Sprintf("stale (highest %d)", e.Highest)
		case history.Raised, history.Served, history.Grant, history.Renewed, history.Released:
			return e.F.String()
		}
	}
	return ""
}

func (c command) server() string {
	if c.F.IsLease() {
		return "manager"
	}
	return "store"
}

// matches reports whether body is the request that c makes.
func (c command) matches(body any) bool {
	r, ok := body.(model.Request)
	return ok && r.F == c.F && (r.F != history.Write || r.Value == c.Value)
}

// operator is a client that does what a script tells it.
type operator struct {
	setup   Setup
	results map[string]string
}

func (o *operator) Run(p *sim.Proc) {
	h := model.NewHolder(p, holderConfig(&o.setup))
	for {
		m, ok := p.Wait(0)
		if !ok {
			return
		}
		if c, ok := m.Body.(command); ok {
			o.results[p.Name()] = o.obey(p, h, c)
		}
	}
}

func (o *operator) obey(p *sim.Proc, h *model.Holder, c command) string {
	ctx := p.Context()
	var err error
	done := "ok"
	switch c.F {
	case history.Acquire:
		if err = h.Acquire(ctx); err == nil {
			done = "token " + h.Lease().Token.String()
		}
	case history.Renew:
		if err = h.Renew(ctx); err == nil {
			done = "token " + h.Lease().Token.String()
		}
	case history.Release:
		err = h.Release(ctx)
	case history.Raise:
		err = h.Raise(ctx)
	case history.Read:
		var v int64
		v, err = h.Read(ctx)
		done = strconv.FormatInt(v, 10)
	case history.Write:
		if c.Reenter {
			err = h.Inner(ctx, c.Value)
			break
		}
		err = h.Write(ctx, c.Value)
	}
	return inWords(done, err)
}

// inWords says what an operation came to.
func inWords(done string, err error) string {
	var stale *model.StaleTokenError
	var held *model.HeldError
	switch {
	case err == nil:
		return done
	case errors.As(err, &stale):
		return fmt.Sprintf("stale (highest %d)", stale.Highest)
	case errors.As(err, &held):
		return "held by another"
	case errors.Is(err, model.ErrExpired):
		return "not sent: the lease has ended by its holder's clock"
	case errors.Is(err, model.ErrUnknownOutcome):
		return "unknown outcome"
	}
	return strings.TrimPrefix(err.Error(), "model: ")
}
