//! `show`: prints a report as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use straightedge::baseline::BaselineTraining;
use straightedge::fields::{Field, Shown};
use straightedge::learning::LearningPoint;
use straightedge::paired::Ranking;
use straightedge::report::{BlockReport, LayerReport, Report};
use straightedge::visible::{shown, shown_line};

use super::grid::{Column, cell, cell_of_block, cell_of_layer, change_within, column, fixed, grid, whole, within};
use super::swap_table::swaps;

/// Explains the controls of a network's weights.
const CONTROLS_NOTE: &str = "\
reinit_block: weights as before training, small and random. shuffled: the trained weights in random order, of the same \
scale. What sets R²_lin apart from shuffled is their order, which was learned.
";

/// What the closed form bounds, and what it does not.
const BASELINE_NOTE: &str = "\
sgd, adamw: the same map, trained by gradient descent. R²_lin is of the best map on the training rows; on held-out \
rows, as here, a trained map may reach a little more.
";

/// What the columns of properties hold.
const PROPERTIES_NOTE: &str = "\
A linear map of the stream after the layer names this property of held-out tokens in this share of cases; in brackets, \
the share of the most frequent class.
";

/// The whole report as text.
pub(super) fn table(report: &Report) -> String {
    let blocks = &report.blocks;
    let mut text = heading(report);
    text += &grid(&block_columns(), blocks);
    text += &ranking("R²_lin", blocks, "r2_lin");
    if let Some(ppl) = report.ppl {
        let eval = report.ordered.as_ref().and_then(|ordered| ordered.eval.as_ref());
        let on = eval.map_or_else(
            || "the held-out windows".into(),
            |eval| format!("{}, {} windows", shown(&eval.id), eval.windows),
        );
        let _ = writeln!(text, "\nperplexity {ppl:.4} on {on}");
    }
    text += &swaps(report);
    text += &ranking("ΔPPL linear", blocks, "delta_ppl_linear");
    if !report.layers.is_empty() {
        text += &format!("\n{}", grid(&layer_columns(), &report.layers));
        let properties = property_columns(&report.layers);
        if properties.len() > 1 {
            text += &format!("\n{}{PROPERTIES_NOTE}", grid(&properties, &report.layers));
        }
    }
    // The first two columns are only the block and the R² of its map.
    let more = [
        more_columns,
        learning_columns,
        probe_columns,
        degree_columns,
        baseline_columns,
        control_columns,
        heal_columns,
    ];
    for columns in more.map(|columns| columns(blocks)) {
        if columns.len() > 2 {
            text += &format!("\n{}", grid(&columns, blocks));
        }
    }
    if blocks.iter().any(|block| block.controls.contains_key("shuffled")) {
        text += CONTROLS_NOTE;
    }
    if has_baseline(blocks) {
        text += BASELINE_NOTE;
    }
    if let Some(seeds) = blocks.iter().flat_map(|block| block.seeds.values()).map(Vec::len).max() {
        let _ = writeln!(text, "sd of gains and controls: sample standard deviation over {seeds} seeds.");
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "{}", shown_line(&format!("{}: {}", shown(&warning.code), warning.text)));
    }
    text
}

/// The blocks in ascending order of a number whose differences can be judged.
fn ranking(label: &str, blocks: &[BlockReport], name: &str) -> String {
    let ranking = Ranking::new(blocks, name);
    if ranking.0.len() < 2 {
        return String::new();
    }
    format!("{label}, blocks ascending: {} (≈: no difference beyond its 95 % interval)\n", ranking.written())
}

/// The numbers of the table of all blocks, with half the width of their 95 % intervals.
fn block_columns() -> Vec<Column<BlockReport>> {
    let of = |field| match field {
        Field::R2CvStd => column("folds", folds),
        _ => column(field.label(), move |block: &BlockReport| cell_of_block(field, block)),
    };
    std::iter::once(number()).chain(Field::table().map(of)).collect()
}

