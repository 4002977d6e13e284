package history

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	const types = "invoke ok fail info note"
	const operations = "acquire renew release raise write delete read cas batch"
	const servers = "grant renewed released expire apply reject raised served"
	const holders = "believe disbelieve"
	const world = "send deliver drop pause resume crash restart partition heal clock quiet"

	for i, name := range strings.Fields(types) {
		typ, err := ParseType(name)
		if err != nil || typ != Invoke+Type(i) || typ.String() != name {
			t.Errorf("ParseType(%q) = %v, %v", name, typ, err)
		}
		if want := name == "ok" || name == "fail" || name == "info"; typ.IsEnd() != want {
			t.Errorf("%v.IsEnd() = %v", typ, typ.IsEnd())
		}
	}
	seen := 0
	for _, group := range []struct {
		names string
		first F
		is    func(F) bool
	}{
		{operations, Acquire, F.IsOperation}, {servers, Grant, F.IsServerNote},
		{holders, Believe, F.IsHolderNote}, {world, Send, F.IsWorldNote},
	} {
		names := strings.Fields(group.names)
		for i, name := range names {
			f, err := ParseF(name)
			if err != nil || f != group.first+F(i) || f.String() != name {
				t.Errorf("ParseF(%q) = %v, %v", name, f, err)
			}
		}
		for f := range 256 {
			if want := f >= int(group.first) && f < int(group.first)+len(names); group.is(F(f)) != want {
				t.Errorf("%v is one of %q: %v, want %v", F(f), group.names, !want, want)
			}
		}
		seen += len(names)
	}
	if seen != len(fByName) {
		t.Errorf("%d names in the design, %d in the package", seen, len(fByName))
	}
}

func TestPredicates(t *testing.T) {
	for _, test := range []struct {
		name, names string
		is          func(F) bool
	}{
		{"IsMutation", "write delete cas batch", F.IsMutation},
		{"IsLease", "acquire renew release", F.IsLease},
		{"IsStore", "raise write delete read cas batch", F.IsStore},
	} {
		var got []string
		for f := range 256 {
			if test.is(F(f)) {
				got = append(got, F(f).String())
			}
		}
		if strings.Join(got, " ") != test.names {
			t.Errorf("%s: %v, want %s", test.name, got, test.names)
		}
	}
}

func TestNamesOfUnknown(t *testing.T) {
	if got := Type(0).String() + " " + Type(9).String() + " " + F(0).String() + " " + F(200).String(); got != "type(0) type(9) f(0) f(200)" {
		t.Error(got)
	}
	for _, name := range []string{"", "Invoke", "call"} {
		typ, err := ParseType(name)
		if typ != 0 || err == nil || !strings.Contains(err.Error(), "expected a type (invoke ok fail info note), found \""+name+`"`) {
			t.Errorf("ParseType(%q) = %v, %v", name, typ, err)
		}
		if f, err := ParseF(name); f != 0 || err == nil || !strings.Contains(err.Error(), "(acquire renew ") {
			t.Errorf("ParseF(%q) = %v, %v", name, f, err)
		}
	}
}

func TestValueString(t *testing.T) {
	for _, test := range []struct {
		value Value
		want  string
	}{
		{Value{}, ""}, {NilValue, "nil"}, {IntValue(-9), "-9"}, {IntValue(0), "0"},
		{TextValue("a\n\"b\""), `"a\n\"b\""`}, {TextValue(""), `""`}, {Value{Kind: Raw, Str: "[1]"}, "[1]"},
	} {
		if got := test.value.String(); got != test.want {
			t.Errorf("%#v: %s, want %s", test.value, got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"", "index", "time", "process", "resource", "release"}
	for _, test := range []struct{ misspelt, want, reason string }{
		{"indx", "index", "a letter is missing"},
		{"tiem", "time", "two letters are swapped"},
		{"proces", "process", "cut"},
		{"resourse", "resource", "one letter is another"},
		{"thread", "", "nothing is near"},
		{"x", "", "one letter is near nothing"},
		{"", "", "nothing was written"},
		{strings.Repeat("time", 100), "", "too long to be meant"},
	} {
		if got := nearest(test.misspelt, names); got != test.want {
			t.Errorf("nearest(%q) = %q, want %q: %s", test.misspelt, got, test.want, test.reason)
		}
	}
}
