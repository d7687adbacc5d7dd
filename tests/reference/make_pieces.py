"""Writes the windows of a text cut into pieces of 512 characters, each tokenised by itself with its special tokens.

    make_pieces.py

The protocol of the notebook of arXiv 2405.12250, but for pieces of different lengths: a window is the beginning of a
piece, and pieces with fewer tokens are left out.
"""

import json

import tokenizers

import fixtures

OUT = fixtures.FOLDER / "pieces.json"
CHARACTERS, TOKENS, WINDOWS = 512, 120, 6


def main() -> None:
    tree = fixtures.read_json(fixtures.FOLDER / "tiny-bert" / "tokenizer.json")
    vocabulary = tree["model"]["vocab"]
    special = {name: {"id": name, "ids": [vocabulary[name]], "tokens": [name]} for name in ["[CLS]", "[SEP]"]}
    first, last = ({"SpecialToken": {"id": name, "type_id": 0}} for name in special)
    single = [first, {"Sequence": {"id": "A", "type_id": 0}}, last]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    tree["post_processor"] = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(tree))
    text = (fixtures.FOLDER / "texts" / "encyclopedia.txt").read_text(encoding="utf-8")
    pieces = [text[start : start + CHARACTERS] for start in range(0, len(text), CHARACTERS)]
    ids = [tokenizer.encode(piece).ids[:TOKENS] for piece in pieces]
    whole = [window for window in ids if len(window) == TOKENS]
    expected = {
        "post_processor": tree["post_processor"],
        "piece_chars": CHARACTERS,
        "seq_len": TOKENS,
        "pieces": len(pieces),
        "windows": len(whole),
        "first": whole[:WINDOWS],
        "last": whole[-1],
    }
    OUT.write_text(json.dumps(expected, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    fixtures.record("make_pieces.py", [OUT], tokenizers=tokenizers.__version__)


if __name__ == "__main__":
    main()
