/** Panels around the map: choice of colours, legend, the hovered row, selection, alerts, time. */

import { cssColour } from "./colours.js";
import { download, element, formatNumber, formatValue } from "./dom.js";
import { selectionAsCsv } from "./table.js";

const ALERTS_SHOWN = 5;
const GROUPS_SHOWN = 10;
const TIME_MS = 250;

/** A section of the side bar with a title. */
export function panel(title, ...children) {
  return element("section", { className: "panel" }, element("h2", { textContent: title }), ...children);
}

/** The choice of the column that colours the points, with its legend. */
export function colourPanel(view) {
  const choice = element("select", { "aria-label": "Colour by" });
  const legend = element("div", { className: "legend" });
  choice.addEventListener("change", () => {
    view.chosen = choice.value;
    view.colourBy(choice.value);
  });
  view.addEventListener("begun", () => {
    const names = ["", ...view.columns.map(({ name }) => name)];
    choice.replaceChildren(...names.map((name) => element("option", { value: name, textContent: name || "arrival" })));
  });
  view.addEventListener("coloured", () => {
    const { coloring } = view;
    choice.value = coloring.column?.name ?? "";
    legend.replaceChildren(...(coloring.kind === "category" ? groups(view) : scale(view)));
  });
  return panel("Colour by", choice, legend);
}

function scale({ coloring, palette, store }) {
  const bar = element("canvas", { className: "bar", width: 255, height: 1, "aria-hidden": "true" });
  const context = bar.getContext("2d");
  for (let i = 0; i < 255; i++) {
    context.fillStyle = cssColour(palette[i]);
    context.fillRect(i, 0, 1, 1);
  }
  const { column, low, high } = coloring;
  const [first, last] = column
    ? [formatValue(column, low), formatValue(column, high)]
    : [`row ${formatNumber(store.oldest)}`, store.count ? formatNumber(store.next - 1) : "–"];
  return [bar, element("div", { className: "ends" }, element("span", { textContent: first }), element("span", { textContent: last }))];
}

function groups({ coloring, palette }) {
  const { names } = coloring.column;
  const entry = (name, colour) => {
    const mark = element("span", { className: "mark" });
    mark.style.background = cssColour(colour);
    return element("li", {}, mark, element("span", { textContent: name || "(none)", title: name }));
  };
  const list = names.slice(0, GROUPS_SHOWN).map((name, i) => entry(name, palette[i]));
  if (names.length > GROUPS_SHOWN) list.push(entry(`${names.length - GROUPS_SHOWN} others`, palette[255]));
  return [element("ul", {}, ...list)];
}

/** A tooltip with the values of the hovered row, which screen readers announce. */
export function rowTip(view) {
  const tip = element("dl", { className: "tip", hidden: true });
  const announcement = element("p", { className: "unseen", "aria-live": "polite" });
  view.element.append(tip, announcement);
  view.addEventListener("hovered", () => {
    tip.hidden = view.hovered === null;
    if (tip.hidden) return;
    const entries = describeRow(view, view.hovered);
    tip.replaceChildren(
      ...entries.flatMap(([name, value]) => [element("dt", { textContent: name }), element("dd", { textContent: value })]),
    );
    announcement.textContent = entries.map((entry) => entry.join(" ")).join(", ");
    place();
  });
  const place = () => {
    if (tip.hidden) return;
    const { camera } = view;
    const [x, y] = camera.toScreen(view.store.position(view.hovered, performance.now()));
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    tip.style.left = `${Math.max(4, x + 16 + width > camera.width ? x - 16 - width : x + 16)}px`;
    tip.style.top = `${Math.max(4, Math.min(y - 20, camera.height - height - 4))}px`;
  };
  view.addEventListener("drawn", place); // the point may be gliding
}

