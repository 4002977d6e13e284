package history

// Nearest returns the one of names closest to a misspelt one, or "" when none is
// close enough to be what was meant.
func Nearest(misspelt string, names []string) string { return nearest(misspelt, names) }
