"""Makes small tokenizers without tokenizer.json, and the tokens that their own libraries give for texts of many scripts.

    make_tokenizers.py

The models of SentencePiece are trained here, and encode by SentencePiece. The vocabularies of tiny-gpt2 and tiny-bert are
written in their older form, and encode by `transformers`.
"""

import io
import json
import tempfile
from pathlib import Path

import sentencepiece
import transformers

import fixtures

OUT = fixtures.FOLDER / "tokenizers"

# No blank at an end: SentencePiece reads one sentence, where a text is a stream.
TEXTS = [
    "Hello world, this is a test.",
    "The river Elbe  flows   through Dresden; 1234567 people, ½ of them.",
    "def f(x):\n    return x + 1\n\n\tend",
    "Das Straßenfest in Köln: »schön« und größer – Ümläute.",
    "Москва — столица России, 中文没有空格，日本語のテキスト。",
    "مرحبا بالعالم नमस्ते दुनिया 한국어 텍스트",
    "emoji 🦉🦊 and e\u0301 combined, ﬁ ligature, ﷺ",
    "aaaaaaaaaaaaaaaa bbbb ....... !!!??",
    "don't I'll we've x's O'Neil",
    "UPPER lower MiXeD CamelCase snake_case http://a.b/c?d=e&f=1",
    "a", "▁ mark ▁▁ x", "word\u00a0nbsp\u2028line", "résumé naïve café",
]

# Replacements like those of NFKC, few enough for a small table.
RULES = {"ﬁ": "fi", "½": "1/2", "ﷺ": "صلى الله عليه وسلم", "\u00a0": " ", "\n": " ", "\t": " ", "\u2028": " ", "e\u0301": "é", "，": ","}


def train(name: str, **options) -> Path:
    words = (fixtures.FOLDER / "texts" / "encyclopedia.txt").read_text(encoding="utf-8")[:60_000].splitlines()
    sentences = [line for line in words if line.strip()] + TEXTS * 2
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, num_threads=1, minloglevel=2, **options
    )
    path = OUT / f"{name}.model"
    path.write_bytes(without_rules_path(model.getvalue()))
    return path


def without_rules_path(model: bytes) -> bytes:
    """The model without the name of the temporary file of its rules, which the normalizer's description repeats."""
    from sentencepiece import sentencepiece_model_pb2

    described = sentencepiece_model_pb2.ModelProto.FromString(model)
    described.normalizer_spec.ClearField("normalization_rule_tsv")
    return described.SerializeToString()


def rules(folder: str) -> str:
    path = Path(folder) / "rules.tsv"
    codes = lambda text: " ".join(f"{ord(letter):X}" for letter in text)
    path.write_text("".join(f"{codes(old)}\t{codes(new)}\n" for old, new in RULES.items()), encoding="utf-8")
    return str(path)


def byte_level(folder: Path) -> transformers.PreTrainedTokenizerBase:
    tree = fixtures.read_json(fixtures.FOLDER / "tiny-gpt2" / "tokenizer.json")["model"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in tree["merges"]]
    (folder / "vocab.json").write_text(json.dumps(tree["vocab"]), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
    return transformers.GPT2Tokenizer(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"))


def word_pieces(folder: Path, **options) -> transformers.PreTrainedTokenizerBase:
    vocab = fixtures.read_json(fixtures.FOLDER / "tiny-bert" / "tokenizer.json")["model"]["vocab"]
    lines = sorted(vocab, key=vocab.get)
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in lines), encoding="utf-8")
    return transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), **options)


def main() -> None:
    fixtures.prepare()
    OUT.mkdir(exist_ok=True)
    expected = {"texts": TEXTS}
    with tempfile.TemporaryDirectory() as folder:
        made = {
            # As Llama's: no normalisation, blanks are kept, unknown characters become bytes.
            "llama": train("llama", model_type="bpe", vocab_size=700, byte_fallback=True, character_coverage=0.98,
                           normalization_rule_name="identity", remove_extra_whitespaces=False),
            # With a table of replacements, blanks dropped, unknown characters as one token.
            "bpe": train("bpe", model_type="bpe", vocab_size=500, character_coverage=0.98, normalization_rule_tsv=rules(folder)),
            "unigram": train("unigram", model_type="unigram", vocab_size=500, character_coverage=0.98,
                             normalization_rule_tsv=rules(folder)),
            # As Gemma's: nothing put before a text.
            "bare": train("bare", model_type="unigram", vocab_size=600, byte_fallback=True, add_dummy_prefix=False,
                          character_coverage=0.98, normalization_rule_name="identity", remove_extra_whitespaces=False),
        }
        for name, path in made.items():
            model = sentencepiece.SentencePieceProcessor(model_file=str(path))
            expected[name] = [model.encode(text) for text in TEXTS]
        others = {
            "byte_level": byte_level(Path(folder)),
            "uncased": word_pieces(Path(folder)),
            "cased": word_pieces(Path(folder), do_lower_case=False),
        }
        for name, model in others.items():
            expected[name] = [model.encode(text, add_special_tokens=False) for text in TEXTS]
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    (OUT / "expected.json").write_text(text + "\n", encoding="utf-8")
    fixtures.record("make_tokenizers.py", list(OUT.iterdir()), sentencepiece=sentencepiece.__version__)


if __name__ == "__main__":
    main()
