/** Where the groups have been: the smoothed path of the centre of each group over the rows that are shown. */

import { HIDDEN_SHADE } from "./colours.js";

/** The rows are cut into at most this many parts of equal length; a path is computed from at most TRAIL_ROWS of them. */
const [PARTS, TRAIL_ROWS] = [16, 4000];
/** Weight of what came before a part; least share of the rows that makes a path. */
const [INERTIA, LEAST_SHARE] = [0.5, 0.01];

/** The path of each group, or of all rows if they are not coloured by group: places on the map, oldest first. */
export function paths({ store, coloring, back, bounds: [left, bottom, right, top] }, now) {
  const stop = store.next - back;
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, (stop - store.oldest) / PARTS)));
  const step = Math.max(1, length / 2 ** Math.floor(Math.log2(TRAIL_ROWS / PARTS)));
  // Parts begin at multiples of their length, and rows are taken at multiples of the step: they stay as rows arrive.
  const first = Math.ceil(store.oldest / length) * length;
  const found = new Map();
  for (let arrival = first; arrival < stop; arrival += step) {
    const slot = store.slot(arrival);
    const group = coloring.groups ? coloring.groupOf(coloring.values[slot]) : 0;
    const [x, y] = store.position(arrival, now);
    const isOutside = x < left || x > right || y < bottom || y > top;
    if (group === undefined || isOutside || store.look[2 * slot] === HIDDEN_SHADE) continue;
    if (!found.has(group)) found.set(group, new Map());
    const sums = found.get(group);
    const part = Math.floor(arrival / length);
    const sum = sums.get(part) ?? [0, 0, 0];
    sums.set(part, [sum[0] + x, sum[1] + y, sum[2] + 1]);
  }
  const least = (LEAST_SHARE * (stop - first)) / step;
  const groups = Array.from(found.values(), (sums) => [...sums.values()]);
  return groups.filter((sums) => sums.reduce((rows, [, , n]) => rows + n, 0) >= least).map(smoothed);
}

/** Running means of the parts; a part with few rows moves them less. */
function smoothed(sums) {
  let [x, y, weight] = [0, 0, 0];
  return sums.map(([sx, sy, n]) => {
    [x, y, weight] = [INERTIA * x + sx, INERTIA * y + sy, INERTIA * weight + n];
    return [x / weight, y / weight];
  });
}
