"""Self-tests of code that depends on the internals of CPython or of another package.

Such code works with the versions that it was written for. Before it is used for the first time in a process, a short
check runs. If the check fails, a warning names the reason, and a slower implementation computes the same results.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable


class SelfTest:
    """Runs a check once, when its outcome is first needed.

    Args:
        check: raises an exception that says what is not as expected
        title: what is checked, for the message
        effect: what happens if the check fails, as a sentence
    """

    def __init__(self, check: Callable[[], None], title: str, effect: str) -> None:
        self._check, self._title, self._effect = check, title, effect
        self._lock = threading.RLock()
        self._is_running = self._has_run = False
        self._failure: str | None = None

    @property
    def failure(self) -> str | None:
        """Message of a failed check; None if it passed."""
        if not self._has_run:
            self._run()
        return self._failure

    @property
    def passed(self) -> bool:
        """Whether the check passed. While it runs, it counts as passed for the code that it calls."""
        return (self._has_run or self._run()) and self._failure is None

    def require(self) -> None:
        """Raises RuntimeError if the check failed."""
        if self.failure is not None:
            raise RuntimeError(self.failure)

    def _run(self) -> bool:
        """Runs the check in the first calling thread; others wait for it."""
        with self._lock:
            if self._has_run or self._is_running:
                return True
            self._is_running = True
            try:
                self._check()
            except Exception as error:  # noqa: BLE001 - internals that changed can fail in any way
                self._failure = f"{self._title}: the self-test failed ({type(error).__name__}: {error}). {self._effect}"
            self._has_run, self._is_running = True, False
        if self._failure is not None:
            warnings.warn(self._failure, RuntimeWarning, stacklevel=4)
        return True


__all__ = ["SelfTest"]
