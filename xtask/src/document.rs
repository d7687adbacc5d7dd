//! docs/models.md: the recorded reports of the demo models, as tables and as sentences derived from them.

use std::fmt::Write;

use straightedge_api::bundled::{Bundled, Demo, FineTuning};
use straightedge_api::fields::Field;
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;

/// A demo model with its recording.
type Recorded<'a> = (&'a Bundled, Report);

/// Controls in the tables, with their display names; a table leaves out those that its recording lacks.
const CONTROLS: [(&str, &str); 4] = [
    ("reinit_block", "block re-initialised"),
    ("reinit_model", "model re-initialised"),
    ("shuffled", "weights shuffled"),
    ("gaussian", "Gaussian inputs"),
];

/// The whole document.
pub(crate) fn document(recorded: &[Recorded<'_>]) -> String {
    [HEAD.into(), profiles(recorded), controls(recorded), twins(recorded), fine_tuned(recorded), FOOT.into()].concat()
}

/// Perplexity and R²_lin of every model.
fn profiles(recorded: &[Recorded<'_>]) -> String {
    let mut text = heading(&["model", "step", "loss", "perplexity"], blocks(recorded));
    for (bundled, report) in recorded {
        let Some(Demo { step, steps, loss, .. }) = &bundled.demo else { continue };
        let link = format!("[{0}](../web/models/{0}/README.md)", bundled.name);
        let first = [link, format!("{step} of {steps}"), decimals(*loss, 2), decimals(report.ppl, 2)];
        row(&mut text, &first, Summary::new(report).curve(Field::R2Lin));
    }
    let plain = recorded.iter().filter(|(bundled, _)| bundled.demo.as_ref().is_some_and(Demo::is_plain));
    let complete = plain.filter(|(bundled, _)| bundled.demo.as_ref().is_some_and(Demo::is_complete));
    let spans = complete.map(|(bundled, report)| {
        let curve = known(Summary::new(report).curve(Field::R2Lin));
        let least = curve.iter().copied().fold(f64::INFINITY, f64::min);
        let most = curve.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{} from {least:.3} to {most:.3}", bundled.name)
    });
    let _ = writeln!(text, "\nAt the end of their runs: {}.", spans.collect::<Vec<_>>().join(", "));
    text
}

/// R²_lin under controls, for the models that have them.
fn controls(recorded: &[Recorded<'_>]) -> String {
    let mut text = String::from(CONTROLS_HEAD) + &heading(&["model", "weights and inputs"], blocks(recorded));
    let mut means = Vec::new();
    for (bundled, report) in recorded {
        let summary = Summary::new(report);
        if summary.controls.is_empty() {
            continue;
        }
        row(&mut text, &[bundled.name.clone(), "as trained".into()], summary.curve(Field::R2Lin));
        for (name, title) in CONTROLS {
            if let Some(curve) = summary.controls.get(name) {
                row(&mut text, &[String::new(), title.into()], curve);
            }
        }
        let mean_of = |name| mean(&summary.controls.get(name).map(|curve| known(curve)).unwrap_or_default());
        means.push(format!(
            "{} {:.3}, {:.3} and {:.3}",
            bundled.name,
            mean(&known(summary.curve(Field::R2Lin))),
            mean_of("shuffled"),
            mean_of("reinit_block")
        ));
    }
    let means = means.join("; ");
    let _ = writeln!(
        text,
        "\nMeans over the blocks, as trained, with weights shuffled, and with the block re-initialised: {means}. The \
         step from re-initialised to shuffled weights is the work of their size, and the one to trained weights was \
         learned."
    );
    text
}

/// Every model that has regularised twins, next to them.
fn twins(recorded: &[Recorded<'_>]) -> String {
    let mut text = String::from(TWINS_HEAD);
    for plain in recorded {
        let Some(without) = &plain.0.demo else { continue };
        let with = |twin| {
            let (bundled, _): &Recorded<'_> = twin;
            let demo = bundled.demo.as_ref().filter(|demo| without.is_plain_twin_of(demo))?;
            let (regulariser, lambda) = demo.regulariser()?;
            Some((format!("With the {regulariser} regulariser at λ = {lambda}"), twin))
        };
        let twins: Vec<_> = recorded.iter().filter_map(with).collect();
        if !twins.is_empty() {
            text += &compared(plain, &twins, [TWINS_LIKE_PAPER, TWINS_UNLIKE_PAPER]);
        }
    }
    text
}

/// Every fine-tuned model next to the one it was tuned from.
fn fine_tuned(recorded: &[Recorded<'_>]) -> String {
    let mut text = String::from(TUNED_HEAD);
    for tuned in recorded {
        let Some(FineTuning { base, domain }) = tuned.0.demo.as_ref().and_then(|demo| demo.fine_tuning.as_ref()) else {
            continue;
        };
        let Some(before) = recorded.iter().find(|(other, _)| other.name == *base) else { continue };
        let after = (format!("After fine-tuning on {domain}"), tuned);
        text += &compared(before, &[after], [TUNED_UNLIKE_PAPER, TUNED_LIKE_PAPER]);
    }
    text
}

/// Compares the linearity of layers and networks of the `first` model with the `others`, each with its description. The
/// first of `sentences` is for layers that became less linear, the second for all other changes.
fn compared(first: &Recorded<'_>, others: &[(String, &Recorded<'_>)], sentences: [&str; 2]) -> String {
    let curves = [
        ("layer linearity", Field::Linearity),
        ("without the residual", Field::LinearityNoResidual),
        ("R²_lin of the network", Field::R2Lin),
    ];
    let before = Summary::new(&first.1);
    let others: Vec<_> = others.iter().map(|(of, (model, report))| (of, &model.name, Summary::new(report))).collect();
    let mut text = heading(&["model", ""], before.curve(Field::R2Lin).len());
    for (title, field) in curves {
        row(&mut text, &[first.0.name.clone(), title.into()], before.curve(field));
        for (_, name, after) in &others {
            row(&mut text, &[(*name).clone(), title.into()], after.curve(field));
        }
    }
    for (of, _, after) in &others {
        let changes = curves.map(|(title, field)| change(title, before.curve(field), after.curve(field)));
        let verdict = verdict(before.curve(Field::Linearity), after.curve(Field::Linearity), sentences);
        let _ = writeln!(text, "\n{of}: {}. {verdict}", changes.join("; "));
    }
    text
}

/// The first sentence if the values are lower afterwards on average, else the second.
fn verdict<'s>(before: &[Option<f64>], after: &[Option<f64>], [lower, higher]: [&'s str; 2]) -> &'s str {
    if mean(&changes(before, after)) < 0.0 { lower } else { higher }
}

