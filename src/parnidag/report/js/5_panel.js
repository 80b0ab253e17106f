// The panel beside the graph: everything about the node or the edge that was chosen.

const panel = byId("panel");
const LONGEST_LIST = 12;

const edgeButton = (parent, child, shown) =>
  html("button", { type: "button", click: () => change({ chosen: { parent, child } }),
    "aria-label": `Details of the edge ${isolated(DATA.nodes[parent])} → ${isolated(DATA.nodes[child])}` }, shown);

/** A list of neighbours with the probability of the edge to each. */
function neighbourList(heading, edges, other) {
  if (!edges.length) return [html("h4", { text: heading }), html("p", { class: "quiet", text: `none listed (${DATA.listed})` })];
  const rows = edges.slice(0, LONGEST_LIST).map((edge) => html("li", {},
    edgeButton(edge.parent, edge.child, nameOf(other(edge))),
    html("span", { class: "number", text: formatProbability(edge.probability) })));
  const more = edges.length - rows.length;
  return [html("h4", { text: heading }), html("ul", {}, ...rows),
    ...(more > 0 ? [html("p", { class: "quiet", text: `and ${more} less probable` })] : [])];
}

/** Nodes before or after another along directed paths, with the probability that there is one. */
function pathList(heading, node, read) {
  if (!PATHS) return [];
  const found = DATA.nodes.map((_, other) => [other, other === node ? 0 : read(other)])
    .filter(([, probability]) => probability >= 0.5).sort((a, b) => b[1] - a[1]);
  const text = html("p", { class: "names" });
  found.slice(0, LONGEST_LIST).forEach(([other, probability], k) => {
    if (k) text.append(", ");
    text.append(nameOf(other), ` ${probability > 0.995 ? ">0.99" : probability.toFixed(2)}`);
  });
  if (found.length > LONGEST_LIST) text.append(` and ${found.length - LONGEST_LIST} more`);
  if (!found.length) text.append(html("span", { class: "quiet", text: "none from 0.5 on" }));
  return [html("h4", { text: heading }), text];
}

function nodePanel(node) {
  const parents = EDGES.filter((edge) => edge.child === node);
  const children = EDGES.filter((edge) => edge.parent === node);
  announce(`Details of ${isolated(DATA.nodes[node])}: ${plural(parents.length, "possible parent")}, ` +
    `${plural(children.length, "possible child", "possible children")}.`);
  return [
    html("h3", {}, nameOf(node)),
    ...neighbourList("Parents, by probability", parents, (edge) => edge.parent),
    ...neighbourList("Children, by probability", children, (edge) => edge.child),
    ...pathList("Acts on, directly or not", node, (other) => PATHS(node, other)),
    ...pathList("Is acted on by, directly or not", node, (other) => PATHS(other, node)),
  ];
}

const row = (heading, value) => html("tr", {}, typeof heading === "string" ? html("th", { scope: "row", text: heading })
  : html("th", { scope: "row" }, ...heading), html("td", { text: value }));

/** One direction of a pair, in the words of the table. */
function directionRows(parent, child) {
  const edge = findEdge(parent, child);
  const arrow = [nameOf(parent), " → ", nameOf(child)];
  if (!edge) return [row(arrow, DATA.unlisted)];
  const rows = [row(arrow, formatProbability(edge.probability) + (edge.mcse === null || edge.mcse === undefined ? ""
    : ` ± ${formatError(edge.mcse)}`))];
  return rows;
}

/** What else is known of one direction. */
function figureRows(edge) {
  const rows = [];
  const add = (key, heading, format) => {
    if (hasColumn(key)) rows.push(row(heading, format(edge[key])));
  };
  add("coefficient", "direct effect, in standard deviations", formatCoefficient);
  add("prior", "before the data", formatProbability);
  add("bayes_factor", "Bayes factor", formatFactor);
  add("evidence", "evidence", (text) => text);
  add("ess", "effective draws", formatWhole);
  add("rhat", "R-hat", formatRhat);
  if (edge.chains && edge.chains.length > 1) {
    rows.push(row("lowest and highest chain", `${formatProbability(Math.min(...edge.chains))} … ${formatProbability(Math.max(...edge.chains))}`));
  }
  return rows;
}

function pairPanel(a, b) {
  const [there, back] = [findEdge(a, b), findEdge(b, a)];
  const either = (there ? there.probability : 0) + (back ? back.probability : 0);
  const known = there && back;
  announce(`Details of ${isolated(DATA.nodes[a])} and ${isolated(DATA.nodes[b])}.`);
  const parts = [
    html("h3", {}, nameOf(a), " and ", nameOf(b)),
    html("table", {}, html("tbody", {}, ...directionRows(a, b), ...directionRows(b, a),
      row("no edge between them", `${known ? "" : "about "}${formatProbability(Math.max(0, Math.round((1 - either) * 1e4) / 1e4))}`))),
  ];
  if (CLASSES.length) {
    const share = (mark) => (mark ? formatProbability(mark.probability) : DATA.unlisted_class);
    parts.push(html("h4", { text: "Can the data tell the direction?" }), html("table", {}, html("tbody", {},
      row(["yes: ", nameOf(a), " → ", nameOf(b)], share(findMark(a, b, true))),
      row(["yes: ", nameOf(b), " → ", nameOf(a)], share(findMark(b, a, true))),
      row("no: both fit equally", share(findMark(a, b, false))))));
  }
  for (const edge of [there, back].filter(Boolean)) {
    const rows = figureRows(edge);
    if (rows.length) parts.push(html("h4", {}, nameOf(edge.parent), " → ", nameOf(edge.child)),
      html("table", {}, html("tbody", {}, ...rows)));
  }
  const nodes = [a, b].map((node) => html("button", { type: "button", click: () => change({ chosen: { node } }) }, nameOf(node)));
  return [...parts, html("p", { class: "buttons panel-nodes" }, ...nodes)];
}

panel.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closePanel();
});
function closePanel() {
  change({ chosen: null });
  nodeElements[current].focus({ preventScroll: true });
}
const focusPanel = () => panel.querySelector("h3").focus({ preventScroll: true });
watch((part) => {
  if (!("chosen" in part)) return;
  const { chosen } = state;
  const wasInside = panel.contains(document.activeElement);
  panel.hidden = !chosen;
  if (!chosen) return;
  const close = html("button", { class: "close", type: "button", "aria-label": "Close details", text: "×", click: closePanel });
  panel.replaceChildren(close, ...(chosen.node !== undefined ? nodePanel(chosen.node) : pairPanel(chosen.parent, chosen.child)));
  panel.querySelector("h3").setAttribute("tabindex", -1);
  panel.scrollTop = 0;
  if (wasInside) focusPanel(); // what had the focus is gone, and Escape must still be heard
});
