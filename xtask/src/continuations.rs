//! The recorded continuations of the model the page opens with: one for every choice of linear blocks.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use straightedge_api::recorded_texts::{RecordedText, RecordedTexts};

use crate::command::{cargo, root, shown};
use crate::commit::name_commit;

/// The model.
pub(crate) const MODEL: &str = "demo-gpt2";
/// Its prompt, with which the page opens.
const PROMPT: &str = "A day in";
/// Blocks of the model.
const BLOCKS: usize = 6;

/// Continues the prompt with every choice of blocks on the CPU, and writes the texts. `commit` is that of reports:
/// without it the engine would be compiled again.
pub(crate) fn record(commit: Option<&str>) -> Result<()> {
    let mut all = RecordedTexts { model: MODEL.into(), prompt: PROMPT.into(), ..RecordedTexts::default() };
    for chosen in 0..1usize << BLOCKS {
        let transcript = transcript(chosen, commit)?;
        let Transcript { original, linear, sha256, text } = read(&transcript)?;
        ensure!(all.original.is_empty() || all.original == original, "the model’s own text depends on the blocks");
        all.original = original;
        all.linear.push(linear);
        if let (Some(sha256), Some(text)) = (sha256, text) {
            (all.sha256, all.text) = (sha256, text);
        }
    }
    ensure!(all.blocks() == BLOCKS, "the texts differ in length");
    let path = path();
    fs::write(&path, serde_json::to_string(&all)? + "\n")
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn path() -> PathBuf {
    root().join("web/data/continuations").join(format!("{MODEL}.json"))
}

/// What one run of the command line wrote.
fn transcript(chosen: usize, commit: Option<&str>) -> Result<Value> {
    let blocks: Vec<String> =
        (0..BLOCKS).filter(|block| chosen >> block & 1 == 1).map(|block| block.to_string()).collect();
    let blocks = if blocks.is_empty() { "none".into() } else { blocks.join(",") };
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "straightedge", "--", "continue", MODEL]);
    command.args(["--prompt", PROMPT, "--blocks", &blocks, "--backend", "cpu", "--top", "1", "--out", "-"]);
    name_commit(&mut command, commit);
    eprintln!("$ {}", shown(&command));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("the continuation with blocks {blocks} failed");
    }
    serde_json::from_slice(&output.stdout).context("the continuation is no JSON")
}

/// The parts of a continuation that are recorded.
struct Transcript {
    original: Vec<String>,
    linear: RecordedText,
    /// Hash of the weights and name of the text, unless no block was measured.
    sha256: Option<String>,
    text: Option<String>,
}

fn read(json: &Value) -> Result<Transcript> {
    let steps = json["steps"].as_array().context("no steps")?;
    let tokens = |model: &str| -> Result<Vec<String>> {
        let token =
            |step: &Value| step["token"][model]["text"].as_str().map(String::from).context("a step has no token");
        steps.iter().map(token).collect()
    };
    let kl: Result<Vec<f64>> = steps.iter().map(|step| step["kl"].as_f64().context("a step has no KL")).collect();
    let mean_kl = json["mean_kl"].as_f64().context("no mean KL")?;
    let named = |part: &str, name: &str| json["measured"][part][name].as_str().map(String::from);
    Ok(Transcript {
        original: tokens("original")?,
        linear: RecordedText {
            tokens: tokens("linear")?,
            kl: kl?.into_iter().map(rounded).collect(),
            mean_kl: rounded(mean_kl),
        },
        sha256: named("model", "sha256"),
        text: named("corpus", "id"),
    })
}

/// Four significant digits, one more than the page shows.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continuation_is_recorded_with_the_digits_that_are_shown() {
        let step = |original: &str, linear: &str, kl: f64| {
            serde_json::json!({
                "token": { "original": { "text": original }, "linear": { "text": linear } }, "kl": kl,
            })
        };
        let json = serde_json::json!({
            "steps": [step(" a", " b", 0.123_456), step("c", "c", 0.0)], "mean_kl": 0.061_728,
            "measured": { "model": { "sha256": "00" }, "corpus": { "id": "tales:1" } },
        });
        let Transcript { original, linear, sha256, text } = read(&json).unwrap();
        assert_eq!(original, [" a", "c"]);
        assert_eq!(
            (linear.tokens, linear.kl, linear.mean_kl),
            (vec![" b".into(), "c".into()], vec![0.1235, 0.0], 0.06173)
        );
        assert_eq!((sha256.as_deref(), text.as_deref()), (Some("00"), Some("tales:1")));
        assert!(read(&serde_json::json!({ "steps": [{}], "mean_kl": 0 })).is_err());
    }

    #[test]
    fn what_is_recorded_has_a_text_for_every_choice_of_blocks() {
        let texts: RecordedTexts = serde_json::from_slice(&fs::read(path()).unwrap()).unwrap();
        assert_eq!((texts.model.as_str(), texts.prompt.as_str(), texts.blocks()), (MODEL, PROMPT, BLOCKS));
        assert_eq!(texts.of(|_| false).unwrap().tokens, texts.original, "no linear block changes nothing");
    }
}
