/** Elements of the page. Whatever comes from data goes in as text, never as markup. */

/** An element with properties (aria-* and data-* as attributes, on* as listeners) and children. */
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

/** An element of a vector picture, with attributes. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Offer some text as a file. */
export function download(name, text, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A number as a reader wants it: four digits, thousands apart. */
export function formatNumber(value) {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(3);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 7 });
}

/** A number that is only known up to a step. */
function formatRounded(value, step) {
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step))));
  return `≈ ${value.toLocaleString("en", { maximumFractionDigits: digits })}`;
}

/** A value of a column: a number, a date or the name of a group. */
export function formatValue(column, value) {
  if (!Number.isFinite(value)) return "–";
  if (column.kind === "category") return column.names[value] ?? "–";
  if (column.kind === "number" && column.step) return formatRounded(value, column.step);
  if (column.kind === "number") return formatNumber(value);
  const date = new Date(1000 * (column.base + value));
  if (Number.isNaN(date.getTime())) return "–";
  const text = date.toISOString().slice(0, 19).replace("T", " ");
  return text.endsWith(" 00:00:00") ? text.slice(0, 10) : text;
}
