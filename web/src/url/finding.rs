//! A result inside a link: `#r=` and the numbers of its profile, in full digits.
//!
//! The fragment never reaches a server. It holds model, text, protocol, device and hashes, R² of every block with its
//! folds, ranks, and the losses by swapping. Left out is what would not fit: R² by feature, rank curves, spectra,
//! scatter, training curves, probes, controls, layers, warnings. A link is untrusted: whatever it holds is checked like
//! a report, and only measuring again proves it.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use straightedge_api::error::{Error, Result};
use straightedge_api::job::{BackendChoice, GramMode, Measure, Protocol};
use straightedge_api::report::{
    AppInfo, BlockReport, CorpusInfo, DeviceInfo, Header, ModelInfo, Ordered, ProtocolInfo, Report,
};

use crate::url::wire::{Passed, Wire};

/// What the fragment begins with: its name, and the version of the layout.
const START: &str = "#r=1";
/// The name alone.
const NAME: &str = "#r=";
/// Most characters of a fragment: about 90 blocks.
const MOST_CHARACTERS: usize = 16_000;
/// Replacements whose losses a link holds, all or none of a block.
const LOSSES: [&str; 3] = ["linear", "mean", "zero"];
const BACKENDS: [BackendChoice; 3] = [BackendChoice::Auto, BackendChoice::Gpu, BackendChoice::Cpu];
const GRAMS: [GramMode; 2] = [GramMode::Exact, GramMode::Fast];

/// A result shared by a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shared {
    /// In the link's own fragment.
    Fragment(String),
    /// A report at an address.
    Report(String),
}

/// Whether a fragment holds a result.
pub fn is_finding(fragment: &str) -> bool {
    fragment.starts_with(NAME)
}

/// The fragment that holds a report's profile.
///
/// # Errors
/// It has too many blocks or too long names.
pub fn written(report: &Report) -> Result<String> {
    let beyond = |why: &str| Error::InvalidSetting {
        field: "a link with this result".into(),
        value: why.into(),
        hint: "download its report, publish the file, and share a link with report= and its address".into(),
    };
    let mut report = report.clone();
    // A link cannot mark a hash as claimed, and the reader would take it for compared with the weights.
    report.model.sha256.take_if(|_| report.model.sha256_claimed);
    let mut wire = Wire::Out(Vec::new());
    whole(&mut wire, &mut report).map_err(beyond)?;
    let Wire::Out(bytes) = wire else { return Err(beyond("nothing was written")) };
    let fragment = format!("{START}{}", URL_SAFE_NO_PAD.encode(bytes));
    if fragment.len() > MOST_CHARACTERS {
        return Err(beyond(&format!("{} blocks", report.blocks.len())));
    }
    Ok(fragment)
}

/// The report in an untrusted fragment.
///
/// # Errors
/// It is damaged, of another version, or no report.
pub fn read(fragment: &str) -> Result<Report> {
    let malformed = |why: &str| Error::MalformedLink { why: why.into() };
    if fragment.len() > MOST_CHARACTERS {
        return Err(malformed("it is too long"));
    }
    let Some(code) = fragment.strip_prefix(START) else {
        return Err(malformed("it is of another version of this page"));
    };
    let bytes = URL_SAFE_NO_PAD.decode(code).map_err(|_| malformed("it is damaged"))?;
    let mut wire = Wire::In(&bytes);
    let mut report = empty();
    whole(&mut wire, &mut report).map_err(malformed)?;
    if !matches!(wire, Wire::In([])) {
        return Err(malformed("it goes on after its end"));
    }
    complete(&mut report);
    report.check().map_err(|why| malformed(&why))?;
    Ok(report)
}

/// A report without anything.
fn empty() -> Report {
    Report::from(Header {
        app: AppInfo { name: AppInfo::this().name, version: String::new(), commit: None },
        model: ModelInfo::default(),
        corpus: CorpusInfo::default(),
        protocol: ProtocolInfo::new(&Protocol::default(), 0, 0, 0.0),
        device: DeviceInfo::default(),
        ordered: Ordered::default(),
    })
}

/// Sets what follows from the rest.
fn complete(report: &mut Report) {
    report.blocks.iter_mut().for_each(BlockReport::summarise_folds);
    let has_losses = report.blocks.iter().any(|block| !block.delta_ppl.is_empty());
    let measures = BTreeSet::from([Measure::Fit]).into_iter().chain(has_losses.then_some(Measure::Swap)).collect();
    let is_part = !report.partial && report.blocks.len() < report.model.num_hidden_layers;
    let backend = report.ordered.as_ref().map_or_else(BackendChoice::default, |ordered| ordered.backend);
    let blocks = is_part.then(|| straightedge_api::job::Blocks::of(report.blocks.iter().map(|block| block.block)));
    report.ordered = Some(Ordered { measures, blocks, backend, ..Ordered::default() });
}

