// The heat map: every pair of nodes, parents down, children across, in the order of the consensus graph.

const heat = byId("heat");
const ORDER = DATA.order;
const NAMED_UP_TO = 45;
const SMALLEST_NAMED = 10;
const named = ORDER.length <= NAMED_UP_TO;
const heatAt = { row: 0, column: Math.min(1, ORDER.length - 1), on: false };

/** Colours and letters of the page as it is now. */
const style = {};
function readStyle() {
  const now = getComputedStyle(document.documentElement);
  for (const name of ["card", "open", "ink", "soft", "body"]) style[name] = now.getPropertyValue(`--${name}`).trim();
  style.dark = now.colorScheme === "dark";
  paintCells();
  drawHeat();
}
const parse = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
/** Colours from the page's own ground to its accent, in two steps so that small probabilities still show. */
function ramp() {
  const stops = style.dark ? ["#20262e", "#245f8c", "#58b1ea", "#e3f4ff"] : ["#f1efeb", "#a5c9e2", "#2f82b9", "#083a5e"];
  const colours = stops.map(parse);
  return (p) => {
    const place = Math.min(p, 1) * (colours.length - 1);
    const k = Math.min(Math.floor(place), colours.length - 2);
    return `rgb(${colours[k].map((value, c) => Math.round(value + (colours[k + 1][c] - value) * (place - k))).join(" ")})`;
  };
}

/** Sizes in pixels of the canvas: a margin for names, and square cells. */
function heatGeometry() {
  const wide = heat.parentElement.clientWidth;
  const longest = named ? Math.max(...DATA.labels.map((label) => label.length)) : 0;
  const room = Math.min(150, wide * 0.32, 12 + longest * 6.3);
  const cellBeside = (margin) => (wide - margin - 4) / ORDER.length;
  const margin = named && cellBeside(room) >= SMALLEST_NAMED ? room : 4;
  return { wide, margin, cell: cellBeside(margin) };
}

/** All cells, one pixel each; only made anew when the colours change. */
const cells = html("canvas", { width: ORDER.length, height: ORDER.length });
function paintCells() {
  const pen = cells.getContext("2d");
  const colour = ramp();
  ORDER.forEach((parent, row) => ORDER.forEach((child, column) => {
    pen.fillStyle = parent === child ? style.card : colour(MATRIX(parent, child));
    pen.fillRect(column, row, 1, 1);
  }));
  byId("ramp").style.background = `linear-gradient(to right, ${[0, 0.17, 0.33, 0.5, 0.67, 0.83, 1].map(colour).join(", ")})`;
}

function drawHeat() {
  const { wide, margin, cell } = heatGeometry();
  const dots = window.devicePixelRatio || 1;
  heat.width = Math.round(wide * dots);
  heat.height = heat.width;
  const pen = heat.getContext("2d");
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.imageSmoothingEnabled = false;
  const size = cell * ORDER.length;
  pen.drawImage(cells, margin, margin, size, size);
  if (cell > 7) drawGrid(pen, margin, cell, size);
  if (margin > 10) nameHeat(pen, margin, cell);
  if (heatAt.on) {
    pen.strokeStyle = style.open;
    pen.lineWidth = 2;
    pen.strokeRect(margin + heatAt.column * cell - 1, margin + heatAt.row * cell - 1, cell + 1, cell + 1);
  }
}

function drawGrid(pen, margin, cell, size) {
  pen.fillStyle = style.card;
  for (let k = 1; k <= ORDER.length; k += 1) {
    pen.fillRect(margin + k * cell - 1, margin, 1, size);
    pen.fillRect(margin, margin + k * cell - 1, size, 1);
  }
}

function nameHeat(pen, margin, cell) {
  pen.font = `${Math.max(8, Math.min(12, cell * 0.72))}px ${style.body}`;
  pen.textBaseline = "middle";
  ORDER.forEach((node, k) => {
    const centre = margin + (k + 0.45) * cell;
    pen.fillStyle = heatAt.on && heatAt.row === k ? style.ink : style.soft;
    pen.textAlign = "right";
    pen.fillText(DATA.labels[node], margin - 6, centre, margin - 8);
    pen.save();
    pen.translate(centre, margin - 6);
    pen.rotate(-Math.PI / 2);
    pen.fillStyle = heatAt.on && heatAt.column === k ? style.ink : style.soft;
    pen.textAlign = "left";
    pen.fillText(DATA.labels[node], 0, 0, margin - 8);
    pen.restore();
  });
}

/** Read one cell out: on the page, and to screen readers if the keys were used. */
function readHeat(aloud) {
  const [parent, child] = [ORDER[heatAt.row], ORDER[heatAt.column]];
  const reading = byId("heat-reading");
  if (parent === child) reading.replaceChildren(nameOf(parent), html("br"), html("span", { class: "quiet", text: "a node and itself" }));
  else {
    const edge = findEdge(parent, child);
    const p = edge ? formatProbability(edge.probability) : MATRIX(parent, child) >= DATA.floor ? MATRIX(parent, child).toFixed(2)
      : DATA.unlisted;
    reading.replaceChildren(nameOf(parent), " → ", nameOf(child), html("br"), html("strong", { text: p }));
  }
  if (aloud) announce(reading.textContent);
  drawHeat();
}

heat.addEventListener("pointermove", (event) => {
  const frame = heat.getBoundingClientRect();
  const { margin, cell } = heatGeometry();
  const [column, row] = [event.clientX - frame.left, event.clientY - frame.top].map((v) => Math.floor((v - margin) / cell));
  if (row < 0 || column < 0 || row >= ORDER.length || column >= ORDER.length) return;
  if (heatAt.on && heatAt.row === row && heatAt.column === column) return;
  Object.assign(heatAt, { row, column, on: true });
  readHeat(false);
});
/** Open the pair of the cell, and go where it is told: the panel may be far above. The style sheet knows if to glide. */
function openCell() {
  const [parent, child] = [ORDER[heatAt.row], ORDER[heatAt.column]];
  if (parent === child) return;
  change({ chosen: { parent, child } });
  focusPanel();
  (getComputedStyle(panel).position === "absolute" ? stage : panel).scrollIntoView({ block: "start" });
}
heat.addEventListener("click", openCell);
heat.addEventListener("keydown", (event) => {
  if (event.key === "Enter") openCell();
  if (!(event.key in ARROWS)) return;
  event.preventDefault();
  const [dx, dy] = ARROWS[event.key];
  const keep = (value) => Math.min(Math.max(value, 0), ORDER.length - 1);
  Object.assign(heatAt, { row: keep(heatAt.row + dy), column: keep(heatAt.column + dx), on: true });
  readHeat(true);
});
