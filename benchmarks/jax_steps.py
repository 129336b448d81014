"""The training steps of `models.py` in JAX, compiled by jit: same sizes, losses and optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn, random

Model = Callable[[Any, Any, Any, Any], Any]
"""(parameters, batch-norm statistics, inputs, random key) → (logits, new statistics)."""


def step_of(name: str, inputs: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]) -> Callable[[], Any]:
    """A step that keeps parameters, moments and running statistics in JAX buffers, and waits for its result."""
    model, parameters, statistics = MODELS[name](WeightInitializer())
    state = [parameters, jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters)]
    x, y = jnp.asarray(inputs), jnp.asarray(classes)

    def loss_of(parameters: Any, statistics: Any, key: Any) -> Any:
        logits, statistics = model(parameters, statistics, x, key)
        return -jnp.take_along_axis(nn.log_softmax(logits), y[:, None], 1).mean(), statistics

    @partial(jax.jit, donate_argnums=(0, 1, 2, 3))
    def update(parameters: Any, first: Any, second: Any, statistics: Any, count: Any, key: Any) -> Any:
        (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters, statistics, key)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        rate, scale = 1e-3 / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
        parameters = jax.tree.map(
            lambda p, m, v: p - rate * m / (jnp.sqrt(v) / scale + 1e-8), parameters, first, second
        )
        return parameters, first, second, statistics, loss

    buffers, count = [*state, statistics], 0

    def step() -> Any:
        nonlocal count
        count += 1
        *buffers[:], loss = update(*buffers, jnp.float32(count), random.key(count))
        return loss.block_until_ready()

    return step


class WeightInitializer:
    """Initializes weights from the same distributions as PyTorch's layers."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def weights(self, shape: tuple[int, ...], inner: int) -> Any:
        bound = 1 / math.sqrt(inner)
        return jnp.asarray(self.generator.uniform(-bound, bound, shape).astype(np.float32))

    def linear(self, inner: int, outer: int, *, bias: bool = True) -> dict[str, Any]:
        parameters = {"w": self.weights((inner, outer), inner)}
        return parameters | {"b": self.weights((outer,), inner)} if bias else parameters

    def conv(self, inner: int, outer: int, size: int, *, bias: bool = True) -> dict[str, Any]:
        fan = inner * size * size
        parameters = {"w": self.weights((size, size, inner, outer), fan)}
        return parameters | {"b": self.weights((outer,), fan)} if bias else parameters


def norm(width: int) -> dict[str, Any]:
    return {"w": jnp.ones(width), "b": jnp.zeros(width)}


def running(width: int) -> dict[str, Any]:
    return {"mean": jnp.zeros(width), "variance": jnp.ones(width)}


def linear(p: Any, x: Any) -> Any:
    return x @ p["w"] + p["b"] if "b" in p else x @ p["w"]