/// The order of everything.
fn whole(wire: &mut Wire<'_>, report: &mut Report) -> Passed {
    wire.switch(&mut report.partial)?;
    wire.maybe_text(&mut report.date)?;
    wire.text(&mut report.app.version)?;
    wire.maybe_text(&mut report.app.commit)?;
    model(wire, &mut report.model)?;
    wire.text(&mut report.corpus.id)?;
    wire.hash(&mut report.corpus.sha256)?;
    wire.number(&mut report.corpus.tokens)?;
    protocol(wire, &mut report.protocol, &mut report.model.tokenizer)?;
    wire.text(&mut report.device.backend)?;
    wire.maybe_text(&mut report.device.adapter)?;
    let ordered = report.ordered.get_or_insert_default();
    let mut backend = BACKENDS.iter().position(|backend| *backend == ordered.backend).unwrap_or_default();
    wire.choice(&mut backend, BACKENDS.len())?;
    ordered.backend = BACKENDS[backend];
    wire.number_exact(&mut report.seconds.total)?;
    wire.value(&mut report.ppl)?;
    wire.list(&mut report.blocks, block)
}

fn model(wire: &mut Wire<'_>, model: &mut ModelInfo) -> Passed {
    wire.text(&mut model.id)?;
    wire.maybe_text(&mut model.revision)?;
    wire.maybe_text(&mut model.checkpoint)?;
    wire.text(&mut model.architecture)?;
    wire.hash(&mut model.sha256)?;
    wire.maybe_text(&mut model.dtype)?;
    wire.number(&mut model.hidden_size)?;
    wire.maybe_number(&mut model.intermediate_size)?;
    wire.number(&mut model.num_hidden_layers)?;
    wire.maybe_text(&mut model.hidden_act)?;
    wire.maybe_number(&mut model.ffn_parameters)?;
    wire.maybe_number(&mut model.expected_rank)?;
    wire.maybe_number(&mut model.vocab_size)
}

fn protocol(wire: &mut Wire<'_>, protocol: &mut ProtocolInfo, tokenizer: &mut Option<String>) -> Passed {
    let counts = [
        &mut protocol.rows,
        &mut protocol.windows,
        &mut protocol.seq_len,
        &mut protocol.folds,
        &mut protocol.skip_positions,
        &mut protocol.train_rows,
        &mut protocol.heldout_rows,
    ];
    counts.into_iter().try_for_each(|count| wire.number(count))?;
    wire.number_exact(&mut protocol.tau)?;
    // Links of earlier versions have the first choices.
    let gram = GRAMS.iter().position(|gram| *gram == protocol.gram).unwrap_or_default();
    let switches = [protocol.bos, protocol.piece_chars > 0, tokenizer.is_some(), protocol.interleaved_folds];
    let bits = switches.iter().rev().fold(0, |bits, switch| 2 * bits + usize::from(*switch));
    let mut choice = gram + GRAMS.len() * bits;
    wire.choice(&mut choice, GRAMS.len() << switches.len())?;
    let is_on = |switch: usize| (choice / GRAMS.len()) >> switch & 1 == 1;
    (protocol.gram, protocol.bos) = (GRAMS[choice % GRAMS.len()], is_on(0));
    protocol.interleaved_folds = is_on(3);
    let mut seed = usize::try_from(protocol.seed).map_err(|_| "the seed is too large")?;
    wire.number(&mut seed)?;
    protocol.seed = seed as u64;
    if is_on(1) {
        wire.number(&mut protocol.piece_chars)?;
    }
    if is_on(2) {
        wire.maybe_text(tokenizer)?;
    }
    Ok(())
}

fn block(wire: &mut Wire<'_>, block: &mut BlockReport) -> Passed {
    wire.number(&mut block.block)?;
    wire.value(&mut block.r2_lin)?;
    wire.value(&mut block.r2_lin_scalar)?;
    wire.value(&mut block.r2_feature_median)?;
    wire.list(&mut block.r2_folds, Wire::value)?;
    wire.number(&mut block.rank)?;
    wire.maybe_number(&mut block.effective_rank)?;
    losses(wire, &mut block.delta_ppl)
}

