package reports

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"staleproof/model/history"
)

// view is a history with what the page asks of it again and again. Positions
// are places in h.Events; an event's Index is what a person reads.
type view struct {
	finding *Finding
	h       *history.History
	clock   clock

	at       map[int64]int   // position of an index
	ops      map[int64]*span // by operation number
	messages map[copyOf]*flight
	links    map[int][]int // numbers, from 1, of the chain's links at a position
	cited    map[int]bool  // positions that the finding or its chain names

	violation int      // position; -1 when the history has no events
	granted   bool     // the history tells what the coordinator granted
	total     int64    // events of the run, of which h may hold some
	holes     []Hole   // where it leaves some out
	scopes    []string // scopes of the cited events, the violation's first
	lanes     []lane
	laneOf    map[string]int // by process and by client
}

// span is an operation; a position is -1 when there is no such event.
type span struct{ invoke, end int }

type copyOf struct{ message, copy int64 }

// flight is a message on its way; a position is -1 when there is no such event.
type flight struct {
	from, to       string
	sent, arrived  int
	dropped        bool
	overtaken      bool // ownership changed hands while it was on its way
	message, copy_ int64
}

// newView reads the history of a finding.
func newView(f *Finding) (*view, error) {
	x, err := f.excerpt(maxWhole, maxWindows)
	if err != nil {
		return nil, err
	}
	return viewExcerpt(f, x), nil
}

func viewExcerpt(f *Finding, x excerpt) *view {
	v := &view{
		finding: f, h: x.history, total: x.total, holes: x.gaps,
		at: map[int64]int{}, ops: map[int64]*span{}, messages: map[copyOf]*flight{},
		links: map[int][]int{}, cited: map[int]bool{}, laneOf: map[string]int{}, violation: -1,
	}
	v.clock = newClock(v.h)
	for pos := range v.h.Events {
		v.index(pos)
	}
	if len(v.holes) > 0 {
		v.endUnseen()
	}
	v.overtake()
	v.cite()
	v.findLanes()
	return v
}

func (v *view) index(pos int) {
	e := &v.h.Events[pos]
	v.at[e.Index] = pos
	v.granted = v.granted || e.F == history.Grant
	switch {
	case e.Type == history.Invoke && e.Op != 0:
		if v.ops[e.Op] == nil {
			v.ops[e.Op] = &span{invoke: pos, end: -1}
		}
	case e.Type == history.OK || e.Type == history.Fail || e.Type == history.Info:
		if s := v.ops[e.Op]; s != nil && s.end < 0 {
			s.end = pos
		}
	case e.F == history.Send:
		v.messages[copyOf{e.Message, e.Copy}] = &flight{from: e.Process, to: e.To, sent: pos, arrived: -1, message: e.Message, copy_: e.Copy}
	case e.F == history.Deliver || e.F == history.Drop:
		v.arrive(pos)
	}
}

// endUnseen ends, where it begins, each operation of which the excerpt has no end
// although its process went on to another: the end is in a hole.
func (v *view) endUnseen() {
	open := map[string]*span{}
	for pos := range v.h.Events {
		e := &v.h.Events[pos]
		if e.Type != history.Invoke || e.Op == 0 {
			continue
		}
		if s := open[e.Process]; s != nil && s.end < 0 {
			s.end = s.invoke
		}
		open[e.Process] = v.ops[e.Op]
	}
}

// arrive joins a delivery or a loss to its sending. A duplicate need not have a
// sending of its own.
func (v *view) arrive(pos int) {
	e := &v.h.Events[pos]
	key := copyOf{e.Message, e.Copy}
	f := v.messages[key]
	if f == nil {
		f = &flight{sent: -1, arrived: -1, to: e.To, message: e.Message, copy_: e.Copy}
		if first := v.messages[copyOf{message: e.Message}]; first != nil {
			f.from, f.to, f.sent = first.from, first.to, first.sent
		} else if e.Process != e.To {
			f.from = e.Process
		}
		v.messages[key] = f
	}
	if f.to == "" {
		f.to = e.Process
	}
	if f.arrived < 0 {
		f.arrived, f.dropped = pos, e.F == history.Drop
	}
}

// flights lists the messages in the order of their numbers.
func (v *view) flights() []*flight {
	out := make([]*flight, 0, len(v.messages))
	for _, f := range v.messages {
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].message != out[j].message {
			return out[i].message < out[j].message
		}
		return out[i].copy_ < out[j].copy_
	})
	return out
}

// overtake marks the messages during whose flight a lease ended or was granted
// to somebody: those are the late ones that a fence is for.
func (v *view) overtake() {
	changes := make([]int, len(v.h.Events)+1) // how many before a position
	for pos := range v.h.Events {
		changes[pos+1] = changes[pos]
		if f := v.h.Events[pos].F; f == history.Expire || f == history.Released {
			changes[pos+1]++
		}
	}
	for _, f := range v.messages {
		if f.sent >= 0 && f.arrived > f.sent {
			f.overtaken = changes[f.arrived] > changes[f.sent]
		}
	}
}

// cite finds the positions that the finding talks about.
func (v *view) cite() {
	for i, l := range v.finding.Chain {
		if pos, ok := v.at[l.Index]; ok {
			v.links[pos] = append(v.links[pos], i+1)
			v.cited[pos] = true
			v.violation = pos
		}
	}
	for _, index := range v.finding.Events {
		if pos, ok := v.at[index]; ok {
			v.cited[pos] = true
			v.violation = pos
		}
	}
	if pos, ok := v.at[v.finding.At]; ok && v.finding.At != 0 {
		v.cited[pos] = true
		v.violation = pos
	}
	if v.violation < 0 {
		v.violation = len(v.h.Events) - 1
	}
	if v.violation >= 0 {
		v.addScope(&v.h.Events[v.violation])
	}
	for _, index := range v.finding.Events {
		if pos, ok := v.at[index]; ok {
			v.addScope(&v.h.Events[pos])
		}
	}
	for pos := v.violation; pos >= 0 && len(v.scopes) == 0; pos-- {
		v.addScope(&v.h.Events[pos])
	}
	if len(v.scopes) == 0 {
		v.scopes = []string{""} // one lock, which nobody gave a name
	}
}

