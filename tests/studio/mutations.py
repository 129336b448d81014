"""Damage of all kinds: to bytes, to values of JSON, to safetensors with a valid checksum, to command lines."""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    -1,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    -(2**70),
    10**400,
    0.5,
    -0.0,
    1e308,
    "",
    "nope",
    "1",
    "\0",
    "é" * 50,
    "a" * 5000,
    "../../etc/passwd",
    "/dev/zero",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"tensor": "nope"},
    {"list": [[1, 2]]},
    {"dict": [[{"list": []}, 1]]},
    {"Device": "tpu"},
    {"DType": "complex"},
    {"set": [{"dict": []}]},
    {"tensor": 1},
    {"dict": 3},
    {"list": {"a": 1}},
)
"""Values that may stand where others are expected."""

_DEEP = ("@60", "@3000", "@20000")
"""These stand for lists that are nested so deeply: as values they could not even be written."""
_BYTES = (b"\0", b"\xff", b"\xff" * 8, b"\0" * 8, b"\x80", b'"', b"{", b"}", b"[", b"9" * 30, b"-", b"\n", b"PK", b"\\")


def damaged_bytes(random: Random, content: bytes) -> bytes:
    """Bits flipped, bytes put in, left out, doubled or overwritten, an end cut off; one to three of these."""
    found = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        # Headers are short and say most: half of the damage is near the beginning or the end.
        near = random.random()
        last = max(len(found) - 1, 0)
        place = random.randint(0, min(last, 200)) if near < 0.35 else random.randint(max(last - 200, 0), last)
        place = place if near < 0.5 else random.randint(0, last)
        length = random.choice((1, 2, 4, 8, 100, 1000))
        match random.randrange(7):
            case 0 if found:
                found[place] ^= 1 << random.randrange(8)
            case 1 if found:
                found[place] = random.randrange(256)
            case 2:
                del found[place:]
            case 3:
                found[place:place] = random.choice(_BYTES)
            case 4:
                del found[place : place + length]
            case 5:
                found[place:place] = found[place : place + length]
            case _:
                junk = random.choice(_BYTES)
                found[place : place + len(junk)] = junk
    return bytes(found)


def damaged_value(random: Random, value: Any) -> Any:
    """A value of JSON in which one or two others stand somewhere, or keys are gone, new, or have other names."""
    found = copy.deepcopy(value)
    for _ in range(random.choice((1, 1, 2))):
        holder, key = random.choice(_places(found) or [(None, None)])
        if holder is None:
            return random.choice(JUNK)
        match random.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[random.choice(("", "nope", "tensor", "event", f"{key}x"))] = holder.pop(key)
            case 2:
                holder[key] = random.choice(_DEEP)
            case 3:
                other, another = random.choice(_places(found))
                holder[key] = copy.deepcopy(other[another])
            case _:
                holder[key] = copy.deepcopy(random.choice(JUNK))
    return found


def damaged_json(random: Random, content: bytes) -> bytes:
    """The text of a value, damaged as a value or, one time in three, as bytes."""
    if random.random() < 1 / 3:
        return damaged_bytes(random, content)
    text = _dumps(damaged_value(random, json.loads(content)))
    if random.random() < 0.05:
        text = text.replace("1", random.choice(("NaN", "1e999", "Infinity", "01", "1" * 5000)), 1)
    return text.encode()


def damaged_lines(random: Random, content: bytes) -> bytes:
    """Lines of JSON, some damaged."""
    lines = content.splitlines()
    places = random.sample(range(len(lines)), random.choice((1, 1, 2, min(5, len(lines)))))
    for place in places:
        lines[place] = damaged_json(random, lines[place])
    if random.random() < 0.2:
        lines.insert(random.randrange(len(lines)), random.choice(lines))
    return b"\n".join(lines) + random.choice((b"", b"\n"))


def damaged_safetensors(random: Random, content: bytes) -> bytes:
    """Damaged bytes; or a damaged header, or damaged metadata with a checksum that fits them."""
    if random.random() < 0.3:
        return damaged_bytes(random, content)
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    metadata = header.get("__metadata__", {})
    if "gradwire.structure" not in metadata or random.random() < 0.3:
        header = damaged_value(random, header)
        return _with_header(_dumps(header), data)
    structure = _dumps(damaged_value(random, json.loads(metadata["gradwire.structure"])))
    if random.random() < 0.1:
        structure = damaged_bytes(random, structure.encode()).decode(errors="replace")
    header["__metadata__"] = {"gradwire.sha256": "0" * 64, "gradwire.structure": structure}
    return _with_checksum(_with_header(_dumps(header), data))


def damaged_arguments(random: Random, arguments: Sequence[str], words: Sequence[str]) -> list[str]:
    """A command line in which arguments are gone, new, doubled, swapped, cut or misspelt."""
    found = list(arguments)
    for _ in range(random.choice((1, 1, 2, 3))):
        place = random.randrange(len(found) + 1)
        at = min(place, len(found) - 1)
        match random.randrange(6):
            case 0 if found:
                del found[at]
            case 1 if found:
                found[at] = random.choice(words)
            case 2 if found and found[at]:
                cut = random.randrange(len(found[at]))
                found[at] = found[at][:cut] + random.choice(("", "=", "-", "\0", "é", " ", "9")) + found[at][cut + 1 :]
            case 3 if len(found) > 1:
                other = random.randrange(len(found))
                found[at], found[other] = found[other], found[at]
            case _:
                found.insert(place, random.choice(words))
    return found


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Where in a value others stand: lists and objects with their indices and keys."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found


def _dumps(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for deep in _DEEP:
        depth = int(deep[1:])
        nested = '{"list":[' * depth + "1" + "]}" * depth
        text = text.replace(f'"{deep}"', nested, 1)
    return text


def _with_header(text: str, data: bytes) -> bytes:
    header = text.encode(errors="replace")
    return struct.pack("<Q", len(header)) + header + data


def _with_checksum(content: bytes) -> bytes:
    place = content.find(b'"gradwire.sha256":"') + len(b'"gradwire.sha256":"')
    digest = hashlib.sha256(content).hexdigest().encode()
    return content[:place] + digest + content[place + 64 :]
