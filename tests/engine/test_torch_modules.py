"""Modules of PyTorch beside tensors and layers: the same answers, no effect, or a refusal that says what to use."""

from __future__ import annotations

import importlib
import os
import pickle
import time
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import multiprocessing as mp
from engine.errors import SharingError
from engine.tensors import sharing

LIBRARIES = ["engine", "torch"]
each = pytest.mark.parametrize("library", LIBRARIES)

# -- distributed ------------------------------------------------------------------------------


@each
def test_outside_a_process_group(library: str) -> None:
    dist = pytest.importorskip(library).distributed
    assert not dist.is_initialized()
    for name in ("get_rank", "get_world_size"):
        with pytest.raises(ValueError, match="group"):
            getattr(dist, name)()


def test_no_process_group_can_be_started() -> None:
    assert not engine.distributed.is_available()
    with pytest.raises(ValueError, match="Check is_initialized"):
        engine.distributed.all_reduce(engine.ones(2), op=engine.distributed.ReduceOp.SUM)
    with pytest.raises(RuntimeError, match="Run the program in one process"):
        engine.distributed.init_process_group("nccl")
    assert not hasattr(engine.distributed, "rpc")


@pytest.mark.filterwarnings("ignore:torch.distributed.nn:FutureWarning")  # PyTorch's own
@each
def test_functions_with_gradients_of_a_process_group(library: str) -> None:
    """Vector quantizers import them, and call them if a process group is initialized."""
    dist = pytest.importorskip(library).distributed
    nn = importlib.import_module(f"{library}.distributed.nn")
    assert dist.nn is nn
    assert nn.functional.all_reduce is nn.all_reduce
    x = pytest.importorskip(library).ones(2)
    for call in (nn.all_reduce, nn.all_gather):
        with pytest.raises(ValueError, match="group"):
            call(x)
    for name in ("all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"):
        assert callable(getattr(nn, name))
    assert nn.ReduceOp is dist.ReduceOp


# -- jit --------------------------------------------------------------------------------------


class Marked(engine.jit.ScriptModule):
    """A module as programs for TorchScript write it."""

    __constants__: typing.ClassVar = ["factor"]

    def __init__(self) -> None:
        super().__init__()
        self.linear = engine.nn.Linear(2, 1)
        self.factor: engine.jit.Final[int] = 2

    @engine.jit.script_method
    def forward(self, x: engine.Tensor) -> engine.Tensor:
        return self.linear(x) * self.factor + self.skipped(x) + self.ignored()

    @engine.jit.unused
    def skipped(self, x: engine.Tensor) -> engine.Tensor:
        return x.sum()

    @engine.jit.ignore(drop=True)
    def ignored(self) -> int:
        return 1

    @engine.jit.ignore
    def helper(self) -> int:
        return 2

    @engine.jit.export
    def export(self) -> int:
        return self.helper()


def test_torchscript_decorators_keep_python_code() -> None:
    module, x = Marked(), engine.ones(3, 2)
    assert engine.jit.script(module) is module
    assert (module(x) == module.linear(x) * 2 + 7).all()
    assert module.export() == 2
    function = engine.jit.script(lambda x: x * 2)
    assert function(x).sum() == 12
    assert engine.jit.wait(engine.jit.fork(function, x)).sum() == 12
    assert not isinstance(engine.nn.Linear(1, 1), engine.jit.ScriptModule)
    assert not engine.jit.is_scripting()
    assert not engine.jit.is_tracing()
    with pytest.raises(RuntimeError, match="no result"):
        engine.jit.Future().wait()


CHECKED: list[tuple[Any, Any]] = [
    ([1, 2], list[int]),
    ([1, "a"], list[int]),
    ([], list[int]),
    ({"a": [1.0]}, dict[str, list[float]]),
    ({"a": [1]}, dict[str, list[float]]),
    ((1, "a"), tuple[int, str]),
    ((1, 2, 3), tuple[int, str]),
    (None, typing.Optional[int]),  # noqa: UP045 - as programs write it
    (3, int | None),
    ("a", int | None),
    (3, (int, str)),
    (3.0, (int, str)),
]


@pytest.mark.parametrize(("value", "kind"), CHECKED)
def test_types_are_checked_as_in_torchscript(value: Any, kind: Any) -> None:
    torch = pytest.importorskip("torch")
    if value == []:
        return  # PyTorch warns of it
    assert engine.jit.isinstance(value, kind) == torch.jit.isinstance(value, kind)


# -- multiprocessing --------------------------------------------------------------------------


