/** Puts the map with its controls into an element, for the page, the notebook and the file alike. */

import { alertPanel } from "./alerts.js";
import { changePanel } from "./change.js";
import { element, formatNumber } from "./dom.js";
import { Interaction } from "./interaction.js";
import { keyDialog } from "./keys.js";
import { colourPanel } from "./legend.js";
import { movePanel } from "./moves.js";
import { rowTip, selectionPanel, timePanel } from "./panels.js";
import { glide } from "./store.js";
import { MapView } from "./view.js";

/** Milliseconds of a replay, and between announcements to screen readers; steps of a replay with reduced motion. */
const [PLAY_MS, ANNOUNCED_MS, CALM_STEPS] = [12000, 10000, 12];

/** Options: live is true if points keep arriving; onPause is told of pauses; more returns further panels for a view. */
export function mount(root, { live, onPause = () => {}, more = () => [] }) {
  const view = new MapView(live);
  const state = { paused: !live };
  const title = element("h1", { textContent: "Driftmap" });
  const status = element("span", { className: "status" });
  const announced = element("p", { className: "unseen", role: "status" });
  const banner = element("p", { className: "banner", role: "alert", hidden: true });
  const keys = keyDialog();
  const button = (text, key, onclick, pressed) =>
    element("button", { textContent: text, title: `${text} (${key})`, onclick, ...(pressed === undefined ? {} : { "aria-pressed": pressed }) });

  const setPaused = (paused) => {
    state.paused = paused;
    pause.textContent = live ? (paused ? "Resume" : "Pause") : paused ? "Play" : "Stop";
    pause.title = `${pause.textContent} (space)`;
    if (live && !paused) view.goBack(0);
    if (!live && !paused) play(view, () => setPaused(true), () => state.paused);
    onPause(paused);
  };
  const toggle = (property, node) => {
    view[property] = !view[property];
    node.setAttribute("aria-pressed", view[property]);
    view.redraw();
  };
  const pause = button("", "space", () => setPaused(!state.paused));
  const lasso = button("Lasso", "l, or shift and drag", () => {
    mouse.lassoMode = !mouse.lassoMode;
    view.element.classList.toggle("drawing", mouse.lassoMode);
    lasso.setAttribute("aria-pressed", mouse.lassoMode);
  }, false);
  const trail = button("Trail", "t", () => toggle("showTrail", trail), live);
  const marks = button("Landmarks", "m", () => toggle("showLandmarks", marks), true);
  const fit = button("Fit", "0", () => view.fit());
  const theme = button("Dark", "d", () => setTheme(!view.dark));
  const help = button("Keys", "?", () => keys.showModal());
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    theme.textContent = dark ? "Light" : "Dark";
    view.setDark(dark);
  };
  const pressed = Object.entries({ " ": pause, l: lasso, t: trail, m: marks, d: theme, "?": help });
  const mouse = new Interaction(view, {
    ...Object.fromEntries(pressed.map(([key, node]) => [key, () => node.click()])),
    r: () => alerts?.toggleRings(),
    "[": () => time.step(-1),
    "]": () => time.step(1),
  });
  const time = timePanel(view, () => live && !state.paused && setPaused(true));
  time.step = (by) => {
    if (live && !state.paused) setPaused(true);
    view.goBack(view.back - by * Math.max(1, Math.round(view.store.count / 100)));
  };
  rowTip(view);
  const alerts = live ? alertPanel(view) : null;
  const side = element("aside", {}, colourPanel(view), changePanel(view), selectionPanel(view), ...(alerts ? [alerts] : []), movePanel(view), ...more(view));
  root.classList.add("driftmap");
  const buttons = [pause, fit, lasso, trail, marks, theme, help];
  root.append(
    element("header", {}, title, status, element("nav", { "aria-label": "Map" }, ...buttons)),
    banner,
    element("main", {}, view.element, side),
    element("footer", {}, time),
    announced,
    keys,
  );
  view.addEventListener("begun", () => (title.textContent = view.title));
  view.addEventListener("coloured", () => {
    trail.disabled = !view.mayTrail();
    trail.title = trail.disabled ? "There are too many groups for trails" : "Trail (t)";
  });
  const { jpThemeLight } = document.body.dataset; // JupyterLab's theme or, outside of it, the system's
  setTheme(jpThemeLight === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : jpThemeLight === "false");
  setPaused(!live);

  /** Show how things are, and tell it to screen readers seldom. */
  const setStatus = (text) => {
    status.textContent = text;
    state.waiting ??= setTimeout(() => {
      state.waiting = undefined;
      announced.textContent = status.textContent + (view.alertCount ? `, ${view.alertCount} alerts` : "");
    }, announced.textContent ? ANNOUNCED_MS : 0);
  };
  return {
    view,
    setStatus,
    isPaused: () => state.paused,
    setBehind: (rows) => setStatus(`Paused, ${formatNumber(rows)} ${rows === 1 ? "row" : "rows"} behind`),
    /** Show a problem above the map, which is greyed out if it is no longer up to date; null: all is well. */
    setProblem: (text, { isLost = false } = {}) => {
      banner.hidden = !text;
      banner.textContent = text ?? "";
      root.classList.toggle("lost", isLost);
    },
  };
}

/** Replay the arrivals in order; in few steps if the user prefers reduced motion. */
function play(view, end, isStopped) {
  const start = performance.now();
  const first = view.back ? view.store.count - view.back : 1;
  const steps = glide.ms > 1 ? 1e6 : CALM_STEPS;
  const step = (now) => {
    if (isStopped()) return;
    const back = view.store.count - Math.round(first + (Math.floor((steps * (now - start)) / PLAY_MS) / steps) * view.store.count);
    if (back !== view.back) view.goBack(back);
    if (view.back > 0) requestAnimationFrame(step);
    else end();
  };
  requestAnimationFrame(step);
}
