"""Graphs of hostile files: ops, views, sizes and dtypes that must not be computed."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import Tensor, export
from engine.export import ArtifactError
from engine.export.archive import read_members
from engine.export.argument_decoding import UnknownArgumentError, decode
from engine.export.op_allowance import ALLOWED_OPS, VIEW_OPS, refusal
from engine.io.byte_source import ByteSource, MemorySource
from engine.ops.record import REGISTRY
from engine.shape import Dim
from tests.engine.export.rewritten import artifact, changed, content_of

CONTENT = content_of(artifact())
SYMBOLS = frozenset(("N", "M"))
_OPS = """
abs acos acosh add addcdiv addcdiv_sqrt addcmul all amax amin any arange argmax argmin asin asinh assign atan atan2
atanh attention_weights batch_norm bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
bitwise_xor cast cat ceil channel_affine channel_dot channel_mix check_class_targets clamp clamp_max clamp_min
clone col2im convolution convolution_transpose copy_slices copysign cos cosh cross_entropy cummax_or_cummin cumprod
cumsum det diag_embed diagonal digamma div div_trunc elman_layer elu eq erf erfc erfinv euclidean_dist exp exp2
expand expm1 fill flat_index flip floor floor_divide fmax fmin fmod frac gather gcd ge gelu gru_layer gt heaviside
hypot im2col index index_along index_put inv isclose isfinite isinf isnan isneginf isposinf isreal layer_norm lcm
le leaky_relu lerp lgamma linalg_cholesky_ex linalg_eigh linalg_pinv linalg_qr linalg_slogdet linalg_solve_ex
linalg_solve_triangular linalg_svd linalg_vector_norm linear linear_recurrence log log10 log1p log2 log_softmax
logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor lstm_layer lt masked_scale matmul
max_or_min max_pool_with_indices maximum mean minimum mul narrow ne neg permute pow prod reciprocal relu remainder
repeat resample reshape roll round rsqrt scaled_dot_product_attention scatter scatter_reduce searchsorted sigmoid
sign signbit sin sinc sinh slice softmax softplus sort sqrt square squeeze std sub sum sum_pool tan tanh topk tril
triu trunc unfold unsqueeze var where xlogy zero_pad
"""


def exported(function: Callable[..., Any], *inputs: Tensor) -> bytes:
    return content_of(export.export(function, inputs, dynamic_shapes=[{0: "N"}] * len(inputs)))


def refused(content: bytes) -> str:
    with pytest.raises(ArtifactError) as caught:
        export.load(io.BytesIO(content))
    return str(caught.value)


def sliced_write(x: Tensor) -> Tensor:
    out = engine.zeros_like(x)
    out[:, 1:3] = x[:, :2]
    return out


def op_named(document: Any, name: str) -> Any:
    return next(each for each in document["ops"] if each["op"] == name)


# -- views


@pytest.mark.parametrize("chain", [
    [["as_strided", {"size": [4, 2], "stride": [400, 1], "storage_offset": 0}]],
    [["view_dtype", {"dtype": "float64"}], ["slice", {"index": [0]}]],
    [["sum_backward", {"shape": [4, 4], "dims": [0]}]],
    [["relu", {}]],
])  # fmt: skip
def test_writes_through_other_views_are_refused(chain: Any) -> None:
    def change(document: Any) -> None:
        op_named(document, "copy_slices")["arguments"]["chain"] = {"views": chain}

    text = refused(changed(exported(sliced_write, engine.ones(3, 4)), "network.json", change))
    assert f"has a view by '{chain[0][0]}'" in text


def test_a_write_through_strides_is_not_exported() -> None:
    def function(x: Tensor) -> Tensor:
        out = engine.zeros_like(x)
        out.as_strided((2,), (2,)).copy_(x[:2])
        return out

    with pytest.raises(ArtifactError, match="a write through a view by as_strided: its result depends"):
        export.export(function, engine.ones(4))


# -- ops


def test_the_ops_of_artifacts_are_pinned() -> None:
    """A new op is not part of the format until somebody looked at what its arguments can do."""
    assert sorted(ALLOWED_OPS) == _OPS.split()
    assert set(VIEW_OPS) == {
        "diagonal", "expand", "narrow", "permute", "reshape", "slice", "squeeze", "unfold", "unsqueeze",
    }  # fmt: skip
    assert not [name for name in ALLOWED_OPS if name in REGISTRY and REGISTRY[name].random]


@pytest.mark.parametrize("name", [
    "view_dtype", "as_strided", "sum_backward", "attention_backward_packed", "convolution_backward_weight",
    "polynomial", "polygamma", "histc", "bincount", "matrix_exp", "dropout", "random",
])  # fmt: skip
def test_ops_outside_the_list_have_a_reason(name: str) -> None:
    assert name in REGISTRY
    assert refusal(name)


def test_windows_of_too_many_positions_are_refused() -> None:
    def change(document: Any) -> None:
        windows = op_named(document, "max_pool_with_indices")["arguments"]["windows"]["sliding_windows"]
        windows["kernel"], windows["padding"] = [2**30, 2**30], [2**29, 2**29]

    assert "positions; at most 1,000,000 are read" in refused(changed(CONTENT, "network.json", change))


def test_ops_need_a_tensor() -> None:
    def change(document: Any) -> None:
        document["ops"][1] = {**document["ops"][1], "op": "pow", "inputs": [10**18, 10**18]}

    assert "has 2 inputs, and no tensor among them" in refused(changed(CONTENT, "network.json", change))


# -- sizes


def polynomial(symbols: int, terms: int) -> Any:
    return [[number + 1, *["N", "M"][: 1 + number % 2] * symbols] for number in range(terms)]


@pytest.mark.parametrize("record", [
    {"size": polynomial(1, 33)},
    {"size": polynomial(7, 1)},
    {"size": [[1, {"quotient": [{"size": polynomial(2, 3)}, 1]}]]},
    {"size": [[1, {"quotient": [{"size": [[4, "N"]]}, 2]}]]},
    {"size": [[1, {"quotient": [6, 2]}]]},
    {"size": [[1, {"quotient": [{"size": "N"}, {"size": [[1, "N"], [-1, "N"]]}]}]]},
    [{"size": "N"}] * 65,
    {"array": ["int32", [1], [2**40]]},
    {"array": ["float64", [1], [10**400]]},
    {"array": ["float32", [0, 2**40], []]},
])  # fmt: skip
def test_values_that_take_long_or_fit_nothing_are_refused(record: Any) -> None:
    with pytest.raises(UnknownArgumentError):
        decode(record, SYMBOLS)


def test_a_quotient_of_a_symbol_is_read() -> None:
    assert decode({"size": [[3, {"quotient": [{"size": "N"}, 2]}], [1]]}, SYMBOLS) == 3 * (Dim("N") // 2) + 1


def test_products_of_symbolic_sizes_are_limited() -> None:
    total = sum(Dim(f"a{number}") for number in range(101))
    with pytest.raises(OverflowError, match="10,201 terms; at most 10,000"):
        _ = total * total


def test_shapes_of_many_dimensions_are_refused() -> None:
    def change(document: Any) -> None:
        op_named(document, "reshape")["arguments"]["shape"] = [{"size": [[1, "N"], [1]]}] * 17

    began = time.monotonic()
    assert "has 17 dimensions; at most 16 are read" in refused(changed(CONTENT, "network.json", change))
    assert time.monotonic() - began < 5


def test_shapes_of_many_dimensions_are_not_exported() -> None:
    with pytest.raises(ArtifactError, match=r"reshape cannot be exported as an artifact: .*17 dimensions; at most 16"):
        export.export(lambda x: x.reshape((1,) * 17), engine.ones(1))


# -- dtypes


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64", "float16"])
def test_declared_dtypes_are_those_of_the_ops(dtype: str) -> None:
    def change(document: Any) -> None:
        document["ops"][1]["outputs"][0]["dtype"] = dtype

    found = refused(changed(CONTENT, "network.json", change))
    assert f"the declared result is N×2×6×6 {dtype}, but the op gives N×2×6×6 float32" in found


def test_a_result_that_is_written_into_another_dtype_is_converted() -> None:
    def function(x: Tensor) -> Tensor:
        found = x.clone()
        return found.mul_(engine.full((), 2, dtype=engine.int64)).eq_(6)

    x = engine.tensor([1, 3], dtype=engine.int32)
    found = export.export(function, x, dynamic_shapes=({0: "N"},))
    assert found.outputs[0].spec.dtype is engine.int32
    np.testing.assert_array_equal(found(x).numpy(), function(x).numpy())


# -- errors


def test_a_sample_of_other_dimensions_is_an_error_of_the_artifact() -> None:
    def change(document: Any) -> None:
        document["inputs"][0]["shape"] = ["M", 1, 8]

    assert refused(changed(CONTENT, "network.json", change))


def test_sizes_that_are_divided_by_zero_are_errors_of_the_artifact() -> None:
    found = export.export(lambda x: x.reshape(-1).sum(), engine.ones(8), dynamic_shapes=({0: "N"},))
    quotient = {"size": [[1, {"quotient": [4, {"size": "N"}]}]]}

    def change(document: Any) -> None:
        document["random"] = [{"distribution": "normal", "first": 0, "second": 1, "value": {
            "dtype": "float32", "shape": [quotient],
        }}]  # fmt: skip
        for op in document["ops"]:
            op["inputs"] = [{"value": each["value"] + (each["value"] > 0)} for each in op["inputs"]]
        document["outputs"][0]["value"] += 1

    loaded = export.load(io.BytesIO(changed(content_of(found), "network.json", change)))
    with pytest.raises(ArtifactError, match=r"cannot be computed for these inputs: .*zero"):
        loaded(engine.ones(0))


def test_names_in_errors_are_escaped() -> None:
    def change(document: Any) -> None:
        document["ops"][1] |= {"node": "\x1b[2J", "op": "x\n"}

    text = refused(changed(CONTENT, "network.json", change))
    assert r"op 1 (x\n of \x1b[2J)" in text


def test_a_file_that_changes_while_it_is_read_is_an_error_of_the_artifact() -> None:
    class Shrinking(MemorySource):
        reads = 0

        def open(self) -> Any:
            Shrinking.reads += 1
            return super().open() if Shrinking.reads == 1 else io.BytesIO(b"")

    source: ByteSource = Shrinking(CONTENT, "small.gwx")
    with pytest.raises(ArtifactError, match="changed while it was read"):
        read_members(source)


def test_files_are_equal_on_all_systems() -> None:
    with zipfile.ZipFile(io.BytesIO(CONTENT)) as archive:
        assert {each.create_system for each in archive.infolist()} == {3}
    assert json.loads(zipfile.ZipFile(io.BytesIO(CONTENT)).read("manifest.json"))["version"] == 1
