//! Several measurements in one chart, with the agreement of each with the first.

use straightedge_api::agreement::Agreement;
use straightedge_api::fields::{Field, NumberFormat, Spread};
use straightedge_api::paired::PairedDifference;

use super::figure::{Figure, at_x, block_name, grid_of, series};
use super::pairs::{PlaceKind, sentence};
use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::comparison::Key;
use crate::comparison::sources::{ChartLine, Source, full_name};
use crate::text::cell::Cell;
use crate::text::engine;
use crate::text::format::{NOTHING, exact, fixed, magnitude, pearson as shown_pearson, rounded};
use crate::text::paper::t as paper;
use crate::text::result::t as result;
use crate::text::{fill, t};

/// The chart of one quantity; `None` where no line has it.
pub fn compared(lines: &[ChartLine], quantity: Field) -> Option<Figure> {
    let has_it: Vec<&ChartLine> = lines.iter().filter(|line| !line.summary.curve(quantity).is_empty()).collect();
    let all: Vec<Series> = has_it.iter().filter_map(|line| curve(line, quantity)).collect();
    let columns = has_it.iter().map(|line| line.summary.curve(quantity).len()).max()?;
    let first = if quantity.is_by_layer() { t().layer } else { t().block };
    let is_share = matches!(quantity.line().digits, NumberFormat::Decimals(_));
    let mut table = grid_of(first, &all, at_x, if is_share { rounded } else { exact });
    table.rows.extend(agreements(&has_it, quantity));
    Some(Figure {
        title: title(quantity),
        table,
        plot: Plot {
            x: Axis { name: places(quantity), kind: Kind::Index(columns) },
            y: axis(quantity),
            series: all,
            rules: Vec::new(),
        },
        facts: facts(&has_it, quantity),
        caption: caption(quantity),
    })
}

/// Name of the places that a quantity has values for: blocks or layers.
fn places(quantity: Field) -> &'static str {
    if quantity.is_by_layer() { t().axis_layer } else { t().chart_axis_block }
}

/// Title of a quantity's chart: its own text, or one from its line of the table.
fn title(quantity: Field) -> String {
    match quantity {
        Field::R2Lin | Field::R2LinScalar => t().chart_name.into(),
        Field::DeltaPplLinear => t().compare_losses_figure.into(),
        Field::Linearity => t().layers_figure.into(),
        Field::LinearityNoResidual => t().compare_layers_alone_figure.into(),
        _ => fill(t().compare_figure, &[("name", engine::label(quantity)), ("places", places(quantity))]),
    }
}

fn caption(quantity: Field) -> &'static str {
    match quantity {
        Field::R2Lin => t().compare_caption,
        Field::DeltaPplLinear | Field::DeltaPplPoly => t().losses_caption,
        Field::Linearity => t().compare_layers_caption,
        Field::LinearityNoResidual => t().layers_caption,
        _ => quantity.line().meaning,
    }
}

/// The value axis of a quantity, from its line of the table.
fn axis(quantity: Field) -> Axis {
    let kind = |spread| match spread {
        Spread::Share => Kind::Share,
        Spread::Linear => Kind::Linear,
        Spread::FromZero => Kind::FromZero,
        Spread::Wide => Kind::Wide,
    };
    let name = engine::axis(quantity);
    quantity.line().chart.map_or_else(Axis::default, |chart| Axis { name, kind: kind(chart.spread) })
}

fn curve(line: &ChartLine, quantity: Field) -> Option<Series> {
    let values = line.summary.curve(quantity).iter().enumerate();
    let mark = |(at, value): (usize, &Option<f64>)| {
        let interval = line.summary.interval(quantity, at);
        let mark = match quantity.is_by_layer() {
            true => Mark::new(fill(t().layer_n, &[("layer", &at.to_string())]), at as f64, *value),
            false => Mark::new(block_name(at), at as f64, *value).of_block(at),
        };
        mark.within(None, interval)
    };
    let series = series(&full_name(&line.name, line.source), line.style, values.map(mark).collect())?;
    Some(Series { joined: true, marked: true, is_behind: line.is_behind, ..series })
}

