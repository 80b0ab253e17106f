// What everything else uses: the data, small builders, words for numbers, and one state that all views watch.

const DATA = JSON.parse(document.getElementById("report-data").textContent);
const SVG_SPACE = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

/** Set attributes; "text" is text content, functions listen. Names of nodes only ever pass here, never through HTML. */
function dress(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") element.textContent = value;
    else if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
const html = (tag, attributes, ...children) => dress(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => dress(document.createElementNS(SVG_SPACE, tag), attributes, children);

/** A name within a sentence, kept apart from it whatever its direction of writing. */
const isolated = (name) => `\u2068${name}\u2069`;
const nameOf = (node) => html("bdi", { text: DATA.nodes[node] });

const DASH = "–";
function formatProbability(p) {
  if (p === null || p === undefined) return DASH;
  if (p === 0 || p === 1) return String(p);
  if (p >= 0.9995) return ">0.999";
  if (p < 0.0005) return "<0.001";
  return p.toFixed(3);
}
const formatError = (value) => (value === null ? DASH : value < 0.0005 ? "<0.001" : value.toFixed(3));
const formatWhole = (value) => (value === null ? DASH : Math.round(value).toLocaleString("en"));
function formatRhat(value) {
  return value === null ? DASH : value === "infinite" ? "∞" : value.toFixed(3);
}
function formatFactor(value) {
  if (value === null || value === "infinite") return value === null ? DASH : "∞";
  if (value >= 1e6) return ">10⁶";
  if (value < 1e-6) return "<10⁻⁶";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(2);
}
/** A direct effect with its sign: does the edge raise or lower its child? */
const formatCoefficient = (value) => (value === null ? DASH : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`);
const plural = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many || `${one}s`}`;

/** Edges as objects; DATA.columns names what each row of DATA.edges holds. */
const EDGES = DATA.edges.map((row) => Object.fromEntries(DATA.columns.map((name, k) => [name, row[k]])));
const PAIR = new Map(EDGES.map((edge) => [`${edge.parent}-${edge.child}`, edge]));
const findEdge = (parent, child) => PAIR.get(`${parent}-${child}`);
const hasColumn = (name) => DATA.columns.includes(name) && EDGES.some((edge) => edge[name] !== null);

/** Pairs that are surely joined while neither direction is sure: both directions look the same, or small differences
 * between them would look like an answer. */
const UNSETTLED = new Set(DATA.unsettled.map(([a, b]) => `${a}-${b}`));
const isUnsettled = (a, b) => UNSETTLED.has(`${Math.min(a, b)}-${Math.max(a, b)}`);

/** Marks of the equivalence classes: directed where compelled, undirected where reversible. */
const CLASSES = (DATA.classes || []).map(([parent, child, probability, directed]) => ({
  parent, child, probability, directed: directed === 1,
}));
const findMark = (a, b, directed) =>
  CLASSES.find((mark) => mark.directed === directed && ((mark.parent === a && mark.child === b) ||
    (!directed && mark.parent === b && mark.child === a)));

/** A matrix of probabilities that came as one byte a cell, 250 steps from 0 to 1. */
function unpack(text) {
  if (!text) return null;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const n = DATA.nodes.length;
  return (row, column) => bytes[row * n + column] / 250;
}
const MATRIX = unpack(DATA.matrix) || ((parent, child) => (findEdge(parent, child) || { probability: 0 }).probability);
const PATHS = unpack(DATA.paths);

/** Colours by probability: four bands that colour-blind readers tell apart; widths grow within them. */
const band = (p) => (p >= 0.9 ? "sure" : p >= 0.5 ? "likely" : p >= 0.1 ? "open" : "faint");
const kindOf = (mark) => (mark.directed === undefined && isUnsettled(mark.parent, mark.child) ? "unsettled" : band(mark.probability));
const lineWidth = (p) => (0.8 + 2.4 * p).toFixed(2);

const state = { threshold: DATA.threshold, mode: "dag", query: "", chosen: null };
const watchers = [];
/** Change the state and tell every view what changed. */
function change(part) {
  Object.assign(state, part);
  for (const watcher of watchers) watcher(part);
}
const watch = (watcher) => watchers.push(watcher);

const matches = (node) => state.query !== "" && DATA.nodes[node].toLowerCase().includes(state.query);
const allMarks = () => (state.mode === "dag" ? EDGES : CLASSES);
const shownMarks = () => allMarks().filter((mark) => mark.probability >= state.threshold);

let spoken = 0;
/** Say something to screen readers. */
function announce(text) {
  window.clearTimeout(spoken);
  spoken = window.setTimeout(() => { byId("live").textContent = text; }, 150);
}

/** Offer a file for download. */
function download(blob, name) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
