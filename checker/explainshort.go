package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"staleproof/model/history"
)

// short says in a sentence or two what the violation came to, and what made it
// possible. It knows the violations that have both a victim and a cause which
// the message, made as the events pass by, cannot know; of the others it says
// nothing.
func (x *explainer) short(f *Finding) {
	f.At = x.events[x.at()].Index
	e := &x.events[x.last]
	switch {
	case x.v.Property == mutexModel.Name:
		f.Cause = x.stillHeld()
	case x.v.Property == noLostUpdate.Name && len(x.quoted) == 3:
		f.Harm, f.Cause = x.lostUpdate()
	case x.staleWrite() && e.Text == history.Unchanged:
		f.Harm = fmt.Sprintf("%s, with %s, was answered as done after token %d was accepted, and nothing in %s changed",
			x.name(e), x.tokenOf(e), x.before(), server(e))
		f.Cause = sentences(x.story(e, x.before(), x.last),
			"a store that refuses a stale write answers so, as its client must learn that it lost its lease")
	case x.staleWrite():
		f.Harm, f.Cause = x.overwritten(), sentences(x.story(e, x.before(), x.last), x.whyApplied(), x.remedy())
	case x.v.Property == fenceSurvives.Name && e.F == history.Raised && len(x.quoted) == 2:
		f.Harm = fmt.Sprintf("%s set the fence of %s back from token %d to %d: writes with token %d pass again",
			x.name(e), server(e), x.before(), x.tokenNumber(e), x.tokenNumber(e))
		f.Cause = sentences(x.story(e, x.before(), x.last), "a store that refuses a raise with a lower token keeps its fence")
	case x.v.Property == fenceSurvives.Name && e.F == history.Served && len(x.quoted) == 3:
		f.Harm = fmt.Sprintf("%s was acknowledged, and lost when %s came back at #%d",
			x.name(&x.events[x.quoted[0]]), server(e), x.events[x.quoted[1]].Index)
		f.Cause = sentences(x.crashBefore(x.quoted[1]), "a store that makes a write durable before it answers keeps it")
	case e.F == history.Apply && x.answered(e) >= 0:
		f.Harm = fmt.Sprintf("%s took effect at #%d, after it had been answered at #%d", x.name(e), e.Index, x.events[x.answered(e)].Index)
		f.Cause = sentences(x.copied(e.Op), "a store that remembers the operations it has served answers a copy without effect")
	case e.Type == history.OK && e.F.IsMutation() && x.newer() >= 0:
		o := &x.events[x.newer()]
		f.Harm = fmt.Sprintf("%s, with %s, succeeded although %s, with %s, had succeeded before it began", x.name(e), x.tokenOf(e), x.name(o), x.tokenOf(o))
	case onRegister(e.F) && e.Type != history.Note:
		if f.Cause = cmp.Or(x.failedWrite(), x.staleRead(), x.apart(), x.replaced()); f.Cause == "" {
			f.Cause = x.stuck()
		}
	}
}

// failedWrite tells of a value that was read although its write had failed.
func (x *explainer) failedWrite() string {
	var read, failed *history.Event
	for _, i := range x.quoted {
		switch e := &x.events[i]; {
		case e.Type == history.OK && (e.F == history.Read || e.F == history.CAS):
			read = e
		case e.Type == history.Fail && e.F.IsMutation():
			failed = e
		}
	}
	if read == nil || failed == nil {
		return ""
	}
	return sentences(fmt.Sprintf("nobody but %s wrote what %s found, and it was told at #%d that its %s had failed%s: a failed operation has no effect",
		clientText(failed.ClientName()), clientText(read.ClientName()), failed.Index, x.verb(failed), because(failed.Error)))
}

