"""A function with a custom gradient, checked by finite differences and used in a module."""

from __future__ import annotations

import library
import numpy as np

torch = library.chosen()
nn = torch.nn


class LegendrePolynomial3(torch.autograd.Function):
    """The Legendre polynomial P3(x) = (5 x³ - 3 x) / 2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * x**2 - 1)


class Scale(torch.autograd.Function):
    """A product with a Python number, which gets no gradient."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


class StraightThrough(torch.autograd.Function):
    """Rounds, with the identity as gradient (straight-through estimator)."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t()) + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(x)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_x, grad_weight, grad_bias


class Quantized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.from_numpy(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)))
        self.bias = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return StraightThrough.apply(LinearFunction.apply(x, self.weight, self.bias) * 4) / 4


draw = np.random.default_rng(0)
points = torch.from_numpy(draw.standard_normal((4, 3))).requires_grad_()
weight = torch.from_numpy(draw.standard_normal((2, 3))).requires_grad_()
bias = torch.from_numpy(draw.standard_normal(2)).requires_grad_()
print("gradcheck", torch.autograd.gradcheck(LegendrePolynomial3.apply, (points,), eps=1e-6, atol=1e-4))
print("gradcheck", torch.autograd.gradcheck(LinearFunction.apply, (points, weight, bias)))
print("gradcheck", torch.autograd.gradcheck(lambda x: Scale.apply(x, 3), (points,)))
print("gradgradcheck", torch.autograd.gradgradcheck(LegendrePolynomial3.apply, (points,)))

x = torch.linspace(-1, 1, 5, requires_grad=True)
Scale.apply(LegendrePolynomial3.apply(x), 2).sum().backward()
print(x.grad)

module = Quantized()
inputs = torch.from_numpy(draw.standard_normal((5, 3)).astype(np.float32))
output = module(inputs)
output.square().sum().backward()
print(output, module.weight.grad, module.bias.grad)

# Fit y = a + b P3(c + d x) to a sine.
grid = torch.linspace(-3.14159, 3.14159, 500)
coefficients = torch.tensor([0.0, -1.0, 0.0, 0.3], requires_grad=True)
for _ in range(500):
    a, b, c, d = coefficients
    loss = (a + b * LegendrePolynomial3.apply(c + d * grid) - torch.sin(grid)).pow(2).sum()
    coefficients.grad = None
    loss.backward()
    with torch.no_grad():
        coefficients -= 5e-6 * coefficients.grad
print(f"loss {loss.item():.3f}", [f"{abs(value):.3f}" for value in coefficients.tolist()])
