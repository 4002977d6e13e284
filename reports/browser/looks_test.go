package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// cut lists the texts that are cut off, stick out or lie on each other.
const cut = `(() => {
  // A telephone widens innerWidth to what does not fit.
  const wide = document.documentElement.clientWidth;
  const out = [], shown = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== "hidden";
  if (document.documentElement.scrollWidth > wide) out.push("the page is wider than the window: " + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll("body *:not(svg *)")) {
    if (!shown(e) || e.closest("svg") || e.closest("option")) continue;
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own) continue;
    const range = document.createRange();
    range.selectNodeContents(e);
    const text = range.getBoundingClientRect(), inner = e.getBoundingClientRect();
    if (e.matches("th, td") && !e.closest("thead") && inner.width < 60 && e.textContent.trim().length > 12 && inner.height > 100) out.push("squeezed: " + e.textContent.slice(0, 40));
    const scroller = e.closest(".scroll, .wide-table, #rows");
    if (e.matches("button, .pill, dd, dt") && (text.right > inner.right + 1 || text.left < inner.left - 1)) out.push("cut off: " + e.textContent.slice(0, 40));
    if (!scroller && (text.right > wide + 1 || text.left < -1)) out.push("out of the window: " + e.textContent.slice(0, 40));
    if (scroller && scroller.id === "rows" && (text.right > scroller.getBoundingClientRect().right + 1)) out.push("out of the table: " + e.textContent.slice(0, 40));
  }
  for (const drawing of document.querySelectorAll("#lanes, .drawing svg")) lie(drawing);
  function lie(drawing) {
    const frame = drawing.getBoundingClientRect(), where = drawing.id === "lanes" ? "" : " (in the still drawing)";
    const texts = [...drawing.querySelectorAll("text")].filter(shown).map((e) => ({ e, r: e.getBoundingClientRect() })).filter(({ r }) => r.width);
    for (const { e, r } of texts) {
      const clipped = e.closest("[clip-path]");
      if (!clipped && (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1)) out.push("out of the lanes: " + e.textContent + where);
    }
    for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
      const a = texts[i].r, b = texts[j].r;
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 2 && h > 4) out.push("one on the other: " + texts[i].e.textContent + " and " + texts[j].e.textContent + where);
    }
  }
  const ringed = [...document.querySelectorAll("#lanes g, .drawing g.mark")].filter((g) => g.querySelector(":scope > use[href='#ring']"));
  const violations = new Set(ringed.map((g) => g.querySelector("title").textContent.split(/[ :]/)[0]));
  if (violations.size > 1) out.push("the sign of the violation is on several events: " + [...violations].join(" "));
  const names = document.querySelector("#lanes") && document.querySelector(".scroll .gutter");
  for (const e of names ? document.querySelectorAll(".drawing .t-op") : []) {
    const edge = names.getBoundingClientRect().right, r = e.getBoundingClientRect();
    if (r.left < edge - 1 && r.right > edge + 1 && shown(e)) out.push("cut by the names: " + e.textContent);
  }
  const guilty = document.querySelector("#lanes g.guilty");
  if (guilty && !guilty.querySelector("text")) out.push("the operation of the violation has no label");
  return out;
})()`

// faint lists the texts whose contrast with what lies behind them is below 4.5.
const faint = `(() => {
  const parse = (c) => { const m = c.match(/[\d.]+/g); return m && m.map(Number); };
  const lum = ([r, g, b]) => [r, g, b].map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c && (c.length < 4 || c[3] > 0.5)) return c; } return [255, 255, 255]; };
  const out = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("defs, title, script") || e.disabled || !e.getClientRects().length || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const svg = e instanceof SVGElement, style = getComputedStyle(e);
    if (svg && e.closest(".badge")) continue;
    const fg = parse(svg ? style.fill : style.color);
    if (!fg) continue;
    let a = lum(fg), b = lum(behind(svg ? e.closest("svg").parentElement : e));
    if (a < b) [a, b] = [b, a];
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) out.add(e.textContent.trim().slice(0, 30) + " (" + ratio.toFixed(1) + ")");
  }
  return [...out];
})()`

// TestLooks opens pages wide and narrow, light and dark. The pictures that
// STALEPROOF_SHOTS asks for are for people to judge the rest.
func TestLooks(t *testing.T) {
	for name, address := range every(t) {
		for _, view := range []View{desk, phone} {
			look(t, name, address, view)
		}
	}
}

// guilty are the pages whose violation belongs to an operation of a client.
var guilty = map[string]bool{"textbook": true, "names": true, "recorded": true, "register": true, "read-before-raise": true, "long": true}

func look(t *testing.T, name, address string, view View) {
	t.Helper()
	tab := open(t, address, view)
	what := fmt.Sprintf("%s at %d", name, view.Width)
	for _, keys := range [][]string{{}, {"t"}, {"t", "0"}, {"v"}} {
		if len(keys) > 0 && !eval[bool](t, tab, `!!document.getElementById("lanes")`) {
			break // a page without a script
		}
		press(t, tab, keys...)
		for i, s := range eval[[]string](t, tab, cut) {
			if i < 8 {
				t.Errorf("%s after %q: %s", what, keys, s)
			}
		}
	}
	if has := eval[bool](t, tab, `!!document.querySelector("#lanes g.guilty text")`); !has && guilty[name] {
		t.Errorf("%s: expected the label of the violation's operation, found none", what)
	}
	for _, dark := range []bool{false, true} {
		theme(t, what, tab, dark)
		if dir := os.Getenv("STALEPROOF_SHOTS"); dir != "" {
			if err := tab.Shot(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, view.Width, map[bool]string{false: "light", true: "dark"}[dark]))); err != nil {
				t.Error(err)
			}
		}
	}
	quiet(t, tab)
}

// theme looks at the page in the light or in the dark.
func theme(t *testing.T, what string, tab *Tab, dark bool) {
	t.Helper()
	if err := tab.Dark(dark); err != nil {
		t.Fatal(err)
	}
	for _, s := range eval[[]string](t, tab, faint) {
		t.Errorf("%s, dark %t: hard to read: %s", what, dark, s)
	}
	if light := eval[bool](t, tab, `getComputedStyle(document.body).backgroundColor.match(/\d+/g)[0] > 128`); light == dark {
		t.Errorf("%s, dark %t: the ground has the colour of the other theme", what, dark)
	}
}
