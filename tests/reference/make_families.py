"""Makes a small model of every further family in tests/fixtures, with the tokenizer of tiny-gpt2.

usage: make_families.py [NAME ...]

Weights are drawn: what is tested is the arithmetic of a family, not what its models have learned. Local layers see less than a
window, so that they differ from global ones.
"""

import shutil
import sys

import fixtures

import torch
import transformers

SEED = 23
SIZE = {"vocab_size": 512, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1}
WIDTH = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "max_position_embeddings": 160}
GATED = {**SIZE, **WIDTH, "intermediate_size": 88, "num_key_value_heads": 2, "head_dim": 12}
DEFAULT_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
GEMMA = {**GATED, "tie_word_embeddings": True}
LOCAL = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 9}
ENCODER = {**SIZE, **WIDTH, "intermediate_size": 128}

# Every model: its class, its configuration.
FAMILIES = {
    "tiny-gpt2-scaled": ("GPT2LMHeadModel", transformers.GPT2Config(
        **SIZE, n_embd=32, n_layer=3, n_head=4, n_positions=160, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True,
    )),
    "tiny-gpt_neo": ("GPTNeoForCausalLM", transformers.GPTNeoConfig(
        **SIZE, hidden_size=32, num_layers=3, num_heads=4, max_position_embeddings=160, window_size=8,
        attention_types=[[["global", "local"], 1], [["global"], 1]], resid_dropout=0, embed_dropout=0, attention_dropout=0,
    )),
    "tiny-opt": ("OPTForCausalLM", transformers.OPTConfig(**SIZE, **WIDTH, ffn_dim=128, dropout=0)),
    "tiny-opt-350m": ("OPTForCausalLM", transformers.OPTConfig(
        **SIZE, **WIDTH, ffn_dim=128, dropout=0, word_embed_proj_dim=20, do_layer_norm_before=False
    )),
    "tiny-bloom": ("BloomForCausalLM", transformers.BloomConfig(
        **SIZE, hidden_size=36, n_layer=3, n_head=6, hidden_dropout=0, attention_dropout=0
    )),
    "tiny-mistral": ("MistralForCausalLM", transformers.MistralConfig(
        **GATED, sliding_window=11, tie_word_embeddings=False, rope_parameters=DEFAULT_ROPE
    )),
    "tiny-qwen3": ("Qwen3ForCausalLM", transformers.Qwen3Config(**GATED, tie_word_embeddings=True, rope_parameters=DEFAULT_ROPE)),
    "tiny-llama3": ("LlamaForCausalLM", transformers.LlamaConfig(**GATED, tie_word_embeddings=False, rope_parameters={
        "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 40,
    })),
    "tiny-phi": ("PhiForCausalLM", transformers.PhiConfig(
        **SIZE, **WIDTH, intermediate_size=128,
        rope_parameters={**DEFAULT_ROPE, "partial_rotary_factor": 0.5},
    )),
    "tiny-gemma": ("GemmaForCausalLM", transformers.GemmaConfig(**GEMMA, rope_parameters=DEFAULT_ROPE)),
    "tiny-gemma2": ("Gemma2ForCausalLM", transformers.Gemma2Config(
        **GEMMA, **LOCAL, query_pre_attn_scalar=20, attn_logit_softcapping=3.0, final_logit_softcapping=2.0,
        rope_parameters=DEFAULT_ROPE,
    )),
    "tiny-gemma3": ("Gemma3ForCausalLM", transformers.Gemma3TextConfig(
        **GEMMA, **LOCAL, query_pre_attn_scalar=20,
        rope_parameters={
            "sliding_attention": DEFAULT_ROPE,
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
        },
    )),
    "tiny-roberta": ("RobertaModel", transformers.RobertaConfig(**ENCODER, type_vocab_size=1)),
    "tiny-distilbert": ("DistilBertModel", transformers.DistilBertConfig(
        vocab_size=512, pad_token_id=1, dim=32, n_layers=3, n_heads=4, hidden_dim=128, max_position_embeddings=160
    )),
    "tiny-modernbert": ("ModernBertModel", transformers.ModernBertConfig(
        **{**ENCODER, "cls_token_id": 0, "sep_token_id": 0}, local_attention=12, global_attn_every_n_layers=2,
    )),
}  # fmt: skip


def main() -> None:
    fixtures.prepare()
    for name in sys.argv[1:] or FAMILIES:
        out = fixtures.FOLDER / name
        out.mkdir(exist_ok=True)
        shutil.copy(fixtures.FOLDER / "tiny-gpt2/tokenizer.json", out)
        family, config = FAMILIES[name]
        extra = {"add_pooling_layer": False} if name == "tiny-roberta" else {}
        model = getattr(transformers, family)(config, **extra)
        draw(model, norm=0.0 if name.startswith("tiny-gemma") else 1.0)
        model.save_pretrained(out)
        (out / "generation_config.json").unlink(missing_ok=True)
    made = [fixtures.FOLDER / name / file for name in FAMILIES for file in ["config.json", "model.safetensors", "tokenizer.json"]]
    fixtures.record("make_families.py", made, seed=SEED)


def draw(model: torch.nn.Module, norm: float) -> None:
    """Each block from a wider distribution than the one before, so that each is less linear; `norm` is the mean of norm weights."""
    torch.manual_seed(SEED)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            block = next((int(part) for part in name.split(".") if part.isdecimal()), 0)
            if weight.dim() == 1:
                weight.normal_(norm if name.endswith("weight") else 0.0, 0.1)
            elif "embed" in name or "wte" in name or "wpe" in name or "lm_head" in name:
                weight.normal_(0.0, 0.3)
            else:
                weight.normal_(0.0, 0.8 * 1.4**block * weight.shape[-1] ** -0.5)


if __name__ == "__main__":
    main()
