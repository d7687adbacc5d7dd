//! Weight files that are cut short, lie about themselves or do not belong to the model: each ends in the error that
//! names what is wrong, and none in a panic.

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use half::{bf16, f16};
use serde_json::{Map, Value, json};
use straightedge::backend::Backend;
use straightedge::cpu::CpuBackend;
use straightedge::digest::sha256;
use straightedge::error::Error;
use straightedge::model::{Linear, Model, ModelConfig, Norm, load};
use straightedge::weights::{Files, FolderFiles, MemoryFiles, RowsFile, Weights};

/// A tensor of a made-up file: name, format, shape, bytes.
#[derive(Clone)]
struct Made {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

fn f32s(name: &str, shape: &[usize], values: &[f32]) -> Made {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Made { name: name.into(), dtype: "F32", shape: shape.into(), bytes }
}

/// A file whose header is the given JSON.
fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, data].concat()
}

/// An honest file of these tensors.
fn safetensors(tensors: &[Made]) -> Vec<u8> {
    let mut header = Map::new();
    let mut data = Vec::new();
    for tensor in tensors {
        let offsets = [data.len(), data.len() + tensor.bytes.len()];
        header.insert(
            tensor.name.clone(),
            json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": offsets}),
        );
        data.extend(&tensor.bytes);
    }
    file(&Value::Object(header), &data)
}

fn single(bytes: Vec<u8>) -> Rc<dyn Files> {
    Rc::new(MemoryFiles::default().with("model.safetensors", bytes))
}

fn open(files: Rc<dyn Files>) -> Result<Weights, Error> {
    block_on(Weights::open(files))
}

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
        Made { name: "b".into(), dtype: "F16", shape: vec![2], bytes: halves },
        Made { name: "c".into(), dtype: "BF16", shape: vec![1, 2], bytes: brains },
        Made { name: "mask".into(), dtype: "U8", shape: vec![3], bytes: vec![1, 0, 1] },
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

/// A file that claims to be vast and to begin with a vast header.
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
        let made = Made { name: "a".into(), dtype, shape: vec![1, 2], bytes };
        let weights = open(single(safetensors(&[made]))).expect("only its values are wrong");
        let expected = Error::NonFiniteTensor { tensor: "a".into(), index: 1 };
        assert_eq!(block_on(weights.tensor("a", &[1, 2])), Err(expected), "{dtype}");
    }
    for (dtype, size) in [("I64", 8), ("F64", 8), ("U8", 1), ("BOOL", 1), ("F8_E4M3", 1)] {
        let made = Made { name: "a".into(), dtype, shape: vec![2], bytes: vec![0; 2 * size] };
        let weights = open(single(safetensors(&[made]))).expect("a valid file");
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
    assert_eq!(block_on(weights.sha256(&|_, _| {})), Ok(sha256(&[one, two].concat())));
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
    let folder = FolderFiles::new(fixtures().join("tiny-gpt2"));
    let size = block_on(folder.size("config.json")).expect("readable").expect("there");
    let bytes = block_on(folder.read("config.json", 0..size)).expect("readable");
    assert_eq!(bytes.len() as u64, size);
    assert_eq!(block_on(folder.size("absent.json")), Ok(None));
    let unreadable = |found: Result<Vec<u8>, Error>| matches!(found, Err(Error::UnreadableFile { .. }));
    assert!(unreadable(block_on(folder.read("config.json", 0..size + 1))), "beyond its end");
    assert!(
        unreadable(block_on(folder.read("config.json", 5..2)))
            || block_on(folder.read("config.json", 5..2)) == Ok(vec![])
    );
    assert!(unreadable(block_on(folder.read("config.json", 0..u64::MAX))), "more than there is memory");
    for name in ["../tiny-llama/config.json", "/etc/passwd", "..", ""] {
        assert!(unreadable(block_on(folder.read(name, 0..1))), "{name}");
        assert!(matches!(block_on(folder.size(name)), Err(Error::UnreadableFile { .. })), "{name}");
    }
    let parent = FolderFiles::new(fixtures());
    assert!(matches!(block_on(parent.size("tiny-gpt2")), Err(Error::UnreadableFile { .. })), "a folder is no file");
}

