//! Tokenizers without `tokenizer.json`, against the libraries that they come from.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use futures::executor::block_on;
use serde_json::{Value, json};
use straightedge::corpus::{TOKENIZER_KINDS, Tokenizer, check_tokenizer_size, tokenizer_files};
use straightedge::error::Error;
use straightedge::job::Protocol;
use straightedge_random::Random;

type Named = Vec<(&'static str, Vec<u8>)>;

fn fixture(path: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(path: &str) -> Value {
    serde_json::from_slice(&fixture(path)).expect("JSON")
}

fn encode(files: &Named, text: &str) -> Result<Vec<u32>, Error> {
    block_on(Tokenizer::from_files(files)?.encode("text", text.as_bytes()))
}

/// The older files of a vocabulary, from a `tokenizer.json`.
fn byte_level() -> Named {
    let model = &read("tiny-gpt2/tokenizer.json")["model"];
    let merges = model["merges"].as_array().expect("merges").iter();
    let lines =
        merges.map(|pair| format!("{} {}\n", pair[0].as_str().expect("a token"), pair[1].as_str().expect("a token")));
    let merges = format!("#version: 0.2\n{}", lines.collect::<String>());
    vec![("vocab.json", model["vocab"].to_string().into_bytes()), ("merges.txt", merges.into_bytes())]
}

fn word_pieces(line_end: &str) -> Named {
    let tree = read("tiny-bert/tokenizer.json");
    let mut tokens: Vec<_> = tree["model"]["vocab"].as_object().expect("a vocabulary").iter().collect();
    tokens.sort_by_key(|(_, id)| id.as_u64());
    let lines: String = tokens.iter().map(|(token, _)| format!("{token}{line_end}")).collect();
    vec![("vocab.txt", lines.into_bytes())]
}

fn with_config(mut files: Named, config: &Value) -> Named {
    files.push(("tokenizer_config.json", config.to_string().into_bytes()));
    files
}

fn model(name: &str) -> Named {
    vec![("tokenizer.model", fixture(&format!("tokenizers/{name}.model")))]
}

#[test]
fn tokens_are_those_of_sentencepiece_and_transformers() {
    let expected = read("tokenizers/expected.json");
    let texts: Vec<&str> = expected["texts"].as_array().expect("texts").iter().filter_map(Value::as_str).collect();
    assert!(texts.len() >= 14);
    let cases: [(&str, Named); 8] = [
        ("llama", model("llama")),
        ("bpe", model("bpe")),
        ("unigram", model("unigram")),
        ("bare", model("bare")),
        ("byte_level", byte_level()),
        ("uncased", word_pieces("\n")),
        ("uncased", word_pieces("\r\n")),
        ("cased", with_config(word_pieces("\n"), &json!({"do_lower_case": false}))),
    ];
    for (name, files) in cases {
        for (index, text) in texts.iter().enumerate() {
            let found = encode(&files, text).expect(name);
            let wanted: Vec<u32> = serde_json::from_value(expected[name][index].clone()).expect(name);
            assert_eq!(found, wanted, "{name}: {text:?}");
        }
    }
}

#[test]
fn the_older_files_are_the_newer_one_in_another_form() {
    let text = String::from_utf8(fixture("texts/encyclopedia.txt")).expect("UTF-8");
    for (name, files) in [("tiny-gpt2", byte_level()), ("tiny-bert", word_pieces("\n"))] {
        let whole = vec![("tokenizer.json", fixture(&format!("{name}/tokenizer.json")))];
        assert_eq!(encode(&files, &text), encode(&whole, &text), "{name}");
    }
}

#[test]
fn a_text_comes_back_from_the_tokens_of_sentencepiece() {
    for name in ["llama", "bare"] {
        let tokenizer = Tokenizer::from_files(&model(name)).expect(name);
        for text in ["The river  Elbe", "Москва 中文 🦉\n", "x"] {
            let ids = block_on(tokenizer.encode("text", text.as_bytes())).expect(name);
            assert_eq!(tokenizer.decode(&ids).as_deref(), Ok(text), "{name}");
        }
    }
}

#[test]
fn the_files_of_a_tokenizer_are_found_in_order_of_preference() {
    let of = |names: &[&str]| tokenizer_files(|file| names.contains(&file));
    assert_eq!(of(&["vocab.txt", "tokenizer.json", "tokenizer_config.json"]), Some(vec!["tokenizer.json"]));
    let older = ["merges.txt", "vocab.json", "tokenizer_config.json", "vocab.txt"];
    assert_eq!(of(&older), Some(vec!["vocab.json", "merges.txt", "tokenizer_config.json"]));
    assert_eq!(of(&["vocab.json", "tokenizer.model"]), Some(vec!["tokenizer.model"]));
    assert_eq!(of(&["vocab.json", "tokenizer_config.json"]), None);
    assert_eq!(TOKENIZER_KINDS.len(), 4);
    assert!(
        matches!(Tokenizer::from_files(&[]).err(), Some(Error::MissingFile { file, .. }) if file == "tokenizer.json")
    );
    assert!(check_tokenizer_size("vocab.json", 1 << 20).is_ok());
    let refused = check_tokenizer_size("vocab.json", 10_000_000_000);
    assert!(matches!(refused, Err(Error::Tokenizer { why }) if why.starts_with("vocab.json: ")));
}

#[track_caller]
fn refused(files: &Named, file: &str, why: &str) {
    let refusal = Tokenizer::from_files(files).err().expect("a refusal").to_string();
    assert!(refusal.starts_with(file) && refusal.contains(why), "{refusal}");
}

#[test]
fn files_that_do_not_fit_are_refused_by_name() {
    let replaced = |name: &'static str, content: &str| {
        let mut files = byte_level();
        let at = files.iter().position(|(file, _)| *file == name).expect("a file");
        files[at].1 = content.into();
        files
    };
    refused(&replaced("vocab.json", "{"), "vocab.json", "malformed");
    refused(&replaced("vocab.json", "[]"), "vocab.json", "no list of tokens");
    refused(&replaced("vocab.json", r#"{"a</w>": 0}"#), "vocab.json", "256 of 256 bytes are missing");
    refused(&replaced("merges.txt", "one\n"), "vocab.json", "no pair of tokens");
    refused(&replaced("merges.txt", "not there\n"), "vocab.json", "merges[0] names a token");
    refused(&vec![("vocab.txt", b"the\nof\n".to_vec())], "vocab.txt", "[UNK]");
    refused(&vec![("vocab.txt", vec![0xff])], "vocab.txt", "UTF-8");
    refused(&vec![("tokenizer.model", b"\x0a\xff".to_vec())], "tokenizer.model", "damaged");
    refused(&vec![("tokenizer.model", Vec::new())], "tokenizer.model", "no unknown piece");
}

#[test]
fn a_damaged_model_of_sentencepiece_does_not_panic() {
    let mut accepted = 0;
    for name in ["llama", "bpe", "unigram", "bare"] {
        let intact = fixture(&format!("tokenizers/{name}.model"));
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let mut bytes = intact.clone();
            if seed % 4 == 0 {
                bytes.truncate(random.below(intact.len()));
            }
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len().max(1));
                // The settings of the trainer and the normaliser lie at the end.
                let at = if random.below(2) == 0 { bytes.len().saturating_sub(1 + at % 400) } else { at };
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.bits() as u8;
                }
            }
            let found =
                catch_unwind(AssertUnwindSafe(|| encode(&vec![("tokenizer.model", bytes)], "The river ﬁ 中 e")));
            let found = found.unwrap_or_else(|_| panic!("{name}: seed {seed} panics"));
            let refusal = found.as_ref().err().map(Error::to_string).unwrap_or_default();
            assert!(!refusal.contains("the crate tokenizers fails"), "{name}: seed {seed}: {refusal}");
            accepted += usize::from(found.is_ok());
        }
    }
    assert!(accepted > 200, "only {accepted} were tried on the text");
}

