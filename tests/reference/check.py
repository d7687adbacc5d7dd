"""Computes every reference value anew from the committed weights and rows, and compares.

usage: check.py [--folder FOLDER]

Prints one JSON object: how many values of each group were compared, the largest difference of each kind, and a sentence for
every value that differs by more than `TOLERANCES` allow. FOLDER holds fixtures of the same layout, or some of them, in place of
tests/fixtures; its models and their texts are those of `ELSEWHERE`.
"""

import argparse
import json
import math
from collections import Counter
from pathlib import Path

import fixtures  # before NumPy, which reads the number of threads from it

import numpy as np
import safetensors.numpy

import make_planted
import make_references
import make_trained

# Largest difference by the field's name: of a share of the value where it says so, else absolute. Rounding of float32
# activations differs between processors; the planted rows are given, so that only float64 rounding differs there.
DEFAULT = (1e-6, "absolute")
TOLERANCES = {
    "ppl": (1e-6, "relative"),
    "delta_ppl": (1e-6, "of the larger perplexity"),
    "scaled_condition": (1e-4, "relative"),
    "condition": (1e-4, "relative"),
    "input_participation": (1e-6, "relative"),
    "output_participation": (1e-6, "relative"),
    "prediction_participation": (1e-6, "relative"),
    "input_variance_ratio": (1e-6, "relative"),
    "output_variance_ratio": (1e-6, "relative"),
    "sst_heldout": (1e-6, "relative"),
    "rmse": (1e-6, "relative"),
    "input_entropy_rank": (1e-6, "relative"),
    "input_stable_rank": (1e-6, "relative"),
    "prediction_entropy_rank": (1e-6, "relative"),
    "prediction_stable_rank": (1e-6, "relative"),
    # Directions of small variance have fewer digits.
    "heldout_distance": (1e-4, "relative"),
    # Ratios of distances to near neighbours.
    "intrinsic_dimension": (1e-4, "relative"),
    # Shares of counted rows, of which rounding turns a few.
    "accuracy": (2e-3, "absolute"),
    # A whole number, which rounding may move by one.
    "rows_needed": (1e-3, "relative"),
    # Other fixtures may keep directions of rounding in a fit, which explain a little by chance.
    "linearity": (1e-5, "absolute"),
    "linearity_no_residual": (1e-5, "absolute"),
    "golden": (5e-5, "of values above one"),
    "planted": (1e-10, "relative"),
    # Thousands of steps enlarge every rounding.
    "trained": (5e-3, "absolute"),
}

# What fixtures that are not the project's own need not have recorded.
ADDED = (
    *("rows_per_input", "learning_curve", "r2_limit", "r2_limit_error", "rows_needed", "shuffled", "degrees"),
    "canonical",
    *("effective_rank_95", "input_entropy_rank", "input_stable_rank", "prediction_entropy_rank"),
    *("prediction_stable_rank", "heldout_distance", "heldout_outside"),
)
ADDED_TO_LAYER = ("anisotropy", "intrinsic_dimension", "properties")
ADDED_TO_MODEL = ("orders",)

# Texts of fixtures that are not the project's own.
ELSEWHERE = {"babyllama-105": "stories", **dict.fromkeys(["tiny-gpt2", "tiny-gpt_neox", "tiny-llama", "tiny-bert"], "wiki")}


