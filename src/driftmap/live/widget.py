"""The widget of the live view in a notebook, made with anywidget."""

from __future__ import annotations

from driftmap.utils.errors import MissingDependencyError
from driftmap.web.page import joined, style

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingDependencyError("the live view in a notebook needs anywidget", extra="notebook") from error


class MapWidget(anywidget.AnyWidget):
    """Shows the scene of the last message that was sent. The message is no trait, so that notebooks do not store it."""

    _esm = joined("widget.js")
    _css = style()
    selection = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.scene = b""
        self.on_msg(lambda widget, content, buffers: widget.show(widget.scene))  # a page that was opened asks for it

    def show(self, scene: bytes) -> None:
        """Send a scene to the pages that show the widget."""
        self.scene = scene
        if scene:
            self.send({"kind": "scene"}, [scene])
