"""Autograd: gradients of tensors and functions."""

from __future__ import annotations

import library

torch = library.chosen()

# A loss, its graph, and gradients.
x = torch.ones(5)
y = torch.zeros(3)
w = (torch.arange(15.0).reshape(5, 3) / 10).requires_grad_()
b = torch.tensor([0.1, -0.2, 0.3], requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
print(z, loss)
loss.backward()
print(w.grad, b.grad)

# Gradients accumulate until they are cleared.
loss = (torch.matmul(x, w) + b).sum()
loss.backward()
print(b.grad)
b.grad = None

# No graph: no_grad and detach.
with torch.no_grad():
    print(torch.matmul(x, w).requires_grad, (w * 2).detach().requires_grad)
print(w.is_leaf, z.is_leaf, z.grad_fn is not None, w.grad_fn)

# The gradient of a non-scalar tensor needs a vector.
inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
print(inp.grad)
out.backward(torch.ones_like(out))
print(inp.grad)

# Higher-order gradients.
t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(first,) = torch.autograd.grad((t**3).sum(), t, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), t)
print(first, second)


# Jacobians and Hessians of functions.
def f(a):
    return (a**2).sum() * a


print(torch.autograd.functional.jacobian(f, torch.tensor([1.0, 2.0])))
print(torch.autograd.functional.hessian(lambda a: (a**3).sum(), torch.tensor([1.0, 2.0])))
print(torch.autograd.functional.vjp(f, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])))
print(torch.autograd.functional.jvp(f, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])))

# Hooks receive gradients, and can replace them.
a = torch.tensor([1.0, 2.0], requires_grad=True)
handle = a.register_hook(lambda grad: grad * 10)
middle = a * 3
middle.retain_grad()
middle.square().sum().backward()
print(a.grad, middle.grad)
handle.remove()

# Writing to a saved tensor is an error, not a wrong gradient.
s = torch.tensor([1.0, 2.0], requires_grad=True)
e = s.exp()
e.add_(1)
try:
    e.sum().backward()
except RuntimeError as error:
    print("refused:", "modified by an inplace operation" in str(error) or "in place" in str(error).lower())

# Autograd tracks views and in-place writes.
base = torch.zeros(2, 3)
leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
base[0] = leaf
base[:, 1] *= leaf[1]
base.sum().backward()
print(base, leaf.grad)

# Polynomial regression with manual updates.
grid = torch.linspace(-3.14159, 3.14159, 200)
target = torch.sin(grid)
weights = torch.tensor([0.1, -0.1, 0.05, 0.02], requires_grad=True)
for step in range(201):
    guess = weights[0] + weights[1] * grid + weights[2] * grid**2 + weights[3] * grid**3
    error = (guess - target).pow(2).sum()
    error.backward()
    with torch.no_grad():
        weights -= 1e-5 * weights.grad
        weights.grad = None
    if step % 50 == 0:
        print(step, f"{error.item():.4f}")
print(weights.tolist())