// staleRead names the write whose value a client read although a write with a
// greater token had succeeded before it began to read: under a fence the first can
// only have come before the second. Empty where other writes may have made the value.
func (x *explainer) staleRead() string {
	e, written, newer := &x.events[x.last], -1, -1
	begun := x.invocation(e.Op)
	if e.F != history.Read || e.Type != history.OK || begun < 0 {
		return ""
	}
	for i := range x.events[:x.last] {
		o := &x.events[i]
		if o.Resource != e.Resource || o.Type != history.Invoke || !o.F.IsMutation() {
			continue
		}
		switch {
		case o.F != history.Write:
			return ""
		case o.Value != e.Value:
		case written >= 0, x.endOf(i) >= 0 && x.events[x.endOf(i)].Type == history.Fail:
			return ""
		default:
			written = i
		}
	}
	for i := 0; written >= 0 && i < begun; i++ {
		if o := &x.events[i]; o.Type == history.OK && o.F == history.Write && o.Resource == e.Resource && x.tokenNumber(o) > x.tokenNumber(&x.events[written]) {
			newer = i
		}
	}
	if newer < 0 || x.tokenNumber(&x.events[written]) == 0 {
		return ""
	}
	w, n := &x.events[written], &x.events[newer]
	return sentences(fmt.Sprintf("%s carried %s, and %s, with %s, had succeeded at #%d before that read began: the store took the stale write after it, or showed an old value",
		x.name(w), x.tokenOf(w), x.name(n), x.tokenOf(n), n.Index))
}

// at returns the position of the event that broke the guarantee: the last one,
// unless that is the answer which proves how long a hold had lasted. Then it is
// the acquisition that came too early.
func (x *explainer) at() int {
	e := &x.events[x.last]
	if x.v.Property != mutexModel.Name && x.v.Property != leaseModel.Name || e.F != history.Release && e.F != history.Renew {
		return x.last
	}
	for k := len(x.quoted) - 1; k > 0; k-- {
		if i := x.quoted[k]; x.events[i].F == history.Acquire && x.events[i].Type == history.OK {
			return i
		}
	}
	return x.last
}

// openings are the words, none of them a name, with which a sentence may begin.
var openings = []string{"the ", "a task of ", "a store that ", "a store whose ", "a holder that ", "a second copy ", "process ", "nobody ", "so "}

// sentences joins what is not empty to sentences. A name keeps its letters.
func sentences(parts ...string) string {
	var list []string
	for _, p := range parts {
		if p == "" {
			continue
		}
		if slices.ContainsFunc(openings, func(o string) bool { return strings.HasPrefix(p, o) }) {
			p = strings.ToUpper(p[:1]) + p[1:]
		}
		list = append(list, p+".")
	}
	return strings.Join(list, " ")
}

// staleWrite reports whether the last event is a mutation that was applied after
// the quoted event before it had brought a greater token.
func (x *explainer) staleWrite() bool {
	if len(x.quoted) < 2 || x.events[x.last].F != history.Apply {
		return false
	}
	token, _ := x.presented(&x.events[x.last])
	return x.before() > token
}

// newer returns the position of the reply to a mutation with a greater token
// that a client had got before the operation of the last event began, or -1.
func (x *explainer) newer() int {
	e := &x.events[x.last]
	token, begun := x.tokenNumber(e), x.invocation(e.Op)
	for i := begun - 1; i >= 0 && token != 0; i-- {
		if o := &x.events[i]; o.Type == history.OK && o.F.IsMutation() && x.sameFence(o, e) && x.tokenNumber(o) > token {
			return i
		}
	}
	return -1
}

// before is the token of the quoted event before the last.
func (x *explainer) before() history.Token {
	token, _ := x.presented(&x.events[x.quoted[len(x.quoted)-2]])
	return token
}

// overwritten tells what a stale write did to what was there.
func (x *explainer) overwritten() string {
	e := &x.events[x.last]
	what := fmt.Sprintf("%s, with %s,", x.name(e), x.tokenOf(e))
	for i := x.last - 1; i >= 0; i-- {
		o := &x.events[i]
		if o.F != history.Apply || o.Resource != e.Resource || o.Op == e.Op {
			continue
		}
		if x.tokenNumber(o) <= x.tokenNumber(e) {
			break
		}
		return fmt.Sprintf("%s overwrote %s, with %s", what, x.name(o), x.tokenOf(o))
	}
	brought := &x.events[x.quoted[len(x.quoted)-2]]
	return fmt.Sprintf("%s was applied although the store had accepted token %d%s", what, x.before(), x.fromWhom(brought))
}

// client names whose operation a note tells of; empty when that is not known.
func (x *explainer) client(e *history.Event) string {
	if i := x.invocation(e.Op); i >= 0 {
		return x.events[i].ClientName()
	}
	return e.Owner
}

func (x *explainer) fromWhom(e *history.Event) string {
	if who := x.client(e); who != "" {
		return " from " + clientText(who)
	}
	return ""
}

