package checker

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"staleproof/model/history"
)

// Finding is a violation with what led to it.
type Finding struct {
	Violation
	// Guarantee is the broken property's guarantee.
	Guarantee string
	// At is the index of the event that broke it: the last of Events, but for a
	// lock, where a later answer proves that it was still held.
	At int64
	// Harm is what came of it, without a full stop, and Cause what made it
	// possible, in sentences. Either is empty where Message says it all.
	Harm, Cause string
	// Chain is the causal chain, in the order of the history.
	Chain []Link
}

// Link is one step of a causal chain.
type Link struct {
	// Index and Time are those of the event that the link tells of.
	Index, Time int64
	Text        string
}

// Explain tells in words how a history came to break a guarantee: for every
// lease that the violation involves its grant, its renewals and its end; what
// befell its holder (pauses, crashes, cuts, clock steps); the operations on
// their way; and the events that the violation quotes. Server and world notes
// make the chain precise; without them it is told from what clients saw.
//
// The history must be the one that was judged, whole. Events that the violation
// names and the history does not hold are left out.
func Explain(h *history.History, v Violation) Finding {
	f := Finding{Violation: v, Guarantee: guarantee(v.Property)}
	x := &explainer{h: h, v: v, events: h.Events, told: make([]bool, len(h.Events))}
	x.quoted = x.positions(v.Events)
	if len(x.quoted) == 0 {
		return f
	}
	x.last = x.quoted[len(x.quoted)-1]
	x.index()
	x.operations()
	x.maximum()
	if x.staleWrite() {
		x.pick(x.setBack())
	}
	x.neighbours()
	x.tenures()
	x.holders()
	x.servers()
	x.messages()
	x.short(&f)
	x.mentioned(f.Message, f.Harm, f.Cause)
	f.Chain = x.chain()
	return f
}

// mention is how a text names an event.
var mention = regexp.MustCompile(`#([0-9]+)`)

// mentioned picks the events that the texts name.
func (x *explainer) mentioned(texts ...string) {
	for _, text := range texts {
		for _, m := range mention.FindAllStringSubmatch(text, -1) {
			if index, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				for _, i := range x.positions([]int64{index}) {
					x.pick(i)
				}
			}
		}
	}
}

// guarantee returns what the property or model of that name promises.
func guarantee(name string) string {
	if p, err := Lookup(name); err == nil {
		return p.Guarantee
	}
	for _, m := range models {
		if m.Name == name {
			return m.Guarantee
		}
	}
	return ""
}

// explainer picks events of a history and finds words for them. Positions are
// places in the slice of events.
type explainer struct {
	h      *history.History
	v      Violation
	events []history.Event
	quoted []int  // the events of the violation
	last   int    // the last of them: nothing later is told
	told   []bool // the events picked, by position
	ops    []operation
	leases []tenure
	links  []int // the events picked

	begun, ended map[int64]int // positions of invokes and ends, by operation
}

// operation is one that the violation quotes.
type operation struct {
	op      int64
	invoked int // position, -1 when the history has no invoke
	arrived int // position of its delivery, -1 when none is known
}

// tenure is one client's hold of a lease.
type tenure struct {
	scope string
	token history.Token
	lease string
	owner string
	from  int // position of the grant
	to    int // position of its end or of the explainer's last event
}

// pick adds an event to the chain.
func (x *explainer) pick(i int) {
	if i >= 0 && i <= x.last && !x.told[i] {
		x.told[i] = true
		x.links = append(x.links, i)
	}
}

