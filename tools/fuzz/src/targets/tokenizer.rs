//! Tokenizers of every kind with a text, which is encoded, decoded and named token by token.

use futures::executor::block_on;
use serde_json::{Value, json};
use straightedge::corpus::Tokenizer;
use straightedge::job::Protocol;

use crate::target::{Limits, Refusal};

/// A text may grow by 4 096 in a normalizer, and a vocabulary's trie takes a hundred times its text.
pub(super) const LIMITS: Limits = Limits { time: (400, 100), memory: (64 << 20, 4000) };

/// Texts with what tokenizers treat in their own ways.
const TEXTS: [&str; 4] = [
    "the cat, the hat.\nIt's 2026!",
    "  ab\u{2581}ab\tAb\r\n\u{e9}e\u{301} \u{ac00}\u{4e2d}\u{6587}",
    "<s>a</s> <unk>\u{1f9d1}\u{200d}\u{1f680}\u{0} \u{fb01}",
    "",
];

pub(super) fn json_seeds() -> Vec<Vec<u8>> {
    let words = json!({"a": 0, "b": 1, "ab": 2, "the": 3, "cat": 4, "##at": 5, "[UNK]": 6, "##b": 7, "t": 8, "h": 9, "e": 10,
        "th": 11, "c": 12, " ": 13, "\u{120}": 14, "\u{120}a": 15, "\u{2581}": 16});
    let pieces =
        json!([["<unk>", 0.0], ["\u{2581}", -2.0], ["a", -2.5], ["b", -3.0], ["\u{2581}ab", -1.5], ["<0x0A>", -9.0]]);
    let added = json!([{"id": 17, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": true,
        "normalized": false, "special": true}, {"id": 18, "content": "</s>", "single_word": true, "lstrip": false,
        "rstrip": false, "normalized": true, "special": false}]);
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
    let bpe = json!({"type": "BPE", "vocab": words, "merges": [["a", "b"], ["t", "h"], ["th", "e"], ["\u{120}", "a"]],
        "unk_token": "[UNK]", "fuse_unk": false, "byte_fallback": false, "ignore_merges": true});
    let old_bpe = json!({"type": "BPE", "vocab": words, "merges": ["a b", "t h", "th e"]});
    let metaspace = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true});
    let whole = |normalizer: Value, pre_tokenizer: Value, decoder: Value, model: Value| {
        json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": decoder, "model": model})
    };
    let split = json!({"type": "Split", "pattern": {"Regex": "'s|\\w+|\\s+(?!\\S)|[^\\s]"}, "behavior": "Isolated", "invert": false});
    let mut trees = [
        whole(json!({"type": "NFC"}), byte_level.clone(), byte_level.clone(), bpe.clone()),
        whole(
            json!({"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"},
                {"type": "Replace", "pattern": {"String": "a"}, "content": "ab"}, {"type": "Prepend", "prepend": "\u{2581}"}]}),
            json!({"type": "Sequence", "pretokenizers": [split, {"type": "Digits", "individual_digits": true},
                {"type": "Punctuation", "behavior": "Isolated"}]}),
            json!({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u{2581}"}, "content": " "},
                {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}),
            old_bpe,
        ),
        whole(
            json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                "lowercase": true}),
            json!({"type": "BertPreTokenizer"}),
            json!({"type": "WordPiece", "prefix": "##", "cleanup": true}),
            json!({"type": "WordPiece", "vocab": words, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100}),
        ),
        whole(
            json!({"type": "Strip", "strip_left": true, "strip_right": false}),
            metaspace.clone(),
            metaspace,
            json!({"type": "Unigram", "vocab": pieces, "unk_id": 0, "byte_fallback": true}),
        ),
        whole(
            json!({"type": "Nmt"}),
            json!({"type": "WhitespaceSplit"}),
            json!({"type": "BPEDecoder", "suffix": "</w>"}),
            json!({"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"}),
        ),
        whole(
            Value::Null,
            json!({"type": "FixedLength", "length": 3}),
            Value::Null,
            json!({"type": "BPE", "vocab": {"a": 0, "b</w>": 1, "ab</w>": 2, "a</w>": 3, "##b</w>": 4}, "merges": [["a", "b</w>"]],
                "end_of_word_suffix": "</w>", "continuing_subword_prefix": ""}),
        ),
    ];
    let around = around_a_text();
    for (tree, post_processor) in trees.iter_mut().zip(around) {
        tree["post_processor"] = post_processor;
    }
    let with_text =
        |(at, tree): (usize, &Value)| [tree.to_string().as_bytes(), b"\0", TEXTS[at % 3].as_bytes()].concat();
    trees.iter().enumerate().map(with_text).collect()
}

