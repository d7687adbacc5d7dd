"""The measures as docs/measures.md defines them, in float64 by singular value decomposition of the rows.

Nothing here forms a product of rows with rows to solve it: where the program goes through second moments and an
eigendecomposition, this goes through the rows themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd, svdvals
from scipy.spatial import cKDTree

# Eigenvalues of the correlation matrix at or below this share of the largest are cut.
CUT = 1e-10
# A column whose deviation is at or below this share of its largest magnitude is constant to float32 precision.
CONSTANT = 2.0**-22


@dataclass
class Fit:
    """y ≈ x·weight + bias, and what the training inputs were like."""

    weight: np.ndarray
    bias: np.ndarray
    y_mean: np.ndarray
    rank: int
    scaled_condition: float
    condition: float
    # x − x̄ in units of the deviations, and of those its directions that are kept, of variance 1, and left out.
    scaled: Callable[[np.ndarray], np.ndarray]
    whitening: np.ndarray
    left_out: np.ndarray

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x @ self.weight + self.bias


def fit(x: np.ndarray, y: np.ndarray) -> Fit:
    """Least squares without ridge, in the directions of the scaled inputs that are more than rounding."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    centred, sigma = x - x_mean, x.std(axis=0)
    varies = sigma > CONSTANT * np.abs(x).max(axis=0)
    left, singular, right = svd(centred[:, varies] / sigma[varies], full_matrices=False)
    kept = singular**2 > CUT * singular[0] ** 2
    rank = int(kept.sum())
    weight = np.zeros((x.shape[1], y.shape[1]))
    directions = right[kept].T / sigma[varies][:, None]
    weight[varies] = directions @ ((left[:, kept].T @ (y - y_mean)) / singular[kept][:, None])
    unscaled = svdvals(centred[:, varies])
    return Fit(
        weight=weight,
        bias=y_mean - x_mean @ weight,
        y_mean=y_mean,
        rank=rank,
        scaled_condition=float((singular[0] / singular[rank - 1]) ** 2),
        condition=float((unscaled[0] / unscaled[rank - 1]) ** 2),
        scaled=lambda x: (x - x_mean)[:, varies] / sigma[varies],
        whitening=right[kept].T / singular[kept] * len(x) ** 0.5,
        left_out=right[~kept].T,
    )


