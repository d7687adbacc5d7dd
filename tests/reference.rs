//! The project's references: complete, unmodified since generated, and reproduced by `transformers` and SciPy.

mod common;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use straightedge::corpus::synthetic::{Domain, FIRST_TRAINING_SEED, SyntheticText};
use straightedge::platform::digest::sha256;

/// Files of every model, and of every reference.
const MODEL: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];
const REFERENCE: [&str; 2] = ["expected.json", "golden.safetensors"];

/// Planted rows.
const PLANTED: [&str; 5] = ["k2", "k4", "k6", "k8", "null"];

/// PyTorch files and the same tensors as safetensors.
const TORCH: [&str; 8] = [
    "legacy.bin",
    "namespace.bin",
    "nested.bin",
    "plain.bin",
    "sharded/pytorch_model-00001-of-00002.bin",
    "sharded/pytorch_model-00002-of-00002.bin",
    "sharded/pytorch_model.bin.index.json",
    "values.safetensors",
];

/// Tokenizers without `tokenizer.json`, and what they make of some texts.
const TOKENIZERS: [&str; 5] = ["bare.model", "bpe.model", "expected.json", "llama.model", "unigram.model"];

/// Number of values that `check.py` must compare in each group.
const OWN_VALUES: [(&str, u64); 5] =
    [("golden", 448_960), ("reports", 5_325), ("planted", 40), ("trained", 37), ("files", 34)];

/// The same for additional references, of which some may be missing.
const ADDITIONAL_VALUES: [(&str, u64); 2] = [("golden", 1), ("reports", 1)];

#[test]
fn texts_are_those_that_the_generator_makes() {
    for (domain, bytes) in [(Domain::Encyclopedia, 420_000), (Domain::Tales, 64_000)] {
        let text = fs::read_to_string(common::fixture(format!("texts/{domain}.txt"))).expect("a text");
        let synthetic = SyntheticText { domain, seed: 1 }.text(bytes);
        assert!(text == synthetic, "{domain}.txt is not {domain}:1 with {bytes} bytes or a document more");
    }
}

/// Writes the training texts of `make_models.py` into target/tmp/training.
#[test]
fn training_texts_are_those_that_the_models_have_learned() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("training");
    fs::create_dir_all(&folder).expect("a folder");
    for (domain, bytes) in [(Domain::Encyclopedia, 3_000_000), (Domain::Tales, 2_000_000)] {
        let text = SyntheticText { domain, seed: FIRST_TRAINING_SEED + 1 }.text(bytes);
        let file = format!("{domain}.txt");
        fs::write(folder.join(&file), &text).expect("a text");
        let recorded = manifest()["make_models.py"]["training_texts"][&file].clone();
        assert_eq!(recorded, sha256(text.as_bytes()), "{file}: not the text that the models have learned");
    }
}

#[test]
fn fixtures_are_complete_and_as_their_scripts_left_them() {
    let mut wanted: BTreeSet<(&str, String)> = PLANTED
        .iter()
        .map(|name| format!("{name}.safetensors"))
        .chain(["expected.json".into()])
        .map(|file| ("make_planted.py", format!("planted/{file}")))
        .chain(TORCH.map(|file| ("make_torch.py", format!("torch/{file}"))))
        .collect();
    wanted.insert(("make_pieces.py", "pieces.json".into()));
    wanted.insert(("make_trained.py", "tiny-gpt2/trained.json".into()));
    wanted.extend(TOKENIZERS.map(|file| ("make_tokenizers.py", format!("tokenizers/{file}"))));
    wanted.extend(common::OWN.map(|(_, text)| ("make_models.py", format!("texts/{text}.txt"))));
    let own = common::OWN.map(|(model, _)| ("make_models.py", model));
    let families = common::FAMILIES.map(|model| ("make_families.py", model));
    for (script, model) in own.into_iter().chain(families) {
        wanted.extend(MODEL.map(|file| (script, format!("{model}/{file}"))));
        wanted.extend(REFERENCE.map(|file| ("make_references.py", format!("{model}/{file}"))));
    }
    let manifest = manifest();
    let scripts = manifest.as_object().expect("scripts");
    let mut recorded = BTreeSet::new();
    for (script, made) in scripts {
        for (file, hash) in made["sha256"].as_object().expect("hashes") {
            let bytes = fs::read(common::fixture(file)).expect("a file");
            assert_eq!(*hash, sha256(&bytes), "{file} is not as {script} left it");
            recorded.insert((script.as_str(), file.clone()));
        }
    }
    assert_same(&recorded, &wanted, "in the manifest or read by tests, but not both");
    let mut all = BTreeSet::new();
    list(&common::fixture(""), "", &mut all);
    // What the fuzzer found is nobody's work.
    all.retain(|file| !file.starts_with("fuzz/"));
    let mut known: BTreeSet<String> = wanted.into_iter().map(|(_, file)| file).collect();
    known.extend(["README.md", "manifest.json", "links.txt", "before/links.txt", "before/report.json"].map(Into::into));
    assert_same(&all, &known, "in tests/fixtures or in the manifest, but not both");
}

#[track_caller]
fn assert_same<T: Ord + std::fmt::Debug>(found: &BTreeSet<T>, wanted: &BTreeSet<T>, what: &str) {
    let odd: Vec<&T> = found.symmetric_difference(wanted).collect();
    assert!(odd.is_empty(), "{what}: {odd:?}");
}

#[test]
#[ignore = "needs Python with transformers: cargo xtask test reference"]
fn references_come_out_again() {
    check(&[], &OWN_VALUES);
}

#[test]
#[ignore = "needs Python with transformers: cargo xtask test reference"]
fn additional_references_come_out_of_the_same_scripts() {
    match common::additional() {
        Some(folder) => check(&["--folder".as_ref(), folder.as_os_str()], &ADDITIONAL_VALUES),
        None => println!("no additional references lie beside the repository"),
    }
}

/// Runs `check.py`, which must reproduce at least the given number of values in every group.
fn check(arguments: &[&OsStr], values: &[(&str, u64)]) {
    let found = common::python::run("check.py", arguments);
    println!("compared: {}; largest differences: {}", found["compared"], found["largest"]);
    assert_eq!(found["failures"], Value::Array(Vec::new()));
    for (group, least) in values {
        let compared = found["compared"][group].as_u64().unwrap_or(0);
        assert!(compared >= *least, "{compared} values of {group} were compared, not {least}");
    }
}

fn manifest() -> Value {
    let manifest = fs::read(common::fixture("manifest.json")).expect("the manifest");
    serde_json::from_slice(&manifest).expect("JSON")
}

/// Every file below `folder`, by its relative path.
fn list(folder: &Path, prefix: &str, all: &mut BTreeSet<String>) {
    let entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    for path in entries {
        let name = format!("{prefix}{}", path.file_name().expect("a name").to_string_lossy());
        if path.is_dir() {
            list(&path, &format!("{name}/"), all);
        } else {
            all.insert(name);
        }
    }
}