/// Agreement of each line with the first, as table rows; empty if there is only one line.
fn agreements(lines: &[&ChartLine], quantity: Field) -> Vec<Vec<Cell>> {
    let Some((first, others)) = lines.split_first().filter(|(_, others)| !others.is_empty()) else { return Vec::new() };
    let all: Vec<_> = others.iter().map(|line| agreement(first, line, quantity)).collect();
    let row = |name: &str, value: fn(&Agreement) -> Option<f64>, usual| {
        let cell = |agreement| Cell::number(value(agreement), None, usual);
        [name.into(), NOTHING.into()].into_iter().chain(all.iter().map(cell)).collect()
    };
    vec![
        row(t().compare_pearson, |agreement| agreement.pearson, |value| fixed(value, 3)),
        row(t().compare_spearman, |agreement| agreement.spearman, |value| fixed(value, 3)),
        row(t().compare_shift, |agreement| agreement.mean_shift, rounded),
    ]
}

fn agreement(first: &ChartLine, other: &ChartLine, quantity: Field) -> Agreement {
    Agreement::new(first.summary.curve(quantity), other.summary.curve(quantity))
}

/// Deviation of each measurement from its recording, and agreement of two lines; of more, the front and first line.
fn facts(lines: &[&ChartLine], quantity: Field) -> Vec<String> {
    let Some((first, others)) = lines.split_first() else { return Vec::new() };
    let front = others.iter().find(|line| !line.is_behind).filter(|_| others.len() == 1 || first.is_behind);
    let agreement = front.and_then(|line| agreement_sentence(first, line, quantity));
    let found_again = lines.iter().filter_map(|line| found_again(line, lines, quantity));
    let is_published = lines.iter().any(|line| line.source == Source::Published);
    let differences = front.and_then(|line| difference_sentence(first, line, quantity));
    let citation = is_published.then(|| paper().source.to_string());
    let rows = rows_per_input(lines, quantity);
    found_again.chain(agreement).chain(differences).chain(pooled(lines, quantity)).chain(rows).chain(citation).collect()
}

/// On how many training rows per input the lines have their R², which more of them raise.
fn rows_per_input(lines: &[&ChartLine], quantity: Field) -> Option<String> {
    let is_r2 = matches!(quantity, Field::R2Lin | Field::R2LinScalar | Field::R2FeatureMedian);
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines.iter().filter(|_| is_r2) {
        let Some(rows) = line.summary.rows_per_input else { continue };
        let (rows, name) = (fixed(Some(rows), 1), full_name(&line.name, line.source));
        match groups.iter_mut().find(|(known, _)| *known == rows) {
            Some((_, names)) => names.push(name),
            None => groups.push((rows, vec![name])),
        }
    }
    let is_one = groups.len() == 1 && groups[0].1.len() == lines.len();
    let group =
        |(rows, names): (String, Vec<String>)| fill(result().rows_of, &[("rows", &rows), ("names", &names.join(", "))]);
    match groups.len() {
        0 => None,
        _ if is_one => Some(fill(result().rows_alike, &[("rows", &groups[0].0)])),
        _ => {
            let all: Vec<String> = groups.into_iter().map(group).collect();
            Some(fill(result().rows_differ, &[("rows", &all.join("; "))]))
        }
    }
}

/// The correlation of a quantity with what the linear map misses, over the blocks of several lines together.
fn pooled(lines: &[&ChartLine], quantity: Field) -> Option<String> {
    let is_r2 = matches!(quantity, Field::R2Lin | Field::R2LinScalar);
    if lines.len() < 2 || quantity.is_by_layer() || is_r2 {
        return None;
    }
    // Published values have one mean for all features; one definition for all lines and both quantities.
    let is_published = lines.iter().any(|line| line.source == Source::Published) || quantity == Field::PolyGainScalar;
    let r2 = if is_published { Field::R2LinScalar } else { Field::R2Lin };
    let pairs = lines.iter().flat_map(|line| line.summary.curve(r2).iter().zip(line.summary.curve(quantity)));
    let (missed, values): (Vec<_>, Vec<_>) = pairs.map(|(r2, value)| (r2.map(|r2| 1.0 - r2), *value)).unzip();
    let Agreement { pairs, pearson, .. } = Agreement::new(&missed, &values);
    let gaps = [
        ("n", pairs.to_string()),
        ("m", lines.len().to_string()),
        ("name", engine::label(quantity).into()),
        ("r2", engine::label(r2).into()),
        ("r", shown_pearson(pearson, pairs)),
    ];
    (pairs > 2).then(|| fill(t().compare_pooled, &gaps.each_ref().map(|(name, value)| (*name, value.as_str()))))
}

