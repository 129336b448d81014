"""Logarithms: x = 2ⁿ·m with m between √½ and √2, ln x = n·ln 2 + ln m, and ln m by Cephes' or fdlibm's polynomials."""

from __future__ import annotations

from math import inf, nan

from numba import float32, int32, int64

from engine.compiler.kernels.functions.exponential import inlined
from engine.compiler.kernels.functions.llvm_instructions import bits, from_bits


@inlined
def _parts32(x):
    """m − 1 and n of a positive x."""
    tiny = x < float32(1.17549435e-38)
    y = x * float32(8388608.0) if tiny else x
    raw = int32(bits(y) - int32(0x3F3504F3))
    n = int32(raw >> int32(23))
    m = from_bits(int32(bits(y) - int32(n << int32(23))))
    return m - float32(1.0), float32(n) - (float32(23.0) if tiny else float32(0.0))


@inlined
def _tail32(f):
    """ln(1 + f) − f (Cephes)."""
    z = f * f
    p = float32(7.0376836292e-2)
    p = p * f + float32(-1.1514610310e-1)
    p = p * f + float32(1.1676998740e-1)
    p = p * f + float32(-1.2420140846e-1)
    p = p * f + float32(1.4249322787e-1)
    p = p * f + float32(-1.6668057665e-1)
    p = p * f + float32(2.0000714765e-1)
    p = p * f + float32(-2.4999993993e-1)
    p = p * f + float32(3.3333331174e-1)
    return p * f * z - float32(0.5) * z


@inlined
def _ends32(x, found):
    """Corrects a logarithm at 0, below 0, and at infinity."""
    found = x if x == float32(inf) else found
    found = float32(-inf) if x == float32(0.0) else found
    return found if x >= float32(0.0) else float32(nan)


@inlined
def log32(x):
    f, n = _parts32(x)
    tail = _tail32(f) + n * float32(-2.12194440e-4)
    return _ends32(x, n * float32(0.693359375) + (f + tail))


@inlined
def log2_32(x):
    f, n = _parts32(x)
    tail = _tail32(f)
    low = tail * float32(1.4426950408889634) + f * float32(0.44269504088896340736)
    return _ends32(x, n + (f + low))


@inlined
def log10_32(x):
    f, n = _parts32(x)
    tail = _tail32(f)
    low = (
        tail * float32(0.4342944819032518)
        + n * float32(2.48745663981195213739e-4)
        + f * float32(7.00731903251827651129e-4)
    )
    return _ends32(x, low + f * float32(4.3359375e-1) + n * float32(3.00781250e-1))


@inlined
def log1p32(x):
    u = float32(1.0) + x
    lost = (x - (u - float32(1.0))) / u
    found = log32(u) + lost
    found = x if u == float32(1.0) else found
    found = float32(-inf) if u == float32(0.0) else found
    return u if u == float32(inf) else found


@inlined
def _parts64(x):
    tiny = x < 2.2250738585072014e-308
    y = x * 18014398509481984.0 if tiny else x
    raw = bits(y) - int64(0x3FE6A09E667F3BCD)
    n = raw >> 52
    m = from_bits(int64(bits(y) - (n << 52)))
    return m - 1.0, _as_float(n) - (54.0 if tiny else 0.0)


@inlined
def _as_float(n):
    """A small integer as float; most CPUs have no 64-bit vector instruction for this."""
    return from_bits(int64(n + int64(0x4338000000000000))) - 6755399441055744.0


@inlined
def _tail64(f):
    """ln(1 + f) − f."""
    s = f / (2.0 + f)
    z = s * s
    p = 1.479819860511658591e-01
    p = p * z + 1.531383769920937332e-01
    p = p * z + 1.818357216161805012e-01
    p = p * z + 2.222219843214978396e-01
    p = p * z + 2.857142874366239149e-01
    p = p * z + 3.999999999940941908e-01
    p = p * z + 6.666666666666735130e-01
    half = 0.5 * f * f
    return s * (half + p * z) - half


@inlined
def _ends64(x, found):
    found = x if x == inf else found
    found = -inf if x == 0.0 else found
    return found if x >= 0.0 else nan


@inlined
def log64(x):
    f, n = _parts64(x)
    return _ends64(x, n * 6.93147180369123816490e-01 + (f + (_tail64(f) + n * 1.90821492927058770002e-10)))


@inlined
def log2_64(x):
    f, n = _parts64(x)
    low = _tail64(f) * 1.4426950408889634 + f * 0.44269504088896340736
    return _ends64(x, n + (f + low))


@inlined
def log10_64(x):
    f, n = _parts64(x)
    low = _tail64(f) * 0.4342944819032518 + n * 3.69423907715893078616e-13
    return _ends64(x, (low + f * 0.4342944819032518) + n * 3.01029995663611771306e-01)


@inlined
def log1p64(x):
    u = 1.0 + x
    lost = (x - (u - 1.0)) / u
    found = log64(u) + lost
    found = x if u == 1.0 else found
    found = -inf if u == 0.0 else found
    return u if u == inf else found
