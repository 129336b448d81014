"""Matching the weights of a file with a network, suggested rules, and loading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import nn
from engine.io import StoredTensor, save_file
from studio.document.document_errors import FileError
from studio.document.model import Document, ImportedWeights, RenameRule
from studio.training.weights.rule_suggestions import suggest_rules
from studio.training.weights.weight_import import chosen_weights, load_into, network_tensors, shapes_of
from studio.training.weights.weight_source import open_source
from studio.training.weights.weight_table import Shape, WeightTable, weight_table

NO_RULES = ImportedWeights("file")


def stored(shapes: Mapping[str, Shape], aliases: Mapping[str, str] | None = None) -> dict[str, StoredTensor]:
    return {
        name: StoredTensor(
            shape, np.dtype(np.float32), lambda shape=shape: np.ones(shape, np.float32), (aliases or {}).get(name, "")
        )
        for name, shape in shapes.items()
    }


def statuses(table: WeightTable) -> dict[str, str]:
    return {row.name: row.status for row in table.rows}


NETWORK: dict[str, Shape] = {"fc.weight": (4, 3), "fc.bias": (4,), "out.weight": (2, 4), "out.bias": (2,)}


def test_the_table() -> None:
    file = stored(
        {"fc.weight": (4, 3), "fc.bias": (5,), "out.weight": (2, 4), "extra": (1,), "head": (4, 3)},
        {"head": "fc.weight"},
    )
    table = weight_table(NETWORK, file, NO_RULES)
    assert statuses(table) == {
        "fc.weight": "matched",
        "fc.bias": "misshapen",
        "out.weight": "matched",
        "out.bias": "missing",
        "extra": "unexpected",
        "head": "tied",
    }
    assert str(table.match) == (
        "2 fit; different shape: fc.bias has 4, the checkpoint 5; missing: out.bias; unexpected: extra"
    )


def test_two_tensors_with_one_name() -> None:
    rules = ImportedWeights("file", rename=(RenameRule("^[ab]$", "fc.bias"),))
    table = weight_table(NETWORK, stored({"a": (4,), "b": (4,)}), rules)
    assert [(row.status, row.source, row.note) for row in table.rows if row.source] == [
        ("matched", "a", ""),
        ("unexpected", "b", "a has the same name"),
    ]


@pytest.mark.parametrize("prefix", ["module.", "model.", "_orig_mod.", "_orig_mod.module.", "a.b.c.d."])
def test_prefixes_are_removed(prefix: str) -> None:
    file = stored({f"{prefix}{name}": shape for name, shape in NETWORK.items()} | {"step": ()})
    rules = suggest_rules(NETWORK, file, NO_RULES)
    assert [rule.replacement for rule in rules.rename] == [""]
    assert set(weight_table(NETWORK, file, rules).names("matched")) == set(NETWORK)


def test_prefixes_are_added() -> None:
    network = {f"encoder.{name}": shape for name, shape in NETWORK.items()}
    rules = suggest_rules(network, stored(NETWORK), NO_RULES)
    assert rules.rename == (RenameRule("^", "encoder."),)


def test_modules_are_paired_by_shapes_and_order() -> None:
    """Layers 2 and 10 are equal: their order is that of their numbers, also in a file that is sorted as text."""
    network = {f"{name}.weight": (3, 3) for name in ("first", "second", "third")} | {
        "out.weight": (2, 3),
        "out.bias": (2,),
    }
    names = ["body.0.weight", "body.10.weight", "body.2.weight", "head.bias", "head.weight"]
    shapes = dict(zip(names, [(3, 3)] * 3 + [(2,), (2, 3)], strict=True))
    rules = suggest_rules(network, stored(shapes), NO_RULES)
    table = weight_table(network, stored(shapes), rules)
    assert {row.name: row.source for row in table.rows} == {
        "first.weight": "body.0.weight",
        "second.weight": "body.2.weight",
        "third.weight": "body.10.weight",
        "out.weight": "head.weight",
        "out.bias": "head.bias",
    }


def test_modules_that_swap_their_names() -> None:
    network: dict[str, Shape] = {"b.w": (1, 2), "a.v": (3, 4), "c.u": (5,)}
    file = stored({"a.w": (1, 2), "b.v": (3, 4), "a.x.u": (5,)})
    rules = suggest_rules(network, file, NO_RULES)
    assert {row.name: row.source for row in weight_table(network, file, rules).rows} == {
        "b.w": "a.w",
        "a.v": "b.v",
        "c.u": "a.x.u",
    }


def test_ambiguous_modules_are_not_paired() -> None:
    network: dict[str, Shape] = {"first.weight": (3, 3), "second.weight": (3, 3)}
    assert suggest_rules(network, stored({"a.weight": (3, 3)}), NO_RULES) == NO_RULES


def test_conv1d_of_gpt2_is_transposed() -> None:
    network: dict[str, Shape] = {}
    for layer in ("h.0", "h.1"):
        network |= {
            f"{layer}.attn.c_attn.weight": (12, 4),
            f"{layer}.attn.c_proj.weight": (4, 4),
            f"{layer}.mlp.c_proj.weight": (4, 16),
        }
    network["wte.weight"] = (50, 4)
    file = stored(
        {f"transformer.{name}": shape if name == "wte.weight" else shape[::-1] for name, shape in network.items()}
    )
    rules = suggest_rules(network, file, NO_RULES)
    table = weight_table(network, file, rules)
    assert set(table.names("matched")) == set(network)
    # A square matrix of the same kind of module is transposed as well, though its shape would fit.
    assert {row.name for row in table.rows if row.is_transposed} == {name for name in network if name != "wte.weight"}


def test_values_are_loaded(tmp_path: Path) -> None:
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.savez(tmp_path / "a.npz", **{"m.0.w": weight, "m.0.bias": np.array([1, 2], np.int64)})
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    before = model[1].weight.detach().numpy().copy()
    rules = ImportedWeights(
        str(tmp_path / "a.npz"), rename=(RenameRule(r"^m\.", ""), RenameRule("w$", "weight")), transpose=(r"\.w$",)
    )
    table = load_into(model, rules)
    assert table.match.same == ("0.weight", "0.bias")
    assert table.match.missing == ("1.weight", "1.bias")
    np.testing.assert_array_equal(model[0].weight.detach().numpy(), weight.T)
    assert model[0].bias.tolist() == [1, 2]
    np.testing.assert_array_equal(model[1].weight.detach().numpy(), before)
    assert list(network_tensors(model)) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert shapes_of(network_tensors(model))["0.weight"] == (2, 3)


def test_sources_and_their_errors(tmp_path: Path) -> None:
    engine.save({"w": engine.ones(2)}, tmp_path / "a.pt")
    assert open_source(tmp_path / "a.pt")["w"].read().tolist() == [1, 1]
    damaged = bytearray((tmp_path / "a.pt").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "a.pt").write_bytes(damaged)
    with pytest.raises(FileError, match="checksum does not match"):
        open_source(tmp_path / "a.pt")
    (tmp_path / "b.pt").write_bytes(b"PK\x03\x04")
    with pytest.raises(FileError, match=r"b\.pt is incomplete.*Copy or save it again\."):
        open_source(tmp_path / "b.pt")
    with pytest.raises(FileError, match="is not a run, checkpoint or weights file"):
        open_source(tmp_path / "missing")
    with pytest.raises(FileError, match="contains no weights"):
        open_source(tmp_path)


def test_rules_apply_to_the_file_of_the_project(tmp_path: Path) -> None:
    save_file({"w": engine.ones(1)}, tmp_path / "a.safetensors")
    rules = (RenameRule("w", "v"),)
    document = Document(weights=ImportedWeights("a.safetensors", rename=rules))
    assert chosen_weights(Document(), tmp_path) is None
    for given in (None, tmp_path / "a.safetensors"):
        found = chosen_weights(document, tmp_path, given)
        assert found is not None
        assert found.rename == rules
        assert Path(found.file) == tmp_path / "a.safetensors"
    other = chosen_weights(document, tmp_path, tmp_path / "b")
    assert other == ImportedWeights(str(tmp_path / "b"))