// positions finds events by their indexes.
func (x *explainer) positions(indexes []int64) []int {
	var list []int
	for _, index := range indexes {
		i, ok := slices.BinarySearchFunc(x.events, index, func(e history.Event, index int64) int {
			return cmp.Compare(e.Index, index)
		})
		if ok {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

// operations finds the operations that the violation quotes.
func (x *explainer) operations() {
	for _, i := range x.quoted {
		x.pick(i)
		op := x.events[i].Op
		if op == 0 || slices.ContainsFunc(x.ops, func(o operation) bool { return o.op == op }) {
			continue
		}
		x.ops = append(x.ops, operation{op: op, invoked: x.invocation(op), arrived: -1})
	}
	for i := range x.events[:x.last+1] {
		e := &x.events[i]
		if e.Type == history.Note && e.F >= history.Apply && e.F <= history.Served && x.isQuoted(e.Op) {
			x.pick(i)
		}
	}
}

func (x *explainer) isQuoted(op int64) bool {
	return op != 0 && slices.ContainsFunc(x.ops, func(o operation) bool { return o.op == op })
}

// maximum tells what brought the greatest token that a quoted rejection names:
// the store's note, or else the reply to a client.
func (x *explainer) maximum() {
	for _, i := range x.quoted {
		e := &x.events[i]
		if e.Highest == 0 || e.F != history.Reject && e.Error != history.Stale {
			continue
		}
		brings := func(o history.Event, t history.Type) bool {
			return o.Type == t && x.sameFence(&o, e) && o.Token == e.Highest &&
				(o.F == history.Apply || o.F == history.Raised || t == history.OK && o.F.IsStore() && o.F != history.Read)
		}
		before := x.events[:i]
		note := slices.IndexFunc(before, func(o history.Event) bool { return brings(o, history.Note) })
		if note < 0 {
			note = slices.IndexFunc(before, func(o history.Event) bool { return brings(o, history.OK) })
		}
		x.pick(note)
	}
}

// manyNeighbours bounds the operations told around one that no order explains.
const manyNeighbours = 6

// neighbours tells what happened around an operation that no order explains and
// of which the store noted nothing: the latest changes of the same resource that
// may have come before its reply.
func (x *explainer) neighbours() {
	reply := &x.events[x.last]
	if reply.Type == history.Note || !reply.F.IsStore() || len(x.ops) != 1 || x.v.Property == givesUp.Name || x.v.Property == noFalseFencing.Name {
		return
	}
	told := 0
	for i := x.last - 1; i >= 0 && told < manyNeighbours; i-- {
		e := &x.events[i]
		if e.Op == reply.Op || e.Resource != reply.Resource || !(e.F.IsMutation() || e.F == history.Raise) || e.Type == history.Fail {
			continue
		}
		if e.Type == history.Invoke && x.endOf(i) < 0 || e.Type == history.OK || e.Type == history.Info {
			x.pick(i)
			told++
		}
	}
}

// endOf returns the position of the end of the operation that begins at i, -1
// when it lies after the last event.
func (x *explainer) endOf(i int) int {
	if end, ok := x.ended[x.events[i].Op]; ok && end > i && end < x.last {
		return end
	}
	return -1
}

func (x *explainer) invocation(op int64) int {
	if i, ok := x.begun[op]; ok {
		return i
	}
	return -1
}

// index finds the beginnings and the ends of the operations up to the last event
// that is told.
func (x *explainer) index() {
	x.begun, x.ended = map[int64]int{}, map[int64]int{}
	for i := range x.events[:x.last+1] {
		e := &x.events[i]
		if e.Op == 0 {
			continue
		}
		where := x.begun
		if e.Type.IsEnd() {
			where = x.ended
		} else if e.Type != history.Invoke {
			continue
		}
		if _, known := where[e.Op]; !known {
			where[e.Op] = i
		}
	}
}

// presented returns the token and the lease of an event, or those of the
// operation that it belongs to.
func (x *explainer) presented(e *history.Event) (history.Token, string) {
	if e.Token == 0 {
		if i := x.invocation(e.Op); i >= 0 {
			return x.events[i].Token, x.events[i].Lease
		}
	}
	return e.Token, e.Lease
}

// tenures finds the leases that the events picked so far involve, and tells how
// each began, went on and ended.
func (x *explainer) tenures() {
	for _, i := range slices.Clone(x.links) {
		e := &x.events[i]
		token, lease := x.presented(e)
		x.tenure(e, token, lease)
		if e.Error == history.Stale || e.F == history.Reject {
			x.tenure(e, e.Highest, "")
		}
	}
	for i := range x.leases {
		x.tellTenure(&x.leases[i])
	}
}

// tenure adds the tenure under a token in the scope of e, once.
func (x *explainer) tenure(e *history.Event, token history.Token, lease string) {
	if token == 0 {
		return
	}
	from := x.grantOf(e, token, lease)
	if from < 0 || slices.ContainsFunc(x.leases, func(t tenure) bool { return t.from == from }) {
		return
	}
	g := &x.events[from]
	t := tenure{scope: g.ScopeName(), token: token, lease: g.Lease, owner: x.ownerOf(g), from: from, to: x.last}
	x.leases = append(x.leases, t)
}

// ownerOf names the client that a lease is or was of: of a server's note that names none
// the one that asked, if it is known.
func (x *explainer) ownerOf(e *history.Event) string {
	switch i := x.invocation(e.Op); {
	case e.Type == history.Note && e.Owner != "":
		return e.Owner
	case e.Type != history.Note || !e.F.IsServerNote():
		return e.ClientName()
	case i >= 0:
		return x.events[i].ClientName()
	}
	return "somebody"
}

// grantOf finds the grant of a token: the coordinator's note, or else the
// acquisition that a client completed. The nearest before the last event counts.
func (x *explainer) grantOf(e *history.Event, token history.Token, lease string) int {
	acquired := -1
	for i := x.last; i >= 0; i-- {
		g := &x.events[i]
		if g.Token != token || !x.sameFence(g, e) || !sameText(g.Lease, lease) {
			continue
		}
		if g.Type == history.Note && g.F == history.Grant {
			return x.firstGrant(i)
		}
		if g.Type == history.OK && g.F == history.Acquire {
			acquired = i
		}
	}
	return acquired
}

// firstGrant goes back from a grant to the first one of the same lease: a
// re-entry is granted again. Without an identity it stays.
func (x *explainer) firstGrant(i int) int {
	first, g := i, &x.events[i]
	for j := i - 1; j >= 0 && g.Lease != ""; j-- {
		e := &x.events[j]
		if e.F == history.Grant && e.Lease == g.Lease && e.ScopeName() == g.ScopeName() {
			first = j
		}
	}
	return first
}

func (x *explainer) sameFence(a, b *history.Event) bool {
	return x.h.Header.Scopes == "global" || a.ScopeName() == b.ScopeName()
}

func sameText(a, b string) bool { return a == b || a == "" || b == "" }

// tellTenure picks the grant of a lease, its last renewal and its end.
func (x *explainer) tellTenure(t *tenure) {
	x.pick(t.from)
	renewed := -1
	for i := t.from + 1; i <= x.last; i++ {
		e := &x.events[i]
		if e.ScopeName() != t.scope || !x.concerns(e, t) {
			continue
		}
		switch {
		case e.F == history.Renewed, e.F == history.Renew && e.Type == history.OK && !x.coordinated():
			if renewed = i; e.Token != t.token {
				x.pick(i) // a renewal that changed the token is told each time
			}
		case e.F == history.Expire, e.F == history.Released, e.F == history.Release && e.Type == history.OK && !x.coordinated():
			x.pick(i)
			t.to = min(t.to, i)
		case x.aboutBelief() && e.F.IsHolderNote():
			x.pick(i)
		}
	}
	x.pick(renewed)
}

// concerns reports whether a note is about the tenure's lease: by identity, or
// by token where one of the two has none.
func (x *explainer) concerns(e *history.Event, t *tenure) bool {
	if e.Lease != "" && t.lease != "" {
		return e.Lease == t.lease
	}
	return e.Token == t.token && (e.Type == history.Note || e.ClientName() == t.owner)
}

// coordinated reports whether the history has the coordinator's notes.
func (x *explainer) coordinated() bool {
	return slices.ContainsFunc(x.events, func(e history.Event) bool { return e.F == history.Grant })
}

func (x *explainer) aboutBelief() bool {
	return x.v.Property == "exclusive-belief" || x.v.Property == "deadline"
}

// holders tells what befell the holders from their grant on.
func (x *explainer) holders() {
	for i := range x.leases {
		x.faults(x.leases[i].owner, x.leases[i].from)
	}
	for _, o := range x.ops {
		if o.invoked >= 0 {
			x.faults(x.events[o.invoked].ClientName(), o.invoked)
		}
	}
}

// servers tells what befell the servers whose notes are told.
func (x *explainer) servers() {
	from := x.last
	for i := range x.leases {
		from = min(from, x.leases[i].from)
	}
	for _, i := range x.quoted {
		from = min(from, i)
	}
	var names []string
	for _, i := range x.links {
		if e := &x.events[i]; e.F.IsServerNote() && !slices.Contains(names, e.Process) {
			names = append(names, e.Process)
		}
	}
	for _, name := range names {
		x.faults(name, from)
	}
}

// manyFaults bounds what is told of one process: the latest matter most.
const manyFaults = 8

// faults picks what befell a process after a position.
func (x *explainer) faults(process string, from int) {
	picked := 0
	for i := x.last; i >= from && picked < manyFaults; i-- {
		e := &x.events[i]
		if e.ClientName() != process && e.Process != process && (e.To != process || e.F != history.Partition) {
			continue
		}
		switch e.F {
		case history.Pause, history.Crash, history.Restart, history.Partition, history.Heal, history.Clock:
			x.pick(i)
			picked++
		}
	}
}

// messages tells how the quoted operations reached the store, and begins those
// of which no arrival is known.
func (x *explainer) messages() {
	for k := range x.ops {
		o := &x.ops[k]
		if o.invoked < 0 {
			continue
		}
		note := slices.IndexFunc(x.quoted, func(i int) bool {
			return x.events[i].Op == o.op && x.events[i].F.IsServerNote()
		})
		if note >= 0 {
			o.arrived = x.arrival(o, x.quoted[note])
			if x.quoted[note] == x.last || o.arrived >= 0 && x.late(o.arrived) {
				x.pick(o.arrived)
			}
		}
		if o.arrived < 0 && (x.events[o.invoked].F.IsStore() || !x.coordinated()) {
			x.pick(o.invoked)
		}
	}
}

// arrival finds the delivery that made a server write a note: the nearest one
// to that server, of a message of that operation.
func (x *explainer) arrival(o *operation, note int) int {
	server, client := x.events[note].Process, x.events[o.invoked].Process
	for i := note - 1; i > o.invoked; i-- {
		e := &x.events[i]
		if e.F != history.Deliver || e.To != server && e.Process != server {
			continue
		}
		if e.Op == o.op {
			return i
		}
		if e.Op == 0 && x.sender(i) == client {
			return i
		}
	}
	return -1
}

// sender returns who sent the message that is delivered at i.
func (x *explainer) sender(i int) string {
	if at := x.sentAt(i); at >= 0 {
		return x.events[at].Process
	}
	return ""
}

// sentAt returns the position of the send of the message delivered at i, or -1.
func (x *explainer) sentAt(i int) int {
	for j := i - 1; j >= 0; j-- {
		if s := &x.events[j]; s.F == history.Send && s.Message == x.events[i].Message {
			return j
		}
	}
	return -1
}

// chain puts the picked events in order and into words.
func (x *explainer) chain() []Link {
	slices.Sort(x.links)
	var chain []Link
	for _, i := range x.links {
		e := &x.events[i]
		if text := x.text(i); text != "" {
			chain = append(chain, Link{Index: e.Index, Time: e.Time, Text: text})
		}
	}
	return chain
}

// text finds the words for the event at i.
func (x *explainer) text(i int) string {
	e := &x.events[i]
	switch {
	case e.Type != history.Note:
		return x.clientText(i)
	case e.F.IsServerNote():
		return x.serverText(i)
	case e.F.IsHolderNote():
		return beliefText(e)
	}
	return x.worldText(i)
}

func (x *explainer) serverText(i int) string {
	e := &x.events[i]
	switch e.F {
	case history.Grant:
		what := "the lease"
		if e.Token != 0 {
			what = tokenText(e.Token)
		}
		return fmt.Sprintf("%s was granted %s%s", x.ownerOf(e), what, leaseText(e.Lease))
	case history.Renewed:
		text := x.leaseOf(e) + " was renewed"
		if t := x.tenureOf(e); t != nil && t.token != e.Token {
			text += ": its token became " + e.Token.String()
		}
		return text
	case history.Released:
		return x.leaseOf(e) + " was released"
	case history.Expire:
		return x.leaseOf(e) + " expired"
	case history.Apply:
		return x.applyText(i)
	case history.Reject:
		if e.Highest == 0 { // the store did not say
			return fmt.Sprintf("%s refused %s with %s", server(e), x.name(e), x.tokenOf(e))
		}
		return fmt.Sprintf("%s refused %s with %s: its greatest was %d", server(e), x.name(e), x.tokenOf(e), e.Highest)
	case history.Raised:
		if before := x.fenceBefore(i); e.Highest == e.Token && e.Token < before {
			return fmt.Sprintf("%s set its fence back to token %d%s, from %d", server(e), e.Token, x.forWhom(e), before)
		}
		return fmt.Sprintf("%s raised its fence to token %d%s", server(e), e.Token, x.forWhom(e))
	case history.Served:
		return fmt.Sprintf("%s answered %s%s: %s", server(e), x.name(e), x.withToken(e), valueText(e.Value)) + x.unraised(i)
	}
	return ""
}

// unraised says of what a lost update was based on that the fence was not up.
func (x *explainer) unraised(i int) string {
	if x.v.Property != noLostUpdate.Name || i != x.quoted[0] && i != x.quoted[1] {
		return ""
	}
	fence, token := x.fenceBefore(i), x.tokenNumber(&x.events[x.quoted[0]])
	switch {
	case fence >= token:
		return ""
	case fence == 0:
		return "; its fence was not raised yet"
	}
	return fmt.Sprintf("; its fence was at %d, not at %d", fence, token)
}

// applyText tells of a mutation. The one that broke the guarantee says after
// which token it came.
func (x *explainer) applyText(i int) string {
	e := &x.events[i]
	if i != x.last || len(x.quoted) < 2 {
		return fmt.Sprintf("%s accepted %s with %s", server(e), x.name(e), x.tokenOf(e)) + x.unraised(i)
	}
	what := "it"
	if !x.arrivedLast(e.Op) {
		what = x.name(e)
	}
	token, _ := x.presented(e)
	before, _ := x.presented(&x.events[x.quoted[len(x.quoted)-2]])
	if e.Text == history.Unchanged && token < before {
		return fmt.Sprintf("%s answered %s as done, and changed nothing: %s after %d", server(e), what, x.tokenOf(e), before)
	}
	if before <= token {
		text := fmt.Sprintf("%s applied %s with %s", server(e), what, x.tokenOf(e))
		if x.v.Property == noLostUpdate.Name && len(x.quoted) == 3 {
			text += fmt.Sprintf(", made from the %s of #%d", valueText(x.events[x.quoted[0]].Value), x.events[x.quoted[0]].Index)
		}
		return text
	}
	text := fmt.Sprintf("%s applied %s: %s after %d", server(e), what, x.tokenOf(e), before)
	if e.Highest != 0 && e.Highest < before {
		text += ", which it had forgotten"
	}
	return text
}

// arrivedLast reports whether the link just before the last event tells of the
// operation's arrival, so that "it" is understood.
func (x *explainer) arrivedLast(op int64) bool {
	if len(x.links) < 2 {
		return false
	}
	before := x.links[len(x.links)-2]
	return slices.ContainsFunc(x.ops, func(o operation) bool { return o.op == op && o.arrived == before })
}

func (x *explainer) clientText(i int) string {
	e := &x.events[i]
	who := clientText(e.ClientName())
	switch {
	case e.Type == history.OK && e.F == history.Acquire && e.Token == 0:
		return who + " acquired the " + x.lock() + leaseText(e.Lease)
	case e.Type == history.OK && e.F == history.Acquire:
		return fmt.Sprintf("%s acquired %s%s", who, tokenText(e.Token), leaseText(e.Lease))
	case e.Type == history.OK && e.F == history.Renew && e.Token == 0:
		return who + " renewed its lease" + leaseText(e.Lease)
	case e.Type == history.OK && e.F == history.Renew:
		return fmt.Sprintf("%s renewed its lease: %s%s", who, tokenText(e.Token), leaseText(e.Lease))
	case e.Type == history.OK && e.F == history.Release:
		return who + " released its " + x.lock() + leaseText(e.Lease)
	case e.Type == history.OK && e.F == history.Read:
		return fmt.Sprintf("%s read %s%s", who, valueText(e.Value), x.withToken(e))
	case e.Type == history.OK:
		return fmt.Sprintf("%s was told that its %s%s succeeded", who, x.verb(e), x.withToken(e))
	case e.Type == history.Fail && e.Error == history.Stale:
		text := fmt.Sprintf("%s was told that its %s with %s was stale", who, x.verb(e), x.tokenOf(e))
		if e.Highest != 0 {
			text += ": the greatest was " + e.Highest.String()
		}
		return text
	case e.Type == history.Fail:
		text := fmt.Sprintf("%s was told that its %s failed%s", who, x.verb(e), because(e.Error))
		if i == x.last && x.at() != i {
			text += "; so it had not freed the lock"
		}
		return text
	case e.Type == history.Info:
		return fmt.Sprintf("%s never learnt the outcome of its %s%s", who, x.verb(e), because(e.Error))
	}
	return who + x.beginText(i)
}

// lock is what the history is about to whoever judges it.
func (x *explainer) lock() string {
	if x.v.Property == mutexModel.Name {
		return "lock"
	}
	return "lease"
}

func (x *explainer) beginText(i int) string {
	e := &x.events[i]
	switch e.F {
	case history.Acquire:
		if x.v.Property == tokenSourceModel.Name {
			return " asked for a token"
		}
		return " asked for the " + x.lock()
	case history.Renew:
		return " asked to renew its lease" + x.withToken(e)
	case history.Release:
		return " asked to release its " + x.lock() + x.withToken(e)
	}
	text := " began " + x.verb(e) + x.preparedText(e)
	if i == x.last {
		text += " all the same"
	}
	return text
}

func (x *explainer) worldText(i int) string {
	e := &x.events[i]
	switch e.F {
	case history.Deliver:
		return x.deliverText(i)
	case history.Pause:
		return x.pauseText(i)
	case history.Crash:
		return e.Process + " crashed" + crashText(e.Text)
	case history.Restart:
		return spaced(e.Process+" restarted", e.Text)
	case history.Partition:
		if e.To == "" {
			return spaced(e.Process+" was cut off", e.Text)
		}
		return spaced(e.Process+" was cut off from "+e.To, e.Text)
	case history.Heal:
		if e.To == "" {
			return spaced(e.Process+" was connected again", e.Text)
		}
		return spaced(e.Process+" was connected to "+e.To+" again", e.Text)
	case history.Clock:
		return spaced(e.Process+"'s clock stepped", e.Text)
	}
	return ""
}

// pauseText tells of a pause of a process, or of one of its tasks.
func (x *explainer) pauseText(i int) string {
	e := &x.events[i]
	if e.Text == "" {
		return e.Process + " paused" + x.pauseLength(i)
	}
	if stalled, ok := strings.CutPrefix(e.Text, "one task "); ok {
		return "a task of " + e.Process + " stalled " + placed(stalled)
	}
	return e.Process + " paused " + placed(e.Text)
}

// places are where the simulated processes of package model may be stopped, in
// words.
var places = map[string]string{
	"acquire": "before it asked for the lease", "checked": "after it had checked its lease",
	"request": "before it served a request", "answered": "after it had answered",
	"sync": "before its disk was synced", "sleep": "while it slept",
}

// placed puts the place at which a process was stopped into words: "for 12s at
// checked" becomes "for 12s after it had checked its lease".
func placed(text string) string {
	before, label, ok := strings.Cut(text, " at ")
	if !ok {
		return text
	}
	return spaced(before, place(label))
}

// place puts a label into words: what does not say where it is, is "at" it.
func place(label string) string {
	first, _, _ := strings.Cut(label, " ")
	switch words := places[label]; {
	case words != "":
		return words
	case first == "before" || first == "after" || first == "between":
		return label
	}
	return "at " + label
}

// crashText puts what a simulated world says of a crash, "restarts after 1s at
// the disk", into the order in which it happened.
func crashText(text string) string {
	rest, ok := strings.CutPrefix(text, "restarts after ")
	if !ok {
		return spaced("", text)
	}
	after, label, labelled := strings.Cut(rest, " at ")
	if labelled {
		label = " " + place(label)
	}
	return label + " and was to restart after " + after
}

// deliverText tells of an operation's arrival, and of its delay when other
// deliveries to the same server overtook it.
func (x *explainer) deliverText(i int) string {
	e := &x.events[i]
	k := slices.IndexFunc(x.ops, func(o operation) bool { return o.arrived == i })
	if k < 0 {
		return ""
	}
	inv := &x.events[x.ops[k].invoked]
	text := fmt.Sprintf("%s's %s%s reached %s", clientText(inv.ClientName()), x.verb(inv), x.preparedClause(inv), destination(inv))
	if e.Copy > 0 {
		text = "a second copy of " + text
	}
	if x.late(i) {
		text += fmt.Sprintf(" (on its way since #%d)", x.events[x.sentAt(i)].Index)
	}
	return text
}

// late reports whether a grant that is told came while the message that is
// delivered at i was on its way.
func (x *explainer) late(i int) bool {
	sent := x.sentAt(i)
	return sent >= 0 && x.grantBetween(sent, i)
}

// grantBetween reports whether a grant that is told lies between two positions.
func (x *explainer) grantBetween(from, to int) bool {
	return slices.ContainsFunc(x.leases, func(t tenure) bool { return from < t.from && t.from < to })
}

func (x *explainer) preparedClause(inv *history.Event) string {
	if inv.F.IsLease() {
		return x.withToken(inv)
	}
	if text := x.preparedText(inv); text != "" {
		return "," + strings.Replace(text, " with token", " prepared under token", 1) + ","
	}
	return ""
}

// destination names the server that a request is for.
func destination(inv *history.Event) string {
	if inv.F.IsLease() {
		return "the lease manager"
	}
	return "the store"
}

// preparedText says which token an operation presents, and under which it was
// prepared when that is another.
func (x *explainer) preparedText(inv *history.Event) string {
	switch {
	case inv.Token == 0:
		return ""
	case inv.Prepared != 0 && inv.Prepared != inv.Token:
		return fmt.Sprintf(" with token %d, though prepared under token %d", inv.Token, inv.Prepared)
	}
	return fmt.Sprintf(" with token %d", inv.Token)
}

// pauseLength measures a pause by its resume, where time is nanoseconds.
func (x *explainer) pauseLength(i int) string {
	if t := x.h.Header.Timing; t == "untimed" || t == "bounded" {
		return ""
	}
	for j := i + 1; j < len(x.events); j++ {
		if e := &x.events[j]; e.F == history.Resume && e.Process == x.events[i].Process {
			return " for " + time.Duration(e.Time-x.events[i].Time).String()
		}
	}
	return ""
}

func beliefText(e *history.Event) string {
	if e.F == history.Disbelieve {
		return fmt.Sprintf("%s no longer believed in its lease%s", e.ClientName(), leaseText(e.Lease))
	}
	return fmt.Sprintf("%s believed in %s%s", e.ClientName(), tokenText(e.Token), leaseText(e.Lease))
}

// server names who wrote a note.
func server(e *history.Event) string {
	if e.Process == "store" || e.Process == "" {
		return "the store"
	}
	return "the store " + e.Process
}

// name names an operation by its client and verb: "B's write 20".
func (x *explainer) name(e *history.Event) string {
	if i := x.invocation(e.Op); i >= 0 {
		inv := &x.events[i]
		return clientText(inv.ClientName()) + "'s " + x.verb(inv)
	}
	if e.Owner != "" {
		return "an operation of " + clientText(e.Owner)
	}
	return "an operation"
}

// verb describes an operation by content: "write 20".
func (x *explainer) verb(e *history.Event) string {
	if i := x.invocation(e.Op); i >= 0 {
		e = &x.events[i]
	}
	switch e.F {
	case history.Write, history.Batch:
		return spaced(e.F.String(), e.Value.String())
	case history.CAS:
		return fmt.Sprintf("cas %s to %s", valueText(e.Expect), valueText(e.Value))
	}
	return e.F.String()
}

func (x *explainer) tokenOf(e *history.Event) string {
	token, _ := x.presented(e)
	return tokenText(token)
}

func (x *explainer) withToken(e *history.Event) string {
	if token, _ := x.presented(e); token != 0 {
		return " with token " + token.String()
	}
	return ""
}

func (x *explainer) forWhom(e *history.Event) string {
	if i := x.invocation(e.Op); i >= 0 {
		return " for " + x.events[i].ClientName()
	}
	return ""
}

// tenureOf returns the told tenure that a note is about.
func (x *explainer) tenureOf(e *history.Event) *tenure {
	for i := range x.leases {
		if t := &x.leases[i]; t.scope == e.ScopeName() && x.concerns(e, t) {
			return t
		}
	}
	return nil
}

// leaseOf names the lease of a note: "A's lease", with its token when several
// of A's leases are told of.
func (x *explainer) leaseOf(e *history.Event) string {
	owner, token, count := x.ownerOf(e), e.Token, 0
	if t := x.tenureOf(e); t != nil {
		owner, token = t.owner, t.token
	}
	for _, t := range x.leases {
		if t.owner == owner {
			count++
		}
	}
	if count > 1 {
		return fmt.Sprintf("%s's lease of token %d", owner, token)
	}
	return owner + "'s lease"
}

func leaseText(id string) string {
	if id == "" {
		return ""
	}
	return " (lease " + id + ")"
}

func valueText(v history.Value) string {
	if v.Kind == history.Absent {
		return "nothing"
	}
	return v.String()
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + history.ErrorText(reason)
}

// spaced joins what is not empty with a space.
func spaced(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}
