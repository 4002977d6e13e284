package scenarios

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"staleproof/model"
	"staleproof/sim"
)

func drawRecorded(t *rapid.T) Recorded {
	r := Recorded{Scenario: "textbook", Revision: textbook.Revision, Params: textbook.Params,
		Seed: rapid.Uint64().Draw(t, "seed"), Digest: rapid.Uint64().Draw(t, "digest"),
		Defects: rapid.SampledFrom(model.AllDefects()).Draw(t, "defect").Set}
	for range rapid.IntRange(0, 4).Draw(t, "params") {
		d := rapid.SampledFrom(paramTable).Draw(t, "param")
		if err := r.Params.Set(d.Name, rapid.Int64Range(d.Min, d.Max).Draw(t, "value")); err != nil {
			t.Fatal(err)
		}
	}
	for range rapid.IntRange(0, 8).Draw(t, "decisions") {
		r.Schedule = append(r.Schedule, sim.Decision{Key: sim.Key{Proc: rapid.Int32Range(-1, 20).Draw(t, "process"),
			Site: sim.Site(rapid.IntRange(0, sim.SiteCount-1).Draw(t, "site")), Count: rapid.Uint32().Draw(t, "count")},
			Option: rapid.IntRange(1, 100).Draw(t, "option")})
	}
	if n := rapid.IntRange(0, 3*maxMarks).Draw(t, "events"); n > 0 {
		marks := min(n, maxMarks)
		r.Marks = Marks{Events: n, Digests: rapid.SliceOfN(rapid.Byte(), marks, marks).Draw(t, "marks")}
	}
	return r
}

func TestTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecorded(t)
		got, err := ParseToken(want.Token())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestTokenChanged: no single changed, missing or added character goes unnoticed.
func TestTokenChanged(t *testing.T) {
	rec := Recorded{Scenario: "textbook", Revision: textbook.Revision, Params: textbook.Params, Digest: 1 << 60,
		Schedule: sim.Schedule{{Key: sim.Key{Proc: 2, Site: sim.SitePause, Count: 7}, Option: 3}}}
	token := rec.Token()
	for i := range token {
		for _, bad := range []string{token[:i] + token[i+1:], token[:i] + "A" + token[i:], token[:i] + "-" + token[i+1:]} {
			if bad == token {
				continue
			}
			var want *TokenError
			if _, err := ParseToken(bad); !errors.As(err, &want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: expected a *TokenError of one line, found %v", bad, err)
			}
		}
	}
}

func TestTokenErrors(t *testing.T) {
	rec := Recorded{Scenario: "textbook", Revision: textbook.Revision, Params: textbook.Params}
	other := rec
	other.Scenario = "textbok"
	old := rec
	old.Revision = 99
	bad := rec
	bad.Params.Clients = 4000
	for _, c := range []struct{ name, token, want string }{
		{"another version", "sp9:abcd", "expected version sp1, found sp9"},
		{"something else", "hello", `expected it to begin with sp1:, found "hello"`},
		{"empty", "", "expected it to begin with sp1:"},
		{"nothing behind the version", "sp1:", `expected base64url text after "sp1:"; a character is missing or was changed: copy the whole token`},
		{"unknown scenario", other.Token(), "did you mean textbook?"},
		{"another revision", old.Token(), "it is of revision 99 of scenario textbook"},
		{"a parameter out of range", bad.Token(), "parameter clients: expected 1 to 16, found 4000"},
	} {
		if _, err := ParseToken(c.token); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected an error with %q, found %v", c.name, c.want, err)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	rec := Recorded{Scenario: "textbook", Revision: 2, Params: textbook.Params}
	f.Add(rec.Token())
	f.Add("sp1:AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		r, err := ParseToken(token)
		if err != nil {
			return
		}
		again, err := ParseToken(r.Token())
		if err != nil || cmp.Diff(r, again) != "" {
			t.Errorf("%q does not round-trip: %v", token, err)
		}
	})
}

func TestMain(m *testing.M) {
	os.Unsetenv(ReplayVariable)
	os.Exit(m.Run())
}
