"""Autograd nodes have PyTorch's names."""

from __future__ import annotations

import pytest

import engine

EXPRESSIONS = """
x+1
x.sum()
x.sum(0)
x.mean()
x.mean(0)
x@x
x@x[0]
x[0]@x[0]
z@z
z@x
x.mm(x)
x.matmul(x.T)
x.reshape(9)
x.view(9)
x.flatten()
x[0]
x[0:2]
x[:,0]
x[None]
x[0,0]
x[[0,1]]
x[x>0]
x.double()
x.max()
x.min()
x.max(0)[0]
x.min(0)[0]
x.amax(0)
x.T
x.permute(1,0)
x.squeeze()
x.unsqueeze(0)
x.expand(2,3,3)
x.clone()
x.relu()
x.sigmoid()
x.tanh()
x.exp()
x.log()
x.sqrt()
x.std()
x**2
2**x
x*2
x/2
x-1
1-x
-x
x.abs()
x.clamp(0,1)
x.clamp(min=0)
x.var()
x.norm()
x.prod()
x.cumsum(0)
x.softmax(0)
x.log_softmax(0)
lib.cat([x,x])
lib.where(x>0,x,x)
lib.einsum('ij,jk->ik',x,x)
lib.maximum(x,x*2)
x.gather(0,lib.zeros(1,3,dtype=lib.int64))
x.repeat(2,1)
x.tril()
x.sort(0)[0]
x.topk(1)[0]
x.roll(1)
x.flip(0)
x.round()
x.pow(3)
x.square()
x.reciprocal()
x.rsqrt()
x.sin()
x.erf()
x.det()
x.inverse()
(x*1).mul_(2)
(x*1).relu_()
F.linear(x,x,x[0])
F.linear(x,x)
F.linear(z,x,x[0])
F.conv2d(z[None],z[None])
F.conv_transpose2d(z[None],z[:,None])
F.max_pool2d(z[None],2)
F.unfold(z[None],2)
F.elu(x)
F.celu(x,0.5)
F.leaky_relu(x)
x.log1p()
x.prod(0)
x.fmod(x)
x.fmod(2)
x.round(decimals=1)
x.std(0)
x.var(0)
x.cumprod(0)
x.cummin(0)[0]
lib.diag_embed(x)
lib.linalg.svd(x)[1]
lib.linalg.qr(x)[0]
lib.linalg.slogdet(x)[1]
lib.linalg.solve(x,x)
lib.linalg.matrix_exp(x)
F.conv1d(z,z)
F.layer_norm(x,(3,))
F.dropout(x,0.5)
F.cross_entropy(x,lib.tensor([0,1,2]))
F.l1_loss(x,x*2)
F.kl_div(x,x.softmax(0))
F.gelu(x)
F.softplus(x)
F.normalize(x)
F.scaled_dot_product_attention(z,z,z)
F.cosine_similarity(x,x)
x.view(3,3).sum().sqrt()
lib.linalg.norm(x)
x.mv(x[0])
x.lerp(x*2,0.5)
x.diagonal()
x.select(0,0)
x.narrow(0,0,1)
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("text", EXPRESSIONS.strip().split("\n"))
def test_node_names_equal_pytorch(text: str) -> None:
    torch = pytest.importorskip("torch")
    found: list[str] = []
    for lib in (engine, torch):
        x = lib.tensor([[1.0, 0.2, 0.3], [0.4, 2.0, 0.6], [0.7, 0.8, 3.0]], requires_grad=True)
        z = lib.ones(3, 3, 3, requires_grad=True)
        found.append(eval(text, {"x": x, "z": z, "lib": lib, "F": lib.nn.functional}).grad_fn.name())
    assert found[0] == found[1]


def test_op_without_pytorch_equivalent_keeps_its_name() -> None:
    x = engine.ones(2, requires_grad=True)
    assert repr(engine.special.bessel_j0(x)).endswith("grad_fn=<BesselJ0Backward0>)")
