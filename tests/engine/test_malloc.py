from __future__ import annotations

import platform

import pytest

from engine.system import malloc


def test_thresholds_are_set_on_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    assert malloc.keep_freed_memory() == (platform.libc_ver()[0] == "glibc")


def test_settings_of_the_user_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert not malloc.keep_freed_memory()


def test_other_systems_are_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert not malloc.keep_freed_memory()
