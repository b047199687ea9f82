// Details of one selected point: its metadata, and its nearest neighbours in the data and in the layout. On the map, a
// line leads to each neighbour in the data: solid if it is also a neighbour in the layout, dashed if it is not.

const ADDRESS = /\bhttps?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]}]/g;
const LISTED = 15; // neighbours in the layout, if those in the data are unknown

let dataNeighbors = null;
let detailing = Promise.resolve(); // until the details are drawn

function loadNeighbors() {
  if (!header.neighbors) return Promise.resolve();
  loadNeighbors.loading ??= takeNumbers("neighbors", header.neighbors.type).then((found) => (dataNeighbors = found));
  return loadNeighbors.loading;
}

async function showDetails(row) {
  state.detailed = row;
  if (row === null) {
    const open = !byId("details").hidden;
    byId("details").hidden = true;
    document.body.classList.remove("with-details");
    byId("links").replaceChildren();
    if (open && !state.moved) frame(points);
    return;
  }
  await Promise.all([loadNeighbors(), header.images === null ? null : loadImages()]);
  if (state.detailed !== row) return; // another point has been chosen in the meantime
  if (state.hovered === row) hideTooltip();
  drawDetails();
  const before = freeArea();
  byId("details").hidden = false;
  document.body.classList.add("with-details");
  byId("details-body").scrollTop = 0;
  uncover(before);
}

function drawDetails() {
  const row = state.detailed;
  if (row === null) return;
  const near = nearestInLayout(row, header.neighbors?.k ?? Math.min(LISTED, header.n - 1));
  const k = near.length;
  state.neighbors = { layout: near, data: dataNeighbors && Array.from(dataNeighbors.subarray(row * k, (row + 1) * k)) };
  byId("details-name").replaceChildren(pointSwatch(row), nameOf(row));
  const image = thumbnail(row, "portrait");
  byId("details-body").replaceChildren(...(image ? [image] : []), factsOf(row, linked), ...neighborParts());
  drawLinks();
}

function pointSwatch(row) {
  const { codes, colors } = state.coloring;
  return swatch(colors[codes[row]]);
}

// List all columns of a point; `value` turns the text of a value into an element.
function factsOf(row, value) {
  const facts = make("dl");
  for (const column of columns) {
    if (column !== idColumn) facts.append(make("dt", "", column.name), value(column.shown(row)));
  }
  facts.append(make("dt", "", "x, y"), make("dd", "", `${short(x[row])}, ${short(y[row])}`));
  return facts;
}

function linked(text) {
  const value = make("dd");
  let done = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    const link = make("a", "", address);
    Object.assign(link, { href: address, target: "_blank", rel: "noopener noreferrer" });
    value.append(text.slice(done, index), link);
    done = index + address.length;
  }
  value.append(text.slice(done));
  return value;
}

// Return the k nearest other points in the layout, nearest first; of points at the same distance, the first.
function nearestInLayout(row, k) {
  const [px, py] = [x[row], y[row]];
  const rows = [], distances = [];
  let limit = Infinity;
  for (let other = 0; other < header.n; other++) {
    const distance = (x[other] - px) ** 2 + (y[other] - py) ** 2;
    if (distance >= limit || other === row) continue;
    let place = distances.length;
    while (place > 0 && distances[place - 1] > distance) place--;
    distances.splice(place, 0, distance);
    rows.splice(place, 0, other);
    if (rows.length > k) {
      rows.pop();
      distances.pop();
    }
    if (rows.length === k) limit = distances[k - 1];
  }
  return rows;
}

// Return the number of points that are as near to the selected point in the layout as another one, which counts itself.
function rankInLayout(other) {
  const [px, py] = [x[state.detailed], y[state.detailed]];
  const limit = (x[other] - px) ** 2 + (y[other] - py) ** 2;
  let rank = 0;
  for (let row = 0; row < header.n; row++) if ((x[row] - px) ** 2 + (y[row] - py) ** 2 <= limit) rank++;
  return rank - 1; // the selected point itself does not count
}

