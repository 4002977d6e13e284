package search

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"staleproof/checker"
	"staleproof/model/history"
	"staleproof/scenarios"
)

// ResultFormat names the format of result files: JSON Lines, a header and then a
// block a line, in any order. A block is what a shard found at some of its seeds,
// always the same ones; so files can be merged by putting their blocks together,
// in any order and more than once. A file of which the last line is cut off, by a
// kill, has the blocks before it.
const ResultFormat = "staleproof.results/1"

// ResultHeader says what was run. Only results of equal headers can be merged.
type ResultHeader struct {
	Format   string        `json:"format"`
	Version  string        `json:"version"` // of the program
	Strategy string        `json:"strategy"`
	From     uint64        `json:"from"` // first seed
	To       uint64        `json:"to"`   // behind the last; 0: as many as there was time for
	Shards   uint64        `json:"shards"`
	Trials   []ResultTrial `json:"trials"`
}

// ResultTrial is a scenario with what is planted in it.
type ResultTrial struct {
	Scenario string `json:"scenario"`
	Revision int    `json:"revision"`
	Defect   string `json:"defect"`
}

func (t ResultTrial) String() string {
	if t.Defect == "none" {
		return t.Scenario
	}
	return t.Scenario + " with " + t.Defect
}

// ResultBlock is a [Block] of a shard of a trial.
type ResultBlock struct {
	Trial        int              `json:"trial"` // its place in the header, from 0
	Shard        uint64           `json:"shard"`
	Index        int64            `json:"block"`
	Schedules    int64            `json:"schedules"`
	Events       int64            `json:"events"`
	Sometimes    map[string]int64 `json:"sometimes,omitempty"`
	Inconclusive map[string]int64 `json:"inconclusive,omitempty"`
	Strategies   []ResultStrategy `json:"strategies"`
	Kills        []ResultKill     `json:"kills,omitempty"`
}

// ResultStrategy is how many schedules of a block a strategy chose.
type ResultStrategy struct {
	Name      string `json:"name"`
	Schedules int64  `json:"schedules"`
}

// ResultKill is the first schedule of a block that broke some property.
type ResultKill struct {
	Seed     uint64   `json:"seed"`
	Strategy string   `json:"strategy"`
	Broken   []string `json:"broken"`
	Messages []string `json:"messages"`
	Replay   string   `json:"replay"` // token
}

// Results are those of one result file, or of several merged.
type Results struct {
	Header ResultHeader
	blocks map[blockKey]*ResultBlock
}

type blockKey struct {
	trial int
	shard uint64
	index int64
}

func (k blockKey) compare(o blockKey) int {
	return cmp.Or(cmp.Compare(k.trial, o.trial), cmp.Compare(k.shard, o.shard), cmp.Compare(k.index, o.index))
}

func (b *ResultBlock) key() blockKey { return blockKey{b.Trial, b.Shard, b.Index} }

// NewResults returns results without blocks.
func NewResults(h ResultHeader) *Results {
	return &Results{Header: h, blocks: map[blockKey]*ResultBlock{}}
}

// ReadResults reads a result file; name is the file's, for errors, which are
// *[history.SyntaxError]. whole is how many bytes hold whole lines: what comes
// behind was being written when its program was killed.
func ReadResults(name string, r io.Reader) (results *Results, whole int64, err error) {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		if err == io.EOF { // a line without its end
			break
		}
		if n == 1 {
			results, err = readHeader(name, line)
		} else {
			err = results.readBlock(name, n, line)
		}
		if err != nil {
			return nil, 0, err
		}
		whole += int64(len(line))
	}
	if results == nil {
		return nil, 0, &history.SyntaxError{File: name, Line: 1, Expected: "the header of a result file", Found: "no whole line",
			Hint: "staleproof fuzz --out writes result files"}
	}
	return results, whole, nil
}

func readHeader(name string, line []byte) (*Results, error) {
	var h ResultHeader
	bad := func(expected, found string) (*Results, error) {
		return nil, &history.SyntaxError{File: name, Line: 1, Expected: expected, Found: found, Hint: "staleproof fuzz --out writes result files"}
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return bad("the header of a result file", cut(line))
	}
	if expected, found := h.wrong(); expected != "" {
		return bad(expected, found)
	}
	return NewResults(h), nil
}

// Bounds of what a result file can be about, so that one that was spoilt does not
// keep a program busy for ever.
const (
	maxShards = 1 << 16
	maxSeeds  = 1 << 31
)

