package reports

import (
	"fmt"
	"sort"

	"staleproof/model/history"
)

// panels draws, for each scope, the greatest accepted token as a line that
// steps up, with every presented token on it or, when stale, below it.
func (d *drawing) panels() {
	byScope := map[string][]acceptance{}
	for _, a := range d.acceptances() {
		byScope[a.scope] = append(byScope[a.scope], a)
	}
	for _, scope := range d.scopes {
		if len(byScope[scope]) > 0 {
			d.panel(scope, byScope[scope])
		}
	}
}

const (
	maxLevels  = 12
	fewLevels  = 6 // of which some may be of events that are not drawn
	panelHead  = 26
	panelFoot  = 14
	panelSpace = 110 // for the levels, unless two of them need less
)

func (d *drawing) panel(scope string, all []acceptance) {
	p := panel{Y: d.fig.Height, Scope: clipMiddle(scope, 12), Full: scope}
	before, shown := d.split(all)
	levels := d.levels(before, shown)
	step := 24
	if n := len(levels) - 1; n > 0 {
		step = min(24, panelSpace/n)
	}
	p.H = panelHead + step*(len(levels)-1) + panelFoot
	y := func(t history.Token) int {
		i := sort.Search(len(levels), func(i int) bool { return levels[i] >= t })
		return p.Y + panelHead + step*(len(levels)-1-min(i, len(levels)-1))
	}
	var taken spans
	for _, decisive := range []bool{true, false} {
		for i := len(levels) - 1; i >= 0; i-- {
			at := y(levels[i])
			if d.decides(shown, levels[i]) != decisive {
				continue
			}
			p.Lines = append(p.Lines, at)
			if taken.take(at, 12) {
				text := levels[i].String()
				if levels[i] == 0 {
					text = "none"
				}
				p.Levels = append(p.Levels, label{Y: at + 4, Text: text, Anchor: "end"})
			}
		}
	}
	d.line(&p, before, shown, y)
	d.points(&p, shown, y)
	d.fig.Panels = append(d.fig.Panels, p)
	d.fig.Height += p.H
}

// decides says whether a token is presented or accepted at the violation.
func (d *drawing) decides(shown []acceptance, t history.Token) bool {
	for i := range shown {
		if a := &shown[i]; a.pos == d.violation && (a.token == t || a.greatest == t) {
			return true
		}
	}
	return false
}

// split parts what happened before the drawing, of which only the greatest
// token matters, from what is in it.
func (d *drawing) split(all []acceptance) (before history.Token, shown []acceptance) {
	first, last := d.cols[0].pos, d.cols[len(d.cols)-1].pos
	for _, a := range all {
		switch {
		case a.pos < first:
			before = a.greatest
		case a.pos <= last:
			shown = append(shown, a)
		}
	}
	return before, shown
}

// levels lists the tokens that have a height, lowest first, at most maxLevels:
// of more, those of the violation stay, and those that are drawn nearest to it.
func (d *drawing) levels(before history.Token, shown []acceptance) []history.Token {
	var all []history.Token
	add := func(t history.Token) {
		i := sort.Search(len(all), func(i int) bool { return all[i] >= t })
		if i < len(all) && all[i] == t || len(all) >= maxLevels {
			return
		}
		all = append(all, 0)
		copy(all[i+1:], all[i:])
		all[i] = t
	}
	for _, a := range shown {
		if a.pos == d.violation {
			add(a.token)
			add(a.greatest)
		}
	}
	for _, a := range shown {
		if a.forgot() {
			add(a.noted)
		}
	}
	add(before)
	for _, drawn := range []bool{true, false} {
		for i := len(shown) - 1; i >= 0; i-- {
			a := &shown[i]
			if _, ok := d.column[a.pos]; ok == drawn && (drawn || len(all) < fewLevels) {
				add(a.greatest)
				add(a.token)
			}
		}
	}
	return all
}

func (d *drawing) line(p *panel, before history.Token, shown []acceptance, y func(history.Token) int) {
	at := before
	path := fmt.Sprintf("M0 %d", y(at))
	for _, a := range shown {
		if a.greatest != at {
			path += fmt.Sprintf("H%dV%d", d.x(a.pos), y(a.greatest))
			at = a.greatest
		}
	}
	p.Path = path + fmt.Sprintf("H%d", d.fig.Width)
	d.forgotten(p, shown, y)
}

// forgot says whether a store remembered less than it had accepted.
func (a *acceptance) forgot() bool { return a.noted != 0 && a.noted < a.greatest }

