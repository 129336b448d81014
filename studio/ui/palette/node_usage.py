"""How often the user adds each node type. Old uses count less."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

from studio.ui.settings import Settings

HALF_LIFE_DAYS = 30.0
MAX_TYPES = 200
_DAY = 86_400.0


class NodeUsage:
    """Counts of added nodes by type, kept in the settings if there are any."""

    def __init__(self, settings: Settings | None = None, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._counts = _parse(settings.node_usage) if settings else {}

    def record(self, key: str) -> None:
        """Count one more use."""
        now = self._clock() / _DAY
        self._counts[key] = (self._decayed(key, now) + 1.0, now)
        if len(self._counts) > MAX_TYPES:
            del self._counts[min(self._counts, key=lambda each: self._decayed(each, now))]
        if self._settings is not None:
            self._settings.node_usage = json.dumps(self._counts)

    def weights(self) -> dict[str, float]:
        """Weight of each used type, between 0 and 1, the most used first."""
        now = self._clock() / _DAY
        counts = {key: self._decayed(key, now) for key in self._counts}
        return {key: counts[key] / (counts[key] + 2.0) for key in sorted(counts, key=lambda key: -counts[key])}

    def _decayed(self, key: str, now: float) -> float:
        count, day = self._counts.get(key, (0.0, now))
        return count * 0.5 ** (max(now - day, 0.0) / HALF_LIFE_DAYS)


def _parse(text: str) -> dict[str, tuple[float, float]]:
    """Counts from the settings; none if they are damaged."""
    try:
        raw: Any = json.loads(text or "{}")
        counts = {str(key): (float(count), float(day)) for key, (count, day) in raw.items()}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
    return {key: pair for key, pair in counts.items() if all(map(math.isfinite, pair)) and 0 < pair[0] < 1e6}
