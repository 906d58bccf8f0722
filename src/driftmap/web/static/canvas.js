/** The picture by a plain canvas, where there is no WebGL 2: the same, with squares for dots, more slowly. */

import { cssColour } from "./colours.js";
import { DIAMOND, LINE } from "./marks.js";

export class CanvasPicture {
  constructor(canvas) {
    this.canvas = canvas;
    // without WebGL there is hardly a graphics card: let the processor draw, not its imitation of one
    this.context = canvas.getContext("2d", { willReadFrequently: true });
  }

  draw(store, camera, look, marks, now, ratio) {
    const { context, canvas } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const colours = look.palette.map(cssColour);
    const shown = Math.max(1, store.count - look.back - 1);
    for (let arrival = store.oldest; arrival < store.next - look.back; arrival++) {
      const slot = store.slot(arrival);
      const old = (store.next - 1 - look.back - arrival) / shown;
      const [x, y] = camera.toScreen(store.position(arrival, now));
      const shade = look.byAge ? Math.floor(254 * (1 - old)) : store.look[2 * slot];
      const selected = store.look[2 * slot + 1];
      context.globalAlpha = look.selecting ? (selected ? 1 : 0.12) : 1 - look.fade * old;
      context.fillStyle = colours[shade];
      context.fillRect(x - look.size / 2, y - look.size / 2, look.size, look.size);
    }
    store.changed = [];
    for (const mark of marks) this.drawMark(mark, look);
    context.globalAlpha = 1;
  }

  drawMark({ shape, from: [x, y], to, radius, width, colour, alpha }, look) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = cssColour(look[colour]);
    context.fillStyle = cssColour(look.paper);
    context.lineWidth = width;
    context.beginPath();
    if (shape === LINE) {
      context.moveTo(x, y);
      context.lineTo(...to);
    } else if (shape === DIAMOND) {
      context.moveTo(x, y - radius);
      context.lineTo(x + radius, y);
      context.lineTo(x, y + radius);
      context.lineTo(x - radius, y);
      context.closePath();
      context.fill();
    } else context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}
