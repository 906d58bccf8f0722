/** The visible part of the map: a centre, and pixels per unit of distance, equal in both directions. */

export class Camera {
  x = 0;
  y = 0;
  scale = 1;
  width = 1;
  height = 1;
  /** True while the camera follows the points, until the user moves it. */
  auto = true;

  toScreen([x, y]) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toMap([px, py]) {
    return [this.x + (px - this.width / 2) / this.scale, this.y - (py - this.height / 2) / this.scale];
  }

  /** The scale at which a whole rectangle is in view. */
  fitting([left, bottom, right, top]) {
    if (right === left && top === bottom) return this.height / 2;
    return 0.9 * Math.min(this.width / (right - left || 1e-9), this.height / (top - bottom || 1e-9));
  }

  /** Move towards a view of a whole rectangle; `part` is the fraction of the way. */
  fit(bounds, part = 1) {
    const [left, bottom, right, top] = bounds;
    if (!(right >= left && top >= bottom)) return;
    this.x += part * ((left + right) / 2 - this.x);
    this.y += part * ((bottom + top) / 2 - this.y);
    this.scale *= (this.fitting(bounds) / this.scale) ** part;
  }

  pan(dx, dy) {
    this.auto = false;
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
  }

  /** Move a place of the map to the centre. */
  centre([x, y]) {
    this.auto = false;
    [this.x, this.y] = [x, y];
  }

  /** Zoom around a fixed point of the screen. */
  zoom(factor, at = [this.width / 2, this.height / 2]) {
    this.auto = false;
    const before = this.toMap(at);
    this.scale = Math.min(1e12, Math.max(1e-12, this.scale * factor));
    const after = this.toMap(at);
    this.x += before[0] - after[0];
    this.y += before[1] - after[1];
  }
}
