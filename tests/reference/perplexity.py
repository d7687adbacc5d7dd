"""Perplexity of a folder in Hugging Face layout, as `transformers` computes it.

usage: perplexity.py FOLDER IDS.json SEQ_LEN

IDS.json is a flat array of token ids: whole windows of SEQ_LEN tokens. Prints one JSON object: the class that the
folder loads as, what the loader missed or did not know, and the perplexity of tokens 1 .. SEQ_LEN - 1 of every window
given those before, null for a model without a next-token head.
"""

import json
import math
import sys

import torch
import transformers


def main() -> None:
    folder, ids_file, seq_len = sys.argv[1], sys.argv[2], int(sys.argv[3])
    config = transformers.AutoConfig.from_pretrained(folder)
    causal = "bert" not in config.model_type
    loader = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
    model, loading = loader.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    model.eval()
    with open(ids_file, encoding="utf-8") as file:
        windows = torch.tensor(json.load(file)).reshape(-1, seq_len)
    result = {
        "class": type(model).__name__,
        "missing": sorted(loading["missing_keys"]),
        "unexpected": sorted(loading["unexpected_keys"]),
        "ppl": perplexity(model, windows) if causal else None,
    }
    print(json.dumps(result))


def perplexity(model: torch.nn.Module, windows: torch.Tensor) -> float:
    nll, predicted = 0.0, 0
    with torch.no_grad():
        for window in windows.split(8):
            logits = model(window).logits[:, :-1].double()
            targets = window[:, 1:]
            nll += torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum").item()
            predicted += targets.numel()
    return math.exp(nll / predicted)


if __name__ == "__main__":
    main()
