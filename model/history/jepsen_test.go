package history

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const (
	ednInvoke  = `{:type :invoke, :f :write, :value 3, :process 4, :time 120, :index 0}`
	jsonInvoke = `{"type":"invoke","f":"write","value":3,"process":4,"time":120,"index":0}`
)

// Each row is written in both notations and means the same in both.
func TestJepsenMapping(t *testing.T) {
	tests := []struct {
		name, edn, json string
		want            []Event
	}{
		{"register", `
			{:type :invoke, :f :read, :value nil, :process 0, :time 10, :index 5}
			{:type :invoke, :f :write, :value 3, :process 1, :time 11, :index 6}
			{:type :ok, :f :read, :value 2, :process 0, :time 12, :index 7}
			{:type :info, :f :write, :value 3, :process 1, :time 13, :index 9, :error :timeout}`, `
			{"type":"invoke","f":"read","value":null,"process":0,"time":10,"index":5}
			{"type":"invoke","f":"write","value":3,"process":1,"time":11,"index":6}
			{"type":"ok","f":"read","value":2,"process":0,"time":12,"index":7}
			{"type":"info","f":"write","value":3,"process":1,"time":13,"index":9,"error":"timeout"}`,
			[]Event{
				{Index: 5, Time: 10, Process: "0", Type: Invoke, F: Read, Op: 1},
				{Index: 6, Time: 11, Process: "1", Type: Invoke, F: Write, Op: 2, Value: IntValue(3)},
				{Index: 7, Time: 12, Process: "0", Type: OK, F: Read, Op: 1, Value: IntValue(2)},
				{Index: 9, Time: 13, Process: "1", Type: Info, F: Write, Op: 2, Value: IntValue(3), Error: "timeout"},
			}},
		{"index and time missing, nil or not stamped", `
			{:type :invoke :f :delete :process 0}
			{:type :ok :f :delete :process 0 :index nil :time nil}
			{:type :invoke :f :read :process 0 :index -1 :time -1}`, `
			{"type":"invoke","f":"delete","process":0}
			{"type":"ok","f":"delete","process":0,"index":null,"time":null}
			{"type":"invoke","f":"read","process":0,"index":-1,"time":-1}`,
			[]Event{
				{Index: 0, Process: "0", Type: Invoke, F: Delete, Op: 1},
				{Index: 1, Process: "0", Type: OK, F: Delete, Op: 1},
				{Index: 2, Process: "0", Type: Invoke, F: Read, Op: 2},
			}},
		{"cas", `
			{:type :invoke :f :cas :value [1 nil] :process 0}
			{:type :fail :f :cas :value [1 nil] :process 0}
			{:type :invoke :f :cas :value ["a" "b"] :process 0}
			{:type :ok :f :cas :value true :process 0}
			{:type :invoke :f :cas :value [[1 2] {:a 1}] :process 0}
			{:type :fail :f :cas :process 0 :error [:unavailable "no leader"]}`, `
			{"type":"invoke","f":"cas","value":[1,null],"process":0}
			{"type":"fail","f":"cas","value":[1,null],"process":0}
			{"type":"invoke","f":"cas","value":["a","b"],"process":0}
			{"type":"ok","f":"cas","value":true,"process":0}
			{"type":"invoke","f":"cas","value":[ [1, 2] , {"a": 1} ],"process":0}
			{"type":"fail","f":"cas","process":0,"error":["unavailable","no leader"]}`,
			[]Event{
				{Index: 0, Process: "0", Type: Invoke, F: CAS, Op: 1, Expect: IntValue(1), Value: NilValue},
				{Index: 1, Process: "0", Type: Fail, F: CAS, Op: 1, Expect: IntValue(1), Value: NilValue},
				{Index: 2, Process: "0", Type: Invoke, F: CAS, Op: 2, Expect: TextValue("a"), Value: TextValue("b")},
				{Index: 3, Process: "0", Type: OK, F: CAS, Op: 2},
				{Index: 4, Process: "0", Type: Invoke, F: CAS, Op: 3, Expect: Value{Kind: Raw, Str: "[1,2]"}, Value: Value{Kind: Raw, Str: `{"a":1}`}},
				{Index: 5, Process: "0", Type: Fail, F: CAS, Op: 3, Error: `["unavailable","no leader"]`},
			}},
		{"what a read was invoked with, or failed with, means nothing", `
			{:type :invoke :f :read :value 4 :process 0}
			{:type :fail :f :read :value 4 :process 0 :error nil}`, `
			{"type":"invoke","f":"read","value":4,"process":0}
			{"type":"fail","f":"read","value":4,"process":0,"error":null}`,
			[]Event{
				{Index: 0, Process: "0", Type: Invoke, F: Read, Op: 1},
				{Index: 1, Process: "0", Type: Fail, F: Read, Op: 1},
			}},
		{"locks by their older names, and leases of AtlasDB", `
			{:type :invoke :f :lock :value "bob" :process 3}
			{:type :ok :f :lock :value "LockRefreshToken [tokenId=1k3w]" :process 3}
			{:type :invoke :f :refresh :value "bob" :process 3}
			{:type :ok :f :refresh :value "LockRefreshToken [tokenId=1k3w]" :process 3}
			{:type :invoke :f :refresh :value "bob" :process 3}
			{:type :ok :f :refresh :value "" :process 3}
			{:type :invoke :f :unlock :value "bob" :process 3}
			{:type :ok :f :unlock :value "true" :process 3}
			{:type :invoke :f :unlock :value "bob" :process 3}
			{:type :ok :f :unlock :value "false" :process 3}`, `
			{"type":"invoke","f":"lock","value":"bob","process":3}
			{"type":"ok","f":"lock","value":"LockRefreshToken [tokenId=1k3w]","process":3}
			{"type":"invoke","f":"refresh","value":"bob","process":3}
			{"type":"ok","f":"refresh","value":"LockRefreshToken [tokenId=1k3w]","process":3}
			{"type":"invoke","f":"refresh","value":"bob","process":3}
			{"type":"ok","f":"refresh","value":"","process":3}
			{"type":"invoke","f":"unlock","value":"bob","process":3}
			{"type":"ok","f":"unlock","value":"true","process":3}
			{"type":"invoke","f":"unlock","value":"bob","process":3}
			{"type":"ok","f":"unlock","value":"false","process":3}`,
			[]Event{
				{Index: 0, Process: "3", Type: Invoke, F: Acquire, Op: 1, Resource: "bob"},
				{Index: 1, Process: "3", Type: OK, F: Acquire, Op: 1, Resource: "bob", Lease: "LockRefreshToken [tokenId=1k3w]"},
				{Index: 2, Process: "3", Type: Invoke, F: Renew, Op: 2, Resource: "bob"},
				{Index: 3, Process: "3", Type: OK, F: Renew, Op: 2, Resource: "bob", Lease: "LockRefreshToken [tokenId=1k3w]"},
				{Index: 4, Process: "3", Type: Invoke, F: Renew, Op: 3, Resource: "bob"},
				{Index: 5, Process: "3", Type: Fail, F: Renew, Op: 3, Resource: "bob", Error: "refused"},
				{Index: 6, Process: "3", Type: Invoke, F: Release, Op: 4, Resource: "bob"},
				{Index: 7, Process: "3", Type: OK, F: Release, Op: 4, Resource: "bob"},
				{Index: 8, Process: "3", Type: Invoke, F: Release, Op: 5, Resource: "bob"},
				{Index: 9, Process: "3", Type: Fail, F: Release, Op: 5, Resource: "bob", Error: "refused"},
			}},
		{"locks without a name, fencing tokens, names again", `
			{:type :invoke :f :acquire :process 0}
			{:type :ok :f :acquire :process 0 :value nil}
			{:type :invoke :f :renew :process 0 :value nil}
			{:type :ok :f :renew :process 0 :value false}
			{:type :invoke :f :acquire :process 1 :value 7}
			{:type :ok :f :acquire :process 1 :value 33}
			{:type :invoke :f :acquire :process 2 :value nil}
			{:type :ok :f :acquire :process 2 :value {:uid {:fence 1} :fence 34 :client "n1"}}
			{:type :invoke :f :release :process 1 :value 7}
			{:type :ok :f :release :process 1 :value 7}
			{:type :invoke :f :acquire :process 1 :value 7}
			{:type :fail :f :acquire :process 1 :value 7 :error "already held"}
			{:type :invoke :f :acquire :process 3 :value "true"}
			{:type :ok :f :acquire :process 3 :value true}
			{:type :invoke :f :acquire :process 3 :value "r"}
			{:type :ok :f :acquire :process 3 :value "r"}
			{:type :invoke :f :acquire :process 3}
			{:type :ok :f :acquire :process 3 :value 0}`, `
			{"type":"invoke","f":"acquire","process":0}
			{"type":"ok","f":"acquire","process":0,"value":null}
			{"type":"invoke","f":"renew","process":0,"value":null}
			{"type":"ok","f":"renew","process":0,"value":false}
			{"type":"invoke","f":"acquire","process":1,"value":7}
			{"type":"ok","f":"acquire","process":1,"value":33}
			{"type":"invoke","f":"acquire","process":2,"value":null}
			{"type":"ok","f":"acquire","process":2,"value":{"uid":{"fence":1},"token":34,"client":"n1"}}
			{"type":"invoke","f":"release","process":1,"value":7}
			{"type":"ok","f":"release","process":1,"value":7}
			{"type":"invoke","f":"acquire","process":1,"value":7}
			{"type":"fail","f":"acquire","process":1,"value":7,"error":"already held"}
			{"type":"invoke","f":"acquire","process":3,"value":"true"}
			{"type":"ok","f":"acquire","process":3,"value":true}
			{"type":"invoke","f":"acquire","process":3,"value":"r"}
			{"type":"ok","f":"acquire","process":3,"value":"r"}
			{"type":"invoke","f":"acquire","process":3}
			{"type":"ok","f":"acquire","process":3,"value":0}`,
			[]Event{
				{Index: 0, Process: "0", Type: Invoke, F: Acquire, Op: 1},
				{Index: 1, Process: "0", Type: OK, F: Acquire, Op: 1},
				{Index: 2, Process: "0", Type: Invoke, F: Renew, Op: 2},
				{Index: 3, Process: "0", Type: Fail, F: Renew, Op: 2, Error: "refused"},
				{Index: 4, Process: "1", Type: Invoke, F: Acquire, Op: 3, Resource: "7"},
				{Index: 5, Process: "1", Type: OK, F: Acquire, Op: 3, Resource: "7", Token: 33},
				{Index: 6, Process: "2", Type: Invoke, F: Acquire, Op: 4},
				{Index: 7, Process: "2", Type: OK, F: Acquire, Op: 4, Token: 34},
				{Index: 8, Process: "1", Type: Invoke, F: Release, Op: 5, Resource: "7"},
				{Index: 9, Process: "1", Type: OK, F: Release, Op: 5, Resource: "7"},
				{Index: 10, Process: "1", Type: Invoke, F: Acquire, Op: 6, Resource: "7"},
				{Index: 11, Process: "1", Type: Fail, F: Acquire, Op: 6, Resource: "7", Error: "already held"},
				{Index: 12, Process: "3", Type: Invoke, F: Acquire, Op: 7, Resource: "true"},
				{Index: 13, Process: "3", Type: OK, F: Acquire, Op: 7, Resource: "true"},
				{Index: 14, Process: "3", Type: Invoke, F: Acquire, Op: 8, Resource: "r"},
				{Index: 15, Process: "3", Type: OK, F: Acquire, Op: 8, Resource: "r"},
				{Index: 16, Process: "3", Type: Invoke, F: Acquire, Op: 9},
				{Index: 17, Process: "3", Type: OK, F: Acquire, Op: 9},
			}},
		{"fields beside the value, and in the map of a lock", `
			{:type :invoke :f :acquire :process 0 :value {:name "a" :client "n1"}}
			{:type :ok :f :acquire :process 0 :value {:fence 5} :lease "l" :node "db1"}
			{:type :invoke :f :write :process 0 :value 1 :token 5 :lease "l" :latency 7}
			{:type :fail :f :write :process 0 :value 1 :error :stale :highest 6}
			{:type :invoke :f :read :process 0 :value nil :key 7}
			{:type :ok :f :read :process 0 :value 1}
			{:type :invoke :f :release :process 0 :lock "a" :token 5}
			{:type :fail :f :release :process 0 :owner "n2"}`, `
			{"type":"invoke","f":"acquire","process":0,"value":{"name":"a","client":"n1"}}
			{"type":"ok","f":"acquire","process":0,"value":{"token":5},"leaseId":"l","node":"db1"}
			{"type":"invoke","f":"write","process":0,"value":1,"fencing_token":5,"lease":"l","latency":7}
			{"type":"fail","f":"write","process":0,"value":1,"error":"stale","highest":6}
			{"type":"invoke","f":"read","process":0,"value":null,"resource":7}
			{"type":"ok","f":"read","process":0,"value":1}
			{"type":"invoke","f":"release","process":0,"lock":"a","token":5}
			{"type":"fail","f":"release","process":0,"holder":"n2"}`,
			[]Event{
				{Index: 0, Process: "0", Client: "n1", Type: Invoke, F: Acquire, Op: 1, Resource: "a"},
				{Index: 1, Process: "0", Client: "n1", Type: OK, F: Acquire, Op: 1, Resource: "a", Token: 5, Lease: "l"},
				{Index: 2, Process: "0", Client: "n1", Type: Invoke, F: Write, Op: 2, Scope: "a", Token: 5, Lease: "l", Value: IntValue(1)},
				{Index: 3, Process: "0", Client: "n1", Type: Fail, F: Write, Op: 2, Scope: "a", Value: IntValue(1), Error: Stale, Highest: 6},
				{Index: 4, Process: "0", Client: "n1", Type: Invoke, F: Read, Op: 3, Resource: "7"},
				{Index: 5, Process: "0", Client: "n1", Type: OK, F: Read, Op: 3, Resource: "7", Value: IntValue(1)},
				{Index: 6, Process: "0", Client: "n1", Type: Invoke, F: Release, Op: 4, Resource: "a", Token: 5},
				{Index: 7, Process: "0", Client: "n1", Type: Fail, F: Release, Op: 4, Resource: "a", Owner: "n2"},
			}},
		{"keys of jepsen.independent", `
			{:type :invoke :f :write :process 0 :value [:x 1]}
			{:type :invoke :f :cas :process 1 :value [:y [nil 2]]}
			{:type :ok :f :write :process 0 :value [:x 1]}
			{:type :info :f :cas :process 1 :value [:y [nil 2]] :error :timeout}
			{:type :invoke :f :read :process 0 :value [:x nil]}
			{:type :ok :f :read :process 0 :value [:x 1]}
			{:type :invoke :f :write :process 0 :value [7 nil]}
			{:type :fail :f :write :process 0 :error :full}`, `
			{"type":"invoke","f":"write","process":0,"value":["x",1]}
			{"type":"invoke","f":"cas","process":1,"value":["y",[null,2]]}
			{"type":"ok","f":"write","process":0,"value":["x",1]}
			{"type":"info","f":"cas","process":1,"value":["y",[null,2]],"error":"timeout"}
			{"type":"invoke","f":"read","process":0,"value":["x",null]}
			{"type":"ok","f":"read","process":0,"value":["x",1]}
			{"type":"invoke","f":"write","process":0,"value":[7,null]}
			{"type":"fail","f":"write","process":0,"error":"full"}`,
			[]Event{
				{Index: 0, Process: "0", Type: Invoke, F: Write, Op: 1, Resource: "x", Value: IntValue(1)},
				{Index: 1, Process: "1", Type: Invoke, F: CAS, Op: 2, Resource: "y", Expect: NilValue, Value: IntValue(2)},
				{Index: 2, Process: "0", Type: OK, F: Write, Op: 1, Resource: "x", Value: IntValue(1)},
				{Index: 3, Process: "1", Type: Info, F: CAS, Op: 2, Resource: "y", Expect: NilValue, Value: IntValue(2), Error: "timeout"},
				{Index: 4, Process: "0", Type: Invoke, F: Read, Op: 3, Resource: "x"},
				{Index: 5, Process: "0", Type: OK, F: Read, Op: 3, Resource: "x", Value: IntValue(1)},
				{Index: 6, Process: "0", Type: Invoke, F: Write, Op: 4, Resource: "7", Value: NilValue},
				{Index: 7, Process: "0", Type: Fail, F: Write, Op: 4, Resource: "7", Error: "full"},
			}},
		{"timestamps", `
			{:type :invoke :f :read-operation :value nil :process 0}
			{:type :ok :f :read-operation :value 5 :process 0}
			{:type :invoke :f :read-operation :value 9 :process 0}
			{:type :info :f :read-operation :value nil :process 0 :error "timed out"}`, `
			{"type":"invoke","f":"read-operation","value":null,"process":0}
			{"type":"ok","f":"read-operation","value":5,"process":0}
			{"type":"invoke","f":"read-operation","value":9,"process":0}
			{"type":"info","f":"read-operation","value":null,"process":0,"error":"timed out"}`,
			[]Event{
				{Index: 0, Process: "0", Type: Invoke, F: Acquire, Op: 1},
				{Index: 1, Process: "0", Type: OK, F: Acquire, Op: 1, Token: 5},
				{Index: 2, Process: "0", Type: Invoke, F: Acquire, Op: 2},
				{Index: 3, Process: "0", Type: Info, F: Acquire, Op: 2, Error: "timed out"},
			}},
		{"nemesis, and others that are no clients", `
			{:type :info :f :start :process :nemesis :value nil}
			{:type :info :f :start :process :nemesis :value "Cut off {:n1 #{:n2}}"}
			{:type :info :f :stop :process :nemesis :value "fully connected"}
			{:type :info :f :kill :process :nemesis :value {:n1 1}}
			{:type :info :f :write :process :admin}
			{:type :info :f :pause :process :admin :value "n3"}
			{:type :invoke :f :write :process :w :value 1}
			{:type :info :f :write :process :w :value 1}`, `
			{"type":"info","f":"start","process":"nemesis","value":null}
			{"type":"info","f":"start","process":"nemesis","value":"Cut off {:n1 #{:n2}}"}
			{"type":"info","f":"stop","process":"nemesis","value":"fully connected"}
			{"type":"info","f":"kill","process":"nemesis","value":{:n1 1}}
			{"type":"info","f":"write","process":"admin"}
			{"type":"info","f":"pause","process":"admin","value":"n3"}
			{"type":"invoke","f":"write","process":"w","value":1}
			{"type":"info","f":"write","process":"w","value":1}`,
			[]Event{
				{Index: 1, Process: "nemesis", Type: Note, F: Partition, Text: "Cut off {:n1 #{:n2}}"},
				{Index: 2, Process: "nemesis", Type: Note, F: Heal, Text: "fully connected"},
				{Index: 3, Process: "nemesis", Type: Note, F: Crash, Text: "{:n1 1}"},
				{Index: 5, Process: "admin", Type: Note, F: Pause, Text: "n3"},
				{Index: 6, Process: "w", Type: Invoke, F: Write, Op: 1, Value: IntValue(1)},
				{Index: 7, Process: "w", Type: Info, F: Write, Op: 1, Value: IntValue(1)},
			}},
	}
	for _, test := range tests {
		ways := map[string]string{
			"edn lines": test.edn, "edn vector": "[" + test.edn + "]", "edn list": "(" + test.edn + "\n)",
			"json lines": test.json, "json array": "[" + strings.ReplaceAll(test.json, "}\n", "},\n") + "]",
		}
		for way, file := range ways {
			t.Run(test.name+", "+way, func(t *testing.T) {
				h, err := readFrom(strings.NewReader(file), "")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&History{Header{Format: Format}, test.want}, h); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				slow, err := readFrom(iotest.OneByteReader(strings.NewReader(file)), strings.ReplaceAll(strings.Fields(way)[0], "json", "jepsen-json"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(h, slow); diff != "" {
					t.Errorf("byte by byte (-want +got)\n%s", diff)
				}
			})
		}
	}
}

// A failed operation of an older test has the reason in the place of its value.
func TestJepsenReasons(t *testing.T) {
	const file = `{:process 1 :type :invoke :f :write :value 3} {:process 1 :type :fail :f :write :value :timed-out}
		{:process 1 :type :invoke :f :cas :value [1 2]} {:process 1 :type :info :f :cas :value :timed-out}
		{:process 2 :type :invoke :f :lock :value "r"} {:process 2 :type :info :f :lock :value :timed-out}
		{:process 3 :type :invoke :f :write :value :a} {:process 3 :type :fail :f :write :value :a :error :full}`
	h, err := readFrom(strings.NewReader(file), "edn")
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{
		{Index: 1, Process: "1", Type: Fail, F: Write, Op: 1, Error: "timed-out"},
		{Index: 3, Process: "1", Type: Info, F: CAS, Op: 2, Error: "timed-out"},
		{Index: 5, Process: "2", Type: Info, F: Acquire, Op: 3, Resource: "r", Error: "timed-out"},
		{Index: 7, Process: "3", Type: Fail, F: Write, Op: 4, Value: TextValue("a"), Error: "full"},
	}
	var got []Event
	for i := 1; i < len(h.Events); i += 2 {
		got = append(got, h.Events[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// recorded is the folder that STALEPROOF_HISTORIES names.
func recorded(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("STALEPROOF_HISTORIES")
	if dir == "" {
		t.Skip("STALEPROOF_HISTORIES names no folder of recorded histories")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories in %s: %v", dir, err)
	}
	return files
}

// What the patterns below find is what grep would: they know of no notation.
var (
	entryType = regexp.MustCompile(`(?::type :|"type": ?")(invoke|ok|fail|info)\b`)
	nemesis   = regexp.MustCompile(`:process :nemesis|"process": ?"nemesis"`)
	refusal   = regexp.MustCompile(`"value": "(false)?",`)
	fault     = regexp.MustCompile(`"Cut off|"fully connected"`)
	indexed   = regexp.MustCompile(`:index \d+`)
	holder    = regexp.MustCompile(`tokenId=`)
)

// Every history of a real system is read, and has as many events of each type
// as grep counts.
func TestRecordedHistories(t *testing.T) {
	for _, path := range recorded(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want, got tally
			for _, m := range entryType.FindAllSubmatch(content, -1) {
				want.count(&Event{Type: typeByName[string(m[1])]})
			}
			want.Info -= len(nemesis.FindAll(content, -1))
			if strings.Contains(path, "lock_test") { // a client was told that it lost the lease
				refused := len(refusal.FindAll(content, -1)) + len(regexp.MustCompile(`"value": "(false)?"\n`).FindAll(content, -1))
				want.OK, want.Fail = want.OK-refused, want.Fail+refused
			}
			h, err := Open(path, Reading{})
			if err != nil {
				t.Fatal(err)
			}
			notes, leases := 0, 0
			for i := range h.Events {
				e := &h.Events[i]
				got.count(e)
				if e.Type == Note {
					notes++
				}
				if e.Lease != "" {
					leases++
				}
				if strings.Contains(path, "lock_test") && (e.Resource == "" || e.Time == 0 || e.Value != Value{}) {
					t.Fatalf("incomplete event %+v", *e)
				}
				if strings.Contains(path, "timestamp") && e.Type == OK && e.Token == 0 {
					t.Fatalf("no token: %+v", *e)
				}
			}
			got.TimedOut, got.Nil = 0, 0
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if want := len(fault.FindAll(content, -1)); notes != want {
				t.Errorf("%d notes of the nemesis, want %d", notes, want)
			}
			if want := len(holder.FindAll(content, -1)); leases != want {
				t.Errorf("%d answers with a lease, want %d", leases, want)
			}
			if all := indexed.FindAll(content, -1); len(all) > 0 {
				if last := h.Events[len(h.Events)-1].Index; fmt.Sprint(":index ", last) != string(all[len(all)-1]) {
					t.Errorf("the last index is %d, want %s", last, all[len(all)-1])
				}
			}
		})
	}
}

// Wherever a recorded history is cut, its reader says so.
func TestRecordedHistoriesCutOff(t *testing.T) {
	for _, path := range recorded(t) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content = []byte(strings.TrimRight(string(content), "\n"))
		begin := strings.IndexAny(string(content), "[(")
		for n := len(content) - 1; n > begin; n -= 1 + len(content)/37 {
			format := map[string]string{".edn": "edn", ".json": "jepsen-json"}[filepath.Ext(path)]
			_, err := readFrom(strings.NewReader(string(content[:n])), format)
			if err == nil || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("%s, cut at byte %d: %v", path, n, err)
			}
		}
	}
}

// manyOperations writes operations for as long as somebody reads.
type manyOperations struct {
	format     string
	left, made int
	line       []byte
}

func (g *manyOperations) Read(p []byte) (int, error) {
	for len(g.line) == 0 {
		if g.left == 0 {
			return 0, io.EOF
		}
		n := g.made
		g.left, g.made = g.left-1, n+1
		// A template is faster than fmt: the reader is what this measures.
		invoke, ok := ednOperations[0], ednOperations[1]
		if g.format == "jepsen-json" {
			invoke, ok = jsonOperations[0], jsonOperations[1]
		}
		g.line = g.append(g.line, invoke, 2*n)
		g.line = g.append(g.line, ok, 2*n+1)
	}
	n := copy(p, g.line)
	g.line = g.line[:copy(g.line, g.line[n:])]
	return n, nil
}

var (
	ednOperations = [2]string{
		"{:type :invoke, :f :lock, :value \"r$\", :process $, :time $, :index $, :debug #{{:a [1 2.5]} \\x \"y\"}}\n",
		"#jepsen.history.Op{:type :ok, :f :lock, :value \"lease$\", :process $, :time $, :index $} ; done\n",
	}
	jsonOperations = [2]string{
		`{"type":"invoke","f":"lock","value":"r$","process":$,"time":$,"index":$,"debug":[{"a":[1,2.5]},"y"]}` + "\n",
		`{"type":"ok","f":"lock","value":"lease$","process":$,"time":$,"index":$}` + "\n",
	}
)

// append writes the template with the operation's number for each $, the last
// of which is the index.
func (g *manyOperations) append(line []byte, template string, index int) []byte {
	for {
		before, after, found := strings.Cut(template, "$")
		line = append(line, before...)
		switch {
		case !found:
			return line
		case strings.Contains(after, "$"):
			line = strconv.AppendInt(line, int64(g.made), 10)
		default:
			line = strconv.AppendInt(line, int64(index), 10)
		}
		template = after
	}
}

// Every operation has a process, a lock and a lease of its own, and still the
// readers keep none of them.
func TestJepsenMemoryIsBounded(t *testing.T) {
	for format, operations := range map[string]int{"edn": 1_000_000, "jepsen-json": 100_000} {
		if testing.Short() || underRace {
			operations = 10_000
		}
		source, err := NewSource(&manyOperations{format: format, left: operations}, "run.jsonl", Reading{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		var e Event
		heap := func(events int) uint64 {
			for range events {
				if err := source.Next(&e); err != nil {
					t.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		early := heap(operations / 5)
		late := heap(2*operations - operations/5)
		if err := source.Next(&e); err != io.EOF {
			t.Fatalf("%s: %v, expected the end", format, err)
		}
		if want := int64(2*operations - 1); e.Index != want || e.Op != int64(operations) || e.Lease == "" {
			t.Errorf("%s: the last event is %+v", format, e)
		}
		if late > early+256<<10 {
			t.Errorf("%s: the heap grew from %d to %d bytes", format, early, late)
		}
		runtime.KeepAlive(source)
	}
}

func benchmarkJepsen(b *testing.B, format string) {
	const operations = 10000
	file, err := io.ReadAll(&manyOperations{format: format, left: operations})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file) / (2 * operations)))
	b.ReportAllocs()
	var source Source
	var e Event
	n := 0
	for b.Loop() {
		if n%(2*operations) == 0 {
			if source, err = NewSource(bytes.NewReader(file), "run.jsonl", Reading{Format: format}); err != nil {
				b.Fatal(err)
			}
		}
		if err := source.Next(&e); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkEDN(b *testing.B)        { benchmarkJepsen(b, "edn") }
func BenchmarkJepsenJSON(b *testing.B) { benchmarkJepsen(b, "jepsen-json") }
