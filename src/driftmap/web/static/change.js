/** The panel on what changed last: how sure that is, since when, and in which features. */

import { element, formatNumber } from "./dom.js";
import { panel } from "./panels.js";

export function changePanel(view) {
  const text = element("p");
  const features = element("table");
  const key = element("div", { className: "key" }, ...["grew", "shrank"].map((name) => element("span", { className: name, textContent: `cells that ${name}` })));
  const box = panel("What changed", text, features, key);
  box.classList.add("change");
  let shown = null;
  let now = 0;
  const show = () => {
    box.hidden = !view.change;
    if (box.hidden) return;
    const { report } = view.change;
    text.textContent = changeInWords(report, view.store.next, now);
    if (shown === report) return;
    shown = report;
    features.replaceChildren(...(report.features.length ? [featureHeader(), ...report.features.map(featureRow)] : []));
  };
  view.addEventListener("received", ({ detail: { arrays } }) => {
    now = arrays.time?.at(-1) ?? now;
    show();
  });
  view.addEventListener("begun", show);
  show();
  return box;
}

/** One sentence; of a stream with the time since the change, in rows and on the clock. */
function changeInWords({ p_value: p, reference, now: name, began, at }, next, now) {
  const sure = `p = ${p < 1e-3 ? p.toExponential(0) : formatNumber(Number(p.toPrecision(2)))}`;
  if (began === undefined) return `${name} against ${reference}: ${sure}`;
  const rows = `row ${formatNumber(began)}, ${formatNumber(next - began)} rows ago`;
  return `Changed after ${rows}${now > at ? `; noticed ${inUnits(now - at)} ago` : ""}; ${sure}`;
}

function inUnits(seconds) {
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([least]) => seconds >= least) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

const tableRow = (tag, texts) => element("tr", {}, ...texts.map((text) => element(tag, { textContent: text, title: text })));
const featureHeader = () => tableRow("th", ["feature", "before", "now", "in σ"]);

const brief = (value) => formatNumber(Number(value.toPrecision(3)));

function featureRow({ name, before, now, difference }) {
  const line = tableRow("td", [String(name), brief(before), brief(now), `${difference > 0 ? "+" : ""}${difference.toFixed(2)}`]);
  line.lastChild.className = difference > 0 ? "grew" : "shrank";
  return line;
}
