package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// edn writes operations as Jepsen does. Each line is process, type, f and the rest:
//
//	0 invoke write 3 :token 5
func edn(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		b.WriteString("{:process " + words[0] + ", :type :" + words[1] + ", :f :" + words[2])
		rest := strings.Join(words[3:], " ")
		if rest != "" && rest[0] != ':' {
			b.WriteString(", :value")
		}
		b.WriteString(" " + rest + "}\n")
	}
	return b.String()
}

// TestForeignHistories judges small histories as others record them, of each class
// one that holds and one that does not, or one that cannot be read.
func TestForeignHistories(t *testing.T) {
	const keyed = `
		0 invoke write [1 5]
		0 ok write [1 5]
		1 invoke write [2 6]
		1 ok write [2 6]
		1 invoke read [2 nil]
		1 ok read [2 %]`
	const reentrant = `
		0 invoke acquire "a"
		0 ok acquire "a"
		0 invoke acquire "a"
		0 ok acquire "a"
		0 invoke release "a"
		0 ok release "a"
		0 invoke release "a"
		0 ok release "a"`
	const locked = `
		0 invoke acquire "a"
		0 ok acquire "a"
		0 invoke write 1
		0 ok write 1
		0 invoke release "a"
		0 ok release "a"
		1 invoke acquire "a"
		1 ok acquire "a"
		1 invoke read nil
		1 ok read %
		1 invoke release "a"
		1 ok release "a"`
	for _, c := range []struct {
		name string
		text string // as edn takes it, or a whole file
		args []string
		exit int
		says string // in the output, its lines joined
	}{
		// Fields beside the value.
		{"tokens that rise", `
			0 invoke write 1 :token 5
			0 ok write 1
			1 invoke write 2 :token 6
			1 ok write 2`, nil, 0, "fenced"},
		{"a token that falls, named in the invoke alone", `
			0 invoke write 1 :token 6
			0 ok write 1
			1 invoke write 2 :token 5
			1 ok write 2`, nil, 1, "token 5"},
		{"the same under another name", `
			0 invoke write 1 :fencing-token 6
			0 ok write 1
			1 invoke write 2 :fencing-token 5
			1 ok write 2`, nil, 1, "token 5"},
		{"the same in JSON, in another spelling", `{"process":0,"type":"invoke","f":"write","value":1,"fencingToken":6}
			{"process":0,"type":"ok","f":"write","value":1}
			{"process":1,"type":"invoke","f":"write","value":2,"fencing_token":5}
			{"process":1,"type":"ok","f":"write","value":2}`, nil, 1, "token 5"},
		{"two resources with tokens of their own", `
			0 invoke write 1 :token 6 :resource "x"
			0 ok write 1
			1 invoke write 2 :token 5 :resource "y"
			1 ok write 2`, nil, 0, ""},
		{"one token twice, of two leases", `
			0 invoke acquire "a"
			0 ok acquire "a" :token 5 :lease "l1"
			1 invoke acquire "a"
			1 ok acquire "a" :token 5 :lease "l2"`, nil, 1, "token-order"},
		{"a token that is no number", `
			0 invoke write 1 :token "6"`, nil, 2, "expected a token, an integer from 1, under :token, found the string \"6\""},
		{"a token that counts from 0", `
			0 invoke write 1 :token 0`, nil, 2, "add one to every token"},
		{"tokens in the answers of a lock, as maps", `
			0 invoke acquire {:name "a"}
			0 ok acquire {:name "a" :fence 5}
			1 invoke acquire {:name "a"}
			1 ok acquire {:name "a" :fence 4}`, nil, 1, "token-order"},
		{"a stale write that is refused", `
			0 invoke acquire "a"
			0 ok acquire "a" :token 1
			1 invoke acquire "a"
			1 ok acquire "a" :token 2
			1 invoke write 7 :token 2
			1 ok write 7
			0 invoke write 8 :token 1
			0 fail write 8 :error :stale
			1 invoke read nil :token 2
			1 ok read 7`, nil, 0, ""},
		{"a field that may matter", `
			0 invoke write 1 :epoch 5
			0 ok write 1 :epoch 5`, nil, 2, "found the field \"epoch\""},
		{"a field that may matter, left unread", `
			0 invoke write 1 :epoch 5
			0 ok write 1 :epoch 5`, []string{"--ignore-field", "epoch"}, 0, "left unread (--ignore-field): epoch"},
		{"fields that do not matter", `
			0 invoke write 1 :node "n1" :debug {:a 1} :clock-offsets {"n1" 0.5}
			0 ok write 1 :latency 12.5 :exception {:via []} :link 3`, nil, 0, ""},
		{"keys beside the value", `
			0 invoke write 1 :key :a
			0 ok write 1 :key :a
			0 invoke write 2 :key :b
			0 ok write 2 :key :b
			0 invoke read nil :key :a
			0 ok read 2 :key :a`, nil, 1, "read -> 2"},
		{"a number and a text are two keys", `
			0 invoke write 1 :key 1
			0 ok write 1
			0 invoke read nil :key "1"
			0 ok read nil`, nil, 0, ""},
		{"another key in the end", `
			0 invoke write 1 :key :a
			0 ok write 1 :key :b`, nil, 2, "resource"},
		{"an owner goes on under another process", `
			0 invoke acquire "a" :owner "x"
			0 ok acquire "a"
			9 invoke release "a" :owner "x"
			9 ok release "a"
			1 invoke acquire "a" :owner "y"
			1 ok acquire "a"`, []string{"--model", "mutex"}, 0, ""},
		{"another owner releases", `
			0 invoke acquire "a" :owner "x"
			0 ok acquire "a"
			9 invoke release "a" :owner "y"
			9 ok release "a"`, []string{"--model", "mutex"}, 1, "broke mutex"},
		{"an owner is that of the following operations, too", `
			0 invoke acquire "a" :owner "x"
			0 ok acquire "a"
			0 invoke release "a"
			0 ok release "a"`, []string{"--model", "mutex"}, 0, ""},
		{"an owner in some operations", `
			0 invoke acquire "a"
			0 ok acquire "a"
			0 invoke release "a" :owner "x"
			0 ok release "a"`, []string{"--model", "mutex"}, 2, "expected the owner of every operation on a lock, or of none"},
		{"a refusal names who has the lock", `
			0 invoke acquire "a" :owner "x"
			0 ok acquire "a"
			1 invoke acquire "a" :owner "y"
			1 fail acquire "a" :owner "x"`, []string{"--model", "mutex"}, 0, ""},
		{"a refusal names the greatest token", `
			0 invoke write 1 :token 6
			0 ok write 1
			1 invoke write 2 :token 5
			1 fail write 2 :error :stale :highest 6`, nil, 0, ""},
		{"a refusal names a token that was never there", `
			0 invoke write 1 :token 6
			0 ok write 1
			1 invoke write 2 :token 7
			1 fail write 2 :error :stale :highest 8`, nil, 1, ""},
		{"data under a lock that is named later", `
			2 invoke read nil
			2 ok read nil
			0 invoke acquire "a"
			0 ok acquire "a" :token 1
			1 invoke acquire "a"
			1 ok acquire "a" :token 2
			1 invoke write 5 :token 2
			1 ok write 5
			0 invoke write 6 :token 1
			0 ok write 6`, nil, 1, "token 1"},
		{"data with tokens under several locks", `
			0 invoke acquire "a"
			0 ok acquire "a" :token 1
			0 invoke write 6 :token 1
			0 ok write 6
			1 invoke acquire "b"
			1 ok acquire "b" :token 1`, nil, 2, "where there are several locks"},

		// Names of locks.
		{"one lock in a map, acquired twice", `
			0 invoke acquire {:name "a"}
			0 ok acquire {:name "a"}
			1 invoke acquire {:name "a"}
			1 ok acquire {:name "a"}`, []string{"--model", "mutex"}, 1, "broke mutex"},
		{"two locks in vectors", `
			0 invoke acquire ["a" 1]
			0 ok acquire ["a" 1]
			1 invoke acquire ["a" 2]
			1 ok acquire ["a" 2]`, []string{"--model", "mutex"}, 0, ""},
		{"a lock in a vector, acquired twice", `
			0 invoke acquire ["a" 1]
			0 ok acquire ["a" 1]
			1 invoke acquire ["a" 1]
			1 ok acquire ["a" 1]`, []string{"--model", "mutex"}, 1, "broke mutex"},
		{"two locks of jepsen.independent", `
			0 invoke acquire ["a" nil]
			0 ok acquire ["a" 7]
			1 invoke acquire ["b" nil]
			1 ok acquire ["b" 7]`, nil, 0, "fenced"},
		{"locks beside the value", `
			0 invoke acquire nil :lock "a"
			0 ok acquire nil
			1 invoke acquire nil :lock "b"
			1 ok acquire nil
			2 invoke acquire nil :lock "b"
			2 ok acquire nil`, []string{"--model", "mutex"}, 1, "process 2 acquired the lock"},
		{"two names of one lock", `
			0 invoke acquire "a" :lock "b"`, nil, 2, "expected the lock \"b\", or no name"},
		{"a lock's answer that means nothing known", `
			0 invoke acquire "a"
			0 ok acquire [1 2 3]`, nil, 2, "expected nil, true, false"},

		// Keys of jepsen.independent.
		{"keys, as they should be", strings.ReplaceAll(keyed, "%", "6"), nil, 0, "judged key by key"},
		{"keys, a value of another key", strings.ReplaceAll(keyed, "%", "5"), nil, 1, "read -> 5 by process 1"},
		{"keys, taken for values", strings.ReplaceAll(keyed, "%", "6"), []string{"--independent", "no"}, 0, ""},
		{"keys with a tag", strings.ReplaceAll(strings.ReplaceAll(keyed, "%", "5"), "[", "#jepsen.independent/MapEntry ["), nil, 1, "read -> 5"},
		{"keys of an unknown outcome and a failure", `
			0 invoke write [:x 1]
			0 info write [:x 1] :error :timeout
			1 invoke cas [:x [1 2]]
			1 fail cas [:x [1 2]]
			2 invoke read [:x nil]
			2 ok read [:x 1]`, nil, 0, ""},
		{"keys in JSON", `[{"process":0,"type":"invoke","f":"cas","value":["k",[null,1]]},{"process":0,"type":"ok","f":"cas","value":["k",[null,1]]},
			{"process":0,"type":"invoke","f":"read","value":["j",null]},{"process":0,"type":"ok","f":"read","value":["j",1]}]`, nil, 1, "read -> 1"},
		{"keys in a log", "INFO  jepsen.util - 0 :invoke :write [1 5]\nINFO  jepsen.util - 0 :ok :write [1 5]\nINFO  jepsen.util - 1 :invoke :read [2 nil]\nINFO  jepsen.util - 1 :ok :read [2 nil]\n", nil, 0, "judged key by key"},
		{"a register that holds vectors", `
			0 invoke write [1 5]
			0 ok write [1 5]
			0 invoke write [2 6]
			0 ok write [2 6]
			1 invoke read nil
			1 ok read [1 5]`, nil, 1, "read -> [1,5]"},
		{"a register that holds vectors, with cas", `
			0 invoke write [1 5]
			0 ok write [1 5]
			0 invoke cas [[1 5] [2 6]]
			0 ok cas [[1 5] [2 6]]
			1 invoke read nil
			1 ok read [2 6]`, nil, 0, ""},
		{"keys in some operations", `
			0 invoke write 5
			0 ok write 5
			1 invoke read [2 nil]
			1 ok read [2 6]`, nil, 2, "--independent"},

		// Locks and data.
		{"a lock and what it protects", strings.ReplaceAll(locked, "%", "1"), nil, 0, "mutex, register"},
		{"a lock that holds and data that does not", strings.ReplaceAll(locked, "%", "2"), nil, 1, "broke register"},
		{"a named model of registers says what it leaves out", strings.ReplaceAll(locked, "%", "1"), []string{"--model", "register"}, 0, "not judged as register: 2 acquire, 2 release"},
		{"tokens that a named model leaves out", `
			0 invoke write 1 :token 6
			0 ok write 1
			1 invoke write 2 :token 5
			1 ok write 2`, []string{"--model", "register"}, 0, "tokens are not judged as register"},

		// Others' tests.
		{"a bank", `
			0 invoke read nil
			0 ok read {0 10 1 10}
			0 invoke transfer {:from 0 :to 1 :amount 5}`, nil, 2, "the history of a bank test"},
		{"a set", "0 invoke add 1", nil, 2, "the history of a set"},
		{"a queue", "0 invoke enqueue 1", nil, 2, "the history of a queue"},
		{"a transaction", "0 invoke txn [[:r 1 nil] [:append 1 2]]", nil, 2, "a history of transactions, which Elle judges"},
		{"a transaction by another name", "0 invoke read [[:r 1 nil]]", nil, 2, "a history of transactions"},
		{"a re-entrant lock", reentrant, nil, 2, "re-entrant"},
		{"a re-entrant lock with tokens", `
			0 invoke acquire "a"
			0 ok acquire "a" :token 5
			0 invoke acquire "a"
			0 ok acquire "a" :token 5`, nil, 2, "re-entrant"},
		{"a lock that is lost and acquired again is not re-entrant", `
			0 invoke acquire "a"
			0 ok acquire "a"
			0 invoke acquire "a"
			0 ok acquire "a"
			0 invoke release "a"
			0 ok release "a"`, nil, 0, "lease"},
		{"a semaphore", "0 invoke acquire {:permits 2}", nil, 2, "semaphore"},

		// Other notations.
		{"comma-separated values", "time,client,op,value\n1,A,write,3\n", nil, 2, `as {"process":0,"type":"invoke","f":"write","value":1}; staleproof check --help`},
		{"plain text", "client 1 writes 3\n", nil, 2, `as {"process":0,"type":"invoke","f":"write","value":1}; staleproof check --help`},
		{"a log in JSON", `{"ts":1,"client":"A","op":"write","value":3}`, nil, 2, `every operation has a type, an f and a process, such as {"process":0,"type":"invoke"`},
		{"whole operations, as porcupine has them", `[{"ClientId":0,"Input":{"op":1},"Call":1,"Output":null,"Return":2}]`, nil, 2, "write the beginning and the end of each operation, in the order of time"},
		{"what a test concluded", "{:valid? true :linear {:valid? true}}", nil, 2, "give its history"},
		{"porcupine's key-value histories", `{:process 1, :type :invoke, :f :get, :key "0", :value nil}`, nil, 2, "did you mean read?"},

		// Defaults.
		{"an initial value, in a cas", `
			0 invoke cas [0 1]
			0 ok cas [0 1]`, nil, 1, "--init 0"},
		{"an initial value that does not matter", `
			0 invoke write 1
			0 ok write 1
			0 invoke write 2
			0 ok write 2
			0 invoke read nil
			0 ok read 1`, nil, 1, "no order of the operations explains read -> 1 by process 0, #4 to #5 --explain"},
		{"a failed cas on the value it expected", `
			0 invoke write 1
			0 ok write 1
			1 invoke cas [1 2]
			1 fail cas [1 2]`, []string{"--failed-cas", "compares"}, 1, "without --failed-cas compares the history is satisfied"},
		{"the same by default", `
			0 invoke write 1
			0 ok write 1
			1 invoke cas [1 2]
			1 fail cas [1 2]`, nil, 0, "with --failed-cas compares"},
		{"the same with a reason", `
			0 invoke write 1
			0 ok write 1
			1 invoke cas [1 2]
			1 fail cas [1 2] :error :timeout`, []string{"--failed-cas", "compares"}, 0, ""},
		{"a cas that was answered false", `
			0 invoke cas [1 2]
			0 ok cas false`, nil, 2, "ends in a fail, with the error mismatch"},
		{"a cas that was answered true", `
			0 invoke cas [nil 2]
			0 ok cas true`, nil, 0, ""},
		{"nil that was never there", `
			0 invoke write 0
			0 ok write 0
			1 invoke read nil
			1 ok read nil`, []string{"--init", "0"}, 1, "read -> nil"},
		{"nil before anything was there", `
			1 invoke read nil
			1 ok read nil
			0 invoke write 1
			0 ok write 1`, []string{"--init", "0"}, 0, "1 read answered nil"},

		// The culprit.
		{"a failed cas whose value is read", `
			0 invoke write 1
			0 ok write 1
			1 invoke cas [1 2]
			1 fail cas [1 2]
			2 invoke read nil
			2 ok read 2`, []string{"--explain"}, 1, "#3 process 1 was told that its cas 1 to 2 failed"},
		{"a stale write whose value is read", `
			0 invoke write 1 :token 2
			0 ok write 1
			1 invoke write 9 :token 1
			1 fail write 9 :error :stale
			2 invoke read nil
			2 ok read 9`, []string{"--explain"}, 1, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.text
			if strings.ContainsAny(text[:1], "\n0123456789") {
				text = edn(text)
			}
			t.Chdir(t.TempDir())
			const file = "history"
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, errs := invoke(append(append([]string{"check"}, c.args...), file)...)
			if code != c.exit {
				t.Errorf("expected exit code %d, found %d:\n%s%s", c.exit, code, out, errs)
			}
			if joined := strings.Join(strings.Fields(out+errs), " "); !strings.Contains(joined, c.says) {
				t.Errorf("expected %q in the output, found:\n%s%s", c.says, out, errs)
			}
			if c.exit == 1 {
				mentionsAreListed(t, append(slices.Concat([]string{"check"}, slices.DeleteFunc(slices.Clone(c.args), func(a string) bool { return a == "--explain" })), "--explain", file)...)
			}
			if c.exit == 2 && strings.Count(errs, "\n") != 1 {
				t.Errorf("expected one line, found:\n%s", errs)
			}
		})
	}
}

