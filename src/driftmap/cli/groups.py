"""Groups of options that several commands share, each written and checked once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError
from driftmap.cli.typed import option
from driftmap.embedding import EMBEDDINGS
from driftmap.map.drift import FEWEST_ROWS, DriftMonitor
from driftmap.map.novelty import NoveltyDetector
from driftmap.sources.addresses import WebhookAddress
from driftmap.storage.paths import OutputPath, output_path
from driftmap.tables.formats import JSON_LINES, TABLE_SUFFIXES, listed
from driftmap.tables.scaling import NORMALIZATIONS, RunningScale
from driftmap.tables.steps import Step
from driftmap.utils.validation import ANIMATION_FORMATS, FIGURE_FORMATS, LIMITS, RULES

NOVELTY = ("reach", "quantile", "residual")
"""The columns that ``--novelty`` adds."""
ISOLATION = "isolation"
"""One more column, by ``--novelty isolation``."""
PAGE_SUFFIX = ".html"
"""The suffix of a plot for a browser."""
ANCHORS = "auto"
"""Default number of anchors of a map."""
WARM_UP = 100
"""Default number of rows before a running normalisation begins."""
CHECKPOINT_INTERVAL = 30.0
"""Default seconds between two checkpoints."""
DRIFT_WINDOW = 200
"""Default number of recent rows that ``--drift`` compares with earlier ones."""


@dataclass(frozen=True)
class MapShape:
    """Options of a map, wherever it is learnt."""

    landmarks: int | str = option(
        "--landmarks",
        default=100,
        type=kinds.landmark_count,
        metavar="M",
        help="default: 100; auto: by one more pass, the fewest of 10, 20, 40, 80 whose stress is within 2 %% of that "
        "of four times as many, else 320 (t-SNE: whose trustworthiness is within 0.005, at most 640)",
    )
    components: int = option(
        "--components", default=2, type=partial(kinds.integer, lowest=1), metavar="K", help="default: 2"
    )
    slack: float = option(
        "--slack",
        default=0.02,
        type=kinds.rate,
        metavar="S",
        help="a row counts as covered up to 1 + S times the radius: fewer replacements (default: 0.02)",
    )
    embedding: str = option("--embedding", default=EMBEDDINGS[0], choices=EMBEDDINGS, help=f"default: {EMBEDDINGS[0]}")
    metric: str = option(
        "--metric", default="euclidean", metavar="NAME", help="one that scipy's cdist knows (default: euclidean)"
    )
    memory: int | str | None = option(
        "--memory",
        default="auto",
        type=kinds.memory_size,
        metavar="N",
        help="the most rows to store; others are merged into stored rows near them; all: store every row "
        "(default: 10000)",
    )

    anchors: int | str | None = option(
        "--anchors",
        default=ANCHORS,
        type=kinds.anchor_count,
        metavar="N",
        help="of stress: stored rows to whose distances the map is fitted; auto: 128, 256, 512 or 1024, as many as the "
        f"rows need; none: the landmarks only (default: {ANCHORS})",
    )

    def __post_init__(self) -> None:
        if self.metric == "precomputed":
            raise UserError("--metric precomputed is for distances, which a table of rows does not hold")
        if self.anchors != ANCHORS and self.embedding != "stress":
            raise UserError("--anchors is for --embedding stress")


@dataclass(frozen=True)
class Mapping(MapShape):
    """Options of mapping rows."""

    rule: str = option("--rule", default="tight", choices=RULES, help="which landmark leaves (default: tight)")
    steadiness: float | None = option(
        "--steadiness",
        type=kinds.rate,
        metavar="S",
        help="of stress: 0.01 to 0.1 make single rows jump less when the map changes (default: 0)",
    )
    frame_tolerance: float | None = option(
        "--frame-tolerance",
        default=0.02,
        type=kinds.rate_or_none,
        metavar="T",
        help="keep the map in place while a new one would be better by at most this share; 0: a new one at every "
        "change of the landmarks; none: keep the first map of M landmarks (default: 0.02)",
    )
    window: int | None = option(
        "--window",
        type=partial(kinds.integer, lowest=1),
        metavar="N",
        help="remember only the last N rows; landmarks follow them",
    )
    half_life: int | None = option(
        "--half-life", type=partial(kinds.integer, lowest=1), metavar="N", help="halve the mass of a row after N rows"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steadiness and (self.embedding != "stress" or self.components == 1):
            raise UserError("--steadiness is for --embedding stress, in two or more dimensions")


@dataclass(frozen=True)
class Normalizing:
    """Options of normalising columns."""

    normalize: str = option(
        "--normalize",
        default="none",
        choices=("none", *NORMALIZATIONS),
        help="to [0, 1], to mean 0 and deviation 1, or to median 0 and interquartile range 1 (robust); by a first pass "
        "over all rows or, where rows are mapped as they arrive, by the rows so far (default: none)",
    )
    warm_up: int | None = option(
        "--warm-up",
        type=partial(kinds.integer, lowest=1),
        metavar="N",
        help="where rows are mapped as they arrive: hold back the first N until their scale is known (default: 100)",
    )

    def __post_init__(self) -> None:
        if self.warm_up is not None and self.normalize == "none":
            raise UserError("--warm-up is for a running --normalize: add --normalize")

    def running(self) -> list[Step]:
        """Return a new step that normalises rows as they arrive."""
        return [] if self.normalize == "none" else [RunningScale(self.normalize, self.warm_up or WARM_UP)]


@dataclass(frozen=True)
class Coordinates:
    """Options of writing coordinates."""

    output: Path | None = option(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help=f"coordinates: {listed(TABLE_SUFFIXES)}; default: text on standard output",
    )
    format: str | None = option(
        "--format", choices=("csv", "jsonl"), help="of the coordinates on standard output (default: csv)"
    )
    quiet: bool = option(
        "--quiet",
        shapes=False,
        default=False,
        help="omit the last line on standard error, the report",
    )
    json: bool = option(
        "--json", shapes=False, default=False, help="a summary on standard output; coordinates go only to -o"
    )

    def __post_init__(self) -> None:
        if self.format is not None and self.output is not None:
            raise UserError("--format is for standard output; the suffix of -o says the format of the file")
        if self.format is not None and self.json:
            raise UserError("--format is for coordinates on standard output, which --json leaves out")


@dataclass(frozen=True)
class Alerting:
    """Options of reporting novel rows and changes of the stream."""

    alert: float | None = option(
        "--alert", type=kinds.rate, metavar="T", help="report rows beyond this reach (1 or more) or quantile (below 1)"
    )
    drift: int | None = option(
        "--drift",
        nargs="?",
        const=DRIFT_WINDOW,
        type=partial(kinds.integer, lowest=FEWEST_ROWS),
        metavar="WINDOW",
        help="where rows are mapped as they arrive: report when the last WINDOW rows (default: 200) differ from those "
        "before",
    )
    alerts: Path | None = option(
        "--alerts",
        type=partial(kinds.file, suffixes=JSON_LINES.written),
        metavar="OUT",
        help=f"alerts as JSON lines: {listed(JSON_LINES.written)} (default: on standard error)",
    )

    alert_webhook: WebhookAddress | None = option(
        "--alert-webhook",
        shapes=False,
        type=kinds.webhook,
        metavar="URL",
        help="also post each alert to this address as JSON, signed if DRIFTMAP_WEBHOOK_SECRET is set",
    )
    webhook_template: str | None = option(
        "--webhook-template",
        shapes=False,
        metavar="NAME",
        help="the body of --alert-webhook: json (default), slack, alertmanager, or a file with $text and the like",
    )

    def __post_init__(self) -> None:
        if self.webhook_template is not None and self.alert_webhook is None:
            raise UserError("--webhook-template is for --alert-webhook: add it")
        if self.alert_webhook is not None and self.alert is None and self.drift is None:
            raise UserError("--alert-webhook needs to know which rows are worth an alert: add --alert, or --drift")
        if self.alerts is not None and self.alert is None and self.drift is None:
            raise UserError("--alerts needs to know which rows are worth an alert: add --alert, or --drift")

    def detector(self) -> NoveltyDetector | None:
        """Return the detector of novel rows."""
        return None if self.alert is None else NoveltyDetector(self.alert)

    def monitor(self) -> DriftMonitor | None:
        """Return the monitor of drift."""
        return None if self.drift is None else DriftMonitor(self.drift)


@dataclass(frozen=True)
class Figures:
    """Options of drawing a finished map."""

    plot: Path | None = option(
        "--plot",
        type=partial(kinds.file, suffixes=(*FIGURE_FORMATS, PAGE_SUFFIX)),
        metavar="FIGURE",
        help="the map as .png, .svg, .pdf or .html",
    )
    shade: str | None = option(
        "--shade", choices=NOVELTY, help="colour the plot by this instead of by label or arrival"
    )
    limits: str | None = option(
        "--limits",
        shapes=False,
        choices=LIMITS,
        help="what pictures hold: the bulk of the rows, with marks at the border for outliers (default), or all rows",
    )
    animate: Path | None = option(
        "--animate",
        shapes=False,
        type=partial(kinds.file, suffixes=ANIMATION_FORMATS),
        metavar="FILM",
        help="the map as it grows, as .gif or .mp4 (which needs ffmpeg)",
    )
    animate_frames: int | None = option(
        "--animate-frames",
        shapes=False,
        type=partial(kinds.integer, lowest=2, highest=1000),
        metavar="N",
        help="about how many pictures --animate shows (default: 100)",
    )
    landmarks_out: Path | None = option(
        "--landmarks-out",
        type=partial(kinds.file, suffixes=TABLE_SUFFIXES),
        metavar="OUT",
        help="the landmarks: arrival, mass, coordinates, row",
    )
    explain: bool = option(
        "--explain",
        shapes=False,
        default=False,
        help="for each axis of the map, the columns that correlate most with it, on standard error (all: --json)",
    )

    def __post_init__(self) -> None:
        if self.shade is not None and self.plot is None:
            raise UserError("--shade is for figures: add --plot")
        if self.limits is not None and self.plot is None and self.animate is None:
            raise UserError("--limits is for figures: add --plot or --animate")
        if self.animate_frames is not None and self.animate is None:
            raise UserError("--animate-frames is for animations: add --animate")

    def require(self) -> None:
        """Raise an error if a package or program for drawing is missing."""
        if (self.plot is not None and self.plot.suffix.lower() != PAGE_SUFFIX) or self.animate is not None:
            from driftmap.plot import require_matplotlib  # plotting is slow to import

            require_matplotlib()
        if self.animate is not None and self.animate.suffix.lower() == ".mp4":
            from driftmap.plot.animation import require_ffmpeg

            require_ffmpeg()


@dataclass(frozen=True)
class Recovering:
    """Options of runs that can be interrupted and resumed."""

    checkpoint: Path | None = option(
        "--checkpoint", shapes=False, type=Path, metavar="FILE", help="save the state of the run to this file"
    )
    checkpoint_every: float | None = option(
        "--checkpoint-every",
        shapes=False,
        type=kinds.duration,
        metavar="TIME",
        help="such as 10s, 5m or 1h (default: 30s); less often if saving would take a tenth of the time",
    )
    resume: bool = option(
        "--resume",
        shapes=False,
        default=False,
        help="continue from the checkpoint, if there is one",
    )

    def __post_init__(self) -> None:
        if self.checkpoint is None and (self.resume or self.checkpoint_every is not None):
            given = "--resume" if self.resume else "--checkpoint-every"
            raise UserError(f"{given} needs to know the checkpoint: add --checkpoint FILE")

    def resolved(self) -> OutputPath | None:
        """Resolve the path of the checkpoint, once for the whole run."""
        return None if self.checkpoint is None else output_path(self.checkpoint)

    @property
    def interval(self) -> float:
        """Seconds between two checkpoints."""
        return CHECKPOINT_INTERVAL if self.checkpoint_every is None else self.checkpoint_every
