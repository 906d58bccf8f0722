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
    """Shows a scene, given as a message of the protocol; a further message updates it."""

    _esm = joined("widget.js")
    _css = style()
    scene = traitlets.Bytes(b"").tag(sync=True)
