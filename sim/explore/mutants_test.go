package explore_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var mutants = flag.Bool("mutants", false, "break the explorer on purpose, one way after another, and see the tests fail (minutes)")

// mutations are ways to break the explorer: in each file, one text is replaced
// by another, and a test fails then; "" is any, those of the reference protocols too.
var mutations = []struct {
	reason, test, file, old, new string
}{
	{"the visited set is blind to the budgets", "BruteForce", "expand.go", "		f.plus(budgetHash(s[e.budgetAt] - o.cost))\n", "		f.plus(budgetHash(s[e.budgetAt]))\n"},
	{"budgets are never spent", "BruteForce", "expand.go", "		t[e.budgetAt] -= o.cost\n", ""},
	{"two identical messages are two transitions", "BruteForce", "expand.go", "j == e.head || m != s[j-1]", "true"},
	{"a delivered message stays in flight", "Traces", "expand.go", "		if i == at {\n			continue\n		}\n", ""},
	{"the horizon is a tick late", "BruteForce", "expand.go", "int64(t) >= e.horizon", "int64(t) > e.horizon"},
	{"clocks may drift apart", "BruteForce", "expand.go", "e.epsilon > 0 && int64(t-slowest) >= e.epsilon", "int64(t-slowest) < 0"},
	{"a step stays possible when its window has closed", "BruteForce", "expand.go", "(ev.Until == 0 || clock < ev.Until)", "true"},
	{"a hole keeps nothing out of the filter", "", "expand.go", "	w.unfiltered = true //", "	//"},
	{"what was seen once counts as seen, whatever its fingerprint", "BruteForce", "expand.go", "	if *x == low {\n		return true\n	}\n", "	if *x != 0 {\n		return true\n	}\n"},
	{"a monitor steps, its part of the fingerprint does not", "Traces", "expand.go", "			f.plus(e.monitorHash(k, x.first))\n", "			f.plus(e.monitorHash(k, w.mons[k]))\n"},
	{"monitors are blind to time", "MonitorsSeeTicks", "resolve.go", "uint64(m.time)<<8 | uint64(m.k)", "uint64(m.k)"},
	{"every fault is one layer on", "TwoFaultsInOneStep", "search.go", "s.layer+int(c.faults[i])", "s.layer+1"},
	{"a seed counts once for all depths", "TwoFaultsInOneStep", "search.go", "	mark.plus(hash(kindSeed, uint64(depth)))\n", ""},
	{"invariants are blind to time", "InvariantsSeeTicks", "search.go", "f.low += clockHash(0, uint32(e.now(state)))", "_ = e"},
	{"the bound of states is one off", "Truncated", "search.go", "c.keep[j] && room <= 0", "c.keep[j] && room < 0"},
	{"the audit is off", "Audit", "rerun.go", "if err := s.audit(); err != nil {", "if err := first(nil); err != nil {"},
	{"the audit looks one event ahead", "Audit", "audit.go", "	for step := range ahead {\n", "	for step := range 1 {\n"},
	{"the audit does not look far", "Audit", "audit.go", "		ahead := far\n", "		ahead := leastAhead\n"},
	{"the audit forgets how far it looked", "Checked", "audit.go", "			s.result.Ahead = n\n", "			_ = n\n"},
	{"the audit ignores other states", "Audit", "audit.go", "		return \"they come to different states\", -1\n", "		return \"\", -1\n"},
	{"the audit ignores other choices", "Audit", "audit.go", "		return \"they come to different choices\", -1\n", "		return \"\", -1\n"},
	{"the audit ignores other effects", "Audit", "audit.go", "if !sameEffect(&x.effects[j], &y.effects[j]) {", "if false {"},
	{"the audit ignores missing effects", "Audit", "audit.go", "case len(x.effects) > len(y.effects):", "case false:"},
	{"the audit ignores further effects", "Audit", "audit.go", "case len(x.effects) < len(y.effects):", "case false:"},
	{"the audit ignores panics", "Audit", "audit.go", "return \"one panics\", -1", "return \"\", -1"},
	{"no transition is run again", "HiddenState", "rerun.go", "if err := s.again(); err != nil {", "if err := first(nil); err != nil {"},
	{"transitions are run again once", "HiddenState", "rerun.go", "range max(1, min(s.effort()/max(1, cost), mostRounds))", "range 1"},
	{"messages have no numbers when they come again", "HiddenState", "rerun.go", "what, _, err := r.rerun(x, true, false)", "what, _, err := r.rerun(x, false, false)"},
	{"goroutines are not counted", "HiddenState", "rerun.go", "goroutines() > created {", "goroutines() > created+1<<30 {"},
	{"processes do not run together", "HiddenState", "rerun.go", "	return s.together()\n", "	return nil\n"},
	{"an error leaves a search complete", "HiddenState", "search.go", "			s.result.Truncated = \"nothing: the search ended with an error\"\n", ""},
	{"processes start one after the other", "Traces", "search.go", "			if turn < len(x.turns) {\n				hi, more", "			if turn < 0 {\n				hi, more"},
	{"a world goes on when it is over", "BruteForce", "engine.go", "	if len(s) > e.head {\n		return false\n	}\n", "	if len(s) >= e.head {\n		return false\n	}\n"},
	{"the numbers of calls are reused at once", "Traces", "engine.go", "			used |= 1 << x.call\n", ""},
	{"calls that a server holds are forgotten", "Traces", "engine.go", "				used |= 1 << name.Call\n", ""},
	{"a transition is known for every clock", "BruteForce", "resolve.go", "		k |= uint64(clock) << 32\n", ""},
	{"a doubled message comes once", "BruteForce", "resolve.go", "for range 1 + b2i(fate == doubled)", "for range 1"},
	{"a dropped message arrives", "BruteForce", "resolve.go", "			info.effects = append(info.effects, sim.Effect{Note: n})\n			continue\n", "			info.effects = append(info.effects, sim.Effect{Note: n})\n"},
	{"choices are answered with 0", "Traces", "resolve.go", "k < x.choices[i].Options", "k < 1"},
	{"an untimed clock is not in the key of who reads it", "BruteForce", "resolve.go", "	e.clocked[proc] = true\n	return clockRead{proc}\n", "	return nil\n"},
	{"a checkpoint is blind to the callers", "StatesApart", "../cell.go", "		h = mix(h, uint64(pc-textBase))\n", "		_ = pc\n"},
	{"a checkpoint is blind to its value", "StatesApart", "../cell.go", "	h = foldExact(h, v)\n	p.pos, c.mem = h, h\n", "	p.pos, c.mem = h, h\n"},
	{"the key is blind to the disk", "StatesApart", "../cell.go", "c.inbox(c.storage(c.memory()))", "c.inbox(c.memory())"},
	{"the key is blind to waiting messages", "KeyHoldsAll", "../cell.go", "c.inbox(c.storage(c.memory()))", "c.storage(c.memory())"},
	{"the key is blind to timers", "BruteForce", "../cell.go", "h + c.timers()", "h"},
	{"the key is blind to where tasks stand", "Traces", "../cell.go", "h = mix(mix(h, p.pos), uint64(p.waiting))", "h = mix(h, uint64(p.waiting))"},
	{"the answer to a choice is no input", "Traces", "../cell.go", "Option: k})\n	c.fold(uint64(k))\n", "Option: k})\n"},
	{"what a task received is no input", "KeyHoldsAll", "../cell.go", "return foldMessage(3, &p.got)", "return 3"},
	{"what a task read off the disk is no input", "Traces", "../cell.go", "c.fold(foldExact(7, v))", "_ = v"},
	{"what a task read off the clock is no input", "KeyHoldsAll", "../cell.go", "	c.fold(uint64(t))\n", ""},
	{"memory lasts through a crash", "BruteForce", "../cell.go", "	c.mem, c.value, c.stater = 0, nil, nil\n", ""},
	{"the key is blind to what ready tasks will find", "KeyHoldsAll", "../cell.go", "h = mix(mix(h, uint64(c.w.place(p))), found(p))", "h = mix(h, uint64(c.w.place(p)))"},
	{"the key is blind to what runs when a process resumes", "KeyHoldsAll", "../cell.go", "	for _, p := range n.ready { // of", "	for _, p := range n.ready[:0] { // of"},
	{"the key is blind to being frozen", "KeyHoldsAll", "../cell.go", "n.up, n.frozen, n.starting", "n.up, false, n.starting"},
	{"the reply to a server's task is no input", "KeyHoldsAll", "../cell.go", "case p.c == nil && p.runner", "case p.runner"},
	{"whether a lock was free is no input", "KeyHoldsAll", "../cell.go", "	c.fold(mix(9, free))\n", "	_ = free\n"},
	{"the number of a call is free when its reply was sent", "KeyHoldsAll", "../cell.go", "			c.calls |= 1 << m.Call\n", ""},
	{"the key is blind to mutexes", "KeyHoldsAll", "../cell.go", "c.timers() + c.mutexes()", "c.timers()"},
	{"which mutex is locked does not count", "KeyHoldsAll", "../cell.go", "mix(m.at, 11)", "mix(11, 11)"},
	{"who waits for a mutex does not count", "KeyHoldsAll", "../cell.go", "h = mix(h, uint64(c.w.place(p))+12)", "_ = p"},
	{"the key is blind to serial numbers", "KeyHoldsAll", "../cell.go", "mix(mix(flags, uint64(n.incarnation)), uint64(n.serials))", "mix(flags, uint64(n.incarnation))"},
	{"a serial number is no input", "KeyHoldsAll", "../cell.go", "c.fold(mix(10, uint64(k)))", "_ = k"},
	{"what a task may read through Disk is no input", "KeyHoldsAll", "../cell.go", "	c.fold(c.storage(8))\n", ""},
	{"what a task goes on to read through Disk is no input", "KeyHoldsAll", "../cell.go", "	c.disk = true\n", ""},
	{"the memory that a task finds is no input", "KeyHoldsAll", "../cell.go", "mix(mix(p.pos, c.seen()), x)", "mix(p.pos, x)"},
	{"a key without a value is no key", "KeyHoldsAll", "../cell.go", "	if !ok {\n		c.fold(13)\n		return\n	}\n", ""},
	{"a transition depends for ever on what it did at first", "DependsOnMoreLater", "resolve.go", "		x.flags |= flags //", "		//"},
	{"a message is lost whosever it is", "Spared", "resolve.go", "	if w.Spares(sim.ID(id), site) {\n		return unaffordable\n	}\n", ""},
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: \w+|^panic: test timed out`)

// TestMutants checks that each mutation still applies; with -mutants it applies
// them, and expects the test to fail that each names.
func TestMutants(t *testing.T) {
	for _, m := range mutations {
		path, err := filepath.Abs(m.file)
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 {
			t.Errorf("%s: expected its text once in %s, found it %d times", m.reason, m.file, n)
			continue
		}
		if !*mutants {
			continue
		}
		t.Run(m.reason, func(t *testing.T) {
			dir := t.TempDir()
			broken := filepath.Join(dir, "broken.go")
			overlay := filepath.Join(dir, "overlay.json")
			write(t, broken, strings.Replace(string(source), m.old, m.new, 1))
			text, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
			write(t, overlay, string(text))
			cmd := exec.Command("go", "test", "-short", "-timeout=120s", "-overlay", overlay, "-run", m.test, ".")
			if m.test == "" {
				cmd.Args = append(cmd.Args, "../../scenarios/lf")
			}
			out, err := cmd.CombinedOutput()
			t.Log(failed.FindAllString(string(out), -1))
			switch {
			case err == nil:
				t.Errorf("survived: every test passes")
			case strings.Contains(string(out), "build failed"):
				t.Errorf("does not build:\n%s", out)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
