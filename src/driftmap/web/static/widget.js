/** The map in a notebook: the kernel sets the scene, a whole message, when it has changed. */

import { element } from "./dom.js";
import { mount } from "./mount.js";
import { decodeMessage } from "./protocol.js";

export default {
  render({ model, el }) {
    const root = element("div", { className: "cell" });
    el.append(root);
    const show = () => {
      const bytes = model.get("scene");
      if (!bytes?.byteLength) return;
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
    model.on("change:scene", show);
    model.on("change:selection", select);
    return () => {
      model.off("change:scene", show);
      model.off("change:selection", select);
    };
  },
};
