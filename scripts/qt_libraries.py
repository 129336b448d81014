"""System libraries that Qt's wheels need on Linux: installs missing ones or prints the command for it."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys

from environment import SetupError, apt_install, is_root, print_message

MANAGERS = {
    "apt-get": "apt-get install --yes",
    "dnf": "dnf install",
    "pacman": "pacman -S --needed",
    "zypper": "zypper install",
}

# Library, then its package for each of MANAGERS. Importing QtGui needs these, even without a display.
ALWAYS = {
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2", "glib2", "libglib-2_0-0"),
    "libEGL.so.1": ("libegl1", "libglvnd-egl", "libglvnd", "libglvnd"),
    "libGL.so.1": ("libgl1", "libglvnd-glx", "libglvnd", "libglvnd"),
    "libX11.so.6": ("libx11-6", "libX11", "libx11", "libX11-6"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon", "libxkbcommon", "libxkbcommon0"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig", "fontconfig", "libfontconfig1"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs", "dbus", "libdbus-1-3"),
}
# Qt's plugin for X11 needs these as well.
X11 = {
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb", "libx11", "libX11-xcb1"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11", "libxkbcommon-x11-0"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor", "libxcb-cursor0"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm", "xcb-util-wm", "libxcb-icccm4"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image", "xcb-util-image", "libxcb-image0"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms", "libxcb-keysyms1"),
    "libxcb-randr.so.0": ("libxcb-randr0", "libxcb", "libxcb", "libxcb-randr0"),
    "libxcb-render-util.so.0": (
        "libxcb-render-util0",
        "xcb-util-renderutil",
        "xcb-util-renderutil",
        "libxcb-render-util0",
    ),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb", "libxcb", "libxcb-shape0"),
    "libxcb-sync.so.1": ("libxcb-sync1", "libxcb", "libxcb", "libxcb-sync1"),
    "libxcb-util.so.1": ("libxcb-util1", "xcb-util", "xcb-util", "libxcb-util1"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", "libxcb", "libxcb", "libxcb-xfixes0"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb", "libxcb", "libxcb-xkb1"),
}


def ensure(*, display: bool) -> None:
    """Install missing libraries of Qt. Raises SetupError with the command to run if this needs a prompt.

    With `display`, also the libraries for an X11 display.
    """
    missing = missing_libraries(display=display)
    if not missing:
        return
    if shutil.which("apt-get") and is_root():
        print_message(f"Installing the system libraries that Qt needs: {', '.join(missing)}.")
        apt_install(packages(missing, "apt-get"))
        missing = missing_libraries(display=display)
    if missing:
        raise SetupError(f"Qt needs system libraries that are missing: {', '.join(missing)}.\n{remedy(missing)}")


def missing_libraries(*, display: bool) -> list[str]:
    """Return the file names of shared libraries that Qt needs and that are missing."""
    if not sys.platform.startswith("linux"):
        return []
    x11 = display and "DISPLAY" in os.environ and "WAYLAND_DISPLAY" not in os.environ
    return [name for name in (*ALWAYS, *(X11 if x11 else ())) if not _loads(name)]


def packages(libraries: list[str], manager: str) -> list[str]:
    """Return the packages of `manager` that contain `libraries`."""
    column = list(MANAGERS).index(manager)
    return list(dict.fromkeys({**ALWAYS, **X11}[library][column] for library in libraries))


def remedy(libraries: list[str]) -> str:
    """Return the command to run on this system."""
    manager = next((name for name in MANAGERS if shutil.which(name)), None)
    if manager is None:
        return "Install the packages of your distribution that contain them, then run this command again."
    prefix = "" if is_root() else "sudo "
    return f"Run: {prefix}{MANAGERS[manager]} {' '.join(packages(libraries, manager))}"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
