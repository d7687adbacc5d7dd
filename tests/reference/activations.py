"""A model of transformers, in float32: what enters and leaves every feed-forward network, and perplexity with one replaced."""

import copy
import json
import math
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

import numpy as np
import tokenizers
import torch
import transformers

import measures

AT_ONCE = 8

# By `model_type`: the blocks, the norm before the head, and within a block the modules at which its network begins and ends.
LAYOUTS = {
    "gpt2": ("transformer.h", "transformer.ln_f", ("mlp", "mlp")),
    "gpt_neo": ("transformer.h", "transformer.ln_f", ("mlp", "mlp")),
    "gpt_neox": ("gpt_neox.layers", "gpt_neox.final_layer_norm", ("mlp", "mlp")),
    "opt": ("model.decoder.layers", "model.decoder.final_layer_norm", ("fc1", "fc2")),
    "bloom": ("transformer.h", "transformer.ln_f", ("mlp.dense_h_to_4h", "mlp.dense_4h_to_h")),
    "llama": ("model.layers", "model.norm", ("mlp", "mlp")),
    "phi": ("model.layers", "model.final_layernorm", ("mlp", "mlp")),
    "bert": ("encoder.layer", None, ("intermediate.dense", "output.dense")),
    "roberta": ("encoder.layer", None, ("intermediate.dense", "output.dense")),
    "distilbert": ("transformer.layer", None, ("ffn.lin1", "ffn.lin2")),
    "modernbert": ("layers", "final_norm", ("mlp", "mlp")),
}
LIKE_LLAMA = ["mistral", "qwen3", "gemma", "gemma2", "gemma3_text"]
ENCODERS = ["bert", "roberta", "distilbert", "modernbert"]


class Model:
    """A folder in Hugging Face layout."""

    def __init__(self, folder: Path):
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        family = self.config["model_type"]
        self.causal = family not in ENCODERS
        loader = transformers.AutoModelForCausalLM if self.causal else transformers.AutoModel
        extra = {"add_pooling_layer": False} if family in ["bert", "roberta"] else {}
        self.network, loading = loader.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, **extra
        )
        unfit = [*loading["missing_keys"], *loading["unexpected_keys"]]
        assert not unfit, f"{folder}: tensors missing or unexpected: {unfit}"
        self.network.eval()
        part = self.network.get_submodule
        blocks, last, self.names = {**LAYOUTS, **dict.fromkeys(LIKE_LLAMA, LAYOUTS["llama"])}[family]
        self.blocks = part(blocks)
        # OPT-350m has none.
        self.last = part(last) if last and getattr(part(last.rpartition(".")[0]), last.rpartition(".")[2]) is not None else None
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))

    def ids(self, text: bytes) -> torch.Tensor:
        """The text as one stream of tokens, without special ones."""
        stream = text.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        return torch.tensor(self.tokenizer.encode(stream, add_special_tokens=False).ids)

    def entry(self, block: int) -> torch.nn.Module:
        """The module whose input the block's feed-forward network reads."""
        return self.blocks[block].get_submodule(self.names[0])

    def exit(self, block: int) -> torch.nn.Module:
        """The module whose output it returns."""
        return self.blocks[block].get_submodule(self.names[1])

    def capture(self, windows: torch.Tensor) -> dict[str, np.ndarray]:
        """`hidden.L` before block L and after the last, `ffn_in.L`, `ffn_out.L`, and `logits` of a decoder."""
        found: dict[str, list] = {}
        # OPT's networks take rows without windows.
        shape = lambda value: value.reshape(-1, windows.shape[1], value.shape[-1])
        keep = lambda name, value: found.setdefault(name, []).append(shape(value).detach().numpy().copy())
        hooks = []
        for block, module in enumerate(self.blocks):
            hooks += [
                before(module, lambda value, block=block: keep(f"hidden.{block}", value)),
                before(self.entry(block), lambda value, block=block: keep(f"ffn_in.{block}", value)),
                after(self.exit(block), lambda value, block=block: keep(f"ffn_out.{block}", value)),
            ]
        end = lambda value: keep(f"hidden.{len(self.blocks)}", value)
        hooks.append(before(self.last, end) if self.last is not None else after(self.blocks[-1], end))
        with torch.no_grad():
            for some in windows.split(AT_ONCE):
                logits = self.network(some)[0]
                if self.causal:
                    keep("logits", logits)
        for hook in hooks:
            hook.remove()
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def can_shuffle(self) -> bool:
        """Whether `shuffled` knows the layers of the family."""
        return self.config["model_type"] in ["gpt2", "gpt_neox", "llama", "bert"]

    def shuffled(self, block: int, x: np.ndarray) -> np.ndarray:
        """The output of the block's network with the values of every tensor in random order."""
        family, module = self.config["model_type"], copy.deepcopy(self.blocks[block])
        inner = module.mlp if self.causal else module
        layers = {
            "gpt2": lambda: [inner.c_fc, inner.c_proj],
            "gpt_neox": lambda: [inner.dense_h_to_4h, inner.dense_4h_to_h],
            "llama": lambda: [inner.gate_proj, inner.up_proj, inner.down_proj],
            "bert": lambda: [inner.intermediate.dense, inner.output.dense],
        }[family]()
        random = measures.Random.stream(0, int.from_bytes(b"shuffled"), block)
        for layer in layers:
            for tensor in [layer.weight, layer.bias] if layer.bias is not None else [layer.weight]:
                # GPT-2 stores weights as inputs × outputs, and the measure is defined on outputs × inputs.
                values = tensor.data.mT if family == "gpt2" and tensor.dim() == 2 else tensor.data
                order = torch.tensor(random.permutation(values.numel()))
                values.copy_(values.flatten()[order].reshape(values.shape))
        with torch.no_grad():
            rows = torch.tensor(x)
            if self.causal:
                return inner(rows).numpy()
            return inner.output.dense(inner.intermediate(rows)).numpy()

    @contextmanager
    def replaced(self, block: int, by: Callable[[np.ndarray], np.ndarray]):
        """The block's feed-forward network gives `by(its input)`, computed in float64."""
        seen = []
        hooks = [
            before(self.entry(block), lambda value: seen.append(value)),
            self.exit(block).register_forward_hook(
                lambda _, inputs, output: torch.tensor(by(seen.pop().double().numpy())).to(output.dtype)
            ),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def layer_replaced(self, layer: int, by: Callable[[np.ndarray], np.ndarray]):
        """The whole layer gives `by(the residual stream before it)`, computed in float64."""
        seen = []

        def leave(_, inputs, output):
            found = torch.tensor(by(seen.pop().double().numpy())).to(first(output).dtype)
            return (found, *output[1:]) if isinstance(output, tuple) else found

        hooks = [
            before(self.blocks[layer], lambda value: seen.append(value)),
            self.blocks[layer].register_forward_hook(leave),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def perplexity(self, windows: torch.Tensor) -> float:
        """Of all tokens but the first of every window, given those before."""
        nll, predicted = 0.0, 0
        with torch.no_grad():
            for some in windows.split(AT_ONCE):
                logits, targets = self.network(some)[0][:, :-1].double(), some[:, 1:]
                nll += torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum").item()
                predicted += targets.numel()
        return math.exp(nll / predicted)


def first(value):
    return value[0] if isinstance(value, tuple) else value


def before(module: torch.nn.Module, see: Callable):
    return module.register_forward_pre_hook(lambda _, args: see(first(args)))


def after(module: torch.nn.Module, see: Callable):
    return module.register_forward_hook(lambda _, args, output: see(first(output)))
