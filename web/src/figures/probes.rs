//! What the linear map misses: gain, training and conjunction index of trained probes, with the polynomials.

use straightedge_api::agreement::{correlation, median};
use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, ProbeReport, Report};

use super::degrees;
use super::figure::{
    BLOCK_AXIS, Figure, Grid, alike, at_block, at_x, block_mark, block_name, blocks_of, by_block, curve, grid_of,
    heads, series, share_axis,
};
use super::shown::{probe_names, shown_block};
use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::state::views::View;
use crate::text::cell::Cell;
use crate::text::engine;
use crate::text::format::{exact, fixed, pearson, rounded};
use crate::text::probes::t as probes;
use crate::text::{fill, t};

pub(super) fn figures(report: &Report, block: Option<usize>) -> Vec<Option<Figure>> {
    vec![
        gains(report),
        degrees::overview(report),
        conjunction(report),
        degrees::growth(report, block),
        training(report, block),
    ]
}

fn gains(report: &Report) -> Option<Figure> {
    let of_probe = |(style, name): (usize, &str)| {
        let mark = |block: &BlockReport| {
            let probe = block.probes.get(name)?;
            let more = fill(probes().probe_more, &[("steps", &probe.steps.to_string())]);
            let mark =
                block_mark(block, 1.0 - block.r2_lin?, Some(probe.gain?)).within(None, block.gain_interval(name));
            Some(Mark { more, ..mark })
        };
        series(name, style, report.blocks.iter().filter_map(mark).collect())
    };
    let mut all: Vec<Series> = probe_names().enumerate().filter_map(of_probe).collect();
    if let Some(first) = all.first_mut() {
        first.named = true;
    }
    (!all.is_empty()).then(|| Figure {
        title: probes().probes_figure.into(),
        facts: all.iter().filter(|series| series.marks.len() > 1).map(fact).collect(),
        plot: Plot {
            x: share_axis(t().axis_residual),
            y: Axis { name: t().axis_gain, kind: Kind::FromZero },
            series: all,
            rules: Vec::new(),
        },
        caption: probes().probes_caption,
        table: table(report),
    })
}

/// Correlation and median of a probe's gains.
fn fact(series: &Series) -> String {
    let (xs, ys): (Vec<f64>, Vec<f64>) = series.marks.iter().filter_map(|mark| Some((mark.x, mark.y?))).unzip();
    let most = ys.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    fill(
        probes().probe_fact,
        &[
            ("probe", &series.name),
            ("r", &pearson(correlation(&xs, &ys), xs.len())),
            ("n", &xs.len().to_string()),
            ("median", &fixed(median(ys), 4)),
            ("most", &fixed(Some(most), 4)),
        ],
    )
}

