package checker

// manyOpen is how many operations without an answer are remembered.
const manyOpen = 8

// unanswered are the operations of one kind that were begun and have no answer, with
// what is known of each: the oldest first. The zero value has none.
type unanswered[T comparable] struct {
	list  [manyOpen]asking[T]
	count int
}

type asking[T comparable] struct {
	op    int64
	about T
}

// begin adds an operation, and reports whether the oldest was forgotten for it.
func (u *unanswered[T]) begin(op int64, about T) (forgot bool) {
	if forgot = u.count == manyOpen; forgot {
		u.end(u.list[0].op)
	}
	u.list[u.count] = asking[T]{op, about}
	u.count++
	return forgot
}

// end takes an operation away that has an answer.
func (u *unanswered[T]) end(op int64) {
	for i := range u.list[:u.count] {
		if u.list[i].op == op {
			copy(u.list[i:], u.list[i+1:u.count])
			u.count--
			u.list[u.count] = asking[T]{}
			return
		}
	}
}

// all lists the operations.
func (u *unanswered[T]) all() []asking[T] { return u.list[:u.count] }
