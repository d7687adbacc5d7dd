//! Hostile tokenizers: each is refused in a sentence or works, and none panics.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::executor::block_on;
use serde_json::{Value, json};
use straightedge::corpus::Tokenizer;
use straightedge::error::Error;
use straightedge::job::Protocol;
use straightedge_random::Random;

/// Several scripts, blanks, line ends, a special token, and characters that normalisers change.
const TEXT: &str = "A b  c   d\n e \r\n\r\nf1 23 4567 x's y 've ﬁ ½ İ e\u{301} \u{301}z 中文，日本。 слово <|endoftext|> <s>r t,u . v\t\u{a0}y🦉  ";

fn fixture(path: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn tiny(model: &str) -> Value {
    serde_json::from_slice(&fixture(&format!("tests/fixtures/{model}/tokenizer.json"))).expect("JSON")
}

/// Loads, encodes and decodes.
fn run(tree: &Value) -> Result<Vec<u32>, Error> {
    let tokenizer = Tokenizer::from_json(tree.to_string().as_bytes())?;
    let ids = block_on(tokenizer.encode("text", TEXT.as_bytes()))?;
    for ids in [&ids[..], &ids[..ids.len().min(1)], &[], &[u32::MAX]] {
        tokenizer.decode(ids)?;
    }
    Ok(ids)
}

/// Refused by the check of the file, not by a caught panic.
fn refused(tree: &Value, field: &str) {
    let found = run(tree);
    let Err(Error::Tokenizer { why }) = &found else { panic!("{field}: {found:?}") };
    assert!(why.starts_with(&format!("tokenizer.json: {field}")), "{field}: {why}");
}

fn with(model: &str, kind: &str, component: Value) -> Value {
    let mut tree = tiny(model);
    tree[kind] = component;
    tree
}

fn sequence(list: &str, steps: impl IntoIterator<Item = Value>) -> Value {
    let steps: Vec<_> = steps.into_iter().collect();
    json!({"type": "Sequence", list: steps})
}

fn replace(pattern: Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

#[test]
fn normalisers_that_break_the_crate_are_refused() {
    let cases = [
        (json!({"type": "Prepend", "prepend": ""}), "normalizer.prepend is empty"),
        (replace(json!({"String": ""}), "xy"), "normalizer.pattern is empty"),
        (
            sequence("normalizers", [replace(json!({"Regex": "^"}), "xy"), json!({"type": "NFC"})]),
            "normalizer.normalizers[0].pattern can match nothing",
        ),
        (json!({"type": "Precompiled"}), "normalizer.precompiled_charsmap cannot be used"),
        (json!({"type": "Precompiled", "precompiled_charsmap": "!"}), "normalizer.precompiled_charsmap cannot be used"),
        (json!({"type": "Precompiled", "precompiled_charsmap": ""}), "normalizer.precompiled_charsmap cannot be used"),
        (json!({"type": "Precompiled", "precompiled_charsmap": 1}), "normalizer.precompiled_charsmap cannot be used"),
    ];
    for (component, why) in cases {
        refused(&with("tiny-gpt2", "normalizer", component), why);
    }
    // A trie said to have 4 GB, of which 8 bytes follow; and one whose first unit points far outside.
    let outside = [&1024u32.to_le_bytes()[..], &[0xff; 1024]].concat();
    for table in [&[0xff; 12][..], &outside] {
        let component = json!({"type": "Precompiled", "precompiled_charsmap": STANDARD.encode(table)});
        refused(&with("tiny-gpt2", "normalizer", component), "normalizer.precompiled_charsmap cannot be used");
    }
}

#[test]
fn normalisers_that_multiply_a_text_are_refused() {
    let doubled = || replace(json!({"Regex": "."}), "xx");
    let many = sequence("normalizers", (0..40).map(|_| doubled()));
    refused(&with("tiny-gpt2", "normalizer", many), "normalizer.normalizers[12] can make a text more than");
    let nested = (0..30).fold(doubled(), |inner, _| sequence("normalizers", [inner, doubled()]));
    refused(&with("tiny-gpt2", "normalizer", nested), "normalizer.normalizers[0]");
    let long = replace(json!({"String": "a"}), &"x".repeat(5000));
    refused(&with("tiny-gpt2", "normalizer", long), "normalizer can make a text more than");
    let idle = sequence("normalizers", (0..100).map(|_| json!({"type": "NFC"})));
    assert!(matches!(run(&with("tiny-gpt2", "normalizer", idle)), Err(Error::Tokenizer { .. })));
}

#[test]
fn pre_tokenizers_and_decoders_that_break_the_crate_are_refused() {
    let empty = json!({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": false});
    let cases = [
        ("pre_tokenizer", json!({"type": "FixedLength", "length": 0}), "pre_tokenizer.length is 0"),
        ("pre_tokenizer", json!({"length": 0}), "pre_tokenizer.length is 0"),
        ("pre_tokenizer", sequence("pretokenizers", [empty]), "pre_tokenizer.pretokenizers[0].pattern is empty"),
        ("decoder", json!({"type": "Strip", "content": " ", "start": 0, "stop": 100}), "decoder.stop is not 0"),
        (
            "decoder",
            json!({"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": true}),
            "decoder.type",
        ),
    ];
    for (kind, component, why) in cases {
        refused(&with("tiny-gpt2", kind, component), why);
    }
}

#[test]
fn models_that_break_the_crate_are_refused() {
    let mut long = tiny("tiny-gpt2");
    let longest = "a".repeat(40);
    long["model"]["vocab"][&longest] = json!(600);
    long["model"]["merges"] = json!([[longest, "b"]]);
    refused(&long, "model.merges[0] names a token");
    let mut short = tiny("tiny-gpt2");
    short["model"]["continuing_subword_prefix"] = json!("####");
    refused(&short, "model.merges[0] lacks model.continuing_subword_prefix");
    let mut wide = tiny("tiny-bert");
    wide["model"]["max_input_chars_per_word"] = json!(1u64 << 40);
    refused(&wide, "model.max_input_chars_per_word");
    let mut deep = tiny("tiny-gpt2");
    deep["model"] = json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a".repeat(1 << 20), -1.0]]});
    refused(&deep, "model.vocab[1] is longer");
    let mut blank = tiny("tiny-gpt2");
    let token = |content: &str, lstrip: bool, rstrip: bool| {
        json!({"id": 0, "content": content, "single_word": false, "lstrip": lstrip, "rstrip": rstrip,
            "normalized": false, "special": false})
    };
    blank["added_tokens"] = json!([token("A", false, true), token(" ", true, false)]);
    refused(&blank, "added_tokens[1] is blank");
}

#[test]
fn a_field_that_is_there_twice_counts_once() {
    let json = String::from_utf8(fixture("tests/fixtures/tiny-gpt2/tokenizer.json")).expect("UTF-8");
    let twice = json.replacen('{', r#"{"normalizer": {"type": "Prepend", "prepend": ""},"#, 1);
    assert!(serde_json::from_str::<Value>(&twice).is_ok());
    let ids = |json: &str| {
        block_on(Tokenizer::from_json(json.as_bytes()).expect("a tokenizer").encode("text", TEXT.as_bytes()))
    };
    assert_eq!(ids(&twice), ids(&json));
}

fn split(pattern: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}

/// What a tokenizer with a component does, of which only the reading is of interest.
fn reads(kind: &str, component: Value) -> Result<(), Error> {
    Tokenizer::from_json(with("tiny-gpt2", kind, component).to_string().as_bytes()).map(drop)
}

/// The patterns of known tokenizers.
const KNOWN: [&str; 29] = [
    // GPT-2.
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    // cl100k, as first published and since; as of Llama 3, Qwen2, Qwen3.5, Seed-Coder and Ling.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    // o200k, Tekken and Kimi K2.
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // DeepSeek LLM, Coder and V3.
    "[\r\n]",
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u{1f7d}ᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-\u{1fd3}ῖ-\u{1fdb}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u{2126}ℨ\u{212a}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    r"[一-龥ࠀ-一가-퟿]+",
    r"\s?\p{P}+",
    r"[一-龥぀-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    // BLOOM, Falcon and SuperBPE.
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"[0-9][0-9][0-9]",
    r"(?=(\d{3})+(?!\d))",
    r"\d{1,3}(?=(?:\d{3})*\b)",
    r"(?:\r?\n)+(?!\r?\n)",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)",
    // CLIP, Chameleon.
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
    r"[\p{P}!-/:-@\[-`{-~]",
    // Those of normalisers.
    r"^ +| +$",
    r" {2,}",
];

#[test]
fn the_patterns_of_known_tokenizers_are_read() {
    for pattern in KNOWN {
        assert_eq!(reads("pre_tokenizer", split(pattern)), Ok(()), "{pattern}");
    }
}

#[test]
fn patterns_that_may_take_too_long_are_refused() {
    let choice = r"(?:(?=[^\u0000])|(?=[^\u0000]))";
    let patterns = [
        format!(r"(?:{}\u0000|[^\u0000])", choice.repeat(19)),
        (1..=60).map(|count| format!(r"(?=\pL{{{count}}})")).collect(),
        // Many steps for each character.
        r"(?:a|a)*\b".into(),
        r"(a*)*(?!b)".into(),
        r"(?:a|ab)(?:a|ab)(?!c)".into(),
        r"(a+)\1".into(),
        r"a*a*(?!b)".into(),
        r"[^\u0000]*[^\u0000]++\u0000|[^\u0000]".into(),
        r"a*b++c".into(),
        r"a?a?a?a?(?!b)".into(),
        r"a{2,3}a{2,3}(?!b)".into(),
        r"a(?!b+)".into(),
        r"a(?=b)c(?=d)".into(),
        r"(?<=a*)b".into(),
        r"(?>a*)b*c*(?!d)".into(),
        r"(?(a)b|c)".into(),
        // Much memory.
        r"\w{65}".into(),
        r"(?:\w{9}){9}".into(),
        r"\w{60}".repeat(9),
        "a|".repeat(32) + r"\w+(?!a)",
        [r"(?:ab|c)de++"; 30].join("|"),
        "a".repeat(2049),
        // What readers do not agree about.
        r"[a[]|(?=x)]b]".into(),
        r"[A-[](?=x)]]".into(),
        r"(?x)a+ +".into(),
        r"a{2}{3}".into(),
        r"\<a*".into(),
        r"a)(b".into(),
    ];
    for pattern in patterns {
        let found = reads("pre_tokenizer", sequence("pretokenizers", [split(&pattern)]));
        let Err(Error::Tokenizer { why }) = &found else { panic!("{pattern}: {found:?}") };
        assert!(why.starts_with("tokenizer.json: pre_tokenizer.pretokenizers[0].pattern "), "{pattern}: {why}");
        assert!(why.len() < 200, "{why}");
    }
    let literal =
        json!({"type": "Split", "pattern": {"String": "a".repeat(2049)}, "behavior": "Removed", "invert": false});
    refused(&with("tiny-gpt2", "pre_tokenizer", literal), "pre_tokenizer.pattern is longer than 2 kB");
}

#[test]
fn components_without_names_of_their_fields_are_refused() {
    let step = json!([{"String": "a"}, "b"]);
    refused(&with("tiny-gpt2", "normalizer", step.clone()), "normalizer is not a JSON object");
    refused(&with("tiny-gpt2", "normalizer", sequence("normalizers", [step])), "normalizer.normalizers[0] is not");
    let step = json!(["Split", {"Regex": "a"}, "Isolated", false]);
    refused(&with("tiny-gpt2", "pre_tokenizer", step), "pre_tokenizer is not a JSON object");
}

/// A tokenizer of words with an unknown token of some length, which takes a text as one word.
fn with_unknown(len: usize) -> Value {
    let unknown = "u".repeat(len);
    let mut tree = tiny("tiny-gpt2");
    tree["model"] = json!({"type": "WordLevel", "vocab": {"a": 1, &unknown: 0}, "unk_token": unknown});
    tree["pre_tokenizer"] = Value::Null;
    tree
}

#[test]
fn tokens_of_long_texts_are_refused() {
    refused(&with_unknown(1 << 20), "model.unk_token is longer than 1024 bytes");
    let mut key = tiny("tiny-gpt2");
    key["model"]["vocab"]["a".repeat(1025)] = json!(600);
    refused(&key, "model.vocab[600] is longer than 1024 bytes");
    let mut added = tiny("tiny-gpt2");
    added["added_tokens"] = json!([{"id": 600, "content": "b".repeat(1025), "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true}]);
    refused(&added, "added_tokens[0] is longer than 1024 bytes");
    assert!(run(&with_unknown(1024)).is_ok());
}

#[test]
fn a_text_is_the_shorter_the_more_text_its_tokens_hold() {
    let encode = |tree: &Value, len: usize| {
        let tokenizer = Tokenizer::from_json(tree.to_string().as_bytes()).expect("a tokenizer");
        block_on(tokenizer.encode("text", "x".repeat(len).as_bytes()))
    };
    let refusal = |megabytes, most| Err(Error::WholeText { corpus: "text".into(), megabytes, most });
    assert_eq!(encode(&with_unknown(16), 3 << 20), Ok(vec![0]));
    assert_eq!(encode(&with_unknown(17 << 4), 4 << 20), refusal(4, 3));
    assert_eq!(encode(&with_unknown(1024), 1 << 20), Ok(vec![0]));
    assert_eq!(encode(&with_unknown(1024), 2 << 20), refusal(2, 1));
    // A token whose id another one has may be given the text of that.
    let mut shared = with_unknown(5);
    shared["model"]["vocab"]["v".repeat(1024)] = json!(1);
    assert_eq!(encode(&shared, 2 << 20), refusal(2, 1));
    shared["model"]["vocab"]["v".repeat(1024)] = json!(2);
    assert_eq!(encode(&shared, 2 << 20), Ok(vec![0]));
}

#[test]
fn pieces_are_no_longer_than_what_is_encoded_at_once() {
    let tokenizer = Tokenizer::from_json(with_unknown(1024).to_string().as_bytes()).expect("a tokenizer");
    let encode = |piece_chars: usize| {
        let protocol = Protocol { piece_chars, seq_len: 1, rows: 2, ..Protocol::default() };
        let text = "x".repeat(2 << 20);
        block_on(tokenizer.encode_pieces("text", text.as_bytes(), &protocol, &|_, _| {}))
    };
    assert_eq!(encode(1 << 20), Ok(vec![0, 0]));
    assert_eq!(encode(3 << 19), Err(Error::UncutText { corpus: "text".into(), megabytes: 2 }));
}

#[test]
fn many_tokens_around_a_text_are_refused() {
    let token = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let template = |before: usize, ids: usize| {
        let parts: Vec<_> = std::iter::repeat_n(token("<s>"), before).chain([text.clone(), token("<s>")]).collect();
        json!({"type": "TemplateProcessing", "single": parts, "special_tokens": {"<s>": {"ids": vec![1; ids]}}})
    };
    let bert = json!({"type": "BertProcessing", "sep": ["</s>", 8], "cls": ["<s>", 7]});
    let many = |count: usize| sequence("processors", vec![bert.clone(); count]);
    let why = "post_processor adds more than 64 tokens";
    for step in [
        template(65, 1),
        template(0, 65),
        template(1, 65),
        many(65),
        sequence("processors", [many(64), template(0, 1)]),
    ] {
        refused(&with("tiny-gpt2", "post_processor", step), why);
    }
    for step in [template(64, 1), template(1, 64), many(64)] {
        assert_eq!(reads("post_processor", step), Ok(()));
    }
}

fn one<'a>(random: &mut Random, names: &[&'a str]) -> &'a str {
    names[random.below(names.len())]
}

/// Components that the mutations put in place of others.
fn components(random: &mut Random) -> Value {
    let pattern = [
        json!({"String": " "}),
        json!({"String": "e"}),
        json!({"Regex": r"\s+"}),
        json!({"Regex": r"\p{L}"}),
        json!({"Regex": "x*"}),
    ];
    let pattern = pattern[random.below(pattern.len())].clone();
    let content = ["", " ", "▁", "xyz", "\u{301}"][random.below(5)];
    let behavior = ["Isolated", "Removed", "MergedWithNext", "MergedWithPrevious", "Contiguous"][random.below(5)];
    let flag = random.below(2) == 0;
    match random.below(30) {
        0 => replace(pattern, content),
        1 => json!({"type": "Prepend", "prepend": content}),
        2 => json!({"type": one(random, &["NFC", "NFD", "NFKC", "NFKD"])}),
        3 => json!({"type": one(random, &["Lowercase", "StripAccents", "Nmt", "ByteLevel"])}),
        4 => json!({"type": "Strip", "strip_left": flag, "strip_right": !flag}),
        5 => {
            json!({"type": "BertNormalizer", "clean_text": flag, "handle_chinese_chars": !flag, "strip_accents": null, "lowercase": true})
        }
        6 => json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": flag}),
        7 => {
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": one(random, &["always", "first", "never"]), "split": flag})
        }
        8 => {
            json!({"type": "ByteLevel", "add_prefix_space": flag, "trim_offsets": !flag, "use_regex": random.below(2) == 0})
        }
        9 => json!({"type": one(random, &["Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"])}),
        10 => json!({"type": "Punctuation", "behavior": behavior}),
        11 => json!({"type": "Digits", "individual_digits": flag}),
        12 => json!({"type": "CharDelimiterSplit", "delimiter": "e"}),
        13 => json!({"type": "FixedLength", "length": random.below(4)}),
        14 => json!({"type": "BPEDecoder", "suffix": content}),
        15 => json!({"type": "WordPiece", "prefix": content, "cleanup": flag}),
        16 => json!({"type": one(random, &["Fuse", "ByteFallback"])}),
        17 => json!({"type": "Strip", "content": "e", "start": random.below(4), "stop": random.below(3)}),
        18..=20 => {
            let list = ["normalizers", "pretokenizers", "decoders"][random.below(3)];
            let steps = (0..random.below(4)).map(|_| components(random)).collect::<Vec<_>>();
            sequence(list, steps)
        }
        21 => {
            json!({"type": "Precompiled", "precompiled_charsmap": STANDARD.encode(vec![random.below(256) as u8; random.below(40)])})
        }
        22 => json!({"type": "Precompiled", "precompiled_charsmap": STANDARD.encode(charsmap(random))}),
        23 => json!(content),
        24 => json!(random.below(300)),
        25 => json!(-1),
        26 => json!(flag),
        27 => Value::Null,
        28 => json!([content, content]),
        _ => json!({"id": random.below(5), "content": content, "single_word": flag, "lstrip": random.below(2) == 0,
            "rstrip": random.below(2) == 0, "normalized": random.below(2) == 0, "special": !flag}),
    }
}

/// A table of a trie of 256 units, some of them damaged.
fn charsmap(random: &mut Random) -> Vec<u8> {
    let mut units = [0u32; 256];
    for letter in *b"aeEAx" {
        units[usize::from(letter)] = u32::from(letter) | 1 << 8 | 1 << 10;
        units[usize::from(letter ^ 1)] = random.below(6) as u32;
    }
    for _ in 0..random.below(3) {
        units[random.below(256)] = random.bits() as u32 >> random.below(32);
    }
    let units = units.iter().flat_map(|unit| unit.to_le_bytes());
    [&1024u32.to_le_bytes()[..], &units.collect::<Vec<_>>(), "xé\0yz\0".as_bytes()].concat()
}

/// Replaces, removes or moves something at a random place.
fn mutate(value: &mut Value, random: &mut Random) {
    if random.below(4) == 0 {
        *value = components(random);
        return;
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(random.below(fields.len())).expect("a key").clone();
            match random.below(8) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert(format!("{key}{key}"), json!(random.below(600)))),
                _ => mutate(&mut fields[&key], random),
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let (at, other) = (random.below(items.len()), random.below(items.len()));
            match random.below(6) {
                0 => drop(items.remove(at)),
                1 => items.swap(at, other),
                2 => items.push(items[at].clone()),
                _ => mutate(&mut items[at], random),
            }
        }
        Value::String(text) => {
            let other: String = TEXT.chars().skip(random.below(40)).take(random.below(4)).collect();
            *text = if random.below(2) == 0 { other } else { format!("{text}{other}") };
        }
        value => *value = components(random),
    }
}

#[test]
fn ten_thousand_mutations_do_not_panic() {
    let demo: Value = serde_json::from_slice(&fixture("web/models/demo-gpt2/tokenizer.json")).expect("JSON");
    let mut pieces = tiny("tiny-gpt2");
    let vocab: Vec<_> =
        pieces["model"]["vocab"].as_object().expect("a vocabulary").keys().map(|token| json!([token, -1.5])).collect();
    pieces["model"] = json!({"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": true});
    pieces["pre_tokenizer"] = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"});
    let bases = [tiny("tiny-gpt2"), tiny("tiny-bert"), pieces, demo];
    let mut accepted = 0;
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let mut tree = bases[if seed % 50 == 0 { 3 } else { seed as usize % 3 }].clone();
        for _ in 0..=random.below(3) {
            let kind =
                ["normalizer", "pre_tokenizer", "decoder", "added_tokens", "model", "post_processor"][random.below(6)];
            match random.below(4) {
                0 => tree[kind] = components(&mut random),
                _ => mutate(&mut tree[kind], &mut random),
            }
        }
        let found = catch_unwind(AssertUnwindSafe(|| run(&tree)));
        let found = found.unwrap_or_else(|_| panic!("seed {seed} panics"));
        if let Err(error) = &found {
            let sentence = error.to_string();
            assert!(!sentence.contains("the crate tokenizers fails"), "seed {seed}: a caught panic: {sentence}");
        }
        accepted += usize::from(found.is_ok());
    }
    assert!(accepted > 1000, "only {accepted} tokenizers were tried on the text");
}
