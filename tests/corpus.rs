//! From text to tokens, windows and folds, with the references' own tokenizers.

mod common;

use std::cell::Cell;
use std::fs;
use std::path::Path;

use futures::executor::block_on;
use straightedge::corpus::{Folds, TokenWindows, Tokenizer, check_ids, parse_token_ids};
use straightedge::error::Error;
use straightedge::job::{Job, Protocol};
use straightedge::run::{Text, extent};
use straightedge::weights::{FolderFiles, MemoryFiles};

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn protocol(rows: usize, seq_len: usize) -> Protocol {
    Protocol { rows, seq_len, ..Protocol::default() }
}

fn cut(tokens: usize, rows: usize, seq_len: usize, folds: usize) -> Result<Folds, Error> {
    let ids = (0..tokens as u32).collect();
    Folds::new("text", &TokenWindows::new("text", ids, &protocol(rows, seq_len))?, folds)
}

/// The reference's first two windows of 32 tokens, as encoded by its own tokenizer library.
fn golden_ids(folder: &Path) -> Vec<u32> {
    let bytes = read(folder.join("golden.safetensors"));
    let golden = safetensors::SafeTensors::deserialize(&bytes).expect("golden data");
    let ids = golden.tensor("input_ids").expect("input_ids");
    assert_eq!(ids.shape(), [2, 32]);
    ids.data().chunks_exact(8).map(|id| u64::from_le_bytes(id.try_into().expect("8 bytes")) as u32).collect()
}

#[test]
fn texts_are_encoded_as_the_reference_encodes_them() {
    for common::Reference { name, folder, text } in common::references() {
        let tokenizer = Tokenizer::from_json(&read(folder.join("tokenizer.json"))).expect(&name);
        let ids = block_on(tokenizer.encode("text", &read(text))).expect(&name);
        assert_eq!(ids[..64], golden_ids(&folder), "{name}");
        let expected: serde_json::Value = serde_json::from_slice(&read(folder.join("expected.json"))).expect(&name);
        let protocol = match expected["rows"].as_u64() {
            Some(rows) if folder.starts_with(common::fixture("")) => {
                Protocol { rows: rows as usize, ..Protocol::default() }
            }
            _ => Protocol::default(),
        };
        let windows = TokenWindows::new("text", ids, &protocol).expect(&name);
        assert_eq!(expected["windows"], windows.len(), "{name}: windows that the reference measured");
    }
}

#[test]
fn a_long_text_gives_the_same_tokens_in_pieces_and_at_once() {
    let text = read(common::encyclopedia());
    for model in ["tiny-gpt2", "tiny-bert"] {
        let mut tree: serde_json::Value =
            serde_json::from_slice(&read(common::fixture(model).join("tokenizer.json"))).expect(model);
        let pieces = Tokenizer::from_json(tree.to_string().as_bytes()).expect(model);
        // The same normaliser inside a wrapper that is not known to be safe to split.
        let known = tree["normalizer"].take();
        let unknown = serde_json::json!({"type": "Strip", "strip_left": false, "strip_right": false});
        let inner = if known.is_null() { vec![unknown] } else { vec![known, unknown] };
        tree["normalizer"] = serde_json::json!({"type": "Sequence", "normalizers": inner});
        let whole = Tokenizer::from_json(tree.to_string().as_bytes()).expect(model);
        let [pieces, whole] = [pieces, whole].map(|tokenizer| block_on(tokenizer.encode("text", &text)).expect(model));
        assert!(whole.len() > 100_000, "{model}");
        assert!(pieces == whole, "{model}: {} tokens in pieces, {} at once", pieces.len(), whole.len());
    }
}

#[test]
fn a_long_text_is_read_only_as_far_as_its_rows_need() {
    let text = read(common::encyclopedia()).repeat(16);
    assert!(text.len() > 5 << 20);
    let files = FolderFiles::new(common::fixture("tiny-gpt2"));
    let found = |text: &[u8], protocol: Protocol| {
        let job = Job { protocol, ..Job::new("tiny", "text") };
        let last = Cell::new((0, 0));
        let text = Text::Plain(text.to_vec());
        let size = block_on(extent(&job, &files, &text, &|done, total| last.set((done, total)))).expect("a size");
        (size, last.get())
    };
    let (size, (done, total)) = found(&text, protocol(20_000, 128));
    assert_eq!(size.rows, 19_968);
    assert!((20_000..60_000).contains(&size.tokens), "{}", size.tokens);
    assert!(done < total / 10 && total == text.len() as u64, "{done} of {total} bytes");
    // The whole of a shorter text, whatever its rows.
    let short = &text[..4 << 20];
    assert!(found(short, protocol(20_000, 128)).0.tokens > 1_000_000);
    // The rows are at fault, not the text.
    let (size, _) = found(&text, Protocol { folds: 200, ..protocol(1000, 128) });
    assert!(matches!(size.refusal, Some(Error::InvalidSetting { field, .. }) if field == "--rows"));

    let tokenizer = Tokenizer::from_json(&read(common::fixture("tiny-gpt2/tokenizer.json"))).expect("tokenizer");
    let start = block_on(tokenizer.encode_start("text", &text, 20_000, &|_, _| {})).expect("tokens");
    let whole = block_on(tokenizer.encode("text", &text[..1 << 20])).expect("tokens");
    assert!(start.len() >= 20_000);
    assert_eq!(start, whole[..start.len()]);
}

