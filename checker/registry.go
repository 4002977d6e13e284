package checker

import (
	"fmt"
	"strings"

	"staleproof/model/history"
)

// registry is every property, in the order in which they are listed. A new
// property is one file that declares it and one line here.
var registry = []*Property{
	&noStaleWrite,
	&tokenOrder,
	&renewalKeepsToken,
	&exclusiveGrant,
	&linearizable,
	&noFalseFencing,
	&givesUp,
	&leaseIdentity,
	&scopeIsolation,
	&noLostUpdate,
	&fenceSurvives,
	&exclusiveBelief,
}

// Property describes one guarantee and makes its monitor.
type Property struct {
	Name string
	// Guarantee is what must hold, in a sentence.
	Guarantee string
	// Doc says what is watched and how it is judged.
	Doc string
	// Timed, Untimed and Bounded say under which timing semantics the property
	// is judged. Recorded histories are judged as timed ones.
	Timed, Untimed, Bounded bool
	// Unaided says how the property is judged without the servers' notes, from
	// the clients' view alone.
	Unaided string

	// watch returns the events to observe, nil when nothing can be judged in
	// that view.
	watch   func(View) []interest
	monitor func(*env) Monitor
}

// View says whose notes a history holds. Without a server's notes, properties
// that can be judged from the clients' view alone are judged so.
type View struct {
	Coordinator bool // grant, renewed, released, expire
	Store       bool // apply, reject, raised, served
}

// env is what a monitor is made from.
type env struct {
	names  *names
	config Config
}

func (e *env) base(property string) base { return base{property: property, names: e.names} }

// untimed reports whether time is the number of a step.
func (e *env) untimed() bool { return e.config.Header.Timing == "untimed" }

// interest names a kind of event; Type Note leaves the verb to tell.
type interest struct {
	t history.Type
	f history.F
}

func notes(verbs ...history.F) []interest { return events(history.Note, verbs...) }

func events(t history.Type, verbs ...history.F) []interest {
	list := make([]interest, len(verbs))
	for i, f := range verbs {
		list[i] = interest{t, f}
	}
	return list
}

// ends are the three ways in which an operation of the verb can end.
func ends(verbs ...history.F) []interest {
	var list []interest
	for _, t := range []history.Type{history.OK, history.Fail, history.Info} {
		list = append(list, events(t, verbs...)...)
	}
	return list
}

// Properties lists every property that can be judged.
func Properties() []Property {
	list := make([]Property, len(registry))
	for i, p := range registry {
		list[i] = *p
	}
	return list
}

// Lookup returns the property of that name. The error of an unknown name
// suggests the nearest one.
func Lookup(name string) (Property, error) {
	all := make([]string, len(registry))
	for i, p := range registry {
		if p.Name == name {
			return *p, nil
		}
		all[i] = p.Name
	}
	return Property{}, fmt.Errorf("unknown property %q: did you mean %s? the properties are %s",
		name, nearest(name, all), strings.Join(all, ", "))
}

// nearest returns the candidate with the least edit distance to name.
func nearest(name string, candidates []string) string {
	best, least := "", -1
	for _, c := range candidates {
		if d := distance(name, c); least < 0 || d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions and replacements that turn a
// into b (Levenshtein 1966). A long a is cut: no name is that long.
func distance(a, b string) int {
	a = a[:min(len(a), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
