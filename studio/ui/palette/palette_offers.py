"""The node types that palettes offer, and their order: by what usually follows, and by the user's own use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.shape import Spec
from studio.document.blocks import block_nodes
from studio.document.blocks.library_copies import existing_copy
from studio.document.model import Endpoint
from studio.lowering.analysis.block_types import known_type
from studio.lowering.analysis.library_types import LibraryType, library_type
from studio.lowering.analysis.successors import Side, Successors, fits_dimensions
from studio.nodes.palette_search import SearchMatch, search_node_types
from studio.nodes.types import NodeType, PortType
from studio.ui.palette.node_usage import NodeUsage
from studio.ui.project.block_libraries import BlockLibraries
from studio.ui.project.scope_store import ScopeStore

MAX_MATCHES = 50
SUGGESTED = 6
"""Number of suggested types."""
_FOLLOWS, _USED, _MISFIT = 12.0, 8.0, -12.0
"""What is added to the score of a match: at most for what follows, at most for use, and for other dimensions."""

_KEEPING_DIMENSIONS = frozenset({"Convolution", "Normalization", "Pooling", "Dropout", "activation"})
"""Groups and categories of types whose outputs have as many dimensions as their inputs."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a search palette shows."""

    types: Sequence[NodeType]
    hint: str = "Search nodes"
    suggested: Sequence[NodeType] = ()
    """Shown first while nothing is typed."""
    bonus: Mapping[str, float] = field(default_factory=dict[str, float])
    """By type: what is added to the score of a match."""

    equal: frozenset[str] = frozenset()
    """Keys of blocks of libraries that the project has as well. A search shows only the project's."""

    def search(self, text: str) -> list[SearchMatch]:
        """The best matches of a text."""
        types = [kind for kind in self.types if kind.key not in self.equal] if self.equal else self.types
        return search_node_types(types, text, lambda kind: self.bonus.get(kind.key, 0.0), MAX_MATCHES)


class PaletteOffers:
    """Offers for one project."""

    def __init__(
        self, store: ScopeStore, usage: NodeUsage | None = None, libraries: BlockLibraries | None = None
    ) -> None:
        self._store = store
        self.usage = usage or NodeUsage()
        self.libraries = libraries
        self._made: tuple[object, tuple[LibraryType, ...]] = (None, ())
        """Blocks of libraries, and the types made of them."""
        self._equal_types: tuple[object, object, frozenset[str]] = (None, None, frozenset())
        """Blocks of the project and types of the libraries, and the result of `_equal` for them."""

    def types(self) -> tuple[NodeType, ...]:
        """All types that can be added to the shown graph, then the blocks of the libraries."""
        return (*self._store.node_types, *self._library_types())

    def _equal(self) -> frozenset[str]:
        """Keys of library types whose definition the project has, unchanged, as a type that can be added."""
        document, types = self._store.document, self._library_types()
        known_blocks, known_types, found = self._equal_types
        if known_blocks is not document.blocks or known_types is not types:
            addable = {kind.key for kind in self._store.node_types}
            copies = ((kind.key, existing_copy(document, kind.entry)) for kind in types if kind.entry is not None)
            found = frozenset(key for key, name in copies if name is not None and block_nodes.type_of(name) in addable)
            self._equal_types = document.blocks, types, found
        return found

    def refresh(self) -> None:
        """Read changed files of the user's library, in the background, for the next offer."""
        if self.libraries is not None:
            self.libraries.refresh()

    def find(self, key: str) -> NodeType | None:
        """A type by its key."""
        return next((kind for kind in self.types() if kind.key == key), None)

    def _library_types(self) -> tuple[LibraryType, ...]:
        entries = self.libraries.blocks if self.libraries else ()
        known_entries, types = self._made
        if known_entries is not entries:
            found = (library_type(entry, self._store.catalogue) for entry in entries)
            types = tuple(each for each in found if each is not None)
            self._made = entries, types
        return types

    def anywhere(self, *, lists_equal: bool = False) -> Offer:
        """All types, the most used ones suggested.

        Args:
            lists_equal: whether a search also finds blocks of libraries that the project has
        """
        used = self.usage.weights()
        suggested = [kind for key in used if (kind := self.find(key)) is not None]
        return Offer(
            self.types(),
            suggested=suggested[:SUGGESTED],
            bonus=self._bonus({}, None),
            equal=frozenset() if lists_equal else self._equal(),
        )

    def after(self, name: str) -> Offer:
        """All types, those suggested that usually follow a node."""
        document = self._store.document
        kind = known_type(document, self._store.catalogue, name) if name in document.nodes else None
        if kind is None or not kind.outputs:
            return self.anywhere()
        port = kind.outputs[0]
        types = self.types()
        fitting = [each for each in types if any(other.type is port.type for other in each.inputs)]
        return self._around(kind, Endpoint(name, port.name), "output", types, fitting, f"Add after {name}")

    def for_wire(self, fixed: Endpoint, side: Side, kind: PortType) -> Offer:
        """The types with a port for the other end of a wire.

        Args:
            fixed: the connected end
            side: whether it is an output or an input
        """
        needed = "inputs" if side == "output" else "outputs"
        types = [each for each in self.types() if any(port.type is kind for port in getattr(each, needed))]
        node_type = known_type(self._store.document, self._store.catalogue, fixed.node)
        hint = f"Nodes that {'accept' if side == 'output' else 'provide'} {fixed}"
        if node_type is None:
            return Offer(types, hint, bonus=self._bonus({}, None), equal=self._equal())
        return self._around(node_type, fixed, side, types, types, hint)

    def _around(
        self,
        kind: NodeType,
        end: Endpoint,
        side: Side,
        types: Sequence[NodeType],
        fitting: Sequence[NodeType],
        hint: str,
    ) -> Offer:
        spec = self._spec(end) if side == "output" else None
        weights = Successors([self._store.document]).weights(kind, end.port, side, spec)
        used = self.usage.weights()
        rank = {each.key: weights[each.key] + 0.5 * used.get(each.key, 0.0) for each in fitting if each.key in weights}
        by_key = {each.key: each for each in fitting}
        suggested = [by_key[key] for key in sorted(rank, key=lambda key: -rank[key])[:SUGGESTED]]
        return Offer(types, hint, suggested, self._bonus(weights, spec, (each.key for each in types)), self._equal())

    def _spec(self, end: Endpoint) -> Spec | None:
        """Shape and dtype at an output; before a node is checked, those before it if it keeps the dimensions."""
        document, report = self._store.document, self._store.report
        for _ in range(len(document.nodes)):
            info = report.nodes.get(end.node)
            if info is not None and end.port in info.outputs:
                return info.outputs[end.port]
            kind = known_type(document, self._store.catalogue, end.node)
            if kind is None or not kind.inputs or not (_KEEPING_DIMENSIONS & {kind.group, kind.category}):
                return None
            target = Endpoint(end.node, kind.inputs[0].name)
            source = next((wire.source for wire in document.wires if wire.target == target), None)
            if source is None:
                return None
            end = source
        return None

    def _bonus(self, follows: Mapping[str, float], spec: Spec | None, keys: Iterable[str] = ()) -> dict[str, float]:
        used = self.usage.weights()
        bonus = {key: _MISFIT for key in keys if spec is not None and not fits_dimensions(key, spec)}
        for key in {*follows, *used}:
            bonus[key] = bonus.get(key, 0.0) + _FOLLOWS * follows.get(key, 0.0) + _USED * used.get(key, 0.0)
        return bonus
