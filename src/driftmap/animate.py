"""Animations: the map growing as the stream arrives, with the radius below.

A :class:`Film` feeds a map and notes its frames at evenly spread moments; what it keeps does not grow with the stream.
Nothing is drawn before the end, when the extent of the whole map is known: the axes never move.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap import checks
from driftmap.embedding import align, move
from driftmap.frames import Frame, Frames
from driftmap.map import DriftMap
from driftmap.plot import (
    FAINT,
    GREY,
    INK,
    Coloring,
    Panel,
    coloring_of,
    explain,
    landmark_style,
    point_style,
    require_matplotlib,
    set_up,
    spans_of,
)

__all__ = ["FORMATS", "Film", "require_ffmpeg", "save_animation"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
Image = NDArray[np.uint8]

FORMATS = (".gif", ".mp4")
POINTS = 5000
"""Points drawn at most, evenly spread over the stream."""
DPI = 100
SECONDS = 0.08
"""How long a picture is shown."""
HELD = 25
"""How many times longer the last one is shown."""


class Moment(NamedTuple):
    """The map after some arrivals."""

    seen: int
    frame: Frame
    radius: float


class Scene(NamedTuple):
    """What is drawn of a moment."""

    seen: int
    points: Array
    """Positions of the drawn points that have arrived, in order."""
    landmarks: Array
    landmark_arrivals: Ids
    radius: float


class Film:
    """Feeds a map and notes what an animation of it needs.

    Moments are a fixed number of arrivals apart; when there are too many of them, every other one is dropped and the
    distance doubles. So neither the length of the stream need be known nor does memory grow with it.

    The film has frames of its own, each aligned to the one before. Those of the map are not touched: being filmed
    changes no coordinate that the map gives out.

    Parameters
    ----------
    mapper : DriftMap
        A map that has seen nothing yet.
    n_frames : int
        How many moments to show, roughly: from 3/4 to 3/2 of it, or one for each arrival of a short stream.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap import DriftMap
    >>> film = Film(DriftMap(n_landmarks=5), n_frames=4)
    >>> for batch in np.split(np.random.default_rng(0).standard_normal((40, 3)), 2):
    ...     film.feed(batch)
    >>> [scene.seen for scene in film.scenes()]
    [8, 16, 24, 32, 40]
    """

    def __init__(self, mapper: DriftMap, n_frames: int = 100) -> None:
        checks.integer_at_least(n_frames, "n_frames", 2)
        self.mapper = mapper
        self._most = 3 * n_frames // 2
        self._step = 1
        self._moments: list[Moment] = []
        self._frames = Frames(mapper.embedding, mapper.n_components, mapper.n_anchors, mapper.align)
        self._frames.warned = True  # the map itself warns of missing dimensions

    def feed(self, X: Any) -> None:
        """Let the map learn from further points, and note it at the moments that fall among them."""
        start, seen = 0, self.mapper.n_samples_seen_ if self._moments else 0
        while start < len(X):
            stop = min(len(X), start + self._step - seen % self._step)
            self.mapper.partial_fit(X[start:stop])
            seen += stop - start
            start = stop
            if seen % self._step == 0:
                self._note()

    def _note(self) -> None:
        self._moments.append(self._present())
        if len(self._moments) > self._most:
            self._step *= 2
            self._moments = [moment for moment in self._moments if moment.seen % self._step == 0]

    def _present(self) -> Moment:
        selector = self.mapper._selector
        return Moment(selector.n_samples_seen_, self._frames.present(selector), selector.radius_)

    @property
    def arrivals(self) -> Ids:
        """Arrival numbers of the points that are drawn."""
        n = self.mapper.n_samples_seen_
        return np.arange(0, n, stride(n))

    def scenes(self) -> list[Scene]:
        """What is drawn, moment by moment; the last scene lies on the map that the mapper gives out now."""
        moments = self._moments
        if moments[-1].seen < self.mapper.n_samples_seen_:
            moments = [*moments, self._present()]
        scenes = [self._scene(moment) for moment in moments]
        own, given = scenes[-1].landmarks, self.mapper.landmark_embedding_[:, :3]
        turn = align(own, given)
        return [s._replace(points=move(s.points, *turn), landmarks=move(s.landmarks, *turn)) for s in scenes]

    def _scene(self, moment: Moment) -> Scene:
        arrivals, frame = self.arrivals, moment.frame
        shown = arrivals[arrivals < moment.seen]
        points = frame.place(self.mapper._selector.stored_distances(shown, frame.landmarks))
        # Of more than three dimensions, three are drawn.
        return Scene(
            moment.seen, points[:, :3], frame.landmark_positions()[:, :3], frame.landmarks, float(moment.radius)
        )


def stride(n: int) -> int:
    """Of n points every how many-th is drawn: a power of 2, so that what is kept of a stream can be thinned later."""
    step = 1
    while -(-n // step) > POINTS:
        step *= 2
    return step


def require_ffmpeg() -> str:
    """The program ffmpeg, or an error that says what to do without it."""
    found = shutil.which("ffmpeg")
    if found is None:
        raise FileNotFoundError("mp4 needs the program ffmpeg, which is not on the PATH: install it, or write .gif")
    return found


def save_animation(
    film: Film,
    file: BinaryIO,
    format: str,
    *,
    color: Any = None,
    color_label: str | None = None,
    title: str | None = None,
) -> None:
    """Write a film to an open file as "gif" or "mp4"; the same film always gives the same pictures.

    ``color`` has an entry for each of ``film.arrivals``; it, ``color_label`` and ``title`` are as in
    :func:`~driftmap.plot.map_figure`.
    """
    checks.one_of(format, "format", [suffix[1:] for suffix in FORMATS])
    program = require_ffmpeg() if format == "mp4" else ""
    require_matplotlib()
    arrivals = film.arrivals
    coloring = (
        Coloring(arrivals.astype(np.float64), color_label or "arrival")
        if color is None
        else coloring_of(color, color_label, len(arrivals))
    )
    screen = Screen(film.scenes(), arrivals, coloring, title or "")
    if format == "gif":
        _write_gif(screen, file)
    else:
        _write_mp4(screen, Path(file.name), program)


class Screen:
    """A figure on which scenes are shown one after the other."""

    def __init__(self, scenes: list[Scene], arrivals: Ids, coloring: Coloring, title: str) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.scenes, self._arrivals, self._coloring = scenes, arrivals, coloring
        self._colors, self._k = coloring.of_points(), scenes[-1].points.shape[1]
        # Names of groups need more room than a colour bar. Both sides are even numbers of pixels, as mp4 wants them.
        width, height, right = (8.4, 7.2, 2.1) if coloring.groups else (7.4, 7.2, 1.2)
        figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
        self._canvas = FigureCanvasAgg(figure)
        left, across = 0.8 / width, (width - 0.8 - right) / width
        space: dict[str, Any] = {"projection": "3d", "computed_zorder": False} if self._k == 3 else {}
        self._map = figure.add_axes((left, 0.3, across, 0.62), **space)
        self._curve = figure.add_axes((left, 0.08, across, 0.12))
        boxes = [part for scene in scenes for part in (scene.points, scene.landmarks)]
        corners = np.array([np.min([b.min(axis=0) for b in boxes], axis=0), np.max([b.max(axis=0) for b in boxes], axis=0)])
        panel = Panel(title, corners, None, None)
        set_up(self._map, panel, spans_of([panel]))
        self._set_up_curve()
        explain(figure, [self._map], coloring, landmarks=True)
        self._drawn: list[Any] = []

    def _set_up_curve(self) -> None:
        ax, n = self._curve, self.scenes[-1].seen
        if self._k == 1:  # the map too is drawn against arrival
            self._map.set_xlim(-0.02 * n, 1.02 * n)
        ax.set_xlim((-0.02 * n, 1.02 * n) if self._k == 1 else (0, n))
        highest = max(scene.radius for scene in self.scenes)
        ax.set_ylim(0, 1.08 * highest if highest > 0 else 1.0)
        ax.set_xlabel("arrival", fontsize=10, color=INK)
        ax.set_ylabel("radius", fontsize=10, color=INK)
        ax.tick_params(labelsize=9, colors=GREY, labelcolor=INK, length=3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(GREY)
        ax.grid(visible=True, color=FAINT, linewidth=0.7)
        ax.set_axisbelow(True)

    def picture(self, number: int) -> Image:
        """One of the scenes as an image, (height, width, 3)."""
        for artist in self._drawn:
            artist.remove()
        scene, k, n = self.scenes[number], self._k, len(scene := self.scenes[number].points) * 0 + len(self._arrivals)
        raise NotImplementedError
