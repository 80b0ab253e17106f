// Looking around: zoom and pan by wheel, pinch, drag, buttons and keys; nodes can be reached by the arrow keys.

const view = { x: 0, y: 0, k: 1, fit: 1 };
const MOST_ZOOM = 4;
const LARGEST_FIT = 1.3;
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

function placeView() {
  viewport.setAttribute("transform", `translate(${round(view.x)} ${round(view.y)}) scale(${view.k.toFixed(4)})`);
  canvas.classList.toggle("zoomed", view.k > view.fit * 1.02);
}

/** Give the stage a height that suits the drawing, then show all of it. */
function fitView() {
  const width = stage.clientWidth;
  const wanted = ((EXTENT.height + 60) / (EXTENT.width + 60)) * width;
  const enough = (EXTENT.height + 70) * LARGEST_FIT;
  const height = Math.round(Math.max(280, Math.min(wanted, enough, window.innerHeight * 0.78, 860)));
  canvas.style.height = `${height}px`;
  view.fit = Math.min(width / (EXTENT.width + 60), height / (EXTENT.height + 60), LARGEST_FIT);
  view.k = view.fit;
  view.x = (width - EXTENT.width * view.k) / 2 - EXTENT.left * view.k;
  view.y = (height - EXTENT.height * view.k) / 2 - EXTENT.top * view.k;
  placeView();
}

/** Zoom about a point of the stage. */
function zoomBy(factor, x = stage.clientWidth / 2, y = canvas.clientHeight / 2) {
  const k = Math.min(Math.max(view.k * factor, view.fit * 0.6), Math.max(MOST_ZOOM, view.fit));
  view.x = x - ((x - view.x) * k) / view.k;
  view.y = y - ((y - view.y) * k) / view.k;
  view.k = k;
  placeView();
}
function panBy(dx, dy) {
  view.x += dx;
  view.y += dy;
  placeView();
}

/** The part of the stage that the panel does not cover. */
const freeWidth = () => stage.clientWidth - (!panel.hidden && getComputedStyle(panel).position === "absolute" ? panel.offsetWidth + 12 : 0);

/** Bring a node to the middle, large enough to be read. */
function centreOn(node) {
  const target = { k: Math.max(view.k, Math.min(1, MOST_ZOOM)) };
  target.x = freeWidth() / 2 - placeOf(node)[0] * target.k;
  target.y = canvas.clientHeight / 2 - placeOf(node)[1] * target.k;
  if (calm.matches) { Object.assign(view, target); placeView(); return; }
  const from = { ...view };
  const began = performance.now();
  const step = (now) => {
    const t = Math.min(1, (now - began) / 260);
    const ease = 1 - (1 - t) ** 3;
    for (const key of ["x", "y", "k"]) view[key] = from[key] + (target[key] - from[key]) * ease;
    placeView();
    if (t < 1) window.requestAnimationFrame(step);
  };
  window.requestAnimationFrame(step);
}

/** Pan just enough that a node is on the stage. */
function keepInView(node) {
  const x = placeOf(node)[0] * view.k + view.x;
  const y = placeOf(node)[1] * view.k + view.y;
  const [width, height, margin] = [freeWidth(), canvas.clientHeight, 60];
  const shift = (value, most) => (value < margin ? margin - value : value > most - margin ? most - margin - value : 0);
  if (shift(x, width) || shift(y, height)) panBy(shift(x, width), shift(y, height));
}

// ── wheel: scrolls the page until the drawing has been touched, so that nobody gets stuck in it ──
let hintTimer = 0;
canvas.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey && !stage.contains(document.activeElement)) {
    byId("hint").classList.add("on");
    window.clearTimeout(hintTimer);
    hintTimer = window.setTimeout(() => byId("hint").classList.remove("on"), 1200);
    return;
  }
  event.preventDefault();
  const frame = canvas.getBoundingClientRect();
  zoomBy(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0018)), event.clientX - frame.left, event.clientY - frame.top);
}, { passive: false });

// ── drag and pinch ──
const fingers = new Map();
let travelled = 0;
canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  if (fingers.size === 1) travelled = 0;
});
canvas.addEventListener("pointermove", (event) => {
  if (!fingers.has(event.pointerId)) return;
  const before = fingers.get(event.pointerId);
  const now = [event.clientX, event.clientY];
  if (fingers.size === 2) {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const distance = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
    const frame = canvas.getBoundingClientRect();
    zoomBy(distance(now) / distance(before), (now[0] + other[0]) / 2 - frame.left, (now[1] + other[1]) / 2 - frame.top);
    travelled = 99;
  } else {
    travelled += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (travelled > 4) {
      if (!canvas.classList.contains("dragging")) {
        canvas.classList.add("dragging");
        canvas.setPointerCapture(event.pointerId);
      }
      panBy(now[0] - before[0], now[1] - before[1]);
    }
  }
  fingers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(end, (event) => {
    fingers.delete(event.pointerId);
    canvas.classList.remove("dragging");
  });
}
canvas.addEventListener("click", (event) => {
  if (travelled > 4) return;
  const thing = thingAt(event.target);
  if (thing && thing.node !== undefined) focusNode(thing.node);
  else canvas.focus({ preventScroll: true });
  change({ chosen: thing });
  if (thing && thing.node !== undefined) keepInView(thing.node);
});

// ── keys ──
let current = 0;
/** Only one node is in the tab order; arrow keys move on from it. */
function focusNode(node) {
  nodeElements[current].setAttribute("tabindex", -1);
  current = node;
  nodeElements[current].setAttribute("tabindex", 0);
  nodeElements[current].focus({ preventScroll: true });
}

/** The nearest node in a direction; sideways distance counts double. */
function neighbourTowards(node, [dx, dy]) {
  let best = null, least = Number.MAX_VALUE;
  DATA.places.forEach(([x, y], other) => {
    const [a, b] = [x - placeOf(node)[0], y - placeOf(node)[1]];
    const ahead = a * dx + b * dy;
    if (other === node || ahead <= 1) return;
    const cost = ahead + 2.2 * Math.abs(a * dy - b * dx);
    if (cost < least) { best = other; least = cost; }
  });
  return best;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const node = event.target.closest(".node");
  if (event.key in ARROWS) {
    const [dx, dy] = ARROWS[event.key];
    if (event.shiftKey || !node) panBy(-dx * 60, -dy * 60);
    else {
      const next = neighbourTowards(Number(node.dataset.node), [dx, dy]);
      if (next !== null) { focusNode(next); keepInView(next); }
    }
  } else if (event.key === "+" || event.key === "=") zoomBy(1.25);
  else if (event.key === "-") zoomBy(0.8);
  else if (event.key === "0") fitView();
  else if ((event.key === "Enter" || event.key === " ") && node) {
    change({ chosen: { node: Number(node.dataset.node) } });
    keepInView(Number(node.dataset.node));
  }
  else if (event.key === "Escape") change({ chosen: null });
  else return;
  event.preventDefault();
});
canvas.addEventListener("focusin", (event) => {
  const node = event.target.closest(".node");
  if (node && node.matches(":focus-visible")) keepInView(Number(node.dataset.node));
});
byId("zoom-in").addEventListener("click", () => zoomBy(1.3));
byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.3));
byId("zoom-fit").addEventListener("click", () => fitView());
