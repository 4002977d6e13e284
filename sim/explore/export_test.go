package explore

// SetEffort bounds how much a small search runs again, and returns what undoes it.
func SetEffort(events int) (undo func()) {
	old := effort
	effort = events
	return func() { effort = old }
}
