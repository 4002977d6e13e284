package browser

import (
	"strings"
	"testing"
)

// TestTableScrolls holds the listing to showing every row somewhere: the first
// at the top, the last at the bottom, and no hole in between.
func TestTableScrolls(t *testing.T) {
	for _, view := range []View{desk, phone} {
		tab := open(t, write(t, finding(long(3000, 5))), view)
		last := eval[string](t, tab, `String(Number(document.getElementById("count").textContent.replace(/\D/g, "")) - 1)`)
		for _, test := range []struct{ reason, to, want string }{
			{"the top", "0", "0"},
			{"the bottom", "rows.scrollHeight", last},
			{"the middle", "rows.scrollHeight / 2 + 7", ""},
		} {
			got := eval[struct {
				Rows      []string
				Above     float64
				Covered   bool
				Continues bool
			}](t, tab, `(async () => {
				const rows = document.getElementById("rows");
				rows.scrollTop = `+test.to+`;
				await `+settle+`; await `+settle+`;
				const box = rows.getBoundingClientRect(), list = [...document.querySelectorAll("#listed tr")];
				const seen = list.filter((r) => { const b = r.getBoundingClientRect(); return b.bottom > box.top + 2 && b.top < box.bottom - 2; });
				const pos = list.map((r) => Number(r.dataset.pos));
				return { rows: seen.map((r) => r.dataset.pos), above: document.getElementById("listing").getBoundingClientRect().top - box.top,
					covered: list.at(-1).getBoundingClientRect().bottom >= box.bottom - 2 || pos.at(-1) === `+last+`, continues: pos.every((p, i) => !i || p === pos[i - 1] + 1) };
			})()`)
			if test.want != "" && !strings.Contains(" "+strings.Join(got.Rows, " ")+" ", " "+test.want+" ") {
				t.Errorf("at %d, %s: want row %s in sight, found %v", view.Width, test.reason, test.want, got.Rows)
			}
			if got.Above > 2 || !got.Covered || !got.Continues {
				t.Errorf("at %d, %s: the rows leave a hole: %+v", view.Width, test.reason, got)
			}
		}
	}
}

// TestPointer clicks on an event, drags the lanes and the overview.
func TestPointer(t *testing.T) {
	tab := open(t, write(t, textbook(t)), desk)
	const pointer = `const send = (e, type, x, y, buttons) => e.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, buttons, pointerId: 1, bubbles: true }));
		for (const id of ["lanes", "overview"]) document.getElementById(id).setPointerCapture = () => {};`
	got := eval[[]string](t, tab, `(async () => { `+pointer+`
		const lanes = document.getElementById("lanes"), mark = [...lanes.querySelectorAll(".mark")].find((m) => m.querySelector("title").textContent.includes("grants"));
		const title = mark.querySelector("title").textContent, b = mark.getBoundingClientRect();
		send(lanes, "pointerdown", b.x + b.width / 2, b.y + 8, 1); send(lanes, "pointerup", b.x + b.width / 2, b.y + 8, 0);
		await `+settle+`;
		return [title, document.getElementById("position").textContent];
	})()`)
	if !strings.HasPrefix(got[1], got[0]) {
		t.Errorf("a click on %q selected %q", got[0], got[1])
	}
	before := viewport(t, tab)
	eval[bool](t, tab, `(async () => { `+pointer+`
		const lanes = document.getElementById("lanes"), b = lanes.getBoundingClientRect();
		send(lanes, "pointerdown", b.x + 700, b.y + 60, 1); send(lanes, "pointermove", b.x + 400, b.y + 60, 1); send(lanes, "pointerup", b.x + 400, b.y + 60, 0);
		return await `+settle+`;
	})()`)
	dragged := viewport(t, tab)
	if dragged[0] <= before[0] {
		t.Errorf("dragging the lanes to the left should go on in the run: %v, %v", before, dragged)
	}
	eval[bool](t, tab, `(async () => { `+pointer+`
		const o = document.getElementById("overview"), b = o.getBoundingClientRect();
		send(o, "pointerdown", b.x + b.width - 2, b.y + 20, 1);
		return await `+settle+`;
	})()`)
	if end := viewport(t, tab); end[1] < 1100 {
		t.Errorf("a press at the end of the overview should lead there: %v", end)
	}
	quiet(t, tab)
}
