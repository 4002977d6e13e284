// The interactive part of a page about one run. It needs no library, makes no
// request, and writes text only as text. The page says everything decisive
// without it; see templates/finding.html.
(() => {
"use strict";

const $ = (id) => document.getElementById(id);
const SVG = document.querySelector("svg").namespaceURI;
const reduced = matchMedia("(max-width: 620px)");

// ---------------------------------------------------------------- the data

// unpack turns the page's base64url text into the columns of the history.
async function unpack(text) {
  const raw = atob(text.trim().replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// sums undoes the differences of a column.
function sums(column) {
  const out = new Float64Array(column.length);
  for (let i = 0, at = 0; i < out.length; i++) out[i] = at += column[i];
  return out;
}

// Texts are sentences as shapes and numbers; see texts.go.
class Texts {
  constructor(t, strings) {
    this.shape = t.shape;
    this.start = new Int32Array(t.shape.length + 1);
    this.numbers = new Float64Array(t.numbers.length);
    this.pieces = [];
    const last = [];
    let n = 0;
    for (let i = 0; i < t.shape.length; i++) {
      const s = t.shape[i];
      const p = this.pieces[s] || (this.pieces[s] = strings[s].split("\x01"));
      const l = last[s] || (last[s] = new Float64Array(p.length));
      for (let j = 0; j < p.length - 1; j++, n++) this.numbers[n] = l[j] += t.numbers[n];
      this.start[i + 1] = n;
    }
  }
  get(i) {
    const p = this.pieces[this.shape[i]];
    let s = p[0];
    for (let j = 1, n = this.start[i]; j < p.length; j++, n++) s += this.numbers[n] + p[j];
    return s;
  }
}

const spanColumns = ["class", "lane", "other", "from", "to"];
const holdColumns = ["lane", "scope", "token", "generation", "from", "to", "until", "acted"];
const fenceColumns = ["scope", "pos", "token", "accepted", "greatest"];

// prepare fills in what the columns leave out and the script asks for often.
function prepare(d) {
  const e = d.events;
  d.n = e.index.length;
  d.at = sums(e.index);
  d.time = sums(e.time);
  d.words = new Texts(e.words, d.strings);
  d.change = new Texts(e.change, d.strings);
  for (const s of [d.ops, d.messages, d.shades]) {
    for (const c of spanColumns) s[c] = s[c] || [];
    s.label = new Texts(s.label, d.strings);
  }
  for (const h of [d.knew, d.believed]) for (const c of holdColumns) h[c] = h[c] || [];
  for (const c of fenceColumns) d.fence[c] = d.fence[c] || [];
  d.believing = new Set(d.believed.from.map((_, i) => holding(d.believed, i)));
  // Places in time never go back, whatever the recorded times do.
  d.x = new Float64Array(d.n);
  for (let i = 0, top = 0; i < d.n; i++) d.x[i] = top = i ? Math.max(top, d.time[i]) : d.time[0];
  d.steps = new Map();
  for (let i = 0; i < d.links.length; i += 2) {
    d.steps.set(d.links[i], (d.steps.get(d.links[i]) || []).concat(d.links[i + 1]));
  }
  d.gap = new Map();
  for (let i = 0; i < d.gaps.length; i += 2) d.gap.set(d.gaps[i], d.gaps[i + 1]);
  d.rejections = [];
  const rejected = d.kinds.findIndex((k) => k.name === "reject");
  const told = d.kinds.findIndex((k) => k.name === "stale");
  for (let i = 0; i < d.n; i++) if (e.kind[i] === (rejected >= 0 ? rejected : told)) d.rejections.push(i);
  d.weight = d.kinds.map(weigh);
  // What a history never has is no detail of its events.
  d.fenced = d.tokens.length > 1;
  d.leased = e.lease.some((l) => l > 0);
  d.named = e.resource.some((r) => r > 0);
  return d;
}

// weigh says which of several events in one place stands for them.
function weigh(kind) {
  const name = kind.name;
  if (name === "reject" || name === "stale") return 5;
  if (["grant", "expire", "released", "crash", "restart", "clock"].includes(name)) return 4;
  if (["apply", "raised", "renewed", "disbelieve"].includes(name)) return 3;
  return name === "served" ? 2 : 1;
}

let data;

const indexOf = (pos) => String(BigInt(data.index) + BigInt(data.at[pos]));
const nameOf = (pos) => data.strings[data.events.process[pos]] || "world";
// whoOf names a process in a sentence; recorders often number them.
const whoOf = (pos) => nameOf(pos).replace(/^\d+$/, "process $&");
const kindOf = (pos) => data.kinds[data.events.kind[pos]];
const scopeOf = (pos) => data.states.scope[data.events.state[pos]];

// clockAt writes a time, in nanoseconds since the first event, with as many
// decimals as tell all events apart.
function clockAt(rel, digits = data.digits) {
  const t = BigInt(data.time0) + BigInt(Math.round(rel));
  if (data.unit !== "ns") return String(t);
  const sign = t < 0n ? "-" : "", abs = t < 0n ? -t : t;
  const frac = String(abs % 1000000000n).padStart(9, "0").slice(0, digits);
  return sign + abs / 1000000000n + (digits ? "." + frac : "");
}

function sayTime(pos, digits = data.digits) {
  if (!data.unit) return "";
  // Zeros at the end tell nothing apart; in the table they keep the column straight.
  return data.unit === "ns" ? clockAt(data.time[pos], digits).replace(/(\.\d{3}\d*?)0+$/, "$1") + " s" : data.unit + " " + clockAt(data.time[pos]);
}

// ---------------------------------------------------------------- the state

const state = { selected: 0, from: 0, to: 1, axis: "order", q: "", scope: "", who: "", kind: "" };
let shown = null; // positions that pass the filters; null means all
let userActed = false;

const axisOf = (pos) => (state.axis === "time" ? data.x[pos] : pos);
const axisEnd = () => (state.axis === "time" ? data.x[data.n - 1] : data.n - 1);
const axisStart = () => (state.axis === "time" ? data.x[0] : 0);

// positionAt finds the first position whose place is not before at.
function positionAt(at) {
  if (state.axis !== "time") return Math.max(0, Math.min(data.n, Math.ceil(at)));
  let lo = 0, hi = data.n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (data.x[mid] < at) lo = mid + 1; else hi = mid;
  }
  return lo;
}

// look shows a stretch of the axis, kept within the run and not too narrow.
function look(from, to) {
  const least = state.axis === "time" ? (data.unit === "ns" ? 1000 : 2) : 4;
  const room = ((to - from) * 24) / Math.max(200, frame.width - frame.gutter); // for the sign of the last event
  const margin = Math.max((axisEnd() - axisStart()) * 0.01, state.axis === "time" ? 0 : 0.75, least * 0.1, room);
  const first = axisStart() - margin, last = axisEnd() + margin;
  let width = Math.min(Math.max(to - from, least), Math.max(last - first, least));
  let start = (from + to - width) / 2;
  start = Math.max(first, Math.min(start, last - width));
  state.from = start;
  state.to = start + width;
}

// lookAround shows what the finding names, or as much as can be read.
function lookAround(pos) {
  const cited = data.cited.filter((p) => p <= pos && pos - p < 150);
  const from = Math.min(cited.length ? cited[0] - 3 : pos, pos - 40);
  const first = Math.max(from, pos - (reduced.matches ? 24 : 150));
  const a = axisOf(Math.max(0, first)), b = axisOf(Math.min(data.n - 1, pos + 6));
  look(a - (b - a) * 0.02, b + (b - a) * (reduced.matches ? 0.1 : 0.03));
}

function lookAll() { look(axisStart(), axisEnd()); }

function zoom(factor, around) {
  const x = axisOf(state.selected);
  const c = around ?? (x >= state.from && x <= state.to ? x : (state.from + state.to) / 2);
  look(c - (c - state.from) * factor, c + (state.to - c) * factor);
}

function pan(share) {
  const by = (state.to - state.from) * share;
  look(state.from + by, state.to + by);
}

// reveal moves the view so that pos is in it, clear of its edges.
function reveal(pos) {
  const x = axisOf(pos), width = state.to - state.from, edge = width * 0.06;
  if (x < state.from + edge || x > state.to - edge) look(x - width / 2, x + width / 2);
}

function select(pos, follow = true) {
  state.selected = Math.max(0, Math.min(data.n - 1, pos));
  if (follow) reveal(state.selected);
  render();
  table.reveal(state.selected);
  say();
}

// step goes to the next position of a list in a direction, from the selected one.
function step(list, way) {
  const here = state.selected;
  if (!list) return select(here + way);
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid] < here || (way > 0 && list[mid] === here)) lo = mid + 1; else hi = mid;
  }
  const to = list[way > 0 ? lo : lo - 1];
  if (to !== undefined) select(to);
  else $("position").textContent = sentence(here) + (way > 0 ? ". There is none after it." : ". There is none before it.");
}