def dropout(x: Any, key: Any, rate: float) -> Any:
    return jnp.where(random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def conv(p: Any, x: Any, stride: int = 1) -> Any:
    """Channels last, as JAX prefers on the CPU."""
    pad = p["w"].shape[0] // 2
    out = lax.conv_general_dilated(
        x, p["w"], (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return out + p["b"] if "b" in p else out


def batch_norm(p: Any, s: Any, x: Any) -> Any:
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    count = x.size // x.shape[-1]
    new = {
        "mean": 0.9 * s["mean"] + 0.1 * mean,
        "variance": 0.9 * s["variance"] + 0.1 * variance * count / (count - 1),
    }
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["w"] + p["b"], new


def layer_norm(p: Any, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * p["w"] + p["b"]


def max_pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def mlp(initializer: WeightInitializer) -> Any:
    parameters = [initializer.linear(784, 256), initializer.linear(256, 128), initializer.linear(128, 10)]

    def run(p: Any, s: Any, x: Any, key: Any) -> Any:
        for index, part in enumerate(p[:-1]):
            x = dropout(nn.relu(linear(part, x)), random.fold_in(key, index), 0.2)
        return linear(p[-1], x), s

    return run, parameters, ()


def cnn(initializer: WeightInitializer) -> Any:
    convolutions = [(initializer.conv(1, 32, 3), norm(32)), (initializer.conv(32, 64, 3), norm(64))]
    parameters = [convolutions, [initializer.linear(64 * 49, 128), initializer.linear(128, 10)]]

    def run(p: Any, s: Any, x: Any, key: Any) -> Any:
        x, new = x.transpose(0, 2, 3, 1), []
        for (kernel, scale), statistics in zip(p[0], s, strict=True):
            x, updated = batch_norm(scale, statistics, conv(kernel, x))
            x = max_pool(nn.relu(x))
            new.append(updated)
        return linear(p[1][1], nn.relu(linear(p[1][0], x.reshape(x.shape[0], -1)))), new

    return run, parameters, [running(32), running(64)]


def lstm(initializer: WeightInitializer) -> Any:
    inner, width = 32, 128
    parameters = {
        "x": initializer.weights((inner, 4 * width), width),
        "h": initializer.weights((width, 4 * width), width),
        "bx": initializer.weights((4 * width,), width),
        "bh": initializer.weights((4 * width,), width),
        "logits": initializer.linear(width, 10),
    }

    def run(p: Any, s: Any, x: Any, key: Any) -> Any:
        gates = (x @ p["x"] + p["bx"] + p["bh"]).transpose(1, 0, 2)

        def advance(state: Any, gates_of_step: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(gates_of_step + h @ p["h"], 4, -1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            return (nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((x.shape[0], width))
        (h, _), _ = lax.scan(advance, (zeros, zeros), gates)
        return linear(p["logits"], h), s

    return run, parameters, ()


def gpt(initializer: WeightInitializer) -> Any:
    width, heads, context, vocabulary = 128, 4, 128, 256

    def block() -> dict[str, Any]:
        return {
            "norm1": norm(width), "norm2": norm(width), "qkv": initializer.linear(width, 3 * width),
            "projection": initializer.linear(width, width), "mlp_in": initializer.linear(width, 4 * width),
            "mlp_out": initializer.linear(4 * width, width),
        }  # fmt: skip

    parameters = {
        "token_embedding": jnp.asarray(initializer.generator.standard_normal((vocabulary, width)).astype(np.float32)),
        "position_embedding": jnp.asarray(initializer.generator.standard_normal((context, width)).astype(np.float32)),
        "blocks": [block() for _ in range(4)],
        "norm": norm(width),
        "head": initializer.linear(width, vocabulary, bias=False),
    }

    def attention(p: Any, x: Any) -> Any:
        batch, length, _ = x.shape
        parts = linear(p["qkv"], x).reshape(batch, length, 3, heads, width // heads)
        query, key, value = parts.transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
        attended_values = nn.softmax(scores) @ value
        return linear(p["projection"], attended_values.transpose(0, 2, 1, 3).reshape(batch, length, width))

    def run(p: Any, s: Any, x: Any, key: Any) -> Any:
        x = p["token_embedding"][x] + p["position_embedding"]
        for part in p["blocks"]:
            x = x + attention(part, layer_norm(part["norm1"], x))
            wide = nn.gelu(linear(part["mlp_in"], layer_norm(part["norm2"], x)), approximate=False)
            x = x + linear(part["mlp_out"], wide)
        return linear(p["head"], layer_norm(p["norm"], x)).reshape(-1, vocabulary), s

    return run, parameters, ()


def resnet20(initializer: WeightInitializer) -> Any:
    sizes = [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 64, 2)] + [(64, 64, 1)] * 2

    def block(inner: int, outer: int, stride: int) -> tuple[Any, Any]:
        shapes = [(inner, outer, 3), (outer, outer, 3)] + [(inner, outer, 1)] * (stride > 1)
        kernels = [(initializer.conv(*shape, bias=False), norm(outer)) for shape in shapes]
        return kernels, [running(outer) for _ in shapes]

    blocks = [block(*size) for size in sizes]
    parameters = [
        (initializer.conv(3, 16, 3, bias=False), norm(16)),
        [one for one, _ in blocks],
        initializer.linear(64, 10),
    ]

    def normalized(p: Any, s: Any, x: Any, stride: int = 1) -> Any:
        return batch_norm(p[1], s, conv(p[0], x, stride))

    def run(p: Any, s: Any, x: Any, key: Any) -> Any:
        x, first = normalized(p[0], s[0], x.transpose(0, 2, 3, 1))
        x, new = nn.relu(x), []
        for part, statistics, (_, _, stride) in zip(p[1], s[1], sizes, strict=True):
            residual, one = normalized(part[0], statistics[0], x, stride)
            residual, two = normalized(part[1], statistics[1], nn.relu(residual))
            updated = [one, two]
            if stride > 1:
                x, three = normalized(part[2], statistics[2], x, stride)
                updated.append(three)
            x = nn.relu(residual + x)
            new.append(updated)
        return linear(p[2], x.mean((1, 2))), [first, new]

    return run, parameters, [running(16), [one for _, one in blocks]]


MODELS: dict[str, Callable[[WeightInitializer], Any]] = {
    "mlp-64": mlp,
    "mlp-512": mlp,
    "cnn-64": cnn,
    "gpt-16": gpt,
    "lstm-64": lstm,
    "resnet20-64": resnet20,
}

__all__ = ["step_of"]
