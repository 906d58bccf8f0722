/** Curves over time as SVG: radius, stress, novelty and rate, all non-negative, above one time axis. */

import { element, formatNumber, svg } from "./dom.js";
import { panel } from "./panels.js";

const CURVES = Object.entries({
  radius: "Radius", stress: "Stress of the landmarks", novelty: "Novelty (largest reach)", rate: "Rows per second",
  drift: "Drift (−log₁₀ p)",
});
/** Curves that a burst at the start would flatten: they are cut off above what is usual. */
const CUT = new Set(["rate"]);
const [HEIGHT, AXIS_HEIGHT] = [56, 16];
/** Left, top and bottom of the plot, and the margin at its right, in pixels. */
const [LEFT, TOP, BOTTOM, MARGIN] = [46, 6, 50, 4];
/** Pixels that a label needs: the height of a value and the width of a time. */
const [VALUE_SPACE, TIME_SPACE] = [15, 72];
const DAY = 86400;
/** Seconds between time labels. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, DAY];

export function curvePanel(view) {
  const charts = CURVES.map(([name, title]) => {
    const picture = svg("svg", { role: "img", "aria-label": title, height: HEIGHT });
    const last = element("output", { "aria-live": "off" });
    const box = element("div", { className: "curve" }, element("h3", {}, title, last), picture);
    return { name, title, picture, last, box };
  });
  const axis = svg("svg", { height: AXIS_HEIGHT, "aria-hidden": "true", class: "times" });
  const body = element("div", {}, ...charts.map(({ box }) => box), element("div", { className: "curve" }, axis));
  let samples = {};
  const draw = () => {
    if (!(samples.time?.length > 1) || body.clientWidth <= LEFT + MARGIN) return;
    const right = body.clientWidth - MARGIN;
    for (const { name, title, picture, last, box } of charts) {
      box.hidden = name === "drift" && !samples[name]?.some(Number.isFinite); // without a monitor there is no p-value
      if (box.hidden) continue;
      const [values, highest] = [samples[name], highestOf(samples[name], CUT.has(name))];
      const most = values.reduce((a, b) => Math.max(a, b || 0), 0);
      const peak = most > highest ? ` (peak ${formatNumber(Math.round(most))})` : "";
      last.textContent = formatNumber(values.at(-1)) + peak;
      picture.setAttribute("aria-label", `${title}: ${last.textContent}`);
      picture.replaceChildren(...chart(samples.time, values, highest, right));
    }
    axis.replaceChildren(...timeLabels(samples.time, right));
  };
  view.addEventListener("received", ({ detail: { arrays } }) => arrays.time && draw((samples = arrays)));
  new ResizeObserver(draw).observe(body);
  return panel("Over time", body);
}

/** The highest value that is drawn; `cut`: rare values far above the others are not. */
function highestOf(values, cut) {
  const known = Array.from(values).filter(Number.isFinite).sort((a, b) => a - b);
  const usual = 1.5 * known[Math.floor(0.9 * known.length)];
  const most = known.at(-1) ?? 0;
  return 1.1 * (cut && most > 2 * usual && usual > 0 ? usual : most);
}

const across = (times, right) => (time) => LEFT + ((right - LEFT) * (time - times[0])) / (times.at(-1) - times[0] || 1);

/** The lines and labels of one curve, with gaps where values are not finite; `right` is its right edge. */
function chart(times, values, highest, right) {
  const x = across(times, right);
  const y = (value) => BOTTOM - ((BOTTOM - TOP) * Math.min(value, highest)) / (highest || 1);
  const parts = [];
  for (const value of multiples(0, highest, roundStep(((highest || 1) * VALUE_SPACE) / (BOTTOM - TOP)))) {
    parts.push(svg("line", { x1: LEFT, x2: right, y1: y(value), y2: y(value) }));
    parts.push(svg("text", { class: "value", x: LEFT - 7, y: y(value) + 4 }, formatNumber(value)));
  }
  let path = "";
  let command = "M";
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) path += `${command}${x(times[i]).toFixed(1)},${y(values[i]).toFixed(1)}`;
    command = Number.isFinite(values[i]) ? "L" : "M";
  }
  return [...parts, svg("path", { d: path })];
}

/** The labels of the time axis, none of which is cut off. */
function timeLabels(times, right) {
  const [start, end, x] = [times[0], times.at(-1), across(times, right)];
  const needed = ((end - start) * TIME_SPACE) / (right - LEFT);
  const step = TIME_STEPS.find((known) => known >= needed) ?? DAY * Math.ceil(needed / DAY);
  const offset = 60 * new Date(1000 * start).getTimezoneOffset(); // labels fall on full hours and days of local time
  const places = multiples(start - offset, end - offset, step).map((time) => [time, x(time + offset)]);
  const inside = places.filter(([, at]) => at < right - TIME_SPACE / 3);
  return inside.map(([time, at]) => svg("text", { x: at, y: AXIS_HEIGHT - 4 }, timeLabel(time, step)));
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
