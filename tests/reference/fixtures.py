"""Where the fixtures lie, which text each model is measured on, and the manifest of all files."""

import hashlib
import json
import os
import platform
from pathlib import Path

# Read by NumPy's linear algebra as it is loaded.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy
import safetensors
import scipy
import tokenizers
import torch
import transformers

FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
MANIFEST = FOLDER / "manifest.json"

# The models that `make_models.py` makes and their texts.
MODELS = {
    "tiny-gpt2": "encyclopedia",
    "tiny-gpt_neox": "encyclopedia",
    "tiny-llama": "encyclopedia",
    "tiny-bert": "encyclopedia",
    "char-llama": "tales",
}

# Those that `make_families.py` makes.
FAMILIES = [
    "tiny-gpt2-scaled",
    "tiny-gpt_neo",
    "tiny-opt",
    "tiny-opt-350m",
    "tiny-bloom",
    "tiny-mistral",
    "tiny-qwen3",
    "tiny-llama3",
    "tiny-phi",
    "tiny-gemma",
    "tiny-gemma2",
    "tiny-gemma3",
    "tiny-roberta",
    "tiny-distilbert",
    "tiny-modernbert",
]

# Every model of the project's own fixtures and its text.
TEXTS = {**MODELS, **dict.fromkeys(FAMILIES, "encyclopedia")}


def prepare() -> None:
    """One thread, so that additions have the same order in every run, and nothing but results on standard output."""
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def read_json(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def record(script: str, files: list[Path], **how) -> None:
    """Notes in the manifest which script made those of `files` that are there, with which versions, seeds and hashes."""
    manifest = read_json(MANIFEST) if MANIFEST.exists() else {}
    packages = [numpy, safetensors, scipy, tokenizers, torch, transformers]
    manifest[script] = {
        **how,
        "versions": {"python": platform.python_version(), **{package.__name__: package.__version__ for package in packages}},
        "sha256": {path.relative_to(FOLDER).as_posix(): sha256(path) for path in sorted(files) if path.exists()},
    }
    write_json(MANIFEST, dict(sorted(manifest.items())))
