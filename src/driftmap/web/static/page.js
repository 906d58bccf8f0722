/** The page of `driftmap watch`: messages come by a WebSocket, which is opened again whenever it is lost. */

import { curvePanel } from "./curves.js";
import { formatNumber } from "./dom.js";
import { mount } from "./mount.js";
import { decodeMessage } from "./protocol.js";

const LONGEST_WAIT_MS = 3000;

let socket = null;
/** Whether the server waits for the notice that its last message is drawn, before it sends another one. */
let owed = false;
let wait = 250;

const { view, setStatus, isPaused } = mount(document.getElementById("driftmap"), {
  live: true,
  onPause: () => acknowledge(),
  more: (map) => [curvePanel(map)],
});

/** Ask for the next message; a page that is paused, hidden or slow does so later, and gets newer ones then. */
function acknowledge() {
  if (!owed || isPaused() || socket.readyState !== WebSocket.OPEN) return;
  owed = false;
  socket.send(String(view.store.next));
}

function connect() {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/stream`);
  socket.binaryType = "arraybuffer";
  owed = false;
  // A page that is hidden draws nothing for now; the server hears from it nevertheless.
  socket.addEventListener("open", () => socket.send("open"));
  socket.addEventListener("message", ({ data }) => {
    wait = 250;
    owed = true;
    view.receive(decodeMessage(data));
  });
  socket.addEventListener("close", () => {
    setStatus("not connected; trying again");
    setTimeout(connect, (wait = Math.min(LONGEST_WAIT_MS, 2 * wait)));
  });
}

view.addEventListener("drawn", acknowledge);
view.addEventListener("begun", () => (document.title = `${view.title} · Driftmap`));
view.addEventListener("received", ({ detail: { arrays } }) => {
  const last = (name) => arrays[name][arrays[name].length - 1];
  if (arrays.time) setStatus(`${formatNumber(last("rows"))} rows · ${formatNumber(Math.round(last("rate")))} rows/s`);
});
connect();