// story tells how the holder of the lease that a note names came to act under it
// after it had ended: what held it up, and who was granted the lease of the next
// token that matters.
func (x *explainer) story(note *history.Event, next history.Token, until int) string {
	token, lease := x.presented(note)
	from := x.grantOf(note, token, lease)
	if from < 0 {
		return ""
	}
	g := &x.events[from]
	t := tenure{scope: g.ScopeName(), token: token, lease: g.Lease, owner: x.ownerOf(g), from: from}
	held, gone := x.heldUp(&t, note.Op, until), x.gone(&t, next, until)
	switch {
	case held == "":
		return gone
	case gone == "":
		return held
	}
	return held + "; meanwhile " + gone
}

// gone tells how a lease ended and who got that of a later token before a
// position.
func (x *explainer) gone(t *tenure, next history.Token, until int) string {
	var parts []string
	for i := t.from + 1; i < until; i++ {
		e := &x.events[i]
		if e.ScopeName() != t.scope {
			continue
		}
		switch {
		case len(parts) == 0 && (e.F == history.Expire || e.F == history.Released) && x.concerns(e, t):
			parts = append(parts, fmt.Sprintf("%s's lease %s (#%d)", clientText(t.owner), map[bool]string{true: "expired", false: "was released"}[e.F == history.Expire], e.Index))
		case e.F == history.Grant && e.Token == next && next != t.token:
			return strings.Join(append(parts, fmt.Sprintf("%s was granted token %d (#%d)", clientText(x.ownerOf(e)), e.Token, e.Index)), " and ")
		}
	}
	return strings.Join(parts, " and ")
}

// heldUp tells what delayed an operation: a pause or a crash of its client
// before it began, a slow message, or a stall of the server that had it already.
func (x *explainer) heldUp(t *tenure, op int64, until int) string {
	invoked := x.invocation(op)
	if invoked < 0 {
		return ""
	}
	left := until // the operation had left its client
	if k := x.operation(op); k >= 0 && x.ops[k].arrived >= 0 {
		if arrived := x.ops[k].arrived; x.stalled(arrived, until) >= 0 {
			return x.pauseText(x.stalled(arrived, until)) + fmt.Sprintf(" (#%d), with %s in hand", x.events[x.stalled(arrived, until)].Index, x.name(&x.events[invoked]))
		} else if x.late(arrived) {
			return fmt.Sprintf("%s was on its way from #%d to #%d", x.name(&x.events[invoked]), x.events[x.sentAt(arrived)].Index, x.events[arrived].Index)
		}
		if left = x.sentAt(x.ops[k].arrived); left < 0 {
			left = x.ops[k].arrived
		}
	}
	for i := left; i > t.from; i-- {
		if e := &x.events[i]; e.Process == t.owner && (e.F == history.Pause || e.F == history.Crash) {
			return x.worldText(i) + fmt.Sprintf(" (#%d)", e.Index)
		}
	}
	return ""
}

// stalled finds a pause of the server between an arrival there and its note.
func (x *explainer) stalled(arrived, note int) int {
	for i := arrived + 1; i < note; i++ {
		if e := &x.events[i]; e.F == history.Pause && e.Process == x.events[note].Process {
			return i
		}
	}
	return -1
}

// whyApplied tells why the store did not refuse the last event.
func (x *explainer) whyApplied() string {
	e, brought := &x.events[x.last], x.quoted[len(x.quoted)-2]
	switch k := x.operation(e.Op); {
	case x.setBack() >= 0:
		o := &x.events[x.setBack()]
		return fmt.Sprintf("%s had accepted a raise with token %d at #%d, after token %d: from then on it let %s pass",
			server(e), x.tokenNumber(o), o.Index, x.before(), x.tokenOf(e))
	case x.tokenless(k) && e.Highest == 0:
		return "the request carried no token"
	case x.tokenless(k):
		return fmt.Sprintf("the request carried no token, so that %s, which knew of token %d, could not tell", server(e), e.Highest)
	case e.Highest != 0 && e.Highest < x.before():
		return fmt.Sprintf("%s no longer knew of token %d: its greatest was %d%s", server(e), x.before(), e.Highest, x.sinceCrash(brought))
	case k >= 0 && x.ops[k].arrived >= 0 && x.ops[k].arrived < brought:
		return fmt.Sprintf("%s had the request from #%d on, before it accepted token %d at #%d, and did not compare again",
			server(e), x.events[x.ops[k].arrived].Index, x.before(), x.events[brought].Index)
	case e.Highest != 0:
		return fmt.Sprintf("%s knew of token %d and did not refuse it", server(e), e.Highest)
	}
	return ""
}

