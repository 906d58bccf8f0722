/** The map: receives messages, holds the content, and redraws it after changes. */

import { Camera } from "./camera.js";
import { CanvasPicture } from "./canvas.js";
import { Coloring, HIDDEN_SHADE, paletteOf, parseColour } from "./colours.js";
import { element } from "./dom.js";
import { LandmarkHistory, LandmarkSet } from "./landmarks.js";
import { marksOf } from "./marks.js";
import { Lasso, OutsideCount, ScaleBar } from "./overlay.js";
import { glide, PointStore } from "./store.js";
import { WebGLPicture } from "./webgl.js";

const [ALERTS_KEPT, REACH_PIXELS, MEASURE_MS, FOLLOW_MS] = [100, 14, 1000, glide.ms > 1 ? 200 : 1];
/** Groups that have trails, at most; more points than MOST_DOTS are drawn as a density. */
const [MOST_TRAILS, MOST_DOTS] = [12, 20000];
/** Milliseconds between descriptions of the map for screen readers. */
const DESCRIBED_MS = 5000;

export class MapView extends EventTarget {
  /** @param {boolean} live true if points keep arriving: old ones shrink, and a trail shows where they come from */
  constructor(live) {
    super();
    this.camera = new Camera();
    this.landmarks = new LandmarkHistory();
    this.live = live;
    /** By how much the oldest points are smaller. */
    this.shrink = live ? 0.5 : 0;
    this.store = this.hovered = this.lasso = this.chosen = null;
    [this.columns, this.alerts, this.alertCount, this.selected] = [[], [], 0, 0];
    /** What changed last: a report, and the places and log ratios of cells; null before. */
    this.change = null;
    /** When and why the map moved last. */
    this.moved = null;
    /** The alerts that are listed and ringed: those of this kind ("": all), in this order (see alerts.js). */
    [this.alertKind, this.alertOrder] = ["", "latest"];
    /** Arrivals outside the bounds of the view, while it follows the others. */
    this.outside = [];
    /** Number of latest arrivals that the time slider hides. */
    this.back = 0;
    [this.showTrail, this.showLandmarks, this.showRings, this.showAll, this.dark] = [live, true, true, false, false];
    this.points = element("canvas", { className: "points" });
    this.scaleBar = new ScaleBar();
    this.lassoShape = new Lasso();
    this.outsideCount = new OutsideCount(() => this.fit(true));
    const over = [this.scaleBar.element, this.lassoShape.element, this.outsideCount.element];
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
    this.moved = header.moved ?? this.moved;
    if (header.change) this.change = { report: header.change, x: arrays.change_x, y: arrays.change_y, ratio: arrays.change };
    const alerts = header.alerts.map((alert, i) => ({ ...alert, number: (continued ? 0 : this.alertCount) + i }));
    this.alerts = [...(continued ? [] : this.alerts), ...alerts].slice(-ALERTS_KEPT);
    this.alertCount = this.alerts.length ? this.alerts.at(-1).number + 1 : 0;
    if (this.hovered !== null && !store.has(this.hovered)) this.hover(null);
    this.measureBounds();
    if (header.kind === "whole" && this.camera.auto) this.camera.fit(this.bounds);
    this.describing ??= setTimeout(() => this.describe(), DESCRIBED_MS);
    this.redraw();
    this.emit("received", { header, arrays });
  }

  /** Find the bounds that the view shows, and the rows outside them. */
  measureBounds() {
    const { store } = this;
    const bounds = (this.bounds = store.box(this.showAll));
    this.outside = [];
    for (let arrival = store.oldest; arrival < store.next; arrival++) {
      const i = 2 * store.slot(arrival);
      const [x, y] = [store.to[i], store.to[i + 1]];
      if (x < bounds[0] || y < bounds[1] || x > bounds[2] || y > bounds[3]) this.outside.push(arrival);
    }
  }

  /** Show the points, and resume following them; with outliers if `all`. */
  fit(all = false) {
    const { camera, store } = this;
    if (!store) return;
    this.showAll = all;
    this.measureBounds();
    camera.auto = true;
    camera.fit(this.bounds);
    this.redraw();
  }

