# SPDX-License-Identifier: Apache-2.0
"""erf and erfc in long double, which numpy does not have.

Where |x| < 1 by the series of erf(x) exp(x^2), whose terms are all positive,
elsewhere by the continued fraction of erfc(x) exp(x^2).
"""

import numpy as np

TERMS = 40  # of the series: 2^40 / 81!! < 2^-80
LEVELS = 350  # of the fraction: exp(-2 sqrt(2 * 350)) < 2^-76
ROOT_OF_PI = np.sqrt(np.longdouble("3.14159265358979323846264338327950288"))


def power(x):
    """exp(-x^2), x^2 taken exactly."""
    high = x.astype(np.float32).astype(x.dtype)
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


def small_erf(x):
    term, total = x, x
    for n in range(1, TERMS):
        term = term * (2 * x * x) / (2 * n + 1)
        total = total + term
    return 2 / ROOT_OF_PI * power(x) * total


def large_erfc(x):
    below = x
    for n in range(LEVELS, 0, -1):
        below = x + np.longdouble(n) / 2 / below
    return power(x) / (ROOT_OF_PI * below)


def by_size(x, small, large):
    """`small(x)` where |x| < 1, `large(|x|)` from there to 120, NaN for NaN."""
    result = np.where(np.isnan(x), x, large(np.array([120], x.dtype))[0])
    near, far = np.abs(x) < 1, (np.abs(x) >= 1) & (np.abs(x) < 120)
    result[near] = small(x[near])
    result[far] = large(np.abs(x[far]))
    return result


def erf(x):
    size = by_size(x, lambda x: small_erf(np.abs(x)), lambda x: 1 - large_erfc(x))
    return np.copysign(size, x)


def erfc(x):
    size = by_size(x, lambda x: 1 - small_erf(np.abs(x)), large_erfc)
    return np.where(x < 0, 2 - size, size)
