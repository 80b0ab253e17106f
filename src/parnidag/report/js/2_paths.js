// Where lines run: smooth curves through the bends of the layout, each with a place of its own on the boxes it joins.

const BOX_HEIGHT = 28;
const ARROW = 9;
const PORT_GAP = 9;
const LANE_GAP = 5;

const placeOf = (node) => DATA.places[node];
const widthOf = (node) => DATA.widths[node];

/** The bends between two nodes, from the first to the second; null if the layout has no way for them. */
function bendsBetween(first, second) {
  const points = (flat) => flat.reduce((list, value, k) => (k % 2 ? list[list.length - 1].push(value) : list.push([value]), list), []);
  const there = DATA.ways[`${first}-${second}`];
  if (there) return points(there);
  const back = DATA.ways[`${second}-${first}`];
  return back ? points(back).reverse() : null;
}

const RARE = 0.02;
/** Are both directions between two nodes drawn, side by side? */
const isDouble = (a, b) => [findEdge(a, b), findEdge(b, a)].every((edge) => edge && edge.probability >= RARE);

/** On which side of the middle a mark runs, as seen along it: -1, 0 or 1, another one for each mark of a pair. */
function laneOf(mark) {
  const { parent, child } = mark;
  const others = (mark.directed === undefined ? [findEdge(child, parent)]
    : [findMark(parent, child, true), findMark(child, parent, true), findMark(parent, child, false)])
    .filter((other) => other && other !== mark);
  if (!others.length) return 0;
  if (others.length === 1 && others[0].probability < RARE && mark.probability >= others[0].probability) return 0;
  if (mark.directed !== false) return 1;
  if (others.length === 2) return 0;
  return others[0].parent === parent ? -1 : 1;
}

/** Spread the lines that leave a node on one side over its width, in the order of where they go. */
const PORTS = (() => {
  const sides = new Map();
  const note = (node, other, next) => {
    const side = next[1] > placeOf(node)[1] ? "below" : "above";
    const key = `${node} ${side}`;
    if (!sides.has(key)) sides.set(key, []);
    sides.get(key).push({ other, x: next[0], room: isDouble(node, other) ? 2 : 1 });
  };
  for (const key of Object.keys(DATA.ways)) {
    const [a, b] = key.split("-").map(Number);
    const bends = bendsBetween(a, b);
    note(a, b, bends[0] || placeOf(b));
    note(b, a, bends[bends.length - 1] || placeOf(a));
  }
  const ports = new Map();
  for (const [key, list] of sides) {
    const node = Number(key.split(" ")[0]);
    list.sort((p, q) => p.x - q.x || p.other - q.other);
    const slots = list.reduce((sum, { room }) => sum + room, 0);
    const gap = Math.min(PORT_GAP, (widthOf(node) - 12) / slots);
    let taken = 0;
    for (const { other, room } of list) {
      ports.set(`${node}-${other}`, gap * (taken + room / 2 - slots / 2));
      taken += room;
    }
  }
  return ports;
})();

/** Slopes dx/dy at inner points that let a curve bend without overshooting; at the ends it is vertical. */
function slopes(points) {
  const steps = points.slice(1).map(([x, y], k) => (x - points[k][0]) / (y - points[k][1] || 1e-9));
  return points.map((_, k) => {
    if (k === 0 || k === points.length - 1) return 0;
    const [a, b] = [steps[k - 1], steps[k]];
    return a * b <= 0 ? 0 : (2 * a * b) / (a + b);
  });
}

/** A curve that goes up or down through points, and the place of its number; `lift` moves its flat parts up or down. */
function curveThrough(points, lift, early) {
  const slope = slopes(points);
  let d = `M${round(points[0][0])} ${round(points[0][1])}`;
  const pieces = [];
  for (let k = 1; k < points.length; k += 1) {
    const [[x0, y0], [x1, y1]] = [points[k - 1], points[k]];
    const reach = (y1 - y0) * 0.42;
    const piece = [[x0, y0], [x0 + slope[k - 1] * reach, y0 + reach + lift], [x1 - slope[k] * reach, y1 - reach + lift], [x1, y1]];
    d += `C${piece.slice(1).map(([x, y]) => `${round(x)} ${round(y)}`).join(" ")}`;
    pieces.push(piece);
  }
  const t = (early ? 0.34 : 0.5) * pieces.length;
  return { d, middle: pointOn(pieces[Math.floor(t)], t - Math.floor(t)) };
}
const round = (value) => Math.round(value * 10) / 10;
function pointOn(piece, t) {
  const u = 1 - t;
  const weights = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
  return [0, 1].map((axis) => piece.reduce((sum, point, k) => sum + weights[k] * point[axis], 0));
}

/** The line of a mark: where it leaves, bends and ends; others of the same pair run beside it, in lanes of their own. */
function lineOf(mark) {
  const { parent, child } = mark;
  const directed = mark.directed !== false;
  const lane = laneOf(mark);
  const [start, end] = [placeOf(parent), placeOf(child)];
  const bends = bendsBetween(parent, child);
  if (!bends && Math.abs(start[1] - end[1]) < BOX_HEIGHT * 1.5) return bowBetween(start, end, directed, lane);
  const between = bends || [];
  const next = between[0] || end;
  const last = between[between.length - 1] || start;
  const away = next[1] > start[1] ? 1 : -1;
  const into = last[1] < end[1] ? -1 : 1;
  const shift = lane * away * LANE_GAP;
  const lift = bends && bends.length ? 0 : -1.4 * shift * Math.sign((end[0] - start[0]) * away);
  const port = (node, other) => (bends ? PORTS.get(`${node}-${other}`) || 0 : 0);
  const gap = directed ? ARROW : 0;
  return curveThrough([
    [start[0] + port(parent, child) + shift, start[1] + (away * BOX_HEIGHT) / 2],
    ...between.map(([x, y]) => [x + shift, y]),
    [end[0] + port(child, parent) + shift, end[1] + into * (BOX_HEIGHT / 2 + gap)],
  ], lift, directed && lane !== 0);
}

/** Nodes at the same height without a way of their own: a bow over what is between. */
function bowBetween(start, end, directed, lane) {
  const ahead = start[0] < end[0] ? 1 : -1;
  const top = start[1] - BOX_HEIGHT / 2;
  const height = 34 + Math.abs(end[0] - start[0]) * 0.12 + lane * ahead * 12;
  const stop = end[1] - BOX_HEIGHT / 2 - (directed ? ARROW : 0);
  const [x0, x1] = [start[0] - lane * LANE_GAP, end[0] + lane * LANE_GAP];
  return {
    d: `M${x0} ${top}C${x0} ${round(top - height)} ${x1} ${round(stop - height)} ${x1} ${stop}`,
    middle: [(x0 + x1) / 2, top - height * 0.75],
  };
}

/** The rectangle that holds all boxes and bends. */
const EXTENT = (() => {
  let [left, right, top, bottom] = [Number.MAX_VALUE, -Number.MAX_VALUE, Number.MAX_VALUE, -Number.MAX_VALUE];
  const take = (x, y, width, height) => {
    [left, right] = [Math.min(left, x - width / 2), Math.max(right, x + width / 2)];
    [top, bottom] = [Math.min(top, y - height / 2), Math.max(bottom, y + height / 2)];
  };
  DATA.places.forEach(([x, y], node) => take(x, y, widthOf(node), BOX_HEIGHT + 4));
  for (const flat of Object.values(DATA.ways)) {
    for (let k = 0; k < flat.length; k += 2) take(flat[k], flat[k + 1], 4, 4);
  }
  return { left, top, width: right - left, height: bottom - top };
})();
