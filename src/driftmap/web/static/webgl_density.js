/** Draws many points as a density: adds their colours in a texture, and shows the mean colour, more opaque with more points. */

import { buildProgram } from "./program.js";

const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0);
}`;

// The opacity grows with the logarithm of the number of points, as in driftmap/plot/points.py.
const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D sums;
uniform float most, least;
out vec4 pixel;
void main() {
  vec4 sum = texelFetch(sums, ivec2(gl_FragCoord.xy), 0);
  if (sum.a <= 0.0) discard;
  float shade = min(1.0, log(max(1.0, sum.a)) / log(max(2.0, most)));
  float alpha = min(1.0, sum.a) * (least + (1.0 - least) * shade);
  pixel = vec4(sum.rgb / sum.a * alpha, alpha);
}`;
/** Opacity of a place with one point. */
export const LEAST_OPACITY = 0.45;
/** The densest place compared with the mean. */
const PEAK = 10;

export class WebGLDensity {
  constructor(gl) {
    this.gl = gl;
    this.supported = Boolean(gl.getExtension("EXT_color_buffer_float") ?? gl.getExtension("EXT_color_buffer_half_float"));
    Object.assign(this, buildProgram(gl, VERTEX, FRAGMENT, [], ["sums", "most", "least"]));
    [this.texture, this.target, this.arrays] = [gl.createTexture(), gl.createFramebuffer(), gl.createVertexArray()];
    this.size = "";
  }

  /** @param {() => void} drawPoints draws the points one by one */
  draw(drawPoints, look, width, height) {
    const { gl, uniforms } = this;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    if (this.size !== `${width} ${height}`) this.resize(width, height);
    gl.activeTexture(gl.TEXTURE0);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.blendFunc(gl.ONE, gl.ONE);
    drawPoints();
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.program);
    gl.bindVertexArray(this.arrays);
    gl.uniform1i(uniforms.sums, 1);
    gl.uniform1f(uniforms.most, PEAK * look.crowding);
    gl.uniform1f(uniforms.least, LEAST_OPACITY);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  resize(width, height) {
    const { gl } = this;
    this.size = `${width} ${height}`;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA16F, width, height, 0, gl.RGBA, gl.HALF_FLOAT, null);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
  }
}
