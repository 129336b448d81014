"""Tensors: creation, inspection, computation."""

from __future__ import annotations

import library
import numpy as np

torch = library.chosen()

# From data, from NumPy, from other tensors, from a shape.
data = [[1, 2], [3, 4]]
x = torch.tensor(data)
print(x, x.dtype, x.shape, x.device)
array = np.array(data, dtype=np.float32)
shared = torch.from_numpy(array)
array *= 10
print(shared, "shares memory with the array")
print(torch.ones_like(x), torch.zeros_like(x, dtype=torch.float64))
print(torch.arange(0, 10, 3), torch.linspace(0, 1, 5), torch.eye(2), torch.full((2, 3), 7.0))

# Attributes.
tensor = torch.tensor([[0.5, -1.25, 3.0], [2.0, 0.0, -0.125]])
print(f"shape {tuple(tensor.shape)}, {tensor.dtype}, stored on {tensor.device}, {tensor.numel()} numbers")
print(tensor.ndim, tensor.size(1), tensor.stride(), tensor.is_contiguous(), tensor.T.is_contiguous())

# Indexing and slicing, reading and writing.
grid = torch.arange(12.0).reshape(3, 4)
print(grid[0], grid[:, 0], grid[..., -1], grid[1, 2].item())
print(grid[grid > 6], grid[[0, 2]], grid[torch.tensor([2, 0]), torch.tensor([1, 3])])
grid[:, 1] = 0
grid[grid > 9] = -1
print(grid)

# Joining, splitting, reshaping.
print(torch.cat([tensor, tensor], dim=1).shape, torch.stack([tensor, tensor]).shape)
print([part.shape for part in torch.arange(10).split(4)], [part.tolist() for part in torch.arange(5).chunk(2)])
print(tensor.view(3, 2), tensor.permute(1, 0), tensor.unsqueeze(0).shape, tensor.flatten())
print(torch.arange(3).repeat(2), torch.arange(3).expand(2, 3), torch.arange(4).roll(1), torch.arange(4).flip(0))

# Arithmetic and type promotion.
print(tensor @ tensor.T)
print(tensor * 2 + 1, tensor**2, tensor / 4, tensor % 1)
print((torch.tensor(3) / 2).dtype, (torch.tensor([1]) + 1.5).dtype, (torch.ones(2) + torch.ones(2).double()).dtype)
print(torch.tensor([1, 2, 3]) + torch.tensor([[10], [20]]))  # broadcasting
print(torch.exp(tensor), torch.sigmoid(tensor), tensor.abs().sqrt(), tensor.clamp(min=0))

# Reductions.
print(tensor.sum(), tensor.mean(dim=0), tensor.max(), tensor.argmax(dim=1), tensor.std(), tensor.norm())
values, indices = tensor.max(dim=1)
print(values, indices, tensor.cumsum(dim=1), tensor.var(dim=1, keepdim=True), tensor.logsumexp(dim=0))
print((tensor > 0).any(), (tensor > 0).all(dim=1), torch.isclose(tensor, tensor + 1e-9).all())

# Sorting and selection.
print(*torch.sort(tensor, descending=True), *torch.topk(tensor, 2))
print(torch.unique(torch.tensor([3, 1, 3, 2]), return_counts=True), torch.where(tensor > 0, tensor, 0))
print(torch.gather(tensor, 1, torch.tensor([[0, 2], [1, 1]])), torch.nonzero(tensor > 0))
print(torch.zeros(3, 5).scatter_(0, torch.tensor([[0, 1, 2, 0, 0]]), 1.0))
print(torch.tril(torch.ones(3, 3)), torch.einsum("ij,kj->ik", tensor, tensor))

# In-place ops, copies, dtypes, conversion to NumPy.
tensor.add_(5)
copy = tensor.clone()
copy.zero_()
print(tensor, copy.sum())
print(tensor.int(), tensor.to(torch.float64).dtype, tensor.long().float().half().dtype, tensor.bool())
print(tensor.numpy().mean(), tensor.tolist())

# Printing of large and small values.
print(torch.arange(2000.0))
print(torch.tensor([1e-8, 1.0, 1e8]), torch.tensor([float("nan"), float("inf")]), torch.tensor([]), torch.tensor(True))
