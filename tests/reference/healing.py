"""Replaced networks and layers, fine-tuned in the frozen model (docs/measures.md, section 4), by PyTorch."""

import copy
from collections.abc import Iterable

import numpy as np
import torch

import measures
from activations import Model, first
from affine import Affine, raw, standardised

LEARNING_RATE, WINDOWS, WINDOWS_IN_ORDER = 1e-4, 8, 4


def of_block(
    model: Model, block: int, windows: torch.Tensor, train: np.ndarray, held: np.ndarray, steps: int, probed: list[dict]
) -> dict:
    """How far perplexity rises after healing of the block's map, of the map as in the paper's code, and of the network; and of
    the probes by name, for each of `probed` before and after."""
    random = measures.Random.stream(0, int.from_bytes(b"heal"), block)
    rows = model.capture(windows[train])
    x, y = (rows[f"{name}.{block}"].reshape(-1, rows[f"{name}.{block}"].shape[-1]) for name in ("ffn_in", "ffn_out"))
    shuffled, in_order = list(in_random_order(train, steps, random)), [
        train[np.arange(step * WINDOWS_IN_ORDER, (step + 1) * WINDOWS_IN_ORDER) % len(train)] for step in range(steps)
    ]
    loss = model.perplexity(windows[held])

    def healed(replacement: torch.nn.Module | None, schedule: list, decay: float) -> tuple[float, float]:
        other = copied(model)
        if replacement is not None:
            other.blocks[block].mlp = replacement
        part = other.blocks[block].mlp.requires_grad_(True)
        before = other.perplexity(windows[held]) - loss
        train_on(other, part.parameters(), [windows[some] for some in schedule], decay, lambda ids: token_loss(other, ids))
        return before, other.perplexity(windows[held]) - loss

    trainings = {
        "linear": (standardised(x, y), shuffled, 0.01),
        "linear_adam": (raw(x, y), in_order, 0.0),
        "original": (None, shuffled, 0.01),
    }
    found = {name: healed(*training)[1] for name, training in trainings.items()}
    for name in probed[0]:
        both = [healed(probes[name], shuffled, 0.01) for probes in probed]
        found[name] = dict(zip(("delta_ppl_before", "delta_ppl"), map(list, zip(*both))))
    return found


def together(model: Model, windows: torch.Tensor, train: np.ndarray, held: np.ndarray, steps: int) -> dict:
    """How far perplexity rises with half of the networks, or layers, healed together, by what they learn."""
    found, before = {}, model.perplexity(windows[held])
    for name, is_layer in [("greedy_refitted", False), ("layers_linear", True)]:
        parts = half(model, windows[train], windows[held], is_layer)
        random = measures.Random.stream(0, int.from_bytes(b"togeth"))
        schedule = [windows[some] for some in in_random_order(train, steps, random)]
        found[name] = {}
        for learned in ("streams", "tokens"):
            other = copied(model)
            for at, part in parts.items():
                put(other, at, copy.deepcopy(part).requires_grad_(True), is_layer)
            losses = {
                "streams": lambda ids: stream_loss(other, model, ids, min(parts)),
                "tokens": lambda ids: token_loss(other, ids),
            }
            trained = [parameter for parameter in other.network.parameters() if parameter.requires_grad]
            train_on(other, trained, schedule, 0.01, losses[learned])
            found[name][learned] = other.perplexity(windows[held]) - before
    return found


def half(model: Model, train: torch.Tensor, held: torch.Tensor, is_layer: bool) -> dict[int, Affine]:
    """The first half of the greedy order of maps fitted on the model with the parts before them replaced."""
    names = ("hidden.{0}", "hidden.{1}") if is_layer else ("ffn_in.{0}", "ffn_out.{0}")
    parts, other = {}, copied(model)
    while len(parts) < (len(model.blocks) + 1) // 2:
        rows = other.capture(train)
        flat = lambda name, at: rows[name.format(at, at + 1)].reshape(-1, rows[name.format(at, at + 1)].shape[-1])
        left = [at for at in range(len(model.blocks)) if at not in parts]
        maps = {at: standardised(*(flat(name, at) for name in names)) for at in left}
        costs = {}
        for at in left:
            tried = copied(other)
            put(tried, at, maps[at], is_layer)
            costs[at] = tried.perplexity(held)
        chosen = min(left, key=costs.get)
        parts[chosen] = maps[chosen]
        put(other, chosen, maps[chosen], is_layer)
    return parts


def put(model: Model, at: int, part: Affine, is_layer: bool) -> None:
    if is_layer:
        # `capture` watches the network of every layer.
        part.mlp = torch.nn.Identity()
        model.blocks[at] = part
    else:
        model.blocks[at].mlp = part


def copied(model: Model) -> Model:
    """A copy with all weights frozen."""
    other = copy.copy(model)
    other.network = copy.deepcopy(model.network).requires_grad_(False)
    other.blocks, other.last = other.network.transformer.h, other.network.transformer.ln_f
    return other


def in_random_order(train: np.ndarray, steps: int, random: measures.Random) -> Iterable[np.ndarray]:
    """Windows of every step: all of them in random order before any comes again."""
    waiting = np.empty(0, dtype=int)
    for _ in range(steps):
        if len(waiting) < WINDOWS:
            waiting = np.concatenate([waiting, train[random.permutation(len(train))[::-1]]])
        yield waiting[:WINDOWS]
        waiting = waiting[WINDOWS:]


def train_on(model: Model, parameters, schedule: list[torch.Tensor], decay: float, loss) -> None:
    optimiser = torch.optim.AdamW(parameters, lr=LEARNING_RATE, weight_decay=decay)
    for ids in schedule:
        optimiser.zero_grad()
        loss(ids).backward()
        optimiser.step()


def token_loss(model: Model, ids: torch.Tensor) -> torch.Tensor:
    """Mean negative log-likelihood of the next tokens."""
    logits = model.network(ids)[0][:, :-1]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def stream_loss(model: Model, original: Model, ids: torch.Tensor, start: int) -> torch.Tensor:
    """Squared error of every row of the streams after `start` and later blocks, relative to its squared length, on average."""
    with torch.no_grad():
        expected = streams(original, ids)[start:]
    errors = [
        ((found - h).square().sum(dim=-1) / h.square().sum(dim=-1)).mean()
        for found, h in zip(streams(model, ids)[start:], expected)
    ]
    return torch.stack(errors).mean()


def streams(model: Model, ids: torch.Tensor) -> list[torch.Tensor]:
    """The residual stream after every block."""
    found = []
    hooks = [block.register_forward_hook(lambda _, args, output: found.append(first(output))) for block in model.blocks]
    model.network(ids)
    for hook in hooks:
        hook.remove()
    return found
