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
  drawCount(null);
  byId("layout").append(...header.layouts.map(({ name }, number) => new Option(name, number)));
  byId("layout-field").hidden = header.layouts.length < 2;
  const choice = byId("color");
  choice.append(new Option("nothing", ""), ...columns.map((column) => new Option(column.name, column.index)));
  choice.value = state.color ?? "";
  byId("color-field").hidden = columns.length === 0;
  drawSummary();
}

function drawSummary() {
  const { summary } = header.layouts[state.layout];
  byId("about").hidden = summary.length === 0;
  byId("summary").replaceChildren(...summary.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}

async function colorBy(index) {
  state.color = index;
  await columns[index]?.load();
  if (state.color !== index) return; // another column has been chosen in the meantime
  state.coloring = coloring(columns[index]);
  const drawn = drawColors();
  drawPanels();
  drawNames();
  await drawn;
}

// Draw what shows the colours beside the map.
function drawPanels() {
  drawLegend();
  drawFilters();
  if (state.selection.length) drawBreakdown();
  drawDetails();
}

function recolor() {
  plot.set({ pointColor: state.coloring.colors.map(themed), ...themeColors() });
  drawPanels();
}

// Show another layout of the same points, which move to their new places.
async function showLayout(number) {
  state.layout = number;
  hideTooltip();
  [x, y] = await layouts[number];
  if (state.layout !== number) return; // another layout has been chosen in the meantime
  for (const column of columns) column.useLayout(number);
  if (columns[state.color]?.perLayout) state.coloring = coloring(columns[state.color]);
  placePoints();
  density = meanDensity();
  byId("names").replaceChildren();
  byId("links").replaceChildren();
  drawSummary();
  drawLegend();
  await drawColors({ moved: true });
  if (state.layout !== number) return;
  if (state.selection.length) plot.select(state.selection, { preventEvent: true });
  await applyFilters();
  if (!state.moved) await frame(points);
  updateOpacity();
  drawNames();
  drawDetails();
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
  byId("layout").addEventListener("change", ({ target }) => showLayout(Number(target.value)));
  byId("size").addEventListener("input", ({ target }) => {
    state.size = 2 ** Number(target.value);
    plot.set({ pointSize: pointSize() });
    updateOpacity();
  });
  byId("opacity").addEventListener("input", ({ target }) => {
    state.opacity = 2 ** Number(target.value);
    updateOpacity();
  });
  byId("show-names").addEventListener("change", ({ target }) => {
    state.names = target.checked;
    drawNames();
  });
  byId("lasso").addEventListener("click", () => setLasso(!lassoIsOn()));
  byId("reset").addEventListener("click", resetView);
  byId("zoom-in").addEventListener("click", () => zoomBy(0.6));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 0.6));
  byId("fold").addEventListener("click", () => {
    const folded = byId("panel").classList.toggle("folded");
    byId("fold").setAttribute("aria-expanded", String(!folded));
    if (!state.moved) frame(points);
  });
  const take = () => {
    state.moved = true;
    flight++; // the reader takes over
  };
  canvas.addEventListener("mousemove", ({ buttons }) => buttons && take());
  canvas.addEventListener("wheel", take, { passive: true });
  darkMode.addEventListener("change", recolor);
  addEventListener("resize", () => requestAnimationFrame(() => state.moved || frame(points, { animate: false })));
}

const layouts = [];
const takeLayout = (number) => Promise.all(["x", "y"].map((axis) => takeNumbers(`${axis}-${number}`, "f4")));

async function start() {
  const problem = unsupported();
  if (problem) throw new Error(problem);
  fillPanel();
  const firstColumn = columns[state.color]?.load();
  layouts.push(takeLayout(0));
  [x, y] = await layouts[0];
  await Promise.all([firstColumn, background?.load()]);
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
  drawNames();
  for (let number = 1; number < header.layouts.length; number++) layouts.push(takeLayout(number));
  await Promise.all([...layouts, ...columns.map((column) => column.load())]);
  plot.subscribe("view", placeNames);
  watchSelection();
  watchHover();
  watchDetails();
  watchSearch();
  watchControls();
  performance.mark("ready");
}

// For tests and for scripts.
window.snekhorn = { state, columns, scatterplot: null, ready: null };
window.snekhorn.ready = start();
window.snekhorn.ready.catch(fail);