// ---------------------------------------------------------------- drawing

function make(name, attributes, parent, text) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function html(name, attributes, parent, text) {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

// clip keeps both ends of a text that is too long.
function clip(text, most) {
  const runes = [...text];
  if (runes.length <= most) return text;
  const tail = Math.floor(most / 3);
  return runes.slice(0, most - 1 - tail).join("") + "…" + runes.slice(runes.length - tail).join("");
}

const cell = 4;        // pixels below which events are drawn as density
const mostLanes = 24;
const mostMarks = 250;
const mostSpans = 90; // of each sort
const frame = { width: 0, gutter: 0, narrow: false, row: [], rows: [], height: 0 };

// measure is how wide a text is, in a font of the lanes.
const small = "11px system-ui, sans-serif", bold = "650 12.5px system-ui, sans-serif";
const pen = document.createElement("canvas").getContext("2d");
function measure(text, font = small) {
  pen.font = font;
  return pen.measureText(text).width;
}

// fit is the longest of a text's clippings that is not wider than room.
function fit(text, room, font) {
  for (let most = [...text].length; most > 3; most--) {
    const s = clip(text, most);
    if (measure(s, font) <= room) return s;
  }
  return clip(text, 3);
}

// gutter is the width beside the lanes: that of the longest name, within reason.
// On a telephone names have a line of their own, and only levels are beside.
function gutter() {
  const level = data.fence.pos.length ? Math.max(...["none", data.tokens[data.tokens.length - 1]].map((t) => measure(clip(t, 8)))) : 0;
  if (frame.narrow) return Math.ceil(Math.max(8, level + 8));
  const names = [...frame.rows.map((r) => r.name), ...(level ? [data.strings[currentScope()] || ""] : [])];
  return Math.ceil(Math.min(frame.width * 0.2, Math.max(112, level + 24, ...names.map((n) => measure(n, bold) + 20))));
}

const px = (at) => frame.gutter + ((at - state.from) / (state.to - state.from)) * (frame.width - frame.gutter);
const clampX = (x) => Math.max(frame.gutter - 20, Math.min(frame.width + 20, x));

// layout gives each lane its row. Of very many lanes, those that the finding
// names and those of servers keep a row of their own.
function layout() {
  const lanes = data.lanes, all = lanes.map((_, i) => i), keep = new Set();
  for (const i of [...data.cited.map((pos) => data.events.lane[pos] - 1), ...all.filter((i) => lanes[i].role !== "client"), ...all]) {
    if (i >= 0 && keep.size < mostLanes) keep.add(i);
  }
  frame.rows = [];
  frame.row = lanes.map(() => -1);
  let y = 34;
  const add = (name, role, above = 0) => { // above it a label may have to clear the sign of the violation
    const head = above + (frame.narrow ? 14 : 0), h = head + (role === "client" ? 70 : 54); // on a telephone the name is above
    frame.rows.push({ name, role, y, h, mid: y + head + (role === "client" ? 28 : 26), band: y + head + 46 });
    y += h;
    return frame.rows.length - 1;
  };
  const alarmed = data.violation >= 0 ? data.events.lane[data.violation] - 1 : -1;
  lanes.forEach((l, i) => { if (keep.has(i)) frame.row[i] = add(l.name, l.role, i === alarmed && l.role === "client" ? 10 : 0); });
  const rest = frame.row.filter((r) => r < 0).length;
  if (rest) {
    const row = add(rest + " other lanes", "client");
    frame.row = frame.row.map((r) => (r < 0 ? row : r));
  }
  frame.lanesBottom = y;
  frame.fenceTop = y;
  frame.height = y + (data.fence.pos.length ? 126 : 0) + 40;
  frame.gutter = gutter();
}

const rowOf = (lane) => (lane < 0 ? undefined : frame.rows[frame.row[lane]]);

let queued = false;
function render() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; draw(); remember(); });
}

function draw() {
  const svg = $("lanes");
  frame.width = Math.max(280, Math.floor($("canvas").clientWidth));
  frame.narrow = frame.width < 620;
  layout();
  svg.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
  svg.setAttribute("height", frame.height);
  const root = document.createDocumentFragment();
  const lo = Math.max(0, positionAt(state.from) - 1), hi = Math.min(data.n, positionAt(state.to) + 1);
  const ground = make("g", {}, root), clipped = make("g", { "clip-path": "url(#plot)" }, root), front = make("g", {}, root);
  const plot = make("clipPath", { id: "plot" }, root);
  make("rect", { x: frame.gutter, y: 0, width: frame.width - frame.gutter, height: frame.height }, plot);
  drawRows(ground, front);
  drawGaps(clipped, lo, hi);
  const labels = labelOps();
  drawShades(clipped);
  drawHolds(clipped);
  drawGuides(clipped);
  drawOps(clipped, labels);
  drawMessages(clipped, hi - lo);
  drawMarks(clipped, lo, hi);
  drawFence(ground, clipped, front, lo, hi);
  drawAxis(front, lo, hi);
  svg.replaceChildren(root);
  drawOverview();
  showDetail();
  buttons();
}

function drawRows(ground, front) {
  const narrow = frame.narrow;
  frame.rows.forEach((r, i) => {
    if (i % 2) make("rect", { class: "lane-alt", x: 0, y: r.y, width: frame.width, height: r.h }, ground);
    make("path", { class: "wire", d: `M${frame.gutter} ${r.mid}H${frame.width}` }, ground);
    const name = make("text", { class: "lane-name", x: 8, y: narrow ? r.y + 12 : r.mid + (r.name === r.role ? 4 : -2) }, front, fit(r.name, narrow ? frame.width - 20 : frame.gutter - 16, bold));
    make("title", {}, name, r.name);
    if (!narrow && r.name !== r.role) make("text", { class: "t-muted", x: 8, y: r.mid + 13 }, front, r.role);
  });
}

