"""Makes the planted rows of tests/fixtures/planted and their true answers.

Rows whose correlation matrix has a given condition number, up to the square root of what double precision holds, or a
duplicated column: with columns whose means are up to a thousand times their spread, scales over four decades, and eight
massive entries. Answers come from sums of exact integers and 60 decimal digits, not from floating-point rows.
"""

import fixtures  # before NumPy, which reads the number of threads from it

import mpmath
import numpy as np
import safetensors.numpy
from mpmath import mpf

import measures

SEED = 20
ROWS, D_IN, D_OUT, WINDOW, FOLDS = 2048, 64, 40, 32, 5
MASSIVE = 8
CONDITIONS = {"k2": 1e2, "k4": 1e4, "k6": 1e6, "k8": 1e8, "null": 1e4}
DIGITS = 60


def main() -> None:
    folder = fixtures.FOLDER / "planted"
    folder.mkdir(exist_ok=True)
    expected = {}
    for at, (name, condition) in enumerate(CONDITIONS.items()):
        rows = planted(np.random.default_rng([SEED, at]), condition, duplicate=name == "null")
        safetensors.numpy.save_file(rows, folder / f"{name}.safetensors")
        expected[name] = answer(rows["x"], rows["y"])
    fixtures.write_json(folder / "expected.json", expected)
    fixtures.record("make_planted.py", list(folder.iterdir()), seed=SEED)


def planted(random: np.random.Generator, condition: float, duplicate: bool) -> dict[str, np.ndarray]:
    """x with about the condition given, and y that reads every direction of x, the faintest one too, and noise."""
    white = random.standard_normal((ROWS, D_IN))
    for column in range(MASSIVE):
        white[random.integers(ROWS), column] *= 30
    y = white @ random.standard_normal((D_IN, D_OUT)) / np.sqrt(D_IN) + 0.25 * random.standard_normal((ROWS, D_OUT))
    # The columns with a massive entry stay by themselves. The others are mixed: their faint directions are differences
    # between columns that are nearly alike.
    mixed = D_IN - MASSIVE
    rotation = np.linalg.qr(random.standard_normal((mixed, mixed)))[0]
    x = np.hstack([white[:, :MASSIVE], white[:, MASSIVE:] * np.geomspace(1, condition**-0.5, mixed) @ rotation])
    x /= x.std(axis=0)
    x += 10 ** random.uniform(-1, 3, D_IN) * random.choice([-1, 1], D_IN)
    x *= 10 ** random.uniform(-2, 2, D_IN)
    if duplicate:
        x[:, -1] = x[:, 0]
    return {"x": x.astype(np.float32), "y": (y + random.standard_normal(D_OUT)).astype(np.float32)}


def answer(x: np.ndarray, y: np.ndarray) -> dict:
    """What a fit of x → y has to report."""
    mpmath.mp.dps = DIGITS
    d_in, d_out = x.shape[1], y.shape[1]
    cut = measures.folds(len(x) // WINDOW, FOLDS)
    first = cut[-1][0] * WINDOW
    train, held = Moments(x[:first], y[:first]), Moments(x[first:], y[first:])
    deviation = [mpmath.sqrt(train.xx[j, j]) for j in range(d_in)]
    correlation = mpmath.matrix(d_in, d_in)
    for i in range(d_in):
        for j in range(d_in):
            correlation[i, j] = train.xx[i, j] / (deviation[i] * deviation[j])
    values, vectors = mpmath.eigsy(correlation)
    largest = max(values)
    kept = [k for k in range(d_in) if values[k] > mpf(measures.CUT) * largest]
    # W = D·Q·Λ⁻¹·Qᵀ·D·Cov(x, y) over the eigenvalues kept.
    scaled = mpmath.matrix(d_in, d_out)
    for i in range(d_in):
        for j in range(d_out):
            scaled[i, j] = train.xy[i, j] / deviation[i]
    basis = mpmath.matrix(d_in, len(kept))
    for i in range(d_in):
        for at, k in enumerate(kept):
            basis[i, at] = vectors[i, k]
    weight = basis * mpmath.diag([1 / values[k] for k in kept]) * (basis.T * scaled)
    for i in range(d_in):
        for j in range(d_out):
            weight[i, j] /= deviation[i]
    # Held-out errors of each feature: those about the held-out means, and the distance of the means themselves.
    through, read = held.xx * weight, weight.T * (held.x_mean - train.x_mean)
    errors, totals = [], []
    for j in range(d_out):
        about = held.yy[j] - 2 * dot(weight, held.xy, j) + dot(weight, through, j)
        offset = held.y_mean[j] - train.y_mean[j] - read[j]
        errors.append(about + held.rows * offset**2)
        totals.append(held.yy[j])
    features = sorted(1 - error / total for error, total in zip(errors, totals))
    grand = sum(held.y_mean) / d_out
    scalar_total = sum(totals) + held.rows * sum((mean - grand) ** 2 for mean in held.y_mean)
    return {
        "rows": len(x),
        "window": WINDOW,
        "folds": FOLDS,
        "rank": len(kept),
        "scaled_condition": float(largest / min(values[k] for k in kept)),
        "r2_lin": float(1 - sum(errors) / sum(totals)),
        "r2_feature_median": float((features[(d_out - 1) // 2] + features[d_out // 2]) / 2),
        "r2_lin_scalar": float(1 - sum(errors) / scalar_total),
    }


def dot(a: mpmath.matrix, b: mpmath.matrix, column: int):
    return mpmath.fsum(a[i, column] * b[i, column] for i in range(a.rows))


class Moments:
    """Means and centred sums of squares and products, without rounding but for the last division.

    A float32 is a whole number of 2⁻¹⁴⁹; numpy sums Python's integers exactly.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray):
        self.rows = len(x)
        x, y = whole(x), whole(y)
        x_sum, y_sum = x.sum(axis=0), y.sum(axis=0)
        unit = mpf(2) ** -UNIT
        self.x_mean = mpmath.matrix([mpf(each) * unit / self.rows for each in x_sum])
        self.y_mean = mpmath.matrix([mpf(each) * unit / self.rows for each in y_sum])
        centred = lambda products, sums: (products * self.rows - sums, unit**2 / self.rows)
        self.xx = scaled_matrix(*centred(x.T @ x, np.outer(x_sum, x_sum)))
        self.xy = scaled_matrix(*centred(x.T @ y, np.outer(x_sum, y_sum)))
        yy, scale = centred((y * y).sum(axis=0), y_sum * y_sum)
        self.yy = [mpf(each) * scale for each in yy]


UNIT = 149


def whole(rows: np.ndarray) -> np.ndarray:
    """Every value in units of 2⁻¹⁴⁹, as Python's integers."""
    mantissa, exponent = np.frexp(rows.astype(np.float64))
    digits = (mantissa * 2.0**24).astype(np.int64)
    shift = exponent.astype(np.int64) - 24 + UNIT
    values = [int(digit) << int(by) if by >= 0 else int(digit) >> -int(by) for digit, by in zip(digits.flat, shift.flat)]
    exact = np.empty(rows.size, dtype=object)
    exact[:] = values
    return exact.reshape(rows.shape)


def scaled_matrix(numbers: np.ndarray, scale) -> mpmath.matrix:
    result = mpmath.matrix(*numbers.shape)
    for i in range(result.rows):
        for j in range(result.cols):
            result[i, j] = mpf(numbers[i, j]) * scale
    return result


if __name__ == "__main__":
    main()
