/** The map in a notebook: the kernel sets the scene, a whole message, whenever it has changed. */

import { element } from "./dom.js";
import { mount } from "./mount.js";
import { decodeMessage } from "./protocol.js";

export default {
  render({ model, el }) {
    const root = element("div", { className: "cell" });
    el.append(root);
    const show = () => {
      const bytes = model.get("scene");
      if (!bytes?.byteLength || isPaused()) return;
      view.receive(decodeMessage(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)));
      setStatus(`${view.store.next.toLocaleString("en")} rows`);
    };
    const { view, setStatus, isPaused } = mount(root, { live: true, onPause: (paused) => paused || queueMicrotask(show) });
    model.on("change:scene", show);
    return () => model.off("change:scene", show);
  },
};
