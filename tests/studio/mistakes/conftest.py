"""Shows the values of failed assertions in the shared test of planted mistakes."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.studio.mistakes.diagnosing")
