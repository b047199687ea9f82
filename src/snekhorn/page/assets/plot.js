// The scatter plot: one scale for both axes, the camera, sizes and opacities.

const canvas = byId("plot");
const state = {
  n: header.n,
  color: header.color, // index of a column, or null
  coloring: null,
  layout: 0, // index of the layout shown
  filters: new Map(), // by index of the column, or null for the legend of no column
  visible: null, // for each point, whether it passes all filters; null if there are none
  selection: [],
  detailed: null, // the point whose details are shown
  size: 1, // factors of the reader
  opacity: 1,
  names: null, // whether the names of categories are on the map; null chooses
  hovered: null,
  moved: false, // whether the reader has changed the view
};
const points = [];
let x, y, plot, density;
let drawing = Promise.resolve();
let inTransition = false; // whether the points move to another layout
let flight = 0; // number of the latest movement of the view

const MARGIN = 24; // pixels around the points to which the view is fitted
const CLOSEST = { all: 0.3, some: 0.04 }; // smallest camera distances when fitting, needed for points in one place
const GRID = 128; // bins per side for the estimate of density
const ANIMATED = 200000; // points that move smoothly to another layout; more would be slow
const ORDERED = 200000; // points whose drawing order depends on colours; ordering more would be slow
const DIMMED = { one: [0.6, 0.6], several: [0.25, 0.3] }; // factor and limit of the opacity of points not selected
const OUTLINED = 300; // larger selections are not outlined, because the outlines would run together

// Scale the layout so that half of its longer side is 1.
function placePoints() {
  const [left, right] = extent(x);
  const [bottom, top] = extent(y);
  const half = Math.max(right - left, top - bottom) / 2 || 1;
  const [centreX, centreY] = [left / 2 + right / 2, bottom / 2 + top / 2];
  for (let row = 0; row < header.n; row++) {
    points[row] = [(x[row] - centreX) / half, (y[row] - centreY) / half, 0];
  }
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return [low, high];
}

// Mean number of points in the bin of a point, so that empty space does not count.
function meanDensity() {
  const counts = new Uint32Array(GRID * GRID);
  const bin = (value) => Math.max(0, Math.min(GRID - 1, Math.floor(((value + 1) / 2) * GRID)));
  for (const point of points) counts[bin(point[1]) * GRID + bin(point[0])]++;
  return counts.reduce((sum, number) => sum + number * number, 0) / points.length;
}

// Draw in a random but fixed order: data are often sorted by class, and the last class would cover all others.
function shuffledRows() {
  const rows = Array.from({ length: header.n }, (_, row) => row);
  let seed = 1;
  for (let last = rows.length - 1; last > 0; last--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((seed / 2 ** 32) * (last + 1));
    [rows[last], rows[other]] = [rows[other], rows[last]];
  }
  return rows;
}

const shuffled = shuffledRows();

// Draw the background and missing values first, as in pictures, so that they cover no others.
function backToFront() {
  const { codes, layers } = state.coloring;
  const rows = [[], [], []];
  for (const row of shuffled) rows[layers[codes[row]]].push(row);
  return rows.flat();
}

// The same for the background alone, which does not depend on the colours.
const backgroundFirst = () => [...shuffled.filter(isBehind), ...shuffled.filter((row) => !isBehind(row))];

const pointSize = () => state.size * Math.max(1.25, Math.min(8, 60 * header.n ** -0.28));

// The more points lie on top of each other in dense regions, the more transparent they are.
function opacity(distance) {
  const scale = distance < 1 ? Math.asinh(1 / distance) / Math.asinh(1) : 1 / distance;
  const size = Math.max(1, pointSize() * scale);
  const side = innerHeight / GRID / distance; // side of a bin in pixels
  const layers = (density / side ** 2) * (Math.PI / 4) * size ** 2;
  const wanted = Math.max(0.2, Math.min(0.88, 1.4 / Math.sqrt(layers)));
  return Math.max(0.02, Math.min(1, state.opacity * wanted));
}

function createPlot() {
  const { target, distance } = framing(points);
  const merge = /Mac|iP/.test(navigator.platform) ? "meta" : "ctrl";
  // The library draws into a buffer that is at most as large as the screen. The window may be larger: zoomed out,
  // across two monitors, or in a headless browser. Points beyond the buffer would be missing.
  for (const [side, inner] of [["availWidth", "innerWidth"], ["availHeight", "innerHeight"]])
    Object.defineProperty(window.screen, side, { configurable: true, get: () => window[inner] });
  plot = createScatterplot.default({
    canvas,
    cameraTarget: target,
    cameraDistance: distance,
    pointSize: pointSize(),
    pointSizeSelected: 1,
    pointOutlineWidth: 2,
    pointOrder: background ? backgroundFirst() : shuffled,
    opacity: opacity(distance),
    opacityInactiveScale: DIMMED.several[0],
    opacityInactiveMax: DIMMED.several[1],
    colorBy: "valueZ",
    pointColor: [SINGLE, SINGLE],
    lassoMinDelay: 0,
    lassoLineWidth: 1.5,
    actionKeyMap: { lasso: "shift", merge, remove: "alt" },
    spatialIndexUseWorker: false, // sending the points to a worker takes longer than building the index
    ...themeColors(),
  });
  plot.subscribe("view", updateOpacity);
  return plot;
}

