/** Selected rows as CSV. */

import { formatValue } from "./dom.js";

/** @param view a MapView */
export function selectionAsCsv(view) {
  const { store, columns } = view;
  const now = performance.now();
  const lines = [["arrival", "x1", "x2", ...columns.map(({ name }) => name)]];
  for (const arrival of view.selection()) {
    const slot = store.slot(arrival);
    const values = columns.map((column, j) => plainValue(column, store.values[j][slot]));
    lines.push([arrival, ...store.position(arrival, now).map((x) => plainNumber(x)), ...values]);
  }
  return lines.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

function plainValue(column, value) {
  if (!Number.isFinite(value)) return "";
  return column.kind === "number" ? plainNumber(value) : formatValue(column, value);
}

/** The shortest text that is this single-precision number. */
function plainNumber(value) {
  for (let digits = 1; digits < 9; digits++) {
    const text = Number(value).toPrecision(digits);
    if (Math.fround(text) === value) return String(Number(text));
  }
  return String(value);
}

/** What a spreadsheet takes for a formula, unless it is a number. */
const FORMULA = /^[=+\-@\t\r]/;
const DIGITS = String.raw`\d(_?\d)*`;
const NUMBER = new RegExp(`^\\s*[+-]?(inf(inity)?|nan|(${DIGITS}\\.?(${DIGITS})?|\\.${DIGITS})(e[+-]?${DIGITS})?)\\s*$`, "i");

/** A cell; a formula gets an apostrophe, which makes it text. The command line does the same (io/writers.py). */
export function csvCell(cell) {
  const plain = String(cell);
  const text = FORMULA.test(plain) && !NUMBER.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
