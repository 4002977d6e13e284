package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// ScheduleFormat is the first line of a schedule file: a replay token in readable
// text, which may be edited.
//
//	staleproof.schedule/1
//	scenario: textbook
//	revision: 1
//	defects: store-ignores-token
//	timing: timed
//	params: clients=2 writes=1
//	seed: 6
//	digest: 6947eba9cf61c2a0
//	trail: Zn0q...
//
//	A/pause#2=3   # A was paused for 35s at "checked"
//
// A # at the beginning of a line or after a space begins a comment. Parameters
// that are not named are those of the scenario. Without a digest the run is not
// compared with an earlier one; if the digest differs, the trail says from which
// event on.
const ScheduleFormat = "staleproof.schedule/1"

// scheduleKeys are the keys of a schedule file, in the order in which they are
// written.
var scheduleKeys = []string{"scenario", "revision", "defects", "timing", "params", "seed", "digest", "trail"}

// FormatSchedule writes r as the text of a schedule file. describe says in words
// what a decision means, such as [sim.World.Describe]; nil leaves the words out.
// The error says that r's scenario is unknown.
func FormatSchedule(r *Recorded, describe func(sim.Decision) string) (string, error) {
	sc, err := Lookup(r.Scenario)
	if err != nil {
		return "", err
	}
	names, err := processNames(sc, &r.Params)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nscenario: %s\nrevision: %d\ndefects: %s\ntiming: %s\n", ScheduleFormat, r.Scenario, r.Revision, r.Defects, r.Timing)
	if diff := r.Params.diff(sc.Params); len(diff) > 0 {
		b.WriteString("params:")
		for _, d := range diff {
			fmt.Fprintf(&b, " %s=%d", d.Name, d.Get(&r.Params))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "seed: %d\n", r.Seed)
	if r.Digest != 0 {
		fmt.Fprintf(&b, "digest: %016x\n", r.Digest)
	}
	if r.Trail != "" {
		fmt.Fprintf(&b, "trail: %s\n", r.Trail)
	}
	b.WriteByte('\n')
	for _, d := range r.Schedule {
		line := sim.Schedule{d}.Text(names)
		if describe != nil {
			line = fmt.Sprintf("%-24s # %s", line, describe(d))
		}
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}

// processNames returns the names of a scenario's processes, by which decisions
// are written.
func processNames(sc *Scenario, p *Params) ([]string, error) {
	r, err := NewRunner(sc, Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.prepare(p, sim.Calm{}, digest)
	return r.world.Names(), nil
}

// ParseScheduleFile reads the text of a schedule file; name is the file's, for
// errors, which are *[history.SyntaxError].
func ParseScheduleFile(name, text string) (*Recorded, error) {
	p := &scheduleParser{name: name, values: map[string]entry{}}
	if err := p.split(text); err != nil {
		return nil, err
	}
	r := &Recorded{}
	for _, read := range []func(*Recorded) error{p.scenario, p.parameters, p.numbers, p.decisions} {
		if err := read(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// entry is what stands on a line.
type entry struct {
	line int
	text string
}

type scheduleParser struct {
	name   string
	last   int
	values map[string]entry // by key
	taken  []entry          // decisions
	sc     *Scenario
}

func (p *scheduleParser) bad(line int, expected, found, hint string) error {
	return &history.SyntaxError{File: p.name, Line: line, Expected: expected, Found: found, Hint: hint}
}

// split sorts the lines into keys and decisions.
func (p *scheduleParser) split(text string) error {
	first := true
	text = strings.TrimPrefix(text, "\ufeff") // some editors put a byte order mark there
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(withoutComment(line))
		if line == "" {
			continue
		}
		p.last = i + 1
		if first {
			switch {
			case line == ScheduleFormat:
			case history.InUTF16([]byte(text)):
				return p.bad(i+1, strconv.Quote(ScheduleFormat), "text in UTF-16", "save the file as UTF-8")
			default:
				return p.bad(i+1, strconv.Quote(ScheduleFormat), quoted(line), "write a schedule file with staleproof replay TOKEN --schedule FILE")
			}
			first = false
			continue
		}
		if err := p.sort(i+1, line); err != nil {
			return err
		}
	}
	if first {
		return p.bad(0, strconv.Quote(ScheduleFormat), "an empty file", "write a schedule file with staleproof replay TOKEN --schedule FILE")
	}
	return nil
}

func (p *scheduleParser) sort(n int, line string) error {
	key, value, isKey := strings.Cut(line, ":")
	switch {
	case !isKey && strings.Contains(line, "/"):
		p.taken = append(p.taken, entry{n, line})
		return nil
	case !isKey:
		return p.bad(n, "\"key: value\", or a decision such as A/pause#2=3", quoted(line), "correct the line or delete it")
	case !slices.Contains(scheduleKeys, key):
		return p.bad(n, "one of the keys "+strings.Join(scheduleKeys, ", "), quoted(key), meant(key, scheduleKeys))
	case p.values[key].line > 0:
		return p.bad(n, "each key once", quoted(key)+" again, first on line "+strconv.Itoa(p.values[key].line), "delete one of the two lines")
	}
	p.values[key] = entry{n, strings.TrimSpace(value)}
	return nil
}

// withoutComment cuts a line at a # that begins it or follows white space: the
// one in A/pause#2=3 does not.
func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

func (p *scheduleParser) scenario(r *Recorded) error {
	e, ok := p.values["scenario"]
	if !ok {
		return p.bad(p.last, "a line \"scenario: NAME\"", "none", "add it; staleproof list scenarios names them")
	}
	var err error
	if p.sc, err = Lookup(e.text); err != nil {
		var names []string
		for _, sc := range registry {
			names = append(names, sc.Name)
		}
		return p.bad(e.line, "one of the scenarios "+strings.Join(names, ", "), quoted(e.text), meant(e.text, names))
	}
	r.Scenario, r.Revision, r.Params = p.sc.Name, p.sc.Revision, p.sc.Params
	if e, ok := p.values["revision"]; ok && e.text != strconv.Itoa(p.sc.Revision) {
		return p.bad(e.line, fmt.Sprintf("revision %d of scenario %s", p.sc.Revision, p.sc.Name), quoted(e.text),
			"use the staleproof that wrote the file: in this one the same choices make another run")
	}
	e = p.values["defects"]
	if r.Defects, err = model.ParseDefects(e.text); err != nil {
		var names []string
		for _, d := range model.AllDefects() {
			names = append(names, d.Name)
		}
		return p.bad(e.line, "\"none\" or names of defects joined by +", quoted(e.text), meant(e.text, names))
	}
	if e, ok := p.values["timing"]; ok {
		if r.Timing, ok = sim.ParseTiming(e.text); !ok {
			return p.bad(e.line, "timing timed, untimed or bounded", quoted(e.text), "name one of them")
		}
	}
	return nil
}

func (p *scheduleParser) parameters(r *Recorded) error {
	e := p.values["params"]
	seen := map[string]bool{}
	for _, word := range strings.Fields(e.text) {
		name, value, ok := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if !ok || err != nil {
			return p.bad(e.line, "a parameter such as clients=2", quoted(word), "correct it or delete it")
		}
		d, ok := paramNamed(name)
		if !ok {
			return p.bad(e.line, "one of the parameters "+strings.Join(paramNames(), ", "), quoted(name), meant(name, paramNames()))
		}
		if seen[name] {
			return p.bad(e.line, "each parameter once", quoted(name)+" again", "delete one of the two")
		}
		seen[name] = true
		if r.Params.Set(name, n) != nil {
			return p.bad(e.line, fmt.Sprintf("%s from %d to %d", name, d.Min, d.Max), value, "correct it or delete it")
		}
	}
	return nil
}

func paramNamed(name string) (Param, bool) {
	i := slices.IndexFunc(paramTable, func(d Param) bool { return d.Name == name })
	if i < 0 {
		return Param{}, false
	}
	return paramTable[i], true
}

func (p *scheduleParser) numbers(r *Recorded) error {
	var err error
	if e, ok := p.values["seed"]; ok {
		if r.Seed, err = strconv.ParseUint(e.text, 10, 64); err != nil {
			return p.bad(e.line, "a seed: a whole number from 0", quoted(e.text), "correct it or delete the line")
		}
	}
	if e, ok := p.values["digest"]; ok {
		if r.Digest, err = strconv.ParseUint(e.text, 16, 64); err != nil {
			return p.bad(e.line, "a digest: 16 hexadecimal digits", quoted(e.text), "delete the line to replay without comparing")
		}
	}
	if e, ok := p.values["trail"]; ok {
		if parseTrail(e.text) != nil {
			return p.bad(e.line, "a trail: two letters of base64url an event", quoted(e.text), "delete the line")
		}
		r.Trail = e.text
	}
	return nil
}

func (p *scheduleParser) decisions(r *Recorded) error {
	names, err := processNames(p.sc, &r.Params)
	if err != nil {
		return err
	}
	lines := map[sim.Key]int{}
	for _, e := range p.taken {
		s, err := sim.ParseSchedule(e.text, names)
		if err != nil {
			return p.bad(e.line, expectedIn(err), quoted(e.text), "correct it or delete the line")
		}
		for _, d := range s {
			if lines[d.Key] > 0 {
				return p.bad(e.line, "each choice once", quoted(e.text)+", decided on line "+strconv.Itoa(lines[d.Key])+" already", "delete one of the two")
			}
			lines[d.Key] = e.line
			r.Schedule = append(r.Schedule, d)
		}
	}
	return nil
}

// expectedIn takes from an error of [sim.ParseSchedule] what it expected.
func expectedIn(err error) string {
	_, text, ok := strings.Cut(err.Error(), ": expected ")
	if !ok {
		return "a decision such as A/pause#2=3"
	}
	if i := strings.LastIndex(text, ", found "); i >= 0 {
		text = text[:i]
	}
	return text
}

// meant is the hint at an unknown name.
func meant(name string, names []string) string {
	if near := history.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "correct it"
}

// quoted returns the beginning of s in quotes, on one line.
func quoted(s string) string {
	if len(s) > 40 {
		return strconv.Quote(s[:40]) + "..."
	}
	return strconv.Quote(s)
}
