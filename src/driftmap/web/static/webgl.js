/** Renders with WebGL 2: points, as dots or as a density, and marks over them. */

import { LEAST_OPACITY, WebGLDensity } from "./webgl_density.js";
import { WebGLMarks } from "./webgl_marks.js";
import { WebGLPoints } from "./webgl_points.js";

export class WebGLPicture {
  /** @param {HTMLCanvasElement} canvas  @param {() => void} redraw called when a lost context is restored */
  constructor(canvas, redraw) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    if (!this.gl) throw new Error("there is no WebGL 2");
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.build();
      redraw();
    });
    this.build();
  }

  /** Create the resources of the context, initially and after it was lost. */
  build() {
    const { gl } = this;
    this.points = new WebGLPoints(gl);
    this.marks = new WebGLMarks(gl);
    this.density = new WebGLDensity(gl);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** @param {{palette, ink, paper, alarm, byAge, shrink, size, crowding, back, selecting}} look  @param marks see marks.js */
  draw(store, camera, look, marks, now, ratio) {
    const { gl } = this;
    if (gl.isContextLost()) return;
    const { width, height } = this.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(...look.paper.map((c) => c / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const draw = (opacity = 1) => this.points.draw(store, camera, look, now, ratio, opacity);
    // While points glide, translucent dots do: without a graphics card, a density takes half as long again.
    if (!look.crowding || look.selecting) draw();
    else if (store.blend(now) < 1 || !this.density.supported) draw(LEAST_OPACITY);
    else this.density.draw(draw, look, width, height);
    this.marks.draw(marks, look, width, height, ratio);
  }
}
