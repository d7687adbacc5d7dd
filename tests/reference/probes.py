"""Probes of what the affine map misses (docs/measures.md, section 5), trained by PyTorch; the readout is solved in float64."""

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import gelu

import measures
from affine import Affine, standardised

BATCH, CHECK_STEPS, PATIENCE, PROGRESS = 256, 100, 5, 1e-3


@dataclass
class Kind:
    """What every layer adds up, the number of products, and what is around them."""

    layers: list[str]
    rank: int = 16
    frozen_map: bool = False
    starts_at_map: bool = False
    gated: bool = False


KINDS = {
    "poly": Kind(["products"], frozen_map=True),
    "dense2x": Kind(["linear", "linear"]),
    "poly2x": Kind(["linear products", "linear products"]),
    "poly_rank64": Kind(["products"], rank=64, frozen_map=True),
    "poly_joint": Kind(["linear products"], starts_at_map=True),
    "gate": Kind(["products"], frozen_map=True, gated=True),
}


class Layer(torch.nn.Module):
    """W·x + C·(g(A·x) ⊙ (B·x)) + bias, or one of the terms."""

    def __init__(self, terms: str, kind: Kind, inputs: int, outputs: int):
        super().__init__()
        uniform = lambda *shape, bound: torch.nn.Parameter((2 * torch.rand(shape) - 1) * bound**-0.5)
        self.weight = uniform(outputs, inputs, bound=inputs) if "linear" in terms else None
        self.has_products, self.gated = "products" in terms, kind.gated
        if self.has_products:
            self.a, self.b = (uniform(kind.rank, inputs, bound=inputs) for _ in range(2))
            self.c = uniform(outputs, kind.rank, bound=kind.rank)
        self.bias = uniform(outputs, bound=inputs) if "linear" in terms else torch.nn.Parameter(torch.zeros(outputs))

    def products(self, x: torch.Tensor) -> torch.Tensor:
        left = x @ self.a.T
        return (gelu(left) if self.gated else left) * (x @ self.b.T)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        linear = x @ self.weight.T if self.weight is not None else 0
        return linear + (self.products(x) @ self.c.T if self.has_products else 0) + self.bias


class Probe(torch.nn.Module):
    """Layers with GELU between them."""

    def __init__(self, kind: Kind, inputs: int, outputs: int):
        super().__init__()
        sizes = [inputs] * len(kind.layers) + [outputs]
        self.layers = torch.nn.ModuleList(
            Layer(terms, kind, inputs, outputs) for terms, inputs, outputs in zip(kind.layers, sizes, sizes[1:])
        )

    def last_input(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:-1]:
            x = gelu(layer(x))
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers[-1](self.last_input(x))

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """What the last layer is linear in."""
        x, last = self.last_input(x), self.layers[-1]
        parts = [x] if last.weight is not None else []
        return torch.cat([*parts, last.products(x)] if last.has_products else parts, dim=-1)


class WithReadout(torch.nn.Module):
    """A trained probe in place of a network: the readout is in place of all that its last layer does to the features."""

    def __init__(self, probe: Probe, readout: Affine, linear: Affine, frozen_map: bool):
        super().__init__()
        self.probe, self.readout, self.linear, self.frozen_map = probe, readout, linear, frozen_map

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear.scaled(x)
        read = self.readout(self.probe.features(x))
        return read + self.linear.of_scaled(x) if self.frozen_map else read


def scores(x: np.ndarray, y: np.ndarray, train: np.ndarray, held: np.ndarray, most_steps: int, seed: int) -> dict:
    """Held-out scores of every probe of rows x → y, both [windows, rows of a window, features], and the probe itself."""
    found = {}
    for at, (name, kind) in enumerate(KINDS.items()):
        torch.manual_seed(100 * seed + at)
        found[name] = scored(kind, x, y, train, held, most_steps)
    return found


def scored(
    kind: Kind, x: np.ndarray, y: np.ndarray, train: np.ndarray, held: np.ndarray, most_steps: int
) -> tuple[dict, WithReadout]:
    flat = lambda array, windows: array[windows].reshape(-1, array.shape[-1]).astype(np.float64)
    fitted = measures.fit(flat(x, train), flat(y, train))
    validation = max(1, len(train) // 10)
    learn, validate = train[:-validation], train[-validation:]
    # What the probe adds to; without a frozen map, training alone leaves the mean of y out.
    base = lambda windows: fitted.predict(flat(x, windows)) if kind.frozen_map else np.zeros(y.shape[-1])
    left = lambda windows: flat(y, windows) - base(windows)
    mean = 0 if kind.frozen_map else fitted.y_mean
    scale = float(np.sqrt(np.mean((left(train) - mean) ** 2)))
    inputs = lambda windows: torch.tensor(fitted.scaled(flat(x, windows)), dtype=torch.float32)
    target = lambda windows: torch.tensor((left(windows) - mean) / scale, dtype=torch.float32)
    probe = Probe(kind, x.shape[-1], y.shape[-1])
    if kind.starts_at_map:
        start = measures.fit(inputs(train).numpy(), target(train).numpy())
        with torch.no_grad():
            probe.layers[0].weight.copy_(torch.tensor(start.weight.T))
            probe.layers[0].bias.zero_()
    best = trained(probe, (inputs(learn), target(learn)), (inputs(validate), target(validate)), most_steps)
    with torch.no_grad():
        of_train, of_held = (best.features(inputs(windows)).numpy() for windows in (train, held))
    predicted = base(held) + measures.fit(of_train, left(train)).predict(of_held)
    readout, linear = standardised(of_train, left(train)), standardised(flat(x, train), flat(y, train))
    return score(predicted, flat(y, held)), WithReadout(best, readout, linear, kind.frozen_map)


def score(predicted: np.ndarray, y: np.ndarray) -> dict:
    return {
        "r2": measures.r2(predicted, y),
        "cosine": measures.cosine(predicted, y),
        "rmse": float(np.sqrt(measures.squares(y - predicted) / y.size)),
    }


def trained(probe: Probe, learn: tuple, validate: tuple, most_steps: int) -> Probe:
    """The probe with the least error on the validation rows."""
    optimiser = torch.optim.Adam(probe.parameters(), lr=1e-3)
    half_square = lambda rows: 0.5 * (probe(rows[0]) - rows[1]).square().sum(dim=1).mean()
    with torch.no_grad():
        least = mark = half_square(validate).item()
    best, stale, order = copy.deepcopy(probe), 0, torch.empty(0, dtype=torch.long)
    for step in range(1, most_steps + 1):
        if len(order) < BATCH:
            order = torch.randperm(len(learn[0]))
        batch, order = order[:BATCH], order[BATCH:]
        optimiser.zero_grad()
        half_square((learn[0][batch], learn[1][batch])).backward()
        optimiser.step()
        if step % CHECK_STEPS == 0:
            with torch.no_grad():
                error = half_square(validate).item()
            if error < least:
                least, best = error, copy.deepcopy(probe)
            mark, stale = (error, 0) if error < (1 - PROGRESS) * mark else (mark, stale + 1)
            if stale == PATIENCE:
                break
    return best
