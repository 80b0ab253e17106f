// The graph: boxes and lines, and which of them are shown, dimmed or marked.

const stage = byId("stage");
const canvas = byId("graph");
const layers = { edges: svg("g"), shares: svg("g", { "aria-hidden": "true" }), nodes: svg("g") };
const viewport = svg("g", { id: "viewport" }, layers.edges, layers.shares, layers.nodes);
const BANDS = ["sure", "likely", "open", "faint", "unsettled"];
const LABELLED_UP_TO = 70;
const MOST_LABELS = 400;
/** Half the size of a probability beside its line, in the units of the drawing. */
const HALF_LABEL = { width: 15, height: 8 };

canvas.append(
  svg("defs", {}, ...BANDS.map((name) =>
    svg("marker", { id: `arrow-${name}`, class: name, viewBox: "0 0 10 10", refX: 1, refY: 5, markerWidth: ARROW + 1,
      markerHeight: ARROW + 1, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0.6L9.6 5L0 9.4z" })))),
  viewport,
);

const nodeElements = DATA.nodes.map((name, node) => {
  const [x, y] = placeOf(node);
  const width = widthOf(node);
  return svg("g", { class: "node", role: "button", tabindex: -1, "data-node": node, transform: `translate(${x} ${y})` },
    svg("rect", { x: -width / 2, y: -BOX_HEIGHT / 2, width, height: BOX_HEIGHT, rx: 7 }),
    svg("text", { y: 4.5, text: DATA.labels[node] }));
});
layers.nodes.append(...nodeElements);

/** Names wider than guessed are squeezed into their boxes. */
function squeezeLabels() {
  nodeElements.forEach((element, node) => {
    const text = element.querySelector("text");
    const room = widthOf(node) - 10;
    if (text.getComputedTextLength() > room) {
      text.setAttribute("textLength", room);
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  });
}

const drawn = new Map();
/** Draw a mark when it is first needed; later it is only put back. */
function elementOf(mark) {
  if (drawn.has(mark)) return drawn.get(mark);
  const kind = kindOf(mark);
  const directed = mark.directed !== false;
  const { d, middle } = lineOf(mark);
  const element = svg("g", { class: `edge ${kind}`, "data-parent": mark.parent, "data-child": mark.child,
    "data-kind": directed ? "directed" : "undirected" },
    svg("path", { class: "line", d, "stroke-width": lineWidth(mark.probability), "marker-end": directed ? `url(#arrow-${kind})` : null }),
    svg("path", { class: "hit", d }));
  element.mark = mark;
  element.share = mark.probability >= 0.9 ? null : svg("text", { class: `edge share ${kind}`, x: round(middle[0]), y: round(middle[1] + 4),
    text: mark.probability.toFixed(2) });
  if (element.share) element.share.mark = mark;
  drawn.set(mark, element);
  return element;
}

/** Put exactly the lines on the stage that are probable enough, the surest on top. */
function drawMarks() {
  const marks = shownMarks();
  const elements = marks.map(elementOf);
  layers.edges.replaceChildren(...elements.reverse());
  const shares = marks.length <= MOST_LABELS ? elements.map((element) => element.share).filter(Boolean) : [];
  declutter(shares, marks.length > LABELLED_UP_TO);
  layers.shares.replaceChildren(...shares);
  describeNodes(marks);
  countMarks(marks);
  paintEmphasis();
}

/** Leave a number away that would lie on a box or on a more probable one: it is there once its line is pointed at. */
function declutter(shares, all) {
  const taken = DATA.nodes.map((_, node) => {
    const [x, y] = placeOf(node);
    return { x, y, width: widthOf(node) / 2, height: BOX_HEIGHT / 2 };
  });
  const ordered = [...shares].sort((a, b) => b.mark.probability - a.mark.probability);
  for (const share of ordered) {
    const box = { x: Number(share.getAttribute("x")), y: Number(share.getAttribute("y")) - 4, ...HALF_LABEL };
    const crowded = all || taken.some((other) => Math.abs(other.x - box.x) < other.width + box.width &&
      Math.abs(other.y - box.y) < other.height + box.height);
    share.classList.toggle("crowded", crowded);
    if (!crowded) taken.push(box);
  }
}

/** Tell screen readers what hangs on each node at this threshold. */
function describeNodes(marks) {
  const parents = new Array(DATA.nodes.length).fill(0);
  const children = new Array(DATA.nodes.length).fill(0);
  const joined = new Array(DATA.nodes.length).fill(0);
  for (const mark of marks) {
    if (mark.directed === false) { joined[mark.parent] += 1; joined[mark.child] += 1; continue; }
    children[mark.parent] += 1;
    parents[mark.child] += 1;
  }
  nodeElements.forEach((element, node) => {
    const undirected = joined[node] ? `, ${joined[node]} undirected` : "";
    element.setAttribute("aria-label", `${isolated(DATA.nodes[node])}: ${plural(parents[node], "parent")}, ` +
      `${plural(children[node], "child", "children")}${undirected}`);
  });
}

/** Say how many lines are shown. */
function countMarks(marks) {
  const least = state.threshold.toFixed(2);
  let text;
  if (state.mode === "dag") {
    text = `${plural(marks.length, "edge")} with probability ${least} or more, of ${EDGES.length.toLocaleString("en")} ` +
      `listed (${DATA.listed}).`;
    const hidden = DATA.open.filter(([a, b]) => [findEdge(a, b), findEdge(b, a)]
      .every((edge) => !edge || edge.probability < state.threshold)).length;
    if (hidden) text += ` ${plural(hidden, "pair")} left open ${hidden === 1 ? "is" : "are"} below the slider.`;
  } else {
    const directed = marks.filter((mark) => mark.directed).length;
    text = `${plural(directed, "directed mark")} (the direction follows from the data) and ` +
      `${plural(marks.length - directed, "undirected mark")} (either direction explains them equally well), ` +
      `probability ${least} or more.`;
  }
  byId("count").textContent = text;
  announce(text);
}

let hovered = null;
/** Bring out what is under the pointer or chosen, dim the rest, and mark what the search finds. */
function paintEmphasis() {
  const focus = hovered || state.chosen;
  const near = new Set();
  for (const element of layers.edges.children) {
    const { parent, child } = element.mark;
    const touches = focus && (focus.node !== undefined ? parent === focus.node || child === focus.node
      : (parent === focus.parent && child === focus.child) || (parent === focus.child && child === focus.parent));
    element.classList.toggle("near", Boolean(touches));
    if (element.share) element.share.classList.toggle("near", Boolean(touches));
    element.classList.toggle("chosen", Boolean(touches && state.chosen && state.chosen.node === undefined && focus === state.chosen));
    if (touches) { near.add(parent); near.add(child); }
  }
  if (focus && focus.node !== undefined) near.add(focus.node);
  if (focus && focus.node === undefined) { near.add(focus.parent); near.add(focus.child); }
  nodeElements.forEach((element, node) => {
    element.classList.toggle("near", near.has(node));
    element.classList.toggle("match", matches(node));
    const chosen = Boolean(state.chosen && state.chosen.node === node);
    element.classList.toggle("chosen", chosen);
    element.setAttribute("aria-pressed", chosen);
  });
  canvas.classList.toggle("dimmed", Boolean(focus));
}

/** What a place in the drawing stands for: a node, a line or nothing. */
function thingAt(target) {
  const node = target.closest && target.closest(".node");
  if (node) return { node: Number(node.dataset.node) };
  const edge = target.closest && target.closest(".edge");
  if (edge) return { parent: edge.mark.parent, child: edge.mark.child, mark: edge.mark };
  return null;
}

const tip = byId("tip");
function showTip(thing, event) {
  tip.hidden = !thing;
  if (!thing) return;
  if (thing.node !== undefined) {
    const counts = nodeElements[thing.node].getAttribute("aria-label").split("\u2069: ")[1];
    tip.replaceChildren(nameOf(thing.node), `: ${counts}`);
  } else {
    const arrow = thing.mark.directed === false ? " — " : " → ";
    const error = thing.mark.mcse ? ` ± ${formatError(thing.mark.mcse)}` : "";
    tip.replaceChildren(nameOf(thing.parent), arrow, nameOf(thing.child),
      `: ${formatProbability(thing.mark.probability)}${error}`);
  }
  const frame = stage.getBoundingClientRect();
  const x = Math.min(event.clientX - frame.left + 14, frame.width - tip.offsetWidth - 8);
  tip.style.left = `${Math.max(8, x)}px`;
  tip.style.top = `${Math.min(event.clientY - frame.top + 16, frame.height - tip.offsetHeight - 6)}px`;
}

canvas.addEventListener("pointermove", (event) => {
  const thing = event.pointerType === "mouse" && !canvas.classList.contains("dragging") ? thingAt(event.target) : null;
  const same = (thing === null && hovered === null) ||
    (thing && hovered && thing.node === hovered.node && thing.mark === hovered.mark);
  hovered = thing;
  if (!same) paintEmphasis();
  showTip(thing, event);
});
canvas.addEventListener("pointerleave", () => { hovered = null; tip.hidden = true; paintEmphasis(); });

watch((part) => {
  if ("threshold" in part || "mode" in part) drawMarks();
  else paintEmphasis();
});
