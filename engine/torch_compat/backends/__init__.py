"""torch.backends: switches of the libraries that PyTorch uses. They can be set and have no effect."""

from __future__ import annotations

from engine.torch_compat.backends import cuda as cuda
from engine.torch_compat.backends import cudnn as cudnn
from engine.torch_compat.backends import mkl as mkl
from engine.torch_compat.backends import mkldnn as mkldnn
from engine.torch_compat.backends import mps as mps
from engine.torch_compat.backends import openmp as openmp
from engine.torch_compat.backends import opt_einsum as opt_einsum

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
