/** The points on the map: a ring buffer of the last arrivals, with their previous and target positions. */

/** Milliseconds of a glide; shorter if the user prefers reduced motion. */
export const glide = { ms: matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 500 };
const SAMPLED = 4000;
/** Share of the points on each side that may be outliers, and at least how many of at least how many points. */
const [OUTLIERS, FEW_OUTLIERS, FEW] = [0.01, 2, 20];

export class PointStore {
  /** @param {number} capacity maximum number of points  @param {number} nColumns number of values per point */
  constructor(capacity, nColumns) {
    this.capacity = capacity;
    this.from = new Float32Array(2 * capacity);
    this.to = new Float32Array(2 * capacity);
    this.values = Array.from({ length: nColumns }, () => new Float32Array(capacity));
    this.nearest = new Float64Array(capacity).fill(NaN);
    /** Two bytes per point for the renderer: its palette index, and 255 if it is selected. */
    this.look = new Uint8Array(2 * capacity);
    this.oldest = 0;
    this.next = 0;
    this.glideStart = -Infinity;
    /** Ranges of slots [start, stop) to upload again. */
    this.changed = [[0, capacity]];
  }

  get count() {
    return this.next - this.oldest;
  }

  slot(arrival) {
    return arrival % this.capacity;
  }

  has(arrival) {
    return arrival >= this.oldest && arrival < this.next;
  }

  /** Add arrivals numbered from `first`. Known ones keep their position; after a gap, older ones are dropped. */
  append(first, x, y, values, nearest) {
    if (first < this.oldest || first > this.next) this.oldest = this.next = first;
    for (let i = 0; i < x.length; i++) {
      const slot = this.slot(first + i);
      if (first + i >= this.next) {
        this.from[2 * slot] = this.to[2 * slot] = x[i];
        this.from[2 * slot + 1] = this.to[2 * slot + 1] = y[i];
        this.look[2 * slot + 1] = 0;
      }
      values.forEach((column, j) => (this.values[j][slot] = column[i]));
      this.nearest[slot] = nearest ? nearest[i] : NaN;
    }
    this.next = first + x.length;
    this.oldest = Math.max(this.oldest, this.next - this.capacity);
    this.touch(Math.max(first, this.oldest), this.next);
  }

  /** Set new target positions from arrival `first` on; points glide there from where they are drawn now. */
  move(first, x, y, now) {
    const blend = this.blend(now);
    for (let i = 0; i < this.from.length; i++) this.from[i] += blend * (this.to[i] - this.from[i]);
    for (let i = 0; i < x.length; i++) {
      if (!this.has(first + i)) continue;
      const slot = this.slot(first + i);
      this.to[2 * slot] = x[i];
      this.to[2 * slot + 1] = y[i];
    }
    this.glideStart = now;
    this.changed = [[0, this.capacity]];
  }

  /** Progress of the glide from 0 to 1, eased at both ends. */
  blend(now) {
    const t = Math.min(1, Math.max(0, (now - this.glideStart) / glide.ms));
    return t * t * (3 - 2 * t);
  }

  position(arrival, now) {
    const i = 2 * this.slot(arrival);
    const blend = this.blend(now);
    return [this.from[i] + blend * (this.to[i] - this.from[i]), this.from[i + 1] + blend * (this.to[i + 1] - this.from[i + 1])];
  }

  /** Bounds of the target positions, [left, bottom, right, top]; unless `all`, without outliers, as in plot/limits.py. */
  box(all) {
    const cores = [0, 1].map((axis) => this.core(axis));
    const far = all ? Infinity : Math.max(...cores.map(([low, high]) => high - low)) || Infinity;
    const [[left, right], [bottom, top]] = cores.map(([low, high], axis) => this.extent(axis, low - far, high + far));
    return [left, bottom, right, top];
  }

  /** The interval of an axis without the outermost points of each side, which may be outliers. */
  core(axis) {
    const step = Math.max(1, Math.floor(this.count / SAMPLED));
    const sample = new Float32Array(Math.ceil(this.count / step));
    for (let i = 0; i < sample.length; i++) sample[i] = this.to[2 * this.slot(this.oldest + i * step) + axis];
    sample.sort();
    const out = sample.length < FEW ? 0 : Math.max(FEW_OUTLIERS, Math.floor(OUTLIERS * sample.length));
    return [sample[out], sample[sample.length - 1 - out]];
  }

  /** The smallest and the largest position from `low` to `high`. */
  extent(axis, low, high) {
    let [least, most] = [Infinity, -Infinity];
    for (let arrival = this.oldest; arrival < this.next; arrival++) {
      const x = this.to[2 * this.slot(arrival) + axis];
      if (x < least && x >= low) least = x;
      if (x > most && x <= high) most = x;
    }
    return this.count ? [least, most] : [0, 0];
  }

  /** Mark the slots of these arrivals for upload. */
  touch(first, stop) {
    if (stop <= first) return;
    const [a, b] = [this.slot(first), this.slot(stop - 1) + 1];
    if (stop - first >= this.capacity) this.changed = [[0, this.capacity]];
    else if (a < b) this.changed.push([a, b]);
    else this.changed.push([a, this.capacity], [0, b]);
  }
}
