"""Writes trained.json of one model in tests/fixtures: what probes reach for several seeds, and healing.

usage: make_trained.py

Definitions are those of docs/measures.md, sections 4 and 5. Networks, gradients and optimisers are PyTorch's, as are the random
numbers of probes. Healing takes the windows in the program's order and has nothing else that is random.
"""

import fixtures  # before NumPy, which reads the number of threads from it

import numpy as np

import healing
import measures
import probes
from activations import Model
from make_references import FOLDS, ROWS, SEQ_LEN

MODEL, BLOCK, SEEDS, PROBE_STEPS, HEAL_STEPS = "tiny-gpt2", 1, 8, 1500, 60
FILE = fixtures.FOLDER / MODEL / "trained.json"


def main() -> None:
    fixtures.prepare()
    fixtures.write_json(FILE, trained(range(SEEDS)))
    fixtures.record("make_trained.py", [FILE])


def trained(seeds: range) -> dict:
    """Scores of every probe for each of `seeds`, and what healing leaves of the loss."""
    model = Model(fixtures.FOLDER / MODEL)
    ids = model.ids((fixtures.FOLDER / f"texts/{fixtures.TEXTS[MODEL]}.txt").read_bytes())
    windows = ids[: min(ROWS, len(ids)) // SEQ_LEN * SEQ_LEN].reshape(-1, SEQ_LEN)
    cut = measures.folds(len(windows), FOLDS)
    train, held = np.concatenate(cut[:-1]), cut[-1]
    rows = model.capture(windows)
    x, y = rows[f"ffn_in.{BLOCK}"], rows[f"ffn_out.{BLOCK}"]
    found = [probes.scores(x, y, train, held, PROBE_STEPS, seed) for seed in seeds]
    probed = [{name: probe for name, (_, probe) in of_seed.items()} for of_seed in found]
    of_seeds = lambda name: [of_seed[name][0] for of_seed in found]
    return {
        "model": MODEL,
        "block": BLOCK,
        "rows": windows.numel(),
        "probe_steps": PROBE_STEPS,
        "heal_steps": HEAL_STEPS,
        "probes": {
            name: {field: [score[field] for score in of_seeds(name)] for field in of_seeds(name)[0]} for name in found[0]
        },
        "heal": healing.of_block(model, BLOCK, windows, train, held, HEAL_STEPS, probed),
        "healed_together": healing.together(model, windows, train, held, HEAL_STEPS),
    }


if __name__ == "__main__":
    main()
