/** What lies over the points: landmarks as diamonds, the trail, marks of alerts and of the pointer, the lasso, a scale bar. */

const TRAIL = 60;

export class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  /** @param view the map that is drawn; see view.js */
  draw(view, now, ratio) {
    const { context, canvas } = this;
    const style = getComputedStyle(canvas);
    this.ink = style.getPropertyValue("--ink");
    this.paper = style.getPropertyValue("--paper");
    this.alarm = style.getPropertyValue("--alarm");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (view.store) {
      if (view.showTrail) this.drawTrail(view, now);
      if (view.showLandmarks) this.drawLandmarks(view, now);
      this.drawAlerts(view, now);
      this.drawHover(view, now);
      this.drawScale(view.camera);
    }
    this.drawLasso(view.lasso);
  }

  /** Lines from each of the last arrivals to the one before it, of its group if groups are coloured. */
  drawTrail({ store, camera, back, coloring }, now) {
    const { context } = this;
    const stop = store.next - back;
    const last = new Map();
    context.strokeStyle = this.ink;
    context.lineWidth = 1;
    for (let arrival = Math.max(store.oldest, stop - TRAIL); arrival < stop; arrival++) {
      const group = coloring.kind === "category" ? coloring.values[store.slot(arrival)] : 0;
      const place = camera.toScreen(store.position(arrival, now));
      if (last.has(group)) {
        context.globalAlpha = 0.5 * (1 - (stop - arrival) / TRAIL);
        context.beginPath();
        context.moveTo(...last.get(group));
        context.lineTo(...place);
        context.stroke();
      }
      last.set(group, place);
    }
    context.globalAlpha = 1;
  }

  /** Diamonds whose area is the landmark's mass. */
  drawLandmarks(view, now) {
    const { context } = this;
    const set = view.landmarksShown();
    let mean = 0;
    for (const mass of set.mass) mean += mass / set.mass.length;
    context.lineWidth = 1.1;
    context.strokeStyle = this.ink;
    context.fillStyle = this.paper;
    context.globalAlpha = 0.9;
    context.beginPath();
    for (let i = 0; i < set.ids.length; i++) {
      const [x, y] = view.camera.toScreen(set.position(i, now));
      const r = Math.min(11, Math.max(2.5, 4 * Math.sqrt(set.mass[i] / (mean || 1))));
      context.moveTo(x, y - r);
      context.lineTo(x + r, y);
      context.lineTo(x, y + r);
      context.lineTo(x - r, y);
      context.closePath();
    }
    context.fill();
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Rings around rows with an alert, at the border if they are outside of the view. */
  drawAlerts({ store, camera, alerts, back }, now) {
    const { context } = this;
    context.strokeStyle = this.alarm;
    context.lineWidth = 2;
    for (const { row } of alerts) {
      if (!store.has(row) || row >= store.next - back) continue;
      const [x, y] = camera.toScreen(store.position(row, now));
      const [seenX, seenY] = [Math.min(camera.width, Math.max(0, x)), Math.min(camera.height, Math.max(0, y))];
      context.beginPath();
      context.arc(seenX, seenY, 9, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  /** A ring around the row under the pointer, and a line to its nearest landmark. */
  drawHover(view, now) {
    const { context } = this;
    if (view.hovered === null || !view.store.has(view.hovered)) return;
    const at = view.camera.toScreen(view.store.position(view.hovered, now));
    context.strokeStyle = this.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    const landmark = view.nearestLandmark(view.hovered, now);
    if (landmark) {
      context.moveTo(...at);
      context.lineTo(...view.camera.toScreen(landmark.position));
    }
    context.stroke();
    context.beginPath();
    context.arc(...at, 7, 0, 2 * Math.PI);
    context.stroke();
  }

  drawLasso(lasso) {
    const { context } = this;
    if (!lasso || lasso.length < 2) return;
    context.beginPath();
    lasso.forEach((point, i) => (i ? context.lineTo(...point) : context.moveTo(...point)));
    context.closePath();
    context.globalAlpha = 0.12;
    context.fillStyle = this.ink;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = this.ink;
    context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
  }

  /** A bar of a round length: distances on the map are distances of the data, as far as the map is true. */
  drawScale(camera) {
    const { context } = this;
    const wanted = 110 / camera.scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const length = [5, 2, 1].find((factor) => factor * power <= wanted) * power;
    const [x, y] = [14, camera.height - 16];
    context.strokeStyle = context.fillStyle = this.ink;
    context.globalAlpha = 0.75;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x, y);
    context.lineTo(x + length * camera.scale, y);
    context.lineTo(x + length * camera.scale, y - 4);
    context.stroke();
    context.font = "12px system-ui, sans-serif";
    context.fillText(String(Number(length.toPrecision(1))), x + 2, y - 8);
    context.globalAlpha = 1;
  }
}