#[test]
fn pieces_of_a_text_are_tokenised_each_by_itself_with_special_tokens() {
    let expected = read("pieces.json");
    let mut tree = read("tiny-bert/tokenizer.json");
    tree["post_processor"] = expected["post_processor"].clone();
    let tokenizer = Tokenizer::from_files(&[("tokenizer.json", tree.to_string().into_bytes())]).expect("a tokenizer");
    let number = |name: &str| usize::try_from(expected[name].as_u64().expect(name)).expect(name);
    let (seq_len, windows) = (number("seq_len"), number("windows"));
    assert!(windows < number("pieces"), "some are too short");
    let protocol = |rows| Protocol { rows, seq_len, piece_chars: number("piece_chars"), ..Protocol::default() };
    let encoded = |rows| {
        let text = fixture("texts/encyclopedia.txt");
        block_on(tokenizer.encode_pieces("text", &text, &protocol(rows), &|_, _| ())).expect("tokens")
    };
    let window = |ids: &[u32], at: usize| json!(ids[at * seq_len..(at + 1) * seq_len]);
    let all = encoded(usize::MAX >> 1);
    assert_eq!(all.len(), windows * seq_len);
    for (at, first) in expected["first"].as_array().expect("windows").iter().enumerate() {
        assert_eq!(window(&all, at), *first, "window {at}");
    }
    assert_eq!(window(&all, windows - 1), expected["last"]);
    assert_eq!(encoded(3 * seq_len + 1), all[..3 * seq_len], "no more than the rows need");
}
