/** The choice of the column that colours the points, and its legend. */

import { cssColour, OTHER_SHADE } from "./colours.js";
import { element, formatNumber, formatValue, shortenName, showEntries } from "./dom.js";
import { panel } from "./panels.js";

/** From this number of groups on, a search box is shown; the list has at most the second number of them. */
const [SEARCHED, GROUPS_LISTED] = [20, 200];

export function colourPanel(view) {
  const choice = element("select", { "aria-label": "Colour by" });
  const scale = element("div");
  const groups = groupList(view);
  choice.addEventListener("change", () => view.colourBy((view.chosen = choice.value)));
  view.addEventListener("begun", () => {
    const names = ["", ...view.columns.map(({ name }) => name)];
    choice.replaceChildren(...names.map((name) => element("option", { value: name, textContent: name || "arrival" })));
  });
  view.addEventListener("coloured", () => {
    const { coloring } = view;
    choice.value = coloring.column?.name ?? "";
    groups.hidden = !coloring.groups;
    scale.replaceChildren(...(coloring.groups ? [] : colourScale(view)));
  });
  return panel("Colour by", choice, scale, groups);
}

function colourScale({ coloring, palette, store }) {
  const bar = element("canvas", { className: "bar", width: 251, height: 1, "aria-hidden": "true" });
  const context = bar.getContext("2d");
  for (let i = 0; i < bar.width; i++) {
    context.fillStyle = cssColour(palette[i]);
    context.fillRect(i, 0, 1, 1);
  }
  const { column, low, high } = coloring;
  const [first, last] = column
    ? [formatValue(column, low), formatValue(column, high)]
    : [`row ${formatNumber(store.oldest)}`, store.count ? formatNumber(store.next - 1) : "–"];
  return [bar, element("div", { className: "ends" }, element("span", { textContent: first }), element("span", { textContent: last }))];
}

/** The groups, those with a colour first. A click shows a group alone, a click with shift hides it. */
function groupList(view) {
  const search = element("input", { type: "search", placeholder: "Find a group", "aria-label": "Find a group" });
  const list = element("ul", { tabIndex: -1 });
  const rest = element("p", { className: "rest" });
  const box = element("div", { className: "legend", hidden: true }, search, list, rest);
  const make = ({ name, shown }) => {
    const mark = element("span", { className: "mark" });
    const label = element("span", { textContent: shortenName(shown) });
    const title = `${shown} (click: only this group, shift and click: hide it)`;
    const button = element("button", { title, onclick: (event) => view.toggleGroup(name, event.shiftKey) }, mark, label);
    return element("li", {}, button);
  };
  const update = (node, { name, shade }) => {
    node.querySelector(".mark").style.background = cssColour(view.palette[shade]);
    node.firstChild.setAttribute("aria-pressed", !view.coloring.hidden.has(name));
  };
  const show = () => {
    const { groups, places, shades } = view.coloring;
    if (!groups) return;
    search.hidden = groups.length < SEARCHED;
    const wanted = search.hidden ? "" : search.value.toLowerCase();
    const entries = groups.map((name, i) => ({ name, shown: (places ? formatNumber(Number(name)) : name) || "(none)", shade: shades[i] }));
    const order = new Intl.Collator(undefined, { numeric: true }).compare;
    const isOther = ({ shade }) => shade === OTHER_SHADE;
    const sorted = entries.sort((a, b) => isOther(a) - isOther(b) || order(a.shown, b.shown));
    const found = sorted.filter(({ shown }) => shown.toLowerCase().includes(wanted));
    list.classList.toggle("wide", found.some(({ shown }) => shown.length > 14));
    showEntries(list, found.slice(0, GROUPS_LISTED), ({ name }) => name, make, update);
    const others = entries.filter(isOther).length;
    const beyond = found.length > GROUPS_LISTED ? `${formatNumber(found.length - GROUPS_LISTED)} more: search for them` : "";
    rest.textContent = beyond || (others ? `${formatNumber(others)} smaller groups are grey` : "");
  };
  search.addEventListener("input", show);
  view.addEventListener("coloured", show);
  return box;
}
