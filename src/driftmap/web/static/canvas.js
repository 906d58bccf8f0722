/** Renders with a plain canvas if WebGL 2 is unavailable: squares instead of dots, and slower. */

import { cssColour, HIDDEN_SHADE } from "./colours.js";
import { DIAMOND, LINE, RING } from "./marks.js";

export class CanvasPicture {
  constructor(canvas) {
    this.canvas = canvas;
    // Without WebGL a graphics card is unlikely; drawing on the CPU is faster than emulating one.
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
      const shade = look.byAge ? Math.floor(250 * (1 - old)) : store.look[2 * slot];
      if (shade === HIDDEN_SHADE) continue;
      context.globalAlpha = look.selecting && !store.look[2 * slot + 1] ? 0.12 : look.crowding ? 0.6 : 1;
      context.fillStyle = colours[shade];
      const size = look.size * (1 - look.shrink * old);
      context.fillRect(x - size / 2, y - size / 2, size, size);
    }
    store.changed = [];
    for (const mark of marks) this.drawMark(mark, look);
    context.globalAlpha = 1;
  }

  drawMark({ shape, from: [x, y], to, radius, width, colour, alpha }, look) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = cssColour(look[colour] ?? colour);
    context.fillStyle = cssColour(look.paper);
    context.lineWidth = width;
    context.beginPath();
    const corners = shape === LINE ? [[x, y], to] : [[x, y - radius], [x + radius, y], [x, y + radius], [x - radius, y], [x, y - radius]];
    if (shape !== RING) for (const corner of corners) context.lineTo(...corner);
    else context.arc(x, y, radius, 0, 2 * Math.PI);
    if (shape === DIAMOND) context.fill();
    context.stroke();
  }
}
