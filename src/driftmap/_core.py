"""The compiled core, for the level of this processor. ``_core.pyi`` documents what it offers."""

from __future__ import annotations

from driftmap._core_v4 import *  # noqa: F403
