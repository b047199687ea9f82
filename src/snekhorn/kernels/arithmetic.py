"""Compute an exponential and a logarithm that LLVM can vectorise, several times faster than the versions in libm."""

import numpy as np

from .compilation import inlined

# exp(x) = 2^k exp(r), k = round(x / log 2). Adding ROUNDER (1.5 * 2^52) rounds to the nearest
# integer and leaves k in the low bits; a shift then moves it to the exponent field.
ROUNDER = 6755399441055744.0
LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
SMALLEST_EXPONENT = -708.0  # below this, the result would be subnormal; it is flushed to about 1e-308
LARGEST_EXPONENT = 709.0

C12, C11, C10, C9 = 1 / 479001600, 1 / 39916800, 1 / 3628800, 1 / 362880
C8, C7, C6, C5, C4, C3 = 1 / 40320, 1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6


# Without re-association, which would cancel ROUNDER.
@inlined(fastmath={"contract"})
def fast_exp(x):
    """Compute exp(x) to within three units in the last place, with x clipped to the range of normal numbers."""
    x = min(max(x, SMALLEST_EXPONENT), LARGEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    r = x - k * LN2_HIGH - k * LN2_LOW
    p = C12 * r + C11
    p = p * r + C10
    p = p * r + C9
    p = p * r + C8
    p = p * r + C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


# log(x) = e log 2 + 2 atanh(s), s = (m - 1) / (m + 1), with x = 2^e m and m in [sqrt(1/2), sqrt(2)).
MANTISSA = (1 << 52) - 1
HALF_BITS = 0x3FE6A09E667F3BCD  # of sqrt(1/2)


@inlined(fastmath={"contract"})
def fast_log(x):
    """Compute log(x) to a relative or absolute error of 1e-12, for normal positive x."""
    bits = np.float64(x).view(np.int64) - HALF_BITS
    e = np.float64(bits >> 52)
    m = np.int64((bits & MANTISSA) + HALF_BITS).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    p = 1.0 / 15.0
    p = p * t + 1.0 / 13.0
    p = p * t + 1.0 / 11.0
    p = p * t + 1.0 / 9.0
    p = p * t + 1.0 / 7.0
    p = p * t + 1.0 / 5.0
    p = p * t + 1.0 / 3.0
    return e * (LN2_HIGH + LN2_LOW) + 2.0 * (s + s * t * p)
