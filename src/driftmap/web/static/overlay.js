/** Elements over the canvas that change rarely: a scale bar, and the lasso during drawing. */

import { element, formatNumber, svg } from "./dom.js";

/** A bar of a round length. Distances on the map approximate distances between rows. */
export class ScaleBar {
  element = element("div", { className: "scale" });
  shown = "";

  show(camera) {
    const wanted = 110 / camera.scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const length = [5, 2, 1].find((factor) => factor * power <= wanted) * power;
    const [text, width] = [String(Number(length.toPrecision(1))), `${Math.round(length * camera.scale)}px`];
    if (this.shown === text + width) return; // drawing text takes as long as drawing the map
    this.shown = text + width;
    this.element.textContent = text;
    this.element.style.width = width;
  }
}

export class Lasso {
  polygon = svg("polygon");
  element = svg("svg", { class: "lasso", hidden: "" }, this.polygon);

  /** @param {number[][]|null} corners */
  show(corners) {
    this.element.toggleAttribute("hidden", !corners);
    if (corners) this.polygon.setAttribute("points", corners.map((corner) => corner.join(",")).join(" "));
  }
}

/** How many rows are outside the view, with a button to show them. */
export class OutsideCount {
  constructor(showAll) {
    // A press on the map would take the pointer from the button.
    this.element = element("button", { className: "outside", hidden: true, onclick: showAll, onpointerdown: (event) => event.stopPropagation() });
  }

  show(count) {
    const text = count ? `${formatNumber(count)} ${count === 1 ? "row" : "rows"} outside · show` : "";
    if (this.element.textContent === text) return;
    this.element.textContent = text;
    this.element.hidden = !count;
  }
}
