"""Animations: the map growing as the stream arrives, with the radius below.

A :class:`Film` observes a map and records its frames at regular intervals, in memory that does not grow with the
stream. It draws them at the end, when the extent of the whole map is known, so that the axes never move.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.embedding import move, procrustes
from driftmap.map import StreamMap
from driftmap.map.frame import Frame
from driftmap.map.frames import Frames
from driftmap.pipeline.observer import Observer, Update
from driftmap.plot.coloring import Coloring, by_arrival, coloring_of
from driftmap.plot.figures import (
    GRID_COLOR,
    format_axes,
    require_matplotlib,
    set_time_axis,
)
from driftmap.plot.legend import add_colorbar, add_legend, add_note, label_axis, legend_width, outside_note
from driftmap.plot.panels import Panel, axis_spans
from driftmap.plot.points import INK, draw_landmarks, draw_outside, draw_points, is_outside
from driftmap.storage.atomic import scratch_folder
from driftmap.utils import Array, Ids, validation
from driftmap.utils.validation import ANIMATION_FORMATS, LIMITS

__all__ = ["Film", "require_ffmpeg", "save_animation"]

Image = NDArray[np.uint8]

DRAWN_POINTS = 5000
"""Most points drawn, evenly spread over the stream."""
DPI = 100
MAP_SIDE, CURVE_HEIGHT, MARGINS = 5.6, 1.3, (1.9, 1.8)
"""Inches: the longer side of the map, the height of the radius curve, and the space for labels and legend."""
FRAME_SECONDS = 0.08
LAST_FRAME_REPEATS = 25
"""How many times longer than the others the last frame is shown."""


class Moment(NamedTuple):
    """The map after ``seen`` arrivals."""

    seen: int
    frame: Frame
    radius: float


class Scene(NamedTuple):
    """The positions to draw at one moment."""

    seen: int
    points: Array
    """Positions of the drawn points that have arrived, in order of arrival."""
    landmarks: Array
    landmark_arrivals: Ids
    radius: float


class Film(Observer):
    """Records the frames of a map for an animation.

    Moments are a fixed number of arrivals apart. When too many accumulate, every other one is dropped and the interval
    doubles, so memory does not grow with the stream and its length need not be known.

    The film keeps its own sequence of aligned frames, so recording does not change the coordinates of the map.

    Parameters
    ----------
    mapper : StreamMap
        A map that has not learnt any point yet.
    n_frames : int
        Approximate number of moments: the film has 3/4 to 3/2 of it, or one for each arrival of a short stream.
    """

    def __init__(self, mapper: StreamMap, n_frames: int = 100) -> None:
        validation.integer_at_least(n_frames, "n_frames", 2)
        self.mapper = mapper
        self._most = 3 * n_frames // 2
        self.every: int = 1
        self._moments: list[Moment] = []
        self._shown: list[Any] = []  # every stride-th point; the map may have discarded it
        self.labels: list[Any] = []
        """The labels of the drawn points, if the rows have labels."""
        self._frames = Frames(
            mapper.embedding, mapper.n_components, mapper.n_anchors, mapper.align, mapper.frame_tolerance
        )
        self._frames.warned = True  # the map itself warns about missing dimensions

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Record the learnt rows, and the map if a moment is due."""
        if not update.is_learnt:
            return
        seen = update.first + len(update.rows.features)
        apart, needed = stride(max(update.first, 1)), stride(seen)
        for drawn, rows in ((self._shown, update.rows.features), (self.labels, update.rows.labels)):
            if rows is not None:
                drawn.extend(rows[-update.first % apart :: apart])
                drawn[:] = drawn[:: needed // apart]
        if seen % self.every == 0:
            self._record()

    def _record(self) -> None:
        self._moments.append(self._present())
        if len(self._moments) > self._most:
            self.every *= 2
            self._moments = [moment for moment in self._moments if moment.seen % self.every == 0]

    def _present(self) -> Moment:
        engine = self.mapper._landmark_engine()
        return Moment(engine.n_samples_seen_, self._frames.present(engine), engine.radius_)

    @property
    def arrivals(self) -> Ids:
        """Arrival numbers of the drawn points."""
        n = self.mapper.n_samples_seen_
        return np.arange(0, n, stride(n))

    def scenes(self) -> list[Scene]:
        """Return one scene per moment, aligned so that the last one matches the current frame of the map."""
        moments = self._moments
        if moments[-1].seen < self.mapper.n_samples_seen_:
            moments = [*moments, self._present()]
        scenes = [self._scene(moment) for moment in moments]
        own, given = scenes[-1].landmarks, self.mapper.landmark_embedding_[:, :3]
        turn = procrustes(own, given)
        return [s._replace(points=move(s.points, *turn), landmarks=move(s.landmarks, *turn)) for s in scenes]

    def _scene(self, moment: Moment) -> Scene:
        arrivals, frame, store = self.arrivals, moment.frame, self.mapper._landmark_engine().store
        shown: Any = self._shown[: int(np.searchsorted(arrivals, moment.seen))]
        shown = shown if store.n_features is None else np.array(shown, dtype=np.float64)
        points = frame.place_queries(store, store.check_queries(shown))
        # Only the first three dimensions are drawn.
        return Scene(
            moment.seen, points[:, :3], frame.landmark_positions()[:, :3], frame.landmarks, float(moment.radius)
        )


def stride(n: int) -> int:
    """Return the step between drawn points: a power of 2, so that recorded points can be thinned later."""
    step = 1
    while -(-n // step) > DRAWN_POINTS:
        step *= 2
    return step


def require_ffmpeg() -> str:
    """Return the path of ffmpeg; raise an error that suggests an alternative if it is missing."""
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
    limits: str = "bulk",
) -> None:
    """Write a film to an open file as "gif" or "mp4"; equal films give equal images.

    ``color`` has an entry for each of ``film.arrivals``; it, ``color_label``, ``title`` and ``limits`` are as in
    :func:`~driftmap.plot.map_figure`.
    """
    validation.one_of(limits, "limits", LIMITS)
    validation.one_of(format, "format", [suffix[1:] for suffix in ANIMATION_FORMATS])
    program = require_ffmpeg() if format == "mp4" else ""
    require_matplotlib()
    arrivals = film.arrivals
    coloring = by_arrival(arrivals, color_label) if color is None else coloring_of(color, color_label, len(arrivals))
    screen = Screen(film.scenes(), arrivals, coloring, title or "", limits)
    if format == "gif":
        _write_gif(screen, file)
    else:
        with scratch_folder() as folder:  # ffmpeg needs a path, which an open file may not have
            path = folder / "film.mp4"
            _write_mp4(screen, path, program)
            file.write(path.read_bytes())


class Screen:
    """A figure that shows one scene at a time."""

    def __init__(
        self, scenes: list[Scene], arrivals: Ids, coloring: Coloring, title: str, limits: str = "bulk"
    ) -> None:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.scenes, self._arrivals = scenes, arrivals
        self._colors, self._k = coloring.rgba(), scenes[-1].points.shape[1]
        points, landmarks = (
            np.concatenate([getattr(scene, part) for scene in scenes]) for part in ("points", "landmarks")
        )
        panel = Panel(title, points, landmarks, limits=limits)
        spans = axis_spans([panel])
        # The axes of a map in the plane have the shape of the map.
        shape = {1: 0.6, 2: min(1.0, float(spans[-1] / spans[0])), 3: 0.8}[self._k]
        inches = MAP_SIDE + MARGINS[0] + legend_width(coloring), shape * MAP_SIDE + CURVE_HEIGHT + MARGINS[1]
        # mp4 requires an even number of pixels on both sides.
        width, height = (2 * round(side * DPI / 2) / DPI for side in inches)
        figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white", layout="constrained")
        self._canvas: Any = FigureCanvasAgg(figure)
        grid = figure.add_gridspec(2, 1, height_ratios=(shape * MAP_SIDE, CURVE_HEIGHT))
        space: dict[str, Any] = {"projection": "3d", "computed_zorder": False} if self._k == 3 else {}
        with rc_context({"grid.color": GRID_COLOR, "grid.linewidth": 0.7}):
            self._map: Any = figure.add_subplot(grid[0], **space)
            self._curve: Any = figure.add_subplot(grid[1])
        format_axes(self._map, panel, spans)
        self._set_up_curve()
        add_colorbar(figure, [self._map], coloring)
        add_legend(self._map, coloring, landmarks=max(len(scene.landmarks) for scene in scenes))
        self._drawn: list[Any] = []
        for _ in range(2):  # labels depend on the lengths of the axes, which depend on the labels
            self.picture(-1)
        figure.set_layout_engine("none")  # all scenes share the layout of the last one

    def _set_up_curve(self) -> None:
        ax, n = self._curve, self.scenes[-1].seen
        if self._k == 1:  # the map is also drawn against arrival
            set_time_axis(self._map, 0, n, "arrival")
        highest = max(scene.radius for scene in self.scenes)
        ax.set_ylim(0, 1.08 * highest if highest > 0 else 1.0)
        set_time_axis(ax, 0, n, "arrival")
        label_axis(ax.yaxis, "radius")
        ax.grid(visible=True)
        ax.set_axisbelow(True)

    def picture(self, number: int) -> Image:
        """Return scene ``number`` as an image of shape (height, width, 3)."""
        scene = self.scenes[number]
        for artist in self._drawn:
            artist.remove()
        shown, m = len(scene.points), len(scene.landmarks)
        points, marks = list(scene.points.T), list(scene.landmarks.T)
        if self._k == 1:
            points, marks = [self._arrivals[:shown], *points], [scene.landmark_arrivals, *marks]
        outside = is_outside(self._map, points)
        colors = self._colors[:shown]
        so_far = self.scenes[: number % len(self.scenes) + 1]
        self._drawn = [
            draw_points(self._map, [axis[~outside] for axis in points], colors[~outside], most=len(self._arrivals)),
            *draw_outside(self._map, [axis[outside] for axis in points], colors[outside]),
            *([add_note(self._map, outside_note(int(outside.sum())), at_top=True)] if outside.any() else []),
            draw_landmarks(self._map, marks),
            *self._curve.plot([s.seen for s in so_far], [s.radius for s in so_far], color=INK, linewidth=1.2),
            *self._curve.plot([scene.seen], [scene.radius], "D", color=INK, markersize=4, clip_on=False),
        ]
        self._curve.set_title(
            f"{scene.seen:,} points seen, {m} landmarks, radius {scene.radius:.4g}", loc="left", fontsize=10, color=INK
        )
        self._canvas.draw()
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()

    def pictures(self) -> Iterator[Image]:
        """Yield all scenes as images, in order."""
        return map(self.picture, range(len(self.scenes)))


def _write_gif(screen: Screen, file: BinaryIO) -> None:
    from PIL import Image as Pillow

    # All images share the palette of the last one: separate palettes would flicker.
    palette = Pillow.fromarray(screen.picture(-1)).quantize(256)
    colors = np.array(palette.getpalette()).reshape(-1, 3)
    colors[np.asarray(palette)[0, 0]] = 255  # quantisation tints the white background
    palette.putpalette(colors.ravel().tolist())
    plain = Pillow.Dither.NONE
    first, *others = (Pillow.fromarray(p).quantize(palette=palette, dither=plain) for p in screen.pictures())
    milliseconds = [round(1000 * FRAME_SECONDS)] * len(others) + [round(1000 * FRAME_SECONDS * LAST_FRAME_REPEATS)]
    first.save(file, format="GIF", save_all=True, append_images=others, duration=milliseconds, loop=0)


def _write_mp4(screen: Screen, path: Path, program: str) -> None:
    height, width, _ = screen.picture(0).shape
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{1 / FRAME_SECONDS}", "-i", "-"]
    # bitexact omits times and versions from the file. All players support the pixel format yuv420p.
    wanted = ["-pix_fmt", "yuv420p", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "mp4", "-y", str(path)]
    command = [program, "-loglevel", "error", *given, *wanted]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for picture in screen.pictures():
                process.stdin.write(picture.tobytes())
            for _ in range(LAST_FRAME_REPEATS - 1):
                process.stdin.write(picture.tobytes())
        except BrokenPipeError:
            pass  # ffmpeg ended early; its exit code and message are reported below
        _, errors = process.communicate()
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise OSError(f"ffmpeg failed: {lines[-1] if lines else f'exit code {process.returncode}'}")
