"""What polynomials of the inputs explain (docs/measures.md, section 5), in float64 by singular value decomposition."""

import numpy as np
from scipy.linalg import svd

import measures

HIGHEST, FEW, ROWS_PER_FEATURE, GOLDEN = 4, 1024, 4, 0.618033988749895
STRENGTHS = 10.0 ** (np.arange(-40, 9) / 4)


def score(x: np.ndarray, y: np.ndarray, train: np.ndarray, held: np.ndarray) -> dict:
    """R² by degree and number of features of rows x → y, both [windows, rows of a window, features]."""
    rows = lambda array, windows: array[windows].reshape(-1, array.shape[-1]).astype(np.float64)
    x_train, x_held = rows(x, train), rows(x, held)
    scaled = measures.fit(x_train, rows(y, train)).scaled
    x_train, x_held = scaled(x_train), scaled(x_held)
    width = x.shape[-1]
    largest = min(max(FEW, 2 * width), len(x_train) // ROWS_PER_FEATURE)
    counts = [-(-width // 2)]
    while width + 2 * counts[-1] <= largest:
        counts.append(2 * counts[-1])
    places = (np.modf(np.arange(1, counts[-1] + 1) * GOLDEN)[0] * len(x_train)).astype(int)
    landmarks = x_train[places]
    products = landmarks @ landmarks.T
    scale = np.sqrt(np.mean(products[~np.eye(len(places), dtype=bool)] ** 2))
    found = {}
    for degree in range(1, HIGHEST + 1):
        powers = [(1 + inputs @ landmarks.T / scale) ** degree for inputs in (x_train, x_held)]
        found[str(degree)] = []
        for count in counts if degree > 1 else [0]:
            features = [np.hstack([inputs, power[:, :count]]) for inputs, power in zip((x_train, x_held), powers)]
            predicted = ridge(*features, rows(y, train))
            found[str(degree)].append({"features": width + count, "r2": measures.r2(predicted, rows(y, held))})
    return found


def ridge(train: np.ndarray, held: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predictions for `held` by ridge regression, its strength by generalised cross-validation."""
    mean, sigma, rows = train.mean(axis=0), train.std(axis=0), len(train)
    left, singular, right = svd((train - mean) / sigma, full_matrices=False)
    kept = singular**2 > measures.CUT * singular[0] ** 2
    left, values, right = left[:, kept], singular[kept] ** 2 / rows, right[kept]
    centred = y - y.mean(axis=0)
    coordinates = left.T @ centred
    outside = (centred**2).sum() - (coordinates**2).sum()

    def criterion(strength: float) -> float:
        shrunk = strength / (values + strength)
        error = (outside + ((shrunk[:, None] * coordinates) ** 2).sum()) / rows
        return error / (1 - (1 + (1 - shrunk).sum()) / rows) ** 2

    strength = min(STRENGTHS, key=criterion)
    shrunk = np.sqrt(values) / (values + strength) / np.sqrt(rows)
    weight = right.T @ (shrunk[:, None] * coordinates)
    return (held - mean) / sigma @ weight + y.mean(axis=0)
