"""Read and run mutated artifacts in a process whose memory is limited and whose actions are audited.

`python -m tests.engine.export.artifact_mutants FOLDER --mutants 100000` prints a report as JSON.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import engine
from engine import export, nn
from engine.export import ArtifactError
from tests.engine.export.rewritten import artifact, content_of, members_of, repacked
from tests.engine.io.mutants import Reader, limit_memory, mutant

_VALUES = (
    *(None, True, 0, 1, -1, 2, 3, 7, 64, 2**31, 2**40, 2**47, 2**62, 2**70, 0.5, 1e300, "N", "M", "", "relu", "fill"),
    *("as_strided", "einsum", "reshape", [], {}, [0, 0], [1, -1], {"value": 0}, {"value": 4}, {"value": 99}),
    *({"size": "N"}, {"size": [[2**40, "N", "N"]]}, {"size": [[1, {"quotient": [{"size": "N"}, 0]}]]}),
    *({"slice": [None, None, -1]}, {"float": "nan"}, {"dtype": "bool"}, {"ellipsis": True}, {"tensor_slot": 3}),
    *("float64", "int64", "bool", "uint8", {"views": [["unfold", {"dimension": 0, "size": 2**40, "step": 1}]]}),
)


def samples() -> Mapping[str, bytes]:
    """Small artifacts with many kinds of ops and arguments."""
    attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    recurrent = nn.LSTM(3, 4, batch_first=True)

    def indexed(x: engine.Tensor) -> engine.Tensor:
        out = engine.zeros_like(x)
        out[:, 1:3] = x[:, :2] * engine.randn_like(x[:, :2])
        return nn.functional.interpolate(engine.cat([out, x])[:, None], scale_factor=2.0, mode="linear")

    dynamic = ({0: "N"},)
    return {
        "convolution": content_of(artifact()),
        "attention": content_of(export.export(attention, engine.randn(2, 3, 8), dynamic_shapes=dynamic)),
        "recurrent": content_of(export.export(recurrent, engine.randn(2, 3, 3), dynamic_shapes=dynamic)),
        "indexed": content_of(export.export(indexed, engine.randn(3, 4), dynamic_shapes=dynamic)),
    }


def mutant_of_member(content: bytes, source: random.Random) -> bytes:
    """An archive with a mutant of one member and correct hashes."""
    members = members_of(content)
    name = source.choice(sorted(members))
    return repacked({**members, name: mutant(members[name], source)})


def mutant_of_value(content: bytes, source: random.Random) -> bytes:
    """An archive in which values of a JSON member are others, with correct hashes."""
    members = members_of(content)
    name = source.choice(("network.json", "network.json", "network.json", "manifest.json"))
    document = json.loads(members[name])
    for _ in range(source.choice((1, 1, 2, 3))):
        holder, key = source.choice(list(_places(document)))
        if isinstance(holder, list) and source.random() < 0.2:
            holder.insert(key, copy.deepcopy(source.choice(_VALUES)))
        elif source.random() < 0.1:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(source.choice((*_VALUES, *(found for _, _, found in _values(document)))))
        if not list(_places(document)):
            break
    return repacked({**members, name: json.dumps(document).encode()})


def _values(document: Any) -> list[tuple[Any, Any, Any]]:
    """Each container with a key and the value there."""
    found: list[tuple[Any, Any, Any]] = []
    waiting = [document]
    while waiting and len(found) < 2000:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key, holder[key]))
            waiting.append(holder[key])
    return found


def _places(document: Any) -> list[tuple[Any, Any]]:
    return [(holder, key) for holder, key, _ in _values(document)]


class ArtifactReader(Reader):
    """Loads mutants, and runs those that load."""

    refusal = ArtifactError

    def _load(self, content: bytes) -> None:
        export.load(io.BytesIO(content))

    def _open(self, content: bytes) -> None:
        export.load(self._path).verify()


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(mutant, mutant_of_member, mutant_of_value, mutant_of_value, mutant_of_value),
)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--mutants", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    parsed = options.parse_args()
    reader, originals = ArtifactReader(parsed.folder.resolve()), samples()
    for name, content in originals.items():
        reader(f"original {name}", content)
    limit_memory()
    began = time.monotonic()
    for number in range(parsed.mutants):
        source = random.Random(f"{parsed.seed} {number}")
        name = source.choice(list(originals))
        reader(name, source.choice(_CHANGES)(originals[name], source))
    report = {
        "mutants": parsed.mutants,
        "seconds": round(time.monotonic() - began, 1),
        "slowest": round(reader.slowest, 2),
        "outcomes": dict(sorted(reader.outcomes.items())),
        "violations": reader.audit.violations,
        "crashes": reader.crashes,
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
