/** The page of `driftmap watch`: receives messages from a WebSocket, and reconnects when it is lost. */

import { curvePanel } from "./curves.js";
import { formatNumber } from "./dom.js";
import { mount } from "./mount.js";
import { decodeMessage } from "./protocol.js";

const LONGEST_WAIT_MS = 3000;

let [socket, wait] = [null, 250];
/** True while the server waits for the acknowledgement of its last message; what is wrong with that message, if anything. */
let [owed, damage] = [false, null];

const { view, setStatus, setBehind, setProblem, isPaused } = mount(document.getElementById("driftmap"), {
  live: true,
  onPause: () => acknowledge(),
  more: (map) => [curvePanel(map)],
});

/** Request the next message; a paused, hidden or slow page does so later and then gets newer data. */
function acknowledge() {
  if (!owed || isPaused() || socket.readyState !== WebSocket.OPEN) return;
  owed = false;
  socket.send(String(view.store.next));
}

/** Show a message. After a damaged one, the page connects again, which brings the whole scene. */
function receive(data) {
  if (typeof data === "string") {
    if (isPaused() && view.store) setBehind(Number(data) - view.store.next);
    return;
  }
  try {
    view.receive(decodeMessage(data));
    [owed, wait, damage] = [true, 250, null];
  } catch (error) {
    damage = `A message was damaged (${error.message}). The page asks for all of it again.`;
    view.title = undefined; // the next scene begins, even if it continues this one
    socket.close();
  }
  setProblem(damage);
}

function connect() {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/stream`);
  socket.binaryType = "arraybuffer";
  owed = false;
  // A hidden page does not draw, but the server expects a first message soon.
  socket.addEventListener("open", () => socket.send("open"));
  socket.addEventListener("message", ({ data }) => receive(data));
  socket.addEventListener("close", () => {
    if (!damage) setProblem("The connection is lost: the map is as it was then. The page tries to connect again.", { isLost: true });
    setTimeout(connect, (wait = Math.min(LONGEST_WAIT_MS, 2 * wait)));
  });
}

view.addEventListener("drawn", acknowledge);
view.addEventListener("begun", () => (document.title = `${view.title} · Driftmap`));
view.addEventListener("received", ({ detail: { arrays } }) => {
  const last = (name) => arrays[name][arrays[name].length - 1];
  if (isPaused()) setBehind(0);
  else if (arrays.time) setStatus(`${formatNumber(last("rows"))} rows · ${formatNumber(Math.round(last("rate")))} rows/s`);
});
connect();
