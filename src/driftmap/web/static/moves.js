/** The panel on the last move of the map: when, and why. Between two moves every row stays where it is. */

import { element, formatNumber } from "./dom.js";
import { panel } from "./panels.js";

const REASONS = {
  stress: "its stress had grown", growth: "many more rows had come", landmarks: "its landmarks had changed",
  "recent points": "recent rows had no good place", "a cell": "a group of rows had no good place", registered: "it was laid on another map",
};

export function movePanel(view) {
  const text = element("p");
  const box = panel("The map", text);
  view.addEventListener("received", () => {
    box.hidden = !view.moved;
    if (!box.hidden) text.textContent = moveInWords(view.moved);
  });
  box.hidden = true;
  return box;
}

/** One sentence: when the map moved, why, and how far. */
function moveInWords({ frame, row, reason, median }) {
  const far = median === null ? "" : `; half of the rows moved ${(100 * median).toPrecision(2)} % of its width or less`;
  return `Frame ${formatNumber(frame)}. It moved after row ${formatNumber(row)}, because ${REASONS[reason] ?? reason}${far}.`;
}