/** Names and values of a row, and its nearest landmark. */
function describeRow(view, arrival) {
  const { store, columns } = view;
  const slot = store.slot(arrival);
  const landmark = view.nearestLandmark(arrival, performance.now());
  const id = store.nearest[slot];
  const replaced = id >= 0 ? `row ${formatNumber(id)}, since replaced` : "–";
  return [
    ["arrival", formatNumber(arrival)],
    ...columns.map((column, j) => [column.name, formatValue(column, store.values[j][slot])]),
    ["nearest landmark", landmark ? `row ${formatNumber(landmark.id)}, mass ${formatNumber(landmark.mass)}` : replaced],
  ];
}

/** The number of rows in the lasso, with buttons to export and clear them. */
export function selectionPanel(view) {
  const count = element("p");
  const save = element("button", { textContent: "Export CSV", onclick: () => download("rows.csv", selectionAsCsv(view), "text/csv") });
  const clear = element("button", { textContent: "Clear", onclick: () => view.select(null) });
  const box = panel("Selection", count, save, clear);
  const show = () => {
    box.hidden = view.selected === 0;
    count.textContent = `${formatNumber(view.selected)} ${view.selected === 1 ? "row" : "rows"}`;
  };
  view.addEventListener("selected", show);
  view.addEventListener("begun", show);
  show();
  return box;
}

/** The latest alerts; a click hovers over the row. */
export function alertPanel(view) {
  const list = element("ol", { className: "alerts", role: "log", "aria-label": "Alerts" });
  const box = panel("Alerts", list);
  let shown = "";
  view.addEventListener("received", () => {
    const latestOne = view.alerts[view.alerts.length - 1];
    const last = latestOne ? `${latestOne.kind} ${latestOne.row}` : null;
    if (last === shown) return;
    shown = last;
    const latest = view.alerts.slice(-ALERTS_SHOWN).reverse();
    list.replaceChildren(...latest.map((alert) => element("li", {}, alertButton(view, alert))));
    if (!latest.length) list.append(element("li", { textContent: "None so far." }));
  });
  return box;
}

/** A line for an alert: a drift in another style than a novel row. */
function alertButton(view, { kind, row, time, reach, began, p_value: p, features }) {
  const isDrift = kind === "drift";
  const what = features.slice(0, 2).map(({ name, value, now }) => `${name} ${formatNumber(value ?? now)}`).join(", ");
  const how = isDrift ? `drift since row ${formatNumber(began)}, p = ${p.toExponential(0)}` : `reach ${reach === null ? "∞" : formatNumber(reach)}`;
  const text = `${time ?? `row ${formatNumber(row)}`}: ${how}${what ? `, ${what}` : ""}`;
  return element("button", { textContent: text, title: text, className: isDrift ? "drift" : "novel", onclick: () => view.hover(view.store.has(row) ? row : null) });
}

/** The time slider: shows the map after any of the kept arrivals. */
export function timePanel(view, onBack) {
  const label = element("output");
  const slider = element("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Time" });
  const show = () => {
    if (!view.store) return;
    const { store, back } = view;
    slider.min = store.oldest + 1;
    slider.max = store.next;
    slider.value = store.next - back;
    const j = view.columns.findIndex(({ kind }) => kind === "date");
    const last = store.next - back - 1;
    const date = j < 0 || !store.count ? "" : `${formatValue(view.columns[j], store.values[j][store.slot(last)])} · `;
    label.textContent = `${date}row ${formatNumber(last)}`;
    slider.setAttribute("aria-valuetext", label.textContent);
  };
  slider.addEventListener("input", () => {
    view.goBack(view.store.next - Number(slider.value));
    onBack(view.back);
  });
  // Throttled: text that changes in each frame would take as long to draw as the map.
  let waiting;
  view.addEventListener("drawn", () => {
    waiting ??= setTimeout(() => {
      waiting = undefined;
      show();
    }, TIME_MS);
  });
  view.addEventListener("went", show);
  return element("div", { className: "time" }, slider, label);
}