def folds(windows: int, count: int) -> list[np.ndarray]:
    """Contiguous blocks of windows; the last one is held out."""
    return [np.arange(k * windows // count, (k + 1) * windows // count) for k in range(count)]


def score(x: np.ndarray, y: np.ndarray, count: int) -> dict:
    """All that a block's report says about rows x → y, both [windows, rows of a window, features]."""
    cut = folds(len(x), count)
    rows = lambda array, windows: array[windows].reshape(-1, array.shape[-1])
    outside = lambda fold: np.concatenate([other for other in cut if other is not fold])
    train, held = outside(cut[-1]), cut[-1]
    x_train, y_train = rows(x, train).astype(np.float64), rows(y, train).astype(np.float64)
    x_held, y_held = rows(x, held).astype(np.float64), rows(y, held).astype(np.float64)
    fitted = fit(x_train, y_train)
    predicted = fitted.predict(x_held)
    features = r2_features(predicted, y_held)
    curve = r2_of_ranks(fitted, x_train, predicted, y_held)
    r2_lin = r2(predicted, y_held)
    by_fold = [
        r2(fit(rows(x, outside(fold)), rows(y, outside(fold))).predict(rows(x, fold)), rows(y, fold)) for fold in cut[:-1]
    ] + [r2_lin]
    return {
        "r2_lin": r2_lin,
        "r2_lin_scalar": 1 - squares(y_held - predicted) / squares(y_held - y_held.mean()),
        "r2_feature_median": float(np.median(features)),
        "r2_features": features.tolist(),
        "rank": fitted.rank,
        "scaled_condition": fitted.scaled_condition,
        "condition": fitted.condition,
        "prediction_participation": participation(predicted),
        "output_participation": participation(y_held),
        "input_participation": participation(x_train),
        "input_variance_ratio": variance_ratio(x_train),
        "effective_rank": effective_rank(curve, r2_lin),
        **ranks(fitted, x_train, curve, r2_lin),
        **support(fitted, x_train, x_held),
        "r2_rank": {str(k): curve[k - 1] for k in ranks_shown(len(curve))},
        "cosine": cosine(predicted, y_held),
        "rmse": float(np.sqrt(squares(y_held - predicted) / y_held.size)),
        "output_variance_ratio": variance_ratio(y_train),
        "sst_heldout": squares(y_held - y_held.mean(axis=0)),
        "r2_folds": by_fold,
        "r2_cv_mean": float(np.mean(by_fold)),
        "r2_cv_std": float(np.std(by_fold, ddof=1)),
        **learning([rows(x, fold) for fold in cut], [rows(y, fold) for fold in cut], fitted.rank),
    }


def learning(x: list[np.ndarray], y: list[np.ndarray], rank: int) -> dict:
    """R² on the last fold of fits on the first of the others, and where it tends with many rows."""
    training, curve = len(x) - 1, []
    for size, count in [(training // 4, 2), (training // 2, 1), (training, 1)]:
        runs = [slice(at * size, (at + 1) * size) for at in range(count)] if size else []
        lengths = [sum(map(len, x[run])) for run in runs]
        if runs and min(lengths) >= 1.5 * x[0].shape[1]:
            fits = [fit(np.concatenate(x[run]), np.concatenate(y[run])) for run in runs]
            curve.append({"rows": float(np.mean(lengths)), "r2": [r2(each.predict(x[-1]), y[-1]) for each in fits]})
    limit, needed, error = None, None, None
    if len(curve) == 3:
        excess = [rank / (point["rows"] - rank - 1) for point in curve]
        mean = [float(np.mean(point["r2"])) for point in curve]
        slope = [(mean[at + 1] - mean[at]) / (excess[at] - excess[at + 1]) for at in range(2)]
        limit, earlier = [mean[at + 1] + slope[at] * excess[at + 1] for at in range(2)][::-1]
        reach = excess[2] / (excess[1] - excess[2])
        spread = float(np.std(curve[0]["r2"], ddof=1)) / len(curve[0]["r2"]) ** 0.5 * float(np.hypot(reach, 1 + reach))
        error = float(np.hypot(spread, limit - earlier))
        limit = min(limit, 1.0)
        needed = float(np.ceil(1 + rank * (1 + slope[1] / 0.005))) if slope[1] > 0 else None
    return {
        "rows_per_input": sum(map(len, x[:-1])) / x[0].shape[1],
        "learning_curve": curve,
        "r2_limit": limit,
        "r2_limit_error": error,
        "rows_needed": needed,
    }


class Random:
    """SplitMix64 and what the measures draw from it."""

    BITS = 2**64 - 1

    def __init__(self, state: int):
        self.state = state

    @classmethod
    def stream(cls, seed: int, *path: int) -> "Random":
        state = cls(seed).bits()
        for part in path:
            state = cls(state ^ part).bits()
        return cls(state)

    def bits(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.BITS
        bits = self.state
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & self.BITS
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & self.BITS
        return bits ^ bits >> 31

    def permutation(self, length: int) -> np.ndarray:
        """Fisher and Yates, from the end."""
        order = list(range(length))
        for last in range(length - 1, 0, -1):
            chosen = self.bits() % (last + 1)
            order[last], order[chosen] = order[chosen], order[last]
        return np.array(order)


def control(x: np.ndarray, y: np.ndarray, count: int) -> dict:
    """What a control's report says about rows x → y, both [windows, rows of a window, features]."""
    cut = folds(len(x), count)
    flat = lambda array, windows: array[windows].reshape(-1, array.shape[-1]).astype(np.float64)
    train, held = np.concatenate(cut[:-1]), flat(y, cut[-1])
    predicted = fit(flat(x, train), flat(y, train)).predict(flat(x, cut[-1]))
    return {
        "r2_lin": r2(predicted, held),
        "r2_lin_scalar": 1 - squares(held - predicted) / squares(held - held.mean()),
        "r2_feature_median": float(np.median(r2_features(predicted, held))),
    }


def squares(array: np.ndarray) -> float:
    return float(np.sum(array * array))


def r2(predicted: np.ndarray, y: np.ndarray) -> float:
    """Over all features, each about its own mean."""
    return 1 - squares(y - predicted) / squares(y - y.mean(axis=0))


def r2_features(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    return 1 - ((y - predicted) ** 2).sum(axis=0) / ((y - y.mean(axis=0)) ** 2).sum(axis=0)


def r2_of_ranks(fitted: Fit, x_train: np.ndarray, predicted: np.ndarray, y: np.ndarray) -> list[float]:
    """R² of the map of rank k for every k: predictions projected on the first k directions of the training ones."""
    _, _, directions = svd(fitted.predict(x_train) - fitted.y_mean, full_matrices=False)
    along, projected, curve = (predicted - fitted.y_mean) @ directions.T, fitted.y_mean, []
    for k, direction in enumerate(directions):
        projected = projected + np.outer(along[:, k], direction)
        curve.append(r2(projected, y))
    return curve


def ranks_shown(d: int) -> list[int]:
    """The powers of two up to d, and d."""
    return sorted({2**power for power in range(d.bit_length()) if 2**power <= d} | {d})


def effective_rank(curve: list[float], r2_lin: float, share: float = 0.9) -> int | None:
    """The smallest rank that keeps this share of R²."""
    return next((k for k, value in enumerate(curve, 1) if value >= share * r2_lin), None) if r2_lin > 0 else None


def ranks(fitted: Fit, x_train: np.ndarray, curve: list[float], r2_lin: float) -> dict:
    """The rank that keeps 95 % of R², and two counts of directions of inputs and predictions."""
    found = {"effective_rank_95": effective_rank(curve, r2_lin, 0.95)}
    for name, rows in [("input", x_train), ("prediction", fitted.predict(x_train))]:
        eigenvalues = svdvals(rows - rows.mean(axis=0)) ** 2
        share = eigenvalues[eigenvalues > 0] / eigenvalues.sum()
        found[f"{name}_entropy_rank"] = float(np.exp(-(share * np.log(share)).sum()))
        found[f"{name}_stable_rank"] = float(1 / share.max())
    return found


def support(fitted: Fit, x_train: np.ndarray, x_held: np.ndarray) -> dict:
    """How far held-out rows lie from the training rows, and how much of their variance is in directions left out."""
    n, rank, scaled = len(x_train), fitted.rank, fitted.scaled(x_held)
    expected = rank * (n + 1) / (n - rank - 2)
    return {
        "heldout_distance": float(((scaled @ fitted.whitening) ** 2).sum(axis=1).mean() / expected),
        "heldout_outside": squares(scaled @ fitted.left_out) / squares(scaled),
    }


def participation(rows: np.ndarray) -> float:
    """(Σλ)² / Σλ² over the eigenvalues λ of the rows' covariance."""
    eigenvalues = svdvals(rows - rows.mean(axis=0)) ** 2
    return float(eigenvalues.sum() ** 2 / (eigenvalues**2).sum())


def variance_ratio(rows: np.ndarray) -> float:
    variance = rows.var(axis=0)
    return float(variance.max() / np.median(variance))


def cosine(predicted: np.ndarray, y: np.ndarray) -> float:
    lengths = np.linalg.norm(predicted, axis=1) * np.linalg.norm(y, axis=1)
    return float(np.mean((predicted * y).sum(axis=1) / lengths))


def layer(before: np.ndarray, after: np.ndarray, count: int) -> dict:
    """All that a layer's report says about the residual stream before and after it, both [windows, rows, features]."""
    cut = folds(len(before), count)
    flat = lambda array, windows=slice(None): array[windows].reshape(-1, array.shape[-1]).astype(np.float64)
    h, next_h = flat(before), flat(after)
    train, held = np.concatenate(cut[:-1]), cut[-1]
    fitted = fit(flat(before, train), flat(after, train))
    return {
        "linearity": linearity(h, next_h),
        "linearity_no_residual": linearity(h, next_h - h),
        "linearity_heldout": r2(fitted.predict(flat(before, held)), flat(after, held)),
        "update_norm_ratio": float(np.mean(np.linalg.norm(next_h - h, axis=1) / np.linalg.norm(h, axis=1))),
        "anisotropy": anisotropy(h),
        "intrinsic_dimension": intrinsic_dimension(flat(before, held)),
    }


def anisotropy(rows: np.ndarray) -> float:
    """Share of the variance along the first principal component."""
    eigenvalues = svdvals(rows - rows.mean(axis=0)) ** 2
    return float(eigenvalues[0] / eigenvalues.sum())


def intrinsic_dimension(rows: np.ndarray) -> float:
    """TwoNN by maximum likelihood over at most 1024 evenly spaced rows; rows equal to another one are left out."""
    chosen = min(len(rows), 1024)
    rows = rows[[at * len(rows) // chosen for at in range(chosen)]]
    distances, neighbours = cKDTree(rows).query(rows, k=3)
    lengths = ((rows - rows.mean(axis=0)) ** 2).sum(axis=1)
    unequal = distances[:, 1] ** 2 > 1e-10 * (lengths + lengths[neighbours[:, 1]])
    ratios = distances[unequal, 2] / distances[unequal, 1]
    return float((len(ratios) - 1) / np.log(ratios).sum())


def linearity(h: np.ndarray, target: np.ndarray) -> float:
    """1 − min over M of ‖h̃M − t̃‖², both centred and scaled to unit Frobenius norm, which is R² of all rows in-sample.

    Embeddings of few different tokens span few directions; in the others there is nothing but rounding, which the cut of
    the fit leaves out.
    """
    return r2(fit(h, target).predict(h), target)