// drawGaps shades where events of the run are left out.
function drawGaps(to) {
  for (let i = 0; i < data.gaps.length; i += 2) {
    const pos = data.gaps[i];
    const x = pos < data.n ? (pos ? (px(axisOf(pos - 1)) + px(axisOf(pos))) / 2 : px(axisOf(0)) - 8) : px(axisOf(data.n - 1)) + 8;
    if (x < frame.gutter - 20 || x > frame.width + 20) continue;
    const g = make("g", {}, to);
    make("rect", { x: x - 4, y: 30, width: 8, height: frame.lanesBottom - 30, fill: "url(#gap)" }, g);
    make("title", {}, g, data.gaps[i + 1].toLocaleString("en") + " events left out");
  }
}

// extent is from where to where on the screen something lasts, or nothing when
// that is out of sight.
function extent(from, to, until) {
  let end = to >= 0 ? axisOf(to) : Infinity;
  if (until) end = Math.min(end, state.axis === "time" ? until : untilStep(until, from));
  const start = axisOf(from);
  if (end < state.from || start > state.to) return null;
  const a = clampX(px(start)), b = end === Infinity ? frame.width + 20 : clampX(px(end));
  return { a, b: Math.max(a, b), w: Math.max(0, b - a) };
}

// untilStep finds the place of a time in the order of steps.
function untilStep(time, from) {
  let lo = from, hi = data.n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (data.x[mid] <= time) lo = mid + 1; else hi = mid;
  }
  return lo >= data.n ? Infinity : lo - 0.5;
}

function drawShades(to) {
  const s = data.shades;
  let drawn = 0;
  for (let i = 0; i < s.from.length && drawn < mostSpans; i++) {
    const x = extent(s.from[i], s.to[i]);
    if (!x || (x.w < 1 && s.to[i] >= 0)) continue;
    drawn++;
    const kind = data.strings[s.class[i]], r = rowOf(s.lane[i]);
    if (kind === "partition") { drawPartition(to, s, i, x); continue; }
    if (!r) continue;
    const g = make("g", { class: kind }, to);
    make("title", {}, g, nameOf(s.from[i]) + " " + data.words.get(s.from[i]));
    make("rect", { x: x.a, y: r.y, width: x.w, height: r.h, fill: `url(#${kind})` }, g);
    make("path", { class: "shade-edge", fill: "none", d: `M${x.a} ${r.y}v${r.h}M${x.b} ${r.y}v${r.h}` }, g);
    shadeLabel(g, x, r, s.label.get(i), kind);
  }
}

function shadeLabel(g, x, r, label, kind) {
  const a = Math.max(x.a, frame.gutter), b = Math.min(x.b, frame.width);
  for (const text of [label, label.split(" ").slice(0, 3).join(" "), kind]) {
    const half = text.length * 3.5;
    const at = [(a + b) / 2, a + half + 6, b - half - 6].find((at) => half * 2 + 12 <= b - a && clearOfSign(r, at - half, at + half) && reserve(r, "top", at - half, at + half));
    if (at === undefined) continue;
    make("text", { class: "t-paused halo", x: at, y: r.mid - 12, "text-anchor": "middle" }, g, text);
    return;
  }
}

// clearOfSign says whether a line of text above a row keeps off the sign of the
// violation.
function clearOfSign(r, from, to) {
  const x = px(axisOf(data.violation)), half = 21;
  return data.violation < 0 || rowOf(data.events.lane[data.violation] - 1) !== r || from > x + half || to < x - half;
}

// reserve takes a part of a line of text of a row; it says whether that was free.
function reserve(row, line, from, to) {
  const taken = row[line] || (row[line] = []);
  if (taken.some(([a, b]) => from < b + 2 && to > a - 2)) return false;
  taken.push([from, to]);
  return true;
}

function drawPartition(to, s, i, x) {
  const rows = [rowOf(s.lane[i]), rowOf(s.other[i])].filter(Boolean);
  const top = rows.length ? Math.min(...rows.map((r) => r.y)) : 34;
  const bottom = rows.length ? Math.max(...rows.map((r) => r.y + r.h)) : frame.lanesBottom;
  const g = make("g", {}, to);
  make("title", {}, g, nameOf(s.from[i]) + " " + data.words.get(s.from[i]));
  make("rect", { class: "cut", x: x.a, y: top + 1.5, width: x.w, height: bottom - top - 3 }, g);
  const label = s.label.get(i);
  if (rows[0] && label.length * 6.5 + 10 < x.w) make("text", { class: "t-muted halo", x: Math.max(x.a, frame.gutter) + 6, y: rows[0].y + rows[0].h - 4 }, g, label);
}

// currentScope is the scope whose leases and fence are drawn.
const currentScope = () => data.strings.indexOf(state.scope) >= 0 && state.scope ? data.strings.indexOf(state.scope) : scopeOf(state.selected);

function drawHolds(to) {
  const scope = currentScope();
  for (const [h, kind] of [[data.knew, "knew"], [data.believed, "believed"]]) {
    const seen = [];
    for (let i = 0; i < h.from.length; i++) {
      const x = h.scope[i] === scope && extent(h.from[i], h.to[i], h.until[i]), r = rowOf(h.lane[i]);
      if (x && r) seen.push({ i, x, r });
    }
    if (seen.length > mostSpans) drawManyHolds(to, seen, kind);
    else for (const { i, x, r } of seen) drawHold(to, h, i, kind, x, r);
  }
}

// drawManyHolds draws the bands of each lane as one shape, without labels.
function drawManyHolds(to, seen, kind) {
  const shapes = new Map();
  for (const { x, r } of seen) {
    const s = shapes.get(r) || shapes.set(r, { d: "", end: -1 }).get(r), w = Math.max(1, x.w);
    if (x.a + w < s.end + 1) continue; // on the same pixel
    s.d += kind === "knew" ? `M${x.a} ${r.band + 1}h${w}v14h-${w}z` : `M${x.a} ${r.band - 1}h${w}v18h-${w}z`;
    s.end = x.a + w;
  }
  for (const { d } of shapes.values()) make("path", kind === "knew" ? { class: kind, d } : { class: kind, fill: "none", "stroke-width": 1, d }, to);
}

function drawHold(to, h, i, kind, x, r) {
  const g = make("g", {}, to), inset = kind === "knew" ? 3 : 1;
  const token = data.tokens[h.token[i]];
  const words = token ? (h.generation[i] ? "generation " + h.generation[i] + " · " : "") + "token " + token : "held";
  make("title", {}, g, r.name + (kind === "knew" ? " holds the lease, as the coordinator knows: " : " believes that it holds the lease: ") + words);
  const box = { x: x.a, y: r.band + inset - 2, width: Math.max(1, x.w), height: 20 - 2 * inset };
  make("rect", kind === "knew" ? { class: "knew", ...box } : { class: "believed", fill: "none", "stroke-width": 2, ...box }, g);
  if (kind === "believed" && h.acted[i] >= 0) {
    const end = clampX(px(axisOf(h.acted[i])));
    if (end > x.b + 3) make("path", { class: "tail", fill: "none", "stroke-dasharray": "4 3", "stroke-width": 1.5, d: `M${x.b} ${box.y}H${end}v${box.height}H${x.b}` }, g);
  }
  const a = Math.max(x.a, frame.gutter), b = Math.min(x.b, frame.width);
  const text = [words, token && "token " + token, token].find((t) => t && t.length * 6.5 + 12 <= b - a);
  // One label for both: the holder's own band carries it, if there is one.
  if (text && (kind === "believed" || !data.believing.has(holding(h, i)))) make("text", { class: "t-band", x: a + 7, y: r.band + 12 }, g, text);
}

const holding = (h, i) => h.lane[i] + "/" + h.scope[i] + "/" + h.token[i];

