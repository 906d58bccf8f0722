"""Frames: the successive embeddings of a stream, each aligned to the one before (Procrustes).

Learning never makes a frame. When coordinates are asked for, and the landmarks have changed or a tenth more points have
come, the present frame is kept while a new one would hardly be better (:mod:`driftmap.map.frame_loss`). A new one is
turned, mirrored and shifted (never scaled) so that the stored points lie as near as possible to where they lay on the
last one.
"""

from __future__ import annotations

import copy
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from driftmap.embedding import EMBEDDINGS, Anchors, Embedding, choose_anchors, choose_with, move, procrustes
from driftmap.embedding.base import NEEDS
from driftmap.embedding.factory import make_embedding
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map import frame_loss
from driftmap.map.anchor_count import ANCHOR_COUNTS, AnchorCount, count_anchors
from driftmap.map.frame import FARTHEST, REGISTERED, Frame, FrameChange, Points, row_placer_of
from driftmap.map.frame_loss import Losses, Reference, Sample
from driftmap.map.registration import Registration
from driftmap.map.stored_cache import DistanceCache, StoredPointCache, common
from driftmap.metrics import Store
from driftmap.quality import Displacement, displacement
from driftmap.storage.serialization import Arrays, flatten, rebuild
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError

FRAMES_KEPT = 1000
FEWEST_KNOWN = 10
"""If an embedding needs stored points: align on points known to the last frame if at least this many remain."""
LEAST_SIZE = 1e-140
"""How small a map may be: squares do not underflow."""
RECENT_ANCHORS = 0.25
"""The share of the anchors, where an embedding has a number of its own, that are the last points."""
LEAST_MASS = 1e-6
"""The least share in the mass that a landmark or an anchor has: its cell may be empty, and yet it is embedded."""
OF_STORED_POINTS = frozenset({"stored", "to_landmarks", "neighbours"})
STORED = ("between", "anchors", "rotation", "translation", "farthest", "places", "scale")
"""Fields of a frame that a checkpoint holds."""


