package reports

import (
	"fmt"
	"strconv"
	"strings"

	"staleproof/model/history"
)

// figure is the drawing of a finding, laid out in whole pixels for the template
// to write. Columns follow the order of events, not the time between them: a
// dozen events share a few milliseconds and then a lease passes. Where time
// jumps or events are left out, a gap says how much.
type figure struct {
	Gutter, Width, Height int
	LanesTop, LanesBottom int

	Lanes    []laneBox
	Panels   []panel
	Gaps     []gapBox
	Columns  []columnTint
	Bands    []band
	Shades   []shade
	Ops      []opBar
	Arrows   []arrow
	Marks    []mark
	Rules    []rule
	Indexes  []label
	Times    []label
	TimesTop int
	Badges   []badge
	Legend   []legendItem

	Axis    string // what the time axis counts
	Drawn   int
	Total   int
	Derived bool // beliefs were read off the operations
	Scopes  []string
	Hidden  int  // lanes that are not drawn
	Others  bool // events of other scopes are drawn too, without bands
}

type laneBox struct {
	Y, H, Mid  int
	Name, Full string
	Role       string
	Alternate  bool
	rows       map[string]int // band row of each scope
	labelled   int            // x up to which the row of labels is taken
	noted      int            // x up to which the row below the marks is taken
}

type label struct {
	X, Y   int
	Text   string
	Title  string
	Class  string
	Anchor string // start, middle or end
}

type gapBox struct {
	X, W    int
	Elided  string
	Elapsed string
	Title   string
}

type columnTint struct {
	X, W  int
	Class string
}

type band struct {
	X, Y, W, H  int
	Class       string // knew, believed, tail
	OpenL       bool   // began before the drawing
	OpenR       bool   // goes on after it
	Label       string
	LabelX, LbY int
	Title       string
}

type shade struct {
	X, Y, W, H int
	Class      string // paused or down
	Label      label
	Title      string
}

type opBar struct {
	X1, X2, Y int
	End       string // ok, fail, info or open
	Label     *label
	Title     string
}

type arrow struct {
	X1, Y1, X2, Y2 int
	Class          string // message, late, lost or flying
	Label          *label
	Title          string
}

type mark struct {
	X, Y      int
	Symbol    string
	Violation bool
	Note      *label
	Title     string
	Href      string
}

type rule struct {
	X     int
	Class string
	Title string
}

type badge struct {
	X, W, Y, Bottom int
	Text            string
	Violation       bool
}

type panel struct {
	Y, H   int
	Scope  string
	Full   string
	Levels []label
	Lines  []int
	Path   string
	Points []point
	// Forgotten is the store's own fence where that is below what was accepted.
	Forgotten  string
	ForgotNote *label
}

type point struct {
	X, Y, LineY int
	Symbol      string
	Below       bool
	Violation   bool
	Note        *label
	Title       string
}

type legendItem struct{ Symbol, Text string }

const (
	wide, narrow = 30, 15 // columns of an event and of a message
	charW        = 6      // of the small type, rounded up
	digitW       = 7      // of its digits
	boldW        = 7      // of the small bold type
	badgesTop    = 4
	indexesTop   = 38
	lanesTop     = 48
	bandsTop     = 50 // within a lane
	bandH        = 22
	mostName     = 16   // letters of a lane's name
	edge         = 22   // free space at both ends
	fits         = 1170 // with the names, in a window of 1280
)

// layout draws v. It returns nil when there is nothing to draw.
func (v *view) layout() *figure {
	d := &drawing{view: v, known: v.known(), believed: v.believed()}
	for budget := maxBudget; budget >= minBudget; budget -= 4 {
		d.columns(v.choose(budget))
		d.chooseLanes()
		if d.fig.Width+d.gutter() <= fits {
			break
		}
	}
	if len(d.chosen) == 0 {
		return nil
	}
	d.fig.Drawn, d.fig.Total, d.fig.Scopes = len(d.chosen), int(v.total), v.scopes
	d.laneBoxes()
	d.shades()
	d.bands()
	d.operations()
	d.arrows()
	d.marks()
	d.header()
	d.panels()
	d.times()
	d.tints()
	d.legend()
	return &d.fig
}

