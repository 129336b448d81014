"""Match the tensors of a file with those of a network, by name after the rules of a project, and by shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from engine.fit import WeightMatch
from engine.io import StoredTensor
from studio.document.model import ImportedWeights
from studio.document.rename_rules import matches, renamed

Status: TypeAlias = Literal["matched", "missing", "misshapen", "unexpected", "tied"]
Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WeightRow:
    """A tensor of the network, of the file, or both."""

    status: Status
    name: str
    """Name in the network; of an unexpected tensor, the name that the rules give it."""
    source: str = ""
    """Name in the file; empty for a missing tensor."""
    shape: Shape | None = None
    """Shape in the network."""
    source_shape: Shape | None = None
    """Shape in the file."""
    is_transposed: bool = False
    note: str = ""
    """Why it is not loaded, if that is not the shape or the name."""


@dataclass(frozen=True)
class WeightTable:
    """The result of matching: tensors of the network in their order, then further ones of the file."""

    rows: tuple[WeightRow, ...]

    def names(self, status: Status) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows if row.status == status)

    @cached_property
    def match(self) -> WeightMatch:
        """The result without names of the file, as text: "3 fit; missing: …"."""
        return WeightMatch(
            same=self.names("matched"),
            missing=self.names("missing"),
            extra=tuple(row.source for row in self.rows if row.status == "unexpected"),
            reshaped={
                row.name: (row.shape or (), row.source_shape or ()) for row in self.rows if row.status == "misshapen"
            },
        )


def weight_table(
    network: Mapping[str, Shape], stored: Mapping[str, StoredTensor], rules: ImportedWeights
) -> WeightTable:
    """Match tensors.

    Args:
        network: shapes of the parameters and buffers of the network
        stored: the tensors of the file
        rules: how names and matrices of the file are changed
    """
    sources: dict[str, str] = {}
    further: list[WeightRow] = []
    for source in stored:
        name = renamed(source, rules.rename)
        if name in sources:
            further.append(_unused(name, source, stored, f"{sources[name]} has the same name"))
        elif name not in network:
            further.append(_unused(name, source, stored))
        else:
            sources[name] = source
    rows = [
        _row(name, shape, sources[name], stored[sources[name]], rules)
        if name in sources
        else WeightRow("missing", name, shape=shape)
        for name, shape in network.items()
    ]
    return WeightTable((*rows, *further))


def _row(name: str, shape: Shape, source: str, tensor: StoredTensor, rules: ImportedWeights) -> WeightRow:
    is_transposed = len(tensor.shape) == 2 and matches(source, rules.transpose)
    found = tensor.shape[::-1] if is_transposed else tensor.shape
    note = f"{tensor.dtype} values" if tensor.dtype.kind == "c" else ""
    status: Status = "matched" if found == shape and not note else "misshapen"
    return WeightRow(status, name, source, shape, tensor.shape, is_transposed, note)


def _unused(name: str, source: str, stored: Mapping[str, StoredTensor], note: str = "") -> WeightRow:
    """A tensor of the file that is not loaded: tied to a tensor under another name, or unexpected."""
    owner = stored[source].alias_of
    if owner:
        return WeightRow("tied", name, source, source_shape=stored[source].shape, note=f"the same values as {owner}")
    return WeightRow("unexpected", name, source, source_shape=stored[source].shape, note=note)


__all__ = ["Shape", "Status", "WeightRow", "WeightTable", "weight_table"]
