/** The alerts: a list that can be sorted and filtered; the map has rings around the rows that it lists. */

import { element, formatNumber, shortenName, showEntries } from "./dom.js";
import { panel } from "./panels.js";

/** Alerts listed and ringed. */
const ALERTS_LISTED = 30;
const ORDERS = { latest: (a, b) => b.number - a.number, largest: (a, b) => sizeOf(b) - sizeOf(a) || b.number - a.number };

/** What an alert is about: its kind if it has one; otherwise a row beyond all others, or one of a rare reach. */
export function kindOf({ kind, reach }) {
  return kind ?? (reach === null || reach >= 1 ? "reach" : "quantile");
}

function sizeOf({ size, reach }) {
  return size ?? reach ?? Infinity;
}

/** The alerts to show. */
export function chosenAlerts({ alerts, alertKind, alertOrder }) {
  const chosen = alerts.filter((alert) => !alertKind || kindOf(alert) === alertKind);
  return chosen.sort(ORDERS[alertOrder]).slice(0, ALERTS_LISTED);
}

export function alertPanel(view) {
  const kinds = element("select", { "aria-label": "Kind of alerts" });
  const orders = element("select", { "aria-label": "Order of alerts" });
  orders.append(...Object.keys(ORDERS).map((name) => element("option", { value: name, textContent: name })));
  const rings = element("button", { textContent: "Rings", title: "Rings around the rows (r)", "aria-pressed": "true" });
  const list = element("ol", { className: "alerts", tabIndex: -1, "aria-label": "Alerts" });
  const none = element("p", { textContent: "None so far." });
  const make = (alert) => element("li", {}, alertButton(view, alert));
  const update = (node, { row }) => node.firstChild.setAttribute("aria-disabled", !view.store.has(row));
  const show = () => {
    const found = ["", ...new Set(view.alerts.map(kindOf))];
    showEntries(kinds, found, String, (kind) => element("option", { value: kind, textContent: kind || "all kinds" }), () => {});
    const shown = chosenAlerts(view);
    showEntries(list, shown, ({ number }) => number, make, update);
    none.hidden = shown.length > 0;
    view.redraw();
  };
  kinds.addEventListener("change", () => show((view.alertKind = kinds.value)));
  orders.addEventListener("change", () => show((view.alertOrder = orders.value)));
  rings.addEventListener("click", () => {
    rings.setAttribute("aria-pressed", (view.showRings = !view.showRings));
    view.redraw();
  });
  view.addEventListener("received", show);
  const box = panel("Alerts", element("div", { className: "choices" }, kinds, orders, rings), list, none);
  box.toggleRings = () => rings.click();
  return box;
}

/** Two lines: what happened and where; then the features that differ most from the nearest landmark. */
function alertButton(view, alert) {
  const { row, time, reach, quantile, features } = alert;
  const what = {
    reach: `Reach ${reach === null ? "∞" : formatNumber(reach)}`,
    quantile: `Top ${formatNumber(Number((100 * (1 - quantile)).toPrecision(2)))} % of reaches`,
  };
  const title = [alert.text ?? what[kindOf(alert)] ?? kindOf(alert), `row ${formatNumber(row)}`, time].filter((text) => (text ?? "") !== "").join(" · ");
  const why = (features ?? []).map(({ name, value, landmark, before, now }) => {
    const [is, was] = before === undefined ? [value, `landmark ${formatNumber(landmark)}`] : [now, `before ${formatNumber(before)}`];
    return `${shortenName(String(name))} ${formatNumber(is)} (${was})`;
  });
  const lines = [title, why.join(", ")].map((line) => element("span", { textContent: line }));
  return element("button", { className: kindOf(alert), title: why.join("\n"), onclick: () => view.goTo(row) }, ...lines);
}
