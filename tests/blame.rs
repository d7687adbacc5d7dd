//! What a refusal names: the text, the tokenizer, or a setting, and before anything large is read.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

mod common;

/// A copy of a model without its weights, in which nothing can be measured.
fn without_weights(test: &str, fixture: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test).join(fixture);
    fs::create_dir_all(&folder).expect("a temporary folder");
    for file in ["config.json", "tokenizer.json"] {
        fs::copy(common::fixture(fixture).join(file), folder.join(file)).expect("a copy");
    }
    folder
}

/// What the program says of a measurement that it refuses.
fn refusal(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .arg("measure")
        .args(args)
        .args(["--backend", "cpu"])
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

#[test]
fn a_text_without_tokens_is_not_called_empty() {
    let bert = without_weights("blame", "tiny-bert");
    let (lines, empty) = (bert.join("lines.txt"), bert.join("empty.txt"));
    fs::write(&lines, "\n".repeat(5000)).expect("a text");
    fs::write(&empty, "").expect("a text");
    let of = |model: &PathBuf, text: &PathBuf| {
        refusal(&[&model.display().to_string(), "--text", &text.display().to_string()])
    };
    let said = of(&bert, &lines);
    assert!(said.contains("lines.txt: the tokenizer finds no token in it; ") && !said.contains("empty"), "{said}");
    let said = of(&bert, &empty);
    assert!(said.contains("empty.txt: the text is empty; ") && !said.contains("tokenizer"), "{said}");

    // A vocabulary of nothing finds nothing in any text.
    let model = without_weights("blame", "tiny-gpt2");
    let file = model.join("tokenizer.json");
    let mut tokenizer: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).expect("a tokenizer")).expect("a tokenizer");
    tokenizer["added_tokens"] = serde_json::json!([]);
    tokenizer["model"]["merges"] = serde_json::json!([]);
    tokenizer["model"]["vocab"] = serde_json::json!({});
    fs::write(&file, tokenizer.to_string()).expect("a tokenizer");
    let said = of(&model, &common::encyclopedia());
    assert!(said.contains("the tokenizer") && !said.contains("the text is empty"), "{said}");
}

#[test]
fn a_perplexity_over_no_predicted_token_is_refused_before_the_weights() {
    let model = without_weights("predicted", "tiny-gpt2");
    let (model, text) = (model.display().to_string(), common::encyclopedia().display().to_string());
    let swap = [&*model, "--text", &text, "--measures", "swap", "--rows", "1280"];
    let said = refusal(&[&swap[..], &["--seq-len", "1"]].concat());
    assert!(said.contains("perplexity") && said.contains("windows of 1 tokens") && !said.contains("weights"), "{said}");
    // Nothing else is missing: a window of several tokens leads on to the weights.
    let said = refusal(&[&swap[..], &["--seq-len", "32"]].concat());
    assert!(said.contains("safetensors") && !said.contains("perplexity"), "{said}");
}
