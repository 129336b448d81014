"""The settings that the user chooses. The dialog, the settings file and the reference page are derived from this table.

Does not use Qt, so that the reference page is generated without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast

Value = TypeVar("Value", bool, int, str)
Effect = Literal["at once", "after a restart", "for new projects"]

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, kw_only=True)
class Preference(Generic[Value]):
    """One setting: an on/off switch, a number within bounds, or one of several choices."""

    key: str
    """Its name in the settings file."""
    section: str
    title: str
    help: str
    default: Value
    choices: Mapping[Value, str] = field(default_factory=dict)
    """Titles of the possible values; empty for switches and numbers."""
    low: int = 0
    high: int = 0
    step: int = 1
    unit: str = ""
    effect: Effect = "at once"
    words: str = ""
    """Further words that find it."""

    def parse(self, raw: object) -> Value:
        """The value that the settings file states; the nearest within bounds, or the default if it is unreadable."""
        found: object = None
        if self.choices:
            found = next((value for value in self.choices if str(value) == str(raw)), None)
        elif isinstance(self.default, bool):
            text = str(raw).lower()
            found = True if text in _TRUE else False if text in _FALSE else None
        else:
            found = self._number(str(raw))
        return self.default if found is None else cast("Value", found)

    def text(self, value: Value) -> str:
        """A value as it is shown."""
        if self.choices:
            return self.choices[value]
        if isinstance(value, bool):
            return "on" if value else "off"
        return f"{value}{self.suffix}"

    @property
    def suffix(self) -> str:
        """What follows the number: " s", "%"."""
        return self.unit if self.unit in ("", "%") else f" {self.unit}"

    @property
    def range(self) -> str:
        """The possible values, as text."""
        if self.choices:
            return ", ".join(self.choices.values())
        return "on, off" if isinstance(self.default, bool) else f"{self.low} to {self.high}{self.suffix}"

    def matches(self, text: str) -> bool:
        """Whether all typed words are among its texts."""
        texts = f"{self.section} {self.title} {self.help} {self.key} {self.words} {self.range}".lower()
        return all(word in texts for word in text.lower().split())

    def _number(self, text: str) -> int | None:
        try:
            return min(max(round(float(text)), self.low), self.high)
        except (ValueError, OverflowError):
            return None


THEME: Final = Preference[str](
    key="theme",
    section="Appearance",
    title="Theme",
    help="Colors of the window. System follows the desktop.",
    default="system",
    choices={"system": "System", "light": "Light", "dark": "Dark"},
    words="dark mode night colors colours",
)
INTERFACE_SCALE: Final = Preference[int](
    key="interface_scale",
    section="Appearance",
    title="Interface scale",
    help="Size of texts, icons, panels and the canvas, on top of the scale of the desktop.",
    default=100,
    low=80,
    high=200,
    step=10,
    unit="%",
    effect="after a restart",
    words="zoom font size text larger smaller dpi",
)
REDUCE_MOTION: Final = Preference[bool](
    key="reduce_motion",
    section="Appearance",
    title="Reduce motion",
    help="Zoom, scroll and lay out without animation.",
    default=False,
    words="animations accessibility",
)
GRID_SNAPPING: Final = Preference[bool](
    key="canvas/grid_snapping",
    section="Canvas",
    title="Snap to the grid",
    help="Place dragged and new nodes on the grid. Alt while dragging does without.",
    default=True,
    words="align",
)
GRID_SIZE: Final = Preference[int](
    key="canvas/grid_size",
    section="Canvas",
    title="Grid size",
    help="Distance of the grid lines at 100% zoom, and of a move with the arrow keys.",
    default=8,
    choices={8: "8 px", 16: "16 px", 24: "24 px", 32: "32 px", 64: "64 px"},
    words="spacing dots",
)
SNAP_LINES: Final = Preference[bool](
    key="canvas/snap_lines",
    section="Canvas",
    title="Snap to neighbors",
    help="Align dragged nodes with the edges and centers of others, and show the lines.",
    default=True,
    words="guides align smart",
)
WHEEL: Final = Preference[str](
    key="canvas/wheel",
    section="Canvas",
    title="Mouse wheel",
    help="What the wheel does on the canvas. With Ctrl it always zooms, with Shift it scrolls sideways.",
    default="zoom",
    choices={"zoom": "Zoom", "scroll": "Scroll"},
    words="pan",
)
ZOOM_SPEED: Final = Preference[int](
    key="canvas/zoom_speed",
    section="Canvas",
    title="Zoom speed",
    help="Zoom of a step of the wheel or of a key; at 100%, a step is a factor of 1.2.",
    default=100,
    low=25,
    high=300,
    step=25,
    unit="%",
    words="wheel sensitivity",
)
BACKUP_DELAY: Final = Preference[int](
    key="projects/backup_delay",
    section="Projects",
    title="Backup of unsaved work",
    help="Pause after an edit until it is backed up. After a crash, Gradwire offers the backup.",
    default=1,
    low=1,
    high=300,
    unit="s",
    words="autosave auto save journal recovery interval",
)
RECENT_FILES: Final = Preference[int](
    key="projects/recent_files",
    section="Projects",
    title="Recent files",
    help="Number of files on the start page and in File › Open recent. 0: none are remembered.",
    default=12,
    low=0,
    high=30,
    words="history privacy",
)
CONFIRM_STOP: Final = Preference[bool](
    key="projects/confirm_stop",
    section="Projects",
    title="Ask before closing a project that trains",
    help="Closing stops the run. It can be resumed from its last checkpoint.",
    default=True,
    words="confirmations quit exit warn",
)
NEW_DEVICE: Final = Preference[str](
    key="new_projects/device",
    section="New projects",
    title="Device",
    help="Device to train on. Auto uses CUDA if it is available, otherwise the CPU.",
    default="auto",
    choices={"auto": "Auto", "cpu": "CPU", "cuda": "CUDA"},
    effect="for new projects",
    words="gpu graphics card default",
)
NEW_COMPILE: Final = Preference[bool](
    key="new_projects/compile",
    section="New projects",
    title="Compile training steps",
    help="Compile training steps into fused kernels. Results are identical.",
    default=True,
    effect="for new projects",
    words="compiler speed default",
)

AnyPreference: TypeAlias = Preference[Any]
PREFERENCES: tuple[AnyPreference, ...] = (
    THEME,
    INTERFACE_SCALE,
    REDUCE_MOTION,
    GRID_SNAPPING,
    GRID_SIZE,
    SNAP_LINES,
    WHEEL,
    ZOOM_SPEED,
    BACKUP_DELAY,
    RECENT_FILES,
    CONFIRM_STOP,
    NEW_DEVICE,
    NEW_COMPILE,
)
"""All settings in the order of the dialog."""