// wrong says what is expected of a header and what it has instead, empty if it is
// right.
func (h *ResultHeader) wrong() (expected, found string) {
	switch {
	case h.Format != ResultFormat:
		return fmt.Sprintf("format %q", ResultFormat), fmt.Sprintf("%q", h.Format)
	case h.Shards == 0 || h.Shards > maxShards:
		return fmt.Sprintf("a number of shards from 1 to %d", maxShards), fmt.Sprint(h.Shards)
	case h.From >= maxSeeds || h.To > maxSeeds || h.To != 0 && h.To <= h.From:
		return fmt.Sprintf("seeds below %d, from before to", int64(maxSeeds)), fmt.Sprintf("from %d to %d", h.From, h.To)
	case h.Strategy == Portfolio || !slices.Contains(StrategyNames(), h.Strategy):
		return "a strategy of fixed shares", fmt.Sprintf("%q", h.Strategy)
	case len(h.Trials) == 0:
		return "trials", "none"
	}
	for i, t := range h.Trials {
		if slices.Contains(h.Trials[:i], t) {
			return "each trial once", t.String() + " twice"
		}
	}
	return "", ""
}

func (r *Results) readBlock(name string, n int, line []byte) error {
	b := &ResultBlock{}
	bad := func(expected, found string) error {
		return &history.SyntaxError{File: name, Line: n, Expected: expected, Found: found, Hint: "delete the line; staleproof fuzz with the same --out runs its seeds again"}
	}
	if err := json.Unmarshal(line, b); err != nil {
		return bad("a block of results", cut(line))
	}
	if b.Trial < 0 || b.Trial >= len(r.Header.Trials) || b.Shard >= r.Header.Shards || b.Index < 0 || b.Index >= r.Header.most(b.Shard) {
		return bad("a block of this file's trials, shards and seeds", cut(line))
	}
	if _, err := b.block(); err != nil {
		return bad(err.Error(), cut(line))
	}
	if wrong := b.wrong(&r.Header); wrong != "" {
		return bad(wrong, cut(line))
	}
	if err := r.Put(b); err != nil {
		return bad("one result of a block", "another: "+err.Error())
	}
	return nil
}

// most bounds the number of a shard's blocks: each has a seed.
func (h *ResultHeader) most(shard uint64) int64 {
	if h.To == 0 {
		return maxSeeds / blockSize
	}
	f := Fuzz{From: h.From, To: h.To, Shard: shard, Shards: h.Shards}
	return int64(f.count())
}

// wrong says what is expected of a block's numbers, empty if they can be true.
func (b *ResultBlock) wrong(h *ResultHeader) string {
	most := int64(blockSize)
	if h.To > 0 {
		most = min(most, h.most(b.Shard))
	}
	if b.Schedules < 1 || b.Schedules > most || b.Events < 0 {
		return fmt.Sprintf("1 to %d schedules, and their events", most)
	}
	sum := int64(0)
	for i, s := range b.Strategies {
		if s.Schedules < 1 || slices.ContainsFunc(b.Strategies[:i], func(t ResultStrategy) bool { return t.Name == s.Name }) {
			return "each strategy once, with its schedules"
		}
		sum += s.Schedules
	}
	if sum != b.Schedules {
		return fmt.Sprintf("strategies with %d schedules together", b.Schedules)
	}
	for fact, n := range b.Sometimes {
		if _, ok := checker.LookupFact(fact); !ok || n < 1 {
			return "what sometimes happens by its name, and how often"
		}
	}
	for _, n := range b.Inconclusive {
		if n < 1 || n > b.Schedules {
			return "as many inconclusive schedules as there are at most"
		}
	}
	for i := range b.Kills {
		if wrong := b.Kills[i].wrong(h, b); wrong != "" {
			return wrong
		}
	}
	return ""
}

// wrong says what is expected of a kill of block b.
func (k *ResultKill) wrong(h *ResultHeader, b *ResultBlock) string {
	t := h.Trials[b.Trial]
	rec, err := scenarios.ParseToken(k.Replay)
	switch {
	case err != nil:
		return err.Error()
	case k.Seed < h.From || h.To != 0 && k.Seed >= h.To || k.Seed%h.Shards != b.Shard:
		return fmt.Sprintf("kills at seeds of the shard, not at %d", k.Seed)
	case rec.Scenario != t.Scenario || rec.Defects.String() != t.Defect:
		return "replay tokens of " + t.String()
	case len(k.Broken) == 0 || len(k.Messages) != len(k.Broken):
		return "the properties that each kill broke, and a message for each"
	}
	for _, p := range k.Broken {
		if _, err := checker.Lookup(p); err != nil && p != scenarios.PanicProperty {
			return err.Error()
		}
	}
	return ""
}

