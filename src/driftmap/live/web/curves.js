/** Curves over time: radius, stress, novelty and rate, by uPlot. */

import { element, formatNumber } from "./dom.js";
import { panel } from "./panels.js";
import uPlot from "./uplot/uPlot.esm.js";

const CURVES = [
  ["radius", "Radius"],
  ["stress", "Stress of the landmarks"],
  ["novelty", "Novelty (largest reach)"],
  ["rate", "Rows per second"],
];
const HEIGHT = 70;

export function curvePanel(view) {
  const charts = CURVES.map(([name, title]) => ({ name, title, box: element("div", { className: "curve" }), plot: null }));
  const colour = (variable) => () => getComputedStyle(view.element).getPropertyValue(variable);
  const make = ({ title, box }, data) =>
    new uPlot(
      {
        title,
        width: Math.max(120, box.clientWidth),
        height: HEIGHT,
        cursor: { show: false },
        legend: { show: false },
        scales: { y: { range: (_, low, high) => (low === high ? [low - 1, high + 1] : [Math.min(0, low), high * 1.1]) } },
        series: [{}, { stroke: colour("--accent"), width: 1.5, points: { show: false } }],
        axes: [
          { stroke: colour("--soft"), size: 18, font: "11px system-ui", grid: { show: false }, ticks: { show: false }, space: 70 },
          { stroke: colour("--soft"), size: 46, font: "11px system-ui", space: 14, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, values: (_, ticks) => ticks.map((tick) => formatNumber(tick)) },
        ],
      },
      data,
      box,
    );
  view.addEventListener("received", ({ detail: { arrays } }) => {
    if (!(arrays.time?.length > 1)) return;
    for (const chart of charts) {
      const data = [arrays.time, Array.from(arrays[chart.name], (value) => (Number.isFinite(value) ? value : null))];
      if (chart.plot) chart.plot.setData(data);
      else chart.plot = make(chart, data);
      chart.box.setAttribute("aria-label", `${chart.title}: ${formatNumber(arrays[chart.name].at(-1))}`);
      chart.box.setAttribute("role", "img");
    }
  });
  view.addEventListener("themed", () => charts.forEach(({ plot }) => plot?.redraw(false, true)));
  return panel("Over time", ...charts.map(({ box }) => box));
}