class Frames:
    """Makes frames when they are asked for. An embedding that does not fit is refused."""

    def __init__(
        self,
        embedding: str | Embedding,
        n_components: int,
        n_anchors: int | str | None,
        align: bool,
        tolerance: float | None = 0.0,
    ) -> None:
        if isinstance(embedding, str):
            embedding = make_embedding(validation.one_of(embedding, "embedding", EMBEDDINGS), n_components)
        elif isinstance(embedding, type) or not all(hasattr(embedding, name) for name in ("fit", "place")):
            problem = f"must be a name or an object with fit and place, got {embedding!r}"
            raise InputError(problem, parameter="embedding")
        elif (own := getattr(embedding, "n_components", n_components)) != n_components:
            raise InputError(f"has n_components={own}, but the map has {n_components}", parameter="embedding")
        self.embedding: Any = embedding
        self.n_components, self.n_anchors, self.align, self.tolerance = n_components, n_anchors, align, tolerance
        self.current: Frame | None = None
        self.count = 0
        self.changes: deque[FrameChange] = deque(maxlen=FRAMES_KEPT)
        self.warned = False
        self.version = -1  # of the landmarks when the current frame was last looked at
        self.seen = 0  # arrivals when the current frame was made
        self.due = 0  # arrivals by which the current frame is looked at again, also if the landmarks have not changed
        self.choice: AnchorCount | None = None
        self.between, self.to_anchors, self.judged = DistanceCache(), DistanceCache(), DistanceCache()
        self.reference: Reference | None = None  # None: the current frame has not been judged yet
        self.needs = frozenset(getattr(self.embedding, "needs", ()))
        for name in self.needs:
            validation.one_of(name, "needs", NEEDS)
        self.stored_cache = StoredPointCache(self.embedding) if self.needs & OF_STORED_POINTS else None

    @property
    def _keeps_distances(self) -> bool:
        return bool(getattr(self.embedding, "keeps_distances", False))

    @property
    def _is_stored(self) -> bool:
        """Whether a checkpoint can hold a frame."""
        return hasattr(self.embedding, "restore")

    def copy(self) -> Frames:
        """An independent copy; frames themselves do not change."""
        other = copy.copy(self)
        other.changes, other.stored_cache = self.changes.copy(), copy.copy(self.stored_cache)
        return other

    def pack(self, arrays: Arrays, store: Store) -> dict[str, Any]:
        """As values that a checkpoint can hold."""
        frame = self.current
        values: dict[str, Any] = {
            "frames": np.array([change.frame for change in self.changes], dtype=np.int64),
            "rotations": np.array([change.rotation for change in self.changes], dtype=np.float64),
            "displacements": np.array([change.displacement for change in self.changes], dtype=np.float64),
            "made": np.array([change.arrival for change in self.changes], dtype=np.int64),
            "reasons": [change.reason for change in self.changes],
            "stresses": np.array([change[-2:] for change in self.changes], dtype=np.float64),
            "reference": None if self.reference is None else self.reference._asdict(),
            "frame": None,
        }
        if frame is not None and self._is_stored:
            between = None if _is_remeasured(store, frame.fixed.points) else frame.between
            values["frame"] = {name: getattr(frame, name) for name in STORED} | {
                "between": between,
                "cover": frame.cover._asdict(),
                "fixed": None if frame.fixed is frame.cover else frame.fixed._asdict(),
                "state": frame.embedding.state(),
            }
        packed = {name: flatten(value, f"frames.{name}", arrays) for name, value in values.items()}
        numbers = {"count": self.count, "seen": self.seen, "due": self.due, "warned": self.warned}
        choice = flatten(None if self.choice is None else self.choice._asdict(), "frames.choice", arrays)
        return numbers | packed | {"choice": choice}

    def unpack(self, packed: dict[str, Any], arrays: Arrays, store: Store, n_seen: int) -> None:
        """Go back to what was packed, or raise an error that says why it cannot be a frame of this map."""
        self.count, self.warned = validation.integer_at_least(packed["count"], "count", 0), bool(packed["warned"])
        self.seen = min(validation.integer_at_least(packed["seen"], "seen", 0), n_seen)
        self.due = validation.integer_at_least(packed.get("due", n_seen), "due", 0)
        frame, frames, rotations, displacements = (
            rebuild(packed[name], arrays) for name in ("frame", "frames", "rotations", "displacements")
        )
        n, k = len(frames), self.n_components
        made, stresses = np.full(n, -1), np.full((n, 2), np.nan)
        reasons = ["landmarks"] * n
        if "made" in packed:  # since version 0.3
            made, reasons, stresses = (rebuild(packed[name], arrays) for name in ("made", "reasons", "stresses"))
        if n and (rotations.shape, displacements.shape, stresses.shape) != ((n, k, k), (n, 2), (n, 2)):
            raise ValueError("its changes of frames have the wrong shape")
        if self.count > n_seen or not (np.diff(frames, prepend=0, append=self.count + 1) > 0).all():
            raise ValueError("its frames are not in order")
        columns = frames.tolist(), rotations, displacements.tolist(), made.tolist(), reasons, stresses.tolist()
        for number, rotation, moved, arrival, reason, both in zip(*columns, strict=True):
            self.changes.append(FrameChange(number, rotation, Displacement(*moved), arrival, str(reason), *both))
        if (reference := rebuild(packed.get("reference"), arrays)) is not None:
            self.reference = Reference(**reference)
            for name in ("seen", "judged"):
                validation.integer_at_least(reference[name], name, 1)
            validation.integer_at_least(self.reference.replaced, "replaced", 0)
            for name in ("total", "recent", "cell"):
                validation.positive_number(reference[name], name, or_zero=True)
        if (choice := rebuild(packed.get("choice"), arrays)) is not None:
            self.choice = AnchorCount(**choice)
            _check_ids(self.choice.landmarks, n_seen)
            for name in ("n_anchors", "until"):
                validation.integer_at_least(choice[name], name, 1)
        if frame is not None and self._is_stored and "between" in frame:  # not one of version 0.2
            with np.errstate(all="ignore"):
                self.current = self._restored(store, n_seen, **frame)

    def _restored(
        self,
        store: Store,
        n_seen: int,
        *,
        cover: dict[str, Any],
        fixed: dict[str, Any] | None,
        between: Array | None,
        anchors: Ids | None,
        rotation: Array,
        translation: Array,
        farthest: float,
        state: dict[str, Any],
        places: Array | None = None,
        scale: float = 1.0,
    ) -> Frame:
        """A frame from what was packed, once that has been checked."""
        k = self.n_components
        landmarks = _checked_points(store, n_seen, **cover)
        placing = landmarks if fixed is None else _checked_points(store, n_seen, **fixed)
        a = len(placing.ids)
        if between is None:
            if not _is_remeasured(store, placing.points):
                raise ValueError("its frame lacks distances")
            between = store.to_points(placing.points, placing.points)
            np.fill_diagonal(between, 0.0)
        for array, shape in ((rotation, (k, k)), (translation, (k,)), (between, (a, a))):
            if not (np.shape(array) == shape and array.dtype == np.float64 and _squarable(array)):
                raise ValueError("an array of its frame has the wrong shape, type or range")
        if np.abs(rotation @ rotation.T - np.eye(k)).max() > 1e-6:
            raise ValueError("the rotation of its frame is not orthogonal")
        if (between < 0).any() or not farthest > 0:
            raise ValueError("its frame has negative distances or no size")
        if scale != 1 and (self._keeps_distances or not validation.positive_number(scale, "scale") < FARTHEST):
            raise ValueError("its frame cannot have this scale")
        if anchors is not None and (
            anchors.dtype != np.int64 or not (np.diff(anchors, prepend=-1, append=n_seen) > 0).all()
        ):
            raise ValueError("the anchors of its frame have not arrived, or are not in order")
        embedding = copy.deepcopy(self.embedding)
        embedding.restore(between, placing.masses, state)
        found = embedding.coordinates_ if places is None else places
        if found.shape != (len(landmarks.ids), k) or not _squarable(found):
            raise ValueError("the positions of its frame are not finite, or not those of its landmarks")
        if anchors is not None and embedding.anchor_coordinates_.shape != (len(anchors), k):
            raise ValueError("its frame has a wrong number of anchors")
        rows = row_placer_of(embedding, store, placing.points)
        frame = Frame(embedding, landmarks, placing, between, anchors, np.eye(k), np.zeros(k), rows, farthest, places)
        return frame.laid(rotation, translation, scale)

    def present(self, engine: LandmarkEngine) -> Frame:
        """The frame in which coordinates are given now."""
        stream = engine.fitted_stream()
        is_due = engine.n_samples_seen_ >= self.due
        if self.current is None or is_due or stream.version != self.version:
            landmarks, points = engine.landmarks_of(stream)
            if self.current is None or is_due or not np.array_equal(self.current.landmarks, landmarks):
                masses = _at_least_a_little(stream.landmark_masses())
                points = None if engine.store.metric.form == "distances" else points
                self._follow(engine, Points(landmarks, points, masses))
                growth = int(frame_loss.GROWTH * float(engine.stored_masses().sum()))
                self.due = engine.n_samples_seen_ + max(growth, 1)
            self.version = stream.version
        assert self.current is not None
        return self.current

    def _follow(self, engine: LandmarkEngine, cover: Points) -> None:
        """Keep the current frame or make a new one, when the landmarks have changed or many points have come."""
        last, seen, tolerance = self.current, engine.n_samples_seen_, self.tolerance
        if last is None:
            self._take(engine, self._embedded(engine, cover))
            return
        kept = last.covered_by(engine, cover)
        if tolerance is None and len(last.landmarks) == engine.n_landmarks:
            self.current = kept
            return
        reference, replaced = self.reference, engine.n_replacements_
        is_beyond = bool(tolerance) and not self._keeps_distances and kept.is_beyond(engine)
        mass = float(engine.stored_masses().sum())
        if tolerance and reference is not None:
            is_due = frame_loss.is_due(reference, seen, replaced, mass, len(cover.ids))
            if not (is_due or is_beyond):
                self.current = kept
                return
        sample = frame_loss.sample_of(engine, cover.ids)
        before = kept.place_stored(engine, sample.ids)
        present = self._losses(engine, sample, before / kept.scale)
        reason = "growth" if np.array_equal(last.landmarks, cover.ids) else "landmarks"
        if tolerance:
            found: str | None = "growth"
            if reference is not None:  # else the frame has not been judged yet
                found = frame_loss.reason_to_compare(present, reference, tolerance, seen, mass)
                self.reference = reference._replace(judged=seen, replaced=replaced)
            found = "a cell" if is_beyond else found
            if found is None:
                self.current = kept
                return
            reason = found
        frame = self._embedded(engine, cover)
        after = frame.place_stored(engine, sample.ids)
        losses = self._losses(engine, sample, after)
        is_wanted = is_beyond or (self._keeps_distances and frame.has_many_more_anchors(last))
        if tolerance and not (is_wanted or frame_loss.is_better(losses, present, tolerance)):
            self.current, self.reference = kept, frame_loss.reference_of(present, seen, replaced)
            return
        shares = sample.shares
        if not self._keeps_distances:  # such an embedding does not extrapolate: newer points lay anywhere
            known = np.where(sample.ids < self.seen, shares, 0.0)
            shares = known if np.count_nonzero(known) >= FEWEST_KNOWN else shares
        if self.align:
            k = self.n_components
            real = min(last.embedding.n_dimensions_, frame.embedding.n_dimensions_)  # the others are 0 and stay so
            rotation, translation = np.eye(k), np.zeros(k)
            rotation[:real, :real], translation[:real] = procrustes(
                last.scale * after[:, :real], before[:, :real], shares
            )
            frame, after = (
                frame.laid(rotation, translation, last.scale),
                move(after, last.scale * rotation, translation),
            )
        change = None
        if last.embedding.n_dimensions_:  # a map that was one place has no diameter to compare with
            moved = displacement(before[shares > 0], after[shares > 0])
            of_both = present.total, losses.total
            change = FrameChange(self.count + 1, frame.rotation, moved, seen - 1, reason, *of_both)
        self._take(engine, frame, change)
        self.reference = frame_loss.reference_of(losses, seen, replaced)

    def register(self, engine: LandmarkEngine, laid: Registration) -> None:
        """Make the present frame, laid on another map, a frame of its own."""
        last, reference = self.present(engine), self.reference
        frame = last.moved(engine.store, laid.rotation, laid.translation, laid.scale)
        sample = frame_loss.sample_of(engine, last.landmarks)
        before, after = (each.place_stored(engine, sample.ids) for each in (last, frame))
        stress = self._losses(engine, sample, before / last.scale).total
        moved = displacement(before, after)
        change = FrameChange(
            self.count + 1, laid.rotation, moved, engine.n_samples_seen_ - 1, REGISTERED, stress, stress
        )
        self._take(engine, frame, change)
        self.reference = reference  # it is as good as it was

    def _losses(self, engine: LandmarkEngine, sample: Sample, positions: Array) -> Losses:
        quick = engine.store.metric.quick
        cache = (self.judged if quick else self.between).updated(engine, sample.ids, sample.ids)
        if quick:
            self.judged = cache
        else:
            self.between = cache
        return frame_loss.losses(self.embedding, sample, cache.values, positions)

    def _take(self, engine: LandmarkEngine, frame: Frame, change: FrameChange | None = None) -> None:
        """Make this the current frame."""
        if change is not None:
            self.changes.append(change)
        self.current, self.seen, self.reference = frame, engine.n_samples_seen_, None
        self.count += 1
        k, real = self.n_components, frame.embedding.n_dimensions_
        if real < k < self.seen and not self.warned:  # k points never span k dimensions
            self.warned = True
            warnings.warn(
                f"the landmarks so far span {real} of n_components={k} dimensions; the missing coordinates are 0",
                UserWarning,
                stacklevel=5,
            )

    def _embedded(self, engine: LandmarkEngine, cover: Points) -> Frame:
        """A frame of these landmarks, neither turned nor shifted."""
        landmarks, points = cover.ids, cover.points
        if len(landmarks) == 1 and engine.store.metric.native and engine.obeys_triangle:
            stored = engine.stored_points(engine.stored_indices_)
            if (stored != stored[0]).any():
                problem = f"all points lie within {engine.initial_radius:.2g} of each other"
                raise InputError(f"{problem}, where distances cannot be distinguished; rescale the data")
        given: dict[str, Any] = {}
        fixed, anchors, diameter, last = cover, None, 0.0, self.current
        if self.stored_cache is not None:
            given["stored"] = self.stored_cache.stored(engine, landmarks)
        if "anchors" in self.needs:
            given["anchors"] = chosen = self._anchors(engine, cover)
            anchors = chosen.ids
            if chosen.to_landmarks is not None:
                diameter = chosen.to_landmarks.max()
            if chosen.measured:
                fixed = Points(anchors, None if points is None else engine.stored_points(anchors), chosen.masses)
        self.between = self.between.updated(engine, fixed.ids, fixed.ids)
        between = self.between.values
        if "start" in self.needs:
            given["start"] = None
            if last is not None and self.align:
                given["start"] = last.start(engine, landmarks if anchors is None else anchors)
        embedding = copy.deepcopy(self.embedding if last is None else last.embedding)
        embedding = embedding.fit(between, fixed.masses, **given)
        diameter = max(diameter, between.max(initial=0.0))
        farthest = min(FARTHEST * float(diameter), float(validation.LARGEST_NUMBER)) or np.inf
        rows, k = row_placer_of(embedding, engine.store, fixed.points), self.n_components
        return Frame(embedding, cover, fixed, between, anchors, np.eye(k), np.zeros(k), rows, farthest)

    def _number_of_anchors(self, engine: LandmarkEngine, landmarks: Ids) -> int | None:
        """The number that was given, or that is enough; it is chosen again when much has changed."""
        if hasattr(self.embedding, "anchors_for"):
            return int(self.embedding.anchors_for(len(landmarks)))
        if not isinstance(self.n_anchors, str):
            return self.n_anchors
        if not engine.store.metric.quick:
            return ANCHOR_COUNTS[0]
        if self.choice is None or not self.choice.holds(len(engine.stored_indices_), landmarks):

            def place_by(n: int) -> tuple[Ids, Callable[[Ids], Array]]:
                frames = Frames(self.embedding, self.n_components, n, False)
                frames.warned = True
                frame = frames.present(engine)
                return frame.fixed.ids, lambda ids: frame.place_stored(engine, ids)

            self.choice = count_anchors(engine, place_by, landmarks)
        return self.choice.n_anchors

    def _anchors(self, engine: LandmarkEngine, cover: Points) -> Anchors:
        """Up to ``n_anchors`` stored points by mass or, where some are stored no more, of the sample of rows.

        The landmarks if they are as many.

        An embedding that says how many it needs has no place for what lies far from all anchors: the landmarks and the
        last points are among them.

        Distances to them are measured, unless a Python function does that: then they follow from those to landmarks.
        """
        landmarks = cover.ids
        n_anchors = self._number_of_anchors(engine, landmarks)
        if n_anchors is None or n_anchors <= len(landmarks):
            return Anchors(landmarks, landmarks, cover.masses, None)
        cells, weights = engine.cells()
        with np.errstate(over="ignore"):  # masses that have decayed to almost nothing
            if hasattr(self.embedding, "anchors_for"):
                recent = engine.stored_indices_[-max(int(RECENT_ANCHORS * n_anchors), 1) :]
                ids = choose_with(np.union1d(landmarks, recent), cells, n_anchors, weights)
                shares = _masses_of(engine, ids)
            elif (sampled := engine.sampled_rows(n_anchors)) is not None:
                ids, shares = sampled, np.full(len(sampled), engine.n_samples_seen_ / len(sampled))
            else:
                ids, shares = choose_anchors(cells, n_anchors, weights)
        self.to_anchors = self.to_anchors.updated(engine, ids, landmarks)
        to_landmarks, measured = self.to_anchors.values, bool(engine.store.metric.quick)
        return Anchors(ids, landmarks, _at_least_a_little(shares), to_landmarks, measured)