// cut returns the beginning of a line in quotes.
func cut(line []byte) string {
	if len(line) > 40 {
		return fmt.Sprintf("%q...", line[:40])
	}
	return fmt.Sprintf("%q", bytes.TrimRight(line, "\n"))
}

// Put adds a block. Another block of the same seeds must be equal, or the two
// runs were not: *[ConflictError].
func (r *Results) Put(b *ResultBlock) error {
	old, ok := r.blocks[b.key()]
	if ok && !bytes.Equal(encode(old), encode(b)) {
		return &ConflictError{Trial: r.Header.Trials[b.Trial], Shard: b.Shard, Shards: r.Header.Shards, Index: b.Index}
	}
	r.blocks[b.key()] = b
	return nil
}

// ConflictError says that the same seeds gave different results.
type ConflictError struct {
	Trial         ResultTrial
	Shard, Shards uint64
	Index         int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: two results of block %d of shard %d/%d differ: they were made by different builds of the program, or a run is not deterministic", e.Trial, e.Index, e.Shard, e.Shards)
}

// MismatchError says why results cannot be merged.
type MismatchError struct{ What, Want, Got string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("expected results of %s %s, as in those before, found %s; merge only results of the same search", e.What, e.Want, e.Got)
}

// Match returns why results of h cannot be merged with r: *[MismatchError], or
// nil.
func (r *Results) Match(h *ResultHeader) error {
	a := &r.Header
	for _, x := range []struct{ what, want, got string }{
		{"version", a.Version, h.Version},
		{"scenarios", trialsText(a.Trials), trialsText(h.Trials)},
		{"strategy", a.Strategy, h.Strategy},
		{"seeds", a.Seeds(), h.Seeds()},
		{"a number of shards", fmt.Sprint(a.Shards), fmt.Sprint(h.Shards)},
	} {
		if x.want != x.got {
			return &MismatchError{x.what, x.want, x.got}
		}
	}
	return nil
}

// Seeds writes the seeds as --seeds does; the end is missing if time was it.
func (h *ResultHeader) Seeds() string {
	if h.To == 0 {
		return fmt.Sprintf("%d-", h.From)
	}
	return fmt.Sprintf("%d-%d", h.From, h.To-1)
}

func trialsText(list []ResultTrial) string {
	var words []string
	for _, t := range list {
		words = append(words, fmt.Sprintf("%s (revision %d)", t, t.Revision))
	}
	return strings.Join(words, ", ")
}

// Merge adds the blocks of o: commutative, associative, idempotent. Its errors are
// *[MismatchError] and *[ConflictError]; r is spoilt then.
func (r *Results) Merge(o *Results) error {
	if err := r.Match(&o.Header); err != nil {
		return err
	}
	for _, b := range o.Blocks() {
		if err := r.Put(b); err != nil {
			return err
		}
	}
	return nil
}

// Blocks lists the blocks by trial, shard and index.
func (r *Results) Blocks() []*ResultBlock {
	list := make([]*ResultBlock, 0, len(r.blocks))
	for _, b := range r.blocks {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b *ResultBlock) int { return a.key().compare(b.key()) })
	return list
}

// Write writes a result file, the same for the same blocks.
func (r *Results) Write(w io.Writer) error {
	if _, err := w.Write(encode(r.Header)); err != nil {
		return err
	}
	for _, b := range r.Blocks() {
		if _, err := w.Write(encode(b)); err != nil {
			return err
		}
	}
	return nil
}

// encode writes v as a line of JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // nothing in it cannot be encoded
	}
	return b.Bytes()
}

// Line is the header as the first line of a result file.
func (h ResultHeader) Line() []byte { return encode(h) }

// Line is the block as a line of a result file.
func (b *ResultBlock) Line() []byte { return encode(b) }

// Known returns a block as [Fuzz] takes it, nil if there is none.
func (r *Results) Known(trial int, shard uint64, index int64) *Block {
	b, ok := r.blocks[blockKey{trial, shard, index}]
	if !ok {
		return nil
	}
	known, _ := b.block() // it was looked at when it was put
	return known
}

