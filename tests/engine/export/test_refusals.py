"""Files that are no valid artifacts are refused with the place, the values and the next step."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import export
from engine.export import ArtifactError
from engine.export.archive import pack
from tests.engine.export.rewritten import artifact, changed, content_of, members_of, repacked

CONTENT = content_of(artifact())
_SCALAR = {"dtype": "float32", "shape": []}


def refused(content: bytes) -> str:
    with pytest.raises(ArtifactError) as caught:
        export.load(io.BytesIO(content))
    text = str(caught.value)
    assert text.endswith((".", ")"))
    return text


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    """A change of the value at a path of a JSON document."""

    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


NETWORK_CHANGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "unknown op": (put("ops", 1, "op", value="os.system"), "op 1 (os.system of 1) cannot be run: this version of"),
    "gradient": (put("ops", 1, "op", value="sum_backward"), "it computes a gradient"),
    "random op": (put("ops", 1, "op", value="dropout"), "it draws random numbers"),
    "cycle": (put("ops", 1, "inputs", value=[{"value": 8}]), "reads value 8, but only the 6 values before it"),
    "negative value": (put("ops", 1, "inputs", value=[{"value": -1}]), "reads value -1"),
    "text as value": (put("ops", 1, "inputs", value=[{"value": "0"}]), "reads value that is not an integer"),
    "text as input": (put("ops", 1, "inputs", value=["x"]), "has an input that is a str"),
    "other number of inputs": (put("ops", 1, "inputs", value=[]), "has 0 inputs; the op has 1"),
    "unknown argument": (put("ops", 1, "arguments", value={"code": "x"}), "op relu has no argument 'code'"),
    "missing argument": (put("ops", 2, "arguments", value={}), "is missing the argument 'windows'"),
    "unknown kind": (put("ops", 0, "arguments", "stride", value={"call": "x"}), "has the unknown kind of value 'call'"),
    "wrong argument": (put("ops", 0, "arguments", "stride", value="x"), "op 0 (convolution of 0)"),
    "zero stride": (put("ops", 0, "arguments", "stride", value=[0, 0]), "op 0 (convolution of 0)"),
    "large integer": (put("ops", 0, "arguments", "groups", value=2**70), "has an integer of 71 bits"),
    "deep": (put("ops", 0, "arguments", "stride", value=[[[[[[[[[[[[[[1]]]]]]]]]]]]]]), "levels deep"),
    "symbol of no input": (put("ops", 0, "outputs", 0, "shape", 0, value={"size": "M"}), "which no input has"),
    "wrong shape": (put("ops", 0, "outputs", 0, "shape", 1, value=7), "result is N×7×6×6 float32, but the op gives"),
    "negative size": (put("ops", 0, "outputs", 0, "shape", 1, value=-1), "-1 is not a size"),
    "huge size": (put("ops", 0, "outputs", 0, "shape", 1, value=2**60), "is not a size from 0"),
    "unknown dtype": (put("ops", 0, "outputs", 0, "dtype", value="object"), "has the unknown dtype 'object'"),
    "two results": (put("ops", 1, "outputs", value=[_SCALAR] * 2), "has 2 results"),
    "unknown weight": (put("weights", 0, value="other"), "weight 'other' is not in the weights file"),
    "no output": (put("outputs", value=[]), "outputs are missing"),
    "unknown output": (put("outputs", 0, "value", value=99), "output output reads value 99"),
    "names twice": (lambda d: d["inputs"].append(d["inputs"][0]), "not unique"),
    "unknown field": (put("code", value="import os"), "unknown field"),
    "wrong type": (put("ops", value=3), "Expected `array`, got `int`"),
    "distribution": (
        put("random", value=[{"distribution": "x", "first": 0, "second": 1, "value": _SCALAR}]),
        "unknown distribution 'x'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORK_CHANGES)
def test_a_changed_graph_is_refused(name: str) -> None:
    change, message = NETWORK_CHANGES[name]
    text = refused(changed(CONTENT, "network.json", change))
    assert text.startswith("the file: network.json: ")
    assert message in text


MANIFEST_CHANGES = {
    "version": (put("version", value=2), "has version 2 of the format; this version of Gradwire reads version 1."),
    "format": (put("format", value="zip"), "the format is 'zip', not gradwire-artifact"),
    "labels": (put("labels", value=3), "Expected `array`, got `int`"),
}  # fmt: skip


@pytest.mark.parametrize("name", MANIFEST_CHANGES)
def test_a_changed_manifest_is_refused(name: str) -> None:
    change, message = MANIFEST_CHANGES[name]
    text = refused(changed(CONTENT, "manifest.json", change))
    assert text.startswith("the file: manifest.json: ")
    assert message in text


def test_hashes_are_compared() -> None:
    members = members_of(CONTENT)
    text = refused(pack({**members, "network.json": members["network.json"] + b" "}))
    assert "network.json differs from its hash in the manifest" in text


def test_truncated_files_are_refused() -> None:
    for percent in range(100):
        refused(CONTENT[: len(CONTENT) * percent // 100])


def test_members_are_checked_before_they_are_read() -> None:
    members = members_of(CONTENT)
    assert "contains 'code.py', so it is no artifact" in refused(_zipped({**members, "code.py": b""}))
    del members["network.json"]
    assert "does not contain network.json" in refused(_zipped(members))
    assert "manifest.json is compressed" in refused(_zipped(members_of(CONTENT), zipfile.ZIP_DEFLATED))
    large = {**members_of(CONTENT), "manifest.json": b" " * ((1 << 20) + 1)}
    assert "manifest.json has 1,048,577 bytes; at most 1,048,576 are read" in refused(_zipped(large))
    assert "so it is no artifact" in refused(b"")


def _zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_deep_json_is_refused() -> None:
    members = members_of(CONTENT)
    refused(repacked({**members, "network.json": b"[" * 100_000}))
    deep = json.dumps(json.loads(members["network.json"])).replace("0.00", "0").encode()
    assert refused(repacked({**members, "network.json": deep.replace(b'"weights"', b'"w": ' + b"[" * 5000)}))


def test_samples_must_be_those_of_the_network() -> None:
    members = members_of(CONTENT)
    text = refused(repacked({**members, "sample.safetensors": members["weights.safetensors"]}))
    assert "sample.safetensors: its arrays are not those of the inputs and outputs" in text


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        export.load(tmp_path / "none.gwx")