class Comparison:
    """Counts what is compared and keeps the largest differences and all failures."""

    def __init__(self):
        self.compared, self.largest, self.failures = Counter(), {}, []

    def number(self, where: str, kind: str, found: float, expected: float, scale: float = 1.0) -> None:
        tolerance, of = TOLERANCES.get(kind, DEFAULT)
        larger = scale + max(expected, 0.0)
        by = {"relative": abs(expected), "absolute": 1.0, "of the larger perplexity": larger}.get(of, scale)
        difference = abs(found - expected) / by if by else abs(found - expected)
        self.largest[kind] = max(self.largest.get(kind, 0.0), difference)
        if not difference <= tolerance:
            self.failures.append(f"{where}: {found} where {expected} is recorded, off by {difference:.2e}")

    def trees(self, where: str, kind: str, found, expected, scale: float = 1.0) -> None:
        """JSON values, field by field; those below a field of `TOLERANCES` are of its kind."""
        if isinstance(expected, dict):
            self.exact(f"{where}: fields", sorted(found), sorted(expected))
            for field in expected.keys() & found.keys():
                below = kind if kind in TOLERANCES or field.isdecimal() else field
                self.trees(f"{where}.{field}", below, found[field], expected[field], scale)
        elif isinstance(expected, list):
            self.exact(f"{where}: length", len(found), len(expected))
            for at, (one, other) in enumerate(zip(found, expected)):
                self.trees(f"{where}[{at}]", kind, one, other, scale)
        else:
            self.compared[kind if kind in ("planted", "trained") else "reports"] += 1
            if isinstance(expected, float) and isinstance(found, (float, int)):
                self.number(where, kind, found, expected, scale)
            else:
                self.exact(where, found, expected)

    def exact(self, where: str, found, expected) -> None:
        if found != expected:
            self.failures.append(f"{where}: {found} where {expected} is recorded")

    def arrays(self, where: str, found: np.ndarray, expected: np.ndarray) -> None:
        if found.shape != expected.shape:
            return self.exact(f"{where}: shape", found.shape, expected.shape)
        found, expected = found.astype(np.float64), expected.astype(np.float64)
        difference = np.abs(found - expected) / np.maximum(1, np.abs(expected))
        at = np.unravel_index(np.argmax(np.where(np.isnan(difference), math.inf, difference)), difference.shape)
        self.number(f"{where}{list(map(int, at))}", "golden", found[at], expected[at], max(1, abs(expected[at])))
        self.compared["golden"] += expected.size


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=fixtures.FOLDER)
    folder = parser.parse_args().folder
    fixtures.prepare()
    own = folder == fixtures.FOLDER
    comparison = Comparison()
    for name, text in (fixtures.TEXTS if own else ELSEWHERE).items():
        if own or (folder / name / "model.safetensors").exists():
            check_model(comparison, folder / name, folder / f"texts/{text}.txt")
    if own or (folder / "planted").exists():
        check_planted(comparison, folder / "planted")
    if own:
        check_trained(comparison)
        check_files(comparison)
    print(json.dumps({"compared": comparison.compared, "largest": comparison.largest, "failures": comparison.failures}))


def check_model(comparison: Comparison, folder: Path, text: Path) -> None:
    recorded = safetensors.numpy.load_file(folder / "golden.safetensors")
    found = make_references.golden(folder, text)
    comparison.exact(f"{folder.name}: tensors", sorted(found), sorted(recorded))
    for name in recorded.keys() & found.keys():
        comparison.arrays(f"{folder.name}: {name}", found[name], recorded[name])
    recorded = fixtures.read_json(folder / "expected.json")
    # How long some other program took to make it.
    recorded.pop("seconds", None)
    found = make_references.expected(folder, text)
    for added, places in [(ADDED, "blocks"), (ADDED_TO_LAYER, "layers")] if folder.parent != fixtures.FOLDER else []:
        for place, other in zip(found[places], recorded[places]):
            for name in added:
                if name not in other:
                    place.pop(name, None)
    for name in ADDED_TO_MODEL if folder.parent != fixtures.FOLDER else []:
        if name not in recorded:
            found.pop(name, None)
    comparison.trees(folder.name, "", found, recorded, recorded.get("ppl", 1.0))


def check_planted(comparison: Comparison, folder: Path) -> None:
    for name, recorded in fixtures.read_json(folder / "expected.json").items():
        rows = safetensors.numpy.load_file(folder / f"{name}.safetensors")
        found = make_planted.answer(rows["x"], rows["y"])
        comparison.trees(f"planted {name}", "planted", found, recorded)


def check_trained(comparison: Comparison) -> None:
    """What is trained, with the first seed alone."""
    recorded, found = fixtures.read_json(make_trained.FILE), make_trained.trained(range(1))
    first = lambda fields: {name: values[:1] for name, values in fields.items()}
    recorded["probes"] = {name: first(fields) for name, fields in recorded["probes"].items()}
    recorded["heal"] = {name: first(of) if isinstance(of, dict) else of for name, of in recorded["heal"].items()}
    for group in ("probes", "heal", "healed_together"):
        comparison.trees(f"trained {group}", "trained", found[group], recorded[group])


def check_files(comparison: Comparison) -> None:
    """The hashes that the scripts noted."""
    for script, made in fixtures.read_json(fixtures.MANIFEST).items():
        for file, recorded in made["sha256"].items():
            comparison.compared["files"] += 1
            comparison.exact(f"{script}: {file}", fixtures.sha256(fixtures.FOLDER / file), recorded)


if __name__ == "__main__":
    main()
