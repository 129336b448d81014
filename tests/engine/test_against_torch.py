"""Everything about tensors that is no op: the same expression comes to the same with the engine and with PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from tests.engine.expressions import check

CREATION = """
lib.zeros(2, 3, dtype=lib.bfloat16)
lib.zeros(size=(2, 3))
lib.ones(lib.tensor(3))
lib.ones((lib.tensor(3), 2))
lib.ones(np.int64(3), pin_memory=False, layout=lib.strided)
lib.zeros(2, out=lib.empty(4, dtype=lib.int64))
lib.ones(2, 2, out=lib.ones(4))
lib.zeros()
lib.zeros(2.5)
lib.zeros('a')
lib.zeros(2, -1)
lib.zeros(2, bogus=1)
lib.zeros(2**50)
lib.full((2,), float('nan'))
lib.full((2, 2), lib.tensor(3.))
lib.full([2], 3.9, dtype=lib.int64)
lib.full((2,), 1, dtype=lib.bool)
lib.full((2,), True)
lib.full_like(lib.ones(2), 2, dtype=lib.int8)
lib.zeros_like(lib.ones(2), device='meta')
lib.empty_like(lib.ones(2, dtype=lib.float16)).dtype
lib.ones_like(lib.ones(2), memory_format=lib.preserve_format, requires_grad=True)
lib.scalar_tensor(3)
lib.scalar_tensor(3, dtype=lib.int8)
lib.empty_strided((2, 3), (1, 2)).stride()
lib.empty_strided((2, 3), (4, 1)).shape
lib.empty_strided((2, 3), (1,))
lib.arange(0, 1, 0.1, dtype=lib.float16)
lib.arange(3, dtype=lib.bool)
lib.arange(2.5)
lib.arange(-3)
lib.arange(1, 1)
lib.arange(1, 0)
lib.arange(5, 0, -2)
lib.arange(end=4)
lib.arange(1, end=4)
lib.arange(lib.tensor(3))
lib.arange(3, requires_grad=True)
lib.arange(1, 4, out=lib.empty(3))
lib.arange(0, 2, 0.5, dtype=lib.int64)
lib.arange(3, dtype=lib.bfloat16)
lib.range(1, 3)
lib.range(0, 1, 0.25)
lib.linspace(0, 1, steps=3)
lib.linspace(start=0, end=1, steps=2)
lib.linspace(lib.tensor(0.), 1, 3)
lib.linspace(0, 1)
lib.linspace(0, 1, -1)
lib.linspace(0, 10, 4, dtype=lib.int64)
lib.linspace(1, 0, 5, dtype=lib.float64, requires_grad=True)
lib.logspace(0, 2, 3)
lib.logspace(0, 3, 4, base=2)
lib.logspace(0, 1, 0)
lib.logspace(0, 3, 4, base=2, dtype=lib.int64)
lib.eye(-1)
lib.eye(3, 2)
lib.eye(2, out=lib.empty(1))
lib.tril_indices(3, 3)
lib.tril_indices(3, 2, -1, dtype=lib.int32)
lib.triu_indices(2, 3, 1)
lib.triu_indices(0, 3)
lib.tensor([1, 2.5, True])
lib.tensor([np.float32(1)])
lib.tensor([np.float64(1)])
lib.tensor([np.float16(1), 2.5])
lib.tensor([np.int32(1)])
lib.tensor([True, 1.5])
lib.tensor([lib.tensor([1.]), lib.tensor([2.])]).flatten()
lib.tensor([lib.tensor(1.5, dtype=lib.float64), lib.tensor(2)])
lib.tensor(3.9, dtype=lib.int32)
lib.tensor([2.7], dtype=lib.bool)
lib.tensor([1e39])
lib.tensor(range(3))
lib.tensor([range(2), range(2)])
lib.tensor([[], []])
lib.tensor(())
lib.tensor([1.5, 2.25], dtype=lib.bfloat16)
lib.tensor([300.7], dtype=lib.bfloat16)
lib.tensor([2**40], dtype=lib.int32)
lib.tensor([300], dtype=lib.uint8)
lib.tensor([float('inf')], dtype=lib.int64)
lib.tensor(2**63)
lib.tensor([2**63], dtype=lib.uint64)
lib.tensor([[1, 2], [3]])
lib.tensor([None])
lib.tensor(None)
lib.tensor('a')
lib.tensor([1, 'a'])
lib.tensor({1})
lib.tensor(b'a')
lib.tensor(np.ones((2, 0)))
lib.tensor(np.array(3, np.int16))
lib.tensor(bytearray(b'ab'))
lib.tensor(lib.ones(2, requires_grad=True))
lib.as_tensor(np.float64(3))
lib.as_tensor([1, 2], dtype=lib.float64)
lib.as_tensor(lib.ones(2), dtype=lib.int8)
lib.as_tensor((1, 2.))
lib.asarray([1, 2])
lib.asarray(np.ones(2))
lib.asarray(np.float32(3))
lib.asarray(lib.ones(2), dtype=lib.int8)
lib.asarray([1.], requires_grad=True)
lib.asarray(lib.ones(2), copy=False)
lib.asarray(lib.ones(2), dtype=lib.int8, copy=False)
lib.from_numpy(np.arange(6).reshape(2, 3).T)
lib.from_numpy(np.array(2.5))
lib.from_numpy(np.array([1, 2], '>i4'))
lib.from_numpy(np.ones(3)[::-1])
lib.from_numpy([1])
lib.from_numpy(np.float64(1))
lib.from_numpy(np.array('a'))
lib.from_numpy(np.ones(2, np.uint16))
lib.frombuffer(bytearray(b'\\0\\0\\x80?'), dtype=lib.float32)
lib.frombuffer(bytearray(b'abcd'), dtype=lib.uint8, count=2, offset=1)
lib.frombuffer(bytearray(b'abc'), dtype=lib.int16)
lib.frombuffer(bytearray(b'abcd'), dtype=lib.uint8, count=9)
lib.ones(2).new_tensor([1, 2], dtype=lib.int8)
lib.ones(2).new_zeros(2, dtype=lib.int8)
lib.ones(2, dtype=lib.int32).new_ones((2, 2))
lib.ones(2).new_empty((2,), device='meta')
lib.ones(2).new_full((2,), 3, requires_grad=True)
lib.ones(2).new_full((2,), 3.5, dtype=lib.int64)
lib.ones(2).new([3])
lib.ones(2).new(2, 3).shape
lib.rand(2, 3).shape
lib.rand((2,), generator=lib.Generator(), requires_grad=True).shape
lib.rand(2, dtype=lib.int64)
lib.randn(2, 3, out=lib.empty(1)).shape
lib.rand_like(lib.ones(2, dtype=lib.float64)).dtype
lib.randn_like(lib.ones(2), dtype=lib.bfloat16).dtype
lib.randint(3, (2,), dtype=lib.float32).dtype
lib.randint(3, 3, (2,))
lib.randint(5, (2, 2), requires_grad=True)
lib.randint(0, 300, (3,), dtype=lib.uint8)
lib.randint(4, 5, (3,))
lib.randint(low=4, high=5, size=(3,))
lib.randint(high=1, size=(3,))
lib.randint(0, 1, (3,), dtype=lib.bool)
lib.randint_like(lib.ones(2), 1)
lib.randint_like(lib.ones(2), 4, 5)
lib.randperm(3, dtype=lib.int32).dtype
lib.randperm(0)
lib.randperm(-1)
lib.normal(0., 0., (2,))
lib.normal(2, 0, size=(1, 4))
lib.normal(lib.zeros(2), lib.zeros(2))
lib.normal(lib.ones(2, 1), lib.zeros(3))
lib.normal(3., lib.zeros(2))
lib.normal(lib.ones(2), 0.)
lib.normal(lib.ones(2, dtype=lib.float64)).dtype
lib.normal(0., -1., (2,))
lib.normal(lib.zeros(2), -lib.ones(2))
lib.bernoulli(lib.tensor([0., 1.]))
lib.bernoulli(lib.zeros(3), p=1.)
lib.bernoulli(lib.tensor([2.]))
lib.bernoulli(lib.tensor([1, 0]))
lib.zeros(3).bernoulli()
lib.zeros(3).bernoulli(1.)
lib.zeros(3, dtype=lib.int64).bernoulli_(1.)
lib.zeros(2).bernoulli_(lib.ones(2))
lib.zeros(2, dtype=lib.bool).bernoulli_(lib.ones(2, dtype=lib.float64))
lib.multinomial(lib.tensor([0., 1., 0.]), 1)
lib.multinomial(lib.tensor([0., 1., 0.]), 4, replacement=True)
sorted(lib.multinomial(lib.tensor([0., 1., 0., 1.]), 2).tolist())
lib.multinomial(lib.ones(2, 3), 2).shape
lib.multinomial(lib.ones(2, 3), 4)
lib.multinomial(lib.tensor([-1., 1.]), 1)
lib.multinomial(lib.zeros(3), 1)
lib.multinomial(lib.tensor([1, 2]), 1)
lib.multinomial(lib.ones(3), 0)
lib.multinomial(lib.ones(2, 2, 2), 1)
lib.poisson(lib.zeros(2))
lib.poisson(lib.tensor([1, 2]))
lib.poisson(-lib.ones(1))
lib.zeros(3).random_(1)
lib.zeros(3).random_(1, 2)
lib.zeros(2).random_(3, 3)
lib.zeros(3, dtype=lib.int8).random_(0, 300)
lib.zeros(3, dtype=lib.uint8).random_().dtype
lib.zeros(3).exponential_(-1.)
lib.zeros(3, dtype=lib.int64).exponential_()
lib.zeros(3).geometric_(0)
lib.zeros(3, dtype=lib.int64).geometric_(0.999999999)
lib.zeros(3).uniform_(1, 0)
lib.zeros(3).uniform_(2, 2)
lib.zeros(3, dtype=lib.int64).uniform_()
lib.zeros(3).normal_(0, -1)
lib.zeros(3).normal_(5, 0)
lib.zeros(3, dtype=lib.int64).normal_()
lib.zeros(3).log_normal_(0, -1)
lib.zeros(3).cauchy_(0, -1)
lib.ones(2, requires_grad=True).uniform_()
(lib.ones(2, requires_grad=True) * 2).uniform_(3, 3)
lib.zeros(2, device='meta').normal_()
"""

TYPES = """
lib.Tensor([1, 2])
lib.Tensor((2, 3))
lib.Tensor(2, 3).shape
lib.Tensor(lib.Size([2, 3])).shape
lib.Tensor()
lib.Tensor(lib.ones(2))
lib.Tensor(np.ones(2))
lib.Tensor([[1, 2], [3, 4]])
lib.Tensor(3.5)
lib.Tensor([True, False])
lib.LongTensor([1, 2])
lib.LongTensor([1.5])
lib.LongTensor(2, 2).shape
lib.FloatTensor([[1, 2]])
lib.FloatTensor(np.ones(2))
lib.FloatTensor((1, 2))
lib.FloatTensor(2).shape
lib.DoubleTensor([1])
lib.HalfTensor([1.5])
lib.BFloat16Tensor([1.5])
lib.ByteTensor([1])
lib.CharTensor([1])
lib.ShortTensor([1])
lib.IntTensor([1])
lib.BoolTensor([1, 0])
isinstance(lib.ones(2), lib.FloatTensor)
isinstance(lib.ones(2), lib.LongTensor)
isinstance(lib.ones(2), lib.Tensor)
lib.tensor([1]).type()
lib.tensor(True).type()
lib.tensor(1, dtype=lib.bfloat16).type()
lib.empty(2, device='meta').type()
lib.ones(2).type(lib.LongTensor)
lib.ones(2).type('torch.DoubleTensor')
lib.ones(2).type(lib.int8)
lib.arange(2).type(lib.Tensor)
lib.nn.functional.normalize(lib.tensor([[3., 4.]]), out=lib.empty(0)), lib.nn.functional.normalize(lib.ones(2, 2), 1)
lib.ones(2).double().type('torch.Tensor')
lib.ones(2).type('bogus')
lib.ones(2).to('cpu', lib.int8, True, True)
lib.ones(2).to(lib.int8, non_blocking=True)
lib.ones(2).to(lib.ones(2, dtype=lib.int8))
lib.ones(2).to(dtype=lib.float64, device='cpu', copy=True)
lib.ones(2).to('meta')
lib.ones(2).to(device='meta', dtype=lib.int8)
lib.ones(2).to('cpu', None)
lib.ones(2).to(memory_format=lib.contiguous_format)
lib.ones(1, 2, 3, 4).to(memory_format=lib.channels_last).stride()
lib.ones(2).to('foo')
lib.ones(2).to(bogus=1)
lib.ones(2).to(dtype='int8')
[getattr(lib.ones(2), name)() for name in 'double half bfloat16 float long int short char byte bool'.split()]
lib.tensor([1.7, -1.7]).type_as(lib.tensor(1))
lib.tensor([300., -1.]).to(lib.int32)
lib.tensor([0.1, 70000.]).half()
lib.tensor([0.1, 1.00390625, 1.01171875]).bfloat16()
lib.tensor([float('nan'), 0., 2.]).bool()
lib.is_tensor(lib.ones(2)), lib.is_tensor(3)
lib.is_storage(lib.ones(2).untyped_storage()), lib.is_storage(3)
lib.is_floating_point(lib.ones(2)), lib.is_complex(lib.ones(2)), lib.ones(2).is_signed()
lib.is_nonzero(lib.tensor([1])), lib.is_nonzero(lib.tensor(0.))
lib.is_nonzero(lib.ones(2))
lib.is_same_size(lib.ones(2), lib.ones(2)), lib.ones(2).is_same_size(lib.ones(3))
lib.numel(lib.ones(2, 3)), lib.ones(2, 3).nelement(), lib.ones(2, 3).ndimension()
lib.typename(lib.ones(2)), lib.typename(3)
lib.float, lib.double, lib.half, lib.int, lib.long, lib.short, lib.bool
lib.result_type(lib.tensor([1]), 2.5), lib.result_type(3, 4), lib.result_type(lib.tensor(1.), lib.tensor([1]))
lib.can_cast(lib.float, lib.int), lib.can_cast(lib.int, lib.float)
lib.promote_types(lib.float16, lib.bfloat16)
lib.finfo(lib.bfloat16), lib.finfo(), lib.iinfo(lib.int8)
lib.iinfo(lib.bool)
lib.device('cpu'), lib.device('cuda', 1), lib.device('cuda:2').index, lib.device('meta').type
lib.device(type='cuda', index=1)
lib.device('cuda') == lib.device('cuda'), lib.device('cpu') == 'cpu', hash(lib.device('cpu')) == hash(lib.device('cpu'))
lib.device('foo')
lib.device('cuda:1', 1)
lib.ones(2).get_device(), lib.ones(2, device='meta').get_device()
lib.ones(2).is_cpu, lib.ones(2).is_cuda, lib.ones(2).is_meta, lib.ones(2).is_mps
lib.ones(2, device='meta') + lib.tensor(1.)
lib.cuda.device_count(), lib.cuda.is_available(), lib.backends.mps.is_available()
lib.cuda.memory_allocated(), lib.cuda.empty_cache(), lib.cuda.manual_seed_all(3)
lib.are_deterministic_algorithms_enabled(), lib.get_float32_matmul_precision()
"""

MEMORY = """
lib.ones(2, 3).size(-1), lib.ones(2, 3).size(), lib.ones(2, 3).size(dim=1)
lib.ones(2, 3).size(5)
lib.ones(2, 3).stride(), lib.ones(2, 3).stride(0), lib.ones(2, 3).T.stride(), lib.ones(1, 3).T.stride()
lib.ones(2, 3).stride(5)
lib.ones(2, 3, device='meta').stride()
lib.Size([2, 3]) + (1,), lib.Size([2, 3])[1:], lib.Size([2, 3]).numel(), lib.Size([2, 3]) * 2, lib.Size([])
lib.Size((2, 3)) == (2, 3), lib.Size((2, 3)) == [2, 3], lib.Size([2, 3]).index(3), lib.Size([2, 3])[-1]
lib.ones(2, 3).shape
lib.arange(6).reshape(2, 3)[1:, 1].storage_offset()
lib.arange(6).untyped_storage().nbytes(), lib.arange(6)[2:].untyped_storage().nbytes()
lib.arange(2, dtype=lib.uint8).untyped_storage().tolist()
(lambda x: x.untyped_storage().data_ptr() == x[1:].untyped_storage().data_ptr())(lib.ones(3))
(lambda x: x[1:].data_ptr() - x.data_ptr())(lib.ones(3))
lib.ones(2, 3).element_size(), lib.ones(2, 3).itemsize, lib.ones(2, 3).nbytes
lib.ones(2, 3).layout, lib.ones(2).is_sparse, lib.ones(2).is_quantized, lib.ones(2).is_nested
lib.ones(2).is_shared(), lib.ones(2).is_pinned(), lib.ones(2).share_memory_().is_shared()
lib.ones(2, 3).T.is_contiguous(), lib.ones(2, 3).is_contiguous(memory_format=lib.contiguous_format)
lib.ones(1, 2, 3, 4).contiguous(memory_format=lib.channels_last).stride()
lib.ones(1, 2, 3, 4).is_contiguous(memory_format=lib.channels_last)
lib.ones(1, 2, 3, 4).contiguous(memory_format=lib.channels_last).is_contiguous(memory_format=lib.channels_last)
lib.ones(1, 2, 3, 4, 5).contiguous(memory_format=lib.channels_last_3d).stride()
lib.ones(1, 2, 3).contiguous(memory_format=lib.channels_last)
lib.ones(2, 3, 4).dim_order(), lib.ones(2, 3).T.dim_order()
lib.arange(6.).reshape(2, 3).view(lib.int32)
lib.arange(8.).reshape(2, 4).view(lib.int64).shape
lib.arange(8.).reshape(2, 4).view(lib.int16)
lib.arange(6.).reshape(2, 3).view(lib.int64)
lib.ones(4, 2).T.view(lib.float64)
lib.tensor(1.).view(lib.int32), lib.tensor(1.).view(dtype=lib.int32)
lib.tensor(1.).view(lib.int8)
lib.ones(2).half().view(lib.bfloat16)
lib.ones(2, 2, device='meta').view(lib.int16).shape
lib.arange(4).resize_(2, 2)
lib.arange(4).resize_(2)
lib.arange(4).resize_(3, 3).shape
lib.ones(3, requires_grad=True).resize_(2)
lib.ones(3).resize_as_(lib.ones(1, 3))
lib.ones(2).set_(lib.zeros(3))
lib.ones(2).set_().shape
lib.zeros(1).set_(lib.arange(6.), 1, (2, 2), (2, 1))
lib.zeros(1).set_(lib.arange(6.).untyped_storage(), 2, (3,), (1,))
lib.zeros(1).set_(source=lib.arange(6.), storage_offset=3, size=(3,), stride=(1,))
lib.ones(2, dtype=lib.int8).new_empty_strided((2, 3), (1, 2)).stride()
lib.zeros(3).uniform_(to=0), lib.zeros(3).random_(1)
lib.ones(2).set_(lib.zeros(3, dtype=lib.int8))
lib.arange(6).reshape(2, 3).H, lib.arange(6).reshape(2, 3).mH, lib.ones(2, 3, 4).mT.shape
lib.ones(2, 3, 4).H
lib.ones(3).mT
lib.ones(2).pin_memory()
lib.ones(2).is_set_to(lib.ones(2)), lib.ones(2).real, lib.ones(2).to_dense(), lib.ones(3).multinomial(2).shape
lib.ones(2).imag
lib.real(lib.ones(2)), lib.put(lib.zeros(2), lib.tensor([1]), lib.tensor([3.])), lib.is_warn_always_enabled()
(lambda x: x.is_set_to(x.view(2)))(lib.ones(2))
"""

PYTHON = """
lib.ones(2).item()
lib.tensor([[1.5]]).item(), lib.tensor(True).item(), lib.tensor([3]).item()
lib.tensor(1.5, dtype=lib.bfloat16).item(), lib.tensor([1.5], dtype=lib.bfloat16).tolist()
lib.arange(4).reshape(2, 2).tolist(), lib.tensor(7).tolist(), lib.ones(0).tolist()
int(lib.tensor([3])), float(lib.tensor(2)), bool(lib.tensor(0.)), complex(lib.tensor(2.))
complex(lib.tensor([2., 3.]))
bool(lib.tensor([]))
bool(lib.ones(2))
int(lib.ones(2))
lib.tensor([1.5]).__index__()
lib.tensor(1.5).__index__()
lib.tensor(True).__index__(), lib.tensor([2]).__index__()
lib.ones(2, dtype=lib.int64).__index__()
hex(lib.tensor(10)), [10, 20][lib.tensor(1)], list(range(lib.tensor(3)))
'%d' % lib.tensor(3), '%.2f' % lib.tensor(3.), f'{lib.tensor(3.5)}', f'{lib.tensor(3.5):.1f}', f'{lib.tensor([3.5])}'
f'{lib.tensor([3.5]):.1f}'
reversed(lib.arange(3)), reversed(lib.tensor(3))
2 in lib.arange(3), 5 in lib.arange(3), lib.tensor([1, 2]) in lib.ones(2, 2), lib.tensor(2) in lib.arange(3)
'a' in lib.arange(3)
None in lib.arange(3)
len(lib.ones(2, 3))
+lib.ones(2), lib.tensor(1).is_nonzero(), hasattr(lib.ones(2), '__cuda_array_interface__')
lib.tensor([8]) >> 1, 8 >> lib.tensor([1]), lib.tensor([8]) << 1, 3 << lib.tensor([1])
lib.ones(2).is_nonzero()
lib.accelerator.is_available(), lib.accelerator.current_accelerator(), lib.accelerator.device_count()
len(lib.tensor(3))
iter(lib.tensor(3))
list(lib.arange(3))
max(lib.tensor([1, 3])), sorted(lib.tensor([3, 1])), sum(lib.tensor([1, 2]))
dict(zip(lib.arange(2).tolist(), lib.ones(2)))
'grad' in dir(lib.ones(2)), 'shape' in dir(lib.ones(2))
np.asarray(lib.ones(2)), np.array([lib.ones(2), lib.ones(2)])
np.asarray(lib.ones(2), dtype=np.int8), np.array(lib.tensor(3))
np.sin(lib.arange(3.)), np.add(lib.ones(2), 1), np.exp(lib.ones(2, dtype=lib.float64))
np.add(lib.ones(2), np.ones(2))
np.concatenate([lib.ones(2), lib.ones(1)]), np.stack([lib.ones(2), lib.ones(2)])
np.where(np.asarray(lib.arange(3) > 1), lib.arange(3), 0)
np.dot(lib.ones(2), lib.ones(2)), np.allclose(lib.ones(2), 1.), np.shape(lib.ones(2, 3)), np.ndim(lib.ones(2, 3))
np.linalg.norm(lib.ones(4))
np.zeros(3)[lib.tensor(1)], np.arange(3)[lib.tensor([1, 2])]
np.float64(2) * lib.ones(2), lib.ones(2) * np.float32(2)
np.asarray(lib.ones(2, requires_grad=True))
np.sqrt(lib.ones(2, requires_grad=True))
lib.ones(2, requires_grad=True).numpy()
lib.ones(2, requires_grad=True).numpy(force=True)
lib.ones(2, requires_grad=True).__dlpack__()
lib.ones(2).__dlpack_device__() == (1, 0)
lib.from_dlpack(np.arange(3.)), lib.from_dlpack(lib.ones(2)), lib.utils.dlpack.from_dlpack(np.arange(3))
lib.ones(3).apply_(lambda v: v + 1), lib.ones(2).map_(lib.arange(2.), lambda a, b: a + b)
lib.ones(3, requires_grad=True).apply_(lambda v: v + 1)
lib.ones(2, 2).T.apply_(lambda v: v * 3)
lib.ones(2).fill_(lib.tensor(3)), lib.ones(2).fill_(2), lib.ones(2).copy_(lib.tensor([3, 4]), non_blocking=True)
lib.ones(2).fill_(lib.ones(2))
lib.ones(2).fill_('a')
"""

INDEXED = """
lib.ones(3).put_(lib.tensor([0, 2]), lib.tensor([5., 6.]))
lib.ones(2, 2).T.put_(lib.tensor([0, -1]), lib.tensor([5., 6.]))
lib.ones(3).put_(lib.tensor([0, 0]), lib.tensor([5., 6.]), accumulate=True)
lib.ones(3).put_(lib.tensor([3]), lib.tensor([5.]))
lib.ones(3).put(lib.tensor([1]), lib.tensor([5.]))
lib.arange(3).where(lib.arange(3) > 1, 7)
lib.ones(3).put_(lib.tensor([0]), lib.tensor([5., 6.]))
lib.zeros(2, 2).index_put_((lib.tensor([0, 1]), lib.tensor([1, 0])), lib.tensor([1., 2.]))
lib.zeros(2, 2).index_put_((lib.tensor([0, 0]),), lib.tensor(1.), accumulate=True)
lib.zeros(2, 2).index_put((lib.tensor([True, False]),), lib.tensor([1., 2.]), accumulate=True)
lib.zeros(2, 2).index_put_((lib.tensor([True, False]),), lib.tensor(3.))
lib.zeros(2, 3).fill_diagonal_(1), lib.zeros(3, 3).fill_diagonal_(2.5), lib.zeros(2, 2, 2).fill_diagonal_(1)
lib.zeros(5, 2).fill_diagonal_(1, wrap=True), lib.zeros(5, 2).fill_diagonal_(1)
lib.ones(2).fill_diagonal_(1)
lib.arange(3)[5]
lib.arange(3)[-4]
lib.ones(2)[0, 0]
lib.ones(2)[lib.tensor([2])]
lib.ones(2)[[True]]
lib.ones(2)[lib.tensor([.5])]
lib.ones(2)[1.5]
lib.ones(2)[{1}]
lib.ones(2)[::-1]
lib.ones(2)[0:1.5]
lib.tensor(3.)[0]
lib.tensor(3.)[...], lib.tensor(3.)[None], lib.tensor(3.)[True], lib.tensor(3.)[()]
lib.arange(12).reshape(3, 4)[[0, 1], [1, 2]]
lib.arange(12).reshape(3, 4)[(0, 1),]
lib.arange(12).reshape(3, 4)[[[0, 1], [1, 2]]]
lib.arange(12).reshape(3, 4)[[slice(0, 1)]]
lib.arange(12).reshape(3, 4)[[lib.tensor(0), lib.tensor(1)]]
lib.arange(12).reshape(3, 4)[lib.tensor([0, 1, 1], dtype=lib.uint8)]
lib.arange(12).reshape(3, 4)[lib.tensor([0, 1], dtype=lib.int32)]
lib.arange(12).reshape(3, 4)[lib.ones(2, 4, dtype=lib.bool)]
lib.arange(12).reshape(3, 4)[lib.ones(3, 4, 1, dtype=lib.bool)]
lib.arange(12).reshape(3, 4)[lib.tensor([0, 1]), lib.tensor([0, 1, 2])]
lib.arange(12).reshape(3, 4)[np.array(1)], lib.arange(12).reshape(3, 4)[np.int64(1), np.array([0, 2])]
lib.arange(12).reshape(3, 4)[range(2)], lib.arange(12).reshape(3, 4)[:, range(1, 3)]
lib.arange(12).reshape(3, 4)[False], lib.arange(12).reshape(3, 4)[None, True]
lib.ones(2).sum(5)
lib.ones(2).transpose(0, 5)
lib.ones(2).unsqueeze(5)
lib.ones(2).softmax(3)
lib.ones(2).__setitem__(5, 1)
lib.ones(2).__setitem__(0, None)
lib.ones(2).__setitem__(0, 'a')
lib.ones(2, 2).__setitem__(0, lib.ones(3))
lib.ones(2, 2).__setitem__([0, 1], lib.ones(3))
lib.ones(2).__setitem__(lib.ones(2) > 0, lib.ones(3))
"""


AUGMENTED = ("+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>=")


@pytest.mark.parametrize("operator", AUGMENTED)
@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_augmented_assignment_writes_in_place(operator: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    if dtype == "bool" and operator in ("<<=", ">>="):
        return  # the engine shifts booleans to booleans
    result: list[Any] = []
    for lib in (engine, torch):
        x = lib.tensor([1, 1, 0] if dtype == "bool" else [5, 6, 7], dtype=getattr(lib, dtype))
        names = {"x": x, "y": lib.tensor([True, False, True]) if dtype == "bool" else 2}
        try:
            exec(f"x {operator} y", names)
        except (RuntimeError, TypeError) as error:
            result.append(isinstance(error, RuntimeError))
        else:
            result.append((names["x"] is x, x.tolist(), str(x.dtype).partition(".")[2]))
    assert result[0] == result[1]


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


@pytest.mark.parametrize("text", _lines(CREATION))
def test_creation(text: str) -> None:
    check(text, pytest.importorskip("torch"))


@pytest.mark.parametrize("text", _lines(TYPES))
def test_types_and_devices(text: str) -> None:
    check(text, pytest.importorskip("torch"))


@pytest.mark.parametrize("text", _lines(MEMORY))
def test_memory(text: str) -> None:
    check(text, pytest.importorskip("torch"))


@pytest.mark.parametrize("text", _lines(PYTHON))
def test_python_and_numpy(text: str) -> None:
    check(text, pytest.importorskip("torch"))


@pytest.mark.parametrize("text", _lines(INDEXED))
def test_indexing(text: str) -> None:
    check(text, pytest.importorskip("torch"))


def test_out_must_be_a_tensor() -> None:
    x = engine.ones(2, 2, requires_grad=True)
    engine.mean(x, dim=-1, out=None).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert engine.max(x, 1, out=None).values.tolist() == [1, 1]
    assert engine.add(x, x, out=None).requires_grad
