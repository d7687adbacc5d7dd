//! Truncated or inconsistent weight files: each causes the error that names the fault, and never a panic.

mod common;

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;

use common::fixture;
use common::synthetic::{TestTensor, f32s, file, open, safetensors, single};
use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use half::{bf16, f16};
use serde_json::{Value, json};
use straightedge::error::Error;
use straightedge::job::{Job, ROWS_WINDOW};
use straightedge::platform::digest::sha256;
use straightedge::report::Report;
use straightedge::run::rows_extent;
use straightedge::weights::{Files, FolderFiles, MemoryFiles, RowsFile};

fn open_error(bytes: Vec<u8>) -> Error {
    open(single(bytes)).map(|_| "accepted").expect_err("the file lies")
}

fn is_malformed(error: &Error) -> bool {
    matches!(error, Error::MalformedWeights { file, why } if file == "model.safetensors" && !why.is_empty())
}

#[test]
fn an_honest_file_is_read_tensor_by_tensor() {
    let halves: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect();
    let brains: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|&value| bf16::from_f32(value).to_le_bytes()).collect();
    let bytes = safetensors(&[
        f32s("a", &[2, 1], &[0.25, -3.0]),
        TestTensor { name: "b".into(), dtype: "F16", shape: vec![2], bytes: halves },
        TestTensor { name: "c".into(), dtype: "BF16", shape: vec![1, 2], bytes: brains },
        TestTensor { name: "mask".into(), dtype: "U8", shape: vec![3], bytes: vec![1, 0, 1] },
        f32s("d", &[], &[7.0]),
        f32s("e", &[0, 5], &[]),
    ]);
    let hash = sha256(&bytes);
    let weights = open(single(bytes)).expect("an honest file");
    let tensor = |name: &str, shape: &[usize]| block_on(weights.tensor(name, shape));
    assert_eq!(tensor("a", &[2, 1]), Ok(vec![0.25, -3.0]));
    assert_eq!(tensor("b", &[2]), Ok(vec![1.5, -2.0]));
    assert_eq!(tensor("c", &[1, 2]), Ok(vec![1.5, -2.0]));
    assert_eq!(tensor("d", &[]), Ok(vec![7.0]));
    assert_eq!(tensor("e", &[0, 5]), Ok(vec![]));
    assert_eq!((weights.total_bytes(), weights.bytes("a"), weights.dtype()), (8 + 4 + 4 + 3 + 4, 8, Some("F32")));
    assert_eq!((weights.has("a"), weights.has("z"), weights.shape("c")), (true, false, Some(&[1, 2][..])));
    let heard = RefCell::new(Vec::new());
    assert_eq!(block_on(weights.sha256(&|done, total| heard.borrow_mut().push((done, total)))), Ok(hash));
    assert!(heard.borrow().last().is_some_and(|(done, total)| done == total));
}

#[test]
fn a_file_cut_at_any_byte_is_malformed() {
    let whole = safetensors(&[f32s("a", &[2], &[1.0, 2.0]), f32s("b", &[1], &[3.0])]);
    for length in 0..whole.len() {
        let error = open_error(whole[..length].to_vec());
        assert!(is_malformed(&error), "{length} of {} bytes: {error:?}", whole.len());
    }
    let error = open_error([&whole[..], b"x"].concat());
    assert!(is_malformed(&error), "a byte too many: {error:?}");
}

/// A file that claims a huge size and a huge header.
struct Vast {
    header: u64,
}

impl Files for Vast {
    fn size<'a>(&'a self, _: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>, Error>> {
        Box::pin(async { Ok(Some(1 << 31)) })
    }

    fn read<'a>(&'a self, _: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>, Error>> {
        assert_eq!(range, 0..8, "more was read than the length of the header");
        Box::pin(async { Ok(self.header.to_le_bytes().to_vec()) })
    }
}

#[test]
fn lying_header_lengths_are_refused_without_room_being_made_for_them() {
    for header in [100_000_001, 1 << 30, 1 << 40, u64::MAX] {
        let error = open(Rc::new(Vast { header })).map(|_| "accepted").expect_err("vast");
        assert!(is_malformed(&error), "{header}: {error:?}");
    }
    let honest = safetensors(&[f32s("a", &[1], &[1.0])]);
    for length in [0, 1, honest.len() as u64 - 7, 100_000_001, 1 << 40, i64::MAX as u64, u64::MAX - 7, u64::MAX] {
        let mut lying = honest.clone();
        lying[..8].copy_from_slice(&length.to_le_bytes());
        let error = open_error(lying);
        assert!(is_malformed(&error), "{length}: {error:?}");
    }
}

