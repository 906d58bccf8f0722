/** The list of keys, in a dialog. */

import { element } from "./dom.js";

const KEYS = {
  "0": "show all rows and follow them", arrows: "move the map", "+ −": "zoom", "n p": "next and previous row",
  "[ ]": "back and forward in time", space: "pause, or play", l: "lasso, also by shift and drag; Escape clears the selection",
  "t m r": "trail, landmarks, rings around alerts", d: "dark or light", "?": "this list",
};

export function keyDialog() {
  const row = ([key, text]) => element("tr", {}, element("th", { scope: "row", textContent: key }), element("td", { textContent: text }));
  const close = element("button", { textContent: "Close", onclick: () => dialog.close() });
  const note = element("p", { textContent: "They work while the map has the focus. By touch: tap a row, zoom with two fingers." });
  const table = element("table", {}, ...Object.entries(KEYS).map(row));
  const dialog = element("dialog", { className: "keys", "aria-label": "Keys" }, table, note, close);
  return dialog;
}
