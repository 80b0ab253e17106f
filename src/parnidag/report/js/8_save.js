// The graph as a picture of its own: SVG with every style written out, and PNG made of that.

const PAPER = {
  ground: "#ffffff", ink: "#1d2228", box: "#ffffff", frame: "#8b877f",
  sure: "#0072b2", likely: "#00805d", open: "#c25200", faint: "#767c84", unsettled: "#a64d79",
};
const LETTERS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/** The lines and boxes on the stage, as a drawing that needs no style sheet; always dark on white. */
function pictureOfGraph() {
  const margin = 28;
  const [left, top] = [EXTENT.left - margin, EXTENT.top - margin];
  const [width, height] = [EXTENT.width + 2 * margin, EXTENT.height + 2 * margin + 26];
  const root = svg("svg", { xmlns: SVG_SPACE, viewBox: `${left} ${top} ${width} ${height}`, width, height, "font-family": LETTERS });
  root.append(svg("title", { text: DATA.title }), svg("rect", { x: left, y: top, width, height, fill: PAPER.ground }));
  root.append(svg("defs", {}, ...BANDS.map((kind) => svg("marker", { id: `arrow-${kind}`, viewBox: "0 0 10 10", refX: 1, refY: 5,
    markerWidth: ARROW + 1, markerHeight: ARROW + 1, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { d: "M0 0.6L9.6 5L0 9.4z", fill: PAPER[kind] })))));
  root.append(...Array.from(layers.edges.children, inkedLine), ...Array.from(layers.shares.children, inkedShare));
  nodeElements.forEach((element) => root.append(inkedNode(element)));
  const kinds = state.mode === "dag" ? "Edges" : "Marks of the equivalence classes";
  root.append(svg("text", { x: left + margin, y: top + height - 14, "font-size": 12, fill: "#535c66",
    text: `${kinds} with posterior probability ${state.threshold.toFixed(2)} or more. ${DATA.title}` }));
  return { root, width, height };
}

function inkedLine(element) {
  const line = element.querySelector(".line");
  const kind = kindOf(element.mark);
  return svg("path", { d: line.getAttribute("d"), fill: "none", stroke: PAPER[kind], "stroke-linecap": "round",
    "stroke-width": line.getAttribute("stroke-width"), "marker-end": line.getAttribute("marker-end"),
    "stroke-dasharray": kind === "open" || kind === "faint" ? "6 4" : null });
}
function inkedShare(share) {
  return svg("text", { x: share.getAttribute("x"), y: share.getAttribute("y"), "font-size": 11, "font-weight": 600,
    "text-anchor": "middle", fill: PAPER[kindOf(share.mark)], stroke: PAPER.ground, "stroke-width": 4,
    "paint-order": "stroke", "stroke-linejoin": "round", text: share.textContent });
}

function inkedNode(element) {
  const [box, text] = [element.querySelector("rect"), element.querySelector("text")];
  const size = (key) => box.getAttribute(key);
  return svg("g", { transform: element.getAttribute("transform") },
    svg("title", { text: DATA.nodes[Number(element.dataset.node)] }),
    svg("rect", { x: size("x"), y: size("y"), width: size("width"), height: size("height"), rx: 7, fill: PAPER.box, stroke: PAPER.frame }),
    svg("text", { y: 4.5, "text-anchor": "middle", "font-size": 12.5, fill: PAPER.ink, text: text.textContent,
      textLength: text.getAttribute("textLength"), lengthAdjust: text.getAttribute("lengthAdjust") }));
}

const svgText = () => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(pictureOfGraph().root)}\n`;

/** Paint the SVG on a canvas, twice as large as on screen, smaller if that is too much for a canvas. */
async function pngBlob() {
  const { width, height } = pictureOfGraph();
  const scale = Math.min(2, 8000 / width, 8000 / height);
  const address = URL.createObjectURL(new Blob([svgText()], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    await new Promise((resolve, reject) => { image.onload = resolve; image.onerror = reject; image.src = address; });
    const paper = html("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    paper.getContext("2d").drawImage(image, 0, 0, paper.width, paper.height);
    return await new Promise((resolve) => { paper.toBlob(resolve, "image/png"); });
  } finally {
    URL.revokeObjectURL(address);
  }
}
byId("save-svg").addEventListener("click", () => download(new Blob([svgText()], { type: "image/svg+xml" }), `${DATA.file}-graph.svg`));
byId("save-png").addEventListener("click", async () => download(await pngBlob(), `${DATA.file}-graph.png`));