function drawGuides(to) {
  const badges = [];
  for (const pos of data.cited) {
    const x = px(axisOf(pos));
    if (x < frame.gutter - 5 || x > frame.width + 5) continue;
    const bad = pos === data.violation;
    make("path", { class: "guide" + (bad ? " g-violation" : ""), fill: "none", "stroke-dasharray": "2 3", d: `M${x} 24V${frame.height - 40}` }, to);
    if (data.steps.has(pos)) badges.push({ x, bad, steps: data.steps.get(pos) });
  }
  drawBadges(to, badges);
  const x = px(axisOf(state.selected));
  make("path", { class: "cursor", d: `M${x} 24V${frame.height - 34}` }, to);
}

// drawBadges numbers the steps. Those that lie on each other share a badge; the
// violation has one of its own, beside which the others make room.
function drawBadges(to, badges) {
  const shown = [], hits = (a, b) => a.x + a.w / 2 + 2 > b.x - b.w / 2;
  for (const b of badges) {
    shown.push(fitBadge({ ...b }));
    for (let n = shown.length - 1; n > 0 && !shown[n].bad && !shown[n - 1].bad && hits(shown[n - 1], shown[n]); n--) {
      const next = shown.pop();
      shown[n - 1] = fitBadge({ ...shown[n - 1], steps: shown[n - 1].steps.concat(next.steps) });
    }
  }
  const at = shown.findIndex((b) => b.bad);
  for (let n = at; n > 0 && hits(shown[n - 1], shown[n]); n--) shown[n - 1].x = shown[n].x - (shown[n].w + shown[n - 1].w) / 2 - 2;
  for (let n = at; n >= 0 && n < shown.length - 1 && hits(shown[n], shown[n + 1]); n++) shown[n + 1].x = shown[n].x + (shown[n].w + shown[n + 1].w) / 2 + 2;
  for (const b of shown) {
    if (b.x - b.w / 2 < frame.gutter || b.x + b.w / 2 > frame.width) continue;
    const g = make("g", { class: "badge" + (b.bad ? " b-violation" : "") }, to);
    make("rect", { x: b.x - b.w / 2, y: 5, width: b.w, height: 18, rx: 9 }, g);
    make("text", { x: b.x, y: 18, "text-anchor": "middle", "font-weight": 700 }, g, b.text);
  }
}

// fitBadge gives a badge its text and its place within the lanes.
function fitBadge(b) {
  b.text = b.steps.length > 2 ? b.steps[0] + "–" + b.steps[b.steps.length - 1] : b.steps.join(",");
  b.w = Math.max(18, b.text.length * 7 + 8);
  b.x = Math.max(frame.gutter + b.w / 2 + 1, Math.min(frame.width - b.w / 2 - 1, b.x));
  return b;
}

// labelOps gives the operations their labels: that of the violation first, and
// the others where the next one of their lane leaves room.
function labelOps() {
  const o = data.ops, labels = new Map();
  const place = (i, decisive) => {
    const x = extent(o.from[i], o.to[i]), r = rowOf(o.lane[i]);
    if (!x || !r || (x.w < cell && !decisive)) return false;
    const text = o.label.get(i), width = text.length * 6.2;
    let at = Math.max(x.a, frame.gutter + 2);
    if (decisive) at = Math.max(frame.gutter + 2, Math.min(at, frame.width - width - 2));
    else if (x.b < at + 8 || at + width >= nextOp(o, i) || at + width >= frame.width) return true;
    if (reserve(r, "top", at, at + width + 4)) labels.set(i, { text, x: at, y: r.mid - (clearOfSign(r, at, at + width) ? 12 : 24) });
    return true;
  };
  if (data.guilty >= 0) place(data.guilty, true);
  for (let i = 0, n = 0; i < o.from.length && n < mostSpans; i++) {
    if (i !== data.guilty && place(i, false)) n++;
  }
  return labels;
}

function drawOps(to, labels) {
  const o = data.ops;
  let drawn = 0;
  for (let i = 0; i < o.from.length && (drawn < mostSpans || i <= data.guilty); i++) {
    const x = extent(o.from[i], o.to[i]), r = rowOf(o.lane[i]);
    if (!x || !r || (i !== data.guilty && (x.w < cell || drawn >= mostSpans))) continue;
    drawn++;
    drawOp(to, o, i, x, r, labels.get(i));
  }
}

function drawOp(to, o, i, x, r, label) {
  const end = data.strings[o.class[i]], open = end === "info" || end === "open";
  const g = make("g", i === data.guilty ? { class: "guilty" } : {}, to);
  make("title", {}, g, nameOf(o.from[i]) + " " + data.words.get(o.from[i]));
  make("path", { class: "op-bar", fill: "none", "stroke-width": 4, "stroke-dasharray": open ? "5 4" : "none", d: `M${x.a} ${r.mid}H${x.b}` }, g);
  make("path", { class: "op-edge", fill: "none", "stroke-width": 2, d: `M${x.a} ${r.mid - 6}v12` + (end === "fail" ? `M${x.b - 4} ${r.mid - 4}l8 8m0-8l-8 8` : "") }, g);
  if (end === "ok") make("circle", { class: "op-dot", cx: x.b, cy: r.mid, r: 4 }, g);
  if (end === "info") make("circle", { class: "op-ring", cx: x.b, cy: r.mid, r: 3.5 }, g);
  if (label) make("text", { class: "halo", x: label.x, y: label.y }, g, label.text);
}

// nextOp is where the next label of the same lane may begin. An operation that
// begins within another leaves the label to that.
function nextOp(o, i) {
  for (let j = i + 1; j < o.from.length && j < i + 200; j++) {
    const within = o.to[i] < 0 || o.to[i] > o.from[j];
    if (!within && frame.row[o.lane[j]] === frame.row[o.lane[i]]) return px(axisOf(o.from[j])) - 4;
  }
  return Infinity;
}

// drawMessages draws arrows while they can be told apart, and of very many only
// those that were late or lost.
function drawMessages(to, visible) {
  const m = data.messages, room = (frame.width - frame.gutter) / Math.max(1, visible);
  let drawn = 0;
  for (let i = 0; i < m.from.length && drawn < mostSpans; i++) {
    const kind = data.strings[m.class[i]], plain = kind === "message" || kind === "served";
    if (plain && room < cell && state.axis !== "time") continue;
    const x = extent(m.from[i], m.to[i]), a = rowOf(m.lane[i]), b = rowOf(m.other[i]);
    if (!x || !a || !b || (plain && state.axis === "time" && x.w < 2 && room < cell)) continue;
    // Of what ends at the very edge only a tip would be left.
    if (m.to[i] >= 0 && px(axisOf(m.from[i])) < frame.gutter && x.b < frame.gutter + 12) continue;
    drawn++;
    drawMessage(to, m, i, kind, x, a, b);
  }
}

function drawMessage(to, m, i, kind, x, a, b) {
  const g = make("g", { class: "arrow a-" + kind }, to);
  make("title", {}, g, data.words.get(m.from[i]));
  const down = b.mid > a.mid ? 1 : -1, y1 = a.mid + 7 * down, y2 = b.mid - 9 * down;
  const lineClass = { late: "a-late-line", lost: "a-lost-line" }[kind] || "a-line";
  if (kind === "flying" || kind === "lost") {
    const w = kind === "lost" && m.to[i] >= 0 ? Math.max(10, x.w * 0.7) : 24, y = y1 + (y2 - y1) * 0.55;
    make("path", { class: lineClass, fill: "none", "stroke-width": 1.5, "stroke-dasharray": "5 4", d: `M${x.a} ${y1}L${x.a + w} ${y}` + (kind === "lost" ? `m-4-4l8 8m0-8l-8 8` : "") }, g);
    return;
  }
  const attributes = { class: lineClass, fill: "none", "stroke-width": kind === "late" ? 2.2 : 1.1, d: `M${x.a} ${y1}L${x.b} ${y2}` };
  if (kind === "served") attributes["stroke-dasharray"] = "2 3";
  else attributes["marker-end"] = kind === "late" ? "url(#head-late)" : "url(#head)";
  make("path", attributes, g);
}