#[test]
fn rows_of_a_file_are_read_by_range() {
    let x = f32s("x", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let y = f32s("y", &[3, 1], &[7.0, 8.0, f32::NAN]);
    let open_rows = |tensors: &[Made]| {
        let files = Rc::new(MemoryFiles::default().with("rows.safetensors", safetensors(tensors)));
        block_on(RowsFile::open(files, "rows.safetensors"))
    };
    let rows = open_rows(&[x.clone(), y.clone()]).expect("rows");
    assert_eq!((rows.n, rows.d_in, rows.d_out, rows.dtype()), (3, 2, 1, Some("F32")));
    assert_eq!(block_on(rows.x(1..3)), Ok(vec![3.0, 4.0, 5.0, 6.0]));
    assert_eq!(block_on(rows.y(0..2)), Ok(vec![7.0, 8.0]));
    assert_eq!(block_on(rows.y(1..3)), Err(Error::NonFiniteTensor { tensor: "y".into(), index: 2 }));
    assert!(block_on(rows.x(2..4)).is_err());
    let cases: [&[Made]; 5] = [
        &[x.clone()],
        &[y.clone()],
        &[x.clone(), f32s("y", &[2, 1], &[7.0, 8.0])],
        &[x, f32s("y", &[3], &[7.0, 8.0, 9.0])],
        &[f32s("x", &[0, usize::MAX], &[]), f32s("y", &[0, 1], &[])],
    ];
    for tensors in cases {
        let found = open_rows(tensors).map(|_| "accepted");
        assert!(matches!(&found, Err(Error::MalformedWeights { file, .. }) if file == "rows.safetensors"), "{found:?}");
    }
}

fn fixtures() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures");
    assert!(folder.is_dir(), "the fixtures are not at {}", folder.display());
    folder
}

const MODELS: [&str; 4] = ["tiny-gpt2", "tiny-gpt_neox", "tiny-llama", "tiny-bert"];

fn config(model: &str) -> Value {
    serde_json::from_slice(&fs::read(fixtures().join(model).join("config.json")).expect(model)).expect(model)
}

/// All tensors of a fixture.
fn tensors(model: &str) -> Vec<Made> {
    let bytes = fs::read(fixtures().join(model).join("model.safetensors")).expect(model);
    let file = safetensors::SafeTensors::deserialize(&bytes).expect(model);
    let made = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
        assert_eq!(view.dtype(), safetensors::Dtype::F32);
        Made { name, dtype: "F32", shape: view.shape().to_vec(), bytes: view.data().to_vec() }
    };
    file.tensors().into_iter().map(made).collect()
}

type CpuModel = Model<<CpuBackend as Backend>::Tensor>;

fn load_made(config: &Value, tensors: &[Made], need_head: bool) -> Result<CpuModel, Error> {
    let config = ModelConfig::from_json(&config.to_string())?;
    let weights = open(single(safetensors(tensors)))?;
    let heard = RefCell::new(Vec::new());
    let model = block_on(load(&CpuBackend::new(), &config, &weights, need_head, &|done, total| {
        heard.borrow_mut().push((done, total));
    }))?;
    let heard = heard.into_inner();
    assert!(heard.is_sorted() && heard.last() == Some(&(weights.total_bytes(), weights.total_bytes())), "{heard:?}");
    Ok(model)
}

fn read(tensor: &<CpuBackend as Backend>::Tensor) -> Vec<f32> {
    block_on(CpuBackend::new().read(tensor)).expect("a tensor")
}