fn losses(wire: &mut Wire<'_>, losses: &mut BTreeMap<String, Option<f64>>) -> Passed {
    let mut is_known = LOSSES.iter().all(|name| losses.contains_key(*name));
    wire.switch(&mut is_known)?;
    if !is_known {
        return Ok(());
    }
    LOSSES.iter().try_for_each(|name| wire.value(losses.entry((*name).into()).or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{differences::differences, sample_report};

    /// A report of `blocks` blocks like that of a well-known model, without a short number.
    fn large(blocks: usize) -> Report {
        let mut report = sample_report();
        let digits = |seed: usize| Some((seed as f64 + 0.5).sqrt().fract());
        let block = |block: usize| {
            let mut known = BlockReport {
                block,
                r2_lin: digits(block),
                r2_lin_scalar: digits(100 + block),
                r2_feature_median: digits(200 + block),
                r2_folds: (0..5).map(|fold| digits(block * 7 + fold)).collect(),
                rank: 767,
                effective_rank: Some(300 + block),
                ..Default::default()
            };
            known.summarise_folds();
            known
        };
        report.blocks = (0..blocks).map(block).collect();
        report.layers.clear();
        report.date = Some("2026-11-25T02:34:05Z".into());
        report.app.commit = Some("0123456789ab".into());
        report.model = ModelInfo {
            id: "openai-community/gpt2".into(),
            revision: Some("607a30d783dfa663caf39e06633721c8d4cfcd7e".into()),
            architecture: "gpt2".into(),
            sha256: Some("0123456789abcdef".repeat(4)),
            num_hidden_layers: blocks,
            ..report.model
        };
        report.corpus.sha256 = Some("fedcba9876543210".repeat(4));
        report.device.adapter = Some("NVIDIA GeForce RTX 3060 Laptop GPU".into());
        report
    }

    #[test]
    fn twelve_blocks_fit_into_two_thousand_characters_with_every_digit() {
        let report = large(12);
        let fragment = written(&report).unwrap();
        assert!(fragment.len() <= 2000, "{} characters", fragment.len());
        let plain = |c: char| c.is_ascii_alphanumeric() || "#=-_".contains(c);
        assert!(is_finding(&fragment) && fragment.chars().all(plain), "{fragment}");
        let found = read(&fragment).unwrap();
        assert_eq!(found.blocks, report.blocks);
        assert_eq!((&found.model, &found.corpus, &found.protocol), (&report.model, &report.corpus, &report.protocol));
        assert_eq!((&found.date, &found.app, found.partial), (&report.date, &report.app, report.partial));
        assert_eq!(differences(&found, &report).most, Some(0.0), "what is left out counts as no difference");
        assert_eq!(written(&found).unwrap(), fragment, "and it can be passed on");
        let mut claimed = report;
        claimed.model.sha256_claimed = true;
        assert_eq!(read(&written(&claimed).unwrap()).unwrap().model.sha256, None, "nobody compared it");
    }

    #[test]
    fn losses_are_held_and_ordered_again() {
        let mut report = sample_report();
        report.blocks.remove(2);
        report.model.num_hidden_layers = 2;
        let found = read(&written(&report).unwrap()).unwrap();
        assert_eq!(found.blocks[1].delta_ppl, report.blocks[1].delta_ppl);
        assert_eq!(found.ordered.unwrap().measures, [Measure::Fit, Measure::Swap].into());
        let fit = read(&written(&large(2)).unwrap()).unwrap().ordered.unwrap();
        assert_eq!((fit.measures, fit.blocks), ([Measure::Fit].into(), None));
    }

    #[test]
    fn what_does_not_fit_is_refused_in_a_sentence() {
        let sentence = written(&large(200)).unwrap_err().to_string();
        assert!(sentence.contains("200 blocks") && sentence.contains("report="), "{sentence}");
        let mut report = sample_report();
        report.model.id = "x".repeat(300);
        assert!(written(&report).unwrap_err().to_string().contains("name is too long"));
        report.model.id = "\u{202e}gpt".into();
        assert!(written(&report).is_err());
    }

    #[test]
    fn what_is_damaged_is_refused_in_a_sentence() {
        let fragment = written(&large(3)).unwrap();
        let cases = [
            ("#r=".to_string(), "another version"),
            ("#r=2AAAA".into(), "another version"),
            ("#r=1%%%".into(), "damaged"),
            (fragment[..START.len() + 400].into(), "ends early"),
            (format!("{fragment}AAAA"), "after its end"),
            (format!("{fragment}{}", "A".repeat(20_000)), "too long"),
        ];
        for (hostile, why) in cases {
            let sentence = read(&hostile).unwrap_err().to_string();
            assert!(sentence.contains(why) && sentence.len() < 250, "{sentence}");
        }
    }
}