/// Steps that add special tokens around a text.
fn around_a_text() -> [Value; 4] {
    let template = json!({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [17], "tokens": ["<s>"]},
        "</s>": {"id": "</s>", "ids": [18, 1], "tokens": ["</s>", "b"]}}});
    let bert = json!({"type": "BertProcessing", "sep": ["</s>", 18], "cls": ["<s>", 17]});
    let roberta = json!({"type": "RobertaProcessing", "sep": ["</s>", 18], "cls": ["<s>", 17], "trim_offsets": true,
        "add_prefix_space": false});
    let both = json!({"type": "Sequence", "processors": [{"type": "ByteLevel"}, bert, template]});
    [template, roberta, bert, both]
}

/// Reads a tokenizer, and the text after the zero byte with it.
pub(super) fn json(input: &[u8]) -> Result<(), Refusal> {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let text = input.get(end + 1..).unwrap_or_default();
    let tokenizer = Tokenizer::from_json(&input[..end])?;
    use_all(&tokenizer, text)?;
    TEXTS.iter().try_for_each(|text| use_all(&tokenizer, text.as_bytes()))
}

fn use_all(tokenizer: &Tokenizer, text: &[u8]) -> Result<(), Refusal> {
    let ids = block_on(tokenizer.encode("text", text))?;
    let some = block_on(tokenizer.encode_start("text", text, 3, &|_, _| {}))?;
    assert!(ids.starts_with(&some) || some.starts_with(&ids), "the beginning of a text has other tokens");
    let protocol = Protocol { piece_chars: 3, seq_len: 2, rows: 8, ..Protocol::default() };
    let pieces = block_on(tokenizer.encode_pieces("text", text, &protocol, &|_, _| {}))?;
    assert!(pieces.len() <= protocol.rows, "pieces give more tokens than rows");
    tokenizer.decode(&ids)?;
    for id in ids.iter().take(5).chain(&[0, 18, u32::MAX]) {
        let _ = (tokenizer.name(*id), tokenizer.decode(&[*id])?);
    }
    let _ = (tokenizer.unknown(), tokenizer.id("<s>"));
    Ok(())
}

/// The kind is told by the first byte: `{` of `vocab.json`, the first field of `tokenizer.model`, else `vocab.txt`.
pub(super) fn vocabulary_seeds() -> Vec<Vec<u8>> {
    let letters = ('!'..='~').chain('\u{a1}'..='\u{ac}').chain('\u{ae}'..='\u{143}');
    let mut vocab: serde_json::Map<String, Value> =
        letters.enumerate().map(|(id, letter)| (letter.to_string(), id.into())).collect();
    for token in ["th", "the", "\u{120}t", "<|endoftext|>"] {
        vocab.insert(token.into(), vocab.len().into());
    }
    let merges = "#version: 0.2\nt h\nth e\n\u{120} t\n";
    let config = json!({"add_prefix_space": true, "unk_token": {"content": "<|endoftext|>"}, "tokenizer_class": "Qwen2Tokenizer"});
    let byte_pairs = [Value::Object(vocab).to_string(), merges.into(), config.to_string()].join("\0");
    vec![
        byte_pairs.into_bytes(),
        b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##at\n##s\n,\n.\na\n##b\nc\n2\n".to_vec(),
        include_bytes!("../../../../tests/fixtures/tokenizers/bare.model").to_vec(),
        include_bytes!("../../../../tests/fixtures/tokenizers/bpe.model").to_vec(),
        include_bytes!("../../../../tests/fixtures/tokenizers/llama.model").to_vec(),
        include_bytes!("../../../../tests/fixtures/tokenizers/unigram.model").to_vec(),
    ]
}

/// Reads the older files of a tokenizer, and a text with it.
pub(super) fn vocabulary(input: &[u8]) -> Result<(), Refusal> {
    let mut parts = input.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let mut next = || parts.next().unwrap_or_default();
    let files = match input.first() {
        Some(b'{') => vec![("vocab.json", next()), ("merges.txt", next()), ("tokenizer_config.json", next())],
        Some(b'\n') => vec![("tokenizer.model", input.to_vec())],
        _ => vec![("vocab.txt", input.to_vec())],
    };
    // The configuration may be absent.
    let files: Vec<_> =
        files.into_iter().filter(|(name, bytes)| *name != "tokenizer_config.json" || !bytes.is_empty()).collect();
    let tokenizer = Tokenizer::from_files(&files)?;
    TEXTS.iter().try_for_each(|text| use_all(&tokenizer, text.as_bytes()))
}
