#!/usr/bin/env python3
"""The polynomial of src/nn/gelu.cc: R(y) = Phi(-y) exp(y^2 / 2), y >= 0, as
t * P(t) with t = 1 / (1 + 0.3 y), fitted for the least relative error by
iterated weights (Lawson). Needs numpy and mpmath.
"""
import mpmath
import numpy as np

BEND, LARGEST, DEGREE, NODES = 0.3, 14.5, 9, 200
mpmath.mp.dps = 40


def ratio(y):
    y = mpmath.mpf(float(y))
    return float(mpmath.erfc(y / mpmath.sqrt(2)) * mpmath.exp(y * y / 2) / 2)


first = 1 / (1 + BEND * LARGEST)
chebyshev = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
t = first + (1 - first) * (chebyshev + 1) / 2
wanted = np.array([ratio((1 / v - 1) / BEND) for v in t])
matrix = np.vander(t, DEGREE + 1, increasing=True) * t[:, None]
matrix /= wanted[:, None]
weights = np.ones(NODES)
for _ in range(60):
    root = np.sqrt(weights)
    fit = np.linalg.lstsq(matrix * root[:, None], root, rcond=None)[0]
    error = np.abs(matrix @ fit - 1)
    weights = weights * (error + 1e-12) ** 0.7
    weights /= weights.sum()
print("coefficients of t^1 ...:", ", ".join(f"{c:.9g}" for c in fit))
print("largest relative error:", error.max())