// drawMarks draws the events of each lane: a symbol where there is room for one,
// and below four pixels an event as density.
function drawMarks(to, lo, hi) {
  const cells = Math.ceil((frame.width - frame.gutter) / cell) + 1, rows = frame.rows.length;
  const count = new Int32Array(rows * cells), best = new Int32Array(rows * cells).fill(-1);
  for (let pos = lo; pos < hi; pos++) {
    const lane = data.events.lane[pos] - 1, c = Math.floor((px(axisOf(pos)) - frame.gutter) / cell);
    if (lane < 0 || c < 0 || c >= cells) continue;
    const at = frame.row[lane] * cells + c;
    count[at]++;
    if (best[at] < 0 || rank(pos) > rank(best[at])) best[at] = pos;
  }
  for (let r = 0; r < rows; r++) drawDensity(to, count.subarray(r * cells, (r + 1) * cells), frame.rows[r]);
  drawSymbols(to, best, cells);
}

function rank(pos) {
  if (pos === state.selected) return 9;
  if (pos === data.violation) return 8;
  return data.steps.has(pos) ? 7 : data.weight[data.events.kind[pos]];
}

function drawDensity(to, counts, r) {
  let d = "", ticks = "";
  for (let c = 0; c < counts.length; c++) {
    const x = frame.gutter + c * cell;
    if (counts[c] > 1) {
      const h = Math.min(18, 3 + 3 * Math.log2(counts[c]));
      d += `M${x} ${r.mid - h / 2}h${cell - 0.5}v${h}h-${cell - 0.5}z`;
    } else if (counts[c]) ticks += `M${x + cell / 2} ${r.mid - 3}v6`;
  }
  if (d) make("path", { class: "density", d }, to);
  if (ticks) make("path", { class: "tick", d: ticks }, to);
}

// drawSymbols lets the weightiest events take their places first.
function drawSymbols(to, best, cells) {
  const order = [];
  best.forEach((pos, at) => { if (pos >= 0) order.push({ pos, row: frame.rows[Math.floor(at / cells)] }); });
  order.sort((a, b) => rank(b.pos) - rank(a.pos) || a.pos - b.pos);
  const taken = new Map(), apart = Math.max(12, ((frame.width - frame.gutter) * frame.rows.length) / mostMarks);
  let drawn = 0;
  for (const { pos, row } of order) {
    const x = px(axisOf(pos)), places = taken.get(row) || taken.set(row, []).get(row);
    const room = order.length > mostMarks && rank(pos) < 7 ? apart : 12;
    if (drawn >= mostMarks || places.some((p) => Math.abs(p - x) < room)) continue;
    if (drawSymbol(to, pos, x, row)) { places.push(x); drawn++; }
  }
}

function drawSymbol(to, pos, x, row) {
  const name = kindOf(pos).name, symbol = $("m-" + name) ? "m-" + name : "";
  if ((!symbol || halved(x)) && pos !== state.selected && pos !== data.violation) return false;
  const g = make("g", { class: "mark", transform: `translate(${x} ${row.mid})` }, to);
  make("title", {}, g, sentence(pos));
  if (pos === data.violation) make("use", { href: "#ring" }, g);
  if (symbol || pos === data.violation) make("use", { href: "#" + (symbol || "m-alarm") }, g);
  if (pos === state.selected) make("circle", { class: "chosen", r: pos === data.violation ? 19 : 15 }, g);
  const token = data.tokens[data.events.token[pos]];
  const half = token.length * 3.5, whole = x - half > frame.gutter && x + half < frame.width;
  if (token && row.role !== "client" && symbol && whole && token.length < 6 && reserve(row, "foot", x - half, x + half)) make("text", { class: "t-muted halo", y: pos === data.violation ? 31 : pos === state.selected ? 28 : 21, "text-anchor": "middle" }, g, token);
  return true;
}

// halved says whether an edge of the lanes would cut a sign in two.
const halved = (x) => x < frame.gutter + 7 || x > frame.width - 7;

// drawFence draws the greatest accepted token of the scope as a step line.
// Stale presentations lie below it.
function drawFence(ground, to, front, lo, hi) {
  const f = data.fence;
  if (!f.pos.length) return;
  const scope = currentScope(), inView = [];
  let before = 0;
  for (let i = 0; i < f.pos.length && f.pos[i] < hi; i++) {
    if (f.scope[i] !== scope) continue;
    if (f.pos[i] < lo) before = f.greatest[i]; else inView.push(i);
  }
  let least = before, most = before;
  for (const i of inView) {
    least = Math.min(least, f.token[i]);
    most = Math.max(most, f.token[i], f.greatest[i]);
  }
  const top = frame.fenceTop + (frame.narrow ? 34 : 46), y = (t) => top + (most === least ? 34 : ((most - t) / (most - least)) * 68);
  fenceLabels(ground, front, y, least, most, inView);
  let d = `M${frame.gutter} ${y(before)}`, at = before, lastX = -1;
  for (const i of inView) {
    if (f.greatest[i] === at) continue;
    const x = px(axisOf(f.pos[i]));
    if (x - lastX < 0.5) continue;
    d += `H${x}V${y(f.greatest[i])}`;
    at = f.greatest[i];
    lastX = x;
  }
  make("path", { class: "fence", fill: "none", "stroke-width": 2.5, d: d + `H${frame.width}` }, to);
  fencePoints(to, y, inView);
}

function fenceLabels(ground, front, y, least, most, inView) {
  const f = data.fence, narrow = frame.narrow, scope = data.strings[currentScope()];
  const head = "highest accepted token of ", label = { class: "t-muted", x: 8, y: frame.fenceTop + 14 };
  const name = narrow ? make("text", label, front, head + fit(scope, frame.width - 20 - measure(head))) :
    make("text", { class: "lane-name", x: 8, y: frame.fenceTop + 30 }, front, fit(scope, frame.gutter - 16, bold));
  make("title", {}, name, scope);
  if (!narrow) make("text", label, front, "highest token");
  const levels = [...new Set([most, least, ...inView.map((i) => f.greatest[i])])].sort((a, b) => b - a).slice(0, 400);
  // Those of the violation first, which may be what was presented below the line.
  const decisive = inView.filter((i) => f.pos[i] === data.violation || f.token[i] < f.greatest[i]).slice(0, 400).flatMap((i) => [f.token[i], f.greatest[i]]);
  const taken = [];
  for (const t of new Set([...decisive, ...levels])) {
    const last = y(t);
    if (taken.some((at) => Math.abs(last - at) < 13)) continue;
    taken.push(last);
    const text = clip(data.tokens[t] || "none", narrow ? 8 : 12);
    make("path", { class: "level", d: `M${frame.gutter} ${last}H${frame.width}` }, ground);
    make("text", { class: "t-num", x: frame.gutter - (narrow ? 4 : 7), y: last + 4, "text-anchor": "end" }, front, text);
  }
}