type drawing struct {
	*view
	fig             figure
	chosen          []int
	column          map[int]int // place in cols of a position
	cols            []column
	gaps            []gap
	known, believed []*hold
	drawnLanes      []lane
	places          []int // in drawnLanes, by lane of the view; -1 when it is not drawn
}

type column struct{ pos, left, mid, right int }

// gap is the space before the column at place before; len(cols) is after the last.
type gap struct {
	before, left, right int
	elided              int
	jump                bool
}

// columns places the chosen events from left to right.
func (d *drawing) columns(chosen []int) {
	d.chosen, d.cols, d.gaps, d.fig.Gaps, d.column = chosen, nil, nil, nil, map[int]int{}
	if len(chosen) == 0 {
		return
	}
	x := edge
	first, last := d.h.Events[d.chosen[0]].Time, d.h.Events[d.chosen[len(d.chosen)-1]].Time
	prev := -1
	for i, pos := range d.chosen {
		g := gap{before: i, left: x, elided: d.view.between(prev, pos)}
		if d.clock.unit == "ns" || d.clock.unit == "tick" {
			if i > 0 {
				passed := d.h.Events[pos].Time - d.h.Events[prev].Time
				g.jump = passed > 1 && passed >= (last-first)/8
			}
		}
		x = d.gap(g, x)
		w := wide
		if d.cost(pos) == 1 {
			w = narrow
		}
		d.column[pos] = i
		d.cols = append(d.cols, column{pos: pos, left: x, mid: x + w/2, right: x + w})
		x += w
		prev = pos
	}
	x = d.gap(gap{before: len(d.cols), left: x, elided: d.view.between(prev, len(d.h.Events))}, x)
	d.fig.Width = x + edge
}

// gap makes room for g, if it needs any, and returns where it ends.
func (d *drawing) gap(g gap, x int) int {
	if g.elided == 0 && !g.jump {
		return x
	}
	box := gapBox{X: x, W: 28}
	if g.elided > 0 {
		box.Elided = "+" + strconv.Itoa(g.elided)
		box.Title = plural(g.elided, "event") + " not drawn"
		box.W = max(box.W, 10+len(box.Elided)*digitW)
	}
	if g.before > 0 && g.before < len(d.chosen) {
		passed := d.h.Events[d.chosen[g.before]].Time - d.h.Events[d.chosen[g.before-1]].Time
		if g.jump {
			box.Elapsed = d.clock.elapsed(passed)
			box.W = max(box.W, 21+len(box.Elapsed)*boldW)
		}
		if passed > 0 && d.clock.unit != "" {
			box.Title = prefixed(strings.TrimPrefix(box.Title+"; ", "; "), d.clock.elapsed(passed)+" pass")
		}
	}
	g.right = x + box.W
	d.gaps = append(d.gaps, g)
	d.fig.Gaps = append(d.fig.Gaps, box)
	return g.right
}

// x returns where the event at pos is, or would be.
func (d *drawing) x(pos int) int {
	if i, ok := d.column[pos]; ok {
		return d.cols[i].mid
	}
	for i, c := range d.cols {
		if c.pos > pos {
			return d.between(i, func(from, to int) (int64, int64) {
				return int64(pos - from), int64(to - from)
			})
		}
	}
	return d.between(len(d.cols), nil)
}

// xTime returns where time t falls: in the gap that it falls into, or between
// two columns.
func (d *drawing) xTime(t int64) int {
	for i, c := range d.cols {
		if d.h.Events[c.pos].Time <= t {
			continue
		}
		return d.between(i, func(from, to int) (int64, int64) {
			if from < 0 {
				return 0, 1
			}
			start := d.h.Events[from].Time
			return t - start, d.h.Events[to].Time - start
		})
	}
	return d.between(len(d.cols), nil)
}