/// Mean and standard deviation of R² over the folds: `0.8493 (sd 0.0006)`.
fn folds(block: &BlockReport) -> String {
    match block.r2_cv_mean.zip(block.r2_cv_std) {
        Some((mean, deviation)) => format!("{mean:.4} (sd {deviation:.4})"),
        None => "–".into(),
    }
}

/// Further numbers known of some block, except those that other tables show by replacement.
fn more_columns(blocks: &[BlockReport]) -> Vec<Column<BlockReport>> {
    let is_known = |field: &Field| blocks.iter().any(|block| field.of_block(block).is_some());
    let is_own = |field: &Field| field.line().shown == Shown::Detail && !field.line().path.ends_with(".linear");
    let more = Field::detail().filter(is_own).filter(is_known).map(of_block);
    identity().into_iter().chain(more).collect()
}

fn number() -> Column<BlockReport> {
    column("block", |block: &BlockReport| block.block.to_string())
}

/// The block index, and the R² of its map.
fn identity() -> Vec<Column<BlockReport>> {
    vec![number(), of_block(Field::R2Lin)]
}

fn of_block(field: Field) -> Column<BlockReport> {
    column(field.label(), move |block: &BlockReport| cell(field, field.of_block(block)))
}

fn layer_columns() -> Vec<Column<LayerReport>> {
    let of = |field: Field| column(field.label(), move |layer: &LayerReport| cell_of_layer(field, layer));
    std::iter::once(layer_number()).chain(Field::layers().map(of)).collect()
}

fn layer_number() -> Column<LayerReport> {
    column("layer", |layer: &LayerReport| layer.layer.to_string())
}

/// Properties read out of each layer's stream, each with the share of its most frequent class.
fn property_columns(layers: &[LayerReport]) -> Vec<Column<LayerReport>> {
    let names: BTreeSet<&String> = layers.iter().flat_map(|layer| layer.properties.keys()).collect();
    let of = |name: &String| {
        let known = name.clone();
        column(name.as_str(), move |layer: &LayerReport| {
            let Some(score) = layer.properties.get(&known) else { return String::new() };
            let interval = layer.intervals.get(&format!("reads_{known}")).copied();
            let accuracy = within(score.accuracy, interval).unwrap_or_else(|| fixed(score.accuracy));
            format!("{accuracy} ({})", fixed(score.most_frequent))
        })
    };
    std::iter::once(layer_number()).chain(names.into_iter().map(of)).collect()
}

/// All names used by any block, sorted.
fn names<'a, V: 'a>(blocks: &'a [BlockReport], of: impl Fn(&'a BlockReport) -> &'a BTreeMap<String, V>) -> Vec<String> {
    let names: BTreeSet<&String> = blocks.iter().flat_map(|block| of(block).keys()).collect();
    names.into_iter().cloned().collect()
}

/// R² by the number of training rows, with the limit for many.
fn learning_columns(blocks: &[BlockReport]) -> Vec<Column<BlockReport>> {
    let mut columns = identity();
    let sizes = blocks.iter().map(|block| &block.learning_curve).max_by_key(|curve| curve.len());
    // The last size is the whole, whose R² is in front.
    let sizes = sizes.and_then(|sizes| sizes.split_last()).map_or(&[][..], |(_, fewer)| fewer);
    for rows in sizes.iter().map(|size| size.rows) {
        let of = move |block: &BlockReport| {
            block.learning_curve.iter().find(|point| point.rows == rows).and_then(LearningPoint::mean)
        };
        columns.push(column(format!("{rows:.0} rows"), move |block| fixed(of(block))));
    }
    let most = blocks.iter().map(|block| block.ridge_curve.len()).max().unwrap_or(0);
    for at in 0..most {
        let of = move |block: &BlockReport| block.ridge_curve.get(at).and_then(LearningPoint::mean);
        let rows = blocks.iter().find_map(|block| block.ridge_curve.get(at)).map_or(0.0, |point| point.rows);
        columns.push(column(format!("ridge {rows:.0}"), move |block| fixed(of(block))));
    }
    columns
}