#[test]
fn a_text_that_cannot_be_cut_is_refused_before_it_takes_memory() {
    let tokenizer = Tokenizer::from_json(&read(common::fixture("tiny-gpt2/tokenizer.json"))).expect("tokenizer");
    let word = "word".repeat(5 << 20);
    let found = block_on(tokenizer.encode("text", word.as_bytes()));
    assert_eq!(found, Err(Error::UncutText { corpus: "text".into(), megabytes: 20 }));
    let after = format!("Some words first. {word}");
    assert!(matches!(block_on(tokenizer.encode("text", after.as_bytes())), Err(Error::UncutText { .. })));
    let start = block_on(tokenizer.encode_start("text", after.as_bytes(), 3, &|_, _| {}));
    assert!(matches!(start, Err(Error::UncutText { .. })), "the first piece has 64 kB");
    // A pattern of which nothing is proved: spaces are no remedy.
    let mut unknown: serde_json::Value =
        serde_json::from_slice(&read(common::fixture("tiny-gpt2/tokenizer.json"))).expect("JSON");
    unknown["pre_tokenizer"] = serde_json::json!({
        "type": "Split", "pattern": { "Regex": "[a-z]+| " }, "behavior": "Isolated", "invert": false
    });
    let unknown = Tokenizer::from_json(unknown.to_string().as_bytes()).expect("tokenizer");
    let spaced = block_on(unknown.encode("text", "some words ".repeat(1 << 20).as_bytes()));
    assert_eq!(spaced, Err(Error::WholeText { corpus: "text".into(), megabytes: 11, most: 4 }));
    let long = "word".repeat(1 << 18);
    assert!(block_on(tokenizer.encode("text", long.as_bytes())).expect("tokens").len() > 1 << 18);
}

#[test]
fn windows_are_whole_and_no_more_than_asked_for() {
    let windows =
        |tokens: u32, rows| TokenWindows::new("text", (0..tokens).collect(), &protocol(rows, 4)).expect("windows");
    assert_eq!(windows(23, 1000).len(), 5);
    assert_eq!(windows(23, 11).len(), 2);
    assert_eq!(windows(23, 1000).ids(1..3), [4, 5, 6, 7, 8, 9, 10, 11]);
    assert!(windows(3, 1000).is_empty());
}

#[test]
fn windows_may_begin_with_a_token_of_their_own() {
    let with = |tokens: u32, rows| {
        let protocol = Protocol { bos: true, ..protocol(rows, 4) };
        TokenWindows::after("text", (0..tokens).collect(), &protocol, Some(99)).expect("windows")
    };
    assert_eq!(with(11, 1000).len(), 3);
    assert_eq!(with(11, 1000).ids(1..3), [99, 3, 4, 5, 99, 6, 7, 8]);
    assert_eq!(with(11, 11).len(), 2, "rows count all positions");
    let alone = TokenWindows::after("text", vec![1, 2], &protocol(2, 1), Some(99));
    assert!(matches!(alone, Err(Error::InvalidSetting { field, .. }) if field == "--seq-len"));
}

/// A model of its own files: a configuration, and a tokenizer with two tokens.
fn model_with(config: &[(&str, serde_json::Value)]) -> MemoryFiles {
    let mut tree: serde_json::Value =
        serde_json::from_slice(&read(common::fixture("tiny-gpt2/config.json"))).expect("JSON");
    tree.as_object_mut().expect("an object").remove("bos_token_id");
    let mut files = MemoryFiles::default().with("tokenizer.json", read(common::fixture("tiny-gpt2/tokenizer.json")));
    for (file, value) in config {
        match *file {
            "config.json" => tree["bos_token_id"] = value.clone(),
            file => files = files.with(file, value.to_string().into_bytes()),
        }
    }
    files.with("config.json", tree.to_string().into_bytes())
}

