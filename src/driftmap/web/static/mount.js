/** Puts the map with its controls into an element, for the page, the notebook and the file alike. */

import { element } from "./dom.js";
import { Interaction } from "./interaction.js";
import { changePanel } from "./change.js";
import { alertPanel, colourPanel, rowTip, selectionPanel, timePanel } from "./panels.js";
import { MapView } from "./view.js";

const PLAY_MS = 12000;

/**
 * @param {HTMLElement} root
 * @param {{live: boolean, onPause?: (paused: boolean) => void, more?: (view: MapView) => HTMLElement[]}} options
 *   live: true if points keep arriving; more: returns further panels
 */
export function mount(root, { live, onPause = () => {}, more = () => [] }) {
  const view = new MapView(live);
  const state = { paused: !live };
  const title = element("h1", { textContent: "Driftmap" });
  const status = element("span", { className: "status", role: "status" });
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
    lasso.setAttribute("aria-pressed", mouse.lassoMode);
  }, { "aria-pressed": "false" });
  const trail = button("Trail", "t", () => toggleTrail(), { "aria-pressed": live });
  const marks = button("Landmarks", "m", () => toggleMarks(), { "aria-pressed": "true" });
  const fit = button("Fit", "0", () => mouse.fit());
  const theme = button("Dark", "d", () => setTheme(!view.dark));
  const [toggleTrail, toggleMarks] = [toggle("showTrail", trail), toggle("showLandmarks", marks)];
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    theme.textContent = dark ? "Light" : "Dark";
    view.setDark(dark);
  };
  const mouse = new Interaction(view, {
    " ": () => pause.click(),
    l: () => lasso.click(),
    t: toggleTrail,
    m: toggleMarks,
    d: () => setTheme(!view.dark),
    "[": () => time.step(-1),
    "]": () => time.step(1),
  });
  const time = timePanel(view, () => live && !state.paused && setPaused(true));
  time.step = (by) => {
    if (live && !state.paused) setPaused(true);
    view.goBack(view.back - by * Math.max(1, Math.round(view.store.count / 100)));
  };
  rowTip(view);
  const alerts = live ? [alertPanel(view)] : [];
  const side = element("aside", {}, colourPanel(view), changePanel(view), selectionPanel(view), ...alerts, ...more(view));
  root.classList.add("driftmap");
  root.append(
    element("header", {}, title, status, element("nav", { "aria-label": "Map" }, pause, fit, lasso, trail, marks, theme)),
    element("main", {}, view.element, side),
    element("footer", {}, time),
  );
  view.addEventListener("begun", () => (title.textContent = view.title));
  setTheme(startsDark());
  setPaused(!live);
  return { view, setStatus: (text) => (status.textContent = text), isPaused: () => state.paused };
}

/** True if JupyterLab or, outside of it, the system has a dark theme. */
function startsDark() {
  const light = document.body.dataset.jpThemeLight;
  return light === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : light === "false";
}

/** Replay the arrivals in order. */
function play(view, end, isStopped) {
  const start = performance.now();
  const first = view.back ? view.store.count - view.back : 1;
  const step = (now) => {
    if (isStopped()) return;
    const shown = first + ((now - start) / PLAY_MS) * view.store.count;
    view.goBack(view.store.count - Math.round(shown));
    if (view.back > 0) requestAnimationFrame(step);
    else end();
  };
  requestAnimationFrame(step);
}
