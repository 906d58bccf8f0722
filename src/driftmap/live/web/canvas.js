/** Points by a plain canvas, where there is no WebGL 2: the same picture, with squares for dots, more slowly. */

import { cssColour } from "./colours.js";

export class CanvasPoints {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  draw(store, camera, look, now, ratio) {
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
  }
}
