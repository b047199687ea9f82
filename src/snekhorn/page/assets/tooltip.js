// The point under the mouse: a ring around it, and all that is known of it.

function showTooltip(row) {
  if (row === null || !isShown(row)) return hideTooltip();
  state.hovered = row;
  canvas.classList.add("over");
  byId("tooltip").replaceChildren(...tooltipParts(row));
  byId("ring").hidden = byId("tooltip").hidden = false;
  placeTooltip();
}

function hideTooltip() {
  state.hovered = null;
  canvas.classList.remove("over");
  byId("ring").hidden = byId("tooltip").hidden = true;
}

function tooltipParts(row) {
  const title = make("h2", "", nameOf(row));
  const { codes, colors } = state.coloring;
  title.prepend(swatch(colors[codes[row]]));
  const facts = make("dl");
  for (const column of columns) {
    if (column !== idColumn) facts.append(make("dt", "", column.name), make("dd", "", column.shown(row)));
  }
  facts.append(make("dt", "", "x, y"), make("dd", "", `${short(x[row])}, ${short(y[row])}`));
  return [title, facts];
}

// Beside the point, on the side where there is room.
function placeTooltip() {
  if (state.hovered === null) return;
  const [left, top] = plot.getScreenPosition(state.hovered);
  byId("ring").style.transform = `translate(${left}px, ${top}px)`;
  byId("ring").style.left = byId("ring").style.top = "0";
  const box = byId("tooltip").getBoundingClientRect();
  const across = left + 14 + box.width > innerWidth - 8 ? left - 14 - box.width : left + 14;
  const down = Math.max(8, Math.min(top - 12, innerHeight - box.height - 8));
  byId("tooltip").style.transform = `translate(${Math.round(Math.max(8, across))}px, ${Math.round(down)}px)`;
}

function watchHover() {
  plot.subscribe("pointover", showTooltip);
  plot.subscribe("pointout", hideTooltip);
  plot.subscribe("view", placeTooltip);
  canvas.addEventListener("mouseleave", hideTooltip);
}
