//! One block in detail: input spectrum, R² by feature, predicted against actual values, the learning curve, the rank
//! curve, and the cost of its replacements.

use straightedge_api::report::{BlockReport, Report, Scatter, Spectrum};

use super::figure::{Figure, Grid, at_x, block_name, grid_of, heads, series};
use super::shown::{probe_names, shown_block};
use super::{learning, probes, ranks};
use crate::chart::plot::{Axis, Mark, Plot, Rule, Series};
use crate::chart::scale::Kind;
use crate::state::views::View;
use crate::text::cell::Cell;
use crate::text::detail::t as d;
use crate::text::format::{exact, fixed, share};
use crate::text::{fill, t};

/// Bin width of the histogram.
const BIN: f64 = 0.05;
/// Features below this share fall into the first bin.
const LOWEST: f64 = -0.5;

pub(super) fn figures(report: &Report, block: Option<usize>) -> Vec<Option<Figure>> {
    let number = shown_block(View::Block, report, block);
    let Some(block) = report.blocks.iter().find(|block| Some(block.block) == number) else { return Vec::new() };
    vec![
        features(block),
        block.scatter.as_ref().and_then(|scatter| predictions(block, scatter)),
        learning::curve(block),
        ranks::curve(block),
        block.spectrum.as_ref().and_then(|spectrum| eigenvalues(block, spectrum, report.protocol.tau)),
        swaps(block),
        ranks::losses(block),
        gains(block),
        probes::training(report, number).filter(|_| !block.probes.is_empty()),
    ]
}

/// Histogram of R² over the features.
fn features(block: &BlockReport) -> Option<Figure> {
    let known: Vec<f64> = block.r2_features.iter().flatten().copied().collect();
    let least = known.iter().copied().reduce(f64::min)?.max(LOWEST);
    let end = (1.0 / BIN).round() as i64;
    let first = ((least / BIN).floor() as i64).min(end - 1);
    let bins = end - first;
    let bin = |value: &f64| (((value / BIN).floor() as i64) - first).clamp(0, bins - 1);
    let column = |at: i64| {
        let (from, to) = ((first + at) as f64 * BIN, (first + at + 1) as f64 * BIN);
        let count = known.iter().filter(|value| bin(value) == at).count();
        let open = at == 0 && known.iter().any(|value| *value < from);
        let name = if open {
            fill(d().features_below, &[("to", &fixed(Some(to), 2))])
        } else {
            fill(d().features_between, &[("from", &fixed(Some(from), 2)), ("to", &fixed(Some(to), 2))])
        };
        Mark::new(name, (from + to) / 2.0, Some(count as f64))
    };
    let columns = Series { columns: true, ..series("", 0, (0..bins).map(column).collect())? };
    let rule = |at: f64| Rule { is_x: true, at: at.max(LOWEST), name: d().features_all.into() };
    let row = |mark: &Mark| vec![mark.name.as_str().into(), Cell::number(mark.y, None, exact)];
    Some(Figure {
        title: titled(d().features_figure, block),
        table: Grid {
            head: heads(&[d().features_column, d().features_count]),
            rows: columns.marks.iter().map(row).collect(),
        },
        plot: Plot {
            x: Axis { name: d().axis_feature_r2, kind: Kind::Linear },
            y: Axis { name: d().features_count, kind: Kind::FromZero },
            series: vec![columns],
            rules: block.r2_lin.map(rule).into_iter().collect(),
        },
        facts: undefined(block).into_iter().collect(),
        caption: d().features_caption,
    })
}

fn undefined(block: &BlockReport) -> Option<String> {
    let count = block.r2_features.iter().filter(|value| value.is_none()).count();
    (count > 0).then(|| fill(d().features_undefined, &[("n", &count.to_string())]))
}

