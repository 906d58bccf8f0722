/** The panel on what changed last: how sure that is, since when, and in which features. */

import { element, formatNumber, shortenName } from "./dom.js";
import { panel } from "./panels.js";

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [0, "s"]];
const brief = (value) => formatNumber(Number(value.toPrecision(3)));

export function changePanel(view) {
  const text = element("p");
  const features = element("table");
  const key = element("div", {}, ...["grew", "shrank"].map((name) => element("span", { className: name, textContent: `◯ cells that ${name} ` })));
  const box = panel("What changed", text, features, key);
  box.classList.add("change");
  let now = 0;
  const show = ({ detail: { header, arrays } }) => {
    now = arrays?.time?.at(-1) ?? now;
    box.hidden = !view.change;
    if (box.hidden) return;
    text.textContent = changeInWords(view.change.report, view.store.next, now);
    if (header?.change) features.replaceChildren(tableRow("th", "feature", "before", "now", "in σ"), ...header.change.features.map(featureRow));
  };
  view.addEventListener("received", show);
  box.hidden = true;
  return box;
}

/** One sentence; of a stream with the time since the change, in rows and on the clock. */
function changeInWords({ p_value: p, reference, now: name, began, at }, next, now) {
  const sure = `p = ${p < 1e-3 ? p.toExponential(0) : brief(p)}`;
  if (began === undefined) return `${name} against ${reference}: ${sure}`;
  const [size, unit] = UNITS.find(([least]) => now - at >= least) ?? [0, "s"];
  const ago = `${Math.max(0, Math.floor((now - at) / (size || 1)))} ${unit} ago`;
  return `Changed after row ${formatNumber(began)}, ${formatNumber(next - began)} rows ago; noticed ${ago}; ${sure}`;
}

const tableRow = (tag, ...texts) => element("tr", {}, ...texts.map((text) => element(tag, { textContent: text })));

function featureRow({ name, before, now, difference }) {
  const line = tableRow("td", shortenName(String(name)), brief(before), brief(now), `${difference > 0 ? "+" : ""}${difference.toFixed(2)}`);
  line.lastChild.className = difference > 0 ? "grew" : "shrank";
  return line;
}
