package sim

// Peek returns the T that v holds, where it lies, or nil if v holds no T. It spares
// a copy of a large message body, and must not be changed. T is a plain comparable
// type, as the types of message bodies are.
func Peek[T any](v any) *T { return Kept[T](&Slot{value: v}) }