// Campaign adds up the blocks of a trial, as if its seeds had been run in order
// by one program.
func (r *Results) Campaign(trial int) *Campaign {
	var total Campaign
	total.init()
	var kills []Kill
	for _, b := range r.Blocks() {
		if b.Trial != trial {
			continue
		}
		known, _ := b.block()
		kills = append(kills, known.Kills...)
		known.Kills = nil
		total.add(&known.Campaign)
	}
	slices.SortStableFunc(kills, func(a, b Kill) int { return cmp.Compare(a.Seed, b.Seed) })
	total.add(&Campaign{Result: Result{Kills: kills}})
	total.trim()
	return &total
}

// Missing says which blocks of a trial are not there, one text a shard.
func (r *Results) Missing(trial int) []string {
	var list []string
	for shard := range r.Header.Shards {
		f := Fuzz{From: r.Header.From, To: r.Header.To, Shard: shard, Shards: r.Header.Shards}
		want := int64((f.count() + blockSize - 1) / blockSize)
		if r.Header.To == 0 {
			want = max(1, r.last(trial, shard)+1)
		}
		have := int64(0)
		for i := range want {
			if _, ok := r.blocks[blockKey{trial, shard, i}]; ok {
				have++
			}
		}
		switch {
		case have == 0 && want > 0:
			list = append(list, fmt.Sprintf("shard %d/%d", shard, r.Header.Shards))
		case have < want:
			list = append(list, fmt.Sprintf("%d of %d blocks of shard %d/%d", want-have, want, shard, r.Header.Shards))
		}
	}
	return list
}

// last is the greatest index of a shard's blocks, -1 if it has none.
func (r *Results) last(trial int, shard uint64) int64 {
	last := int64(-1)
	for k := range r.blocks {
		if k.trial == trial && k.shard == shard {
			last = max(last, k.index)
		}
	}
	return last
}

// ResultOf writes down a block.
func ResultOf(trial int, f *Fuzz, b *Block) *ResultBlock {
	r := &ResultBlock{Trial: trial, Shard: f.Shard, Index: b.Index, Schedules: b.Schedules, Events: b.Events, Strategies: []ResultStrategy{}}
	for fact, n := range b.Sometimes {
		if n > 0 {
			if r.Sometimes == nil {
				r.Sometimes = map[string]int64{}
			}
			r.Sometimes[checker.Fact(fact).String()] = n
		}
	}
	if len(b.Inconclusive) > 0 {
		r.Inconclusive = b.Inconclusive
	}
	for _, s := range b.Strategies {
		if s.Schedules > 0 {
			r.Strategies = append(r.Strategies, ResultStrategy{s.Name, s.Schedules})
		}
	}
	for _, k := range b.Kills {
		rec := scenarios.Recorded{Scenario: f.Scenario.Name, Revision: f.Scenario.Revision, Defects: f.Options.Defects,
			Params: k.Params, Seed: k.Seed, Schedule: k.Schedule, Digest: k.Digest}
		r.Kills = append(r.Kills, ResultKill{k.Seed, k.Strategy, k.Broken, k.Messages, rec.Token()})
	}
	return r
}

// block reads what ResultOf wrote.
func (b *ResultBlock) block() (*Block, error) {
	out := &Block{Index: b.Index}
	out.init()
	out.Schedules, out.Events = b.Schedules, b.Events
	for fact := range checker.FactCount {
		out.Sometimes[fact] = b.Sometimes[fact.String()]
	}
	for p, n := range b.Inconclusive {
		out.Inconclusive[p] = n
	}
	for _, s := range b.Strategies {
		i := slices.IndexFunc(out.Strategies, func(t StrategyTally) bool { return t.Name == s.Name })
		if i < 0 {
			return nil, fmt.Errorf("a strategy of this version, not %s", s.Name)
		}
		out.Strategies[i].Schedules = s.Schedules
	}
	for _, k := range b.Kills {
		rec, err := scenarios.ParseToken(k.Replay)
		if err != nil {
			return nil, err
		}
		out.Kills = append(out.Kills, Kill{Seed: k.Seed, Params: rec.Params, Schedule: rec.Schedule, Digest: rec.Digest,
			Broken: k.Broken, Messages: k.Messages, Strategy: k.Strategy})
	}
	return out, nil
}
