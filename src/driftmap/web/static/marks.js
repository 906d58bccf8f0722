/** Marks over the points: the trail, landmarks as diamonds, rings around alerts and the hovered row. */

export const [LINE, DIAMOND, RING] = [0, 1, 2];
const TRAIL = 60;
/** Binary logarithm of the least ratio of shares that is marked. */
const LEAST_CHANGE = 0.5;

/**
 * The marks of a map, bottom first, for a renderer. Sizes are in CSS pixels.
 * @param view see view.js
 * @returns {{shape: number, from: number[], to: number[], radius: number, width: number, colour: string, alpha: number}[]}
 *   a line goes from `from` to `to`; other shapes are centred on `from`; colour is a key of look
 */
export function marksOf(view, now) {
  return [
    ...(view.showTrail ? trail(view, now) : []),
    ...(view.showLandmarks ? [...changedCells(view), ...diamonds(view, now)] : []),
    ...alertRings(view, now),
    ...hoverMarks(view, now),
  ];
}

const line = (from, to, width, alpha) => ({ shape: LINE, from, to, radius: 0, width, colour: "ink", alpha });
const ring = (at, radius, width, colour) => ({ shape: RING, from: at, to: at, radius, width, colour, alpha: 1 });

/** Lines between successive recent arrivals; if points are coloured by group, between those of the same group. */
function trail({ store, camera, back, coloring }, now) {
  const stop = store.next - back;
  const last = new Map();
  const lines = [];
  for (let arrival = Math.max(store.oldest, stop - TRAIL); arrival < stop; arrival++) {
    const group = coloring.kind === "category" ? coloring.values[store.slot(arrival)] : 0;
    const place = camera.toScreen(store.position(arrival, now));
    if (last.has(group)) lines.push(line(last.get(group), place, 1, 0.5 * (1 - (stop - arrival) / TRAIL)));
    last.set(group, place);
  }
  return lines;
}

/** Diamonds with area proportional to the landmark's mass, within limits. */
function diamonds(view, now) {
  const set = view.landmarksShown();
  let mean = 0;
  for (const mass of set.mass) mean += mass / set.mass.length;
  return Array.from(set.ids, (_, i) => {
    const at = view.camera.toScreen(set.position(i, now));
    const radius = Math.min(11, Math.max(2.5, 4 * Math.sqrt(set.mass[i] / (mean || 1))));
    return { shape: DIAMOND, from: at, to: at, radius, width: 1.1, colour: "ink", alpha: 0.9 };
  });
}

/** Rings around landmarks whose cells grew or shrank by half or more, wider for larger changes. */
function changedCells({ change, camera, back }) {
  if (!change || back) return [];
  return Array.from(change.ratio.keys(), (i) => {
    const size = Math.min(3, Math.abs(change.ratio[i]));
    const at = camera.toScreen([change.x[i], change.y[i]]);
    return size < LEAST_CHANGE ? null : ring(at, 7 + 2 * size, 1 + 1.3 * size, change.ratio[i] > 0 ? "grew" : "shrank");
  }).filter(Boolean);
}

/** Rings around novel rows; rows outside the view are marked at its border. A drift is no single row. */
function alertRings({ store, camera, alerts, back }, now) {
  const shown = alerts.filter(({ kind, row }) => kind !== "drift" && store.has(row) && row < store.next - back);
  return shown.map(({ row }) => {
    const [x, y] = camera.toScreen(store.position(row, now));
    const seen = [Math.min(camera.width, Math.max(0, x)), Math.min(camera.height, Math.max(0, y))];
    return ring(seen, 9, 2, "alarm");
  });
}

/** A ring around the hovered row, and a line to its nearest landmark. */
function hoverMarks(view, now) {
  if (view.hovered === null || !view.store.has(view.hovered)) return [];
  const at = view.camera.toScreen(view.store.position(view.hovered, now));
  const landmark = view.nearestLandmark(view.hovered, now);
  const lines = landmark ? [line(at, view.camera.toScreen(landmark.position), 1.5, 1)] : [];
  return [...lines, ring(at, 7, 1.5, "ink")];
}
