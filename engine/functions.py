"""All public functions of the op registry, as `engine.exp`. `functions.pyi` is generated from it (scripts/stubs.py)."""

from __future__ import annotations

from engine.ops import COMPOSITES, REGISTRY

_found = {
    name: record.function
    for record in (*REGISTRY.values(), *COMPOSITES.values())
    if record.public
    for name in (record.name, *record.aliases)
}
globals().update(_found, __all__=sorted(_found))  # the registry is the list; the stub spells it out