/// Predicted against actual values, with the diagonal of equality.
fn predictions(block: &BlockReport, scatter: &Scatter) -> Option<Figure> {
    let mark = |(actual, predicted): (&f64, &f64)| Mark { size: 0.62, ..Mark::new("", *actual, Some(*predicted)) };
    let values = series(d().scatter_values, 0, scatter.actual.iter().zip(&scatter.predicted).map(mark).collect())?;
    let all = || scatter.actual.iter().chain(&scatter.predicted).copied();
    let ends = [all().fold(0.0, f64::min), all().fold(0.0, f64::max)];
    let diagonal = ends.map(|at| Mark::new(d().scatter_equal, at, Some(at))).to_vec();
    let diagonal = Series { joined: true, ..series(d().scatter_equal, 6, diagonal)? };
    let rows = scatter.actual.iter().zip(&scatter.predicted).enumerate();
    let row = |(at, (actual, predicted)): (usize, (&f64, &f64))| {
        let [actual, predicted] = [actual, predicted].map(|value| Cell::number(Some(*value), None, exact));
        vec![(at + 1).to_string().into(), actual, predicted]
    };
    Some(Figure {
        title: titled(d().scatter_figure, block),
        table: Grid {
            head: heads(&[d().scatter_number, d().axis_actual, d().axis_predicted]),
            rows: rows.map(row).collect(),
        },
        plot: Plot {
            x: Axis { name: d().axis_actual, kind: Kind::Linear },
            y: Axis { name: d().axis_predicted, kind: Kind::Linear },
            series: vec![values, diagonal],
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption: d().scatter_caption,
    })
}

/// Eigenvalues of the inputs over both matrices, with the cut below which there is only rounding.
fn eigenvalues(block: &BlockReport, spectrum: &Spectrum, tau: f64) -> Option<Figure> {
    let line = |name: &str, style, values: &[Option<f64>]| {
        let mark = |(k, value): (&usize, &Option<f64>)| {
            Mark::new(fill(d().spectrum_place, &[("k", &k.to_string())]), *k as f64, value.filter(|value| *value > 0.0))
        };
        let line = series(name, style, spectrum.k.iter().zip(values).map(mark).collect())?;
        line.marks.iter().any(|mark| mark.y.is_some()).then_some(Series { joined: true, ..line })
    };
    let lines = [
        line(d().spectrum_covariance, 0, &spectrum.covariance),
        line(d().spectrum_correlation, 1, &spectrum.correlation),
    ];
    let lines: Vec<Series> = lines.into_iter().flatten().collect();
    let largest = spectrum.correlation.first().copied().flatten();
    let below = |cut: f64| spectrum.correlation.iter().flatten().any(|value| *value <= cut);
    // Where nothing is cut, the axis need not include the cut.
    let cut = largest.map(|largest| tau * largest).filter(|cut| *cut > 0.0 && below(*cut));
    let cut = cut.map(|at| Rule { is_x: false, at, name: d().spectrum_cut.into() });
    let rank = Rule {
        is_x: true,
        at: block.rank.max(1) as f64,
        name: fill(d().spectrum_rank, &[("rank", &block.rank.to_string())]),
    };
    (!lines.is_empty()).then(|| Figure {
        title: titled(d().spectrum_figure, block),
        table: grid_of(d().axis_eigenvalue_k, &lines, at_x, exact),
        plot: Plot {
            x: Axis { name: d().axis_eigenvalue_k, kind: Kind::Log },
            y: Axis { name: d().axis_eigenvalue, kind: Kind::Log },
            series: lines,
            rules: [Some(rank), cut].into_iter().flatten().collect(),
        },
        facts: Vec::new(),
        caption: d().spectrum_caption,
    })
}

/// The model's loss by every measured replacement of the block.
fn swaps(block: &BlockReport) -> Option<Figure> {
    let plain = [("linear", t().swap_linear), ("mean", t().swap_mean), ("zero", t().swap_zero)];
    let replacements = plain.into_iter().chain(probe_names().map(|name| (name, name)));
    let loss = |(key, name)| Some((key, name, block.delta_ppl.get(key).copied().flatten()?));
    let mark = |(at, (key, name, loss)): (usize, (&str, &str, f64))| {
        Mark::new(name, at as f64, Some(loss)).within(None, block.loss_interval(key))
    };
    columns(
        block,
        d().block_swaps_figure,
        replacements.filter_map(loss).enumerate().map(mark).collect(),
        t().axis_delta_ppl,
        d().swaps_caption,
    )
}

/// Gain of every trained probe over the line.
fn gains(block: &BlockReport) -> Option<Figure> {
    let probes = probe_names().filter_map(|name| Some((name, block.probes.get(name)?)));
    let probes = probes.filter(|(_, probe)| probe.gain.is_some());
    let mark = |(at, (name, probe)): (usize, (&str, &straightedge_api::report::ProbeReport))| {
        let gaps = [("r2", &*share(probe.r2)), ("steps", &probe.steps.to_string())];
        let gain = Mark::new(name, at as f64, probe.gain).within(None, block.gain_interval(name));
        Mark { more: fill(d().block_probe_more, &gaps), ..gain }
    };
    columns(
        block,
        d().block_probes_figure,
        probes.enumerate().map(mark).collect(),
        t().axis_gain,
        d().block_probes_caption,
    )
}

/// A chart of named columns.
fn columns(
    block: &BlockReport,
    title: &str,
    marks: Vec<Mark>,
    axis: &'static str,
    caption: &'static str,
) -> Option<Figure> {
    let row = |mark: &Mark| vec![mark.name.as_str().into(), Cell::number(mark.y, mark.within.y, exact)];
    let table = Grid { head: heads(&[d().replacement, axis]), rows: marks.iter().map(row).collect() };
    let kind = Kind::Index(marks.len());
    let all = Series { columns: true, ..series("", 0, marks)? };
    Some(Figure {
        title: titled(title, block),
        plot: Plot {
            x: Axis { name: "", kind },
            y: Axis { name: axis, kind: Kind::Wide },
            series: vec![all],
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption,
        table,
    })
}

fn titled(title: &str, block: &BlockReport) -> String {
    format!("{}: {title}", block_name(block.block))
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::Interval;

    use super::super::sample;
    use super::*;

    fn shown(report: &Report, block: usize) -> Vec<Figure> {
        figures(report, Some(block)).into_iter().flatten().collect()
    }

    #[test]
    fn every_feature_stands_in_its_column() {
        let mut report = sample::report();
        let values = [0.97, 0.96, 0.5, 0.0, -0.01, -7.0];
        report.blocks[0].r2_features = values.map(Some).into_iter().chain([None]).collect();
        let figure = features(&report.blocks[0]).unwrap();
        let marks = &figure.plot.series[0].marks;
        let counts: Vec<_> =
            marks.iter().filter(|mark| mark.y > Some(0.0)).map(|mark| (mark.name.as_str(), mark.y)).collect();
        assert_eq!(
            counts,
            [
                ("R² below −0.45", Some(1.0)),
                ("R² −0.05 to 0.00", Some(1.0)),
                ("R² 0.00 to 0.05", Some(1.0)),
                ("R² 0.50 to 0.55", Some(1.0)),
                ("R² 0.95 to 1.00", Some(2.0))
            ]
        );
        assert_eq!(marks.iter().filter_map(|mark| mark.y).sum::<f64>(), 6.0, "none is lost");
        assert_eq!(figure.facts.len(), 1, "the one without variance is told");
        report.blocks[0].r2_features = vec![Some(1.0)];
        assert_eq!(features(&report.blocks[0]).unwrap().plot.series[0].marks.last().unwrap().y, Some(1.0));
    }

    #[test]
    fn a_spectrum_has_its_cut_only_where_something_is_cut() {
        let block = BlockReport { rank: 2, ..BlockReport::default() };
        let spectrum = |last| Spectrum {
            k: vec![1, 2, 3],
            covariance: vec![Some(5.0), Some(1.0), None],
            correlation: vec![Some(2.0), Some(0.9), last],
        };
        let rules = |last| eigenvalues(&block, &spectrum(last), 1e-10).unwrap().plot.rules.len();
        assert_eq!([rules(Some(1e-17)), rules(Some(0.1)), rules(None)], [2, 1, 1]);
        let figure = eigenvalues(&block, &spectrum(Some(1e-17)), 1e-10).unwrap();
        assert_eq!(figure.table.rows[2], ["3", "–", "1.00000e−17"]);
        assert_eq!(figure.plot.describe((1, 1)), "Eigenvalue 2, correlation matrix: λ 0.900000");
    }

    #[test]
    fn replacements_and_probes_are_columns_by_name() {
        let report = sample::report();
        let all = shown(&report, 0);
        let swaps = all.iter().find(|figure| figure.title.contains(d().block_swaps_figure)).unwrap();
        let found: Vec<_> = swaps.plot.series[0].marks.iter().map(|mark| (mark.name.as_str(), mark.y)).collect();
        let expected = [("linear", Some(0.5)), ("mean", Some(4.0)), ("removed", Some(8.0)), ("poly", Some(0.4))];
        assert_eq!(found, expected);
        let gains = all.iter().find(|figure| figure.title.contains(d().block_probes_figure)).unwrap();
        assert_eq!(gains.plot.describe((0, 0)), "poly: gain 0.0100000, R² 0.910000, 40 steps");
        assert!(all.iter().all(|figure| figure.title.starts_with("Block 0")), "{all:?}");
        let mut block = report.blocks[0].clone();
        block.intervals = [("gain_poly".into(), Interval { low: 0.0075, high: 0.0125 })].into();
        let within = super::gains(&block).unwrap();
        assert_eq!(within.plot.describe((0, 0)), "poly: gain 0.010 ± 0.003 (0.0100000), R² 0.910000, 40 steps");
        assert_eq!(within.table.rows[0][1], "0.010 ± 0.003");
    }

    #[test]
    fn predictions_stand_beside_the_diagonal() {
        let mut report = sample::report();
        report.blocks[0].scatter = Some(Scatter { actual: vec![1.0, -2.0], predicted: vec![0.5, -1.0] });
        let figure = shown(&report, 0).into_iter().find(|figure| figure.title.contains(d().scatter_figure)).unwrap();
        let ends: Vec<_> = figure.plot.series[1].marks.iter().map(|mark| (mark.x, mark.y)).collect();
        assert_eq!(ends, [(-2.0, Some(-2.0)), (1.0, Some(1.0))]);
        assert_eq!(figure.table.rows, [["1", "1", "0.500000"], ["2", "−2", "−1"]]);
    }

    #[test]
    fn a_block_of_which_little_is_known_shows_little() {
        let report = sample::report();
        assert_eq!(shown(&report, 2).len(), 0, "the block without variance");
    }
}
