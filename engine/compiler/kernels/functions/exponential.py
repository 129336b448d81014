"""Exponential functions by range reduction and polynomials, without tables or branches, so that LLVM vectorizes them.

x = n·ln 2 + r with |r| ≤ ½ ln 2, then eˣ = 2ⁿ·eʳ. Adding a large constant rounds to the integer n, whose value is in
the low bits of the sum.
"""

from __future__ import annotations

from typing import Any

from numba import float32, int32, int64, njit

from engine.compiler.kernels.functions.llvm_instructions import bits, copysign, fabs, from_bits

inlined: Any = njit(nogil=True, error_model="numpy", inline="never")
"""Products and sums are rounded separately, without FMA."""

_ROUND32, _ROUND64 = float32(12582912.0), 6755399441055744.0
_LOG2E = 1.4426950408889634


@inlined
def _powers32(r):
    """(eʳ − 1 − r) / r²."""
    p = float32(1.9814677e-4)
    p = p * r + float32(1.3938042e-3)
    p = p * r + float32(8.333473e-3)
    p = p * r + float32(4.1666523e-2)
    p = p * r + float32(0.16666666)
    return p * r + float32(0.5)


@inlined
def _powers64(r):
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.3888888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 0.16666666666666666
    return p * r + 0.5


@inlined
def _twice_scaled32(p, n):
    """p · 2ⁿ in two steps, since 2ⁿ may overflow."""
    half = n >> int32(1)
    rest = n - half
    return p * from_bits(int32((half + int32(127)) << int32(23))) * from_bits(int32((rest + int32(127)) << int32(23)))


@inlined
def _twice_scaled64(p, n):
    half = n >> 1
    rest = n - half
    return p * from_bits(int64((half + 1023) << 52)) * from_bits(int64((rest + 1023) << 52))


@inlined
def exp32(x):
    x = min(x, float32(89.0))
    x = max(x, float32(-105.0))
    t = x * float32(_LOG2E) + _ROUND32
    n = t - _ROUND32
    r = x - n * float32(0.693359375)
    r = r - n * float32(-2.12194440e-4)
    p = _powers32(r) * r * r + r + float32(1.0)
    return _twice_scaled32(p, int32(bits(t) - int32(0x4B400000)))


@inlined
def exp64(x):
    x = min(x, 710.0)
    x = max(x, -746.0)
    t = x * _LOG2E + _ROUND64
    n = t - _ROUND64
    r = x - n * 0.6931471803691238
    r = r - n * 1.9082149292705877e-10
    p = _powers64(r) * r * r + r + 1.0
    return _twice_scaled64(p, bits(t) - bits(_ROUND64))


@inlined
def exp2_32(x):
    x = min(x, float32(129.0))
    x = max(x, float32(-151.0))
    t = x + _ROUND32
    r = (x - (t - _ROUND32)) * float32(0.6931471805599453)
    p = _powers32(r) * r * r + r + float32(1.0)
    return _twice_scaled32(p, int32(bits(t) - int32(0x4B400000)))


@inlined
def exp2_64(x):
    x = min(x, 1025.0)
    x = max(x, -1076.0)
    t = x + _ROUND64
    r = (x - (t - _ROUND64)) * 0.6931471805599453
    p = _powers64(r) * r * r + r + 1.0
    return _twice_scaled64(p, bits(t) - bits(_ROUND64))


@inlined
def expm1_32(x):
    """2ⁿ(eʳ − 1) + (2ⁿ − 1), with both terms halved until the end."""
    small = max(x, float32(-18.0))
    small = min(small, float32(89.0))
    t = small * float32(_LOG2E) + _ROUND32
    n = t - _ROUND32
    r = small - n * float32(0.693359375)
    r = r - n * float32(-2.12194440e-4)
    p = _powers32(r) * r * r + r
    half = from_bits(int32((bits(t) - int32(0x4B400000) + int32(126)) << int32(23)))
    found = float32(2.0) * (half * p + (half - float32(0.5)))
    return x if x == float32(0.0) else found


@inlined
def expm1_64(x):
    small = max(x, -38.0)
    small = min(small, 710.0)
    t = small * _LOG2E + _ROUND64
    n = t - _ROUND64
    r = small - n * 0.6931471803691238
    r = r - n * 1.9082149292705877e-10
    p = _powers64(r) * r * r + r
    half = from_bits(int64((bits(t) - bits(_ROUND64) + 1022) << 52))
    found = 2.0 * (half * p + (half - 0.5))
    return x if x == 0.0 else found


@inlined
def _small_exp32(x):
    """eˣ for x between 0 and 40, where 2ⁿ does not overflow."""
    t = x * float32(_LOG2E) + _ROUND32
    n = t - _ROUND32
    r = x - n * float32(0.693359375)
    r = r - n * float32(-2.12194440e-4)
    p = _powers32(r) * r * r + r + float32(1.0)
    return p * from_bits(int32((bits(t) - int32(0x4B400000) + int32(127)) << int32(23)))


@inlined
def tanh32(x):
    """Up to 0.625 an odd polynomial (Cephes), from there 1 − 2 / (e^2|x| + 1)."""
    a = fabs(x)
    z = x * x
    p = float32(-5.70498872745e-3) * z + float32(2.06390887954e-2)
    p = p * z + float32(-5.37397155531e-2)
    p = p * z + float32(1.33314422036e-1)
    p = p * z + float32(-3.33332819422e-1)
    near = p * z * x + x
    a = min(a, float32(10.0))
    far = copysign(float32(1.0) - float32(2.0) / (_small_exp32(a + a) + float32(1.0)), x)
    return near if a < float32(0.625) and a > float32(0.0) else x if a == float32(0.0) else far


@inlined
def tanh64(x):
    a = -x if x < 0.0 else x
    z = x * x
    p = (-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z - 1.61468768441708447952e3
    q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3
    above, below = p * z * x, exp64(a + a) + 1.0
    near = a < 0.625
    above = above if near else 2.0
    below = q if near else below
    quotient = above / below
    far = 1.0 - quotient
    far = -far if x < 0.0 else far
    far = x + quotient if near else far
    return x if x == 0.0 else far
