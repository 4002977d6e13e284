package history

// Stamp sets the event's place in the history. Process is kept when the event
// names one: a client whose earlier operation has an unknown outcome goes on
// under another name than its process has.
func (e *Event) Stamp(index, time int64, process string) {
	e.Index, e.Time = index, time
	if e.Process == "" {
		e.Process = process
	}
}