fn agreement_sentence(first: &ChartLine, other: &ChartLine, quantity: Field) -> Option<String> {
    let Agreement { pairs, pearson, spearman, mean_shift } = agreement(first, other, quantity);
    let gaps = [
        ("name", &full_name(&other.name, other.source)),
        ("first", &full_name(&first.name, first.source)),
        ("n", &pairs.to_string()),
        ("pearson", &shown_pearson(pearson, pairs)),
        ("spearman", &fixed(spearman, 3)),
        ("shift", &fixed(mean_shift, 4)),
    ];
    (pairs >= 2).then(|| fill(t().compare_agreement, &gaps.map(|(name, value)| (name, value.as_str()))))
}

/// A sentence that lists the places at which two lines differ by more than the held-out windows explain; `None` if they
/// were measured on different windows.
fn difference_sentence(first: &ChartLine, other: &ChartLine, quantity: Field) -> Option<String> {
    let count = first.summary.curve(quantity).len();
    let of = |at| Some((at, first.summary.difference(&other.summary, quantity, at)?));
    let known: Vec<(usize, PairedDifference)> = (0..count).filter_map(of).collect();
    let names = [full_name(&other.name, other.source), full_name(&first.name, first.source)];
    let places = if quantity.is_by_layer() { PlaceKind::Layers } else { PlaceKind::Blocks };
    sentence(names.each_ref().map(String::as_str), places, known)
}