// between returns a place in the space before column i, in proportion to what
// part of it share tells.
func (d *drawing) between(i int, share func(from, to int) (part, whole int64)) int {
	left, right := 0, d.fig.Width
	from, to := -1, len(d.h.Events)
	if i > 0 {
		left, from = d.cols[i-1].right, d.cols[i-1].pos
	}
	if i < len(d.cols) {
		right, to = d.cols[i].left, d.cols[i].pos
	}
	if i == 0 || i == len(d.cols) || share == nil {
		return (left + right) / 2
	}
	part, whole := share(from, to)
	if whole <= 0 || part < 0 || part > whole || left >= right {
		return (left + right) / 2
	}
	// Halved together until the product fits, whatever the history claims.
	for whole > 1<<40 {
		part, whole = part/2, whole/2
	}
	return left + int(part*int64(right-left)/whole)
}

// laneBoxes stacks the lanes, each with a row for every scope that it held.
func (d *drawing) laneBoxes() {
	rows := make([]map[string]int, len(d.drawnLanes))
	for _, holds := range [][]*hold{d.known, d.believed} {
		for _, h := range holds {
			i := d.lane(h.client)
			if _, ok := d.extent(h); i < 0 || !ok {
				continue
			}
			if rows[i] == nil {
				rows[i] = map[string]int{}
			}
			if _, ok := rows[i][h.scope]; !ok {
				rows[i][h.scope] = len(rows[i])
			}
		}
	}
	y := lanesTop
	for i, l := range d.drawnLanes {
		box := laneBox{Y: y, Name: clipMiddle(l.name, mostName), Full: l.name, Role: l.role, Alternate: i%2 == 1, rows: rows[i]}
		box.Mid = y + 34
		box.H = 64
		if l.role == roleClient {
			box.H = bandsTop + 2 + max(1, len(rows[i]))*(bandH+4)
		}
		y += box.H
		d.fig.Lanes = append(d.fig.Lanes, box)
	}
	d.fig.Gutter = d.gutter()
	d.fig.LanesTop, d.fig.LanesBottom = lanesTop, y
	d.fig.Height = y
}

// gutter is the width beside the lanes: that of the longest name, within reason.
func (d *drawing) gutter() int {
	longest := 0
	for _, l := range d.drawnLanes {
		longest = max(longest, min(mostName, len([]rune(l.name))), len(l.role))
	}
	return min(150, max(104, 24+longest*8))
}

// shades draws pauses and the time between a crash and a restart.
func (d *drawing) shades() {
	pairs := d.pairs()
	for pos := range d.h.Events {
		e := &d.h.Events[pos]
		i := d.lane(e.Process)
		if i < 0 || e.F != history.Pause && e.F != history.Crash {
			continue
		}
		box := &d.fig.Lanes[i]
		s := shade{X: d.x(pos), Y: box.Y, H: box.H, Class: "paused", Title: e.Process + " " + d.describe(e)}
		texts := []string{strings.TrimPrefix(pause(e), "is "), "paused"}
		if e.F == history.Crash {
			s.Class, texts = "down", []string{"down"}
		}
		end := d.fig.Width
		to, ends := pairs[pos]
		if ends {
			end = d.x(to)
		}
		if s.W = end - s.X; s.W < 4 || !d.touches(pos, to) || !ends && d.actsAfter(pos) {
			continue
		}
		for _, text := range texts {
			if width := len([]rune(text)) * boldW; width < s.W-8 {
				s.Label = label{X: s.X + s.W/2, Y: box.Mid + 4, Text: text, Anchor: "middle"}
				break
			}
		}
		d.fig.Shades = append(d.fig.Shades, s)
	}
}

// actsAfter says whether a process goes on after a pause that has no end: only
// one of its tasks was stalled.
func (v *view) actsAfter(pos int) bool {
	for after := pos + 1; after < len(v.h.Events); after++ {
		if e := &v.h.Events[after]; e.Process == v.h.Events[pos].Process && e.F != history.Deliver && e.F != history.Drop {
			return true
		}
	}
	return false
}

// touches says whether what lasts from one position to another has a drawn
// event at an end or within; to is 0 for what never ends.
func (d *drawing) touches(from, to int) bool {
	for _, c := range d.cols {
		if c.pos >= from && (to == 0 || c.pos <= to) {
			return true
		}
	}
	return false
}

