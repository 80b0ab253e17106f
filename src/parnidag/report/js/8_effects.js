// Effects: choosing a cause shows what it does to every other node.

const MOST_EFFECTS = 20;
const chosenCause = byId("cause");

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Number(Math.abs(value).toPrecision(3))}`;
const plainNumber = (value) => `${value < 0 ? "−" : ""}${Number(Math.abs(value).toPrecision(3))}`;

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
