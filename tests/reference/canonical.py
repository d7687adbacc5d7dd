"""Canonical correlations of ŷ and y on the training rows (docs/measures.md, section 3), in float64.

Where the program decomposes covariances, this compares orthonormal bases of the rows themselves: ŷ spans what x spans,
as far as it goes together with y, so that the correlations of ŷ and y are those of x and y.
"""

import numpy as np

CUT, CONSTANT, SHARE = 1e-10, 2.0**-22, 0.9


def score(x: np.ndarray, y: np.ndarray) -> dict:
    """Of rows x → y, [rows, features]."""
    of_y = basis(y)
    shares = np.linalg.svd(basis(x).T @ of_y, compute_uv=False) ** 2
    held = np.cumsum(shares) >= SHARE * shares.sum()
    return {
        "effective_rank_whitened": int(np.argmax(held)) + 1,
        "canonical_r2_mean": float(shares.sum() / of_y.shape[1]),
    }


def basis(rows: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the centred, scaled columns, but for directions of rounding."""
    rows = rows.astype(np.float64)
    sigma = rows.std(axis=0)
    varies = sigma > CONSTANT * np.abs(rows).max(axis=0)
    left, singular, _ = np.linalg.svd(((rows - rows.mean(axis=0)) / sigma.clip(1e-300))[:, varies], full_matrices=False)
    return left[:, singular**2 > CUT * singular[0] ** 2]
