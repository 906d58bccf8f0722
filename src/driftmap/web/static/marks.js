/** Marks over the points: trails, landmarks as diamonds, rings around alerts and the hovered row, outliers at the border. */

import { chosenAlerts } from "./alerts.js";
import { GREW, SHRANK } from "./colours.js";
import { paths } from "./trail.js";

export const [LINE, DIAMOND, RING] = [0, 1, 2];
/** Landmarks drawn, at most: the heaviest. Outliers, and the length of their lines. */
const [MOST_DIAMONDS, MOST_OUTLIERS, OUTLIER_LENGTH] = [100, 100, 7];
/** Binary logarithm of the least ratio of shares that is marked. */
const LEAST_CHANGE = 0.5;

/**
 * The marks of a map, bottom first, in CSS pixels: {shape, from, to, radius, width, colour, alpha}. A line goes from `from`
 * to `to`, other shapes are centred on `from`; the colour is a key of look, or red, green and blue.
 */
export function marksOf(view, now) {
  return [
    ...(view.showTrail && view.mayTrail() ? trails(view, now) : []),
    ...(view.showLandmarks ? [...changedCells(view), ...diamonds(view, now)] : []),
    ...outliers(view, now),
    ...(view.showRings ? alertRings(view, now) : []),
    ...hoverMarks(view, now),
  ];
}

const line = (from, to, width, alpha, colour = "ink") => ({ shape: LINE, from, to, radius: 0, width, colour, alpha });
const ring = (at, radius, width, colour) => ({ shape: RING, from: at, to: at, radius, width, colour, alpha: 1 });

/** The way of the centre of each group on a rim of paper, the newest part strongest. */
function trails(view, now) {
  return paths(view, now).flatMap((places) => {
    const way = places.map((place) => view.camera.toScreen(place));
    const parts = (width, colour) => way.slice(1).map((place, i) => line(way[i], place, width, (i + 1) / (way.length - 1), colour));
    return [...parts(4.5, "paper"), ...parts(2, "ink")];
  });
}

/** Diamonds with area proportional to the landmark's mass, within limits. */
function diamonds(view, now) {
  const set = view.landmarksShown();
  const mean = set.mass.reduce((sum, mass) => sum + mass / set.mass.length, 0) || 1;
  const heaviest = Array.from(set.ids.keys()).sort((a, b) => set.mass[b] - set.mass[a]).slice(0, MOST_DIAMONDS);
  const usual = Math.min(4, Math.max(2.5, 20 / Math.sqrt(heaviest.length)));
  return heaviest.map((i) => {
    const at = view.camera.toScreen(set.position(i, now));
    const radius = Math.min(1.8 * usual, Math.max(2, usual * Math.sqrt(set.mass[i] / mean)));
    return { shape: DIAMOND, from: at, to: at, radius, width: 1.1, colour: "ink", alpha: 0.9 };
  });
}

/** Rings around landmarks whose cells grew or shrank by half or more, wider for larger changes. */
function changedCells({ change, camera, back }) {
  if (!change || back) return [];
  return Array.from(change.ratio.keys(), (i) => {
    const size = Math.min(3, Math.abs(change.ratio[i]));
    const at = camera.toScreen([change.x[i], change.y[i]]);
    return size < LEAST_CHANGE ? null : ring(at, 7 + 2 * size, 1 + 1.3 * size, change.ratio[i] > 0 ? GREW : SHRANK);
  }).filter(Boolean);
}

/** Short lines at the border for rows outside the bounds of the view, until the user moves it. */
function outliers(view, now) {
  const { camera, store, palette } = view;
  return (camera.auto ? view.outside : []).slice(-MOST_OUTLIERS).map((arrival) => {
    const at = camera.toScreen(store.position(arrival, now));
    const edge = clamped(at, camera, 2);
    const inner = clamped(at, camera, 2 + OUTLIER_LENGTH);
    return line(edge, inner, 3, 1, palette[store.look[2 * store.slot(arrival)]]);
  });
}

/** The point of the view, without its margin, that is nearest to a place. */
function clamped([x, y], { width, height }, margin) {
  return [Math.min(width - margin, Math.max(margin, x)), Math.min(height - margin, Math.max(margin, y))];
}

/** Rings around the rows of the listed alerts; rows outside the view are marked at its border. A drift is no single row. */
function alertRings(view, now) {
  const { store, camera, back } = view;
  const shown = chosenAlerts(view).filter(({ kind, row }) => kind !== "drift" && store.has(row) && row < store.next - back);
  return shown.map(({ row }) => ring(clamped(camera.toScreen(store.position(row, now)), camera, 0), 9, 2, "alarm"));
}

/** A ring around the hovered row, and a line to its nearest landmark. */
function hoverMarks(view, now) {
  if (view.hovered === null || !view.store.has(view.hovered)) return [];
  const at = view.camera.toScreen(view.store.position(view.hovered, now));
  const landmark = view.nearestLandmark(view.hovered, now);
  const lines = landmark ? [line(at, view.camera.toScreen(landmark.position), 1.5, 1)] : [];
  return [...lines, ring(at, 7, 1.5, "ink")];
}
