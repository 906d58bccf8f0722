/** Colours of points: a scale for numbers and dates, a palette for groups, as in the figures. */

const VIRIDIS =
  "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725"
    .split(" ").map(parseColour);
const GROUPS = "0072b2 e69f00 009e73 cc79a7 56b4e9 d55e00 7a5195 8c564b 66a61e 4d4d4d".split(" ").map(parseColour);
const GREY = parseColour("a9afb6");
/** The diverging scale: fewer, unchanged, more. */
const CHANGE = "3b4cc0 7b9ff9 c0c5cd f08a6c b40426".split(" ").map(parseColour);
/** Palette index of missing values, and of groups beyond the tenth. */
export const MISSING_SHADE = 255;

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
    if (i === MISSING_SHADE) return GREY;
    if (coloring.kind === "category") return i < GROUPS.length ? GROUPS[i] : GREY;
    if (coloring.column?.diverging) return onScale(i / 254, CHANGE);
    return onScale(dark ? 0.18 + (0.82 * i) / 254 : (0.97 * i) / 254, VIRIDIS); // the dark end is lost on a dark background
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

  /** Set the range of the scale to the middle 98 % of the values, so that outliers do not compress it. */
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
    if (!this.column.diverging) return;
    this.high = Math.max(-this.low, this.high, 1e-9);
    this.low = -this.high;
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
