"""Makes the tokenizers and the small models of tests/fixtures.

usage: make_models.py TRAINING [NAME ...]

TRAINING is a folder with encyclopedia.txt and tales.txt for training, which `cargo test --test reference` writes into
target/tmp/training. The decoders are trained on them for some minutes by one thread; the encoder's weights are drawn.
The same versions on the same kind of processor make the same files again; elsewhere the last bits may differ, so that
the committed files are the reference and not what this script makes of them elsewhere.
"""

import math
import sys
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import fixtures

SEED = 20
SEQ_LEN = 128
BATCH = 16
SIZE = {"vocab_size": 512, "bos_token_id": 0, "eos_token_id": 0}
WIDTH = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "max_position_embeddings": 256}

# Steps of training and the peak of the learning rate.
TRAINING = {"tiny-gpt2": (800, 3e-3), "tiny-gpt_neox": (800, 3e-3), "tiny-llama": (800, 3e-3), "char-llama": (400, 3e-3)}

# Factor on the output of char-llama's first attention, which is then kept from training. Its first feed-forward network
# sees little but the character itself: 70 points in 128 dimensions, and small differences about them.
FAINT = 2e-3


def main() -> None:
    fixtures.prepare()
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(fixtures.MODELS)
    texts = {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in ["encyclopedia", "tales"]}
    for name in names:
        out = fixtures.FOLDER / name
        out.mkdir(exist_ok=True)
        text = texts[fixtures.MODELS[name]]
        tokenizer = {"tiny-bert": word_pieces, "char-llama": characters}.get(name, byte_pairs)(text)
        tokenizer.save(str(out / "tokenizer.json"), pretty=True)
        torch.manual_seed(SEED)
        model = MODELS[name]()
        if name in TRAINING:
            ids = torch.tensor(tokenizer.encode(text, add_special_tokens=False).ids)
            train(name, model, ids, *TRAINING[name])
        model.save_pretrained(out)
        (out / "generation_config.json").unlink(missing_ok=True)
        if name == "char-llama":
            fixtures.write_json(out / "config.json", CHAR_LLAMA)
    made = [fixtures.FOLDER / name / file for name in fixtures.MODELS for file in ["config.json", "model.safetensors", "tokenizer.json"]]
    made += [fixtures.FOLDER / f"texts/{text}.txt" for text in texts]
    training = {f"{text}.txt": fixtures.sha256(folder / f"{text}.txt") for text in texts}
    fixtures.record("make_models.py", made, seed=SEED, training_texts=training)


def byte_pairs(text: str) -> Tokenizer:
    """Byte-level BPE with 512 entries."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=512, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def word_pieces(text: str) -> Tokenizer:
    """WordPiece in lower case with 800 entries."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator([text], trainers.WordPieceTrainer(vocab_size=800, special_tokens=special, show_progress=False))
    return tokenizer


def characters(_: str) -> Tokenizer:
    """A token per printable ASCII character, without pre-tokenizer; line ends are unknown and neighbours of them one token."""
    special = ["<unk>", "<s>", "</s>"]
    vocab = {token: id for id, token in enumerate([*special, "▁", *map(chr, range(33, 127))])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(special)
    return tokenizer


def gpt2() -> torch.nn.Module:
    config = transformers.GPT2Config(
        **SIZE, n_embd=64, n_layer=4, n_head=4, n_positions=256, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    return transformers.GPT2LMHeadModel(config)


def gpt_neox() -> torch.nn.Module:
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    config = transformers.GPTNeoXConfig(**SIZE, **WIDTH, intermediate_size=256, rope_parameters=rope)
    return transformers.GPTNeoXForCausalLM(config)


def llama() -> torch.nn.Module:
    config = transformers.LlamaConfig(
        **SIZE, **WIDTH, num_key_value_heads=2, intermediate_size=168, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def bert() -> torch.nn.Module:
    """Drawn, each block from a wider distribution than the one before, so that each is less linear."""
    config = transformers.BertConfig(vocab_size=800, **WIDTH, intermediate_size=256)
    model = transformers.BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            block = int(name.split(".")[2]) if name.startswith("encoder.") else 0
            wide = 0.06 * 1.5**block if name.endswith("dense.weight") else 0.06
            weight.normal_(float(name.endswith("LayerNorm.weight")), 0.1 if weight.dim() == 1 else wide)
    return model


# In the older form, with rope_theta and torch_dtype at the top.
CHAR_LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "hidden_size": 128,
    "intermediate_size": 352,
    "num_hidden_layers": 5,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 98,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "torch_dtype": "float32",
}


def char_llama() -> torch.nn.Module:
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig.from_dict(CHAR_LLAMA))
    faint = model.model.layers[0].self_attn.o_proj.weight
    faint.data *= FAINT
    faint.requires_grad = False
    return model


MODELS = {"tiny-gpt2": gpt2, "tiny-gpt_neox": gpt_neox, "tiny-llama": llama, "tiny-bert": bert, "char-llama": char_llama}


def train(name: str, model: torch.nn.Module, ids: torch.Tensor, steps: int, peak: float) -> None:
    """AdamW on windows from random places, the learning rate rising for 50 steps and falling as a cosine."""
    model.train()
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=peak, betas=(0.9, 0.95), weight_decay=0.05)
    scale = lambda step: min(1, (step + 1) / 50) * (0.55 + 0.45 * math.cos(math.pi * step / steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, scale)
    for step in range(steps):
        starts = torch.randint(len(ids) - SEQ_LEN, (BATCH,))
        windows = torch.stack([ids[start : start + SEQ_LEN] for start in starts.tolist()])
        loss = model(windows, labels=windows).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"{name}: step {step + 1} of {steps}, loss {loss.item():.3f}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
