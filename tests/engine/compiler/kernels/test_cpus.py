"""A CPU with vectors of half the width gives the same bits: kernels compiled for it, in a separate process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

import engine
from engine.compiler.kernels.library import attention_kernels
from engine.nn import functional

FEATURES = "+avx2,+fma,+sse4.2,+bmi,+bmi2,+f16c,+lzcnt,+popcnt,+movbe"
NARROW = """
import sys
from llvmlite import binding
found = binding.get_host_cpu_features()
found.update({name: False for name in found if name.startswith("avx512")})
binding.get_host_cpu_features = lambda: found
from engine.compiler.kernels.compile_process import CompileProcess, compile_in_process
CompileProcess.code_of = lambda _, source, file: compile_in_process(source, file)
from tests.engine.compiler.kernels.test_cpus import bits
print(bits())
"""


def bits() -> str:
    """What a step with attention, layer norm and GELU computes."""
    draw, found = np.random.default_rng(0), hashlib.sha256()

    def step(x: engine.Tensor, weight: engine.Tensor) -> engine.Tensor:
        query, key, value = x.reshape(1, 150, 3, 2, 24).permute(2, 0, 3, 1, 4).unbind(0)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        seen = functional.layer_norm(seen.transpose(1, 2).reshape(1, 150, 48), (48,), weight)
        functional.gelu(seen).square().mean().backward()
        return seen

    compiled = engine.compile(step)
    given = [engine.tensor(draw.normal(size=s).astype(np.float32), requires_grad=True) for s in ((1, 150, 144), (48,))]
    results = []
    for _ in range(3):
        for one in given:
            one.grad = None
        results = [compiled(*given), *(one.grad for one in given)]
        engine.compiler.wait()
    for one in results:
        assert one is not None
        found.update(one.detach().numpy().tobytes())
    return found.hexdigest()


@pytest.mark.skipif(not binding.get_host_cpu_features().get("avx2"), reason="compiles for AVX2, and runs that")
def test_bits_do_not_depend_on_the_cpu(tmp_path: Path) -> None:
    environment = {**os.environ, "GRADWIRE_KERNELS": str(tmp_path), "NUMBA_CPU_NAME": "haswell"}
    environment |= {"NUMBA_CPU_FEATURES": FEATURES, "PYTHONPATH": str(Path(__file__).parents[4])}
    ran = subprocess.run([sys.executable, "-c", NARROW], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == bits(), ran.stderr


def test_attention_block_is_a_multiple_of_all_tile_heights() -> None:
    assert attention_kernels.BLOCK % 8 == attention_kernels.BLOCK % 6 == 0
