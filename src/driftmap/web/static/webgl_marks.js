/** Draws marks with WebGL 2: one rectangle each; the fragment shader computes the distance to the outline. */

import { buildProgram } from "./program.js";

const FLOATS = 11;

const MARK_VERTEX = `#version 300 es
in vec4 ends;
in vec4 form;
in vec3 ink;
uniform vec2 size;
uniform float ratio;
out vec2 local;
flat out vec4 shape;
flat out vec3 colour;
void main() {
  vec2 along = ends.zw - ends.xy;
  float span = length(along);
  vec2 u = span > 0.0 ? along / span : vec2(1.0, 0.0);
  float reach = form.y + form.z + 1.0;
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  local = corner * vec2(form.x == 0.0 ? span / 2.0 : reach, reach) * ratio;
  vec2 place = ratio * (ends.xy + ends.zw) / 2.0 + local.x * u + local.y * vec2(-u.y, u.x);
  gl_Position = vec4((2.0 * place / size - 1.0) * vec2(1.0, -1.0), 0.0, 1.0);
  shape = form * vec4(1.0, ratio, ratio, 1.0);
  colour = ink;
}`;

const MARK_FRAGMENT = `#version 300 es
precision highp float;
in vec2 local;
flat in vec4 shape;
flat in vec3 colour;
uniform vec3 paper;
out vec4 pixel;
void main() {
  bool diamond = shape.x == 1.0;
  float away = shape.x == 0.0 ? abs(local.y) : diamond ? (abs(local.x) + abs(local.y) - shape.y) * 0.7071 : length(local) - shape.y;
  float stroke = clamp(0.5 + shape.z / 2.0 - abs(away), 0.0, 1.0) * min(1.0, shape.z);
  float fill = diamond ? clamp(0.5 - away, 0.0, 1.0) : 0.0;
  pixel = shape.w * (vec4(colour, 1.0) * stroke + vec4(paper, 1.0) * fill * 0.55 * (1.0 - stroke));
}`;

export class WebGLMarks {
  constructor(gl) {
    this.gl = gl;
    const [attributes, uniforms] = [["ends", "form", "ink"], ["size", "ratio", "paper"]];
    Object.assign(this, buildProgram(gl, MARK_VERTEX, MARK_FRAGMENT, attributes, uniforms));
    this.arrays = gl.createVertexArray();
    this.buffer = gl.createBuffer();
    gl.bindVertexArray(this.arrays);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    [[4, 0], [4, 4], [3, 8]].forEach(([n, start], i) => {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, n, gl.FLOAT, false, 4 * FLOATS, 4 * start);
      gl.vertexAttribDivisor(i, 1);
    });
  }

  /** @param marks see marks.js */
  draw(marks, look, width, height, ratio) {
    const { gl, uniforms } = this;
    if (!marks.length) return;
    const data = new Float32Array(FLOATS * marks.length);
    marks.forEach(({ shape, from, to, radius, width, colour, alpha }, i) => {
      data.set([...from, ...to, shape, radius, width, alpha, ...(look[colour] ?? colour).map((c) => c / 255)], FLOATS * i);
    });
    gl.useProgram(this.program);
    gl.bindVertexArray(this.arrays);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    gl.uniform2f(uniforms.size, width, height);
    gl.uniform1f(uniforms.ratio, ratio);
    gl.uniform3f(uniforms.paper, ...look.paper.map((c) => c / 255));
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, marks.length);
  }
}
