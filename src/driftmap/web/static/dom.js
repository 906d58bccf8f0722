/** Elements of the page. Data is always inserted as text, never as markup. */

/** Create an element with properties (aria-* and data-* as attributes, on* as listeners) and children. */
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

/** Create an SVG element with attributes and children. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Download text as a file. */
export function download(name, text, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Format a number with four significant digits and thousands separators. */
export function formatNumber(value) {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(3);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 7 });
}

/** Format a number that was rounded to a multiple of `step`. */
function formatRounded(value, step) {
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step))));
  return `≈ ${value.toLocaleString("en", { maximumFractionDigits: digits })}`;
}

/** Format a value of a column: a number, a date or the name of a group. */
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

/** Show entries as the children of a list. Nodes stay where their key stays, so that a new entry does not take the focus. */
export function showEntries(list, entries, keyOf, make, update) {
  const keys = new Set(entries.map((entry) => String(keyOf(entry))));
  for (const node of [...list.children]) {
    if (keys.has(node.dataset.key)) continue;
    if (node.contains(document.activeElement)) list.focus();
    node.remove();
  }
  const known = new Map(Array.from(list.children, (node) => [node.dataset.key, node]));
  let place = list.firstElementChild;
  for (const entry of entries) {
    const key = String(keyOf(entry));
    const node = known.get(key) ?? make(entry);
    node.dataset.key = key;
    if (node === place) place = place.nextElementSibling;
    else list.insertBefore(node, place);
    update(node, entry);
  }
}

/** Shorten a name in the middle, since names of groups often differ at their ends only. */
export function shortenName(name, longest = 32) {
  if (name.length <= longest) return name;
  const head = Math.ceil((longest - 1) / 2);
  return `${name.slice(0, head)}…${name.slice(name.length - (longest - 1 - head))}`;
}
