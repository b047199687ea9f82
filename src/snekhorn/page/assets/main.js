// Start the page: load what the first picture needs, draw it, then load the rest.

function unsupported() {
  if (!document.createElement("canvas").getContext("webgl")) {
    return "This page needs WebGL, which is not available in this browser. "
      + "Turn on hardware acceleration, or open the page in another browser.";
  }
  if (typeof DecompressionStream === "undefined") {
    return "This browser is too old for this page. Use Chrome or Edge 80, Firefox 113, Safari 16.4, or later.";
  }
  return null;
}

function fail(error) {
  byId("message").textContent = error.message;
  byId("message").hidden = false;
}

function fillPanel() {
  byId("title").textContent = header.title || "Layout";
  const sample = header.total > header.n ? `, a random sample of ${count(header.total)}` : "";
  byId("count").textContent = plural(header.n, "point", "points") + sample;
  const choice = byId("color");
  choice.append(new Option("nothing", ""), ...columns.map((column) => new Option(column.name, column.index)));
  choice.value = state.color ?? "";
  byId("color-field").hidden = columns.length === 0;
  byId("about").hidden = header.summary.length === 0;
  for (const [name, value] of header.summary) byId("summary").append(make("dt", "", name), make("dd", "", value));
}

async function colorBy(index) {
  state.color = index;
  await columns[index]?.load();
  if (state.shown) await showCategories(null);
  if (state.color !== index) return; // another column has been chosen in the meantime
  state.coloring = coloring(columns[index]);
  drawLegend();
  if (state.selection.length) drawBreakdown();
  await drawColors();
}

function recolor() {
  plot.set({ pointColor: state.coloring.colors.map(themed), ...themeColors() });
  drawLegend();
  if (state.selection.length) drawBreakdown();
}

function setLasso(on) {
  byId("lasso").setAttribute("aria-pressed", String(on));
  canvas.classList.toggle("lasso", on);
  plot.set({ mouseMode: on ? "lasso" : "panZoom" });
}

const lassoIsOn = () => byId("lasso").getAttribute("aria-pressed") === "true";

function resetView() {
  state.moved = false;
  frame(points);
}

function watchControls() {
  byId("color").addEventListener("change", ({ target }) => colorBy(target.value === "" ? null : Number(target.value)));
  byId("lasso").addEventListener("click", () => setLasso(!lassoIsOn()));
  byId("reset").addEventListener("click", resetView);
  byId("zoom-in").addEventListener("click", () => zoomBy(0.6));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 0.6));
  byId("fold").addEventListener("click", () => {
    const folded = byId("panel").classList.toggle("folded");
    byId("fold").setAttribute("aria-expanded", String(!folded));
    if (!state.moved) frame(points);
  });
  canvas.addEventListener("mousedown", () => (state.moved = true));
  canvas.addEventListener("wheel", () => (state.moved = true), { passive: true });
  darkMode.addEventListener("change", recolor);
  addEventListener("resize", () => requestAnimationFrame(() => state.moved || frame(points, { animate: false })));
}

async function start() {
  const problem = unsupported();
  if (problem) throw new Error(problem);
  fillPanel();
  const firstColumn = columns[state.color]?.load();
  [x, y] = await Promise.all([takeNumbers("x", "f4"), takeNumbers("y", "f4")]);
  await firstColumn;
  state.coloring = coloring(columns[state.color]);
  drawLegend(); // first, because the view is fitted next to the panel
  placePoints();
  density = meanDensity();
  // End a lasso when the window loses focus. This runs before the library's own listener, which would fail.
  addEventListener("blur", () => dispatchEvent(new MouseEvent("mouseup")));
  window.snekhorn.scatterplot = createPlot();
  await drawColors();
  if (header.n > ALWAYS) keepPace();
  byId("message").hidden = true;
  performance.mark("first frame");
  await Promise.all(columns.map((column) => column.load()));
  watchSelection();
  watchHover();
  watchSearch();
  watchControls();
  performance.mark("ready");
}

// For tests and for scripts.
window.snekhorn = { state, scatterplot: null, ready: null };
window.snekhorn.ready = start();
window.snekhorn.ready.catch(fail);
