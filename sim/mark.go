package sim

// Mark tells what became of what a task put on its disk. It is for instrumentation,
// which has to say when a write took effect: a real system cannot know. The zero
// Mark counts nothing yet.
type Mark struct {
	// First is the number of the first record, among all that the process ever put
	// on its disk, from 1; 0: there is none.
	First int64
	// Records is how many records were put, and Durable how many of them were synced,
	// by whichever task, or survived a crash.
	Records, Durable int
	// Looked is the number of the newest record that was there when the task last
	// read the disk.
	Looked int64
}

// Mark makes what the task puts on its disk from now on, and reads there, count for
// m, until the next Mark; nil is for none. It returns the one so far.
func (p *Proc) Mark(m *Mark) *Mark {
	if p.gone() {
		return nil
	}
	old := p.mark
	p.mark = m
	return old
}

// lookAtDisk notes that p reads the disk.
func (p *Proc) lookAtDisk() {
	if p.mark != nil {
		p.mark.Looked = p.n.disk.puts
	}
}

// Ledger returns a place of the process that outlives its crashes, and ends with the
// run. It is for instrumentation: code that is to be tested keeps on its disk what
// a crash must not take.
func (p *Proc) Ledger() *any { return &p.n.ledger }