/// Every value of a model, in one order.
fn values(model: &CpuModel) -> Vec<f32> {
    fn linear(linear: &Linear<<CpuBackend as Backend>::Tensor>) -> Vec<f32> {
        [read(&linear.weight), linear.bias.as_ref().map(read).unwrap_or_default()].concat()
    }
    fn norm(norm: &Norm<<CpuBackend as Backend>::Tensor>) -> Vec<f32> {
        match norm {
            Norm::Layer { weight, bias, .. } => [read(weight), read(bias)].concat(),
            Norm::Rms { weight, .. } => read(weight),
        }
    }
    let mut values = read(&model.token_embedding);
    values.extend(model.position_embedding.as_ref().map(read).unwrap_or_default());
    values.extend(model.embedding_norm.iter().chain(&model.final_norm).flat_map(norm));
    values.extend(model.head.as_ref().map(linear).unwrap_or_default());
    for block in &model.blocks {
        let (attention, ffn) = (&block.attention, &block.ffn);
        values
            .extend([&attention.q, &attention.k, &attention.v, &attention.o, &ffn.up, &ffn.down].map(linear).concat());
        values.extend(ffn.gate.as_ref().map(linear).unwrap_or_default());
        values.extend([&block.attention_norm, &block.ffn_norm].map(norm).concat());
    }
    values
}

#[test]
fn every_tensor_that_a_model_needs_is_missed_by_name() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        load_made(&config, &whole, true).expect(model);
        for left_out in whole.iter().filter(|tensor| !tensor.name.starts_with("pooler")) {
            let rest: Vec<Made> = whole.iter().filter(|tensor| tensor.name != left_out.name).cloned().collect();
            let found = load_made(&config, &rest, true).map(|_| "accepted");
            match found {
                Err(Error::MissingTensor { tensor }) if tensor == left_out.name => {}
                // Without its first tensor a prefix is not recognised, so that the name comes without it.
                Err(Error::MissingTensor { tensor }) if left_out.name.ends_with(&tensor) => {}
                found => panic!("{model} without {}: {found:?}", left_out.name),
            }
        }
    }
}

#[test]
fn every_wrong_shape_is_refused_by_name() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        for at in (0..whole.len()).filter(|&at| !whole[at].name.starts_with("pooler")) {
            let mut altered = whole.clone();
            altered[at].shape.reverse();
            if altered[at].shape == whole[at].shape {
                altered[at].shape.insert(0, 1);
            }
            let (tensor, found, expected) =
                (whole[at].name.clone(), altered[at].shape.clone(), whole[at].shape.clone());
            let error = load_made(&config, &altered, true).map(|_| "accepted").expect_err(&tensor);
            assert_eq!(error, Error::TensorShape { tensor, found, expected }, "{model}");
        }
    }
}

#[test]
fn every_damaged_tensor_is_refused_by_name() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        for at in (0..whole.len()).filter(|&at| !whole[at].name.starts_with("pooler")) {
            let mut altered = whole.clone();
            let last = altered[at].bytes.len() - 4;
            altered[at].bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
            let expected = Error::NonFiniteTensor { tensor: whole[at].name.clone(), index: last / 4 };
            assert_eq!(load_made(&config, &altered, true).map(|_| "accepted"), Err(expected), "{model}");
        }
    }
}