  /** Centre the map on a row that is still shown, and hover over it. */
  goTo(row) {
    const { store, camera } = this;
    if (!store?.has(row)) return;
    if (row >= store.next - this.back) this.goBack(store.next - 1 - row);
    camera.centre(store.position(row, performance.now()));
    this.hover(row);
    this.redraw();
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
    /** The names of the axes; null: the axis is only for time. */
    this.axes = header.axes ?? ["x1", "x2"];
    this.store = new PointStore(header.capacity, header.columns.length);
    this.store.oldest = this.store.next = header.first;
    this.landmarks = new LandmarkHistory();
    this.alerts = [];
    this.change = this.moved = null;
    this.alertCount = this.back = this.selected = 0;
    this.showAll = header.limits === "all";
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

  /** Show a group alone or, if it is alone, all groups again; with `hide`, hide or show that group only. */
  toggleGroup(name, hide) {
    const { hidden, groups } = this.coloring;
    const isAlone = hidden.size === groups.length - 1 && !hidden.has(name);
    if (hide && !hidden.delete(name)) hidden.add(name);
    if (!hide) this.coloring.hidden = new Set(isAlone ? [] : groups.filter((other) => other !== name));
    this.recolour();
  }

  /** True if the trails of the groups are distinguishable. */
  mayTrail() {
    return (this.coloring?.groups?.length ?? 1) <= MOST_TRAILS;
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

  /** True if a row may be pointed at and selected. */
  isShown(arrival) {
    return arrival < this.store.next - this.back && this.store.look[2 * this.store.slot(arrival)] !== HIDDEN_SHADE;
  }

  /** The arrival drawn nearest to a point of the screen, or null if none is within `reach` pixels. */
  pick(at, reach = REACH_PIXELS) {
    if (!this.store) return null;
    const { store, camera } = this;
    const { from, to } = store;
    const blend = store.blend(performance.now());
    const [x, y] = camera.toMap(at);
    let [best, least] = [null, (reach / camera.scale) ** 2];
    for (let arrival = store.oldest; arrival < store.next - this.back; arrival++) {
      const i = 2 * store.slot(arrival); // without arrays for positions, of which there would be 100,000
      const [dx, dy] = [from[i] + blend * (to[i] - from[i]) - x, from[i + 1] + blend * (to[i + 1] - from[i + 1]) - y];
      const distance = dx * dx + dy * dy;
      if (distance <= least && this.isShown(arrival)) [best, least] = [arrival, distance];
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
    const { store, camera } = this;
    if (!store) return;
    const now = performance.now();
    this.mark((arrival) => polygon && this.isShown(arrival) && isInside(camera.toScreen(store.position(arrival, now)), polygon));
    this.emit("chosen", {});
  }

  /** Select rows by arrival number. */
  selectRows(arrivals) {
    const wanted = new Set(arrivals);
    if (this.store) this.mark((arrival) => wanted.has(arrival));
  }

  mark(isSelected) {
    const { store } = this;
    this.selected = 0;
    for (let arrival = store.oldest; arrival < store.next; arrival++) {
      const chosen = Boolean(isSelected(arrival));
      store.look[2 * store.slot(arrival) + 1] = chosen ? 255 : 0;
      this.selected += chosen;
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
    this.describing = undefined;
    const n = (this.store?.count ?? 0).toLocaleString("en");
    const label = `Map of ${n} rows with ${this.landmarks.latest.ids.length} landmarks. Arrow keys move it, plus and minus zoom, N and P go from row to row, question mark lists all keys.`;
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
    const [ink, paper, alarm] = ["--ink", "--paper", "--alarm"].map((name) => parseColour(style.getPropertyValue(name).trim().slice(1)));
    const look = {
      palette: this.palette, ink, paper, alarm,
      byAge: !this.coloring.column,
      shrink: this.shrink,
      ...this.dots(),
      back: this.back,
      selecting: this.selected > 0,
    };
    this.renderer.draw(store, camera, look, marksOf(this, now), now, this.ratio);
    this.scaleBar.show(camera);
    this.lassoShape.show(this.lasso);
    this.outsideCount.show(camera.auto ? this.outside.length : 0);
    if (store.blend(now) < 1 || this.landmarks.latest.blend(now) < 1) this.redraw();
  }

  /** The size of points, which follows the zoom; and how many lie over each other if they are drawn as a density. */
  dots() {
    const { store, camera, bounds } = this;
    const zoom = Math.sqrt(camera.scale / camera.fitting(bounds));
    const size = Math.min(16, Math.max(2, Math.min(8, Math.max(3, 300 / Math.sqrt(store.count))) * zoom));
    const area = (bounds[2] - bounds[0]) * (bounds[3] - bounds[1]) * camera.scale ** 2;
    return { size, crowding: store.count > MOST_DOTS ? (store.count * size * size) / Math.max(1, area) : 0 };
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