def _is_remeasured(store: Store, points: Any) -> bool:
    """Whether a checkpoint lacks the distances between points: the core measures them again, to the bit."""
    return store.metric.native and isinstance(points, np.ndarray)


def _check_ids(ids: Ids, n_seen: int) -> None:
    if ids.dtype != np.int64 or not (np.diff(ids, prepend=-1, append=n_seen) > 0).all():
        raise ValueError("the landmarks or anchors of its frame have not arrived, or are not in order")


def _checked_points(store: Store, n_seen: int, ids: Ids, points: Any, masses: Array) -> Points:
    """Points from what was packed, once they have been checked."""
    _check_ids(ids, n_seen)
    if not (masses.shape == ids.shape and masses.dtype == np.float64 and _squarable(masses)):
        raise ValueError("an array of its frame has the wrong shape, type or range")
    if not (masses > 0.1 * LEAST_MASS * masses.sum()).all():
        raise ValueError("the masses of its frame must be positive")
    if (points is None) != (store.metric.form == "distances"):
        raise ValueError("its frame lacks landmarks, or has some although distances are precomputed")
    if points is not None and len(points := store.check(points)) != len(ids):
        raise ValueError("its frame has a wrong number of landmarks")
    return Points(ids, points, masses)


def _masses_of(engine: LandmarkEngine, ids: Ids) -> Array:
    """Masses of stored points; 0 of a landmark that is forgotten, but not replaced yet."""
    old, known, _ = common(engine.stored_indices_, ids)
    masses = np.zeros(len(ids))
    masses[known] = engine.stored_masses()[old]
    return masses


def _at_least_a_little(masses: Array) -> Array:
    """Masses of landmarks or anchors, some of whose cells may be empty."""
    return np.maximum(masses, LEAST_MASS * masses.sum())


def _squarable(array: Array) -> bool:
    """Whether all numbers are finite, and so are sums of their squares."""
    return bool((np.abs(array) < validation.LARGEST_SQUARABLE).all())
