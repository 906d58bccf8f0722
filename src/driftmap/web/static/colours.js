/** Colours of points: a scale for numbers and dates, a palette for groups, by the rules of web/palette.py. */

const VIRIDIS =
  "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725"
    .split(" ").map(parseColour);
export const GROUPS = "0072b2 e69f00 009e73 b62a90 56b4e9 d55e00 c752ff 9f86b1 5d6d42 f11159".split(" ").map(parseColour);
/** The diverging scale: fewer, unchanged, more. */
const CHANGE = "762a83 af8dc3 c0c5cd 7fbf7b 1b7837".split(" ").map(parseColour);
/** Cells with more and with fewer rows; on both backgrounds. */
export const [GREW, SHRANK] = ["1f9d4d", "9a4fb5"].map(parseColour);
const OTHER = parseColour("9aa1a9");
const MISSING = ["c9cdd2", "565d65"].map(parseColour);
/** Largest palette index of a scale; above are those of groups without a colour, hidden points and missing values. */
const SCALE_END = 250;
export const [OTHER_SHADE, HIDDEN_SHADE, MISSING_SHADE] = [253, 254, 255];
/** A group takes the colour of another one if it is this many times as large, so that colours seldom change. */
const TAKES_OVER = 2;

/** Parse six hexadecimal digits as red, green and blue. */
export function parseColour(hex) {
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** The colour at t from 0 to 1 between those of a scale. */
function onScale(t, scale) {
  const place = t * (scale.length - 1);
  const i = Math.min(scale.length - 2, Math.floor(place));
  return scale[i].map((c, j) => Math.round(c + (place - i) * (scale[i + 1][j] - c)));
}

/** 256 colours, each as red, green, blue. */
export function paletteOf(coloring, dark) {
  return Array.from({ length: 256 }, (_, i) => {
    if (i === MISSING_SHADE) return MISSING[dark ? 1 : 0];
    if (coloring.groups) return GROUPS[i] ?? OTHER;
    const t = Math.min(1, i / SCALE_END);
    return coloring.column?.diverging ? onScale(t, CHANGE) : onScale(dark ? 0.18 + 0.82 * t : 0.97 * t, VIRIDIS); // darkest part omitted
  });
}

export function cssColour([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

/** The palette index of each of at most ten names: that of its hash or, if another one has that, the next free one. */
export function paletteSlots(names) {
  const slots = new Map();
  const taken = new Set();
  for (const name of [...names].sort()) {
    let hash = 0x811c9dc5; // FNV-1a
    for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    let slot = hash % GROUPS.length;
    while (taken.has(slot)) slot = (slot + 1) % GROUPS.length;
    taken.add(slot);
    slots.set(name, slot);
  }
  return slots;
}

/** How points are coloured: by arrival (no column), or by the values of a column. */
export class Coloring {
  /** @param {{name: string, kind: string, base: number, names: string[]}|null} column */
  constructor(column, values) {
    /** The names of the groups (null: a scale); the groups with a colour, by number; those that are not shown, by name. */
    Object.assign(this, { column, values, low: 0, high: 1, groups: null, coloured: [], hidden: new Set() });
  }

  /** Find the groups and the largest of them, or the range of the scale. */
  measure(store) {
    if (!this.column) return;
    const { kind, names, diverging } = this.column;
    const numbers = kind === "number" && !diverging ? fewWholeNumbers(store, this.values) : null;
    this.places = numbers && new Map(numbers.map((value, i) => [value, i]));
    this.groups = kind === "category" ? names : (numbers?.map(String) ?? null);
    if (this.groups) this.rank(store);
    else this.measureScale(store);
  }

  /** The number of a value's group; undefined: missing. */
  groupOf(value) {
    return this.places ? this.places.get(value) : Number.isFinite(value) ? value : undefined;
  }

  /** Choose the groups with a colour: the largest ones. */
  rank(store) {
    const sizes = this.groups.map(() => 0);
    for (let arrival = store.oldest; arrival < store.next; arrival++) {
      const group = this.groupOf(this.values[store.slot(arrival)]);
      if (group !== undefined) sizes[group]++;
    }
    const bySize = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a] || (this.groups[a] < this.groups[b] ? -1 : 1));
    const most = GROUPS.length;
    if (this.coloured.length < most || bySize.length <= most) this.coloured = bySize.slice(0, most);
    for (const i of bySize) {
      const smallest = this.coloured.reduce((a, b) => (sizes[b] < sizes[a] ? b : a));
      if (this.coloured.includes(i)) continue;
      if (sizes[i] < TAKES_OVER * sizes[smallest] || !sizes[i]) break;
      this.coloured[this.coloured.indexOf(smallest)] = i;
    }
    const slots = paletteSlots(this.coloured.map((i) => this.groups[i]));
    this.shades = this.groups.map((name, i) => (this.coloured.includes(i) ? slots.get(name) : OTHER_SHADE));
  }

  /** Set the range of the scale to the middle 98 % of the values, so that outliers do not compress it. */
  measureScale(store) {
    const step = Math.max(1, Math.floor(store.count / 5000));
    const known = [];
    for (let arrival = store.oldest; arrival < store.next; arrival += step) {
      const value = this.values[store.slot(arrival)];
      if (Number.isFinite(value)) known.push(value);
    }
    known.sort((a, b) => a - b);
    const at = (share) => known[Math.round(share * (known.length - 1))];
    [this.low, this.high] = known.length ? [at(0.01), at(0.99)] : [0, 1];
    if (this.column.diverging) this.low = -(this.high = Math.max(-this.low, this.high, 1e-9));
  }

  shade(slot) {
    if (!this.column) return 0;
    const value = this.values[slot];
    if (this.groups) {
      const group = this.groupOf(value);
      if (this.hidden.size && this.hidden.has(this.groups[group])) return HIDDEN_SHADE;
      return group === undefined ? MISSING_SHADE : (this.shades[group] ?? OTHER_SHADE);
    }
    if (!Number.isFinite(value)) return MISSING_SHADE;
    const span = this.high - this.low || 1;
    return Math.round(SCALE_END * Math.min(1, Math.max(0, (value - this.low) / span)));
  }

  /** Colour the arrivals from `first` on. */
  apply(store, first = store.oldest) {
    for (let arrival = first; arrival < store.next; arrival++) {
      const slot = store.slot(arrival);
      store.look[2 * slot] = this.shade(slot);
    }
    store.touch(first, store.next);
  }
}

/** The values of a column in order if they are few whole numbers, which are groups; otherwise null. */
function fewWholeNumbers(store, values) {
  const found = new Set();
  for (let arrival = store.oldest; arrival < store.next; arrival++) {
    const value = values[store.slot(arrival)];
    if (!Number.isFinite(value)) continue;
    found.add(value);
    if (found.size > GROUPS.length || !Number.isInteger(value)) return null;
  }
  return found.size ? [...found].sort((a, b) => a - b) : null;
}
