// Controls, theme and paper; then everything is drawn for the first time.

const slider = byId("threshold");
slider.addEventListener("input", () => {
  byId("threshold-shown").textContent = Number(slider.value).toFixed(2);
  slider.setAttribute("aria-valuetext", `probability ${Number(slider.value).toFixed(2)} or more`);
  change({ threshold: Number(slider.value) });
});

const search = byId("search");
search.addEventListener("input", () => {
  change({ query: search.value.trim().toLowerCase() });
  if (state.query) announce(`${plural(DATA.nodes.filter((_, node) => matches(node)).length, "node")} found.`);
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { search.value = ""; change({ query: "" }); }
  if (event.key !== "Enter") return;
  const exact = DATA.nodes.findIndex((text) => text.toLowerCase() === state.query);
  const found = exact >= 0 ? exact : DATA.nodes.findIndex((_, node) => matches(node));
  if (found < 0) return;
  change({ chosen: { node: found } });
  centreOn(found);
});

for (const choice of document.querySelectorAll("input[name=mode]")) {
  choice.addEventListener("change", () => {
    byId("mode-note").textContent = choice.dataset.note;
    byId("legend-unsettled").hidden = choice.value !== "dag" || !UNSETTLED.size;
    change({ mode: choice.value });
  });
}

// ── theme ──
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
function themeChanged() {
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  readStyle();
}
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  themeChanged();
});
prefersDark.addEventListener("change", themeChanged);

// ── copying the call ──
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = byId(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      window.getSelection().selectAllChildren(source); // without permission the text is at least selected
      button.textContent = "Selected";
    }
    window.setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
}

// ── paper ──
let screenTheme;
let printing = false;
let opened = [];
window.addEventListener("beforeprint", () => {
  printing = true;
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
  screenTheme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  const size = `${EXTENT.left - 20} ${EXTENT.top - 20} ${EXTENT.width + 40} ${EXTENT.height + 40}`;
  canvas.setAttribute("viewBox", size); // paper shows the whole graph, whatever the screen shows
  viewport.removeAttribute("transform");
  readStyle();
});
window.addEventListener("afterprint", () => {
  printing = false;
  for (const details of opened) details.open = false;
  if (screenTheme) document.documentElement.dataset.theme = screenTheme;
  else delete document.documentElement.dataset.theme;
  canvas.removeAttribute("viewBox");
  placeView();
  readStyle();
});

let resized = 0;
let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  if (printing || window.innerWidth === lastWidth) return; // phones resize whenever their address bar hides
  lastWidth = window.innerWidth;
  window.clearTimeout(resized);
  resized = window.setTimeout(() => { if (!printing) fitView(); drawHeat(); }, 120);
});

nodeElements[0].setAttribute("tabindex", 0);
for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;
drawMarks();
fillTable();
fitView();
squeezeLabels();
themeChanged();
byId("live").textContent = "";
document.documentElement.dataset.ready = "yes";
