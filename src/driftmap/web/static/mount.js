/** Puts the map with its controls into an element, for the page, the notebook and the file alike. */

import { alertPanel } from "./alerts.js";
import { element, formatNumber } from "./dom.js";
import { Interaction } from "./interaction.js";
import { keyDialog } from "./keys.js";
import { colourPanel } from "./legend.js";
import { rowTip, selectionPanel, timePanel } from "./panels.js";
import { glide } from "./store.js";
import { MapView } from "./view.js";

const PLAY_MS = 12000;
/** Steps of a replay for users who prefer reduced motion. */
const CALM_STEPS = 12;
/** Milliseconds between announcements to screen readers. */
const ANNOUNCED_MS = 10000;

/**
 * @param {HTMLElement} root
 * @param {{live: boolean, onPause?: (paused: boolean) => void, more?: (view: MapView) => HTMLElement[]}} options
 *   live: true if points keep arriving; more: returns further panels
 */
export function mount(root, { live, onPause = () => {}, more = () => [] }) {
  const view = new MapView(live);
  const state = { paused: !live };
  const title = element("h1", { textContent: "Driftmap" });
  const status = element("span", { className: "status" });
  const announced = element("p", { className: "unseen", role: "status" });
  const banner = element("p", { className: "banner", role: "alert", hidden: true });
  const keys = keyDialog();
  const button = (text, key, action, properties = {}) =>
    element("button", { textContent: text, title: `${text} (${key})`, onclick: action, ...properties });

  const setPaused = (paused) => {
    state.paused = paused;
    pause.textContent = live ? (paused ? "Resume" : "Pause") : paused ? "Play" : "Stop";
    pause.title = `${pause.textContent} (space)`;
    if (live && !paused) view.goBack(0);
    if (!live && !paused) play(view, () => setPaused(true), () => state.paused);
    onPause(paused);
  };
  const toggle = (property, node) => () => {
    view[property] = !view[property];
    node.setAttribute("aria-pressed", view[property]);
    view.redraw();
  };
  const pause = button("", "space", () => setPaused(!state.paused));
  const lasso = button("Lasso", "l, or shift and drag", () => {
    mouse.lassoMode = !mouse.lassoMode;
    view.element.classList.toggle("drawing", mouse.lassoMode);
    lasso.setAttribute("aria-pressed", mouse.lassoMode);
  }, { "aria-pressed": "false" });
  const trail = button("Trail", "t", () => toggleTrail(), { "aria-pressed": live });
  const marks = button("Landmarks", "m", () => toggleMarks(), { "aria-pressed": "true" });
  const fit = button("Fit", "0", () => view.fit());
  const theme = button("Dark", "d", () => setTheme(!view.dark));
  const help = button("Keys", "?", () => keys.showModal());
  const [toggleTrail, toggleMarks] = [toggle("showTrail", trail), toggle("showLandmarks", marks)];
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    theme.textContent = dark ? "Light" : "Dark";
    view.setDark(dark);
  };
  const mouse = new Interaction(view, {
    " ": () => pause.click(),
    l: () => lasso.click(),
    t: () => trail.click(),
    m: toggleMarks,
    r: () => alerts?.toggleRings(),
    d: () => setTheme(!view.dark),
    "?": () => help.click(),
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
  const side = element("aside", {}, colourPanel(view), selectionPanel(view), ...(alerts ? [alerts] : []), ...more(view));
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
  setTheme(startsDark());
  setPaused(!live);

  /** Say how things are: where it is read, and seldom to screen readers. */
  const announce = () => {
    state.waiting = undefined;
    const alarms = view.alerts.length ? `, ${view.alertCount} alerts` : "";
    announced.textContent = status.textContent + alarms;
  };
  const setStatus = (text) => {
    status.textContent = text;
    state.waiting ??= setTimeout(announce, announced.textContent ? ANNOUNCED_MS : 0);
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

/** True if JupyterLab or, outside of it, the system has a dark theme. */
function startsDark() {
  const light = document.body.dataset.jpThemeLight;
  return light === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : light === "false";
}

/** Replay the arrivals in order; in few steps if the user prefers reduced motion. */
function play(view, end, isStopped) {
  const start = performance.now();
  const first = view.back ? view.store.count - view.back : 1;
  const steps = glide.ms > 1 ? Infinity : CALM_STEPS;
  const step = (now) => {
    if (isStopped()) return;
    const part = (now - start) / PLAY_MS;
    const shown = first + (steps < Infinity ? Math.floor(part * steps) / steps : part) * view.store.count;
    if (view.store.count - Math.round(shown) !== view.back) view.goBack(view.store.count - Math.round(shown));
    if (view.back > 0) requestAnimationFrame(step);
    else end();
  };
  requestAnimationFrame(step);
}