// forgotten draws, below the line of what was accepted, where the store's own
// fence was, by what the store noted: from the restart at which it can have
// fallen until a note says that it is up again.
func (d *drawing) forgotten(p *panel, shown []acceptance, y func(history.Token) int) {
	for i := range shown {
		a := &shown[i]
		if !a.forgot() {
			continue
		}
		from, to := d.fellAt(shown, i), d.fig.Width
		if i+1 < len(shown) {
			to = d.x(shown[i+1].pos)
		}
		p.Forgotten += fmt.Sprintf("M%d %dV%dH%d", from, y(a.greatest), y(a.noted), to)
		if p.ForgotNote == nil {
			p.ForgotNote = &label{X: from + 6, Y: (y(a.greatest)+y(a.noted))/2 + 4, Text: "forgot " + a.greatest.String(), Anchor: "start"}
		}
	}
}

// fellAt returns where a store's fence fell that had fallen by the acceptance i:
// at the store's last restart since the acceptance before.
func (d *drawing) fellAt(shown []acceptance, i int) int {
	after := -1
	if i > 0 {
		after = shown[i-1].pos
	}
	store := d.h.Events[shown[i].pos].Process
	for pos := shown[i].pos; pos > after; pos-- {
		if e := &d.h.Events[pos]; e.F == history.Restart && e.Process == store {
			return d.x(pos)
		}
	}
	if i > 0 && shown[i-1].forgot() {
		return d.x(after)
	}
	return d.x(shown[i].pos)
}

// maxLeftOut is how many tokens presented at events that are left out still have
// a point: more would lie on each other.
const maxLeftOut = 20

func (d *drawing) leftOut(shown []acceptance) int {
	n := 0
	for _, a := range shown {
		if _, drawn := d.column[a.pos]; !drawn {
			n++
		}
	}
	return n
}

// points draws the presented tokens. Several in one place, in a part that is
// not drawn, are one point, and none when there are very many.
func (d *drawing) points(p *panel, shown []acceptance, y func(history.Token) int) {
	type place struct{ x, y int }
	seen := map[place]bool{}
	crowded := d.leftOut(shown) > maxLeftOut
	taken := map[int]int{} // by height: x up to which there is text
	for i, a := range shown {
		at := place{d.x(a.pos), y(a.token)}
		violation := a.pos == d.violation
		if _, drawn := d.column[a.pos]; !drawn && (seen[at] || crowded) {
			continue
		}
		seen[at] = true
		pt := point{X: at.x, Y: at.y, LineY: y(a.greatest), Below: a.stale, Violation: violation, Title: d.title(a.pos), Symbol: symbolOf(&d.h.Events[a.pos])}
		if pt.Symbol == "" {
			pt.Symbol = "apply"
			if !a.accepted {
				pt.Symbol = "reject"
			}
		}
		next := d.fig.Width - 4
		for _, b := range shown[i+1:] {
			if y(b.token) == at.y {
				next = d.x(b.pos) - 14
				break
			}
		}
		pt.Note = pointNote(a, at.x, at.y, taken[at.y], next)
		if pt.Note != nil {
			taken[at.y] = pt.Note.X + len([]rune(pt.Note.Text))*boldW
			if pt.Note.Anchor == "end" {
				taken[at.y] = at.x + 10
			}
		} else {
			taken[at.y] = at.x + 10
		}
		p.Points = append(p.Points, pt)
	}
}

// pointNote names who presented a token, and says of a stale one what became
// of it, beside the point where there is room.
func pointNote(a acceptance, x, y, taken, next int) *label {
	var texts []string
	if a.stale {
		fate := "refused"
		if a.accepted {
			fate = "accepted"
		}
		relation := fmt.Sprintf("%s < %s", a.token, a.greatest)
		texts = append(texts, clipMiddle(a.client, 14)+" "+fate+": "+relation, relation)
	} else if a.read && a.token > a.greatest && a.greatest != 0 {
		texts = append(texts, fmt.Sprintf("%s reads, the fence at %s", clipMiddle(a.client, 14), a.greatest), clipMiddle(a.client, 14)+" reads")
	} else if a.read {
		texts = append(texts, clipMiddle(a.client, 14)+" reads", clipMiddle(a.client, 14))
	} else {
		texts = append(texts, clipMiddle(a.client, 14))
	}
	class := ""
	if a.stale && a.accepted {
		class = "violation"
	} else if a.stale {
		class = "stale"
	}
	clear := 13
	if class == "violation" {
		clear = 20 // of the ring round the point
	} else if class == "" {
		y -= 9 // of the line
	}
	for _, text := range texts {
		width := len([]rune(text)) * boldW // names have wide letters
		if text != "" && x+clear+width <= next {
			return &label{X: x + clear, Y: y + 4, Text: text, Class: class, Anchor: "start"}
		}
		if text != "" && x-clear-width >= taken {
			return &label{X: x - clear, Y: y + 4, Text: text, Class: class, Anchor: "end"}
		}
	}
	return nil
}