#[test]
fn a_header_longer_than_any_real_one_is_refused() {
    let blank = |length: usize| {
        let mut bytes = [&(length as u64).to_le_bytes()[..], b"{}"].concat();
        bytes.resize(8 + length, b' ');
        open(single(bytes)).map(drop)
    };
    assert_eq!(blank(16 << 20), Ok(()));
    let refused = blank((16 << 20) + 1).expect_err("too long");
    assert!(is_malformed(&refused) && refused.to_string().contains("over the limit"), "{refused}");
}

#[test]
fn lying_headers_are_refused() {
    let tensor =
        |dtype: &str, shape: Value, offsets: Value| json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
    let a = tensor("F32", json!([2]), json!([0, 8]));
    let lies = [
        ("beyond the file", json!({"a": tensor("F32", json!([4]), json!([0, 16]))})),
        ("not from the start", json!({"a": tensor("F32", json!([1]), json!([4, 8]))})),
        ("backwards", json!({"a": tensor("F32", json!([2]), json!([8, 0]))})),
        ("negative", json!({"a": tensor("F32", json!([2]), json!([-8, 0]))})),
        ("overlapping", json!({"a": a, "b": tensor("F32", json!([1]), json!([4, 8]))})),
        ("twice the same place", json!({"a": a, "b": a})),
        (
            "a hole",
            json!({"a": tensor("F32", json!([0]), json!([0, 0])), "b": tensor("F32", json!([1]), json!([4, 8]))}),
        ),
        ("shape larger than its bytes", json!({"a": tensor("F32", json!([3]), json!([0, 8]))})),
        ("shape smaller than its bytes", json!({"a": tensor("F32", json!([1]), json!([0, 8]))})),
        ("shape that overflows", json!({"a": tensor("F32", json!([1u64 << 62, 4]), json!([0, 8]))})),
        ("bits that overflow", json!({"a": tensor("F32", json!([1u64 << 60]), json!([0, 8]))})),
        ("negative shape", json!({"a": tensor("F32", json!([-2]), json!([0, 8]))})),
        ("format of another size", json!({"a": tensor("F16", json!([2]), json!([0, 8]))})),
        ("unknown format", json!({"a": tensor("F128", json!([2]), json!([0, 8]))})),
        ("a field missing", json!({"a": {"dtype": "F32", "shape": [2]}})),
        ("offsets that are no pair", json!({"a": tensor("F32", json!([2]), json!([0, 4, 8]))})),
        ("no tensor", json!({})),
        ("no object", json!([1, 2])),
        ("metadata that is no text", json!({"__metadata__": {"format": 3}, "a": a})),
    ];
    for (lie, header) in lies {
        let error = open_error(file(&header, &[0; 8]));
        assert!(is_malformed(&error), "{lie}: {error:?}");
    }
    let mut not_text = file(&json!({"a": a}), &[0; 8]);
    not_text[10] = 0xff;
    assert!(is_malformed(&open_error(not_text)));
}

