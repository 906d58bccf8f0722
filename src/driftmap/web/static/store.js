/** The points on the map: a ring buffer of the last arrivals, each with where it was and where it goes. */

export const GLIDE_MS = 500;
const SAMPLED = 4000;

export class PointStore {
  /**
   * @param {number} capacity the most points
   * @param {number} nColumns values of each point
   */
  constructor(capacity, nColumns) {
    this.capacity = capacity;
    this.from = new Float32Array(2 * capacity);
    this.to = new Float32Array(2 * capacity);
    this.values = Array.from({ length: nColumns }, () => new Float32Array(capacity));
    this.nearest = new Float64Array(capacity).fill(NaN);
    /** Two bytes per point for the renderer: its place in the palette, and whether it is selected. */
    this.look = new Uint8Array(2 * capacity);
    this.oldest = 0;
    this.next = 0;
    this.glideStart = -Infinity;
    /** Ranges of slots [start, stop) that the renderer has not seen. */
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

  /** Arrivals numbered from `first`: those that are known stay in place; after a gap the older ones are forgotten. */
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

  /** Arrivals from `first` on have new places: they glide there from where they are seen now. */
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

  /** How far points have come from their old to their new places, from 0 to 1, slow at both ends. */
  blend(now) {
    const t = Math.min(1, Math.max(0, (now - this.glideStart) / GLIDE_MS));
    return t * t * (3 - 2 * t);
  }

  position(arrival, now) {
    const i = 2 * this.slot(arrival);
    const blend = this.blend(now);
    return [this.from[i] + blend * (this.to[i] - this.from[i]), this.from[i + 1] + blend * (this.to[i + 1] - this.from[i + 1])];
  }

  /** The rectangle of the points where they go, without a share of them on each side: [left, bottom, right, top]. */
  box(share = 0) {
    const step = share ? Math.max(1, Math.floor(this.count / SAMPLED)) : 1;
    const n = Math.ceil(this.count / step);
    const [xs, ys] = [new Float32Array(n), new Float32Array(n)];
    for (let i = 0; i < n; i++) {
      const slot = this.slot(this.oldest + i * step);
      xs[i] = this.to[2 * slot];
      ys[i] = this.to[2 * slot + 1];
    }
    const out = Math.floor(share * n);
    xs.sort();
    ys.sort();
    return n ? [xs[out], ys[out], xs[n - 1 - out], ys[n - 1 - out]] : [0, 0, 0, 0];
  }

  /** The renderer has to look at these arrivals again. */
  touch(first, stop) {
    if (stop <= first) return;
    const [a, b] = [this.slot(first), this.slot(stop - 1) + 1];
    if (stop - first >= this.capacity) this.changed = [[0, this.capacity]];
    else if (a < b) this.changed.push([a, b]);
    else this.changed.push([a, this.capacity], [0, b]);
  }
}
