/** Pointer and keyboard on the map: pan, zoom, hover, lasso. */

const PAN_STEP = 60;

export class Interaction {
  /** @param view a MapView  @param {Object<string, () => void>} keys further keys and what they do */
  constructor(view, keys) {
    this.view = view;
    /** Whether dragging draws a lasso; else it moves the map, unless shift is held. */
    this.lassoMode = false;
    this.keys = { ...this.ownKeys(), ...keys };
    const { element } = view;
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerup", () => this.release());
    element.addEventListener("pointercancel", () => this.release());
    element.addEventListener("pointerleave", () => this.drag || view.hover(null));
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("dblclick", (event) => this.change(() => view.camera.zoom(2, at(event, element))));
    element.addEventListener("keydown", (event) => this.press_key(event));
  }

  change(action) {
    action();
    this.view.redraw();
  }

  press(event) {
    if (event.button) return;
    this.view.element.setPointerCapture(event.pointerId);
    const place = at(event, this.view.element);
    this.drag = place;
    if (this.lassoMode || event.shiftKey) this.view.lasso = [place];
  }

  move(event) {
    const { view } = this;
    const place = at(event, view.element);
    if (!this.drag) view.hover(view.pick(place));
    else if (view.lasso) this.change(() => view.lasso.push(place));
    else this.change(() => view.camera.pan(place[0] - this.drag[0], place[1] - this.drag[1]));
    if (this.drag) this.drag = place;
  }

  release() {
    const { lasso } = this.view;
    this.drag = this.view.lasso = null;
    if (lasso) this.view.select(lasso.length > 2 ? lasso : null);
  }

  wheel(event) {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    this.change(() => this.view.camera.zoom(Math.exp(-pixels / 400), at(event, this.view.element)));
  }

  press_key(event) {
    const action = this.keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.change(action);
  }

  ownKeys() {
    const { view } = this;
    const { camera } = view;
    return {
      ArrowLeft: () => camera.pan(PAN_STEP, 0),
      ArrowRight: () => camera.pan(-PAN_STEP, 0),
      ArrowUp: () => camera.pan(0, PAN_STEP),
      ArrowDown: () => camera.pan(0, -PAN_STEP),
      "+": () => camera.zoom(1.25),
      "=": () => camera.zoom(1.25),
      "-": () => camera.zoom(0.8),
      0: () => this.fit(),
      n: () => this.step(1),
      p: () => this.step(-1),
      Escape: () => view.select(null),
    };
  }

  /** Show all points, and follow them again. */
  fit() {
    const { camera, bounds } = this.view;
    camera.auto = true;
    if (bounds) camera.fit(bounds);
    this.view.redraw();
  }

  /** To the row that arrived before or after; from the last one if there is none. */
  step(by) {
    const { view } = this;
    if (!view.store) return;
    const last = view.store.next - view.back - 1;
    const arrival = view.hovered === null ? last : view.hovered + by;
    view.hover(Math.min(last, Math.max(view.store.oldest, arrival)));
  }
}

function at(event, element) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