#[test]
fn sizes_of_another_model_are_refused() {
    let changes = [
        ("tiny-gpt2", "n_embd", 32),
        ("tiny-gpt2", "n_inner", 128),
        ("tiny-gpt2", "vocab_size", 513),
        ("tiny-gpt2", "n_positions", 1024),
        ("tiny-gpt_neox", "intermediate_size", 255),
        ("tiny-llama", "num_key_value_heads", 4),
        ("tiny-llama", "head_dim", 32),
        ("tiny-bert", "type_vocab_size", 3),
        ("tiny-bert", "max_position_embeddings", 1 << 28),
    ];
    for (model, field, value) in changes {
        let mut config = config(model);
        config[field] = value.into();
        let found = load_made(&config, &tensors(model), true).map(|_| "accepted");
        assert!(matches!(found, Err(Error::TensorShape { .. })), "{model} {field}: {found:?}");
    }
    for (model, field) in [("tiny-gpt2", "n_layer"), ("tiny-llama", "num_hidden_layers")] {
        let mut config = config(model);
        config[field] = 5.into();
        let found = load_made(&config, &tensors(model), true).map(|_| "accepted");
        assert!(matches!(&found, Err(Error::MissingTensor { tensor }) if tensor.contains(".4.")), "{model}: {found:?}");
    }
    // A longer model than the configuration says is a different one too, but nothing tells: fewer blocks are loaded.
    let mut gated = config("tiny-llama");
    gated["attention_bias"] = true.into();
    let found = load_made(&gated, &tensors("tiny-llama"), true).map(|_| "accepted");
    assert!(matches!(&found, Err(Error::MissingTensor { tensor }) if tensor.ends_with("q_proj.bias")), "{found:?}");
}

#[test]
fn prefixes_and_old_names_make_no_difference() {
    let prefixes = [
        ("tiny-gpt2", "transformer."),
        ("tiny-gpt_neox", "gpt_neox."),
        ("tiny-llama", "model."),
        ("tiny-bert", "bert."),
    ];
    for (model, prefix) in prefixes {
        let (config, whole) = (config(model), tensors(model));
        let renamed = |tensor: &Made| {
            let name = match tensor.name.strip_prefix(prefix) {
                Some(rest) => rest.into(),
                None if model == "tiny-bert" => format!("{prefix}{}", tensor.name),
                None => tensor.name.clone(),
            };
            let old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
            Made { name: old, ..tensor.clone() }
        };
        let renamed: Vec<Made> = whole.iter().map(renamed).collect();
        assert!(renamed.iter().zip(&whole).any(|(new, old)| new.name != old.name));
        let [new, old] = [renamed, whole].map(|tensors| values(&load_made(&config, &tensors, true).expect(model)));
        assert!(!new.is_empty() && new == old, "{model}");
    }
}

#[test]
fn each_storage_format_gives_the_same_model_up_to_its_rounding() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        let stored = |dtype: &'static str, encode: fn(f32) -> [u8; 2]| -> Vec<Made> {
            let encode = |tensor: &Made| {
                let values = tensor.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                Made { dtype, bytes: values.flat_map(encode).collect(), ..tensor.clone() }
            };
            whole.iter().map(encode).collect()
        };
        let exact = values(&load_made(&config, &whole, true).expect(model));
        // Half the spacing of each format, relative, and of its smallest numbers. BERT's position table is a sum.
        let summands = if model == "tiny-bert" { 0.2 } else { 0.0 };
        for (dtype, encode, relative) in [
            ("F16", (|v| f16::from_f32(v).to_le_bytes()) as fn(f32) -> [u8; 2], 2f32.powi(-11)),
            ("BF16", |v| bf16::from_f32(v).to_le_bytes(), 2f32.powi(-8)),
        ] {
            let rounded = values(&load_made(&config, &stored(dtype, encode), true).expect(model));
            assert_eq!(rounded.len(), exact.len());
            let wrong = exact.iter().zip(&rounded).position(|(exact, rounded)| {
                !((exact - rounded).abs() <= relative * (exact.abs() + summands) + 2f32.powi(-25))
            });
            assert_eq!(wrong, None, "{model} in {dtype}");
            assert!(exact != rounded, "{model} in {dtype} cannot be exact");
        }
    }
}

#[test]
fn a_head_is_there_only_where_it_is_needed() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        assert!(load_made(&config, &whole, false).expect(model).head.is_none());
        let with_head = load_made(&config, &whole, true).expect(model);
        match with_head.head {
            None => assert_eq!(model, "tiny-bert"),
            Some(head) => {
                let tied = read(&head.weight) == read(&with_head.token_embedding);
                assert_eq!(tied, config["tie_word_embeddings"] == true, "{model}");
            }
        }
    }
}