fn conjunction(report: &Report) -> Option<Figure> {
    let network = by_block(report, probes().conjunction_network, 6, |block| Some(Some(block.conjunction?)));
    let of_probe = |(style, name): (usize, &str)| {
        by_block(report, name, style, |block| Some(Some(block.probes.get(name)?.conjunction?)))
    };
    let all: Vec<_> = network.into_iter().chain(probe_names().enumerate().filter_map(of_probe)).collect();
    (!all.is_empty()).then(|| Figure {
        title: probes().conjunction_figure.into(),
        table: grid_of(t().block, &all, at_block, exact),
        plot: Plot {
            x: BLOCK_AXIS(blocks_of(report)),
            y: Axis { name: t().axis_conjunction, kind: Kind::FromZero },
            series: all,
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption: probes().conjunction_caption,
    })
}

pub(super) fn training(report: &Report, block: Option<usize>) -> Option<Figure> {
    let number = shown_block(View::Probes, report, block)?;
    let block = report.blocks.iter().find(|block| block.block == number)?;
    let curves = probe_names().enumerate().filter_map(|(style, name)| curve(block, name, name, style, 0));
    let all = alike(curves.collect());
    (!all.is_empty()).then(|| Figure {
        title: format!("{}: {}", block_name(number), probes().probe_curves_figure),
        table: grid_of(t().axis_steps, &all, at_x, rounded),
        plot: Plot {
            x: Axis { name: t().axis_steps, kind: Kind::Linear },
            y: Axis { name: t().axis_validation, kind: Kind::Linear },
            series: all,
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption: probes().probe_curves_caption,
    })
}

fn table(report: &Report) -> Grid {
    let of_block = |block: &BlockReport| {
        let of_probe = |name: &str| {
            Some((row(block, name, block.probes.get(name)?), block.seed_deviation(&format!("gain_{name}"))))
        };
        probe_names().filter_map(of_probe).collect::<Vec<_>>()
    };
    let (rows, over_seeds) = report.blocks.iter().flat_map(of_block).unzip();
    let grid = Grid {
        head: heads(&[
            t().block,
            t().probe,
            t().r2,
            t().axis_gain,
            engine::label(Field::Cosine),
            engine::label(Field::Rmse),
            t().axis_steps,
            t().parameters,
            t().axis_delta_ppl,
            probes().loss_healed,
        ]),
        rows,
    };
    grid.and(probes().over_seeds, over_seeds)
}

fn row(block: &BlockReport, name: &str, probe: &ProbeReport) -> Vec<Cell> {
    let loss = block.delta_ppl.get(name).copied().flatten();
    let healed = block.heal.get(name);
    vec![
        block.block.to_string().into(),
        name.into(),
        Cell::number(probe.r2, None, rounded),
        Cell::number(probe.gain, block.gain_interval(name), rounded),
        Cell::number(probe.cosine, None, rounded),
        Cell::number(probe.rmse, None, exact),
        probe.steps.to_string().into(),
        probe.parameters.to_string().into(),
        Cell::number(loss, block.loss_interval(name), exact),
        Cell::number(healed.and_then(|heal| heal.delta_ppl), healed.and_then(|heal| heal.interval), exact),
    ]
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::Interval;

    use super::super::sample;
    use super::*;

    #[test]
    fn gains_stand_against_what_the_line_leaves() {
        let mut report = sample::report();
        report.blocks[0].heal.get_mut("poly").unwrap().interval = Some(Interval { low: 0.2, high: 0.4 });
        let figures: Vec<_> = figures(&report, None).into_iter().flatten().collect();
        assert_eq!(figures.len(), 4, "the last block with curves has no polynomials");
        let poly = &figures[0].plot.series[0];
        let found: Vec<_> = poly.marks.iter().map(|mark| (mark.block, mark.x, mark.y)).collect();
        assert_eq!(found, [(Some(0), 1.0 - 0.9, Some(0.01)), (Some(1), 1.25, Some(0.03))]);
        assert_eq!(figures[0].facts[0], "poly: Pearson r = 1.000 over 2 blocks, median gain 0.0200, largest 0.0300.");
        assert_eq!(
            figures[0].table.rows[0],
            ["0", "poly", "0.9100", "0.0100", "0.9500", "0.250000", "40", "192", "0.400000", "0.3 ± 0.1"]
        );
        assert_eq!(figures[2].plot.series[0].marks[0].y, Some(0.125));
    }

    #[test]
    fn the_spread_over_seeds_stands_beside_the_gain() {
        let mut report = sample::report();
        report.blocks[0].seeds.insert("gain_poly".into(), vec![Some(0.01), Some(0.03)]);
        let table = table(&report);
        let rows: Vec<_> = table.rows.iter().map(|row| row.last().unwrap().shown.as_str()).collect();
        assert_eq!((table.head.last().unwrap().as_str(), &rows[..]), ("sd over seeds", &["0.0141", "–"][..]));
    }

    #[test]
    fn curves_are_those_of_the_last_block_that_has_any_until_one_is_chosen() {
        let report = sample::report();
        assert!(training(&report, None).unwrap().title.starts_with("Block 1"));
        let chosen = training(&report, Some(0)).unwrap();
        let values: Vec<_> = chosen.plot.series[0].marks.iter().map(|mark| (mark.x, mark.y)).collect();
        assert_eq!(values, [(20.0, Some(0.5)), (40.0, None)]);
        assert_eq!(chosen.table.rows, [["20", "0.5000"], ["40", "–"]]);
    }
}