function neighborParts() {
  const { data, layout } = state.neighbors;
  if (!layout.length) return [];
  if (!data) return [neighborList("Nearest in the layout", layout, () => "")];
  const [here, there] = [new Set(layout), new Set(data)];
  const kept = data.filter((other) => here.has(other)).length;
  return [
    trustMeter(kept, data.length),
    neighborList("Nearest in the data", data, (row) => (here.has(row) ? "" : `rank ${count(rankInLayout(row))} here`)),
    neighborList("Nearest in the layout", layout, (row) => (there.has(row) ? "" : "not near in the data")),
  ];
}

function trustMeter(kept, k) {
  const section = make("section", "trust");
  section.append(make("h3", "", "Neighbours"));
  const bar = make("div", "meter");
  bar.append(make("div"));
  bar.firstChild.style.width = `${(100 * kept) / k}%`;
  const text = make("p", "", `${kept} of the ${k} nearest points in the data are also nearest here.`);
  const key = make("p", "quiet key");
  key.append(make("span", "line kept"), "near in both", make("span", "line lost"), "near only in the data");
  section.append(bar, text, key);
  return section;
}

function neighborList(title, rows, remark) {
  const section = make("section", "neighbors");
  const list = make("ol");
  for (const row of rows) {
    const button = make("button", "neighbor");
    const image = thumbnail(row, "tiny");
    const text = make("span", "label", nameOf(row));
    const astray = remark(row);
    button.append(pointSwatch(row), ...(image ? [image] : []), text, make("span", "number", astray || classOf(row)));
    button.classList.toggle("astray", astray !== "");
    button.addEventListener("click", () => select([row]));
    const item = make("li");
    item.append(button);
    list.append(item);
  }
  section.append(make("h3", "", title), list);
  return section;
}

// The category of a point in the column that gives the colours, unless its name already says it.
function classOf(row) {
  const column = columns[state.color];
  return column?.isCategory && column !== idColumn ? column.shown(row) : "";
}

function drawLinks() {
  const svg = byId("links");
  if (state.detailed === null || !state.neighbors) return svg.replaceChildren();
  const { data, layout } = state.neighbors;
  const nearby = new Set(layout);
  const [x1, y1] = project(points[state.detailed]);
  const parts = [];
  for (const row of data ?? layout) {
    const [x2, y2] = project(points[row]);
    const kind = nearby.has(row) ? "kept" : "lost";
    parts.push(shape("line", kind, { x1, y1, x2, y2 }), shape("circle", kind, { cx: x2, cy: y2, r: 4 }));
  }
  parts.push(shape("circle", "own", { cx: x1, cy: y1, r: 7 }));
  svg.replaceChildren(...parts);
}

function shape(tag, className, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  element.setAttribute("class", className);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Show beside the details what they would cover: the whole map if the reader has not changed the view, otherwise the
// point and those of its neighbours that were in the free area before.
function uncover(before) {
  if (!state.moved) return frame(points);
  const free = freeArea();
  const { data, layout } = state.neighbors;
  const wanted = (data ?? layout).filter((row) => isInside(project(points[row]), before));
  const kept = [state.detailed, ...wanted].map((row) => points[row]);
  if (kept.every((point) => isInside(project(point), free))) return;
  const [left, right] = extent(kept.map((point) => project(point)[0]));
  const [top, bottom] = extent(kept.map((point) => project(point)[1]));
  const width = free.right - free.left - 2 * MARGIN, height = free.bottom - free.top - 2 * MARGIN;
  if (right - left > width || bottom - top > height) return frame(kept);
  const shift = (low, high, from, to) => Math.max(0, high - to + MARGIN) || Math.min(0, low - from - MARGIN);
  const unit = (2 * plot.get("cameraDistance")) / innerHeight;
  const [tx, ty] = plot.get("cameraTarget");
  const across = shift(left, right, free.left, free.right) * unit, down = shift(top, bottom, free.top, free.bottom) * unit;
  return flyTo([tx + across, ty - down], plot.get("cameraDistance"), 250);
}

const isInside = ([left, top], area) => left > area.left && left < area.right && top > area.top && top < area.bottom;

function watchDetails() {
  plot.subscribe("view", drawLinks);
  byId("close").addEventListener("click", clearSelection);
  addEventListener("keydown", ({ key }) => key === "Escape" && state.detailed !== null && clearSelection());
}
