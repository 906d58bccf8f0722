/** The current landmarks, which glide to new positions, and earlier ones for the time slider. */

import { glide } from "./store.js";

const SETS_KEPT = 200;

/** The landmarks of one moment. */
export class LandmarkSet {
  constructor(ids, x, y, mass, next) {
    Object.assign(this, { ids, x, y, mass, next, fromX: x, fromY: y, start: -Infinity });
  }

  blend(now) {
    const t = Math.min(1, Math.max(0, (now - this.start) / glide.ms));
    return t * t * (3 - 2 * t);
  }

  position(i, now) {
    const blend = this.blend(now);
    return [this.fromX[i] + blend * (this.x[i] - this.fromX[i]), this.fromY[i] + blend * (this.y[i] - this.fromY[i])];
  }

  /** Let known landmarks glide from where they are drawn now; if none has moved, continue the glide in progress. */
  glideFrom(earlier, now) {
    const known = new Map(Array.from(earlier.ids, (id, i) => [id, i]));
    const pairs = Array.from(this.ids, (id, i) => [i, known.get(id)]).filter(([, j]) => j !== undefined);
    const moved = pairs.some(([i, j]) => this.x[i] !== earlier.x[j] || this.y[i] !== earlier.y[j]);
    [this.fromX, this.fromY] = [Float32Array.from(this.x), Float32Array.from(this.y)];
    for (const [i, j] of pairs) {
      [this.fromX[i], this.fromY[i]] = moved ? earlier.position(j, now) : [earlier.fromX[j], earlier.fromY[j]];
    }
    this.start = moved ? now : earlier.start;
  }

  /** This set without landmarks that arrived later. */
  before(next) {
    const known = Array.from(this.ids.keys()).filter((i) => this.ids[i] < next);
    const part = (array) => known.map((i) => array[i]);
    return new LandmarkSet(part(this.ids), part(this.x), part(this.y), part(this.mass), next);
  }
}

export class LandmarkHistory {
  sets = [];

  get latest() {
    return this.sets[this.sets.length - 1] ?? new LandmarkSet([], [], [], [], 0);
  }

  add(set, now) {
    if (this.sets.length) set.glideFrom(this.latest, now);
    this.sets.push(set);
    if (this.sets.length > SETS_KEPT) this.sets.splice(1, 1);
  }

  /** The landmarks after `next` arrivals, or the earliest ones kept. */
  at(next) {
    const earlier = this.sets.filter((set) => set.next <= next);
    return earlier.length ? earlier[earlier.length - 1] : (this.sets[0] ?? this.latest).before(next);
  }
}
