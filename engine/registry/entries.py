"""Declared classes by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from engine.errors import RegistryError
from engine.registry.parameter import Parameter
from engine.registry.signature import documentation, parameters

T = TypeVar("T", bound=type)

Learns = Literal["", "classes", "numbers", "answers"]
"""Targets of a loss: class indices or probabilities, numbers, or binary labels."""


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One declared class. `key` is unique, such as "nn.Linear"."""

    key: str
    target: type
    category: str
    title: str
    was: tuple[str, ...] = ()
    """Former keys, which can still be read from files."""
    outputs: tuple[str, ...] = ("output",)
    tags: tuple[str, ...] = field(default=())
    """Further search terms."""
    learns: Learns = ""
    """Kind of targets of a loss, if only one makes sense."""

    @property
    def summary(self) -> str:
        """Return the first line of the docstring."""
        return documentation(self.target).partition("\n")[0]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return parameters(self.target)


class Registry:
    """Declared classes by key. Refuses duplicates and keeps former keys readable."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._entries: dict[str, RegistryEntry] = {}
        self._old: dict[str, str] = {}

    def register(
        self,
        *,
        category: str,
        title: str | None = None,
        was: tuple[str, ...] = (),
        outputs: tuple[str, ...] = ("output",),
        tags: tuple[str, ...] = (),
        learns: Learns = "",
    ) -> Callable[[T], T]:
        def declare(target: T) -> T:
            key = f"{self.prefix}.{target.__name__}"
            for name in (key, *was):
                if name in self._entries or name in self._old:
                    raise RegistryError(f"{name} is declared twice. Rename one of the two classes.")
            self._entries[key] = RegistryEntry(
                key, target, category, title or target.__name__, was, outputs, tags, learns
            )
            self._old.update(dict.fromkeys(was, key))
            return target

        return declare

    def __getitem__(self, key: str) -> RegistryEntry:
        try:
            return self._entries[self._old.get(key, key)]
        except KeyError:
            raise RegistryError(f"No class is registered as {key!r}. Registered: {', '.join(self._entries)}.") from None

    def __contains__(self, key: object) -> bool:
        return key in self._entries or key in self._old

    def __iter__(self) -> Iterator[RegistryEntry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


LAYERS = Registry("nn")
LOSSES = Registry("nn")
OPTIMIZERS = Registry("optim")
SCHEDULERS = Registry("lr_scheduler")
TRANSFORMS = Registry("transforms")
DATASETS = Registry("data")
METRICS = Registry("metrics")
