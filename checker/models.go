package checker

// Model is a sequential specification that a recorded history can be judged
// against.
type Model struct {
	Name string
	// Guarantee is what must hold, in a sentence.
	Guarantee string
	Doc       string
}

var models = []Model{
	{
		Name:      "fenced",
		Guarantee: "Leases, tokens and the fenced store keep every property that the history lets us judge.",
		Doc:       "The history of a lease manager and a fenced store, in this project's own format.",
	},
}
