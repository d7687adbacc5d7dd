"""Probes of what the affine map misses (docs/measures.md, section 5), trained by PyTorch; the readout is solved in float64."""

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import gelu

import measures

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
        return torch.cat([*parts, last.products(x)] if last.has_products else parts, dim=1)


def scores(x: np.ndarray, y: np.ndarray, train: np.ndarray, held: np.ndarray, most_steps: int, seed: int) -> dict:
    """Held-out R² of every probe of rows x → y, both [windows, rows of a window, features]."""
    flat = lambda array, windows: array[windows].reshape(-1, array.shape[-1]).astype(np.float64)
    fitted = measures.fit(flat(x, train), flat(y, train))
    validation = max(1, len(train) // 10)
    learn, validate = train[:-validation], train[-validation:]
    found = {}
    for at, (name, kind) in enumerate(KINDS.items()):
        torch.manual_seed(100 * seed + at)
        base = fitted.predict if kind.frozen_map else lambda x: np.broadcast_to(fitted.y_mean, (len(x), len(fitted.y_mean)))
        scale = float(np.sqrt(np.mean((flat(y, train) - base(flat(x, train))) ** 2)))
        inputs = lambda windows: torch.tensor(fitted.scaled(flat(x, windows)), dtype=torch.float32)
        target = lambda windows: torch.tensor((flat(y, windows) - base(flat(x, windows))) / scale, dtype=torch.float32)
        probe = Probe(kind, x.shape[-1], y.shape[-1])
        if kind.starts_at_map:
            start = measures.fit(inputs(train).numpy(), target(train).numpy())
            with torch.no_grad():
                probe.layers[0].weight.copy_(torch.tensor(start.weight.T))
                probe.layers[0].bias.zero_()
        best = trained(probe, (inputs(learn), target(learn)), (inputs(validate), target(validate)), most_steps)
        with torch.no_grad():
            of_train, of_held = (best.features(inputs(windows)).numpy() for windows in (train, held))
        readout = measures.fit(of_train, flat(y, train) - base(flat(x, train)))
        found[name] = measures.r2(base(flat(x, held)) + readout.predict(of_held), flat(y, held))
    return found


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
