/** The map: receives messages, holds the content, and redraws it after changes. */

import { Camera } from "./camera.js";
import { CanvasPicture } from "./canvas.js";
import { Coloring, paletteOf, parseColour } from "./colours.js";
import { element } from "./dom.js";
import { LandmarkHistory, LandmarkSet } from "./landmarks.js";
import { marksOf } from "./marks.js";
import { Lasso, ScaleBar } from "./overlay.js";
import { PointStore } from "./store.js";
import { WebGLPicture } from "./webgl.js";

const ALERTS_KEPT = 100;
const REACH_PIXELS = 14;
const MEASURE_MS = 1000;
const FOLLOW_MS = 200;
/** Colours of marks, which the style sheet names. */
const TONES = ["ink", "paper", "alarm", "grew", "shrank"];
/** Share of a stream's points on each side that may be out of view, so that one outlier does not shrink the map. */
const STRAGGLERS = 0.002;

export class MapView extends EventTarget {
  /** @param {boolean} live true if points keep arriving: old ones fade, and a trail shows the last ones */
  constructor(live) {
    super();
    this.camera = new Camera();
    this.landmarks = new LandmarkHistory();
    this.live = live;
    this.fade = live ? 0.7 : 0;
    this.store = null;
    this.columns = [];
    this.alerts = [];
    /** What changed last: a report, and the places and log ratios of cells; null before. */
    this.change = null;
    /** Number of latest arrivals that the time slider hides. */
    this.back = 0;
    this.hovered = this.lasso = null;
    this.selected = 0;
    this.showTrail = live;
    this.showLandmarks = true;
    this.dark = false;
    this.chosen = null;
    this.points = element("canvas", { className: "points" });
    this.scaleBar = new ScaleBar();
    this.lassoShape = new Lasso();
    const over = [this.scaleBar.element, this.lassoShape.element];
    this.element = element("div", { className: "map", tabIndex: 0, role: "application" }, this.points, ...over);
    try {
      this.renderer = new WebGLPicture(this.points, () => this.redraw());
    } catch {
      this.points.replaceWith((this.points = element("canvas", { className: "points" })));
      this.renderer = new CanvasPicture(this.points);
    }
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.describe();
  }

  // --- messages ---

  /** Apply a message decoded by protocol.js. */
  receive({ header, arrays }) {
    const now = performance.now();
    const continued = header.kind === "whole" && this.isContinuedBy(header, arrays);
    if (header.kind === "whole" && !continued) this.begin(header);
    header.names?.forEach((names, j) => {
      if (this.columns[j]) this.columns[j].names = names;
    });
    if (!this.store) return;
    const { store } = this;
    const values = this.columns.map((_, j) => arrays[`v${j}`]);
    if (arrays.moved_x) store.move(header.oldest, arrays.moved_x, arrays.moved_y, now);
    if (continued) store.move(header.first, arrays.x, arrays.y, now);
    if (arrays.x) {
      store.append(header.first, arrays.x, arrays.y, values, arrays.nearest);
      if (header.kind === "whole") this.recolour();
      else this.coloring.apply(store, Math.max(store.oldest, header.first));
      this.measuring ??= setTimeout(() => this.recolour(), MEASURE_MS);
    }
    if (arrays.landmark) {
      const { landmark, landmark_x: x, landmark_y: y, mass } = arrays;
      this.landmarks.add(new LandmarkSet(landmark, x, y, mass, store.next), now);
    }
    if (header.change) this.change = { report: header.change, x: [], y: [], ratio: [] };
    if (arrays.change) Object.assign(this.change, { x: arrays.change_x, y: arrays.change_y, ratio: arrays.change });
    this.alerts = [...(continued ? [] : this.alerts), ...header.alerts].slice(-ALERTS_KEPT);
    if (this.hovered !== null && !store.has(this.hovered)) this.hover(null);
    this.bounds = store.box(this.live ? STRAGGLERS : 0);
    if (header.kind === "whole" && this.camera.auto) this.camera.fit(this.bounds);
    this.describe();
    this.redraw();
    this.emit("received", { header, arrays });
  }

  /** True if a whole scene continues the one shown, so that its points glide. */
  isContinuedBy({ title, capacity, columns, first }, { x }) {
    const { store } = this;
    const names = (list) => JSON.stringify(list.map(({ name, kind }) => [name, kind]));
    const same = store && this.title === title && store.capacity === capacity && names(this.columns) === names(columns);
    return Boolean(same) && first >= store.oldest && first <= store.next && first + x.length >= store.next;
  }

  /** Start over with a whole scene; the user's choice of colour and view stays. */
  begin(header) {
    this.columns = header.columns;
    this.title = header.title;
    this.store = new PointStore(header.capacity, header.columns.length);
    this.store.oldest = this.store.next = header.first;
    this.landmarks = new LandmarkHistory();
    this.alerts = [];
    this.change = null;
    this.back = this.selected = 0;
    this.hover(null);
    this.emit("begun", {});
    this.colourBy(this.chosen ?? header.color);
  }

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  // --- what is shown ---

  /** Colour by the column with this name; null: by arrival. */
  colourBy(name) {
    const j = this.columns.findIndex((column) => column.name === name);
    this.coloring = j < 0 ? new Coloring(null, null) : new Coloring(this.columns[j], this.store.values[j]);
    this.recolour();
  }

  recolour() {
    if (!this.store) return;
    clearTimeout(this.measuring);
    this.measuring = undefined;
    this.coloring.measure(this.store);
    this.coloring.apply(this.store);
    this.palette = paletteOf(this.coloring, this.dark);
    this.emit("coloured", {});
    this.redraw();
  }

