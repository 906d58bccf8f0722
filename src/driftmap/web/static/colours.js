/** Colours of points: a scale for numbers and dates, a palette for groups. The same as in the figures. */

const VIRIDIS =
  "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725"
    .split(" ").map(parseColour);
const GROUPS = "0072b2 e69f00 009e73 cc79a7 56b4e9 d55e00 7a5195 8c564b 66a61e 4d4d4d".split(" ").map(parseColour);
const GREY = parseColour("a9afb6");
/** The place in a palette of missing values, and of groups beyond the tenth. */
export const MISSING_SHADE = 255;

/** Red, green and blue of six hexadecimal digits. */
export function parseColour(hex) {
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** The colour at t from 0 to 1. On a dark background the darkest part of the scale is left out. */
function onScale(t, dark) {
  const place = (dark ? 0.18 + 0.82 * t : t * 0.97) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(place));
  return VIRIDIS[i].map((c, j) => Math.round(c + (place - i) * (VIRIDIS[i + 1][j] - c)));
}

/** 256 colours as red, green, blue. */
export function paletteOf(coloring, dark) {
  return Array.from({ length: 256 }, (_, i) => {
    if (i === MISSING_SHADE) return GREY;
    if (coloring.kind === "category") return i < GROUPS.length ? GROUPS[i] : GREY;
    return onScale(i / 254, dark);
  });
}

export function cssColour([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

/** How points are coloured: by arrival (no column), or by the values of a column. */
export class Coloring {
  /** @param {{name: string, kind: string, base: number, names: string[]}|null} column */
  constructor(column, values) {
    this.column = column;
    this.kind = column ? column.kind : "arrival";
    this.values = values;
    this.low = 0;
    this.high = 1;
  }

  /** Find the range of the scale: the middle 98 % of the values, so that one outlier does not take all colours. */
  measure(store) {
    if (!this.column || this.kind === "category") return;
    const step = Math.max(1, Math.floor(store.count / 5000));
    const known = [];
    for (let arrival = store.oldest; arrival < store.next; arrival += step) {
      const value = this.values[store.slot(arrival)];
      if (Number.isFinite(value)) known.push(value);
    }
    known.sort((a, b) => a - b);
    const at = (share) => known[Math.round(share * (known.length - 1))];
    [this.low, this.high] = known.length ? [at(0.01), at(0.99)] : [0, 1];
  }

  shade(slot) {
    if (!this.column) return 0;
    const value = this.values[slot];
    if (!Number.isFinite(value)) return MISSING_SHADE;
    if (this.kind === "category") return value < GROUPS.length ? value : MISSING_SHADE;
    const span = this.high - this.low || 1;
    return Math.round(254 * Math.min(1, Math.max(0, (value - this.low) / span)));
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
