package scenarios

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"staleproof/model"
	"staleproof/sim"
)

// tokenPrefix names the version of the replay token.
const tokenPrefix = "sp1:"

// Recorded is a run that can be had again: what a replay token holds.
type Recorded struct {
	Scenario string
	Revision int
	Defects  model.Defects
	Timing   sim.Timing
	Params   Params
	// Seed is where the schedule came from, for people; the schedule is complete.
	Seed     uint64
	Schedule sim.Schedule
	Digest   uint64
	// Trail is that of a schedule file; see [Trail]. A token has Marks, or none.
	Trail string
	Marks Marks
}

// Token returns the replay token: printable, self-contained, with a checksum.
func (r *Recorded) Token() string {
	b := []byte{byte(r.Timing)}
	b = appendText(b, r.Scenario)
	b = binary.AppendUvarint(b, uint64(r.Revision))
	b = appendText(b, r.Defects.String())
	var base Params
	if sc, err := Lookup(r.Scenario); err == nil {
		base = sc.Params
	}
	diff := r.Params.diff(base)
	b = binary.AppendUvarint(b, uint64(len(diff)))
	for _, d := range diff {
		b = appendText(b, d.Name)
		b = binary.AppendVarint(b, d.Get(&r.Params))
	}
	b = binary.AppendUvarint(b, r.Seed)
	b = binary.AppendUvarint(b, uint64(len(r.Schedule)))
	for _, d := range r.Schedule {
		b = binary.AppendVarint(b, int64(d.Proc))
		b = append(b, byte(d.Site))
		b = binary.AppendUvarint(b, uint64(d.Count))
		b = binary.AppendUvarint(b, uint64(d.Option))
	}
	b = binary.LittleEndian.AppendUint64(b, r.Digest)
	if r.Marks.Events > 0 {
		b = binary.AppendUvarint(b, uint64(r.Marks.Events))
		b = append(b, r.Marks.Digests...)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// TokenError says why a replay token cannot be used.
type TokenError struct{ Problem string }

func (e *TokenError) Error() string { return "replay token: " + e.Problem }

// ParseToken reads a replay token. Its errors are *[TokenError].
func ParseToken(token string) (*Recorded, error) {
	bad := func(format string, args ...any) (*Recorded, error) {
		return nil, &TokenError{fmt.Sprintf(format, args...)}
	}
	token = strings.TrimSpace(token)
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		if version, _, found := strings.Cut(token, ":"); found && strings.HasPrefix(version, "sp") && len(version) < 8 {
			return bad("expected version %s, found %s: it was made by another version of staleproof; use that one", strings.TrimSuffix(tokenPrefix, ":"), version)
		}
		return bad("expected it to begin with %s, found %q", tokenPrefix, firstOf(token))
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil || len(b) < 13 {
		return bad("expected base64url text after %q; a character is missing or was changed: copy the whole token", tokenPrefix)
	}
	body := b[:len(b)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return bad("its checksum does not match: a character is missing or was changed; copy the whole token")
	}
	r, err := parseBody(body)
	if err != nil {
		return bad("%v", err)
	}
	return r, nil
}

func firstOf(s string) string {
	if len(s) > 16 {
		return s[:16] + "..."
	}
	return s
}

// decoder reads what Token appends; after an error it reads zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("expected %s, found the end of the data", what)
	}
	d.b = nil
}

func (d *decoder) uvarint(what string) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(what)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint(what string) int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(what)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte(what string) byte {
	if len(d.b) == 0 {
		d.fail(what)
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) text(what string) string {
	n := d.uvarint(what)
	if n > uint64(len(d.b)) {
		d.fail(what)
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// maxProc is more than there ever are processes.
const maxProc = 1 << 15

// decision reads a decision of a schedule.
func (d *decoder) decision() (x sim.Decision, err error) {
	proc, site, count, option := d.varint("a process"), sim.Site(d.byte("a site")), d.uvarint("a count"), d.uvarint("an option")
	switch {
	case d.err != nil:
		return x, d.err
	case proc < -1 || proc > maxProc:
		return x, fmt.Errorf("expected a process from -1 to %d, found %d", maxProc, proc)
	case int(site) >= sim.SiteCount:
		return x, fmt.Errorf("expected a site from 0 to %d, found %d", sim.SiteCount-1, site)
	case count > math.MaxUint32 || option == 0 || option > math.MaxInt32:
		return x, fmt.Errorf("expected a count below 2^32 and an option from 1 to 2^31-1, found %d and %d", count, option)
	}
	return sim.Decision{Key: sim.Key{Proc: int32(proc), Site: site, Count: uint32(count)}, Option: int(option)}, nil
}

func parseBody(b []byte) (*Recorded, error) {
	d := &decoder{b: b}
	r := &Recorded{Timing: sim.Timing(d.byte("the timing"))}
	r.Scenario = d.text("the name of a scenario")
	r.Revision = int(d.uvarint("a revision"))
	defects := d.text("defects")
	if d.err != nil {
		return nil, d.err
	}
	sc, err := Lookup(r.Scenario)
	if err != nil {
		return nil, err
	}
	if r.Timing > sim.Bounded {
		return nil, fmt.Errorf("expected timing 0 to %d, found %d", sim.Bounded, r.Timing)
	}
	if r.Revision != sc.Revision {
		return nil, fmt.Errorf("it is of revision %d of scenario %s; this staleproof has revision %d, in which the same choices make another run", r.Revision, sc.Name, sc.Revision)
	}
	if r.Defects, err = model.ParseDefects(defects); err != nil {
		return nil, err
	}
	r.Params = sc.Params
	for range d.uvarint("the number of parameters") {
		name, value := d.text("a parameter"), d.varint("a value")
		if d.err != nil {
			return nil, d.err
		}
		if err := r.Params.Set(name, value); err != nil {
			return nil, err
		}
	}
	r.Seed = d.uvarint("a seed")
	for range d.uvarint("the number of decisions") {
		if d.err != nil {
			return nil, d.err
		}
		x, err := d.decision()
		if err != nil {
			return nil, err
		}
		r.Schedule = append(r.Schedule, x)
	}
	if len(d.b) < 8 {
		d.fail("a digest")
	}
	if d.err != nil {
		return nil, d.err
	}
	r.Digest = binary.LittleEndian.Uint64(d.b)
	d.b = d.b[8:]
	if len(d.b) > 0 {
		events := d.uvarint("the number of events")
		if events > maxTrail || uint64(len(d.b)) != min(events, maxMarks) {
			return nil, fmt.Errorf("expected the marks of %d events, found %d bytes", events, len(d.b))
		}
		r.Marks = Marks{Events: int(events), Digests: slices.Clone(d.b)}
	}
	return r, nil
}
