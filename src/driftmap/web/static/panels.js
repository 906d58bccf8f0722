/** Panels around the map: the hovered row, selection, time. */

import { download, element, formatNumber, formatValue } from "./dom.js";
import { selectionAsCsv } from "./table.js";

const TIME_MS = 250;

/** A section of the side bar with a title. */
export function panel(title, ...children) {
  return element("section", { className: "panel" }, element("h2", { textContent: title }), ...children);
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
    ...store.position(arrival, performance.now()).flatMap((x, i) => (view.axes[i] ? [[view.axes[i], formatNumber(x)]] : [])),
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

/** The time slider: shows the map after any of the kept arrivals. */
export function timePanel(view, onBack) {
  const label = element("output", { "aria-live": "off" }); // the slider says it
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
