package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestKeysAsFiles: a history with keys has the verdict of the worst of the histories
// on each key alone, whatever notation names the keys.
func TestKeysAsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		const keys = 3
		var independent, beside strings.Builder
		var alone [keys]strings.Builder
		values := [keys]int{}
		fmt.Fprintf(&independent, "{:process 9, :type :invoke, :f :read, :value [0 nil]}\n{:process 9, :type :fail, :f :read}\n")
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			key, process := rapid.IntRange(0, keys-1).Draw(t, "key"), rapid.IntRange(0, 2).Draw(t, "process")
			end := rapid.SampledFrom([]string{"ok", "ok", "ok", "fail"}).Draw(t, "end")
			f := rapid.SampledFrom([]string{"read", "write", "cas"}).Draw(t, "f")
			invoked, ended := "nil", "nil"
			switch f {
			case "read":
				if ended = fmt.Sprint(values[key]); rapid.IntRange(0, 15).Draw(t, "stale") == 0 {
					ended = "1"
				}
			case "write":
				invoked = fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "value"))
				ended = invoked
			case "cas":
				invoked = fmt.Sprintf("[%d %d]", values[key], rapid.IntRange(0, 3).Draw(t, "value"))
				ended = invoked
			}
			if f != "read" && end == "ok" {
				fmt.Sscan(strings.Trim(ended[strings.LastIndex(ended, " ")+1:], "]"), &values[key])
			}
			for _, part := range []struct{ typ, value string }{{"invoke", invoked}, {end, ended}} {
				fmt.Fprintf(&independent, "{:process %d, :type :%s, :f :%s, :value [%d %s]}\n", process, part.typ, f, key, part.value)
				fmt.Fprintf(&beside, "{:process %d, :type :%s, :f :%s, :value %s, :key %d}\n", process, part.typ, f, part.value, key)
				fmt.Fprintf(&alone[key], "{:process %d, :type :%s, :f :%s, :value %s}\n", process, part.typ, f, part.value)
			}
		}
		check := func(history string) int {
			if history == "" {
				return exitOK
			}
			if err := os.WriteFile("history", []byte(history), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, errs := invoke("check", "--model", "cas-register", "--init", "0", "history")
			if code == exitUsage {
				t.Fatalf("%s%s:\n%s", out, errs, history)
			}
			return code
		}
		worst := exitOK
		for key := range keys {
			worst = max(worst, check(alone[key].String()))
		}
		if got := check(independent.String()); got != worst {
			t.Fatalf("exit code %d as [key value], the worst of the keys has %d:\n%s", got, worst, independent.String())
		}
		if got := check(beside.String()); got != worst {
			t.Fatalf("exit code %d with keys beside, the worst of the keys has %d:\n%s", got, worst, beside.String())
		}
	})
}

// TestFieldsAsOwnFormat: leases and fenced writes have one verdict, written as Jepsen
// does with the fields beside the value, and written in the format of one's own.
func TestFieldsAsOwnFormat(t *testing.T) {
	t.Chdir(t.TempDir())
	broken := 0
	rapid.Check(t, func(t *rapid.T) {
		var foreign, own strings.Builder
		own.WriteString(`{"format":"staleproof.history/1"}` + "\n")
		token, held, index := 0, [2]int{}, 0
		add := func(process int, typ, f, fields, jepsen string) {
			fmt.Fprintf(&own, `{"index":%d,"process":"%d","type":"%s","f":"%s","resource":"r"%s}`+"\n", index, process, typ, f, fields)
			fmt.Fprintf(&foreign, "{:process %d, :type :%s, :f :%s, :resource \"r\"%s}\n", process, typ, f, jepsen)
			index++
		}
		both := func(process int, typ, f string, presented int, value string) {
			fields, jepsen := "", ""
			if presented != 0 {
				fields, jepsen = fmt.Sprintf(`,"token":%d`, presented), fmt.Sprintf(", :token %d", presented)
			}
			if value != "" {
				fields, jepsen = fields+`,"value":`+value, jepsen+", :value "+value
			}
			add(process, typ, f, fields, jepsen)
		}
		for n := range rapid.IntRange(2, 14).Draw(t, "operations") {
			process := rapid.IntRange(0, 1).Draw(t, "process")
			switch f := rapid.SampledFrom([]string{"acquire", "write", "write", "release"}).Draw(t, "f"); {
			case f == "acquire":
				if token++; rapid.IntRange(0, 9).Draw(t, "regress") == 0 && token > 1 {
					token--
				}
				held[process] = token
				both(process, "invoke", f, 0, "")
				both(process, "ok", f, token, "")
			case held[process] == 0:
			case f == "release":
				both(process, "invoke", f, held[process], "")
				both(process, "ok", f, 0, "")
				held[process] = 0
			default:
				both(process, "invoke", f, held[process], fmt.Sprint(n))
				both(process, "ok", f, 0, fmt.Sprint(n))
			}
		}
		if index == 0 {
			return
		}
		check := func(history string) (int, string) {
			if err := os.WriteFile("history", []byte(history), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, errs := invoke("check", "--explain", "history")
			return code, out + errs
		}
		wantCode, want := check(own.String())
		if gotCode, got := check(foreign.String()); gotCode != wantCode || got != want {
			t.Fatalf("exit code %d as Jepsen's, %d in the own format:\n%s\n%s\n%s", gotCode, wantCode, foreign.String(), got, want)
		}
		if wantCode == exitViolation {
			broken++
		}
	})
	if broken == 0 {
		t.Error("no history was violated")
	}
}
