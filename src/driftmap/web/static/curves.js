/** Curves over time as SVG: radius, stress, novelty and rate, all non-negative. */

import { element, formatNumber, svg } from "./dom.js";
import { panel } from "./panels.js";

const CURVES = [
  ["radius", "Radius"],
  ["stress", "Stress of the landmarks"],
  ["novelty", "Novelty (largest reach)"],
  ["rate", "Rows per second"],
  ["drift", "Drift (−log₁₀ of the p-value)"],
];
const HEIGHT = 72;
/** Left, top and bottom of the plot, and the margin at its right, in pixels. */
const [LEFT, TOP, BOTTOM, MARGIN] = [46, 8, 52, 4];
/** Pixels that a label needs: the height of a value and the width of a time. */
const [VALUE_SPACE, TIME_SPACE] = [15, 72];
const DAY = 86400;
/** Seconds between time labels. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, DAY];

export function curvePanel(view) {
  const charts = CURVES.map(([name, title]) => {
    const picture = svg("svg", { role: "img", "aria-label": title, height: HEIGHT });
    const box = element("div", { className: "curve" }, element("h3", { textContent: title }), picture);
    return { name, title, picture, box };
  });
  const body = element("div", {}, ...charts.map(({ box }) => box));
  let samples = {};
  const draw = () => {
    if (!(samples.time?.length > 1) || body.clientWidth <= LEFT + MARGIN) return;
    for (const { name, title, picture, box } of charts) {
      box.hidden = !samples[name]?.some(Number.isFinite); // without a monitor there is no p-value
      if (box.hidden) continue;
      picture.setAttribute("aria-label", `${title}: ${formatNumber(samples[name].at(-1))}`);
      picture.replaceChildren(...chart(samples.time, samples[name], body.clientWidth - MARGIN));
    }
  };
  view.addEventListener("received", ({ detail: { arrays } }) => {
    if (!arrays.time) return;
    samples = arrays;
    draw();
  });
  new ResizeObserver(draw).observe(body);
  return panel("Over time", body);
}

/** The lines and labels of one curve, with gaps where values are not finite; `right` is its right edge. */
function chart(times, values, right) {
  const [start, end] = [times[0], times.at(-1)];
  const highest = 1.1 * values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, value) : most), 0) || 1;
  const x = (time) => LEFT + ((right - LEFT) * (time - start)) / (end - start || 1);
  const y = (value) => BOTTOM - ((BOTTOM - TOP) * value) / highest;
  const parts = [];
  for (const value of multiples(0, highest, roundStep((highest * VALUE_SPACE) / (BOTTOM - TOP)))) {
    parts.push(svg("line", { x1: LEFT, x2: right, y1: y(value), y2: y(value) }));
    parts.push(svg("text", { class: "value", x: LEFT - 7, y: y(value) + 4 }, formatNumber(value)));
  }
  const needed = ((end - start) * TIME_SPACE) / (right - LEFT);
  const step = TIME_STEPS.find((known) => known >= needed) ?? DAY * Math.ceil(needed / DAY);
  const offset = 60 * new Date(1000 * start).getTimezoneOffset(); // labels fall on full hours and days of local time
  for (const time of multiples(start - offset, end - offset, step)) {
    const at = x(time + offset);
    if (at < right - TIME_SPACE / 3) parts.push(svg("text", { x: at, y: HEIGHT - 5 }, timeLabel(time, step)));
  }
  let path = "";
  let command = "M";
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) path += `${command}${x(times[i]).toFixed(1)},${y(values[i]).toFixed(1)}`;
    command = Number.isFinite(values[i]) ? "L" : "M";
  }
  return [...parts, svg("path", { d: path })];
}

/** The multiples of a step from low to high. */
function multiples(low, high, step) {
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => (first + i) * step);
}

/** The smallest of 1, 2, 5, 10, ... times a power of ten that is at least `length`. */
function roundStep(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * ([1, 2, 5].find((factor) => factor * power >= length) ?? 10);
}

/** A local time in the resolution of the step between labels. */
function timeLabel(seconds, step) {
  const text = new Date(1000 * seconds).toISOString();
  return step < 60 ? text.slice(11, 19) : step < DAY ? text.slice(11, 16) : text.slice(5, 10);
}
