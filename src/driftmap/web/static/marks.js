/** What lies over the points: the trail, landmarks as diamonds, rings around alerts and the row under the pointer. */

export const [LINE, DIAMOND, RING] = [0, 1, 2];
const TRAIL = 60;

/**
 * The marks of a map, those below first. A renderer draws them; sizes are in pixels of the page.
 * @param view see view.js
 * @returns {{shape: number, from: number[], to: number[], radius: number, width: number, colour: string, alpha: number}[]}
 *   a line goes from one place to another, the other shapes are around `from`; colour: a name of look
 */
export function marksOf(view, now) {
  return [
    ...(view.showTrail ? trail(view, now) : []),
    ...(view.showLandmarks ? diamonds(view, now) : []),
    ...alertRings(view, now),
    ...hoverMarks(view, now),
  ];
}

const line = (from, to, width, alpha) => ({ shape: LINE, from, to, radius: 0, width, colour: "ink", alpha });
const ring = (at, radius, width, colour) => ({ shape: RING, from: at, to: at, radius, width, colour, alpha: 1 });

/** Lines from each of the last arrivals to the one before it, of its group if groups are coloured. */
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

/** Diamonds whose area is the landmark's mass. */
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

/** Rings around rows with an alert, at the border if they are outside of the view. */
function alertRings({ store, camera, alerts, back }, now) {
  const shown = alerts.filter(({ row }) => store.has(row) && row < store.next - back);
  return shown.map(({ row }) => {
    const [x, y] = camera.toScreen(store.position(row, now));
    const seen = [Math.min(camera.width, Math.max(0, x)), Math.min(camera.height, Math.max(0, y))];
    return ring(seen, 9, 2, "alarm");
  });
}

/** A ring around the row under the pointer, and a line to its nearest landmark. */
function hoverMarks(view, now) {
  if (view.hovered === null || !view.store.has(view.hovered)) return [];
  const at = view.camera.toScreen(view.store.position(view.hovered, now));
  const landmark = view.nearestLandmark(view.hovered, now);
  const lines = landmark ? [line(at, view.camera.toScreen(landmark.position), 1.5, 1)] : [];
  return [...lines, ring(at, 7, 1.5, "ink")];
}
