from __future__ import annotations

import pytest

import qt_libraries
from environment import SetupError
from qt_libraries import ALWAYS, MANAGERS, X11, packages, remedy


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux without Qt's libraries, as a user other than root."""
    monkeypatch.setattr(qt_libraries.sys, "platform", "linux")
    monkeypatch.setattr(qt_libraries, "_loads", lambda library: False)
    monkeypatch.setattr(qt_libraries, "is_root", lambda: False)


@pytest.mark.parametrize("manager", MANAGERS)
def test_every_library_has_a_package_for_every_manager(manager: str) -> None:
    result = packages([*ALWAYS, *X11], manager)
    assert result
    assert all(result)
    assert len(result) == len(set(result))


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "sudo apt-get install --yes libegl1"),
        ("dnf", "sudo dnf install libglvnd-egl"),
        ("pacman", "sudo pacman -S --needed libglvnd"),
        ("zypper", "sudo zypper install libglvnd"),
    ],
)
@pytest.mark.usefixtures("bare")
def test_remedy_is_the_command_of_this_distribution(
    manager: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qt_libraries.shutil, "which", lambda name: f"/usr/bin/{name}" if name == manager else None)
    assert remedy(["libEGL.so.1"]) == f"Run: {command}"


@pytest.mark.usefixtures("bare")
def test_display_libraries_are_needed_on_x11_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    assert qt_libraries.missing_libraries(display=True) == [*ALWAYS, *X11]
    assert qt_libraries.missing_libraries(display=False) == [*ALWAYS]
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert qt_libraries.missing_libraries(display=True) == [*ALWAYS]


@pytest.mark.usefixtures("bare")
def test_only_root_installs() -> None:
    with pytest.raises(SetupError, match=r"libEGL\.so\.1"):
        qt_libraries.ensure(display=False)


@pytest.mark.usefixtures("bare")
def test_root_on_debian_installs_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(qt_libraries, "is_root", lambda: True)
    monkeypatch.setattr(qt_libraries.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(qt_libraries, "apt_install", asked.extend)
    monkeypatch.setattr(qt_libraries, "_loads", lambda library: bool(asked))
    qt_libraries.ensure(display=False)
    assert asked == packages([*ALWAYS], "apt-get")


def test_other_systems_include_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qt_libraries.sys, "platform", "darwin")
    assert qt_libraries.missing_libraries(display=True) == []