// bands draws what the coordinator knew, filled, and what holders believed,
// outlined. Where they do not cover each other, somebody was wrong.
func (d *drawing) bands() {
	labelled := map[hold]bool{}
	same := func(h *hold) hold { return hold{client: h.client, scope: h.scope, token: h.token} }
	for _, h := range d.known {
		if b, ok := d.band(h, "knew", 3); ok {
			labelled[same(h)] = true
			d.labelInside(&b, h)
			b.Title = "the coordinator knew: " + h.client + " holds " + h.scope + d.term(h)
			d.fig.Bands = append(d.fig.Bands, b)
		}
	}
	for _, h := range d.believed {
		d.fig.Derived = d.fig.Derived || h.derived
		b, ok := d.band(h, "believed", 0)
		if !ok {
			continue
		}
		b.Title = h.client + " believed: it holds " + h.scope + d.term(h)
		if labelled[same(h)] {
			b.Label = ""
		}
		d.fig.Bands = append(d.fig.Bands, b)
		d.tail(h, b)
	}
	d.clashes()
}

// clashes marks where two clients held a lock without tokens at once, as the
// violation.
func (d *drawing) clashes() {
	for i, a := range d.believed {
		for _, b := range d.believed[i+1:] {
			at := d.violation
			if a.from > at || b.from > at || a.to >= 0 && a.to <= at || b.to >= 0 && b.to <= at {
				continue // not what this finding is about
			}
			if a.token != 0 || b.token != 0 || a.scope != b.scope || a.client == b.client {
				continue
			}
			for _, h := range []*hold{a, b} {
				both := *h
				both.from, both.to = max(a.from, b.from), earlier(a.to, b.to)
				if band, ok := d.band(&both, "clash", 2); ok {
					d.clearLabels(&band)
					band.Label, band.Title = "", a.client+" and "+b.client+" held it at once"
					d.fig.Bands = append(d.fig.Bands, band)
				}
			}
		}
	}
}

// clearLabels moves the labels of bands off a part of them, or drops them.
func (d *drawing) clearLabels(part *band) {
	for i := range d.fig.Bands {
		b := &d.fig.Bands[i]
		width := len([]rune(b.Label)) * boldW
		if b.Class != "believed" || b.Y+2 != part.Y || b.LabelX > part.X+part.W || b.LabelX+width < part.X {
			continue
		}
		if b.LabelX = part.X + part.W + 6; b.LabelX+width > b.X+b.W {
			b.Label = ""
		}
	}
}

