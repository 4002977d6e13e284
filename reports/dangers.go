package reports

// dangers are the facts whose counts the pages show, in words: how each came
// about. Package checker defines them.
var dangers = map[string]string{
	"stale-write-attempted": "a write reached the store with a lower token than it had accepted",
	"stale-write-rejected":  "the store refused one",
	"two-believers":         "two clients believed in a lease of one scope at once",
	"unknown-applied":       "a write took effect whose client never learnt of it",
	"unknown-lost":          "a write whose client never learnt of it had no effect",
	"token-crossed-restart": "the lease manager granted after a restart",
	"fence-crossed-restart": "the store judged a token after a restart",
	"late-but-unfenced":     "an old holder's write was accepted before the new token came: allowed",
	"duplicate-arrived":     "a message arrived twice",
	"renewed":               "a lease was renewed",
	"released":              "a lease was released",
}

// Danger is a fact of that name in words; empty for one that is not known.
func Danger(name string) string { return dangers[name] }