#[test]
fn the_first_token_of_windows_is_the_one_that_the_model_names() {
    let json = |value: &str| serde_json::from_str::<serde_json::Value>(value).expect("JSON");
    let cases = [
        (vec![("config.json", json("7"))], Ok(())),
        (vec![("config.json", json("[7, 8]"))], Ok(())),
        (vec![("generation_config.json", json(r#"{"bos_token_id": 7}"#))], Ok(())),
        (vec![("tokenizer_config.json", json(r#"{"bos_token": {"content": "a"}}"#))], Ok(())),
        (vec![], Err("name no beginning-of-sequence token")),
        (
            vec![("config.json", json("null")), ("tokenizer_config.json", json(r#"{"bos_token": null}"#))],
            Err("name no"),
        ),
        (vec![("config.json", json("512"))], Err("token 512")),
    ];
    let text = Text::Tokens((0..500).collect());
    for (config, wanted) in cases {
        let job = Job { protocol: Protocol { bos: true, ..protocol(400, 4) }, ..Job::new("tiny", "text") };
        let found = block_on(extent(&job, &model_with(&config), &text, &|_, _| {}));
        match (found, wanted) {
            (Ok(size), Ok(())) => assert_eq!((size.tokens, size.rows), (500, 400), "{config:?}"),
            (Err(error), Err(why)) => assert!(error.to_string().contains(why), "{error}"),
            (found, _) => panic!("{config:?}: {found:?}"),
        }
    }
}

#[test]
fn folds_are_contiguous_and_the_last_is_the_largest() {
    for (windows, folds) in [(117, 5), (5, 5), (7, 2), (19, 4), (100, 3)] {
        let cut = cut(windows * 4, windows * 4, 4, folds).expect("folds");
        let starts: Vec<usize> = (0..folds).map(|fold| fold * windows / folds).collect();
        let ranges: Vec<_> = (0..folds).map(|fold| cut.windows(fold)).collect();
        assert_eq!(cut.len(), folds);
        assert_eq!(ranges.iter().map(|range| range.start).collect::<Vec<_>>(), starts);
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((ranges[0].start, ranges[folds - 1].end), (0, windows));
        assert!(ranges.iter().all(|range| !range.is_empty() && range.len() <= ranges[folds - 1].len()));
        assert_eq!(cut.all(), 0..windows);
    }
    // The survey's numbers: 117 windows of 128, 24 of them held out.
    let survey = cut(20_000, 15_000, 128, 5).expect("folds");
    assert_eq!(survey.windows(4), 93..117);
    assert_eq!(survey.train_rows(&Protocol::default()), 11_904);
    assert_eq!(survey.train_rows(&Protocol { skip_positions: 1, ..Protocol::default() }), 93 * 127);
}

#[test]
fn texts_too_short_are_refused_by_name() {
    let empty = TokenWindows::new("text", Vec::new(), &Protocol::default()).expect_err("no token");
    assert_eq!(empty, Error::EmptyText { corpus: "text".into() });
    let few = Error::TooFewWindows { corpus: "text".into(), tokens: 19, windows: 4, seq_len: 4, folds: 5 };
    assert_eq!(cut(19, 1000, 4, 5), Err(few));
    assert_eq!(cut(20, 1000, 4, 5).map(|folds| folds.all()), Ok(0..5));
    let few = Error::TooFewWindows { corpus: "rows".into(), tokens: 9, windows: 2, seq_len: 4, folds: 3 };
    assert_eq!(Folds::of_rows("rows", 9, 4, 3), Err(few));
    let Err(Error::InvalidSetting { field, value, .. }) = cut(1000, 19, 4, 5) else { panic!("--rows is at fault") };
    assert_eq!((field.as_str(), value.as_str()), ("--rows", "19"));
}

#[test]
fn training_rows_must_determine_the_map() {
    let protocol = protocol(40, 4);
    let folds = cut(40, 40, 4, 5).expect("folds");
    assert_eq!(folds.train_rows(&protocol), 32);
    assert_eq!(folds.check_rows("text", &protocol, 31), Ok(()));
    let few = Error::TooFewRows { corpus: "text".into(), train_rows: 32, needed: 33 };
    assert_eq!(folds.check_rows("text", &protocol, 32), Err(few));
}

#[test]
fn hostile_tokens_are_refused_by_position() {
    assert_eq!(parse_token_ids("ids.json", b"[3, 0, 4294967295]"), Ok(vec![3, 0, u32::MAX]));
    for json in ["", "[", "{}", "[[1]]", "[-1]", "[1.5]", "[\"1\"]", "[4294967296]", "[1] 2", "null"] {
        let found = parse_token_ids("ids.json", json.as_bytes());
        assert!(matches!(&found, Err(Error::MalformedJson { file, .. }) if file == "ids.json"), "{json}: {found:?}");
    }
    assert_eq!(check_ids("text", &[1, 511, 0], 512), Ok(()));
    let beyond = Error::TokenOutOfRange { corpus: "text".into(), position: 1, id: 512, vocab_size: 512 };
    assert_eq!(check_ids("text", &[1, 512, 9999], 512), Err(beyond));
}

#[test]
fn hostile_texts_and_tokenizers_are_refused() {
    let json = read(common::fixture("tiny-gpt2/tokenizer.json"));
    let tokenizer = Tokenizer::from_json(&json).expect("tokenizer");
    assert_eq!(block_on(tokenizer.encode("text", b"")), Ok(Vec::new()));
    let broken = Error::NotUtf8 { corpus: "text".into(), byte: 3 };
    assert_eq!(block_on(tokenizer.encode("text", b"abc\xff\xfe")), Err(broken));
    let intact: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let mut random = intact.clone();
    random["model"]["dropout"] = 0.5.into();
    let mut strange = intact.clone();
    strange["model"]["type"] = "Oracle".into();
    let mut lacking = intact;
    lacking["model"]["merges"][0] = serde_json::json!(["not in", "the vocabulary"]);
    let altered = [random, strange, lacking].map(|tree| tree.to_string().into_bytes());
    let cut_short = [&b""[..], b"{", b"[]", b"{}", &json[..json.len() / 2]];
    for json in cut_short.into_iter().chain(altered.iter().map(Vec::as_slice)) {
        let found = Tokenizer::from_json(json).map(|_| "accepted");
        assert!(matches!(found, Err(Error::Tokenizer { .. })), "{found:?}");
    }
}

#[test]
fn truncation_and_padding_of_the_file_do_not_apply() {
    let mut tree: serde_json::Value =
        serde_json::from_slice(&read(common::fixture("tiny-gpt2/tokenizer.json"))).expect("JSON");
    let text = b"The text is one stream, however long it may be.";
    let plain = Tokenizer::from_json(tree.to_string().as_bytes()).expect("tokenizer");
    tree["truncation"] =
        serde_json::json!({"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0});
    tree["padding"] = serde_json::json!({"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<|endoftext|>"});
    let dressed = Tokenizer::from_json(tree.to_string().as_bytes()).expect("tokenizer");
    let (plain, dressed) = (block_on(plain.encode("text", text)), block_on(dressed.encode("text", text)));
    assert_eq!(plain, dressed);
    assert!(plain.expect("encoding").len() > 8);
}

#[test]
fn interleaved_folds_deal_every_window_once_and_take_turns() {
    for (windows, folds) in [(10, 5), (23, 5), (7, 3), (5, 5), (117, 7)] {
        let contiguous = cut(windows * 4, windows * 4, 4, folds).expect("folds");
        let dealt = contiguous.interleaved(true);
        let order: Vec<usize> = dealt.all().map(|position| dealt.window_at(position)).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..windows).collect::<Vec<_>>(), "{windows} windows, {folds} folds");
        for at in 0..folds {
            let held: Vec<usize> = dealt.windows(at).map(|position| dealt.window_at(position)).collect();
            let turns = windows / folds;
            let expected: Vec<usize> = (0..turns).map(|turn| turn * folds + at).collect();
            assert_eq!(held[..turns], expected, "{windows} windows, fold {at} of {folds}");
            assert!(held[turns..].iter().all(|window| *window >= turns * folds), "{held:?}");
        }
        assert!(contiguous.all().all(|position| contiguous.window_at(position) == position));
    }
}

#[test]
fn interleaved_windows_are_those_of_the_text_in_the_order_of_the_folds() {
    let protocol = Protocol { interleaved_folds: true, ..protocol(24, 4) };
    let windows = TokenWindows::new("text", (0..24).collect(), &protocol).expect("windows");
    let folds = Folds::new("text", &windows, 3).expect("folds").interleaved(true);
    let ids = windows.in_order_of(&folds);
    assert_eq!(ids.ids(folds.windows(0)), [0, 1, 2, 3, 12, 13, 14, 15]);
    assert_eq!(ids.ids(folds.windows(2)), [8, 9, 10, 11, 20, 21, 22, 23]);
}