function themeColors() {
  const style = getComputedStyle(document.documentElement);
  return {
    backgroundColor: style.getPropertyValue("--back").trim(),
    lassoColor: style.getPropertyValue("--accent").trim(),
  };
}

function updateOpacity() {
  const wanted = opacity(plot.get("cameraDistance"));
  if (Math.abs(wanted / plot.get("opacity") - 1) > 0.03) plot.set({ opacity: wanted });
}

// Draw the points in their colours; `moved` says that their positions have changed.
function drawColors({ moved = false } = {}) {
  const { codes, colors } = state.coloring;
  for (let row = 0; row < codes.length; row++) points[row][2] = codes[row];
  plot.set({ pointColor: colors.map(themed), ...(header.n <= ORDERED && { pointOrder: backToFront() }) });
  const options = { zDataType: "categorical", preventFilterReset: true };
  if (!moved) options.spatialIndex = plot.get("spatialIndex");
  const smooth = moved && header.n <= ANIMATED;
  drawing = drawing.then(async () => { // wait for the previous draw
    inTransition = smooth;
    await plot.draw(points, { ...options, transition: smooth, transitionDuration: 700 });
    inTransition = false;
  });
  return drawing;
}

// Return the position in the window of a place in units of the points.
function project([px, py]) {
  const [tx, ty] = plot.get("cameraTarget");
  const unit = (2 * plot.get("cameraDistance")) / innerHeight;
  return [innerWidth / 2 + (px - tx) / unit, innerHeight / 2 - (py - ty) / unit];
}

// The part of the window that is not covered by the panel and the tools.
function freeArea() {
  const panel = byId("panel").getBoundingClientRect();
  const tools = byId("tools").getBoundingClientRect();
  if (panel.width > innerWidth - 40) return { left: 0, right: innerWidth, top: tools.bottom, bottom: panel.top };
  const folded = byId("panel").classList.contains("folded");
  return { left: folded ? 0 : panel.right, right: tools.left, top: 0, bottom: innerHeight };
}

// The camera position at which these points fill the free area.
function framing(some) {
  let left = Infinity, right = -Infinity, bottom = Infinity, top = -Infinity;
  for (const [px, py] of some) {
    left = Math.min(left, px);
    right = Math.max(right, px);
    bottom = Math.min(bottom, py);
    top = Math.max(top, py);
  }
  const free = freeArea();
  const width = Math.max(80, free.right - free.left - 2 * MARGIN);
  const height = Math.max(80, free.bottom - free.top - 2 * MARGIN);
  const closest = some === points ? CLOSEST.all : CLOSEST.some;
  const distance = Math.max(closest, (innerHeight / 2) * Math.max((right - left) / width, (top - bottom) / height));
  const unit = (2 * distance) / innerHeight; // size of a pixel in units of the points
  const aside = (free.left + free.right - innerWidth) / 2;
  const down = (free.top + free.bottom - innerHeight) / 2;
  return { distance, target: [(left + right) / 2 - aside * unit, (bottom + top) / 2 + down * unit] };
}

function frame(some, { animate = true } = {}) {
  const { target, distance } = framing(some);
  return flyTo(target, distance, animate ? 350 : 0);
}

function zoomBy(factor) {
  state.moved = true;
  return flyTo(plot.get("cameraTarget"), plot.get("cameraDistance") * factor, 150);
}

// Move the view in so many milliseconds. The library can do this too, but fails if points start to move meanwhile.
function flyTo(target, distance, duration) {
  const number = ++flight;
  const [fromX, fromY] = plot.get("cameraTarget");
  const from = plot.get("cameraDistance");
  const start = performance.now();
  return new Promise((done) => {
    const step = () => {
      if (number !== flight) return done(); // another movement has begun
      const time = duration ? Math.min(1, (performance.now() - start) / duration) : 1;
      const share = time * time * (3 - 2 * time);
      const mix = (a, b) => a + (b - a) * share;
      plot.zoomToLocation([mix(fromX, target[0]), mix(fromY, target[1])], mix(from, distance));
      if (time < 1) requestAnimationFrame(step);
      else done();
    };
    step();
  });
}
