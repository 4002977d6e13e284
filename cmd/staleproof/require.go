package main

import (
	"strings"

	"staleproof/checker"
	"staleproof/reports"
)

// headline is the property that every history is expected to be judged by.
const headline = "no-stale-write"

// requirable are the names that --require takes: those of the results that a model
// may have.
func requirable() []string {
	var names []string
	for _, p := range checker.Properties() {
		names = append(names, p.Name)
	}
	return append(names, modelNames()...)
}

// parseRequired reads the values of --require, each of which may be a list.
func parseRequired(values []string) ([]string, error) {
	var names []string
	for _, value := range values {
		for _, name := range strings.Split(value, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return nil, usagef("--require: expected the name of a property, found %q", value)
			}
			if !contains(requirable(), name) {
				return nil, unknown("property", name, requirable(), "staleproof list properties")
			}
			names = append(names, name)
		}
	}
	return names, once("--require", "property", names)
}

// judgedBy reports whether a property was judged, or the model of that name.
func (j *judged) judgedBy(name string) bool {
	return name == j.Model || contains(j.properties(), name)
}

// unjudged lists the properties that were not judged: of the fenced model all for
// which the history does not tell enough, of another one the headline.
func (j *judged) unjudged() []string {
	if j.Model != "fenced" {
		return []string{headline}
	}
	var names []string
	for _, p := range checker.Properties() {
		if !j.judgedBy(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// lacks says why a property was not judged.
func (j *judged) lacks(property string) string {
	switch {
	case j.Model != "fenced":
		return "the model " + j.Model + " says nothing of it"
	case property == headline:
		return "it takes tokens, and the store's notes of what it applied"
	}
	return "it takes what the history does not tell"
}

// untried says that no stale write was seen.
const untried = "No stale write was seen: the fence was not tried."

// warning says why a satisfied history is no plain pass: the headline was not judged,
// or nothing that it forbids was tried. It is empty where that is not so.
func (j *judged) warning() string {
	switch {
	case j.Outcome != checker.Satisfied:
		return ""
	case !j.judgedBy(headline):
		return "The property " + headline + " was not judged: " + j.lacks(headline) + "."
	case j.Sometimes[checker.StaleWriteAttempted] == 0:
		return untried
	}
	return ""
}

// skipped lists the properties that nothing broke and that are no passes either.
func (j *judged) skipped() []reports.KeyValue {
	var list []reports.KeyValue
	for _, name := range j.unjudged() {
		list = append(list, reports.KeyValue{Key: name, Value: "not judged: " + j.lacks(name)})
	}
	if j.warning() == untried {
		list = append(list, reports.KeyValue{Key: headline, Value: untried})
	}
	return list
}

// require makes a satisfied history inconclusive unless it was judged by all the
// names, and no-stale-write exercised if it is one of them.
func (j *judged) require(names []string) {
	var open []string
	for _, name := range names {
		switch {
		case !j.judgedBy(name):
			open = append(open, name+" was not judged: "+j.lacks(name))
		case name == headline && j.Sometimes[checker.StaleWriteAttempted] == 0:
			open = append(open, name+" was not exercised: no stale write was seen")
		}
	}
	if len(open) == 0 {
		return
	}
	if j.reason != "" {
		j.reason += "; "
	}
	j.reason += "required, but " + strings.Join(open, "; ")
	if j.Outcome == checker.Satisfied {
		j.Outcome = checker.Inconclusive
	}
}

// met says how often the situations that a fence is for occurred.
func (j *judged) met() []string {
	wanted := []checker.Fact{checker.StaleWriteAttempted}
	noted := j.judgedBy(headline)
	if !noted {
		wanted = nil
	}
	var met []string
	for _, c := range exercised(j.Sometimes, wanted) {
		met = append(met, c.Name+" "+count(c.Count))
	}
	switch {
	case noted:
	case j.Sometimes[checker.StaleWriteAttempted] == 0:
		met = append(met, checker.StaleWriteAttempted.String()+" not counted without the store's notes")
	default:
		met[len(met)-1] += " (as clients saw it)"
	}
	return met
}