def _work(index: int, folder: str, weights: engine.Tensor) -> None:
    if index == 0:
        Path(folder, "partial").write_text(str((weights * 2).tolist()), encoding="utf-8")
        Path(folder, "partial").rename(Path(folder, "done"))
        return
    while not Path(folder, "done").exists():
        time.sleep(0.01)
    raise ValueError(f"process {index} has no data")


def test_spawned_processes_get_their_index_and_their_errors_are_raised(tmp_path: Path) -> None:
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: process 1 has no data") as caught:
        mp.spawn(_work, (str(tmp_path), engine.ones(2)), nprocs=2)
    assert caught.value.error_index == 1
    assert Path(tmp_path, "done").read_text(encoding="utf-8") == "[2.0, 2.0]"
    with pytest.raises(ValueError, match="start_processes"):
        mp.spawn(_work, start_method="fork")


def _leave(index: int, code: int) -> None:
    os._exit(code)


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in mp.get_all_start_methods(), reason="the system has no fork")
def test_exit_codes_of_processes() -> None:
    assert mp.start_processes(_leave, (0,), nprocs=2, start_method="fork") is None
    with pytest.raises(mp.ProcessExitedException, match="process 0 exited with code 7") as caught:
        mp.start_processes(_leave, (7,), start_method="fork")
    assert (caught.value.exit_code, caught.value.error_index) == (7, 0)
    context = mp.start_processes(_leave, (0,), join=False, start_method="fork")
    while not context.join(timeout=60):
        pass
    assert context.join()


def test_names_of_multiprocessing() -> None:
    torch = pytest.importorskip("torch")
    assert set(torch.multiprocessing.__all__) <= set(dir(mp))
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_descriptor")
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy(before)
    with pytest.raises(ValueError, match="file_descriptor, file_system"):
        mp.set_sharing_strategy("carrier pigeon")


def _add_one(model: engine.nn.Module) -> None:
    with engine.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.add_(1)


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in mp.get_all_start_methods(), reason="the system has no fork")
def test_a_forked_process_writes_to_a_model_in_shared_memory() -> None:
    model = engine.nn.BatchNorm1d(2)
    assert model.share_memory() is model
    process = mp.get_context("fork").Process(target=_add_one, args=(model,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert (model.weight.tolist(), model.bias.tolist()) == ([2, 2], [1, 1])
    assert (model.running_var.tolist(), model.num_batches_tracked.item()) == ([2, 2], 1)
    optimizer = engine.optim.SGD(model.parameters(), lr=0.5)
    model(engine.ones(3, 2)).sum().backward()
    optimizer.step()
    assert all(parameter.is_shared() for parameter in model.parameters())


def test_shared_memory_is_not_sent_as_a_copy_that_seems_to_be_shared() -> None:
    parameter = engine.nn.Parameter(engine.ones(2))
    send = mp.reducer.ForkingPickler.dumps
    assert pickle.loads(send([parameter, engine.ones(3)]))[0].sum() == 2
    parameter.share_memory_()
    with pytest.raises(SharingError, match=r'get_context\("fork"\)'):
        send(parameter)
    assert sharing._reduce(parameter.detach().clone())


# -- backends, version, types ------------------------------------------------------------------


@each
def test_cudnn_flags_apply_within_a_block(library: str) -> None:
    m = pytest.importorskip(library)
    cudnn = m.backends.cudnn
    outer = cudnn.benchmark
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, outer)
    with pytest.raises(TypeError), cudnn.flags(speed=11):
        pass
    cudnn.deterministic, before = True, cudnn.deterministic
    assert cudnn.deterministic
    cudnn.deterministic = before
    m.backends.cuda.enable_flash_sdp(False)
    assert not m.backends.cuda.flash_sdp_enabled()
    m.backends.cuda.enable_flash_sdp(True)
    assert m.backends.cuda.flash_sdp_enabled()
    assert not engine.backends.mkl.is_available()


def test_version_and_types() -> None:
    assert engine.version.__version__ == engine.__version__
    assert (engine.version.cuda, engine.version.hip, engine.version.debug) == (None, None, False)
    assert isinstance(engine.version.git_version, str)
    assert isinstance(3, engine.types.Number)
    assert isinstance("cpu", engine.types.Device)
    assert engine.nn.common_types._size_2_t == int | tuple[int, ...]


# -- serialization, hub ------------------------------------------------------------------------


@each
def test_the_list_of_safe_classes(library: str) -> None:
    serialization = pytest.importorskip(library).serialization
    with serialization.safe_globals([Path]):
        assert Path in serialization.get_safe_globals()
    assert Path not in serialization.get_safe_globals()
    before = serialization.get_safe_globals()
    serialization.add_safe_globals([Path])
    assert Path in serialization.get_safe_globals()
    serialization.clear_safe_globals()
    assert Path not in serialization.get_safe_globals()
    serialization.add_safe_globals(before)


def test_weights_are_read_from_the_folder_of_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert engine.hub.get_dir() == str(tmp_path / "hub")
    url = "https://example.com/models/weights.safetensors?download=true"
    for load in (engine.hub.load_state_dict_from_url, engine.utils.model_zoo.load_url):
        with pytest.raises(FileNotFoundError, match=r"does not use the network\. Download https://example\.com"):
            load(url)
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    engine.save({"weight": engine.arange(3.0)}, folder / "weights.safetensors")
    assert engine.hub.load_state_dict_from_url(url)["weight"].tolist() == [0, 1, 2]
    with pytest.raises(AttributeError, match="install the model's package"):
        engine.hub.load  # noqa: B018


def test_the_folder_of_downloads_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.hub._folder", None)
    engine.hub.set_dir(tmp_path)
    assert engine.hub.get_dir() == str(tmp_path)


# -- overrides, onnx -------------------------------------------------------------------


@each
def test_functions_of_other_classes_are_called(library: str) -> None:
    overrides = pytest.importorskip(library).overrides

    class Plain:
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return cls.__name__, function.__name__, len(types), args, kwargs

    class Special(Plain):
        pass

    def double(x: Any, times: int = 1) -> Any:
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x, Special()), x, times=times)
        return x * 2

    assert double(3) == 6
    value = Plain()
    assert double(value, 5) == ("Special", "double", 2, (value,), {"times": 5})
    assert overrides.is_tensor_like(value)
    assert not overrides.is_tensor_like(3)


