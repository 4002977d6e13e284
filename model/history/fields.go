package history

// field numbers the fields of an event in the order in which a file has them.
type field uint8

const (
	fieldIndex field = iota
	fieldTime
	fieldProcess
	fieldType
	fieldF
	fieldOp
	fieldResource
	fieldScope
	fieldToken
	fieldHighest
	fieldLease
	fieldOwner
	fieldGeneration
	fieldValue
	fieldExpect
	fieldSeq
	fieldPrepared
	fieldBasis
	fieldExpires
	fieldUntil
	fieldRejections
	fieldError
	fieldClient
	fieldTo
	fieldMessage
	fieldCopy
	fieldText
	fieldCount
)

var fieldNames = [fieldCount]string{
	fieldIndex: "index", fieldTime: "time", fieldProcess: "process", fieldType: "type", fieldF: "f",
	fieldOp: "op", fieldResource: "resource", fieldScope: "scope", fieldToken: "token",
	fieldHighest: "highest", fieldLease: "lease", fieldOwner: "owner", fieldGeneration: "generation",
	fieldValue: "value", fieldExpect: "expect", fieldSeq: "seq", fieldPrepared: "prepared",
	fieldBasis: "basis", fieldExpires: "expires", fieldUntil: "until", fieldRejections: "rejections",
	fieldError: "error", fieldClient: "client", fieldTo: "to", fieldMessage: "message",
	fieldCopy: "copy", fieldText: "text",
}

// fieldOf returns the field of that name. It looks from the field after the
// last one found, because files keep to the order above.
func fieldOf(name []byte, after field) (field, bool) {
	f := after
	for range fieldCount {
		if f++; f >= fieldCount {
			f = 0
		}
		if fieldNames[f] == string(name) {
			return f, true
		}
	}
	return 0, false
}

// intField returns where the event keeps an integer field; nil for others.
func intField(e *Event, f field) *int64 {
	switch f {
	case fieldIndex:
		return &e.Index
	case fieldTime:
		return &e.Time
	case fieldOp:
		return &e.Op
	case fieldToken:
		return (*int64)(&e.Token)
	case fieldHighest:
		return (*int64)(&e.Highest)
	case fieldGeneration:
		return &e.Generation
	case fieldSeq:
		return &e.Seq
	case fieldPrepared:
		return (*int64)(&e.Prepared)
	case fieldBasis:
		return &e.Basis
	case fieldExpires:
		return &e.Expires
	case fieldUntil:
		return &e.Until
	case fieldRejections:
		return &e.Rejections
	case fieldMessage:
		return &e.Message
	case fieldCopy:
		return &e.Copy
	}
	return nil
}

// textField returns where the event keeps a text field; nil for others.
func textField(e *Event, f field) *string {
	switch f {
	case fieldProcess:
		return &e.Process
	case fieldResource:
		return &e.Resource
	case fieldScope:
		return &e.Scope
	case fieldLease:
		return &e.Lease
	case fieldOwner:
		return &e.Owner
	case fieldError:
		return &e.Error
	case fieldClient:
		return &e.Client
	case fieldTo:
		return &e.To
	case fieldText:
		return &e.Text
	}
	return nil
}