// setBack returns the position of a raise that the store accepted between the two last
// quoted events although its token is lower than that of the first, and no lower than
// that of the last. It returns -1 if there is none.
func (x *explainer) setBack() int {
	if len(x.quoted) < 2 {
		return -1
	}
	e := &x.events[x.last]
	for i := x.quoted[len(x.quoted)-2] + 1; i < x.last; i++ {
		o := &x.events[i]
		if o.F != history.Raised || o.Highest != 0 && o.Highest != o.Token || !x.sameFence(o, e) {
			continue
		}
		if token := x.tokenNumber(o); token < x.before() && token >= x.tokenNumber(e) {
			return i
		}
	}
	return -1
}

// operation returns the place of an operation among x.ops, -1 if it has none.
func (x *explainer) operation(op int64) int {
	return slices.IndexFunc(x.ops, func(o operation) bool { return o.op == op && op != 0 })
}

// tokenless reports whether the request of x.ops[k] is known to have come without
// the token under which it was made: other messages of the history name theirs.
func (x *explainer) tokenless(k int) bool {
	if k < 0 || x.ops[k].arrived < 0 {
		return false
	}
	e := &x.events[x.ops[k].arrived]
	return e.Op == x.ops[k].op && e.Token == 0 && slices.ContainsFunc(x.events[:x.last], func(o history.Event) bool {
		return o.F == history.Deliver && o.Token != 0
	})
}

// remedy says what would have refused the last event, a stale write.
func (x *explainer) remedy() string {
	if x.tokenless(x.operation(x.events[x.last].Op)) {
		return "a store that is sent the token with each write, and compares it with its greatest in the same step as it writes, refuses such a write"
	}
	if x.setBack() >= 0 {
		return "a store that refuses a raise with a lower token keeps its fence, and refuses such a write"
	}
	if e := &x.events[x.last]; e.Highest != 0 && e.Highest < x.before() {
		return "a store that keeps its greatest token with its values, and as durable, refuses such a write"
	}
	return "a store that compares the token with its greatest in the same step as it writes refuses such a write"
}

func (x *explainer) tokenNumber(e *history.Event) history.Token {
	token, _ := x.presented(e)
	return token
}

// sinceCrash names the crash in which a store forgot what it accepted at a
// position.
func (x *explainer) sinceCrash(accepted int) string {
	for i := x.last; i > accepted; i-- {
		if e := &x.events[i]; e.F == history.Crash && e.Process == x.events[x.last].Process {
			return fmt.Sprintf(" since its crash at #%d", e.Index)
		}
	}
	return ""
}

// lostUpdate tells whose update was lost, and what would have kept it.
func (x *explainer) lostUpdate() (harm, cause string) {
	basis, late, last := &x.events[x.quoted[0]], &x.events[x.quoted[1]], &x.events[x.last]
	made := "read"
	if basis.F != history.Served {
		made = "wrote"
	}
	harm = fmt.Sprintf("%s, with %s, made from the %s that it %s at #%d, overwrote %s, with %s, of #%d: that update is lost",
		x.name(last), x.tokenOf(last), valueText(basis.Value), made, basis.Index, x.name(late), x.tokenOf(late), late.Index)
	remedy, fence := "", x.fenceBefore(x.quoted[1])
	if own := x.tokenNumber(last); fence < own {
		at := "was at no token yet"
		if fence != 0 {
			at = fmt.Sprintf("was still at %d", fence)
		}
		if asked := x.cannotRaise(last); asked >= 0 {
			cause = fmt.Sprintf("%s asked %s at #%d to raise the fence to its token %d before it %s, and %s does not do that: the fence %s, and so %s was not refused",
				clientText(x.client(last)), server(last), x.events[asked].Index, own, made, server(last), at, x.tokenOf(late))
			remedy = "a store whose fence can be raised before a read refuses such a write"
		} else {
			cause = fmt.Sprintf("%s had not raised the fence to its token %d before it %s: it %s, and so %s was not refused",
				clientText(x.client(last)), own, made, at, x.tokenOf(late))
			remedy = "a holder that raises the fence to its token before it reads has such a write refused"
		}
	}
	return harm, sentences(x.counted(basis, late, last, made), x.story(late, x.tokenNumber(last), x.quoted[1]), cause, remedy)
}