/// Deviation of a measurement on this machine from the recording of the same model.
fn found_again(line: &ChartLine, lines: &[&ChartLine], quantity: Field) -> Option<String> {
    let is_recording = |other: &&&ChartLine| matches!(&other.key, Key::Recorded(name) if *name == line.summary.name);
    let recorded = lines.iter().find(is_recording).filter(|_| line.source == Source::Here)?;
    let pairs = line.summary.curve(quantity).iter().zip(recorded.summary.curve(quantity)).enumerate();
    let differences = pairs.filter_map(|(at, (here, there))| Some((at, ((*here)? - (*there)?).abs())));
    let (at, most) = differences.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let gaps = [("name", recorded.name.as_str()), ("most", &magnitude(Some(most))), ("at", &at.to_string())];
    Some(fill(if quantity.is_by_layer() { t().compare_again_layer } else { t().compare_again }, &gaps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Comparison;
    use crate::comparison::presets::Preset;
    use crate::comparison::sources::tests::known;
    use crate::figures::sample_report;
    use straightedge_api::report::Interval;
    use straightedge_api::summary::Summary;

    /// A line of the sample report whose R² is higher by these amounts, and whose windows disagree by `noise`.
    fn shifted(name: &str, shifts: [f64; 3], noise: f64) -> ChartLine {
        let mut report = sample_report();
        report.corpus.sha256 = Some("text".into());
        for (block, shift) in report.blocks.iter_mut().zip(shifts) {
            block.r2_lin = Some(0.5 + shift);
            block.influence = [("r2_lin".into(), (0..24).map(|at| [noise, -noise][at % 2]).collect())].into();
        }
        let (key, source) = (Key::Recorded(name.into()), Source::Recorded);
        let summary = Summary::new(&report);
        ChartLine { key, name: name.into(), source, style: 0, is_behind: false, summary }
    }

    #[test]
    fn values_have_their_intervals_in_chart_and_table() {
        let mut report = sample_report();
        let interval = Interval { low: 0.88, high: 0.92 };
        report.blocks[0].intervals = [("r2_lin".into(), interval)].into();
        let line = ChartLine { summary: Summary::new(&report), ..shifted("A", [0.0; 3], 0.0) };
        let figure = compared(&[line], Field::R2Lin).unwrap();
        assert_eq!(figure.plot.series[0].marks[0].within.y, Some(interval));
        assert_eq!(figure.table.rows[0][1], "0.90 ± 0.02");
        assert_eq!(figure.plot.series[0].marks[1].within.y, None);
    }

    #[test]
    fn layers_that_differ_are_called_layers() {
        let of = |name: &str, shift: f64| {
            let mut line = shifted(name, [0.0; 3], 0.0);
            let noise: Vec<f64> = (0..24).map(|at| [shift / 8.0, -shift / 8.0][at % 2]).collect();
            line.summary.curves.insert("linearity_heldout".into(), vec![Some(0.5), Some(0.5 + shift)]);
            line.summary.influence.insert("linearity_heldout".into(), vec![noise; 2]);
            line
        };
        let facts = compared(&[of("A", 0.0), of("B", 0.1)], Field::LinearityHeldout).unwrap().facts;
        let sentence = facts.iter().find(|fact| fact.contains("held-out windows")).expect("a comparison");
        assert!(sentence.contains("differs from A (recorded) in layer 1, most in layer 1: by 0.100"), "{sentence}");
        assert!(sentence.ends_with("It does not differ here in layer 0."), "{sentence}");
    }

    #[test]
    fn two_lines_on_the_same_windows_say_where_they_differ() {
        let sentence = |shifts| {
            let lines = [shifted("A", [0.0; 3], 0.0), shifted("B", shifts, 0.02)];
            compared(&lines, Field::R2Lin).unwrap().facts[1].clone()
        };
        let start = "On the same held-out windows, B (recorded) ";
        // 2.0687 · 0.02 · √(24/23) / √24.
        assert_eq!(
            sentence([0.1, 0.001, -0.02]),
            format!(
                "{start}differs from A (recorded) in blocks 0, 2, most in block 0: by 0.100 ± 0.00863 (95 % interval of the \
                 paired difference). It does not differ here in block 1."
            )
        );
        assert_eq!(sentence([0.001; 3]), format!("{start}does not differ from A (recorded) in blocks 0–2."));
        assert!(sentence([0.1; 3]).ends_with("paired difference)."), "all of them differ");
        let mut other = shifted("B", [0.1; 3], 0.0);
        other.summary.heldout = None;
        let facts = compared(&[shifted("A", [0.0; 3], 0.0), other], Field::R2Lin).unwrap().facts;
        assert_eq!(facts.len(), 1, "other windows: {facts:?}");
    }

    #[test]
    fn every_line_has_its_marks_its_column_and_its_agreement() {
        let known = known();
        let mut comparison = Comparison::default();
        comparison.begin(Preset::Families, Preset::Families.keys(&known.index));
        let lines = known.lines(&comparison);
        let figure = compared(&lines, Field::R2Lin).unwrap();
        assert_eq!(figure.plot.series.iter().map(|series| series.style).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(figure.table.head.len(), 4);
        assert_eq!((figure.table.rows.len(), figure.facts.len()), (6 + 3, 1));
        let value = |name: &str| {
            let curve = |line: &ChartLine| line.summary.curve(Field::R2Lin).to_vec();
            let shift = Agreement::new(&curve(&lines[0]), &curve(lines.iter().find(|line| line.name == name).unwrap()));
            rounded(shift.mean_shift)
        };
        assert_eq!((figure.table.rows[2][0].in_full(), figure.table.rows[8][1].in_full()), ("2", NOTHING));
        assert_eq!(figure.table.rows[8][2..], [&*value("Demo GPT-NeoX"), &*value("Demo Llama")]);
        comparison.bring_to_front(Some(1));
        let figure = compared(&known.lines(&comparison), Field::R2Lin).unwrap();
        assert_eq!(figure.facts.len(), 3, "of the one in front");
        assert!(
            figure.facts[0].starts_with("Demo GPT-NeoX (recorded) against Demo GPT-2 (recorded), over 6"),
            "{:?}",
            figure.facts
        );
        let layers = compared(&lines, Field::Linearity).unwrap();
        assert!(
            layers.plot.describe((1, 5)).starts_with("Layer 5, Demo GPT-NeoX (recorded): linearity 0."),
            "{}",
            layers.plot.describe((1, 5))
        );
    }

    #[test]
    fn rows_per_input_stand_beside_r2_and_differences_of_them_are_told() {
        let known = known();
        let mut comparison = Comparison::default();
        comparison.begin(Preset::Learned, Preset::Learned.keys(&known.index));
        let facts = |comparison: &Comparison, quantity| compared(&known.lines(comparison), quantity).unwrap().facts;
        assert_eq!(
            facts(&comparison, Field::R2Lin),
            ["Training rows per input: 93.0."],
            "controls have those of their model"
        );
        let mut comparison = Comparison::default();
        let published = |model: &str| Key::Published(model.into(), "WikiText-2".into());
        [Key::Recorded("demo-gpt2".into()), published("gpt2"), published("llama-160m")]
            .into_iter()
            .for_each(|key| comparison.add(key));
        let expected = "Training rows per input: 93.0 for Demo GPT-2 (recorded); 15.5 for gpt2 · WikiText-2 (published), \
                        llama-160m · WikiText-2 (published). Fewer bias R² downwards.";
        assert_eq!(facts(&comparison, Field::R2LinScalar)[0], expected);
        assert!(facts(&comparison, Field::DeltaPplLinear).iter().all(|fact| !fact.contains("per input")));
    }

    #[test]
    fn gains_of_all_published_blocks_are_as_uncorrelated_as_the_paper_says() {
        let known = known();
        let mut comparison = Comparison::default();
        for model in ["gpt2", "pythia-160m", "llama-160m"] {
            comparison.add(Key::Published(model.into(), "WikiText-2".into()));
        }
        let facts = compared(&known.lines(&comparison), Field::PolyGainScalar).unwrap().facts;
        let expected = "Over all 36 blocks of these 3 measurements, gain of poly, scalar and 1 − R² scalar have a Pearson correlation of 0.004 (95 %: −0.325 to 0.332).";
        assert_eq!(facts[0], expected);
        let one = [known.lines(&comparison).remove(0)];
        assert!(
            !compared(&one, Field::PolyGainScalar).unwrap().facts[0].starts_with("Over all"),
            "one is nothing to pool"
        );
    }

    #[test]
    fn what_is_hidden_or_has_no_such_numbers_is_left_out() {
        let known = known();
        let mut comparison = Comparison::default();
        comparison.begin(Preset::Learned, Preset::Learned.keys(&known.index));
        comparison.add(Key::Published("gpt2".into(), "WikiText-2".into()));
        let series = |comparison: &Comparison, quantity| {
            compared(&known.lines(comparison), quantity).map(|figure| figure.plot.series.len())
        };
        assert_eq!(series(&comparison, Field::R2Lin), Some(5), "published values are of the scalar kind");
        assert_eq!(series(&comparison, Field::R2LinScalar), Some(3), "controls are not");
        comparison.toggle(&Key::Recorded("demo-gpt2".into()));
        assert_eq!(series(&comparison, Field::R2Lin), Some(4));
        assert_eq!(compared(&[], Field::R2Lin), None);
    }

    #[test]
    fn a_measurement_is_held_against_the_recording_of_its_model() {
        let mut known = known();
        let recording = known.recorded.iter().find(|summary| summary.name == "demo-llama").unwrap().clone();
        let mut measured = recording.curve(Field::R2Lin).to_vec();
        measured[4] = measured[4].map(|value| value + 2e-7);
        known.measured[0].summary = Summary::of(recording.name, [(Field::R2Lin, measured)]);
        let mut comparison = Comparison::default();
        [Key::Recorded("demo-llama".into()), Key::Measured(7)].into_iter().for_each(|key| comparison.add(key));
        let facts = compared(&known.lines(&comparison), Field::R2Lin).unwrap().facts;
        assert!(facts[0].contains("2.00e−7 at most, in block 4"), "{facts:?}");
        known.measured[0].is_opened = true;
        let facts = compared(&known.lines(&comparison), Field::R2Lin).unwrap().facts;
        assert!(facts.len() == 2 && facts[0].contains("Pearson"), "an opened report was not measured here: {facts:?}");
    }
}
