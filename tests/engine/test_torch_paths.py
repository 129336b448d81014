"""Imports from where PyTorch's own code has things."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import engine
from engine.nn.modules.conv import Conv2d
from engine.nn.modules.utils import _pair, _triple
from engine.torch_compat.paths import PATHS
from engine.utils.data.dataset import Dataset, random_split
from engine.utils.data.sampler import SubsetRandomSampler


@pytest.mark.parametrize("path", PATHS)
def test_paths_match_pytorch(path: str) -> None:
    torch = pytest.importorskip("torch")
    module, _, attribute = PATHS[path].partition(":")
    source = importlib.import_module(module)
    assert importlib.import_module(f"engine.{path}") is (getattr(source, attribute) if attribute else source)
    assert importlib.import_module(f"{torch.__name__}.{path}")


@pytest.mark.parametrize("library", ["engine", "torch"])
def test_variables_are_tensors_of_any_dtype(library: str) -> None:
    m = pytest.importorskip(library)
    variable = m.autograd.Variable
    labels, numbers = m.tensor([1, 2]), m.ones(2)
    assert variable(labels).dtype is m.int64
    leaf = variable(numbers, requires_grad=True)
    assert (leaf.requires_grad, numbers.requires_grad) == (True, False)
    assert leaf.data_ptr() == numbers.data_ptr()
    assert variable(leaf * 2).grad_fn is None
    assert isinstance(numbers, variable)
    assert not isinstance(1.0, variable)


@pytest.mark.filterwarnings("ignore:volatile was removed")  # PyTorch's, before it refuses
@pytest.mark.parametrize("library", ["engine", "torch"])
def test_volatile_variables_are_tensors_with_a_warning(library: str) -> None:
    m = pytest.importorskip(library)
    x = m.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="volatile"):
        assert not m.autograd.Variable(x, volatile=True).requires_grad
    with pytest.raises(ValueError, match="volatile"):
        m.autograd.Variable(x, requires_grad=True, volatile=True)


def test_base_classes_of_layers() -> None:
    """Programs use them in `isinstance`."""
    modules = engine.nn.modules
    assert isinstance(engine.nn.BatchNorm2d(1), modules.batchnorm._BatchNorm)
    assert not isinstance(engine.nn.InstanceNorm2d(1), modules.batchnorm._BatchNorm)
    assert isinstance(engine.nn.InstanceNorm2d(1), modules.instancenorm._InstanceNorm)
    assert isinstance(engine.nn.Conv1d(1, 1, 1), modules.conv._ConvNd)
    assert isinstance(engine.nn.ConvTranspose1d(1, 1, 1), modules.conv._ConvNd)
    assert isinstance(engine.nn.Dropout2d(), modules.dropout._DropoutNd)
    assert isinstance(engine.nn.MSELoss(), modules.loss._Loss)
    assert isinstance(engine.nn.CrossEntropyLoss(), modules.loss._WeightedLoss)
    assert isinstance(engine.nn.MaxPool2d(2), modules.pooling._MaxPoolNd)
    assert not hasattr(engine.nn, "_BatchNorm")


def test_functions_keep_the_names_that_modules_have_too() -> None:
    """As in PyTorch, `nn.utils.weight_norm` is the function, and the module can be imported from."""
    for path, name in [
        ("nn.utils.weight_norm", "weight_norm"),
        ("nn.utils.spectral_norm", "remove_spectral_norm"),
        ("nn.parallel.data_parallel", "DataParallel"),
        ("multiprocessing.spawn", "spawn"),
        ("autograd.gradcheck", "gradgradcheck"),
        ("nn.utils.stateless", "functional_call"),
        ("utils.data._utils.collate", "default_collate"),
    ]:
        assert callable(getattr(importlib.import_module(f"engine.{path}"), name))
    assert callable(engine.nn.utils.weight_norm)
    assert callable(engine.nn.parallel.data_parallel)
    assert callable(engine.autograd.gradcheck)
    assert engine.cuda.amp.grad_scaler.GradScaler is engine.cuda.amp.GradScaler


def test_importing_a_path_replaces_no_name_of_its_parent() -> None:
    """Python stores an imported module in its parent, where it could replace a name that the parent's code uses."""
    program = """
import importlib
from engine.torch_compat.paths import PATHS
for path in sorted(PATHS):
    parent, _, name = f"engine.{path}".rpartition(".")
    names = vars(importlib.import_module(parent))
    before = names.get(name)
    importlib.import_module(f"engine.{path}")
    if before is not None and names[name] is not before:
        print(path)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_settings_of_pytorchs_compiler_can_be_set() -> None:
    dynamo = importlib.import_module("engine._dynamo")
    before, dynamo.config.suppress_errors = dynamo.config.suppress_errors, True
    assert importlib.import_module("engine._dynamo.config").suppress_errors
    dynamo.config.suppress_errors = before
    assert engine._dynamo.reset is engine.compiler.reset


def test_aliased_names() -> None:
    assert importlib.import_module("engine.autograd.variable").Variable is engine.autograd.Variable
    assert engine.utils.data.distributed.DistributedSampler is engine.data.DistributedSampler
    assert engine.distributions.kl.kl_divergence is engine.distributions.kl_divergence
    assert Conv2d is engine.nn.Conv2d is engine.nn.modules.conv.Conv2d is engine.nn.modules.Conv2d
    assert (Dataset, random_split) == (engine.utils.data.Dataset, engine.utils.data.random_split)
    assert SubsetRandomSampler is engine.utils.data.sampler.SubsetRandomSampler
    assert (_pair(2), _pair([1, 2]), _triple(0)) == ((2, 2), (1, 2), (0, 0, 0))