function fencePoints(to, y, inView) {
  const f = data.fence;
  let last = -100, drawn = 0;
  for (const i of inView) {
    const stale = f.token[i] < f.greatest[i], x = px(axisOf(f.pos[i])), bad = f.pos[i] === data.violation;
    if (!bad && (halved(x) || drawn > 60 || x - last < (stale ? 2 : 13))) continue;
    last = x;
    drawn++;
    const g = make("g", {}, to);
    make("title", {}, g, sentence(f.pos[i]));
    if (bad) make("use", { href: "#ring", transform: `translate(${x} ${y(f.token[i])}) scale(.8)` }, g);
    if (stale) make("path", { class: "drop", fill: "none", "stroke-dasharray": "3 3", d: `M${x} ${y(f.greatest[i])}V${y(f.token[i])}` }, g);
    make("use", { href: $("m-" + kindOf(f.pos[i]).name) ? "#m-" + kindOf(f.pos[i]).name : f.accepted[i] ? "#m-apply" : "#m-reject", transform: `translate(${x} ${y(f.token[i])}) scale(.8)` }, g);
  }
}

function drawAxis(front, lo, hi) {
  const y = frame.height - 22, room = data.unit === "ns" && data.digits > 3 ? 104 : 84;
  if (state.axis === "time") return drawTimeAxis(front, y, room);
  let last = -Infinity;
  const every = Math.max(1, Math.ceil((room * (hi - lo)) / Math.max(1, frame.width - frame.gutter)));
  for (let pos = Math.ceil(lo / every) * every; pos < hi; pos += every) {
    const x = px(pos);
    if (x < frame.gutter + 20 || x > frame.width - 44 || x - last < room - 1) continue;
    last = x;
    make("text", { class: "t-muted", x, y, "text-anchor": "middle" }, front, "#" + indexOf(pos));
    if (data.unit) make("text", { class: "t-muted", x, y: y + 15, "text-anchor": "middle" }, front, sayTime(pos, Math.min(6, data.digits)));
  }
}

function drawTimeAxis(front, y, room) {
  const span = state.to - state.from, wanted = (span * room) / (frame.width - frame.gutter);
  let unit = Math.pow(10, Math.floor(Math.log10(wanted)));
  unit *= [1, 2, 5, 10].find((f) => f * unit >= wanted);
  unit = Math.max(1, Math.round(unit));
  const digits = data.unit === "ns" ? Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(unit)))) : 0;
  const base = Number(BigInt(data.time0) % BigInt(unit));
  for (let t = Math.ceil((state.from + base) / unit) * unit - base; t <= state.to; t += unit) {
    const x = px(t);
    if (x < frame.gutter + 16 || x > frame.width - 36) continue;
    make("path", { class: "wire", d: `M${x} ${y - 16}v5` }, front);
    make("text", { class: "t-muted", x, y: y + 4, "text-anchor": "middle" }, front, clockAt(t, digits) + (data.unit === "ns" ? " s" : ""));
  }
}

// ---------------------------------------------------------------- overview

// drawOverview draws the whole run: how dense it is, where something was
// rejected, the violation, and the part that the lanes show.
function drawOverview() {
  const svg = $("overview"), width = frame.width, height = 44;
  const first = axisStart(), span = Math.max(1e-9, axisEnd() - first), x = (at) => ((at - first) / span) * (width - 8) + 4;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const root = document.createDocumentFragment(), wide = Math.max(3, (width - 8) / data.n), count = new Int32Array(Math.ceil(width / wide) + 2);
  for (let pos = 0; pos < data.n; pos++) count[Math.floor(x(axisOf(pos)) / wide)]++;
  const most = Math.max(...count);
  let d = "";
  count.forEach((n, c) => { if (n) { const h = Math.max(2, (24 * Math.log(1 + n)) / Math.log(1 + most)); d += `M${c * wide} ${36 - h}h${wide - 0.5}v${h}h${0.5 - wide}z`; } });
  make("path", { class: "density", d }, root);
  let ticks = "", last = -9;
  for (const pos of data.rejections) { const at = x(axisOf(pos)); if (at - last >= 2) { ticks += `M${at} 36v6`; last = at; } }
  if (ticks) make("path", { class: "rejections", d: ticks }, root);
  if (data.violation >= 0) {
    const at = x(axisOf(data.violation));
    make("path", { class: "alarm-line", d: `M${at} 8V42` }, root);
    make("path", { class: "alarm-head", d: `M${at - 5} 1h10l-5 8z` }, root);
  }
  const a = Math.max(1, x(state.from)), b = Math.min(width - 1, x(state.to));
  make("rect", { class: "viewport", x: a, y: 1, width: Math.max(4, b - a), height: height - 2, rx: 3 }, root);
  svg.replaceChildren(root);
}

// ---------------------------------------------------------------- details

const sentence = (pos) => "#" + indexOf(pos) + (data.unit ? " at " + sayTime(pos) : "") + ": " + whoOf(pos) + " " + data.words.get(pos);

// say tells the position to who does not see it.
function say() {
  const pos = state.selected, steps = data.steps.get(pos);
  $("position").textContent = sentence(pos) + (pos === data.violation ? " (the violation)" : steps ? " (step " + steps.join(", ") + ")" : "");
}

function showDetail() {
  const pos = state.selected, e = data.events, s = e.state[pos], st = data.states;
  const none = "none", store = data.tokens[e.highest[pos]], highest = data.tokens[st.highest[s]];
  const rows = [
    ["event", "#" + indexOf(pos)],
    ...(data.unit ? [["time", sayTime(pos, 9)]] : []),
    ["process", nameOf(pos)],
    ...(data.named ? [["resource", data.strings[e.resource[pos]] || data.strings[st.scope[s]] || none]] : []),
    ...(data.fenced ? [["presented token", data.tokens[e.token[pos]] || none], ["highest accepted token", highest || none]] : []),
    ...(store && store !== highest ? [["highest that the store knows", store]] : []),
    ...(data.leased ? [["lease of the event", data.strings[e.lease[pos]] || none]] : []),
    ["owner", data.strings[st.owner[s]] || "nobody"],
    ...(data.leased ? [["owner's lease", data.strings[st.lease[s]] || none]] : []),
    ...(data.fenced ? [["owner's token", data.tokens[st.token[s]] || none], ["acquisition generation", st.generation[s] || none], ["rejections so far", st.rejections[s]]] : []),
    ["what changed", data.change.get(pos) || "nothing that is known"],
  ];
  const list = $("detail"), parts = document.createDocumentFragment();
  for (const [key, value] of rows) {
    const div = html("div", key === "what changed" ? { class: "wide" } : {}, parts);
    html("dt", {}, div, key);
    html("dd", {}, div, String(value));
  }
  list.replaceChildren(parts);
}

function buttons() {
  for (const b of document.querySelectorAll("[data-axis]")) b.setAttribute("aria-pressed", String(b.dataset.axis === state.axis));
  for (const b of document.querySelectorAll("[data-do$=rejection]")) b.disabled = b.hidden = !data.rejections.length;
}

// ---------------------------------------------------------------- the table

