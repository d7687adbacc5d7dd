"""The measurement as a script does it today: `transformers` with hooks, and float64 least squares per block.

usage: paper.py LAYERS WIDTH HEADS ROWS SEQ_LEN OUT.json

A GPT-2-shaped model with random weights captures what enters and leaves every feed-forward network. The fits are done
in two ways: by `lstsq` on the rows themselves (LAPACK's gelsd, as the paper), and by `eigh` of the second moments.
Where torch sees a GPU, forward pass, moments and fits there are timed as well, and what precedes them: imports, and the
model on the GPU. Writes a list of peers.
"""

import json
import sys
import time

STARTED = time.perf_counter()

import numpy
import scipy.linalg
import torch
import transformers

IMPORTS = time.perf_counter() - STARTED
BATCH_WINDOWS = 8
FOLDS = 5
TAU = 1e-10


def main() -> None:
    layers, width, heads, rows, seq_len = (int(value) for value in sys.argv[1:6])
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=layers, n_embd=width, n_head=heads)
    model = transformers.GPT2Model(config).eval()
    windows = torch.randint(config.vocab_size, (rows // seq_len, seq_len))
    peers = [on_cpu(model, windows)]
    if torch.cuda.is_available():
        peers.append(on_gpu(model, windows))
    with open(sys.argv[6], "w", encoding="utf-8") as file:
        json.dump(peers, file)


def on_cpu(model, windows) -> dict:
    forward, captured = timed(lambda: capture(model, windows, "cpu"))
    train = captured[0][0].shape[0] * (FOLDS - 1) // FOLDS
    gelsd, scores = timed(lambda: [by_lstsq(x, y, train) for x, y in captured])
    moments, others = timed(lambda: [by_eigh(x, y, train) for x, y in captured])
    difference = max(abs(a - b) for a, b in zip(scores, others))
    figures = {
        "seconds of the forward pass with hooks": forward,
        "seconds of float64 lstsq (gelsd)": gelsd,
        "seconds of float64 moments and eigh": moments,
        "seconds in all, by lstsq": forward + gelsd,
        "seconds in all, by moments": forward + moments,
        "largest difference of R2 between the two": difference,
    }
    return peer(f"processor, {torch.get_num_threads()} threads", windows, figures)


def on_gpu(model, windows) -> dict:
    warm_up, model = timed(lambda: warm(model, windows[:BATCH_WINDOWS]))
    forward, _ = timed(lambda: capture(model, windows, "cuda", keep=False))
    train = len(windows) * (FOLDS - 1) // FOLDS
    moments, sums = timed(lambda: [gpu_moments(model, part) for part in (windows[:train], windows[train:])])
    fits, scores = timed(lambda: [gpu_r2(*both).item() for both in zip(*sums)])
    figures = {
        "seconds of imports": IMPORTS,
        "seconds to take the model to the GPU and warm up": warm_up,
        "seconds of the forward pass": forward,
        "seconds of forward pass and float64 moments": moments,
        "seconds of eigh and R2, on the GPU": fits,
        "seconds in all": moments + fits,
        "mean R2": sum(scores) / len(scores),
    }
    return peer(torch.cuda.get_device_name(), windows, figures)


def warm(model, windows):
    """The model on the GPU, after one batch through everything that is timed."""
    model = model.to("cuda")
    capture(model, windows, "cuda")
    gpu_r2(*[gpu_moments(model, windows)[0]] * 2)
    return model


def peer(device: str, windows, figures: dict) -> dict:
    return {
        "name": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "what": f"the same shape, {windows.numel()} rows",
        "device": device,
        "figures": list(figures.items()),
    }


def timed(work):
    synchronise()
    start = time.perf_counter()
    result = work()
    synchronise()
    return time.perf_counter() - start, result


def synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def capture(model, windows, device: str, keep: bool = True, take=None) -> list:
    """x and y of every feed-forward network, float32, one pair per block."""
    rows = [([], []) for _ in model.h]

    def hook(index):
        def observe(_module, inputs, output):
            x, y = inputs[0].flatten(0, 1), output.flatten(0, 1)
            if take:
                take(index, x, y)
            elif keep:
                rows[index][0].append(x.cpu())
                rows[index][1].append(y.cpu())

        return observe

    handles = [block.mlp.register_forward_hook(hook(index)) for index, block in enumerate(model.h)]
    with torch.no_grad():
        for batch in windows.split(BATCH_WINDOWS):
            model(batch.to(device), use_cache=False)
    for handle in handles:
        handle.remove()
    return [(torch.cat(x).numpy(), torch.cat(y).numpy()) for x, y in rows] if keep and not take else []


def gpu_moments(model, windows) -> list:
    sums = [None] * len(model.h)

    def take(index, x, y):
        both = torch.cat([x, y, torch.ones_like(x[:, :1])], 1).double()
        product = both.T @ both
        sums[index] = product if sums[index] is None else sums[index] + product

    capture(model, windows, "cuda", take=take)
    return sums


def gpu_r2(train, test):
    """R2 on the rows of `test` of the map fitted to those of `train`, both sums of gpu_moments."""
    mean = train[-1, :-1] / train[-1, -1]
    about_mean = centred(train, mean)
    width = len(mean) // 2
    deviation = about_mean.diagonal()[:width].sqrt()
    values, vectors = torch.linalg.eigh(about_mean[:width, :width] / deviation / deviation[:, None])
    # Without a choice by index: that would wait for the GPU.
    inverse = torch.where(values > TAU * values[-1], 1 / values, 0)
    cross = about_mean[:width, width:] / deviation[:, None]
    weight = (vectors @ (inverse[:, None] * (vectors.T @ cross))) / deviation[:, None]
    held_out = centred(test, mean)
    xx, xy, yy = held_out[:width, :width], held_out[:width, width:], held_out[width:, width:]
    errors = yy.trace() - 2 * (weight * xy).sum() + (weight * (xx @ weight)).sum()
    return 1 - errors / centred(test, test[-1, :-1] / test[-1, -1])[width:, width:].trace()


def centred(sums, mean):
    """Second moments about `mean` from the sums of a matrix whose last column is 1."""
    first, rows = sums[-1, :-1], sums[-1, -1]
    return sums[:-1, :-1] - torch.outer(first, mean) - torch.outer(mean, first) + rows * torch.outer(mean, mean)


def by_lstsq(x, y, train: int) -> float:
    x, y = x.astype(numpy.float64), y.astype(numpy.float64)
    with_one = numpy.hstack([x, numpy.ones((len(x), 1))])
    weight = scipy.linalg.lstsq(with_one[:train], y[:train], lapack_driver="gelsd")[0]
    return r2(with_one[train:] @ weight, y[train:])


def by_eigh(x, y, train: int) -> float:
    x, y = x.astype(numpy.float64), y.astype(numpy.float64)
    mean_x, mean_y = x[:train].mean(0), y[:train].mean(0)
    a, b = x[:train] - mean_x, y[:train] - mean_y
    deviation = numpy.sqrt((a * a).mean(0))
    a /= deviation
    values, vectors = numpy.linalg.eigh(a.T @ a)
    kept = values > TAU * values[-1]
    basis = vectors[:, kept]
    weight = basis @ ((basis.T @ (a.T @ b)) / values[kept, None])
    return r2((x[train:] - mean_x) / deviation @ weight + mean_y, y[train:])


def r2(predicted, y) -> float:
    return 1 - ((y - predicted) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()


if __name__ == "__main__":
    main()
