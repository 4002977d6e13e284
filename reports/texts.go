package reports

import "strconv"

// interner numbers strings and shapes, in one list; the empty one is number 0.
type interner struct {
	list       []string
	at, shapes map[string]int
}

func newInterner() *interner {
	return &interner{list: []string{""}, at: map[string]int{"": 0}, shapes: map[string]int{"": 0}}
}

func (in *interner) id(s string) int { return in.number(in.at, s, legibleText) }

func (in *interner) shape(s string) int {
	return in.number(in.shapes, s, func(s string) string { return s })
}

func (in *interner) number(at map[string]int, s string, write func(string) string) int {
	id, ok := at[s]
	if !ok {
		id = len(in.list)
		in.list, at[s] = append(in.list, write(s)), id
	}
	return id
}

// blank stands in a shape for a number. No legible text contains it.
const blank = '\x01'

// texts are sentences as columns, because a hundred thousand of them have a few
// hundred shapes: "sends message 7 to store" is the shape "sends message \x01
// to store" and the number 7, written as the difference from the number in the
// same place of the last sentence of that shape.
type texts struct {
	Shape   []int   `json:"shape"`
	Numbers []int64 `json:"numbers"`

	strings *interner
	last    map[int][]int64
}

func newTexts(in *interner) *texts {
	return &texts{Shape: []int{}, Numbers: []int64{}, strings: in, last: map[int][]int64{}}
}

func (t *texts) add(s string) {
	text, numbers := parts(legibleText(s))
	shape := t.strings.shape(text)
	t.Shape = append(t.Shape, shape)
	last := t.last[shape]
	if last == nil && len(numbers) > 0 {
		last = make([]int64, len(numbers))
		t.last[shape] = last
	}
	for i, n := range numbers {
		t.Numbers = append(t.Numbers, n-last[i])
		last[i] = n
	}
}

// maxDigits is how long a number may be that a script holds exactly.
const maxDigits = 15

// parts takes the numbers out of s. Leading zeros, and numbers too long for a
// script, stay in the shape.
func parts(s string) (shape string, numbers []int64) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j == i {
			b = append(b, s[i])
			i++
			continue
		}
		for i < j-1 && s[i] == '0' {
			b = append(b, '0')
			i++
		}
		if j-i <= maxDigits {
			n, _ := strconv.ParseInt(s[i:j], 10, 64)
			numbers = append(numbers, n)
			b = append(b, blank)
		} else {
			b = append(b, s[i:j]...)
		}
		i = j
	}
	return string(b), numbers
}
