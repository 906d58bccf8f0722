/** The map in a single HTML file, which has the data as a compressed message in base64. */

import { mount } from "./mount.js";
import { decodeMessage } from "./protocol.js";

export async function showFile(root, text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const message = decodeMessage(await new Response(stream).arrayBuffer());
  const { view, setStatus } = mount(root, { live: false });
  view.receive(message);
  const counts = `${view.store.count.toLocaleString("en")} rows, ${view.landmarks.latest.ids.length} landmarks`;
  setStatus([counts, message.header.note].filter(Boolean).join(" · "));
  return view;
}

showFile(document.getElementById("driftmap"), document.getElementById("data").textContent.trim());