fn probe_columns(blocks: &[BlockReport]) -> Vec<Column<BlockReport>> {
    let mut columns = identity();
    for name in names(blocks, |block| &block.probes) {
        let (r2, gain, steps, cosine, rmse) = (name.clone(), name.clone(), name.clone(), name.clone(), name.clone());
        let probe = |block: &BlockReport, name: &str| block.probes.get(name).cloned();
        columns.push(column(name.as_str(), move |block| fixed(probe(block, &r2).and_then(|probe| probe.r2))));
        let gain = move |block: &BlockReport| {
            let value = probe(block, &gain).and_then(|probe| probe.gain);
            let within = within(value, block.gain_interval(&gain)).unwrap_or_else(|| fixed(value));
            within + &over_seeds(block, &format!("gain_{gain}"))
        };
        columns.push(column("gain", gain));
        let cosine =
            move |block: &BlockReport| cell(Field::Cosine, probe(block, &cosine).and_then(|probe| probe.cosine));
        columns.push(column("cosine", cosine));
        let rmse = move |block: &BlockReport| cell(Field::Rmse, probe(block, &rmse).and_then(|probe| probe.rmse));
        columns.push(column("RMSE", rmse));
        columns.push(column("steps", move |block| whole(probe(block, &steps).map(|probe| probe.steps))));
        if blocks.iter().any(|block| block.probes.get(&name).is_some_and(|probe| probe.conjunction.is_some())) {
            columns.push(column("conj.", move |block| fixed(probe(block, &name).and_then(|probe| probe.conjunction))));
        }
    }
    columns
}

/// R² of polynomials with the most features.
fn degree_columns(blocks: &[BlockReport]) -> Vec<Column<BlockReport>> {
    let mut columns = identity();
    for degree in names(blocks, |block| &block.degrees) {
        let title = format!("degree {degree}");
        let last = move |block: &BlockReport| block.degrees.get(&degree).and_then(|points| points.last().copied());
        columns.push(column(title, move |block| fixed(last(block).and_then(|point| point.r2))));
    }
    columns
}

/// The final R² of training by gradient descent.
fn baseline_columns(blocks: &[BlockReport]) -> Vec<Column<BlockReport>> {
    let mut columns = identity();
    let is_known = |training: &BaselineTraining| blocks.iter().any(|b| b.curves.contains_key(training.name()));
    for name in BaselineTraining::ALL.into_iter().filter(is_known).map(BaselineTraining::name) {
        let last = move |block: &BlockReport| block.curves.get(name).and_then(|points| points.last().copied());
        columns.push(column(name, move |block| fixed(last(block).and_then(|point| point.value))));
        columns.push(column("steps", move |block| whole(last(block).map(|point| point.step))));
    }
    columns
}

fn has_baseline(blocks: &[BlockReport]) -> bool {
    baseline_columns(blocks).len() > identity().len()
}

fn control_columns(blocks: &[BlockReport]) -> Vec<Column<BlockReport>> {
    let mut columns = identity();
    for name in names(blocks, |block| &block.controls) {
        let key = name.clone();
        let r2 = move |block: &BlockReport| {
            let r2 = fixed(block.controls.get(&key).and_then(|control| control.r2_lin));
            r2 + &over_seeds(block, &format!("r2_lin_{key}"))
        };
        columns.push(column(name, r2));
    }
    columns
}

/// The spread over seeds, where there are several: ` (sd 0.0006)`.
fn over_seeds(block: &BlockReport, name: &str) -> String {
    block.seed_deviation(name).map_or_else(String::new, |deviation| format!(" (sd {deviation:.4})"))
}

fn heal_columns(blocks: &[BlockReport]) -> Vec<Column<BlockReport>> {
    let mut columns = identity();
    for name in names(blocks, |block| &block.heal) {
        let (before, after, steps) = (name.clone(), name.clone(), name.clone());
        let heal = |block: &BlockReport, name: &str| block.heal.get(name).copied().unwrap_or_default();
        // The same loss as by the replacement itself, so its interval.
        let before = move |block: &BlockReport| {
            change_within(heal(block, &before).delta_ppl_before, block.loss_interval(&before))
        };
        let healed = move |block: &BlockReport| {
            let heal = heal(block, &after);
            change_within(heal.delta_ppl, heal.interval)
        };
        columns.push(column(format!("Δppl {name}"), before));
        columns.push(column("healed", healed));
        columns.push(column("steps", move |block: &BlockReport| whole(block.heal.get(&steps).map(|heal| heal.steps))));
    }
    columns
}