  setDark(dark) {
    this.dark = dark;
    this.recolour();
    this.redraw();
  }

  /** Show the map without the last `back` arrivals. */
  goBack(back) {
    this.back = Math.max(0, Math.min(back, (this.store?.count ?? 1) - 1));
    this.hover(null);
    this.emit("went", {});
    this.redraw();
  }

  landmarksShown() {
    return this.back ? this.landmarks.at(this.store.next - this.back) : this.landmarks.latest;
  }

  /** The landmark nearest to a row; if that is unknown, the nearest one on the map. */
  nearestLandmark(arrival, now) {
    const set = this.landmarksShown();
    const id = this.store.nearest[this.store.slot(arrival)];
    const known = set.ids.indexOf(id);
    if (known >= 0) return { id, mass: set.mass[known], position: set.position(known, now) };
    if (id >= 0) return null;
    const at = this.store.position(arrival, now);
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < set.ids.length; i++) {
      const place = set.position(i, now);
      const distance = Math.hypot(place[0] - at[0], place[1] - at[1]);
      if (distance < least) [best, least] = [i, distance];
    }
    return best < 0 ? null : { id: set.ids[best], mass: set.mass[best], position: set.position(best, now) };
  }

  /** The arrival drawn nearest to a point of the screen, or null if none is close. */
  pick(at) {
    if (!this.store) return null;
    const now = performance.now();
    let [best, least] = [null, REACH_PIXELS];
    for (let arrival = this.store.oldest; arrival < this.store.next - this.back; arrival++) {
      const [x, y] = this.camera.toScreen(this.store.position(arrival, now));
      const distance = Math.hypot(x - at[0], y - at[1]);
      if (distance <= least) [best, least] = [arrival, distance];
    }
    return best;
  }

  hover(arrival) {
    if (arrival === this.hovered) return;
    this.hovered = arrival;
    this.emit("hovered", {});
    this.redraw();
  }

  /** Select the rows drawn inside a polygon on the screen; null clears the selection. */
  select(polygon) {
    const { store } = this;
    if (!store) return;
    const now = performance.now();
    this.selected = 0;
    for (let arrival = store.oldest; arrival < store.next; arrival++) {
      const shown = polygon && arrival < store.next - this.back;
      const inside = shown && isInside(this.camera.toScreen(store.position(arrival, now)), polygon);
      store.look[2 * store.slot(arrival) + 1] = inside ? 255 : 0;
      if (inside) this.selected++;
    }
    store.touch(store.oldest, store.next);
    this.emit("selected", {});
    this.redraw();
  }

  /** The selected arrivals. */
  selection() {
    const { store } = this;
    const all = Array.from({ length: store?.count ?? 0 }, (_, i) => store.oldest + i);
    return all.filter((arrival) => store.look[2 * store.slot(arrival) + 1]);
  }

  /** Update the description for screen readers. */
  describe() {
    const n = (this.store?.count ?? 0).toLocaleString("en");
    const label = `Map of ${n} rows with ${this.landmarks.latest.ids.length} landmarks. Arrow keys move it, plus and minus zoom, N and P go from row to row.`;
    this.element.setAttribute("aria-label", label);
  }

  // --- drawing ---

  resize() {
    const { width, height } = this.element.getBoundingClientRect();
    const first = this.camera.width === 1;
    [this.camera.width, this.camera.height] = [Math.max(1, width), Math.max(1, height)];
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.points.width = Math.max(1, Math.round(width * this.ratio));
    this.points.height = Math.max(1, Math.round(height * this.ratio));
    if (this.store && (first || this.camera.auto)) this.camera.fit(this.bounds);
    this.draw(performance.now()); // immediately: resizing clears a canvas
  }

  /** Request a redraw; several requests before the next frame are merged. */
  redraw() {
    this.scheduled ??= requestAnimationFrame((now) => {
      this.scheduled = undefined;
      this.draw(now);
      this.emit("drawn", {});
    });
  }

  draw(now) {
    if (!this.store || !this.ratio) return;
    const { store, camera } = this;
    if (camera.auto) this.follow(now);
    const style = getComputedStyle(this.element);
    const tone = (name) => parseColour(style.getPropertyValue(`--${name}`).trim().slice(1));
    const tones = Object.fromEntries(TONES.map((name) => [name, tone(name)]));
    const look = {
      palette: this.palette, ...tones,
      byAge: !this.coloring.column,
      fade: this.fade,
      size: Math.min(8, Math.max(3, 300 / Math.sqrt(store.count))),
      back: this.back,
      selecting: this.selected > 0,
    };
    this.renderer.draw(store, camera, look, marksOf(this, now), now, this.ratio);
    this.scaleBar.show(camera);
    this.lassoShape.show(this.lasso);
    if (store.blend(now) < 1 || this.landmarks.latest.blend(now) < 1) this.redraw();
  }

  /** Move the camera smoothly to keep the points in view. */
  follow(now) {
    const { camera } = this;
    const before = [camera.x, camera.y, camera.scale];
    camera.fit(this.bounds, 1 - Math.exp(-Math.min(1000, now - (this.followed ?? now)) / FOLLOW_MS));
    this.followed = now;
    const moved = Math.hypot(camera.x - before[0], camera.y - before[1]) * camera.scale;
    if (moved > 0.3 || Math.abs(Math.log(camera.scale / before[2])) > 1e-3) this.redraw();
  }
}

/** True if a point is inside a polygon: a ray from it crosses the border an odd number of times. */
function isInside([x, y], polygon) {
  let inside = false;
  polygon.forEach(([ax, ay], i) => {
    const [bx, by] = polygon[(i || polygon.length) - 1];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  });
  return inside;
}
