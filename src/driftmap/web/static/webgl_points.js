/** Draws points with WebGL 2. The shader blends two position buffers, so a glide needs no uploads. */

import { HIDDEN_SHADE } from "./colours.js";
import { buildProgram } from "./program.js";

const POINT_VERTEX = `#version 300 es
in vec2 from;
in vec2 to;
in vec2 look;
uniform vec4 camera;
uniform float blend, size, shrink, opacity;
uniform int newest, capacity, shown, back;
uniform bool byAge, selecting;
uniform sampler2D palette;
out vec4 colour;
out float edge;
void main() {
  int age = (newest - gl_VertexID + capacity) % capacity - back;
  if (age < 0 || int(look.x * 255.0 + 0.5) == ${HIDDEN_SHADE}) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 1.0;
    return;
  }
  float old = float(age) / float(max(shown - 1, 1));
  int shade = byAge ? int(250.0 * (1.0 - old)) : int(look.x * 255.0 + 0.5);
  bool selected = look.y > 0.0;
  float alpha = selecting && !selected ? 0.12 : opacity;
  colour = vec4(texelFetch(palette, ivec2(shade, 0), 0).rgb, alpha);
  gl_Position = vec4(mix(from, to, blend) * camera.xy + camera.zw, 0.0, 1.0);
  gl_PointSize = size * (1.0 - shrink * old + (shrink > 0.0 ? 0.8 * max(0.0, 1.0 - float(age) / 40.0) : 0.0));
  edge = min(0.25, 1.0 / gl_PointSize);
}`;

const POINT_FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
in float edge;
out vec4 pixel;
void main() {
  float alpha = colour.a * (1.0 - smoothstep(0.5 - edge, 0.5, length(gl_PointCoord - 0.5)));
  if (alpha <= 0.0) discard;
  pixel = vec4(colour.rgb * alpha, alpha);
}`;

const POINT_UNIFORMS = "camera blend size shrink opacity newest capacity shown back byAge selecting palette".split(" ");

export class WebGLPoints {
  constructor(gl) {
    this.gl = gl;
    Object.assign(this, buildProgram(gl, POINT_VERTEX, POINT_FRAGMENT, ["from", "to", "look"], POINT_UNIFORMS));
    this.arrays = gl.createVertexArray();
    this.buffers = [0, 1, 2].map(() => gl.createBuffer());
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    this.store = this.palette = null;
  }

  /** Upload the changed slots, or all slots of a new store. */
  upload(store) {
    const gl = this.gl;
    const arrays = [store.from, store.to, store.look];
    if (this.store !== store) {
      this.store = store;
      arrays.forEach((array, i) => {
        gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[i]);
        gl.bufferData(gl.ARRAY_BUFFER, array, gl.DYNAMIC_DRAW);
        gl.enableVertexAttribArray(i);
        if (i < 2) gl.vertexAttribPointer(i, 2, gl.FLOAT, false, 0, 0);
        else gl.vertexAttribPointer(i, 2, gl.UNSIGNED_BYTE, true, 0, 0);
      });
    } else {
      for (const [start, stop] of store.changed) {
        arrays.forEach((array, i) => {
          gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[i]);
          gl.bufferSubData(gl.ARRAY_BUFFER, 2 * start * array.BYTES_PER_ELEMENT, array, 2 * start, 2 * (stop - start));
        });
      }
    }
    store.changed = [];
  }

  draw(store, camera, look, now, ratio, opacity) {
    const { gl, uniforms } = this;
    gl.useProgram(this.program);
    gl.bindVertexArray(this.arrays);
    this.upload(store);
    if (this.palette !== look.palette) {
      this.palette = look.palette;
      const pixels = new Uint8Array(look.palette.flatMap((colour) => [...colour, 255]));
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    }
    const [sx, sy] = [(2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height];
    gl.uniform4f(uniforms.camera, sx, sy, -camera.x * sx, -camera.y * sy);
    const reals = { blend: store.blend(now), size: look.size * ratio, shrink: look.shrink, opacity };
    for (const [name, value] of Object.entries(reals)) gl.uniform1f(uniforms[name], value);
    const { back, byAge, selecting } = look;
    const integers = { newest: store.slot(store.next - 1), capacity: store.capacity, shown: store.count - back, back, byAge, selecting };
    for (const [name, value] of Object.entries(integers)) gl.uniform1i(uniforms[name], value);
    // Oldest first, so that new points cover old ones.
    const [a, b] = [store.slot(store.oldest), store.slot(store.next - 1) + 1];
    if (!store.count) return;
    if (a < b) gl.drawArrays(gl.POINTS, a, b - a);
    else {
      gl.drawArrays(gl.POINTS, a, store.capacity - a);
      gl.drawArrays(gl.POINTS, 0, b);
    }
  }
}