/// The change of a curve, in words.
fn change(title: &str, before: &[Option<f64>], after: &[Option<f64>]) -> String {
    let changes = changes(before, after);
    let lower = changes.iter().filter(|change| **change < 0.0).count();
    format!("{title} is lower in {lower} of {} places and changes by {:+.4} on average", changes.len(), mean(&changes))
}

fn changes(before: &[Option<f64>], after: &[Option<f64>]) -> Vec<f64> {
    before.iter().zip(after).filter_map(|(a, b)| Some((*b)? - (*a)?)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn blocks(recorded: &[Recorded<'_>]) -> usize {
    recorded.iter().map(|(_, report)| report.blocks.len()).max().unwrap_or(0)
}

fn heading(first: &[&str], blocks: usize) -> String {
    let numbers: String = (0..blocks).map(|block| format!(" {block} |")).collect();
    let named: String = first.iter().map(|name| format!(" {name} |")).collect();
    // Number columns after the name are right-aligned.
    let rules: String = first.iter().map(|name| if NUMBERS.contains(name) { "--:|" } else { "---|" }).collect();
    format!("|{named}{numbers}\n|{rules}{}\n", "--:|".repeat(blocks))
}

/// Columns of numbers.
const NUMBERS: [&str; 3] = ["step", "loss", "perplexity"];

fn row(text: &mut String, first: &[String], curve: &[Option<f64>]) {
    let first: String = first.iter().map(|cell| format!(" {cell} |")).collect();
    let values: String = curve.iter().map(|value| format!(" {} |", decimals(*value, 3))).collect();
    let _ = writeln!(text, "|{first}{values}");
}

fn known(curve: &[Option<f64>]) -> Vec<f64> {
    curve.iter().copied().flatten().collect()
}

fn decimals(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.places$}"))
}

const HEAD: &str = "\
<!-- Written by `cargo xtask record`. -->

# Demo models

Small decoders trained by the project on texts that it generates (`src/corpus/synthetic/`), so that the page can show the \
phenomenon offline: three families of the same width, depth and tokenizer, a second seed of one of them, checkpoints of \
its run, two twins trained with a penalty on layers that turn or move the residual stream, and one that was \
fine-tuned. Their model cards say how each was trained.

Loss is the mean over the last training batches, in nats per token. Perplexity is held-out, and the columns after it are \
R²_lin of each block, both on the generated text `tales:1`, which shares no long sentence with any training text: 15 000 \
rows, windows of 128, five folds, on the CPU. The reports are in `web/data/recorded/`.

";

const CONTROLS_HEAD: &str = "
## Was the linearity learned?

The same fit, R²_lin of each block, for the trained model and under controls: with the block re-initialised, with the \
whole model re-initialised, with the trained weights in random order, which keeps their size, and with Gaussian inputs \
of the same mean and covariance.

";

const TWINS_LIKE_PAPER: &str = "On average the layers became less linear, which the paper aims at; it is one run each.";
const TWINS_UNLIKE_PAPER: &str = "On average the layers did not become less linear, which the paper aims at and finds in larger models with the cosine.";
const TUNED_LIKE_PAPER: &str = "On average the layers became more linear, as in the paper; it is one run each, so this is an example and no proof.";
const TUNED_UNLIKE_PAPER: &str =
    "On average the layers did not become more linear: what the paper found in larger models does not show here.";

const TUNED_HEAD: &str = "
## Before and after fine-tuning

In arXiv 2405.12250, fine-tuning makes the layers of every model more linear. Here a finished model is trained further on \
puzzles alone, one of the three kinds of text that it was trained on, and measured on tales like all others.

";

const TWINS_HEAD: &str = "
## With and without a regulariser

The regularisers of arXiv 2405.12250 pull the residual streams of neighbouring layers together: λ·Σ_ℓ (1 − cos(h_ℓ, \
h_ℓ₋₁)) into one direction, which in that paper lowers the linearity of the layers, and λ·Σ_ℓ ‖h_ℓ − h_ℓ₋₁‖², here the \
mean over tokens and features, to one point, which a model can also come near to by a small scale of its whole stream, as \
its norms undo that. Linearity here is in-sample, as in the paper, for whole layers with and without the residual stream; \
the last rows show R²_lin of the networks inside the layers.

";

const FOOT: &str = "
`cargo xtask train all` trains the models again; `cargo xtask record` measures them again.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_as_it_is() {
        let (before, after) = (vec![Some(0.9), Some(0.5), None], vec![Some(0.8), Some(0.6), Some(0.1)]);
        assert_eq!(change("x", &before, &after), "x is lower in 1 of 2 places and changes by +0.0000 on average");
    }

    #[test]
    fn the_sentence_goes_by_the_mean_of_the_layers() {
        let verdict = |before: &[f64], after: &[f64]| {
            let curves = [before, after].map(|curve| curve.iter().copied().map(Some).collect::<Vec<_>>());
            verdict(&curves[0], &curves[1], ["fell", "rose"])
        };
        assert_eq!(verdict(&[0.9, 0.5], &[0.8, 0.55]), "fell");
        assert_eq!(verdict(&[0.8, 0.5], &[0.9, 0.45]), "rose");
    }

    #[test]
    fn columns_of_numbers_are_set_to_the_right() {
        assert_eq!(heading(&["model", "loss"], 2), "| model | loss | 0 | 1 |\n|---|--:|--:|--:|\n");
    }
}
