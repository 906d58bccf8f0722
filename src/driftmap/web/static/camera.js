/** Which part of the map is shown: a centre, and pixels per unit of distance, the same in both directions. */

export class Camera {
  constructor() {
    this.x = this.y = 0;
    this.scale = 1;
    this.width = this.height = 1;
    /** Whether it follows the points; not after the user has moved it. */
    this.auto = true;
  }

  toScreen([x, y]) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toMap([px, py]) {
    return [this.x + (px - this.width / 2) / this.scale, this.y - (py - this.height / 2) / this.scale];
  }

  /** Show a whole rectangle, a part of the way at a time. */
  fit([left, bottom, right, top], part = 1) {
    if (!(right >= left && top >= bottom)) return;
    const fit = Math.min(this.width / (right - left || 1e-9), this.height / (top - bottom || 1e-9));
    const scale = right === left && top === bottom ? this.height / 2 : 0.9 * fit;
    this.x += part * ((left + right) / 2 - this.x);
    this.y += part * ((bottom + top) / 2 - this.y);
    this.scale *= (scale / this.scale) ** part;
  }

  pan(dx, dy) {
    this.auto = false;
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
  }

  /** Enlarge around a place on the screen, which stays where it is. */
  zoom(factor, at = [this.width / 2, this.height / 2]) {
    this.auto = false;
    const before = this.toMap(at);
    this.scale = Math.min(1e12, Math.max(1e-12, this.scale * factor));
    const after = this.toMap(at);
    this.x += before[0] - after[0];
    this.y += before[1] - after[1];
  }
}