// earlier is the earlier of two ends; -1 is none.
func earlier(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// labelInside moves the label of what the coordinator knew clear of the edge of
// the outline, which begins a little later, where both have room for it.
func (d *drawing) labelInside(b *band, known *hold) {
	for _, h := range d.believed {
		if h.client != known.client || h.scope != known.scope || h.token != known.token {
			continue
		}
		shift := d.x(h.from) - b.X
		if text := d.bandLabel(known, b.W-shift); shift > 0 && text != "" {
			b.Label, b.LabelX = text, b.X+shift+8
		}
		return
	}
}

func (d *drawing) band(h *hold, class string, inset int) (band, bool) {
	i := d.lane(h.client)
	b, ok := d.extent(h)
	if i < 0 || !ok {
		return band{}, false
	}
	box := &d.fig.Lanes[i]
	b.Class, b.H = class, bandH-2*inset
	b.Y = box.Y + bandsTop + box.rows[h.scope]*(bandH+4) + inset
	b.Label, b.LabelX, b.LbY = d.bandLabel(h, b.W), b.X+8, b.Y+b.H/2+4
	return b, true
}

// extent returns from where to where h is drawn, if it is.
func (d *drawing) extent(h *hold) (band, bool) {
	if !has(d.scopes, h.scope) {
		return band{}, false
	}
	b := band{X: d.x(h.from)}
	b.OpenL = h.from < d.cols[0].pos
	end := d.fig.Width
	b.OpenR = true
	if h.to >= 0 && h.to <= d.cols[len(d.cols)-1].pos {
		end, b.OpenR = d.x(h.to), false
	}
	if h.until != 0 && h.until < d.h.Events[d.cols[len(d.cols)-1].pos].Time {
		if x := d.xTime(h.until); x < end {
			end, b.OpenR = x, false
		}
	}
	if b.OpenL {
		b.X = 0
	}
	b.W = end - b.X
	return b, b.W >= 2 && end > d.cols[0].left
}

// bandLabel is the longest of its names that fits.
func (d *drawing) bandLabel(h *hold, width int) string {
	tok := h.token.String()
	names := []string{"token " + tok, tok}
	if h.token == 0 {
		names = []string{"held"} // a lock without tokens
	}
	if h.generation != 0 {
		names = append([]string{"generation " + strconv.FormatInt(h.generation, 10) + " · token " + tok,
			"gen " + strconv.FormatInt(h.generation, 10) + " · token " + tok}, names...)
	}
	if len(d.scopes) > 1 && h.token != 0 {
		names = append([]string{h.scope + " · token " + tok}, names...)
	}
	for _, n := range names {
		if len([]rune(n))*boldW+14 <= width {
			return n
		}
	}
	return ""
}

func (d *drawing) term(h *hold) string {
	s := token(", token ", h.token)
	if h.generation != 0 {
		s = ", generation " + strconv.FormatInt(h.generation, 10) + s
	}
	return s + d.view.until(", until ", h.until)
}

// tail draws, after the end of a belief, how long its holder went on to act
// under the token all the same.
func (d *drawing) tail(h *hold, b band) {
	if h.acted < 0 || b.OpenR {
		return
	}
	end := d.x(h.acted)
	if end <= b.X+b.W+4 {
		return
	}
	d.fig.Bands = append(d.fig.Bands, band{X: b.X + b.W, Y: b.Y, W: end - b.X - b.W, H: b.H, Class: "tail",
		Title: h.client + " still acts under token " + h.token.String() + " although its belief has ended"})
}

// operations draws a bar from each invoke to its end, named above it.
func (d *drawing) operations() {
	for _, c := range d.cols {
		e := &d.h.Events[c.pos]
		s := d.ops[e.Op]
		i := d.lane(e.Process)
		if s == nil || i < 0 || e.Type == history.Note {
			continue
		}
		_, beginDrawn := d.column[s.invoke]
		if e.Type != history.Invoke && beginDrawn {
			continue // drawn with its invoke
		}
		d.operation(i, s)
	}
}

func (d *drawing) operation(lane int, s *span) {
	box := &d.fig.Lanes[lane]
	invoke := &d.h.Events[s.invoke]
	bar := opBar{X1: d.x(s.invoke), X2: d.fig.Width, Y: box.Mid, End: "open", Title: invoke.Process + " " + d.describe(invoke)}
	if s.end >= 0 {
		end := &d.h.Events[s.end]
		bar.X2 = d.x(s.end)
		bar.End = map[history.Type]string{history.OK: "ok", history.Fail: "fail", history.Info: "info"}[end.Type]
		bar.Title += "; " + d.describe(end)
	}
	room := d.free(lane, s.invoke) - bar.X1
	if d.violation >= 0 && invoke.Op == d.h.Events[d.violation].Op {
		room = d.fig.Width - bar.X1 // named before what begins later
	}
	for _, text := range []string{brief(invoke), verbs[invoke.F]} {
		if bar.X1 >= box.labelled && len([]rune(text))*charW <= room {
			bar.Label = &label{X: bar.X1 - 2, Y: box.Y + 14, Text: text, Anchor: "start"}
			box.labelled = bar.X1 + len([]rune(text))*charW + 4
			break
		}
	}
	d.fig.Ops = append(d.fig.Ops, bar)
}

// free returns up to where the row of labels of a lane is free after pos.
func (d *drawing) free(lane, pos int) int {
	for _, c := range d.cols {
		e := &d.h.Events[c.pos]
		if c.pos > pos && e.Type == history.Invoke && d.lane(e.Process) == lane {
			return c.mid - 6
		}
	}
	return d.fig.Width
}

// brief names an operation in few letters: "write 10 (41)".
func brief(e *history.Event) string {
	s := verbs[e.F]
	if v := value(e.Value); v != "" {
		s += " " + clip(v, 10)
	}
	if e.Token != 0 {
		s += " (" + e.Token.String() + ")"
	}
	return s
}

// arrows draws the messages of which at least one end is drawn.
func (d *drawing) arrows() {
	drawn := func(pos int) bool { _, ok := d.column[pos]; return ok }
	messages := false
	for _, f := range d.flights() {
		messages = true
		if drawn(f.sent) || drawn(f.arrived) {
			d.arrow(f)
		}
	}
	if !messages {
		d.connect()
	}
}

func (d *drawing) arrow(f *flight) {
	from, to := d.lane(f.from), d.lane(f.to)
	if f.from == "" || f.to == "" || from < 0 || to < 0 || from == to {
		return
	}
	a := arrow{Class: "message", X2: d.fig.Width, Y1: d.fig.Lanes[from].Mid, Y2: d.fig.Lanes[to].Mid}
	if f.sent >= 0 {
		a.X1 = d.x(f.sent)
		a.Title = f.from + " " + d.describe(&d.h.Events[f.sent])
	}
	if f.arrived >= 0 {
		a.X2 = d.x(f.arrived)
		a.Title = prefixedAfter(a.Title, "; ") + d.describe(&d.h.Events[f.arrived])
	}
	switch {
	case f.dropped:
		// Broken off half-way: it does not reach the receiver's lane.
		a.Class, a.Y2 = "lost", a.Y1+(a.Y2-a.Y1)*3/5
	case f.arrived < 0:
		a.Class, a.X2, a.Y2 = "flying", min(a.X1+40, d.fig.Width), a.Y1+(a.Y2-a.Y1)*2/5
		a.Title += "; still on its way at the end"
	case f.overtaken:
		a.Class = "late"
		d.lateLabel(&a, f)
	}
	d.fig.Arrows = append(d.fig.Arrows, a)
}

// lateLabel says beside the arrow's middle how long the message was held.
func (d *drawing) lateLabel(a *arrow, f *flight) {
	text := "in flight"
	if d.clock.unit != "" {
		text = d.clock.elapsed(d.h.Events[f.arrived].Time-d.h.Events[f.sent].Time) + " in flight"
	}
	half := len([]rune(text)) * boldW / 2
	for _, tenths := range []int{5, 6, 4, 7, 3, 8, 2} {
		x, y := a.X1+(a.X2-a.X1)*tenths/10, a.Y1+(a.Y2-a.Y1)*tenths/10
		if x-half > 0 && x+half < d.fig.Width && d.clear(x-half, x+half, y) {
			a.Label = &label{X: x, Y: y + 4, Text: text, Anchor: "middle"}
			return
		}
	}
}

// clear says whether a line of text in [x1, x2] round height y would touch no
// other text of the lanes.
func (d *drawing) clear(x1, x2, y int) bool {
	const room = 15
	for _, b := range d.fig.Bands {
		if b.Label != "" && x2 > b.LabelX && x1 < b.LabelX+len([]rune(b.Label))*boldW && near(y, b.LbY-4, room) {
			return false
		}
	}
	for _, o := range d.fig.Ops {
		if l := o.Label; l != nil && x2 > l.X && x1 < l.X+len([]rune(l.Text))*charW && near(y, l.Y-4, room) {
			return false
		}
	}
	for _, s := range d.fig.Shades {
		if s.Label.Text != "" && x2 > s.Label.X-40 && x1 < s.Label.X+40 && near(y, s.Label.Y-4, room) {
			return false
		}
	}
	for _, a := range d.fig.Arrows {
		if l := a.Label; l != nil && x2 > l.X-(x2-x1)/2 && x1 < l.X+(x2-x1)/2 && near(y, l.Y-4, room+5) {
			return false
		}
	}
	for _, l := range d.fig.Lanes {
		if near(y, l.Mid, 11) || l.Role != roleClient && near(y, l.Mid+17, 14) {
			return false // operations and marks, and the tokens below those
		}
	}
	return true
}

func near(a, b, room int) bool { return a-b < room && b-a < room }

// connect joins an operation to what servers noted of it, in a history that
// has no messages.
func (d *drawing) connect() {
	for _, c := range d.cols {
		e := &d.h.Events[c.pos]
		s := d.ops[e.Op]
		from := d.lane(d.presenter(e))
		to := d.lane(e.Process)
		if s == nil || e.Type != history.Note || from < 0 || to < 0 || from == to {
			continue
		}
		d.fig.Arrows = append(d.fig.Arrows, arrow{X1: d.x(s.invoke), Y1: d.fig.Lanes[from].Mid,
			X2: c.mid, Y2: d.fig.Lanes[to].Mid, Class: "served", Title: e.Process + " " + d.describe(e)})
	}
}

// symbols are the shapes of events that happen at one moment.
var symbols = map[history.F]string{
	history.Grant: "grant", history.Renewed: "renewed", history.Released: "released", history.Expire: "expire",
	history.Apply: "apply", history.Reject: "reject", history.Raised: "raised", history.Served: "served",
	history.Crash: "crash", history.Restart: "restart", history.Clock: "clock", history.Disbelieve: "disbelieve",
}

// symbolOf returns the shape of an event, empty for one that a bar, an arrow, a
// band or a shade shows already.
func symbolOf(e *history.Event) string {
	if e.Type == history.Note {
		return symbols[e.F]
	}
	if e.Type == history.Fail && e.Error == history.Stale {
		return "stale"
	}
	return ""
}

func (d *drawing) marks() {
	pairs := d.pairs()
	for _, c := range d.cols {
		e := &d.h.Events[c.pos]
		i := d.lane(d.who(e))
		d.worldRule(c, e)
		symbol := symbolOf(e)
		if _, ends := pairs[c.pos]; e.F == history.Pause && !ends && d.actsAfter(c.pos) {
			symbol = "stall"
		}
		if symbol == "" && c.pos == d.violation {
			symbol = "alarm"
		}
		if i < 0 || symbol == "" {
			continue
		}
		box := &d.fig.Lanes[i]
		m := mark{X: c.mid, Y: box.Mid, Symbol: symbol, Violation: c.pos == d.violation, Title: d.title(c.pos), Href: d.href(c.pos)}
		if e.Token != 0 && box.Role != roleClient {
			text := e.Token.String()
			if w := len(text) * digitW; c.mid-w/2 >= box.noted {
				m.Note = &label{X: c.mid, Y: box.Mid + 21, Text: text, Anchor: "middle"}
				if m.Violation {
					m.Note.Y += 5
				}
				box.noted = c.mid + w/2 + 3
			}
		}
		d.fig.Marks = append(d.fig.Marks, m)
	}
}

func (d *drawing) worldRule(c column, e *history.Event) {
	class := map[history.F]string{history.Partition: "partition", history.Heal: "heal", history.Quiet: "quiet"}[e.F]
	if class != "" {
		d.fig.Rules = append(d.fig.Rules, rule{X: c.mid, Class: class, Title: d.title(c.pos)})
	}
}

// title tells the event at pos in one line.
func (v *view) title(pos int) string {
	e := &v.h.Events[pos]
	s := "#" + strconv.FormatInt(e.Index, 10)
	if t := v.clock.instant(e.Time); t != "" {
		s += " at " + t
	}
	return s + ": " + prefixedAfter(v.who(e), " ") + v.describe(e)
}

func (v *view) href(pos int) string {
	return "#e" + strconv.FormatInt(v.h.Events[pos].Index, 10)
}

// header numbers the columns, those of the chain first where there is not room
// for all, and ties the steps of the chain to them.
func (d *drawing) header() {
	var taken spans
	for _, g := range d.fig.Gaps {
		if g.Elided != "" {
			taken.take(g.X+g.W/2, len(g.Elided)*digitW)
		}
	}
	for _, cited := range []bool{true, false} {
		for _, c := range d.cols {
			e := &d.h.Events[c.pos]
			text := strconv.FormatInt(e.Index, 10)
			if d.cited[c.pos] != cited || !cited && carriesMessage(e) || !taken.take(c.mid, len(text)*digitW+8) {
				continue
			}
			l := label{X: c.mid, Y: indexesTop, Text: text, Anchor: "middle", Title: d.title(c.pos)}
			if c.pos == d.violation {
				l.Class = "violation"
			}
			d.fig.Indexes = append(d.fig.Indexes, l)
		}
	}
	for _, c := range d.cols {
		if steps := d.links[c.pos]; len(steps) > 0 {
			d.badge(c, &d.h.Events[c.pos], steps)
		}
	}
}

// spans are the parts of a row that are taken.
type spans [][2]int

// take takes width round x, unless part of it is taken.
func (s *spans) take(x, width int) bool {
	from, to := x-(width+1)/2, x+(width+1)/2
	for _, t := range *s {
		if to > t[0] && from < t[1] {
			return false
		}
	}
	*s = append(*s, [2]int{from, to})
	return true
}

func (d *drawing) badge(c column, e *history.Event, steps []int) {
	text := numbers(steps)
	b := badge{X: c.mid, W: max(20, 12+len(text)*7), Y: badgesTop, Bottom: d.fig.LanesTop, Text: text, Violation: c.pos == d.violation}
	if i := d.lane(d.who(e)); i >= 0 {
		b.Bottom = d.fig.Lanes[i].Mid - 12
		if e.F == history.Believe || e.F == history.Disbelieve {
			b.Bottom = d.fig.Lanes[i].Y + bandsTop - 2
		}
	}
	d.fig.Badges = append(d.fig.Badges, b)
}

// times labels the axis where there is room: the violation and the ends of
// gaps first.
func (d *drawing) times() {
	d.fig.TimesTop = d.fig.Height + 18
	d.fig.Height += 30
	d.fig.Axis = d.clock.unit
	if d.clock.unit == "" {
		return
	}
	var taken spans
	for _, g := range d.fig.Gaps {
		if g.Elapsed != "" {
			taken.take(g.X+g.W/2, g.W-4)
		}
	}
	placed := map[string]bool{}
	place := func(i int) {
		c := d.cols[i]
		text := d.clock.label(d.h.Events[c.pos].Time)
		if placed[text] || !taken.take(c.mid, len([]rune(text))*digitW+6) {
			return
		}
		placed[text] = true
		l := label{X: c.mid, Y: d.fig.TimesTop, Text: text, Anchor: "middle", Title: d.clock.instant(d.h.Events[c.pos].Time)}
		if c.pos == d.violation {
			l.Class = "violation"
		}
		d.fig.Times = append(d.fig.Times, l)
	}
	place(d.column[d.violation])
	for _, g := range d.gaps {
		if g.jump {
			place(g.before)
		}
	}
	for i := range d.cols {
		place(i)
	}
}

// tints colours the columns of the events that the finding quotes.
func (d *drawing) tints() {
	quoted := map[int]bool{d.violation: true}
	for _, index := range d.finding.Events {
		if pos, ok := d.at[index]; ok {
			quoted[pos] = true
		}
	}
	for _, c := range d.cols {
		class := "quoted"
		if c.pos == d.violation {
			class = "violation"
		}
		if quoted[c.pos] {
			d.fig.Columns = append(d.fig.Columns, columnTint{X: c.left, W: c.right - c.left, Class: class})
		}
		if e := &d.h.Events[c.pos]; len(d.scopes) > 0 && e.ScopeName() != "" && !has(d.scopes, e.ScopeName()) {
			d.fig.Others = true
		}
	}
}

// numbers lists the first few of a list of numbers.
func numbers(list []int) string {
	var out []string
	for i, n := range list {
		if i == 2 {
			out = append(out, "…")
			break
		}
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ",")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), noun)
}

// prefixedAfter returns s+after, or nothing when s is empty.
func prefixedAfter(s, after string) string {
	if s == "" {
		return ""
	}
	return s + after
}

// thousands writes n with separators: 98,211.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