fn heading(report: &Report) -> String {
    let (model, protocol, device) = (&report.model, &report.protocol, &report.device);
    let [id, architecture, corpus] = [&model.id, &model.architecture, &report.corpus.id].map(|text| shown(text));
    let mut text = format!("{id} ({architecture}, d {}) on {corpus}", model.hidden_size);
    let _ = write!(text, "\n{} training rows, {} held out", protocol.train_rows, protocol.heldout_rows);
    let interleaved = if protocol.interleaved_folds { "interleaved " } else { "" };
    let _ = write!(text, "; windows of {}, {} {}folds", protocol.seq_len, protocol.folds, interleaved);
    if protocol.skip_positions > 0 {
        let _ = write!(text, ", first {} positions left out", protocol.skip_positions);
    }
    if let Some(tokenizer) = &model.tokenizer {
        let _ = write!(text, "; tokenizer of {}", shown(tokenizer));
    }
    if protocol.bos {
        text += ", each beginning with BOS";
    }
    if protocol.piece_chars > 0 {
        let _ = write!(text, ", each the beginning of a piece of {} characters", protocol.piece_chars);
    }
    if let Some(feed) = report.ordered.as_ref().and_then(|ordered| ordered.feed.as_ref()) {
        let _ = write!(text, "; controls fed with the rows of {}", shown(&feed.id));
    }
    if model.sha256_claimed {
        text += "; hash of the weights claimed by the hub, not compared with whole files";
    }
    let [backend, adapter] = [&*device.backend, device.adapter.as_deref().unwrap_or("unknown adapter")].map(shown);
    let _ = writeln!(text, "\n{backend} ({adapter}), {:.1} s", report.seconds.total);
    if report.partial {
        text += "PARTIAL: the measurement stopped before its end\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use straightedge::report::*;

    use super::*;

    #[test]
    fn every_measure_that_is_there_has_its_columns() {
        let header = Header {
            app: AppInfo::this(),
            model: ModelInfo { num_hidden_layers: 1, hidden_size: 8, ..ModelInfo::default() },
            corpus: CorpusInfo::default(),
            protocol: ProtocolInfo::new(&Default::default(), 10, 2, 0.0),
            device: DeviceInfo::default(),
            ordered: Default::default(),
        };
        let mut report = Report { blocks: vec![BlockReport::default()], ..Report::from(header) };
        let plain = table(&report);
        for absent in [" rows\n", "Δppl", "linearity", "gain", "sgd", "gaussian", "healed", "claimed"] {
            assert!(!plain.contains(absent), "{absent} in\n{plain}");
        }
        let (block, none) = (&mut report.blocks[0], ControlReport::default());
        block.delta_ppl =
            [("rank_10".into(), Some(0.25)), ("rank_2".into(), None), ("linear".into(), Some(1.5))].into();
        block.row_microseconds = [("original".into(), Some(3.0)), ("linear".into(), Some(1.5))].into();
        block.compression = [("linear".into(), Some(8.0))].into();
        let poly =
            ProbeReport { gain: Some(0.125), cosine: Some(0.9125), rmse: Some(2.5e-3), ..ProbeReport::default() };
        block.probes = [("poly".into(), poly)].into();
        block.curves = [("sgd".into(), vec![CurvePoint { step: 77, value: Some(0.75) }])].into();
        block.controls =
            ["gaussian", "shuffled"].map(|name| (name.into(), ControlReport { r2_lin: Some(0.625), ..none })).into();
        let heal = HealReport { delta_ppl: Some(-0.5), delta_ppl_before: Some(1.72), ..HealReport::default() };
        let within = HealReport { interval: Some(Interval { low: -0.625, high: -0.375 }), ..heal };
        block.heal = [("linear".into(), heal), ("original".into(), within)].into();
        assert!(!plain.contains(CONTROLS_NOTE) && !plain.contains(BASELINE_NOTE));
        let interval = Some(Interval { low: 2.125, high: 2.875 });
        let step = OrderStep { block: 0, ppl: Some(99.25), delta_ppl: Some(2.5), compression: Some(4.0), interval };
        report.orders = [("by_cost".into(), vec![step])].into();
        let learned = [60.0, 120.0].map(|rows| LearningPoint { rows, r2: vec![Some(0.25), Some(0.5)] });
        report.blocks[0].learn(learned.to_vec());
        let token = PropertyScore { accuracy: Some(0.8125), most_frequent: Some(0.4375) };
        let properties = [("token".into(), token)].into();
        let delta_ppl = [("removed".into(), Some(3.5)), ("linear".into(), Some(0.5))].into();
        let layer = LayerReport { linearity: Some(0.875), properties, delta_ppl, ..LayerReport::default() };
        let place = PropertyScore { accuracy: Some(0.5625), most_frequent: Some(0.25) };
        let mut judged = LayerReport { layer: 1, linearity_heldout: Some(0.749_1), ..layer.clone() };
        judged.properties.insert("place".into(), place);
        judged.intervals = [
            ("linearity_heldout".into(), Interval { low: 0.747, high: 0.751 }),
            ("delta_ppl_removed".into(), Interval { low: 3.0, high: 4.0 }),
            ("reads_place".into(), Interval { low: 0.53, high: 0.59 }),
        ]
        .into();
        report.layers = vec![layer, judged];
        let healed = HealedTogether { delta_ppl_before: Some(6.5), ..HealedTogether::default() };
        let intervals = [(HealedTogether::BEFORE.into(), Interval { low: 6.125, high: 6.875 })].into();
        report.healed_together = [("layers_linear".into(), HealedTogether { intervals, ..healed })].into();
        report.model.sha256_claimed = true;
        let feed = OtherInput { id: "other-model".into(), ..OtherInput::default() };
        report.ordered = Some(Ordered { feed: Some(feed), ..Ordered::default() });
        (report.blocks[0].r2_lin, report.blocks[0].r2_feature_median) = (Some(0.849_123), Some(0.712_345));
        report.blocks[0].intervals = [
            ("r2_lin".to_owned(), Interval { low: 0.847, high: 0.8512 }),
            ("delta_ppl_linear".into(), Interval { low: 1.25, high: 1.75 }),
            ("gain_poly".into(), Interval { low: 0.115, high: 0.135 }),
        ]
        .into();
        (report.blocks[0].r2_cv_mean, report.blocks[0].r2_cv_std) = (Some(0.8375), Some(0.0125));
        let full = table(&report);
        for cell in [
            "0.849 ± 0.002",
            "0.712345",
            "+1.5 ± 0.2",
            "0.12 ± 0.01",
            "0.9125",
            "2.500e-3",
            "0.8375 (sd 0.0125)",
            "claimed by the hub",
            "fed with the rows of other-model",
            "+0.2500",
            "×8.00",
            "×2.00",
            "99.25",
            "lower",
            "0.875",
            "0.75",
            "77",
            "0.625",
            "0.812500 (0.437500)",
            "0.56 ± 0.03 (0.250000)",
            "0.749 ± 0.002",
            "+3.5000",
            "3.5 ± 0.5",
            "-0.5 ± 0.1",
            "+1.7 ± 0.2",
            "+2.5 ± 0.4",
            "+6.5 ± 0.4",
        ] {
            assert!(full.contains(cell), "{cell} is not in\n{full}");
        }
        assert!(full.contains("60 rows") && full.contains("0.375000") && !full.contains("120 rows"), "{full}");
        assert!(
            full.contains("-0.5000")
                && full.contains("gaussian")
                && full.contains(CONTROLS_NOTE)
                && full.contains(BASELINE_NOTE)
                && full.contains("healed"),
            "{full}"
        );
        assert!(full.find("rank_2").zip(full.find("rank_10")).is_some_and(|(two, ten)| two < ten), "{full}");
    }
}
