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


class Model:
    """A folder in Hugging Face layout."""

    def __init__(self, folder: Path):
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        family = self.config["model_type"]
        self.causal = family != "bert"
        loader = transformers.AutoModelForCausalLM if self.causal else transformers.AutoModel
        extra = {} if self.causal else {"add_pooling_layer": False}
        self.network, loading = loader.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, **extra
        )
        unfit = [*loading["missing_keys"], *loading["unexpected_keys"]]
        assert not unfit, f"{folder}: tensors missing or unexpected: {unfit}"
        self.network.eval()
        network = self.network
        self.blocks, self.last = {
            "gpt2": lambda: (network.transformer.h, network.transformer.ln_f),
            "gpt_neox": lambda: (network.gpt_neox.layers, network.gpt_neox.final_layer_norm),
            "llama": lambda: (network.model.layers, network.model.norm),
            "bert": lambda: (network.encoder.layer, None),
        }[family]()
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))

    def ids(self, text: bytes) -> torch.Tensor:
        """The text as one stream of tokens, without special ones."""
        stream = text.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        return torch.tensor(self.tokenizer.encode(stream, add_special_tokens=False).ids)

    def entry(self, block: int) -> torch.nn.Module:
        """The module whose input the block's feed-forward network reads."""
        return self.blocks[block].mlp if self.causal else self.blocks[block].intermediate.dense

    def exit(self, block: int) -> torch.nn.Module:
        """The module whose output it returns."""
        return self.blocks[block].mlp if self.causal else self.blocks[block].output.dense

    def capture(self, windows: torch.Tensor) -> dict[str, np.ndarray]:
        """`hidden.L` before block L and after the last, `ffn_in.L`, `ffn_out.L`, and `logits` of a decoder."""
        found: dict[str, list] = {}
        keep = lambda name, value: found.setdefault(name, []).append(value.detach().numpy().copy())
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
        hook = self.blocks[block].mlp.register_forward_hook(
            lambda _, inputs, output: torch.tensor(by(inputs[0].double().numpy())).to(output.dtype)
        )
        try:
            yield
        finally:
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
