/** Elements over the picture, which change rarely: a scale bar, and the lasso while it is drawn. */

import { element, svg } from "./dom.js";

/** A bar of a round length: distances on the map are distances of the data, as far as the map is true. */
export class ScaleBar {
  constructor() {
    this.element = element("div", { className: "scale" });
    this.shown = "";
  }

  show(camera) {
    const wanted = 110 / camera.scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const length = [5, 2, 1].find((factor) => factor * power <= wanted) * power;
    const [text, width] = [String(Number(length.toPrecision(1))), `${Math.round(length * camera.scale)}px`];
    if (this.shown === text + width) return; // text costs as much to draw as the map
    this.shown = text + width;
    this.element.textContent = text;
    this.element.style.width = width;
  }
}

export class Lasso {
  constructor() {
    this.polygon = svg("polygon");
    this.element = svg("svg", { class: "lasso" }, this.polygon);
    this.show(null);
  }

  /** @param {number[][]|null} corners */
  show(corners) {
    this.element.toggleAttribute("hidden", !corners);
    if (corners) this.polygon.setAttribute("points", corners.map((corner) => corner.join(",")).join(" "));
  }
}
