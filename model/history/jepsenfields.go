package history

import "strings"

// jepsenField numbers the fields of an entry that are read.
type jepsenField uint8

const (
	jepsenIndex jepsenField = iota
	jepsenTime
	jepsenProcess
	jepsenType
	jepsenF
	jepsenValue
	jepsenError
	jepsenToken
	jepsenLease
	jepsenResource
	jepsenLock
	jepsenOwner
	jepsenHighest
	jepsenFieldCount
)

// jepsenFieldNames are the names of the fields in errors.
var jepsenFieldNames = [jepsenFieldCount]string{
	jepsenIndex: "index", jepsenTime: "time", jepsenProcess: "process", jepsenType: "type", jepsenF: "f",
	jepsenValue: "value", jepsenError: "error", jepsenToken: "token", jepsenLease: "lease",
	jepsenResource: "key", jepsenLock: "lock", jepsenOwner: "owner", jepsenHighest: "highest",
}

// jepsenFieldByName has the names under which recorders write the fields, as
// plainField has them.
var jepsenFieldByName = map[string]jepsenField{
	"index": jepsenIndex, "time": jepsenTime, "process": jepsenProcess, "type": jepsenType, "f": jepsenF,
	"value": jepsenValue, "error": jepsenError,
	"token": jepsenToken, "fence": jepsenToken, "fencingtoken": jepsenToken, "fencetoken": jepsenToken,
	"lease": jepsenLease, "leaseid": jepsenLease,
	"key": jepsenResource, "resource": jepsenResource, "name": jepsenResource,
	"lock": jepsenLock, "lockname": jepsenLock,
	"owner": jepsenOwner, "client": jepsenOwner, "holder": jepsenOwner,
	"highest": jepsenHighest,
}

// meaningless are fields that say nothing of what an operation did.
var meaningless = setOf(`attempt attempts clock clockoffset clockoffsets cause comment debug description duration elapsed
	endprocess exception final final? generator host latency latencyms latencynanos link message msg node nodes note
	print retries retry rtt seed stack stacktrace start end test thread timestamp trace ts uid via wallclock walltime worker`)

func setOf(words string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

// plainField returns the name in lower case, without hyphens and underscores.
func plainField(name []byte) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(string(name)))
}

// jepsenNamed knows the names of fields.
type jepsenNamed struct {
	unread  string // the entry's first field that is not read, and is not meaningless
	ignore  []string
	ignored []string // those of them that there were
	known   map[string]meaning
	// What else the names of the entry tell.
	mapEntry bool // its value has the tag of a key and its value
	whole    bool // it is a record of a whole operation
	results  bool // it is what a test concluded
}

// reset makes ready for the next entry.
func (n *jepsenNamed) reset() { n.unread, n.mapEntry, n.whole, n.results = "", false, false, false }

// hint says what to do about a field that every operation has, and this one lacks.
func (n *jepsenNamed) hint(example string) string {
	switch {
	case n.results:
		return "this is what a test concluded: give its history"
	case n.whole:
		return "write the beginning and the end of each operation, in the order of time, as " + example + " and the same with ok for invoke"
	}
	return "every operation has a type, an f and a process, such as " + example
}

// remarks says what was left unread.
func (n *jepsenNamed) remarks() []string {
	if len(n.ignored) == 0 {
		return nil
	}
	return []string{"left unread (--ignore-field): " + strings.Join(n.ignored, ", ")}
}

// meaning is what a name was found to mean.
type meaning struct {
	field         jepsenField
	read, skipped bool
	whole         bool // of a record of a whole operation
}

// field returns the field of that name; ok is false for one that is not read.
func (n *jepsenNamed) field(name []byte) (f jepsenField, ok bool) {
	m, seen := n.known[string(name)]
	if !seen {
		plain := plainField(name)
		m.field, m.read = jepsenFieldByName[plain]
		m.skipped = meaningless[plain[strings.LastIndexByte(plain, '/')+1:]] // whatever its namespace
		m.whole = wholeOperation[plain]
		for _, ignored := range n.ignore {
			if ignored == string(name) {
				m.read, m.skipped = false, true
				n.ignored = append(n.ignored, ignored)
			}
		}
		const most = 1000 // names that are remembered
		if n.known == nil {
			n.known = make(map[string]meaning)
		}
		if len(n.known) < most {
			n.known[string(name)] = m
		}
	}
	if !m.read && !m.skipped && n.unread == "" {
		n.unread = string(name)
	}
	n.whole = n.whole || m.whole
	n.results = n.results || string(name) == "valid?"
	return m.field, m.read
}