def test_nothing_is_exported_to_onnx() -> None:
    assert not engine.onnx.is_in_onnx_export()


# -- distributions.utils, _utils -----------------------------------------------------------------


UTILITIES: dict[str, Callable[[Any, Any], Any]] = {
    "broadcast_all": lambda m, u: u.broadcast_all(2, m.tensor([1.0, 2.0], dtype=m.float64), m.ones(3, 1)),
    "broadcast_all of numbers": lambda m, u: u.broadcast_all(2, 0.5),
    "probs_to_logits": lambda m, u: u.probs_to_logits(m.tensor([0.0, 0.25, 1.0])),
    "probs_to_logits of two": lambda m, u: u.probs_to_logits(m.tensor([0.0, 0.25, 1.0]), is_binary=True),
    "logits_to_probs": lambda m, u: u.logits_to_probs(m.tensor([0.0, 0.25, 1.0])),
    "logits_to_probs of two": lambda m, u: u.logits_to_probs(m.tensor([0.0, 0.25, 1.0]), True),
    "clamp_probs": lambda m, u: u.clamp_probs(m.tensor([0.0, 0.25, 1.0], dtype=m.float64)),
    **{
        f"triangles {diag}": lambda m, u, diag=diag: (
            u.tril_matrix_to_vec(m.arange(18.0).reshape(2, 3, 3), diag),
            u.vec_to_tril_matrix(u.tril_matrix_to_vec(m.arange(18.0).reshape(2, 3, 3), diag), diag),
        )
        for diag in (-1, 0, 1)
    },
}


@pytest.mark.parametrize("call", UTILITIES.values(), ids=UTILITIES)
def test_utilities_of_distributions(call: Callable[[Any, Any], Any]) -> None:
    torch: Any = pytest.importorskip("torch")
    expected = call(torch, importlib.import_module("torch.distributions.utils"))
    actual = call(engine, engine.distributions.utils)
    actual, expected = (value if isinstance(value, tuple) else (value,) for value in (actual, expected))
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert (one.dtype.name, tuple(one.shape)) == (str(other.dtype)[6:], tuple(other.shape))
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


def test_lazy_properties_are_computed_once() -> None:
    class Half:
        computed = 0

        @engine.distributions.utils.lazy_property
        def value(self) -> engine.Tensor:
            self.computed += 1
            return engine.ones(2, requires_grad=True) / 2

    half = Half()
    with engine.no_grad():
        assert half.value is half.value
    assert (half.computed, half.value.requires_grad) == (1, True)


@each
def test_tensors_are_joined_and_divided_again(library: str) -> None:
    m = pytest.importorskip(library)
    parts = [m.ones(2, 3), m.zeros(4)]
    flat = m._utils._flatten_dense_tensors(parts)
    assert flat.shape == (10,)
    result = m._utils._unflatten_dense_tensors(flat, parts)
    assert [tuple(one.shape) for one in result] == [(2, 3), (4,)]
    assert all((one == part).all() for one, part in zip(result, parts, strict=True))
    assert engine._utils._get_device_index("cuda:1") == 1
    with pytest.raises(ValueError, match="cuda:0"):
        engine._utils._get_device_index("cpu")
