package sim

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// diskModel is a disk as a list of writes: those before synced are durable.
type diskModel struct {
	writes []record
	synced int
}

func (m *diskModel) content() (map[string]any, []any) {
	keys, log := map[string]any{}, []any(nil)
	for _, r := range m.writes {
		switch {
		case r.log:
			log = append(log, r.value)
		case r.gone:
			delete(keys, r.key)
		default:
			keys[r.key] = r.value
		}
	}
	return keys, log
}

func (m *diskModel) crash(survive int) {
	m.synced += survive
	m.writes = m.writes[:m.synced]
}

// TestDisk: against the model, what is on the disk after any sequence of writes,
// syncs and crashes, torn or not.
func TestDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Disk
		var m diskModel
		write := func(r record) {
			*d.put(nil) = r
			m.writes = append(m.writes, r)
		}
		key := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				write(record{key: key.Draw(t, "key"), value: rapid.IntRange(0, 9).Draw(t, "value")})
			},
			"remove": func(t *rapid.T) { write(record{key: key.Draw(t, "key"), gone: true}) },
			"append": func(t *rapid.T) { write(record{log: true, value: rapid.IntRange(0, 9).Draw(t, "value")}) },
			"sync": func(t *rapid.T) {
				d.sync(len(d.pending))
				m.synced = len(m.writes)
			},
			"crash": func(t *rapid.T) {
				k := rapid.IntRange(0, len(d.pending)).Draw(t, "survive")
				d.crash(k)
				m.crash(k)
				if d.Torn() != k {
					t.Fatalf("torn %d, want %d", d.Torn(), k)
				}
			},
			"": func(t *rapid.T) { checkDisk(t, &d, &m) },
		})
	})
}

func checkDisk(t *rapid.T, d *Disk, m *diskModel) {
	keys, log := m.content()
	for _, k := range []string{"a", "b", "c", "d", "never"} {
		got, ok := d.Get(k)
		want, there := keys[k]
		if ok != there || got != want {
			t.Fatalf("%s is %v, %v; want %v, %v", k, got, ok, want, there)
		}
	}
	listed := map[string]any{}
	for k := range d.Keys {
		if _, twice := listed[k]; twice {
			t.Fatalf("key %s is listed twice", k)
		}
		listed[k], _ = d.Get(k)
	}
	if diff := cmp.Diff(keys, listed); diff != "" {
		t.Fatalf("keys (-want +got):\n%s", diff)
	}
	var got []any
	for v := range d.Log {
		got = append(got, v)
	}
	if diff := cmp.Diff(log, got); diff != "" {
		t.Fatalf("log (-want +got):\n%s", diff)
	}
	if want := len(m.writes) - m.synced; len(d.pending) != want {
		t.Fatalf("%d pending writes, want %d", len(d.pending), want)
	}
}

// TestDiskOrder: keys come in the order in which they were first synced, then
// first put, and a loop over them may stop.
func TestDiskOrder(t *testing.T) {
	var d Disk
	for _, k := range []string{"z", "m"} {
		*d.put(nil) = record{key: k, value: 1}
	}
	d.sync(2)
	*d.put(nil) = record{key: "a", value: 1}
	*d.put(nil) = record{log: true, value: "entry"} // has the empty key, and is no key
	*d.put(nil) = record{key: "z", value: 2}
	*d.put(nil) = record{key: "m", gone: true}
	*d.put(nil) = record{key: "b", value: 2}
	*d.put(nil) = record{key: "a", value: 3}
	if got, want := slices.Collect(d.Keys), []string{"z", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	for k := range d.Keys {
		if k != "z" {
			t.Errorf("went on to %s after the loop stopped", k)
		}
		break
	}
	if _, ok := d.Get(""); ok {
		t.Error("an entry of the log is found under the empty key")
	}
	d.reset()
	if got := slices.Collect(d.Keys); len(got) != 0 || slices.Collect(d.Log) != nil || d.Torn() != 0 {
		t.Errorf("a reset disk holds %v", got)
	}
}