// unreadField is the error that an operation has a field of unknown meaning.
func unreadField(name string) error {
	if kind := otherFields[plainField([]byte(name))]; kind != "" {
		return &SyntaxError{Expected: "the history of a register or a lock", Found: "the field " + quote(name), Hint: notJudged(kind)}
	}
	return &SyntaxError{
		Expected: "beside the value a token, lease, key, lock or owner", Found: "the field " + quote(name),
		Hint: "it may matter to the verdict: rename it to one of these, or leave it unread with --ignore-field " + name,
	}
}

// beside reads the fields beside :value into the event.
func beside(e *Event, entry jepsenEntry) error {
	for _, number := range [...]struct {
		field jepsenField
		to    *Token
	}{{jepsenToken, &e.Token}, {jepsenHighest, &e.Highest}} {
		v, err := entry.read(number.field)
		switch {
		case err != nil:
			return err
		case v.some() && (v.Kind != Int || v.Num < 1):
			return entry.mistake(number.field, "a token, an integer from 1,", "add one to every token if they count from 0, and number them if they are texts")
		}
		*number.to = Token(v.Num)
	}
	for _, text := range [...]struct {
		field jepsenField
		to    *string
	}{{jepsenLease, &e.Lease}, {jepsenResource, &e.Resource}, {jepsenLock, &e.Scope}, {jepsenOwner, &e.Client}} {
		v, err := entry.read(text.field)
		if err != nil {
			return err
		}
		if *text.to = v.plain(); text.field == jepsenResource || text.field == jepsenLock {
			*text.to = v.name()
		}
	}
	switch {
	case !e.F.IsLease() || e.Scope == "":
	case e.Resource != "" && e.Resource != e.Scope:
		return entry.mistake(jepsenLock, "the name of the lock once", "leave one of the two out")
	default:
		e.Resource, e.Scope = e.Scope, ""
	}
	return nil
}

// ends copies to the end of an operation what its invoke says, and refuses another
// owner: it would not be known whose lock it is. The owner in a failed operation is
// the client that has the lock.
func (e *Event) ends(asked *request, entry jepsenEntry) error {
	if e.Type != OK && e.Client != asked.client {
		e.Owner, e.Client = e.Client, ""
	}
	for _, field := range [...]struct{ to, from *string }{{&e.Resource, &asked.resource}, {&e.Scope, &asked.scope}, {&e.Client, &asked.client}} {
		if *field.to == "" {
			*field.to = *field.from
		}
	}
	if e.Client != asked.client {
		return entry.mistake(jepsenOwner, "the owner of the invoke ("+quote(asked.client)+")", "name the owner in both, or in none")
	}
	return nil
}

// owners keeps for whom a process acts: an owner that an operation names is that of
// the following ones, too. Whether two holds are one client's hangs on it, so that
// either all operations on locks have an owner or none has.
type owners struct {
	named, unnamed bool
	last           map[string]string // by process
}

// of completes the owner of an operation that begins.
func (o *owners) of(e *Event, entry jepsenEntry) error {
	if e.Client == "" {
		e.Client = o.last[e.Process]
	}
	switch {
	case e.Client != "" && o.last[e.Process] != e.Client:
		if o.last == nil {
			o.last = make(map[string]string)
		}
		o.last[e.Process] = e.Client
	case e.Client == "" && !e.F.IsLease():
		return nil
	}
	o.named, o.unnamed = o.named || e.Client != "", o.unnamed || e.Client == ""
	if o.named && o.unnamed {
		return entry.mistake(jepsenF, "the owner of every operation on a lock, or of none", "name the owner in all of them: it says whose hold it is")
	}
	return nil
}

// protected finds what lock protects the data of a history, where these name no
// resource: the first one that was named before them.
type protected struct {
	lock    string // the first that was named
	several bool
	settled bool   // some data named no resource
	scope   string // theirs
	fenced  bool   // with tokens
}

func (p *protected) by(e *Event) error {
	switch {
	case !e.F.IsOperation():
		return nil
	case e.F.IsLease() && e.Resource == "":
	case e.F.IsLease() && p.lock == "":
		p.lock = e.Resource
	case e.F.IsLease():
		p.several = p.several || e.Resource != p.lock
	case e.Resource != "" || e.Scope != "":
		return nil
	default:
		if !p.settled {
			p.settled, p.scope = true, p.lock
		}
		e.Scope = p.scope
		p.fenced = p.fenced || e.Token != 0
	}
	if p.several && p.fenced {
		return &SyntaxError{
			Expected: "a key of each operation with a token, where there are several locks", Found: "operations without",
			Hint: "say under key, or under lock, what each is about",
		}
	}
	return nil
}
