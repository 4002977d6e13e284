package lf

import (
	"testing"

	"staleproof/sim/explore"
)

func TestGolden(t *testing.T) {
	for _, x := range []struct {
		name              string
		cfg               Config
		states, generated int64
	}{
		{"small", Config{Clients: 2, Acquisitions: 1, Writes: 1}, 501, 1327},
		{"mid", Config{Clients: 2, Acquisitions: 2, Writes: 1, Renewals: 1}, 434098, 1977805},
		{"n3", Config{Clients: 3, Acquisitions: 1, Writes: 1, Renewals: 1}, 1070495, 6249370},
		{"time small", Config{Timed: true, Horizon: 4, TTL: 2, Clients: 2, Acquisitions: 1, Writes: 1, Renewals: 1}, 63032, 223831},
		{"time mid", Config{Timed: true, Horizon: 4, TTL: 2, Clients: 2, Acquisitions: 2, Writes: 1, Renewals: 1}, 618976, 2432125},
	} {
		t.Run(x.name, func(t *testing.T) {
			for workers := 1; workers < 3; workers++ {
				r, err := explore.Run(x.cfg.System(), explore.Options{Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v %+v", r, r.Violation)
				if r.States != x.states || r.Generated != x.generated {
					t.Errorf("found %d states, %d generated, want %d, %d", r.States, r.Generated, x.states, x.generated)
				}
			}
		})
	}
}
