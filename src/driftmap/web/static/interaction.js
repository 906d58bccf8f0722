/** Pointers and keyboard on the map: pan, zoom, hover, lasso. */

const PAN_STEP = 60;
/** A finger that moves less than this, in pixels, taps; it hovers over rows within the second distance. */
const [TAP, FINGER] = [8, 24];

export class Interaction {
  /** @param view a MapView  @param {Object<string, () => void>} keys actions of further keys */
  constructor(view, keys) {
    this.view = view;
    /** True if dragging draws a lasso; otherwise it pans, unless shift is held. */
    this.lassoMode = false;
    /** Where the pressed pointers are, by identifier: one pans or draws, two zoom. */
    this.pressed = new Map();
    /** Where a press started that may become a tap. */
    this.tap = null;
    this.keys = { ...this.ownKeys(), ...keys };
    const { element } = view;
    const handlers = { pointerdown: "press", pointermove: "move", pointerup: "release", pointercancel: "cancel", keydown: "pressKey" };
    for (const [type, name] of Object.entries(handlers)) element.addEventListener(type, (event) => this[name](event));
    element.addEventListener("pointerleave", ({ pointerType }) => pointerType === "touch" || this.pressed.size || view.hover(null));
    // One finger may scroll the page; two fingers, or one that draws, are for the map.
    element.addEventListener("touchmove", (event) => (event.touches.length > 1 || view.lasso) && event.preventDefault(), { passive: false });
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("dblclick", (event) => this.change(() => view.camera.zoom(2, at(event, element))));
  }

  change(action) {
    action();
    this.view.redraw();
  }

  press(event) {
    if (event.button) return;
    const { view } = this;
    const place = at(event, view.element);
    view.element.setPointerCapture(event.pointerId);
    this.pressed.set(event.pointerId, place);
    const isFirst = this.pressed.size === 1;
    this.tap = isFirst && event.pointerType === "touch" ? place : null;
    view.lasso = isFirst && (this.lassoMode || event.shiftKey) ? [place] : null;
  }

  move(event) {
    const { view, pressed } = this;
    const place = at(event, view.element);
    const before = pressed.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") view.hover(view.pick(place));
      return;
    }
    if (this.tap && distance(this.tap, place) < TAP) return;
    this.tap = null;
    pressed.set(event.pointerId, place);
    if (view.lasso) this.change(() => view.lasso.push(place));
    else if (pressed.size === 1) this.change(() => view.camera.pan(place[0] - before[0], place[1] - before[1]));
    else this.pinch(before, place, [...pressed].find(([id]) => id !== event.pointerId)[1]);
  }

  /** Keep what is between two fingers between them. */
  pinch(before, place, other) {
    const { camera } = this.view;
    this.change(() => {
      camera.pan((place[0] - before[0]) / 2, (place[1] - before[1]) / 2);
      const middle = [(place[0] + other[0]) / 2, (place[1] + other[1]) / 2];
      camera.zoom(Math.max(1, distance(place, other)) / Math.max(1, distance(before, other)), middle);
    });
  }

  release(event) {
    const { view, tap } = this;
    const { lasso } = view;
    this.cancel(event);
    if (lasso) view.select(lasso.length > 2 ? lasso : null);
    else if (tap) view.hover(view.pick(tap, FINGER));
  }

  cancel(event) {
    this.pressed.delete(event.pointerId);
    this.tap = this.view.lasso = null;
    this.view.redraw();
  }

  wheel(event) {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    this.change(() => this.view.camera.zoom(Math.exp(-pixels / 400), at(event, this.view.element)));
  }

  pressKey(event) {
    const action = this.keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.change(action);
  }

  ownKeys() {
    const { view } = this;
    const { camera } = view;
    return {
      ArrowLeft: () => camera.pan(PAN_STEP, 0), ArrowRight: () => camera.pan(-PAN_STEP, 0),
      ArrowUp: () => camera.pan(0, PAN_STEP), ArrowDown: () => camera.pan(0, -PAN_STEP),
      "+": () => camera.zoom(1.25), "=": () => camera.zoom(1.25), "-": () => camera.zoom(0.8), 0: () => view.fit(),
      n: () => this.step(1), p: () => this.step(-1),
      Escape: () => view.select(null),
    };
  }

  /** Hover over the next or previous arrival; start from the last one if none is hovered. */
  step(by) {
    const { view } = this;
    if (!view.store) return;
    const last = view.store.next - view.back - 1;
    const arrival = view.hovered === null ? last : view.hovered + by;
    view.hover(Math.min(last, Math.max(view.store.oldest, arrival)));
  }
}

const distance = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);

function at(event, element) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
