//! Exported folders: replaced blocks compute the affine map, nothing else changes, and other programs load them.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::synthetic::{self, TestTensor};
use common::{encyclopedia, fixture, tales};
use futures::executor::block_on;
use half::bf16;
use safetensors::SafeTensors;
use serde_json::{Value, json};
use straightedge::corpus::Tokenizer;
use straightedge::report::{BlockReport, HealedTogether, Report, orders};

/// A model, its text, and the folder of a test.
struct Case {
    model: PathBuf,
    text: PathBuf,
    folder: PathBuf,
}

impl Case {
    fn new(test: &str, model: impl Into<PathBuf>) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("export-{test}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        Self { model: model.into(), text: encyclopedia(), folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Measures `model`, with swaps if it is a decoder.
    fn measure(&self, model: &Path, block: &str, backend: &str) -> Report {
        self.measure_with(model, &["--blocks", block, "--backend", backend, "--measures", "swap"])
    }

    fn measure_with(&self, model: &Path, more: &[&str]) -> Report {
        let output = run(&[&["measure", path(model), "--text", path(&self.text), "--out", "-"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Report::from_json("report", &String::from_utf8_lossy(&output.stdout)).expect("a report")
    }

    /// Measures the model, saves its report and exports `block`.
    fn export(&self, block: &str, out: &str) -> Report {
        let report = self.measure(&self.model, block, "cpu");
        fs::write(self.at("report.json"), report.to_json()).expect("a report");
        let output = self.run_export(block, out, &["--text", path(&self.text)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        report
    }

    fn run_export(&self, block: &str, out: &str, more: &[&str]) -> Output {
        let (report, out) = (self.at("report.json"), self.at(out));
        let args = ["export", path(&self.model), "--report", path(&report), "--blocks", block, "--out", path(&out)];
        run(&[&args[..], &["--backend", "cpu"][usize::from(more.contains(&"--maps")) * 2..], more].concat())
    }

    /// Status 2, one sentence with every word, and no files left.
    fn refuses(&self, block: &str, more: &[&str], words: &[&str]) {
        let output = self.run_export(block, "refused", more);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {complaint}");
        for word in words {
            assert!(complaint.contains(word), "{complaint} lacks {word}");
        }
        assert!(!complaint.contains("panicked"), "{complaint}");
        let left: Vec<_> =
            fs::read_dir(&self.folder).expect("a folder").map(|entry| entry.expect("one").file_name()).collect();
        assert!(!left.iter().any(|left| left.to_string_lossy().contains("refused")), "{left:?}");
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_straightedge")).args(args).output().expect("the program runs")
}

/// Format, shape and bytes of every tensor of a file.
fn tensors(file: &Path) -> BTreeMap<String, (String, Vec<usize>, Vec<u8>)> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let file = SafeTensors::deserialize(&bytes).expect("safetensors");
    let whole = |view: safetensors::tensor::TensorView<'_>| {
        (view.dtype().to_string(), view.shape().to_vec(), view.data().to_vec())
    };
    file.tensors().into_iter().map(|(name, view)| (name, whole(view))).collect()
}

/// Every tensor of `original` except those of the networks `replaced` is in `exported`, bit for bit; new tensors are
/// biases of zero.
fn assert_the_rest_is_untouched(original: &Path, exported: &Path, replaced: &[String]) {
    let (before, mut after) = (tensors(original), tensors(&exported.join("model.safetensors")));
    for (name, tensor) in &before {
        let found = after.remove(name).unwrap_or_else(|| panic!("{name} is gone"));
        let changed = replaced.iter().any(|network| name.contains(network.as_str()));
        assert_eq!(found != *tensor, changed, "{name}");
    }
    for (name, (_, _, bytes)) in after {
        let replaced = replaced.iter().any(|network| name.contains(network.as_str()));
        assert!(name.ends_with(".bias") && (replaced || bytes.iter().all(|byte| *byte == 0)), "{name}");
    }
}

/// The exported folder is the model with that block's map, according to this engine.
fn check_folder(what: &str, case: &Case, report: &Report, block: usize, backend: &str) -> Report {
    let again = case.measure(&case.at("out"), &block.to_string(), backend);
    common::assert_close(&format!("{what}, r2_lin"), again.blocks[0].r2_lin, 1.0, 1e-6);
    if let Some(ppl) = report.ppl {
        let expected = ppl + report.blocks[0].delta_ppl["linear"].expect("a change");
        let found = again.ppl.expect("a perplexity");
        println!("{what}: {found:.9} where the swap gives {expected:.9}, untouched {ppl:.6}");
        assert!((found / expected - 1.0).abs() <= 1e-4, "{what}: {found} where {expected} is expected");
        assert!((ppl / expected - 1.0).abs() > 1e-3, "{what}: a swap that changes nothing shows nothing");
    }
    again
}

const NETWORKS: [(&str, usize, &str); 11] = [
    ("tiny-gpt2", 1, "h.1.mlp."),
    ("tiny-gpt_neox", 2, "layers.2.mlp."),
    ("tiny-llama", 3, "layers.3.mlp."),
    ("tiny-bert", 0, "layer.0.intermediate.|layer.0.output.dense."),
    ("tiny-gpt_neo", 1, "h.1.mlp."),
    ("tiny-opt", 1, "layers.1.fc1.|layers.1.fc2."),
    ("tiny-opt-350m", 2, "layers.2.fc1.|layers.2.fc2."),
    ("tiny-bloom", 1, "h.1.mlp."),
    ("tiny-phi", 2, "layers.2.mlp."),
    ("tiny-roberta", 1, "layer.1.intermediate.|layer.1.output.dense."),
    ("tiny-distilbert", 2, "layer.2.ffn."),
];

#[test]
fn an_exported_folder_is_the_swapped_model_and_nothing_else_changes() {
    for (name, block, network) in NETWORKS {
        let case = Case::new(name, fixture(name));
        let report = case.export(&block.to_string(), "out");
        let replaced: Vec<String> = network.split('|').map(Into::into).collect();
        assert_the_rest_is_untouched(&fixture(name).join("model.safetensors"), &case.at("out"), &replaced);
        let kept = |file: &str| fs::read(case.at("out").join(file)).ok();
        assert_eq!(kept("tokenizer.json"), fs::read(fixture(name).join("tokenizer.json")).ok());
        if name != "tiny-llama" {
            assert_eq!(kept("config.json"), fs::read(fixture(name).join("config.json")).ok());
        }
        check_folder(name, &case, &report, block, "cpu");
    }
}

/// One model of every way to count layers, and to say which of them are local.
const PRUNED: [&str; 10] = [
    "tiny-gpt2",
    "tiny-gpt_neox",
    "tiny-llama",
    "tiny-gpt_neo",
    "tiny-opt",
    "tiny-opt-350m",
    "tiny-bloom",
    "tiny-mistral",
    "tiny-gemma2",
    "tiny-qwen3",
];

#[test]
fn a_model_without_a_layer_is_the_model_that_skips_it() {
    let mut shown = 0;
    for name in PRUNED {
        let case = Case::new(&format!("removed-{name}"), fixture(name));
        let report = case.measure_with(&case.model, &["--backend", "cpu", "--measures", "layers"]);
        fs::write(case.at("report.json"), report.to_json()).expect("a report");
        let (source, target, out) = (case.at("report.json"), fixture(name), case.at("out"));
        let export = ["export", path(&target), "--report", path(&source), "--remove-layers", "1", "--out", path(&out)];
        let output = run(&export);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let again = case.measure_with(&out, &["--backend", "cpu", "--measures", "swap"]);
        assert_eq!(again.blocks.len(), report.blocks.len() - 1, "{name}");
        let (ppl, found) = (report.ppl.expect("a perplexity"), again.ppl.expect("a perplexity"));
        let expected = ppl + report.layers[1].delta_ppl["removed"].expect("a change");
        println!("{name}: {found:.9} where skipping gives {expected:.9}, untouched {ppl:.6}");
        assert!((found / expected - 1.0).abs() <= 1e-6, "{name}: {found} where {expected} is expected");
        shown += usize::from((ppl / expected - 1.0).abs() > 1e-3);
        // What stays is copied byte for byte.
        let (before, after) = (tensors(&target.join("model.safetensors")), tensors(&out.join("model.safetensors")));
        assert!(
            after.len() < before.len() && after.values().all(|kept| before.values().any(|one| one == kept)),
            "{name}"
        );
    }
    assert!(shown >= 5, "a layer that changes nothing shows nothing");
}

#[test]
fn layers_that_depend_on_their_number_stay() {
    let case = Case::new("removed-scaled", fixture("tiny-gpt2-scaled"));
    let report = case.measure_with(&case.model, &["--backend", "cpu", "--rows", "2560"]);
    fs::write(case.at("report.json"), report.to_json()).expect("a report");
    let (source, out) = (case.at("report.json"), case.at("refused"));
    let remove = ["--remove-layers", "1", "--out", path(&out)];
    let output = run(&[&["export", path(&case.model), "--report", path(&source)][..], &remove].concat());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && stderr.contains("scale_attn_by_inverse_layer_idx"), "{stderr}");
    assert!(!out.exists());
}

#[test]
fn a_layer_left_out_and_a_linear_block_are_different_layers() {
    let case = Case::new("removed-and-linear", fixture("tiny-gpt2"));
    case.export("0", "out");
    let output = case.run_export("0", "both", &["--text", path(&case.text), "--remove-layers", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("with linear blocks 0 and without layers 2"), "{stdout}");
    let (one, both) = (tensors(&case.at("out/model.safetensors")), tensors(&case.at("both/model.safetensors")));
    let name = |layer: usize| one.keys().find(|name| name.ends_with(&format!("h.{layer}.mlp.c_fc.weight")));
    let of = |tensors: &BTreeMap<String, (String, Vec<usize>, Vec<u8>)>, layer| {
        tensors[name(layer).expect("a name")].clone()
    };
    assert!(of(&both, 0) == of(&one, 0) && of(&both, 2) == of(&one, 3), "block 0 is linear, layer 3 is layer 2 now");
    let text = ["--text", path(&case.text)];
    case.refuses(
        "0",
        &[&text[..], &["--remove-layers", "0"]].concat(),
        &["--remove-layers", "no block to make linear"],
    );
    case.refuses("0", &[&text[..], &["--remove-layers", "9"]].concat(), &["the model has blocks 0 to"]);
}

#[test]
fn the_constant_gate_is_exact_on_a_gpu_too() {
    if common::gpu().is_none() {
        return;
    }
    for (name, block) in [("tiny-llama", 1), ("tiny-gpt_neox", 1)] {
        let case = Case::new(&format!("gpu-{name}"), fixture(name));
        let report = case.export(&block.to_string(), "out");
        check_folder(&format!("{name} on the GPU"), &case, &report, block, "gpu");
    }
}

#[test]
fn maps_from_a_file_give_the_same_folder() {
    let case = Case::new("maps", fixture("tiny-gpt2"));
    case.export("0,2", "out");
    let maps = case.at("maps.safetensors");
    let measure = ["measure", path(&case.model), "--text", path(&case.text), "--backend", "cpu"];
    assert!(run(&[&measure[..], &["--dump-maps", path(&maps)]].concat()).status.success());
    let output = case.run_export("0,2", "from-maps", &["--maps", path(&maps)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for file in ["model.safetensors", "config.json", "tokenizer.json", "straightedge.json"] {
        assert!(
            fs::read(case.at("out").join(file)).expect(file) == fs::read(case.at("from-maps").join(file)).expect(file)
        );
    }
    case.refuses("1,7", &["--maps", path(&maps)], &["--blocks", "7"]);
    let (report, out) = (case.at("report.json"), case.at("healed"));
    let given = ["export", path(&case.model), "--report", path(&report), "--maps", path(&maps), "--out", path(&out)];
    let output = run(&[&given[..], &["--healed", "tokens"]].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && complaint.contains("heal-together") && !out.exists(), "{complaint}");

    // The same bytes every time, and nothing that contradicts itself.
    let bytes = fs::read(&maps).expect("maps");
    let again = case.at("again.safetensors");
    let few =
        [&measure[..], &["--rows", "1280", "--folds", "2", "--blocks", "0", "--dump-maps", path(&again)]].concat();
    let written = || {
        assert!(run(&few).status.success());
        fs::read(&again).expect("maps")
    };
    let first = written();
    assert!((0..4).all(|_| written() == first), "another order");
    let changed = case.at("changed.safetensors");
    let tensors = SafeTensors::deserialize(&bytes).expect("maps");
    let bias = tensors.tensor("blocks.2.bias").expect("a bias").data().as_ptr() as usize - bytes.as_ptr() as usize;
    let mut other = bytes.clone();
    other[bias..bias + 8].copy_from_slice(&1e3f64.to_le_bytes());
    fs::write(&changed, &other).expect("maps");
    case.refuses("0,2", &["--maps", path(&changed)], &["changed.safetensors", "blocks.2.bias", "mean_y"]);
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("a length")) as usize;
    let json = String::from_utf8(bytes[8..8 + header].to_vec()).expect("a header");
    let shape = tensors.tensor("blocks.2.weight").expect("a weight").shape().to_vec();
    let flat = json.replacen(&format!("[{},{}]", shape[0], shape[1]), &format!("[{},{}]", shape[0] * shape[1], 1), 3);
    let flat = [&(flat.len() as u64).to_le_bytes()[..], flat.as_bytes(), &bytes[8 + header..]].concat();
    fs::write(&changed, flat).expect("maps");
    case.refuses("0", &["--maps", path(&changed)], &["blocks.0.weight", "shape"]);

    // Maps of another text.
    let other = case.at("other.safetensors");
    let text = tales();
    let measure = ["measure", path(&case.model), "--text", path(&text), "--backend", "cpu", "--blocks", "1"];
    assert!(run(&[&measure[..], &["--dump-maps", path(&other)]].concat()).status.success());
    case.refuses("1", &["--maps", path(&other)], &["text of the maps", "SHA-256"]);
    let weights = case.model.join("model.safetensors");
    case.refuses("1", &["--maps", path(&weights)], &["model_sha256", "--dump-maps"]);
}

#[test]
fn networks_healed_together_are_exported_as_measured() {
    for name in ["tiny-gpt2", "tiny-llama"] {
        let case = Case::new(&format!("healed-{name}"), fixture(name));
        let (maps, report) = (case.at("maps.safetensors"), case.at("report.json"));
        let cpu = ["--backend", "cpu", "--rows", "2048", "--heal-steps", "8", "--measures", "heal-together"];
        let found = case.measure_with(&case.model, &[&cpu[..], &["--dump-maps", path(&maps)]].concat());
        fs::write(&report, found.to_json()).expect("a report");
        let (ppl, healed) = (found.ppl.expect("ppl"), &found.healed_together[orders::GREEDY_REFITTED]);
        let change = |learned| healed.delta_ppl[learned].expect("a change");
        assert!((change(HealedTogether::STREAMS) - change(HealedTogether::TOKENS)).abs() > 1e-4 * ppl, "{name}");
        for learned in [HealedTogether::STREAMS, HealedTogether::TOKENS] {
            let out = case.at(learned);
            let given = ["export", path(&case.model), "--report", path(&report), "--maps", path(&maps)];
            let output = run(&[&given[..], &["--healed", learned, "--out", path(&out)]].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(String::from_utf8_lossy(&output.stdout).contains("perplexity by the report"), "{name}, {learned}");
            let expected = ppl + change(learned);
            let again = case.measure_with(&out, &["--backend", "cpu", "--rows", "2048", "--measures", "swap"]);
            let found = again.ppl.expect("a perplexity");
            assert!((found / expected - 1.0).abs() <= 1e-5, "{name}, {learned}: {found} where {expected} was measured");
            let linear = |block: &&BlockReport| block.r2_lin.is_some_and(|r2| r2 > 1.0 - 1e-6);
            assert!(again.blocks.iter().filter(linear).map(|block| block.block).eq(healed.blocks.iter().copied()));
        }
    }
}

#[test]
fn what_does_not_belong_together_or_cannot_be_held_is_refused() {
    let mut case = Case::new("refused", fixture("tiny-gpt2"));
    case.export("1", "out");
    case.refuses("1", &["--text", path(&tales())], &["text: ", "SHA-256"]);
    case.refuses("1", &[], &["--text"]);
    let filled = case.run_export("1", "out", &["--text", path(&case.text)]);
    assert!(String::from_utf8_lossy(&filled.stderr).contains("not empty"), "{filled:?}");
    let nowhere = case.run_export("1", "no/such/folder", &["--text", path(&case.text)]);
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("does not exist"), "{nowhere:?}");
    case.model = fixture("tiny-llama");
    case.refuses("1", &["--text", path(&case.text)], &["model: ", "SHA-256"]);
    case.model = "calibration".into();
    case.refuses("1", &[], &["intermediate_size 64", "96 units"]);

    // Gated networks without biases that no configuration of Llama describes.
    for model in ["tiny-qwen3", "tiny-gemma", "tiny-gemma2", "tiny-gemma3", "tiny-modernbert"] {
        case.model = fixture(model);
        case.refuses("1", &["--text", path(&case.text)], &["a network of", "no biases"]);
    }

    for (model, field, value, words) in [
        ("tiny-gpt2", "activation_function", json!("relu2"), ["relu2", "act(z) − act(−z)"]),
        ("tiny-gpt2", "activation_function", json!("tanh"), ["tanh", "act(z) − act(−z)"]),
        ("tiny-llama", "sliding_window", json!(200), ["mistral", "sliding window"]),
    ] {
        let changed = remade(&case, model, |config| {
            config[field] = value;
            if model == "tiny-llama" {
                config["model_type"] = json!("mistral");
            }
        });
        case.model = changed;
        case.refuses("1", &["--text", path(&case.text)], &words);
    }
}

/// A copy of a reference model with another configuration.
fn remade(case: &Case, model: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let (from, to) = (fixture(model), case.at(&format!("remade-{model}")));
    fs::create_dir_all(&to).expect("a folder");
    for file in ["model.safetensors", "tokenizer.json"] {
        fs::copy(from.join(file), to.join(file)).expect(file);
    }
    let json = fs::read_to_string(from.join("config.json")).expect("config.json");
    let mut config: Value = serde_json::from_str(&json).expect("JSON");
    change(&mut config);
    fs::write(to.join("config.json"), config.to_string()).expect("config.json");
    to
}

fn mistral(test: &str) -> Case {
    let mut case = Case::new(test, "");
    case.model = remade(&case, "tiny-llama", |config| {
        config["model_type"] = json!("mistral");
        config["architectures"] = json!(["MistralForCausalLM"]);
        config["sliding_window"] = Value::Null;
        config.as_object_mut().expect("an object").remove("rms_norm_eps");
    });
    case
}

fn qwen2(test: &str) -> Case {
    let mut case = Case::new(test, "");
    case.model = remade(&case, "tiny-llama", |config| {
        config["model_type"] = json!("qwen2");
        config["architectures"] = json!(["Qwen2ForCausalLM"]);
        config["use_sliding_window"] = json!(false);
        config["sliding_window"] = json!(64);
        let config = config.as_object_mut().expect("an object");
        config.remove("attention_bias");
        config.remove("mlp_bias");
    });
    add_attention_biases(&case.model.join("model.safetensors"));
    case
}

#[test]
fn mistral_and_qwen2_become_llama() {
    for (name, case, block) in [("mistral", mistral("mistral"), 2), ("qwen2", qwen2("qwen2"), 1)] {
        let report = case.export(&block.to_string(), "out");
        assert_eq!(report.model.architecture, name);
        let again = check_folder(name, &case, &report, block, "cpu");
        assert_eq!(again.model.architecture, "llama");
    }
}

/// Adds nonzero biases to queries, keys and values.
fn add_attention_biases(file: &Path) {
    let in_f32 = |(name, (_, shape, bytes))| TestTensor { name, dtype: "F32", shape, bytes };
    let mut all: Vec<TestTensor> = tensors(file).into_iter().map(in_f32).collect();
    let is_qkv = |tensor: &&TestTensor| ["q_proj", "k_proj", "v_proj"].iter().any(|part| tensor.name.contains(part));
    let biases: Vec<TestTensor> = all
        .iter()
        .filter(is_qkv)
        .map(|weight| {
            let values: Vec<f32> = (0..weight.shape[0]).map(|i| ((i * 7 + 3) % 11) as f32 / 10.0 - 0.5).collect();
            synthetic::f32s(&weight.name.replace("weight", "bias"), &[values.len()], &values)
        })
        .collect();
    all.extend(biases);
    fs::write(file, synthetic::safetensors(&all)).expect("weights");
}

/// tiny-gpt2 in two shards of BF16, and all tensors of both.
fn sharded(test: &str) -> (Case, Vec<TestTensor>) {
    let mut case = Case::new(test, "");
    case.model = remade(&case, "tiny-gpt2", |config| config["dtype"] = json!("bfloat16"));
    let whole = case.model.join("model.safetensors");
    let halves: Vec<TestTensor> =
        tensors(&whole).into_iter().map(|(name, (_, shape, bytes))| halved(name, shape, &bytes)).collect();
    let (first, second) = halves.split_at(halves.len() / 2);
    let mut map = serde_json::Map::new();
    for (shard, tensors) in [("a.safetensors", first), ("b.safetensors", second)] {
        fs::write(case.model.join(shard), synthetic::safetensors(tensors)).expect("a shard");
        map.extend(tensors.iter().map(|tensor| (tensor.name.clone(), json!(shard))));
    }
    fs::write(case.model.join("model.safetensors.index.json"), json!({"weight_map": map}).to_string()).expect("index");
    fs::remove_file(&whole).expect("the whole file");
    (case, halves)
}

#[test]
fn shards_in_bf16_become_one_file_with_the_rest_as_it_was() {
    let (case, halves) = sharded("bf16");
    let report = case.export("1", "out");
    assert_eq!(report.model.dtype.as_deref(), Some("BF16"));
    let reference = case.at("whole.safetensors");
    fs::write(&reference, synthetic::safetensors(&halves)).expect("a file");
    assert_the_rest_is_untouched(&reference, &case.at("out"), &["h.1.mlp.".into()]);
    assert!(!case.at("out/model.safetensors.index.json").exists());
    check_folder("bf16 shards", &case, &report, 1, "cpu");
}

fn halved(name: String, shape: Vec<usize>, bytes: &[u8]) -> TestTensor {
    let halve = |bytes: &[u8; 4]| bf16::from_f32(f32::from_le_bytes(*bytes)).to_le_bytes();
    TestTensor { name, dtype: "BF16", shape, bytes: bytes.as_chunks().0.iter().flat_map(halve).collect() }
}

#[test]
#[ignore = "needs Python with transformers: cargo xtask test reference"]
fn transformers_loads_exported_folders_and_finds_the_same_perplexity() {
    let test = |name: &str| format!("elsewhere-{name}");
    let remade = [(mistral(&test("mistral")), 2), (qwen2(&test("qwen2")), 1), (sharded(&test("bf16")).0, 1)];
    let tiny = NETWORKS.map(|(name, block, _)| (Case::new(&test(name), fixture(name)), block));
    for (case, block) in tiny.into_iter().chain(remade) {
        let block = block.to_string();
        case.export(&block, "out");
        check_elsewhere(&case, &case.measure(&case.at("out"), &block, "cpu"));
    }
}

/// No tensor is missing or unknown, and the perplexity of the held-out windows is the same.
fn check_elsewhere(case: &Case, measured: &Report) {
    let (what, protocol) = (case.folder.file_name().expect("a name").to_string_lossy(), &measured.protocol);
    let tokenizer = fs::read(case.model.join("tokenizer.json")).expect("tokenizer.json");
    let tokenizer = Tokenizer::from_json(&tokenizer).expect("a tokenizer");
    let ids = block_on(tokenizer.encode("text", &fs::read(&case.text).expect("a text"))).expect("ids");
    let first = (protocol.folds - 1) * protocol.windows / protocol.folds;
    let heldout = &ids[first * protocol.seq_len..protocol.windows * protocol.seq_len];
    let found = common::python::perplexity(&what, &case.at("out"), heldout, protocol.seq_len);
    println!("{what} in transformers: {found}; here {:?}", measured.ppl);
    // The reference BERT has no pooler either.
    let mut missing: Vec<&str> =
        found["missing"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    missing.retain(|name| !name.starts_with("pooler."));
    assert_eq!((missing, &found["unexpected"]), (Vec::new(), &json!([])), "{what}");
    if let Some(ppl) = measured.ppl {
        common::assert_close(&format!("{what} in transformers"), found["ppl"].as_f64(), ppl, 1e-4 * ppl);
    }
}