var (
	mentionedEvent = regexp.MustCompile(`#([0-9]+)`)
	listedEvent    = regexp.MustCompile(`(?m)^ *[0-9]+\. .*?#([0-9]+) `)
)

// mentionsAreListed: every event that a finding names is in its list.
func mentionsAreListed(t *testing.T, args ...string) {
	t.Helper()
	_, out, _ := invoke(args...)
	for _, finding := range strings.Split(out, "\n  broke ")[1:] {
		listed := map[string]bool{}
		for _, m := range listedEvent.FindAllStringSubmatch(finding, -1) {
			listed[m[1]] = true
		}
		for _, m := range mentionedEvent.FindAllStringSubmatch(finding, -1) {
			if !listed[m[1]] {
				t.Errorf("expected #%s in the list of events, found:\n%s", m[1], finding)
			}
		}
	}
}

// TestHelpShowsTheFormat: the lines that the help shows are a history.
func TestHelpShowsTheFormat(t *testing.T) {
	_, out, _ := invoke("check", "--help")
	var lines []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "{") {
			lines = append(lines, line)
		}
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("history", []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := invoke("check", "history"); code != exitOK || len(lines) != 3 || !strings.Contains(out, "1 operation") {
		t.Errorf("expected three lines that are satisfied, found %d: exit code %d, %s%s", len(lines), code, out, errs)
	}
}