// table shows as many rows as fit, whatever their heights: each row has the same
// share of the scroll bar, and the one at the top is shifted by the part of its
// share that is scrolled away.
const table = {
  share: 32,
  count: () => (shown ? shown.length : data.n),
  at: (i) => (shown ? shown[i] : i),
  // find returns the row of a position, or where it would be.
  find(pos) {
    if (!shown) return pos;
    let lo = 0, hi = shown.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (shown[mid] < pos) lo = mid + 1; else hi = mid;
    }
    return Math.min(lo, shown.length - 1);
  },
  // resize gives the scroll bar its length: at its end the last rows fill the box.
  resize() {
    const box = $("rows"), n = this.count(), body = $("listed");
    this.rows(Math.max(0, n - this.most()), n);
    let room = box.clientHeight - $("listing").tHead.offsetHeight, fit = 0;
    for (let row = body.lastElementChild; row && (room -= row.offsetHeight) >= 0; row = row.previousElementSibling) fit++;
    $("space").style.height = Math.max(0, n - Math.max(1, fit)) * this.share + box.clientHeight + "px";
    $("listing").setAttribute("aria-rowcount", n + 1);
  },
  most: () => Math.ceil($("rows").clientHeight / 26) + 2, // rows that are made at once
  rows(from, to) {
    const parts = document.createDocumentFragment();
    for (let i = from; i < to; i++) drawRow(parts, this.at(i), i);
    if (!this.count()) html("td", { colspan: 6 }, html("tr", { class: "skipped" }, parts), "No event passes these filters.");
    $("listed").replaceChildren(parts);
  },
  reveal(pos) {
    const row = this.find(pos), box = $("rows"), top = Math.floor(box.scrollTop / this.share);
    const fits = Math.floor(box.clientHeight / 60);
    if (row < top || row > top + fits) box.scrollTop = Math.max(0, row - 3) * this.share;
    this.draw();
  },
  draw() {
    const box = $("rows"), first = Math.min(this.count() - 1, Math.floor(box.scrollTop / this.share)), body = $("listed");
    this.rows(Math.max(0, first), Math.min(this.count(), first + this.most()));
    const height = body.firstElementChild ? body.firstElementChild.offsetHeight : 0;
    const part = (box.scrollTop - first * this.share) / this.share;
    $("listing").style.transform = `translateY(${Math.max(0, box.scrollTop - part * height)}px)`;
  },
};

function drawRow(parts, pos, i) {
  const gap = shown ? 0 : data.gap.get(pos);
  const bad = pos === data.violation, steps = data.steps.get(pos);
  const row = html("tr", { "data-pos": pos, "aria-rowindex": i + 2, class: [bad ? "violation" : steps ? "cited" : "", pos === state.selected ? "selected" : ""].join(" ").trim() }, parts);
  if (pos === state.selected) row.setAttribute("aria-current", "true");
  html("th", { scope: "row", class: "num" }, row, indexOf(pos));
  if (data.unit) html("td", { class: "num" }, row, clockAt(data.time[pos]));
  html("td", { class: "who" }, row, nameOf(pos));
  const what = html("td", { class: "what" }, row);
  if (gap) html("em", { class: "skip" }, what, gap.toLocaleString("en") + " events left out before this one. ");
  what.append(data.words.get(pos));
  if (bad) { what.append(" "); html("strong", { class: "flag" }, what, "violation"); }
  if (steps) { what.append(" "); html("span", { class: "steps", title: "step of what happened" }, what, steps.join(", ")); }
  if (!data.fenced) return;
  html("td", { class: "num extra" }, row, data.tokens[data.events.token[pos]]);
  html("td", { class: "num extra" }, row, data.tokens[data.events.highest[pos]]);
}

let haystack; // of the search: made when it is first used

function filter() {
  const q = state.q.trim().toLowerCase(), e = data.events;
  if (q && !haystack) {
    haystack = new Array(data.n);
    for (let i = 0; i < data.n; i++) haystack[i] = ("#" + indexOf(i) + " " + nameOf(i) + " " + data.words.get(i)).toLowerCase();
  }
  const scope = state.scope ? data.strings.indexOf(state.scope) : -1;
  const lane = state.who ? data.lanes.findIndex((l) => l.name === state.who) + 1 : -1;
  const kinds = state.kind ? data.kinds.map((k) => k.group === state.kind || k.name === state.kind) : null;
  shown = null;
  if (q || state.scope || state.who || kinds) {
    shown = [];
    for (let i = 0; i < data.n; i++) {
      if (kinds && !(kinds[e.kind[i]] || (state.kind === "chain" && data.steps.has(i)))) continue;
      if (scope >= 0 && scopeOf(i) !== scope) continue;
      if (lane >= 0 && e.lane[i] !== lane) continue;
      if (q && !haystack[i].includes(q)) continue;
      shown.push(i);
    }
  }
  const n = table.count();
  $("count").textContent = shown ? n.toLocaleString("en") + " of " + data.n.toLocaleString("en") : data.n.toLocaleString("en") + " events";
  table.resize();
}

const mostOptions = 100; // of a filter; the search finds the rest

function fillFilters() {
  const options = (select, values) => { for (const [value, text] of values) html("option", { value }, $(select), text ?? value); };
  const scopes = [...new Set(data.states.scope || [])].map((s) => data.strings[s]).filter(Boolean).sort();
  options("scope", scopes.slice(0, mostOptions).map((s) => [s, clip(s, 40)]));
  options("who", data.lanes.slice(0, mostOptions).map((l) => [l.name, clip(l.name, 40)]));
  const groups = [...new Set(data.kinds.map((k) => k.group))].sort();
  if (data.steps.size) options("kind", [["chain", "steps of what happened"]]);
  options("kind", groups.map((g) => [g, { leases: "lease manager", faults: "faults" }[g] || g]));
  options("kind", data.kinds.map((k) => [k.name, "only " + k.name]).sort());
  $("scope").parentElement.hidden = scopes.length < 2;
}

// ---------------------------------------------------------------- permalinks

let timer = 0, written = "";

// remember writes the state into the address, so that it can be passed on.
function remember() {
  if (!userActed) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    const p = new URLSearchParams();
    p.set("from", round(state.from));
    p.set("to", round(state.to));
    if (state.axis === "time") p.set("axis", "time");
    for (const key of ["q", "scope", "who", "kind"]) if (state[key]) p.set(key, state[key]);
    written = "#e" + indexOf(state.selected) + "&" + p;
    try { history.replaceState(null, "", written); } catch { location.hash = written; }
  }, 200);
}

const round = (x) => (state.axis === "time" ? Math.round(x) : Math.round(x * 10) / 10);

// restore reads the address; it says whether that names an event.
function restore() {
  const match = /^#e(-?\d+)(?:&(.*))?$/.exec(location.hash);
  if (!match) return false;
  let pos = -1;
  for (let i = 0; i < data.n && pos < 0; i++) if (indexOf(i) === match[1]) pos = i;
  if (pos < 0) return false;
  state.selected = pos;
  const p = new URLSearchParams(match[2] || "");
  if (p.get("axis") === "time" && data.unit) state.axis = "time";
  for (const key of ["q", "scope", "who", "kind"]) if (p.has(key)) $(key).value = state[key] = p.get(key);
  if (p.has("from") && isFinite(p.get("from")) && isFinite(p.get("to"))) look(Number(p.get("from")), Number(p.get("to")));
  else if (data.n) reveal(pos);
  return true;
}

// ---------------------------------------------------------------- input

const actions = {
  next: () => step(shown, 1),
  previous: () => step(shown, -1),
  violation: () => { state.selected = data.violation; lookAround(data.violation); select(data.violation); },
  "next-rejection": () => step(data.rejections, 1),
  "previous-rejection": () => step(data.rejections, -1),
  closer: () => { zoom(0.5); render(); },
  wider: () => { zoom(2); render(); },
  all: () => { lookAll(); render(); },
  left: () => { pan(-0.25); render(); },
  right: () => { pan(0.25); render(); },
  search: () => $("q").focus(),
  axis: () => setAxis(state.axis === "time" ? "order" : "time"),
};