// cannotRaise returns the position of a raise with the token of a note to which the store
// answered that it does not support raises, or -1 if there is none.
func (x *explainer) cannotRaise(note *history.Event) int {
	for i := range x.events[:x.last] {
		e := &x.events[i]
		if e.F == history.Raise && e.Type == history.Fail && e.Error == history.Unsupported && x.sameFence(e, note) &&
			x.tokenNumber(e) == x.tokenNumber(note) && e.ClientName() == x.client(note) {
			return x.invocation(e.Op)
		}
	}
	return -1
}

// counted reckons what a lost update should have come to, where the write is one
// more than the value that it was made from.
func (x *explainer) counted(basis, late, last *history.Event, made string) string {
	from, between, to := basis.Value, late.Value, last.Value
	if from.Kind != history.Int || between.Kind != history.Int || to.Kind != history.Int || to.Num != from.Num+1 {
		return ""
	}
	return fmt.Sprintf("%s %s %d at #%d and wrote %d + 1 = %d at #%d; %s's late write had made it %d at #%d in between, so %d was due",
		clientText(x.client(last)), made, from.Num, basis.Index, from.Num, to.Num, last.Index,
		clientText(x.client(late)), between.Num, late.Index, between.Num+1)
}

// answered returns the position of the reply to a note's operation, when that came
// before the note, or -1.
func (x *explainer) answered(note *history.Event) int {
	if i := x.invocation(note.Op); i >= 0 {
		if end := x.endOf(i); end >= 0 && x.events[end].Type != history.Info {
			return end
		}
	}
	return -1
}

// copied tells that a message came twice.
func (x *explainer) copied(op int64) string {
	if k := x.operation(op); k >= 0 && x.ops[k].arrived >= 0 {
		if e := &x.events[x.ops[k].arrived]; e.Copy > 0 {
			return fmt.Sprintf("a second copy of its message arrived at #%d", e.Index)
		}
	}
	return ""
}

// crashBefore tells of the crash that a restart ended.
func (x *explainer) crashBefore(restart int) string {
	for i := restart; i >= 0; i-- {
		if e := &x.events[i]; e.F == history.Crash && e.Process == x.events[restart].Process {
			return x.worldText(i) + fmt.Sprintf(" (#%d)", e.Index)
		}
	}
	return ""
}

// fenceBefore is the greatest token that a store accepted in the scope of a note
// before it.
func (x *explainer) fenceBefore(at int) history.Token {
	greatest := history.Token(0)
	for i := range x.events[:at] {
		if e := &x.events[i]; (e.F == history.Apply || e.F == history.Raised) && x.sameFence(e, &x.events[at]) {
			greatest = max(greatest, x.tokenNumber(e))
		}
	}
	return greatest
}

// stillHeld tells why the first of two holders of a mutex still held it.
func (x *explainer) stillHeld() string {
	if len(x.quoted) < 2 || x.events[x.at()].F != history.Acquire {
		return ""
	}
	first, second, last := x.events[x.quoted[0]].ClientName(), x.events[x.at()].ClientName(), &x.events[x.last]
	who, other := clientText(first), clientText(second)
	asked := x.invocation(last.Op)
	switch {
	case last.F != history.Release || last.ClientName() != first || asked < 0:
		return sentences(fmt.Sprintf("%s had not asked to release it when %s acquired it", who, other))
	case last.Type == history.OK:
		return sentences(fmt.Sprintf("%s released it only between #%d and #%d", who, x.events[asked].Index, last.Index))
	}
	return sentences(fmt.Sprintf("%s asked to release it at #%d and was refused at #%d%s", who, x.events[asked].Index, last.Index, because(last.Error)),
		fmt.Sprintf("so that release did not free it, and it was not free when %s acquired it at #%d", other, x.events[x.at()].Index),
		ranOut(last.Error))
}

// ranOut reads off the answer to a release that the lock was a lease, which had
// ended without its holder.
func ranOut(answer string) string {
	answer = strings.ToLower(answer)
	if strings.Contains(answer, "lease") && (strings.Contains(answer, "not found") || strings.Contains(answer, "not-found") || strings.Contains(answer, "expired")) {
		return "the answer says that the lease behind the lock had ended by itself, unnoticed by its holder, which a mutex never does"
	}
	return ""
}
