/** Selected rows as CSV. */

import { formatValue } from "./dom.js";

/** @param view a MapView */
export function selectionAsCsv(view) {
  const { store, columns } = view;
  const now = performance.now();
  const axes = [0, 1].filter((i) => view.axes[i]);
  const lines = [["arrival", ...axes.map((i) => view.axes[i]), ...columns.map(({ name }) => name)]];
  for (const arrival of view.selection()) {
    const slot = store.slot(arrival);
    const values = columns.map((column, j) => plainValue(column, store.values[j][slot]));
    const place = store.position(arrival, now);
    lines.push([arrival, ...axes.map((i) => plainNumber(place[i])), ...values]);
  }
  return lines.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

function plainValue(column, value) {
  if (!Number.isFinite(value)) return "";
  return column.kind === "number" ? plainNumber(value) : formatValue(column, value);
}

/** The shortest text that parses to this single-precision number. */
function plainNumber(value) {
  for (let digits = 1; digits < 9; digits++) {
    const text = Number(value).toPrecision(digits);
    if (Math.fround(text) === value) return String(Number(text));
  }
  return String(value);
}

/** Text that a spreadsheet interprets as a formula, unless it is a number. */
const FORMULA = /^[=+\-@\t\r]/;
const DIGITS = String.raw`\d(_?\d)*`;
const NUMBER = new RegExp(`^\\s*[+-]?(inf(inity)?|nan|(${DIGITS}\\.?(${DIGITS})?|\\.${DIGITS})(e[+-]?${DIGITS})?)\\s*$`, "i");

/** Quote a cell; an apostrophe turns a formula into text, as in the command line's tables/writers.py. */
export function csvCell(cell) {
  const plain = String(cell);
  const text = FORMULA.test(plain) && !NUMBER.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
