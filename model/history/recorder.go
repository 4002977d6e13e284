package history

// Recorder keeps events as they happen, in memory that is used again from one
// run to the next. The zero Recorder is ready to use.
type Recorder struct {
	events []Event
}

// Append keeps a copy of the event.
func (r *Recorder) Append(e *Event) { r.events = append(r.events, *e) }

// Len returns the number of events kept.
func (r *Recorder) Len() int { return len(r.events) }

// Events returns the events kept, in the order of their calls. The slice is
// the recorder's own: Reset and then Append overwrite it.
func (r *Recorder) Events() []Event { return r.events }

// Reset forgets the events and keeps their memory.
func (r *Recorder) Reset() { r.events = r.events[:0] }
