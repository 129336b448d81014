"""Code that asks for devices that the engine does not use is answered that there are none."""

from __future__ import annotations

import importlib

import pytest

import engine
from engine.errors import DeviceError


@pytest.mark.parametrize("kind", ["mps", "mtia", "xpu"])
def test_no_other_device_is_available(kind: str) -> None:
    module = getattr(engine, kind)
    assert importlib.import_module(f"engine.{kind}") is module
    assert (module.is_available(), module.is_initialized(), module.device_count()) == (False, False, 0)
    assert not hasattr(module, "empty_cache")
    with pytest.raises(AttributeError, match=rf"engine\.{kind}\.synchronize does not exist.*is_available\(\) first"):
        module.synchronize()
    assert not getattr(engine.ones(1), f"is_{kind}")


def test_code_for_any_device() -> None:
    device = next((kind for kind in ("xpu", "mps") if getattr(engine, kind).is_available()), "cpu")
    module = engine.get_device_module(device)
    assert module is engine.cpu
    module.set_device(0)
    module.synchronize()
    assert (module.is_available(), module.is_initialized(), module.device_count()) == (True, True, 1)
    assert module.current_device() == "cpu"
    assert engine.get_device_module() is (engine.cuda if engine.cuda.is_available() else engine.cpu)
    assert engine.get_device_module("cuda:0") is engine.get_device_module(engine.device("cuda")) is engine.cuda
    with pytest.raises(DeviceError, match="'tpu' is not a device with a module"):
        engine.get_device_module("tpu")
