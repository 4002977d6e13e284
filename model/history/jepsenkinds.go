package history

// otherTests are the histories of Jepsen's tests that no model here judges, by the
// operation that identifies them.
var otherTests = map[string]string{
	"txn":      "a history of transactions, which Elle judges",
	"append":   "a history of appends, to texts or to the lists of transactions, which Elle judges",
	"transfer": "the history of a bank test, which judges totals over accounts",
	"add":      "the history of a set or a counter", "add-element": "the history of a set", "remove": "the history of a set",
	"inc": "the history of a counter", "increment": "the history of a counter",
	"dec": "the history of a counter", "decrement": "the history of a counter",
	"enqueue": "the history of a queue", "dequeue": "the history of a queue", "drain": "the history of a queue",
	"push": "the history of a stack or a queue", "pop": "the history of a stack or a queue",
	"send": "the history of a log or a queue", "poll": "the history of a log or a queue",
	"subscribe": "the history of a log or a queue", "assign": "the history of a log or a queue",
	"generate": "the history of a source of unique identifiers",
	"insert":   "the history of a table of rows", "upsert": "the history of a table of rows",
	"acquire-permit": "the history of a semaphore", "acquire-permits": "the history of a semaphore",
	"release-permit": "the history of a semaphore", "release-permits": "the history of a semaphore",
	"reentrant-lock": "the history of a re-entrant lock", "reentrant-acquire": "the history of a re-entrant lock",
	"broadcast": "the history of a broadcast",
}

// otherNames are what others call the operations on a register.
var otherNames = map[string]string{
	"get": "read", "load": "read", "put": "write", "set": "write", "store": "write",
	"compare-and-set": "cas", "compare-and-swap": "cas", "compareAndSet": "cas", "cas!": "cas",
	"tryLock": "lock", "try-lock": "lock", "try-acquire": "acquire", "tryAcquire": "acquire",
}

// unknownOperation says what to do about an operation of that name.
func unknownOperation(f string) string {
	if kind := otherTests[f]; kind != "" {
		return notJudged(kind)
	}
	near := otherNames[f]
	if near == "" {
		near = nearest(f, jepsenNames)
	}
	if near != "" {
		return "did you mean " + near + "?"
	}
	return "judge histories of other objects with the tests that recorded them"
}

func notJudged(kind string) string {
	return "this is " + kind + ", and is not judged here: only registers, locks, leases and tokens are"
}

// otherFields identify histories that no model here judges.
var otherFields = map[string]string{
	"permits": "the history of a semaphore", "permit": "the history of a semaphore",
	"reentrant": "the history of a re-entrant lock", "holdcount": "the history of a re-entrant lock", "depth": "the history of a re-entrant lock",
	"account": "the history of a bank test", "balance": "the history of a bank test", "amount": "the history of a bank test",
	"queue": "the history of a queue", "topic": "the history of a log or a queue", "offset": "the history of a log or a queue",
	"txn": "a history of transactions, which Elle judges", "mops": "a history of transactions, which Elle judges",
}

// wholeOperation has the fields of records that hold an operation from its
// beginning to its end, as porcupine's do.
var wholeOperation = setOf(`call return input output clientid calltime returntime begin finish completed`)

// How to write an operation down.
const (
	exampleJSON = `{"process":0,"type":"invoke","f":"write","value":1}`
	exampleEDN  = `{:process 0, :type :invoke, :f :write, :value 1}`
)
