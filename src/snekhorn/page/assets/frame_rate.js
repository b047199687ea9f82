// Keep the page responsive with many points on a slow machine. While the view moves, only a sample of the points is
// drawn; when it stops, all of them are. Points are drawn in random order, so the first ones are a fair sample.
// Hovering does not redraw anything, because the ring around the hovered point is not part of the canvas.

const ALWAYS = 50000; // points that are always drawn
const SLOW = 60; // milliseconds per frame above which fewer points are drawn
const FAST = 25; // milliseconds per frame below which more points are drawn again
const REST = 200; // milliseconds without movement after which the view counts as still
const PIPELINE = 4; // frames until a change is drawn and its cost shows up in the frame times

const pace = { share: 1, moving: false, drawn: 0, since: Infinity, wanted: PIPELINE };

function keepPace() {
  const renderer = plot.get("renderer");
  thin(renderer.regl._gl);
  measure(renderer);
  skipHovers(renderer);
  let waiting;
  const move = () => {
    pace.moving = true;
    clearTimeout(waiting);
    waiting = setTimeout(rest, REST);
  };
  plot.subscribe("view", move);
  plot.subscribe("lassoEnd", () => plot.redraw());
  canvas.addEventListener("wheel", move, { passive: true });
  addEventListener("mousemove", (event) => event.buttons && event.target === canvas && move());
}

function rest() {
  pace.moving = false;
  if (pace.share < 1) plot.redraw();
}

// The first call in a frame draws all points; later calls draw the hovered and the selected ones.
function thin(gl) {
  const draw = gl.drawArrays.bind(gl);
  gl.drawArrays = (mode, start, number) => {
    let some = number;
    if (mode === gl.POINTS && pace.since > 0) {
      if (pace.moving) some = Math.min(number, Math.max(ALWAYS, Math.round(number * pace.share)));
      [pace.drawn, pace.since] = [some / number, 0];
    }
    draw(mode, start, some);
  };
}

function measure(renderer) {
  let before = performance.now();
  renderer.onFrame(() => {
    const took = performance.now() - before;
    before += took;
    pace.wanted--;
    if (++pace.since > PIPELINE) return;
    if (took > SLOW) pace.share = Math.max(ALWAYS / header.n, Math.min(pace.share, (pace.drawn * SLOW) / took));
    else if (took < FAST && pace.moving) pace.share = Math.min(1, pace.share * 1.2);
  });
}

// Render only after one of our own calls, a change of view or size, or while the mouse drags.
function skipHovers(renderer) {
  const render = renderer.render;
  let seen, pressed = false;
  for (const name of ["deselect", "draw", "filter", "redraw", "select", "set", "unfilter"]) {
    const call = plot[name];
    plot[name] = (...args) => {
      pace.wanted = PIPELINE;
      return call(...args);
    };
  }
  addEventListener("mousemove", (event) => (pressed = event.buttons > 0), true);
  plot.subscribe("transitionEnd", () => (pace.wanted = PIPELINE));
  renderer.render = (...args) => {
    const view = [...plot.get("cameraView"), canvas.width, canvas.height].join();
    if (pace.wanted > 0 || inTransition || view !== seen || pressed) render(...args);
    seen = view;
  };
}
