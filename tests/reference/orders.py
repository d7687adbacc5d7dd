"""Blocks or layers replaced one after another, and the held-out perplexity after every step.

Every step runs the whole model anew for every candidate; nothing is shared between candidates or steps.
"""

from contextlib import ExitStack

import numpy as np
import torch

import measures
from activations import Model


def orders(model: Model, windows: torch.Tensor, train: np.ndarray, held: np.ndarray, alone: list[float]) -> dict:
    """All orders by name; `alone` is what each block's linear map costs by itself."""
    count = len(model.blocks)
    train, held = windows[train], windows[held]
    maps = fitted(model, train, {}, range(count), "ffn_in.{0}", "ffn_out.{0}")
    by_cost, parts = [], {}
    for block in sorted(range(count), key=lambda block: alone[block]):
        parts[block] = maps[block]
        by_cost.append({"block": block, "ppl": perplexity(model, held, parts, model.replaced)})
    of_networks = lambda parts, left: fitted(model, train, parts, left, "ffn_in.{0}", "ffn_out.{0}")
    of_layers = lambda parts, left: fitted(model, train, parts, left, "hidden.{0}", "hidden.{1}", model.layer_replaced)
    return {
        "by_cost": by_cost,
        "greedy": greedy(model, held, lambda parts, left: maps, model.replaced),
        "greedy_refitted": greedy(model, held, of_networks, model.replaced),
        "layers_removed": greedy(model, held, lambda parts, left: {at: lambda h: h for at in left}, model.layer_replaced),
        "layers_linear": greedy(model, held, of_layers, model.layer_replaced),
    }


def fitted(model: Model, train: torch.Tensor, parts: dict, wanted, x: str, y: str, replaced=None) -> dict:
    """Affine maps of the wanted blocks, fitted on the activations of the model with `parts` replaced."""
    with replacing(parts, replaced or model.replaced):
        rows = model.capture(train)
    flat = lambda name, at: rows[name.format(at, at + 1)].reshape(-1, rows[name.format(at, at + 1)].shape[-1])
    return {at: measures.fit(flat(x, at), flat(y, at)).predict for at in wanted}


def greedy(model: Model, held: torch.Tensor, candidates, replaced) -> list[dict]:
    """At every step the candidate after which perplexity is lowest; of equal ones the first."""
    parts, left, steps = {}, list(range(len(model.blocks))), []
    while left:
        maps = candidates(parts, left)
        found = {at: perplexity(model, held, {**parts, at: maps[at]}, replaced) for at in left}
        chosen = min(left, key=found.get)
        parts[chosen] = maps[chosen]
        left.remove(chosen)
        steps.append({"block": chosen, "ppl": found[chosen]})
    return steps


def perplexity(model: Model, held: torch.Tensor, parts: dict, replaced) -> float:
    with replacing(parts, replaced):
        return model.perplexity(held)


def replacing(parts: dict, replaced) -> ExitStack:
    """All parts replaced at once, until the end of a `with`."""
    with ExitStack() as stack:
        for at, by in parts.items():
            stack.enter_context(replaced(at, by))
        return stack.pop_all()
