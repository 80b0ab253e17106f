// Effects: choosing a cause shows what it does to every other node.

const MOST_EFFECTS = 20;
const chosenCause = byId("cause");

/** Three digits, a large number whole; as `three_digits` in report/effects.py. */
function plainNumber(value) {
  const size = Math.abs(value);
  const text = size >= 999.5 ? Math.round(size).toLocaleString("en") : size === 0 ? "0" :
    size < 1e-4 ? size.toExponential(2) : size.toPrecision(3);
  return `${value < 0 ? "−" : ""}${text}`;
}

const signed = (value) => `${value > 0 ? "+" : ""}${plainNumber(value)}`;

function effectRow([cause, effect, mean, low, high, positive, zero, negative, note]) {
  const number = (text) => html("td", { class: "number", text });
  return html("tr", {}, html("td", { class: "name" }, nameOf(cause)), html("td", { class: "name" }, nameOf(effect)),
    number(signed(mean)), number(`${plainNumber(low)} … ${plainNumber(high)}`),
    ...[positive, zero, negative].map((share) => number(formatProbability(share))), html("td", { text: note }));
}

if (chosenCause) {
  chosenCause.addEventListener("change", () => {
    const all = chosenCause.value === "";
    const rows = DATA.effects.rows.filter(([cause]) => all || cause === Number(chosenCause.value));
    byId("effect-rows").replaceChildren(...(all ? rows.slice(0, MOST_EFFECTS) : rows).map(effectRow));
    if (!all) announce(`${plural(rows.length, "effect")} of ${isolated(DATA.nodes[Number(chosenCause.value)])}.`);
  });
}
