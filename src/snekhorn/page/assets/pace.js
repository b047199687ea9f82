// Where a full picture takes too long, fewer points are drawn while the view moves, and all of them when it rests.
// Points are drawn in a random order, so that the first ones are a fair sample.

const ALWAYS = 50000; // points that every machine draws
const SLOW = 60; // milliseconds a frame at which the share of points falls, and
const FAST = 25; // at which it rises again
const REST = 200; // milliseconds without a movement after which the view rests

function keepPace() {
  const renderer = plot.get("renderer");
  const gl = renderer.regl._gl;
  const drawAll = gl.drawArrays.bind(gl);
  let share = 1, moving = false, first = true, before = 0, waiting;

  gl.drawArrays = (mode, start, number) => {
    const thinned = moving && first && mode === gl.POINTS && number > ALWAYS;
    first &&= mode !== gl.POINTS; // later draws of a frame are what is hovered and selected
    drawAll(mode, start, thinned ? Math.max(ALWAYS, Math.round(number * share)) : number);
  };
  renderer.onFrame(() => {
    const now = performance.now();
    if (moving && now - before > SLOW) share = Math.max(ALWAYS / header.n, share * 0.6);
    else if (moving && now - before < FAST) share = Math.min(1, share * 1.2);
    [before, first] = [now, true];
  });
  plot.subscribe("view", () => {
    moving = true;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      moving = false;
      if (share < 1) plot.redraw();
    }, REST);
  });
}
