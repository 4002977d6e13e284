package sim

import "testing"

// TestStepsCountFromTheEvent: the limit of steps is for a loop that never comes
// to the next event; a long run may take more of them altogether.
func TestStepsCountFromTheEvent(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	for _, timing := range []Timing{Timed, Untimed, Bounded} {
		w.Reset(Config{Timing: timing}, Calm{}, nil)
		spawn(w, "P", func(p *Proc) {
			for range 6 {
				for range maxSteps / 4 {
					p.Yield("busy")
				}
				p.Sleep(1)
			}
		})
		if r := w.Run(); r.End != EndDone {
			t.Errorf("%s: %d steps with an event after each quarter of the limit: ended with %s", timing, 6*maxSteps/4, r.End)
		}
	}
}
