// Names of categories on the map, as in a picture: each at its densest place. By default they are written if there are
// 2 to 12 categories, and each dominates some region.

const NAMED = 12; // categories that are named by default
const BINS = 64; // per side, for the density of each category
const BLUR = 2.5; // bins
const NEAR = 5; // bins around the densest bin whose points are averaged
const LEAST_SHARE = 0.6; // of the density that a category needs at its densest place to be named by default
const GAP = 3; // pixels between names
const FARTHEST = 3; // heights of a name by which it may be moved
const ROUNDS = 200; // of pushing names apart

let names = [];

function drawNames() {
  const found = plot ? namedPlaces() : [];
  byId("names-field").hidden = state.coloring.entries.length === 0;
  byId("show-names").checked = found.length > 0;
  names = found.map(({ label, place }) => ({ element: make("span", "", label || "(empty)"), place }));
  byId("names").replaceChildren(...names.map(({ element }) => element));
  for (const name of names) {
    name.size = [name.element.offsetWidth + GAP, name.element.offsetHeight + GAP];
  }
  placeNames();
}

// Return the categories to name, and where.
function namedPlaces() {
  const { entries, codes } = state.coloring;
  const named = entries.map((entry) => !entry.special);
  const kept = named.filter((each) => each).length;
  const others = entries.some(({ merged }) => merged);
  if (state.names === false || !kept || (state.names === null && (kept < 2 || kept > NAMED || others))) return [];
  const places = densestPlaces(codes, entries.length, named).filter((each) => each);
  if (state.names === null && places.some(({ share }) => share < LEAST_SHARE)) return [];
  return places.map(({ code, place }) => ({ label: entries[code].label, place }));
}

// Return the mean position of the points where each category is densest, and its share of the density there.
function densestPlaces(codes, size, named) {
  const [[left, width], [bottom, height]] = [0, 1].map(paddedSpan);
  const bin = (value, low, span) => Math.max(0, Math.min(BINS - 1, Math.floor(((value - low) / span) * BINS)));
  const bins = new Uint16Array(header.n);
  const counts = Array.from({ length: size }, () => new Float32Array(BINS * BINS));
  for (let row = 0; row < header.n; row++) {
    bins[row] = bin(points[row][1], bottom, height) * BINS + bin(points[row][0], left, width);
    if (isShown(row)) counts[codes[row]][bins[row]]++;
  }
  const smooth = counts.map((grid, code) => (named[code] ? blurred(grid) : null));
  const total = new Float32Array(BINS * BINS);
  for (const grid of smooth) if (grid) for (let i = 0; i < total.length; i++) total[i] += grid[i];
  const peaks = smooth.map((grid) => (grid ? grid.reduce((best, value, i) => (value > grid[best] ? i : best), 0) : 0));
  const sums = peaks.map(() => [0, 0, 0]);
  for (let row = 0; row < header.n; row++) {
    const peak = peaks[codes[row]];
    const near = Math.abs((bins[row] % BINS) - (peak % BINS)) <= NEAR
      && Math.abs(Math.floor(bins[row] / BINS) - Math.floor(peak / BINS)) <= NEAR;
    if (!near || !isShown(row)) continue;
    const sum = sums[codes[row]];
    sum[0] += points[row][0];
    sum[1] += points[row][1];
    sum[2]++;
  }
  return sums.map(([sx, sy, number], code) => named[code] && number
    ? { code, place: [sx / number, sy / number], share: smooth[code][peaks[code]] / total[peaks[code]] }
    : null);
}

// Return the start and the length of an axis, with a margin; no axis is much shorter than the other.
function paddedSpan(axis) {
  const half = Math.max(1 / 3, points.reduce((largest, point) => Math.max(largest, Math.abs(point[axis])), 0)) + 0.06;
  return [-half, 2 * half];
}

function blurred(grid) {
  const reach = Math.ceil(4 * BLUR);
  const weights = Array.from({ length: 2 * reach + 1 }, (_, i) => Math.exp(-0.5 * ((i - reach) / BLUR) ** 2));
  const along = (source, step, across) => {
    const result = new Float32Array(source.length);
    for (let line = 0; line < BINS; line++) {
      for (let i = 0; i < BINS; i++) {
        const value = source[line * across + i * step];
        if (!value) continue;
        for (let j = Math.max(0, i - reach); j <= Math.min(BINS - 1, i + reach); j++) {
          result[line * across + j * step] += value * weights[j - i + reach];
        }
      }
    }
    return result;
  };
  return along(along(grid, 1, BINS), BINS, 1);
}

// Move names that overlap apart, and hide those that would end up too far from their points.
function placeNames() {
  if (!names.length) return;
  const start = names.map(({ place }) => project(place));
  const centers = start.map((center) => [...center]);
  for (let round = 0, moved = true; moved && round < ROUNDS; round++) moved = pushApart(centers);
  names.forEach((name, i) => {
    const shift = Math.max(...[0, 1].map((axis) => Math.abs(centers[i][axis] - start[i][axis])));
    name.element.hidden = shift > FARTHEST * name.size[1] || names.some((_, j) => j < i && overlap(centers, i, j));
    name.element.style.transform = `translate(${centers[i][0]}px, ${centers[i][1]}px) translate(-50%, -50%)`;
  });
}

function pushApart(centers) {
  let moved = false;
  for (let i = 0; i < centers.length; i++) {
    for (let j = i + 1; j < centers.length; j++) {
      const depth = overlap(centers, i, j);
      if (!depth) continue;
      const axis = depth[0] < depth[1] ? 0 : 1;
      const push = (depth[axis] / 2 + 0.01) * (centers[i][axis] <= centers[j][axis] ? 1 : -1);
      centers[i][axis] -= push;
      centers[j][axis] += push;
      moved = true;
    }
  }
  return moved;
}

// Return how far two names overlap along both axes, or null if they do not.
function overlap(centers, i, j) {
  const depth = [0, 1].map((axis) => {
    return (names[i].size[axis] + names[j].size[axis]) / 2 - Math.abs(centers[i][axis] - centers[j][axis]);
  });
  return depth[0] > 0 && depth[1] > 0 ? depth : null;
}
