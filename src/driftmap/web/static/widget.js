/** The map in a notebook: the kernel sends the scene, a whole message, when it has changed. */

import { element } from "./dom.js";
import { mount } from "./mount.js";
import { decodeMessage } from "./protocol.js";

export default {
  render({ model, el }) {
    const root = element("div", { className: "cell" });
    el.append(root);
    let bytes = null;
    const show = () => {
      if (!bytes) return;
      try {
        const message = decodeMessage(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
        const { first } = message.header;
        if (isPaused()) return view.store && setBehind(first + message.arrays.x.length - view.store.next);
        view.receive(message);
        setProblem(null);
        setStatus(`${view.store.next.toLocaleString("en")} rows`);
        select();
      } catch (error) {
        setProblem(`A message was damaged: ${error.message}.`);
      }
    };
    /** Highlight what the kernel selects, and tell it what the user has selected. */
    const select = () => {
      const chosen = model.get("selection");
      if (view.store && String(view.selection()) !== String(chosen)) view.selectRows(chosen);
    };
    const { view, setStatus, setBehind, setProblem, isPaused } = mount(root, {
      live: true,
      onPause: (paused) => paused || queueMicrotask(show),
    });
    view.addEventListener("chosen", () => {
      model.set("selection", view.selection());
      model.save_changes();
    });
    const receive = (content, [buffer]) => {
      bytes = ArrayBuffer.isView(buffer) ? buffer : new Uint8Array(buffer);
      show();
    };
    model.on("msg:custom", receive);
    model.on("change:selection", select);
    model.send({ kind: "opened" });
    return () => {
      model.off("msg:custom", receive);
      model.off("change:selection", select);
    };
  },
};