#[test]
fn what_is_not_a_finite_float_is_refused_by_tensor_and_element() {
    let bits: [(&'static str, Vec<u8>); 6] = [
        ("F32", [1.0, f32::NAN].iter().flat_map(|value| value.to_le_bytes()).collect()),
        ("F32", [1.0, f32::INFINITY].iter().flat_map(|value| value.to_le_bytes()).collect()),
        ("F16", [f16::ONE, f16::NAN].iter().flat_map(|value| value.to_le_bytes()).collect()),
        ("F16", [f16::ONE, f16::NEG_INFINITY].iter().flat_map(|value| value.to_le_bytes()).collect()),
        ("BF16", [bf16::ONE, bf16::NAN].iter().flat_map(|value| value.to_le_bytes()).collect()),
        ("BF16", [bf16::ONE, bf16::INFINITY].iter().flat_map(|value| value.to_le_bytes()).collect()),
    ];
    for (dtype, bytes) in bits {
        let tensor = TestTensor { name: "a".into(), dtype, shape: vec![1, 2], bytes };
        let weights = open(single(safetensors(&[tensor]))).expect("only its values are wrong");
        let expected = Error::NonFiniteTensor { tensor: "a".into(), index: 1 };
        assert_eq!(block_on(weights.tensor("a", &[1, 2])), Err(expected), "{dtype}");
    }
    for (dtype, size) in [("I64", 8), ("F64", 8), ("U8", 1), ("BOOL", 1), ("F8_E4M3", 1)] {
        let tensor = TestTensor { name: "a".into(), dtype, shape: vec![2], bytes: vec![0; 2 * size] };
        let weights = open(single(safetensors(&[tensor]))).expect("a valid file");
        let expected = Error::TensorDtype { tensor: "a".into(), dtype: dtype.into() };
        assert_eq!(block_on(weights.tensor("a", &[2])), Err(expected));
        assert_eq!(weights.dtype(), None);
    }
}

#[test]
fn absent_tensors_and_files_are_named() {
    let weights = open(single(safetensors(&[f32s("a", &[1], &[1.0])]))).expect("weights");
    assert_eq!(block_on(weights.tensor("b", &[1])), Err(Error::MissingTensor { tensor: "b".into() }));
    let shape = Error::TensorShape { tensor: "a".into(), found: vec![1], expected: vec![1, 1] };
    assert_eq!(block_on(weights.tensor("a", &[1, 1])), Err(shape));
    let nothing = open(Rc::new(MemoryFiles::default())).map(|_| "accepted");
    assert!(matches!(nothing, Err(Error::MissingFile { file, .. }) if file == "model.safetensors"));
}

const INDEX: &str = "model.safetensors.index.json";

fn sharded(index: &Value) -> Rc<dyn Files> {
    let files = MemoryFiles::default()
        .with("one.safetensors", safetensors(&[f32s("a", &[1], &[1.0])]))
        .with("two.safetensors", safetensors(&[f32s("b", &[1], &[2.0]), f32s("unlisted", &[1], &[3.0])]))
        .with(INDEX, index.to_string().into_bytes());
    Rc::new(files)
}

#[test]
fn shards_are_read_as_one() {
    let index = json!({"metadata": {"total_size": 8}, "weight_map": {"b": "two.safetensors", "a": "one.safetensors"}});
    let weights = open(sharded(&index)).expect("two shards");
    assert_eq!(block_on(weights.tensor("a", &[1])), Ok(vec![1.0]));
    assert_eq!(block_on(weights.tensor("b", &[1])), Ok(vec![2.0]));
    assert!(!weights.has("unlisted"));
    let one = safetensors(&[f32s("a", &[1], &[1.0])]);
    let two = safetensors(&[f32s("b", &[1], &[2.0]), f32s("unlisted", &[1], &[3.0])]);
    let hashes = [one, two].map(|shard| sha256(&shard)).concat();
    assert_eq!(
        block_on(weights.sha256(&|_, _| {})),
        Ok(sha256(hashes.as_bytes())),
        "the hash of the hashes, as a hub tells them"
    );
}

#[test]
fn hostile_indices_are_refused() {
    for shard in ["../../etc/passwd", "/etc/passwd", "..", ".", "", "a/b.safetensors", "a\\b", "C:a", "a\0b"] {
        let error = open(sharded(&json!({"weight_map": {"a": shard}}))).map(|_| "accepted").expect_err(shard);
        assert!(matches!(&error, Error::MalformedJson { file, .. } if file == INDEX), "{shard:?}: {error:?}");
    }
    for index in [json!({}), json!([]), json!({"weight_map": {"a": 1}}), json!({"weight_map": ["a"]}), json!("a")] {
        let error = open(sharded(&index)).map(|_| "accepted").expect_err("no index");
        assert!(matches!(&error, Error::MalformedJson { file, .. } if file == INDEX), "{index}: {error:?}");
    }
    let elsewhere = open(sharded(&json!({"weight_map": {"a": "two.safetensors"}}))).map(|_| "accepted");
    assert!(
        matches!(&elsewhere, Err(Error::MalformedWeights { file, why })
        if file == "two.safetensors" && why.contains("tensor a")),
        "{elsewhere:?}"
    );
    let absent = open(sharded(&json!({"weight_map": {"a": "three.safetensors"}}))).map(|_| "accepted");
    assert!(matches!(&absent, Err(Error::MissingFile { file, .. }) if file == "three.safetensors"), "{absent:?}");
}

#[test]
fn a_folder_gives_its_own_files_and_no_others() {
    let folder = FolderFiles::new(fixture("tiny-gpt2"));
    let size = block_on(folder.size("config.json")).expect("readable").expect("there");
    let bytes = block_on(folder.read("config.json", 0..size)).expect("readable");
    assert_eq!(bytes.len() as u64, size);
    assert_eq!(block_on(folder.size("absent.json")), Ok(None));
    let unreadable = |found: Result<Vec<u8>, Error>| matches!(found, Err(Error::UnreadableFile { .. }));
    assert!(unreadable(block_on(folder.read("config.json", 0..size + 1))), "beyond its end");
    let reversed = std::ops::Range { start: 5, end: 2 };
    let found = block_on(folder.read("config.json", reversed));
    assert!(found == Ok(vec![]) || unreadable(found));
    assert!(unreadable(block_on(folder.read("config.json", 0..u64::MAX))), "more than there is memory");
    for name in ["../tiny-llama/config.json", "/etc/passwd", "..", ""] {
        assert!(unreadable(block_on(folder.read(name, 0..1))), "{name}");
        assert!(matches!(block_on(folder.size(name)), Err(Error::UnreadableFile { .. })), "{name}");
    }
    let parent = FolderFiles::new(fixture(""));
    assert!(matches!(block_on(parent.size("tiny-gpt2")), Err(Error::UnreadableFile { .. })), "a folder is no file");
}

#[test]
fn rows_of_a_file_are_read_by_range() {
    let x = f32s("x", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let y = f32s("y", &[3, 1], &[7.0, 8.0, f32::NAN]);
    let open_rows = |tensors: &[TestTensor]| {
        let files = Rc::new(MemoryFiles::default().with("rows.safetensors", safetensors(tensors)));
        block_on(RowsFile::open(files, "rows.safetensors"))
    };
    let rows = open_rows(&[x.clone(), y.clone()]).expect("rows");
    assert_eq!((rows.n, rows.d_in, rows.d_out, rows.dtype()), (3, 2, 1, Some("F32")));
    assert_eq!(block_on(rows.x(1..3)), Ok(vec![3.0, 4.0, 5.0, 6.0]));
    assert_eq!(block_on(rows.y(0..2)), Ok(vec![7.0, 8.0]));
    assert_eq!(block_on(rows.y(1..3)), Err(Error::NonFiniteRow { tensor: "y".into(), row: 2 }));
    assert!(block_on(rows.x(2..4)).is_err());
    let cases: [&[TestTensor]; 5] = [
        std::slice::from_ref(&x),
        std::slice::from_ref(&y),
        &[x.clone(), f32s("y", &[2, 1], &[7.0, 8.0])],
        &[x.clone(), f32s("y", &[3], &[7.0, 8.0, 9.0])],
        &[f32s("x", &[0, usize::MAX], &[]), f32s("y", &[0, 1], &[])],
    ];
    for tensors in cases {
        let found = open_rows(tensors).map(|_| "accepted");
        assert!(matches!(&found, Err(Error::MalformedWeights { file, .. }) if file == "rows.safetensors"), "{found:?}");
    }
}

/// A folder of a test, with the files of the tiny GPT-2.
fn copy(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(fixture("tiny-gpt2").join(file), folder.join(file)).expect("a copy");
    }
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn straightedge(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge")).args(args).env("HF_HUB_OFFLINE", "1").output();
    output.expect("the program runs")
}

/// What the program says when it refuses its input.
#[track_caller]
fn complaint(args: &[&str]) -> String {
    let output = straightedge(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

#[test]
fn a_pointer_of_git_in_place_of_any_file_is_told_as_one() {
    let encyclopedia = common::encyclopedia();
    let cases = [
        ("model.safetensors", None),
        ("pytorch_model.bin", Some("model.safetensors")),
        ("tokenizer.json", None),
        ("tokenizer.model", Some("tokenizer.json")),
        ("config.json", None),
    ];
    for (file, instead_of) in cases {
        let folder = copy(&format!("pointer-{file}"));
        instead_of.iter().for_each(|other| fs::remove_file(folder.join(other)).expect("it was there"));
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
        fs::write(folder.join(file), pointer).expect("a file");
        let said = complaint(&["measure", text(&folder), "--text", text(&encyclopedia), "--backend", "cpu"]);
        for words in [file, "Git LFS", "git lfs pull"] {
            assert!(said.contains(words), "{file}: {said}");
        }
    }
}

#[test]
fn captured_rows_of_another_form_are_told_of_as_rows() {
    let folder = copy("rows");
    let x = f32s("x", &[320, 2], &[0.5; 640]);
    let doubles = TestTensor { name: "y".into(), dtype: "F64", shape: vec![320, 2], bytes: vec![0; 640 * 8] };
    let good = [x.clone(), f32s("y", &[320, 2], &[1.0; 640])];
    type Case<'c> = (&'c str, Vec<u8>, &'c [&'c str], &'c [&'c str]);
    let cases: [Case<'_>; 5] = [
        ("flat", safetensors(&[f32s("x", &[640], &[0.5; 640]), good[1].clone()]), &[], &["tensor x", "[640]"]),
        ("unequal", safetensors(&[x.clone(), f32s("y", &[160, 2], &[1.0; 320])]), &[], &["320 rows", "160"]),
        ("doubles", safetensors(&[x, doubles]), &[], &["tensor y", "F64", "F32, F16 or BF16"]),
        ("cut", safetensors(&good)[..900].to_vec(), &[], &["not captured rows", "write them again"]),
        // The product of both does not fit into 64 bits.
        ("endless", safetensors(&good), &["18446744073709551615"], &["320 rows", "18446744073709551615"]),
    ];
    for (name, bytes, window, words) in cases {
        let path = folder.join(format!("{name}.safetensors"));
        fs::write(&path, &bytes).expect("a file");
        let options: Vec<_> = window.iter().flat_map(|window| ["--window", *window, "--rows", *window]).collect();
        let said = complaint(&[&["fit", text(&path), "--backend", "cpu"][..], &options].concat());
        // The page's preview, which reads only the header, tells the same.
        let (mut job, file) = (Job::new("rows", "rows"), format!("{name}.safetensors"));
        job.protocol.seq_len = ROWS_WINDOW;
        if let Some(window) = window.first() {
            (job.protocol.seq_len, job.protocol.rows) = (window.parse().expect("64 bits"), usize::MAX);
        }
        let files = Rc::new(MemoryFiles::default().with(file.clone(), bytes));
        let previewed = block_on(rows_extent(&job, files, &file));
        let previewed = previewed.map_or_else(Some, |extent| extent.refusal).map(|error| error.to_string());
        assert!(previewed.is_some() || name == "doubles", "{name} is not refused before it is measured");
        for sentence in [Some(said), previewed].into_iter().flatten() {
            words.iter().for_each(|word| assert!(sentence.contains(word), "{name}, {word}: {sentence}"));
            for foreign in ["--seq-len", "longer text", "the model", "download", "weights"] {
                assert!(!sentence.contains(foreign), "{name} says {foreign}: {sentence}");
            }
        }
    }
}

#[test]
fn a_value_that_overflows_in_a_block_leaves_the_blocks_before_it() {
    let (folder, encyclopedia) = (copy("overflow"), common::encyclopedia());
    let weights = folder.join("model.safetensors");
    let mut bytes = fs::read(&weights).expect("weights");
    let intact = bytes.clone();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("a length")) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..start]).expect("a header");
    let place = &header["transformer.h.2.mlp.c_proj.weight"]["data_offsets"];
    let place = [0, 1].map(|at| start + place[at].as_u64().expect("an offset") as usize);
    // Finite, but sums of products with them are not.
    bytes[place[0]..place[1]].chunks_exact_mut(4).for_each(|value| value.copy_from_slice(&f32::MAX.to_le_bytes()));
    fs::write(&weights, &bytes).expect("a file");
    let out = folder.join("report.json");
    let args = ["measure", text(&folder), "--text", text(&encyclopedia), "--backend", "cpu", "--rows", "1280"];
    let args = [&args[..], &["--seq-len", "64", "--out", text(&out)]].concat();
    let said = complaint(&args);
    assert!(said.contains("block 2: ffn_out holds NaN or infinity at row "), "{said}");
    let report = || Report::from_json("report", &fs::read_to_string(&out).expect("a report")).expect("a report");
    let partial = report();
    let blocks: Vec<_> = partial.blocks.iter().map(|block| block.block).collect();
    // The block before it was still being solved.
    assert!(partial.partial && blocks == [0, 1], "{blocks:?}");
    // The next start with intact weights replaces it.
    fs::write(&weights, intact).expect("a file");
    assert!(straightedge(&args).status.success());
    let whole = report();
    assert!(!whole.partial && whole.blocks.len() == 4 && whole.blocks[0].r2_lin == partial.blocks[0].r2_lin);
}
