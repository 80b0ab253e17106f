// The table of edges: sorted by any column, filtered by the slider and the search, and as a CSV file.

const FIRST_ROWS = 50;
const MORE_ROWS = 250;
const EVIDENCE_ORDER = ["required", "included", "direction open", "inconclusive", "excluded", "forbidden"];
const name = (edge, key) => DATA.nodes[edge[key]];

const COLUMNS = [
  { key: "parent", value: (edge) => name(edge, "parent") },
  { key: "child", value: (edge) => name(edge, "child") },
  { key: "probability", number: true, format: formatProbability },
  { key: "evidence", value: (edge) => (EVIDENCE_ORDER.indexOf(edge.evidence) + 1 || EVIDENCE_ORDER.length + 1) },
  { key: "coefficient", number: true, format: formatCoefficient },
  { key: "mcse", number: true, format: formatError },
  { key: "ess", number: true, format: formatWhole },
  { key: "rhat", number: true, format: formatRhat },
  { key: "prior", number: true, format: formatProbability },
  { key: "bayes_factor", number: true, format: formatFactor },
].filter(({ key }) => byId(`column-${key}`));
const sorting = { key: "probability", direction: -1 };
let rowsShown = FIRST_ROWS;

const sortValue = (column, edge) => (column.value ? column.value(edge) : edge[column.key]);
const asNumber = (value) => (value === "infinite" ? Number.MAX_VALUE : value);

/** The edges that pass the slider and the search, in order; figures that do not exist come last either way. */
function tableEdges() {
  const column = COLUMNS.find(({ key }) => key === sorting.key);
  const kept = EDGES.filter((edge) => edge.probability >= state.threshold &&
    (state.query === "" || matches(edge.parent) || matches(edge.child)));
  const compare = (a, b) => {
    const [x, y] = [sortValue(column, a), sortValue(column, b)];
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "string" && x !== "infinite" && y !== "infinite" ? x.localeCompare(y, undefined, { numeric: true })
      : asNumber(x) - asNumber(y) || 0;
    return order * sorting.direction;
  };
  return kept.map((edge, k) => [edge, k]).sort((a, b) => compare(a[0], b[0]) || a[1] - b[1]).map(([edge]) => edge);
}

function meter(edge) {
  return html("span", { class: "meter", "aria-hidden": "true" },
    svg("svg", { viewBox: "0 0 56 6" }, svg("g", { class: `edge ${kindOf(edge)}` },
      svg("path", { class: "line", d: `M3 3H${(3 + 50 * edge.probability).toFixed(1)}`, "stroke-width": 6 }))));
}

function tableRow(edge) {
  const cells = COLUMNS.map(({ key, number, format }) => {
    if (key === "parent" || key === "child") return html("td", { class: "name", title: name(edge, key) }, nameOf(edge[key]));
    if (key === "evidence") return html("td", {}, html("span", { class: `tag ${edge.evidence.replaceAll(" ", "-")}`, text: edge.evidence }));
    const cell = html("td", { class: number ? "number" : null });
    if (key === "probability") cell.append(meter(edge), html("span", { class: "share", text: format(edge[key]) }));
    else cell.append(format(edge[key]));
    return cell;
  });
  return html("tr", {}, ...cells);
}

function fillTable() {
  const edges = tableEdges();
  byId("rows").replaceChildren(...edges.slice(0, rowsShown).map(tableRow));
  const shown = Math.min(rowsShown, edges.length);
  byId("rows-count").textContent = edges.length ? `${shown.toLocaleString("en")} of ${plural(edges.length, "edge")}` :
    "No edge passes the slider and the search.";
  byId("rows-more").hidden = shown >= edges.length;
  for (const { key } of COLUMNS) {
    const heading = byId(`column-${key}`);
    if (key === sorting.key) heading.setAttribute("aria-sort", sorting.direction > 0 ? "ascending" : "descending");
    else heading.removeAttribute("aria-sort");
  }
}

for (const { key, number } of COLUMNS) {
  const heading = byId(`column-${key}`);
  const words = heading.textContent.trim();
  heading.replaceChildren(html("span", { class: "on-paper", text: words }), html("button", { type: "button", text: words, click: () => {
    const again = sorting.key === key;
    sorting.direction = again ? -sorting.direction : number ? -1 : 1;
    sorting.key = key;
    fillTable();
    announce(`Sorted by ${words}, ${sorting.direction > 0 ? "ascending" : "descending"}.`);
  } }));
}
byId("rows-more").addEventListener("click", () => { rowsShown += MORE_ROWS; fillTable(); });
watch((part) => {
  if ("threshold" in part || "query" in part) { rowsShown = FIRST_ROWS; fillTable(); }
});

/** Where spreadsheets would run what follows (some skip white space first), or where it looks like one that was made
 * safe already: at the start, and after what begins a cell in some languages. The same as in spreadsheets.py. */
const FORMULA = /(?:^|(?<=[,;"\t\r\n]))(?='*(?:[^\S\t\r\n]|[\x1c-\x1f\x85])*[=+\-@＝＋－＠\t\r\n])/g;
/** A cell of a CSV file; what a spreadsheet would run as a formula gets an apostrophe before it. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  let text = value === "infinite" ? "inf" : String(value);
  if (typeof value === "string") text = text.replace(FORMULA, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
function csvText() {
  const keys = DATA.columns.filter((key) => key !== "chains");
  const chains = Math.max(0, ...EDGES.map((edge) => (edge.chains ? edge.chains.length : 0)));
  const marks = CLASSES.length ? ["compelled", "reversible"] : [];
  const heading = [...keys, ...marks, ...Array.from({ length: chains }, (_, k) => `chain_${k + 1}`)];
  const share = (edge, directed) => (findMark(edge.parent, edge.child, directed) || { probability: null }).probability;
  const lines = EDGES.map((edge) => [
    ...keys.map((key) => (key === "parent" || key === "child" ? name(edge, key) : edge[key])),
    ...(marks.length ? [share(edge, true), share(edge, false)] : []),
    ...(chains ? edge.chains || new Array(chains).fill(null) : []),
  ]);
  return `${[heading, ...lines].map((line) => line.map(csvCell).join(",")).join("\r\n")}\r\n`;
}
byId("save-csv").addEventListener("click", () => {
  download(new Blob(["\ufeff", csvText()], { type: "text/csv;charset=utf-8" }), `${DATA.file}-edges.csv`);
});
