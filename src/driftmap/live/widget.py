"""The live view in a notebook, by anywidget."""

from __future__ import annotations

from driftmap.utils.errors import MissingDependencyError
from driftmap.web.page import joined, style

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingDependencyError("the live view in a notebook needs anywidget", extra="notebook") from error


class MapWidget(anywidget.AnyWidget):
    """Shows a scene: whatever message of the protocol it is given, and with the next one, what has changed."""

    _esm = joined("widget.js")
    _css = style()
    scene = traitlets.Bytes(b"").tag(sync=True)