const keys = { j: "next", k: "previous", v: "violation", n: "next-rejection", N: "previous-rejection", "+": "closer", "=": "closer", "-": "wider", "0": "all", ArrowLeft: "left", ArrowRight: "right", "/": "search", t: "axis" };

function setAxis(axis) {
  if (axis === state.axis || (axis === "time" && !data.unit)) return;
  const lo = Math.max(0, Math.min(data.n - 1, positionAt(state.from))), hi = Math.max(lo, Math.min(data.n - 1, positionAt(state.to) - 1));
  state.axis = axis;
  look(axisOf(lo), axisOf(hi));
  reveal(state.selected);
  render();
}

function act(name) {
  userActed = true;
  actions[name]();
}

function onKey(event) {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.key === "Escape" && target.closest("input")) { target.blur(); return; }
  if (event.key === "Enter" && target.id === "q") { act("next"); event.preventDefault(); return; }
  if (event.ctrlKey || event.altKey || event.metaKey || target.closest("input, select, textarea")) return;
  let name = keys[event.key];
  if (event.key.startsWith("Arrow") && target.closest(".scroll")) return;
  if (target.id === "lanes" && event.key === "ArrowDown") name = "next";
  if (target.id === "lanes" && event.key === "ArrowUp") name = "previous";
  if (!name) return;
  event.preventDefault();
  act(name);
}

// pick selects the event that is drawn nearest to a point.
function pick(x, y) {
  const row = frame.rows.findIndex((r) => y >= r.y && y < r.y + r.h);
  const lo = Math.max(0, positionAt(state.from) - 1), hi = Math.min(data.n, positionAt(state.to) + 1);
  let best = -1, distance = Infinity;
  for (let pos = lo; pos < hi; pos++) {
    const lane = data.events.lane[pos] - 1, dx = Math.abs(px(axisOf(pos)) - x);
    if (row >= 0 && (lane < 0 || frame.row[lane] !== row)) continue;
    if (dx < distance || (dx < distance + 2 && rank(pos) > rank(best))) { best = pos; distance = Math.min(dx, distance); }
  }
  if (best >= 0) select(best, false);
}

function dragLanes(svg) {
  let from = null, moved = false;
  svg.addEventListener("pointerdown", (e) => { from = { x: e.clientX, a: state.from, b: state.to }; moved = false; });
  svg.addEventListener("pointermove", (e) => {
    if (!from || !e.buttons) return;
    const dx = e.clientX - from.x;
    if (!moved && Math.abs(dx) < 5) return;
    if (!moved) svg.setPointerCapture(e.pointerId);
    moved = userActed = true;
    const by = (dx / (frame.width - frame.gutter)) * (from.b - from.a);
    look(from.a - by, from.b - by);
    render();
  });
  svg.addEventListener("pointerup", (e) => {
    const box = svg.getBoundingClientRect(), scale = frame.width / box.width;
    if (from && !moved) { userActed = true; pick((e.clientX - box.left) * scale, (e.clientY - box.top) * scale); }
    from = null;
  });
  svg.addEventListener("wheel", (e) => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    userActed = true;
    const box = svg.getBoundingClientRect();
    zoom(Math.exp(e.deltaY / 200), state.from + ((e.clientX - box.left - frame.gutter) / (box.width - frame.gutter)) * (state.to - state.from));
    render();
  }, { passive: false });
}

function dragOverview(svg) {
  const go = (e) => {
    const box = svg.getBoundingClientRect(), at = axisStart() + ((e.clientX - box.left) / box.width) * (axisEnd() - axisStart()), half = (state.to - state.from) / 2;
    userActed = true;
    look(at - half, at + half);
    render();
  };
  svg.addEventListener("pointerdown", (e) => { svg.setPointerCapture(e.pointerId); go(e); });
  svg.addEventListener("pointermove", (e) => { if (e.buttons) go(e); });
}

function listen() {
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (e) => {
    const b = e.target.closest("[data-do], [data-axis]"), row = e.target.closest("tr[data-pos]");
    if (b && b.dataset.do) act(b.dataset.do);
    else if (b) { userActed = true; setAxis(b.dataset.axis); }
    else if (row && !String(getSelection())) { userActed = true; select(Number(row.dataset.pos)); }
  });
  let typing = 0;
  for (const key of ["q", "scope", "who", "kind"]) {
    $(key).addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => {
        userActed = true;
        for (const k of ["q", "scope", "who", "kind"]) state[k] = $(k).value;
        filter();
        $("rows").scrollTop = 0;
        table.draw();
        render();
      }, key === "q" ? 120 : 0);
    });
  }
  $("rows").addEventListener("scroll", () => requestAnimationFrame(() => table.draw()), { passive: true });
  addEventListener("hashchange", () => {
    if (location.hash === written || !restore()) return;
    filter();
    select(state.selected);
    $("explorer").scrollIntoView();
  });
  dragLanes($("lanes"));
  dragOverview($("overview"));
  new ResizeObserver(() => { render(); table.resize(); table.draw(); }).observe($("canvas"));
}

// openWhole moves the still drawing, which opens at its end, so far that no
// label is cut at its left edge, or at least none of an operation, as long as
// the violation stays in sight.
function openWhole() {
  const box = document.querySelector(".scroll"), names = box && box.querySelector(".gutter");
  if (!names || box.scrollWidth <= box.clientWidth) return;
  const rects = (which) => [...box.querySelectorAll(which)].map((e) => e.getBoundingClientRect());
  const edge = names.getBoundingClientRect().right, end = box.getBoundingClientRect().right;
  const spare = end - Math.max(0, ...rects(".lanes [href='#ring'], .lanes .t-violation").map((r) => r.right));
  for (const which of [".lanes text", ".lanes .t-op"]) {
    const texts = rects(which);
    let by = 0;
    for (let cut; (cut = texts.find((r) => r.left + by < edge && r.right + by > edge)); ) by += edge - cut.left - by + 4;
    if (by > spare) continue;
    box.scrollLeft -= by;
    return;
  }
  // What cannot be seen whole is left out until somebody slides the drawing.
  const halves = [...box.querySelectorAll(".lanes .t-op")].filter((t) => t.getBoundingClientRect().left < edge && t.getBoundingClientRect().right > edge);
  const shown = (visibility) => { for (const t of halves) t.style.visibility = visibility; };
  shown("hidden");
  box.addEventListener("scroll", () => shown(""), { once: true });
}

// swapTables puts the listing in the place of the static table, which comes
// back to be printed.
function swapTables() {
  const still = $("still"), place = document.createComment("");
  still.replaceWith(place);
  $("live").hidden = false;
  addEventListener("beforeprint", () => { place.replaceWith(still); });
  addEventListener("afterprint", () => { still.replaceWith(place); });
}

async function start() {
  const packed = $("packed");
  if (!packed || typeof DecompressionStream === "undefined") return;
  data = prepare(await unpack(packed.textContent).then((d) => ({ ...d, time0: d.time })));
  if (!data.n) return;
  packed.remove();
  $("explorer").hidden = false;
  openWhole();
  swapTables();
  fillFilters();
  state.selected = Math.max(0, data.violation);
  lookAround(state.selected);
  for (const b of document.querySelectorAll("[data-axis=time]")) b.hidden = !data.unit;
  const restored = restore();
  filter();
  listen();
  draw();
  table.reveal(state.selected);
  say();
  if (restored) $("explorer").scrollIntoView();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start().catch((err) => { document.documentElement.dataset.failed = String(err); throw err; });
})();
