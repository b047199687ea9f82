// Many points on a slow machine: fewer are drawn while the view moves, and all of them when it rests; and nothing is
// drawn again for a mouse that only hovers, because the ring around the point is not part of the picture.
// Points are drawn in a random order, so that the first ones are a fair sample.

const ALWAYS = 50000; // points that every machine draws
const SLOW = 60; // milliseconds a frame above which the share of points falls, and
const FAST = 25; // below which it rises again
const REST = 200; // milliseconds without a movement after which the view rests
const PIPELINE = 4; // frames within which a change is drawn, or a drawing is felt

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

// Only the first points drawn in a frame are all points; after them come the hovered and the selected ones.
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

// What asks for a new picture: our own calls, another view, another size, or a mouse that drags.
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
  renderer.render = (...args) => {
    const view = [...plot.get("cameraView"), canvas.width, canvas.height].join();
    if (pace.wanted > 0 || view !== seen || pressed) render(...args);
    seen = view;
  };
}
