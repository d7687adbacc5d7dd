"""Writes golden.safetensors and expected.json of the models in tests/fixtures.

usage: make_references.py [NAME ...]

Activations are those of `transformers` in float32; all that follows from them is computed in float64 from the rows.
"""

import sys
from pathlib import Path

import fixtures  # before NumPy, which reads the number of threads from it

import numpy as np
import safetensors.numpy
import torch
import transformers

import canonical
import degrees
import measures
import orders
import properties
from activations import Model

ROWS, SEQ_LEN, FOLDS = 15_000, 128, 5
# Enough for the narrow models of `make_families.py`.
FAMILY_ROWS = 5_120
GOLDEN = (2, 32)


def main() -> None:
    fixtures.prepare()
    for name in sys.argv[1:] or fixtures.TEXTS:
        folder, text = fixtures.FOLDER / name, fixtures.FOLDER / f"texts/{fixtures.TEXTS[name]}.txt"
        tensors = golden(folder, text)
        generator = f"transformers {transformers.__version__}, torch {torch.__version__}"
        safetensors.numpy.save_file(tensors, folder / "golden.safetensors", {"version": "1", "generator": generator})
        fixtures.write_json(folder / "expected.json", expected(folder, text))
    files = [fixtures.FOLDER / name / file for name in fixtures.TEXTS for file in ["golden.safetensors", "expected.json"]]
    fixtures.record("make_references.py", files)


def golden(folder: Path, text: Path) -> dict[str, np.ndarray]:
    """Two short windows from the beginning of the text, stage by stage."""
    model = Model(folder)
    windows, seq_len = GOLDEN
    ids = model.ids(text.read_bytes())[: windows * seq_len].reshape(windows, seq_len)
    return {"input_ids": ids.numpy(), **model.capture(ids)}


def expected(folder: Path, text: Path) -> dict:
    """What a measurement of the first rows of the text has to report."""
    model = Model(folder)
    ids = model.ids(text.read_bytes())
    rows = FAMILY_ROWS if folder.name in fixtures.FAMILIES else ROWS
    windows = ids[: min(rows, len(ids)) // SEQ_LEN * SEQ_LEN].reshape(-1, SEQ_LEN)
    rows = model.capture(windows)
    cut = measures.folds(len(windows), FOLDS)
    train, held = np.concatenate(cut[:-1]), cut[-1]
    count = range(len(model.blocks))
    blocks = [{"block": block, **measures.score(rows[f"ffn_in.{block}"], rows[f"ffn_out.{block}"], FOLDS)} for block in count]
    for block in blocks if model.can_shuffle() else []:
        x = rows[f"ffn_in.{block['block']}"]
        block["shuffled"] = measures.control(x, model.shuffled(block["block"], x), FOLDS)
    for block in blocks:
        x, y = (rows[f"{name}.{block['block']}"] for name in ("ffn_in", "ffn_out"))
        block["degrees"] = degrees.score(x, y, train, held)
        block["canonical"] = canonical.score(*(array[train].reshape(-1, array.shape[-1]) for array in (x, y)))
    layers = [{"layer": at, **measures.layer(rows[f"hidden.{at}"], rows[f"hidden.{at + 1}"], FOLDS)} for at in count]
    classes = properties.labels(windows.numpy(), lambda ids: model.tokenizer.decode(ids, skip_special_tokens=False))
    for layer in layers:
        layer["properties"] = properties.score(rows[f"hidden.{layer['layer'] + 1}"], classes, train, held)
    result = {
        "model": folder.name,
        "windows": len(windows),
        "seq_len": SEQ_LEN,
        "rows": windows.numel(),
        "train_rows": len(train) * SEQ_LEN,
        "heldout_rows": len(held) * SEQ_LEN,
        "folds": FOLDS,
        "heldout_fold": FOLDS - 1,
        "skip_positions": 0,
        "dtype": "float32",
        "blocks": blocks,
        "layers": layers,
    }
    if model.causal:
        result["ppl"] = model.perplexity(windows[held])
        for block in blocks:
            block["delta_ppl"] = swaps(model, rows, block["block"], windows, train, held, result["ppl"])
        if folder.name not in fixtures.FAMILIES:
            alone = [block["delta_ppl"]["linear"] for block in blocks]
            result["orders"] = orders.orders(model, windows, train, held, alone)
    return result


def swaps(model: Model, rows: dict, block: int, windows: torch.Tensor, train: np.ndarray, held: np.ndarray, ppl: float) -> dict:
    """How far the held-out perplexity rises with the block's network replaced by its linear map, its mean, nothing."""
    flat = lambda name: rows[f"{name}.{block}"][train].reshape(-1, rows[f"{name}.{block}"].shape[-1])
    fitted = measures.fit(flat("ffn_in"), flat("ffn_out"))
    constant = lambda value: lambda x: np.broadcast_to(value, (*x.shape[:-1], len(value)))
    replacements = {
        "linear": fitted.predict,
        "mean": constant(fitted.y_mean),
        "zero": constant(np.zeros_like(fitted.y_mean)),
    }
    found = {}
    for name, replacement in replacements.items():
        with model.replaced(block, replacement):
            found[name] = model.perplexity(windows[held]) - ppl
    return found


if __name__ == "__main__":
    main()
