//! `compare`: compares two reports number by number.

use std::collections::BTreeSet;
use std::fmt::Write;

use straightedge::agreement::{Agreement, correlation_interval};
use straightedge::difference::{Compared, Condition, Place, compare as differences, conditions};
use straightedge::error::Result;
use straightedge::fields::Field;
use straightedge::paired::{HasInfluence, HeldOutWindows, MeasuredValue, PairedDifference};
use straightedge::report::Report;
use straightedge::visible::{shown, visible};

use super::results;
use super::status::Status;

/// Most differences printed per block or layer.
const MOST_LISTED: usize = 12;

/// Prints the largest difference of every block and layer, and the numbers that exceed `tolerance`. The status is
/// `Different` if one does, if a block or layer is in one report only, or if weights, text or protocol differ.
pub(super) fn compare(a: &Report, b: &Report, tolerance: f64) -> Result<Status> {
    let of = |report: &Report| {
        let rows = report.blocks.iter().find_map(|block| block.rows_per_input);
        let rows = rows.map_or_else(String::new, |rows| format!(", {rows:.1} training rows per input"));
        format!("{} on {}{rows}", shown(&report.model.id), shown(&report.corpus.id))
    };
    let mut text = format!("a: {}\nb: {}\n", of(a), of(b));
    let conditions = conditions(a, b);
    conditions.iter().for_each(|condition| text += condition_name(*condition));
    // Another device must give the same numbers.
    let mut different = conditions.iter().any(|condition| *condition != Condition::Device);
    for (place, found) in differences(a, b) {
        let name = match place {
            Place::Model => "model".into(),
            Place::Block(block) => format!("block {block}"),
            Place::Layer(layer) => format!("layer {layer}"),
        };
        match found {
            Ok(found) => different |= write_differences(&mut text, &name, &found, tolerance),
            // One of the reports has no layers.
            Err(_) if matches!(place, Place::Layer(_)) && (a.layers.is_empty() || b.layers.is_empty()) => {}
            Err(side) => {
                different = true;
                let _ = writeln!(text, "{name}: only in {side}");
            }
        }
    }
    text += &paired(a, b);
    text += &agreement(&Agreement::of_profiles(a, b));
    results::print(&text)?;
    Ok(if different { Status::Different } else { Status::Done })
}

fn condition_name(condition: Condition) -> &'static str {
    match condition {
        Condition::Weights => "other weights\n",
        Condition::Text => "another text\n",
        Condition::EvalText => "perplexity on another text\n",
        Condition::Feed => "controls fed with the rows of another model\n",
        Condition::Protocol => "another protocol\n",
        Condition::Device => "another device\n",
    }
}

/// Writes the differences of one place; returns whether a number differs by more than its field allows.
fn write_differences(text: &mut String, name: &str, found: &Compared, tolerance: f64) -> bool {
    let show = |value: Option<f64>| value.map_or_else(|| "none".into(), |value| format!("{value:.9}"));
    if let Some(largest) = found.largest() {
        let _ = writeln!(text, "{name}: largest difference {:.2e} of {} numbers", largest.amount, found.numbers.len());
    }
    let mut exceeding: Vec<_> = found.numbers.iter().filter(|number| number.exceeds(tolerance)).collect();
    exceeding.sort_by(|a, b| b.amount.total_cmp(&a.amount));
    for number in exceeding.iter().take(MOST_LISTED) {
        let _ = writeln!(text, "  {} differs: {} against {}", visible(&number.path), show(number.a), show(number.b));
    }
    if exceeding.len() > MOST_LISTED {
        let _ = writeln!(text, "  and {} more", exceeding.len() - MOST_LISTED);
    }
    for (side, fields) in [("a", &found.only_a), ("b", &found.only_b)] {
        if !fields.is_empty() {
            let _ = writeln!(text, "  only in {side}: {}", visible(&fields.join(", ")));
        }
    }
    !exceeding.is_empty()
}

/// Whether the blocks and layers of b differ from those of a by more than the held-out windows explain, in every quantity
/// whose influences both reports have; it does not affect the exit status.
fn paired(a: &Report, b: &Report) -> String {
    let windows = HeldOutWindows::of(a);
    if windows.is_none() || windows != HeldOutWindows::of(b) {
        return String::new();
    }
    judgements("block", &a.blocks, &b.blocks) + &judgements("layer", &a.layers, &b.layers)
}

fn judgements<T: HasInfluence>(place: &str, a: &[T], b: &[T]) -> String {
    let other = |one: &T| b.iter().find(|other| other.index() == one.index());
    let pairs: Vec<(&T, &T)> = a.iter().filter_map(|one| Some((one, other(one)?))).collect();
    let names: BTreeSet<&String> =
        pairs.iter().flat_map(|(one, other)| one.influence().keys().chain(other.influence().keys())).collect();
    let mut text = String::new();
    for name in names {
        let quantity = quantity(place, name);
        for (one, other) in &pairs {
            let [a, b] = [one, other].map(|place| MeasuredValue::of(*place, name));
            let found = a.zip(b).and_then(|(a, b)| PairedDifference::new(a, b));
            let Some(difference) = found.filter(|found| found.amount != 0.0) else { continue };
            let judgement = if difference.differs() { "differs" } else { "does not differ here" };
            let (PairedDifference { amount, half }, at) = (difference, one.index());
            let _ = writeln!(text, "{quantity} of {place} {at}: b - a = {amount:+.6} ± {half:.6}, {judgement}");
        }
    }
    text
}

/// Name for people of a quantity with influences: that of its field, or of what it is the loss or gain of.
fn quantity(place: &str, name: &str) -> String {
    let is_it = |field: &Field| field.line().interval == name && field.is_by_layer() == (place == "layer");
    if let Some(field) = Field::ALL.iter().find(|field| is_it(field)) {
        return field.label().into();
    }
    match (name.strip_prefix("delta_ppl_"), name.strip_prefix("gain_")) {
        (Some(replacement), _) => format!("ΔPPL {}", shown(replacement)),
        (_, Some(probe)) => format!("gain of {}", shown(probe)),
        _ => shown(name),
    }
}

/// The agreement of the two r2_lin profiles; it does not affect the exit status.
fn agreement(found: &Agreement) -> String {
    let show = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| format!("{value:.6}"));
    let Agreement { pairs, pearson, spearman, mean_shift } = *found;
    let interval = pearson.and_then(|r| correlation_interval(r, pairs));
    let interval = interval.map_or_else(String::new, |[low, high]| format!(" (95 %: {low:.6} to {high:.6})"));
    let (pearson, spearman, shift) = (show(pearson), show(spearman), show(mean_shift));
    format!("r2_lin of {pairs} blocks: Pearson {pearson}{interval}, Spearman {spearman}, mean shift {shift}\n")
}