// maxScopes bounds the panels of the drawing.
const maxScopes = 3

func (v *view) addScope(e *history.Event) {
	if s := e.ScopeName(); s != "" && !has(v.scopes, s) && len(v.scopes) < maxScopes {
		v.scopes = append(v.scopes, s)
	}
}

// lane is one line of the drawing: a process, or the successive processes of
// one client.
type lane struct {
	name string
	role string
}

// The roles of lanes, in the order from top to bottom: the store is last, so
// that the tokens it accepted are drawn right below it.
const (
	roleWorld       = "world"
	roleCoordinator = "coordinator"
	roleClient      = "client"
	roleServer      = "server"
	roleStore       = "store"
)

var roleOrder = []string{roleWorld, roleCoordinator, roleClient, roleServer, roleStore}

// worldName is the lane of events that no process made.
const worldName = "world"

// findLanes gives every process a lane and recognises servers by the notes
// that only they make.
func (v *view) findLanes() {
	var names []string
	role := map[string]string{}
	meet := func(name, as string) {
		if name == "" {
			return
		}
		if _, ok := role[name]; !ok {
			names = append(names, name)
			role[name] = ""
		}
		if as != "" && (role[name] == "" || role[name] == roleServer) {
			role[name] = as
		}
	}
	clientOf := v.clients()
	for pos := range v.h.Events {
		e := &v.h.Events[pos]
		name := clientOf[e.Process]
		if name == "" {
			name = worldName
		}
		if acrossLanes(e) {
			continue
		}
		meet(name, roleFrom(e))
		if e.F == history.Grant {
			meet(e.Owner, roleClient)
		}
		if e.F == history.Send {
			meet(e.To, "")
		}
	}
	slices.SortFunc(names, byNumber)
	for _, want := range roleOrder {
		for _, name := range names {
			r := role[name]
			if r == "" {
				r = roleServer
			}
			// A message may be addressed to a client's process.
			if c, ok := clientOf[name]; ok && c != name {
				continue
			}
			if r == want {
				v.laneOf[name] = len(v.lanes)
				v.lanes = append(v.lanes, lane{name: name, role: r})
			}
		}
	}
	for process, name := range clientOf {
		if i, ok := v.laneOf[name]; ok {
			v.laneOf[process] = i
		}
	}
}

// byNumber orders names as a person does: 9 comes before 70.
func byNumber(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// clients names the client of each process: itself, unless an event says that
// the process continues another one after an operation of unknown outcome.
func (v *view) clients() map[string]string {
	out := map[string]string{}
	for pos := range v.h.Events {
		e := &v.h.Events[pos]
		if _, ok := out[e.Process]; !ok || e.Client != "" {
			out[e.Process] = e.ClientName()
		}
	}
	return out
}

// acrossLanes says whether an event of no process is drawn across all lanes.
func acrossLanes(e *history.Event) bool {
	return (e.Process == "" || e.Process == worldName) && (e.F == history.Partition || e.F == history.Heal || e.F == history.Quiet)
}

// roleFrom says what an event tells of the process that made it.
func roleFrom(e *history.Event) string {
	if e.Type != history.Note {
		return roleClient
	}
	switch e.F {
	case history.Grant, history.Renewed, history.Released, history.Expire:
		return roleCoordinator
	case history.Apply, history.Reject, history.Raised, history.Served:
		return roleStore
	case history.Believe, history.Disbelieve:
		return roleClient
	}
	if e.Process == "" {
		return roleWorld
	}
	return ""
}

// who names the process at which an event happens. A message arrives at its
// receiver, whichever end the event names.
func (v *view) who(e *history.Event) string {
	if e.F == history.Deliver && e.Type == history.Note {
		if f := v.messages[copyOf{e.Message, e.Copy}]; f != nil {
			return f.to
		}
	}
	return e.Process
}

// lane returns the lane of a process or client, -1 when there is none.
func (v *view) lane(name string) int {
	if name == "" {
		name = worldName
	}
	if i, ok := v.laneOf[name]; ok {
		return i
	}
	return -1
}

// between returns how many events of the run lie between two positions; -1 is
// before the first, and the number of events is after the last.
func (v *view) between(from, to int) int {
	n := to - from - 1
	for _, h := range v.holes {
		if h.Before > from && h.Before <= to {
			n += int(h.Events)
		}
	}
	return n
}

// verb returns the operation's event that names it: the invoke, or e itself.
func (v *view) verb(e *history.Event) *history.Event {
	if s := v.ops[e.Op]; s != nil && e.Type == history.Note {
		return &v.h.Events[s.invoke]
	}
	return e
}

// presenter returns the client on whose behalf a server made its note.
func (v *view) presenter(e *history.Event) string {
	if s := v.ops[e.Op]; s != nil {
		return v.h.Events[s.invoke].ClientName()
	}
	if e.Owner != "" {
		return e.Owner
	}
	return ""
}

// window returns the positions [from, to) of at most n events, the violation
// among them and most of them before it.
func (v *view) window(n int) (from, to int) {
	total := len(v.h.Events)
	if total <= n {
		return 0, total
	}
	from = max(0, v.violation-n*3/4)
	to = min(total, from+n)
	return max(0, to-n), to
}
