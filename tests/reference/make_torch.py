"""Makes the PyTorch files of tests/fixtures/torch, with the same tensors as safetensors.

Every way in which a checkpoint holds plain tensors, each with other bits: formats, parameters, views, shared storages,
a transposed view, shards with an index; and two files that hold something else.
"""

import argparse
from collections import OrderedDict

import fixtures

import safetensors.torch
import torch

FOLDER = fixtures.FOLDER / "torch"
SEED = 20


def main() -> None:
    fixtures.prepare()
    torch.manual_seed(SEED)
    (FOLDER / "sharded").mkdir(parents=True, exist_ok=True)
    tensors = plain()
    torch.save(tensors, FOLDER / "plain.bin")
    torch.save({"epoch": 3, "lr": 0.5, "seen": [1, 2], "state_dict": tensors}, FOLDER / "nested.bin")
    torch.save(tensors, FOLDER / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.save({**tensors, "args": argparse.Namespace(lr=0.5)}, FOLDER / "namespace.bin")
    values = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    safetensors.torch.save_file(values, FOLDER / "values.safetensors")
    shard(values)
    fixtures.record("make_torch.py", [path for path in FOLDER.rglob("*") if path.is_file()], seed=SEED)


def plain() -> OrderedDict:
    matrix = torch.randn(6, 4)
    layer = torch.nn.Linear(4, 3)
    tensors = layer.state_dict()
    tensors.update(
        {
            "matrix": matrix,
            "tied": matrix,
            "rows": matrix[2:5],
            "transposed": matrix.t(),
            "column": matrix[:, :1],
            "half": torch.randn(5, 2).half(),
            "brain": torch.randn(2, 3, 2).bfloat16(),
            "brain_row": torch.randn(4, 3).bfloat16()[3],
            "parameter": torch.nn.Parameter(torch.randn(7)),
            "wide": torch.randn(3, dtype=torch.float64),
            "mask": torch.ones(3, 3).tril().bool(),
            "ids": torch.arange(5),
            "empty": torch.zeros(0, 5),
            "scalar": torch.tensor(-1.5),
        }
    )
    return tensors


def shard(values: dict) -> None:
    names = sorted(values)
    halves = [names[: len(names) // 2], names[len(names) // 2 :]]
    placed = {}
    for at, half in enumerate(halves):
        file = f"pytorch_model-{at + 1:05}-of-{len(halves):05}.bin"
        torch.save({name: values[name] for name in half}, FOLDER / "sharded" / file)
        placed.update(dict.fromkeys(half, file))
    total = sum(value.nbytes for value in values.values())
    index = {"metadata": {"total_size": total}, "weight_map": placed}
    fixtures.write_json(FOLDER / "sharded/pytorch_model.bin.index.json", index)


if __name__ == "__main__":
    main()
