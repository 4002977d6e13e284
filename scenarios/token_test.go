package scenarios

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"strconv"
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

// TestTokenBounds: a token that is whole and says what no run can be is refused.
func TestTokenBounds(t *testing.T) {
	rec := func(change func(*Recorded)) string {
		r := Recorded{Scenario: "textbook", Revision: textbook.Revision, Params: textbook.Params, Digest: 7,
			Schedule: sim.Schedule{{Key: sim.Key{Proc: 2, Site: sim.SitePause, Count: 7}, Option: 3}}}
		change(&r)
		return r.Token()
	}
	decision := func(change func(*sim.Decision)) string { return rec(func(r *Recorded) { change(&r.Schedule[0]) }) }
	marks := func(events, digests int) string {
		return rec(func(r *Recorded) { r.Marks = Marks{Events: events, Digests: make([]byte, digests)} })
	}
	tooMany := int64(math.MaxInt32) + 1
	for _, x := range []struct{ name, token, want string }{ // want is "" if it is good
		{"as it should be", rec(func(*Recorded) {}), ""},
		{"the last timing", rec(func(r *Recorded) { r.Timing = sim.Bounded }), ""},
		{"one more", rec(func(r *Recorded) { r.Timing = sim.Bounded + 1 }), "expected timing 0 to 2, found 3"},
		{"the revision before", rec(func(r *Recorded) { r.Revision-- }), "it is of revision 1 of scenario textbook; this staleproof has revision 2"},
		{"the next revision", rec(func(r *Recorded) { r.Revision++ }), "it is of revision 3 of scenario textbook"},
		{"the world's own decision", decision(func(d *sim.Decision) { d.Proc = -1 }), ""},
		{"nobody's", decision(func(d *sim.Decision) { d.Proc = -2 }), "expected a process from -1 to 32768, found -2"},
		{"the last process", decision(func(d *sim.Decision) { d.Proc = maxProc }), ""},
		{"one more process", decision(func(d *sim.Decision) { d.Proc = maxProc + 1 }), "found 32769"},
		{"the last site", decision(func(d *sim.Decision) { d.Site = sim.Site(sim.SiteCount - 1) }), ""},
		{"one more site", decision(func(d *sim.Decision) { d.Site = sim.Site(sim.SiteCount) }), "expected a site from 0 to 15, found 16"},
		{"option 0", decision(func(d *sim.Decision) { d.Option = 0 }), "expected a count below 2^32 and an option from 1"},
		{"the last option", decision(func(d *sim.Decision) { d.Option = math.MaxInt32 }), ""},
		{"one more option", decision(func(d *sim.Decision) { d.Option = int(tooMany) }), "found 7 and 2147483648"},
		{"the last count", decision(func(d *sim.Decision) { d.Count = math.MaxUint32 }), ""},
		{"as many marks as may be", marks(maxTrail, maxMarks), ""},
		{"marks of more events", marks(maxTrail+1, maxMarks), "expected the marks of 10001 events, found 16 bytes"},
		{"a mark too many", marks(maxTrail, maxMarks+1), "expected the marks of 10000 events, found 17 bytes"},
		{"a mark too few", marks(5, 4), "expected the marks of 5 events, found 4 bytes"},
		{"a mark an event", marks(5, 5), ""},
		{"the first token", rec(func(r *Recorded) { r.Params.FirstToken = 0 }), "parameter first-token: expected 1 to "},
		{"the last parameter", rec(func(r *Recorded) { r.Params.Clients = 16 }), ""},
		{"one more client", rec(func(r *Recorded) { r.Params.Clients = 17 }), "parameter clients: expected 1 to 16, found 17"},
	} {
		if strconv.IntSize == 32 && x.name == "one more option" {
			continue // no option can be that great
		}
		got, err := ParseToken(x.token)
		switch {
		case x.want == "" && (err != nil || got.Token() != x.token):
			t.Errorf("%s: expected it to be read as it was written, found %v", x.name, err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: expected an error with %q, found %v", x.name, x.want, err)
		}
	}
}

// TestTokenCutOff: a token that ends early, with a checksum that fits, is refused.
func TestTokenCutOff(t *testing.T) {
	r := Recorded{Scenario: "textbook", Revision: textbook.Revision, Params: textbook.Params, Digest: 1 << 60,
		Schedule: sim.Schedule{{Key: sim.Key{Proc: 2, Site: sim.SitePause, Count: 7}, Option: 3}}}
	r.Params.Clients = 2
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(r.Token(), tokenPrefix))
	if err != nil {
		t.Fatal(err)
	}
	body := b[:len(b)-4]
	for n := range len(body) {
		short := binary.LittleEndian.AppendUint32(bytes.Clone(body[:n]), crc32.ChecksumIEEE(body[:n]))
		if _, err := ParseToken(tokenPrefix + base64.RawURLEncoding.EncodeToString(short)); err == nil {
			t.Errorf("%d of %d bytes: expected an error", n, len(body))
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
