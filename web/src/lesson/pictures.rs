//! Plots of the examples, for the page's charts.

use super::many::{Many, Scores};
use super::network::{INPUTS, Network};
use super::traps::{Baseline, Outlier, Scalar};
use crate::chart::plot::{Axis, Mark, Plot, Rule, Series};
use crate::chart::scale::Kind;
use crate::comparison::published::{Published, SURVEY};
use crate::text::fill;
use crate::text::format::count;
use crate::text::lesson::l;

/// Looks of the page's palette; the first is the accent.
const MAIN: usize = 0;
const OTHER: usize = 1;
/// Points of a drawn curve.
const POINTS: usize = 120;

/// The network's output, its parts, and the nearest line.
pub fn network(network: Network) -> Plot {
    let at = |place: usize| INPUTS[0] + (INPUTS[1] - INPUTS[0]) * place as f64 / POINTS as f64;
    let curve =
        |style, name: String, f: &dyn Fn(f64) -> f64| line(style, name, (0..=POINTS).map(at).map(|x| (x, f(x))));
    let (nearest, _) = network.line();
    let unit = |unit: usize| {
        let name = fill(l().network_unit, &[("unit", &(unit + 1).to_string())]);
        Series { is_behind: true, ..curve(2 + unit, name, &|x| network.parts(x)[unit]) }
    };
    let sum = curve(MAIN, l().network_sum.into(), &|x| network.at(x));
    let nearest = curve(OTHER, l().network_line.into(), &|x| nearest.at(x));
    Plot {
        x: Axis { name: l().input, kind: Kind::Linear },
        y: Axis { name: l().output, kind: Kind::FromZero },
        series: [sum, nearest].into_iter().chain((0..3).map(unit)).collect(),
        rules: Vec::new(),
    }
}

/// R² against the number of inputs.
pub fn many(many: Many, scores: &[Scores]) -> Plot {
    let of = |style, name: &str, score: fn(&Scores) -> f64| {
        line(style, name.into(), scores.iter().enumerate().map(|(at, scores)| ((at + 1) as f64, score(scores))))
    };
    let inputs = many.inputs.to_string();
    Plot {
        x: Axis { name: l().many_inputs, kind: Kind::Linear },
        y: share(l().r2),
        series: vec![
            of(MAIN, l().many_held_out, |scores| scores.held_out),
            of(OTHER, l().many_training, |scores| scores.training),
        ],
        rules: vec![upright(many.inputs as f64, fill(l().many_rule, &[("inputs", &inputs)]))],
    }
}

/// Both kinds of R² against the distance of the constants.
pub fn scalar(chosen: Scalar) -> Plot {
    let curve = Scalar::curve();
    let of = |style, name: &str, which: usize| {
        line(style, name.into(), curve.iter().enumerate().map(|(at, scores)| (at as f64 / 10.0, scores[which])))
    };
    Plot {
        x: Axis { name: l().trap_scalar_axis, kind: Kind::FromZero },
        y: share(l().r2),
        series: vec![of(MAIN, l().trap_scalar_own, 0), of(OTHER, l().trap_scalar_one, 1)],
        rules: vec![upright(f64::from(chosen.offset) / 10.0, String::new())],
    }
}

/// Rows, and the line through those included.
pub fn outlier(chosen: Outlier) -> Plot {
    let rows = chosen.rows();
    let points = |is_first: bool| {
        let at = rows.x.iter().zip(&rows.y).enumerate().filter(move |(at, _)| Outlier::is_first(*at) == is_first);
        at.map(|(_, (x, y))| Mark { size: 0.6, ..Mark::new(String::new(), x[0], Some(*y)) }).collect::<Vec<_>>()
    };
    let ends = [0, 1]
        .map(|end| rows.x.iter().map(|x| x[0]).fold(0.0, |far: f64, x| if end == 0 { far.min(x) } else { far.max(x) }));
    let (_, [slope, intercept]) = chosen.fit();
    let scatter =
        |style, name: &str, is_first| Series { name: name.into(), style, marks: points(is_first), ..Series::default() };
    let mut series = vec![line(OTHER, l().trap_outlier_line.into(), ends.map(|x| (x, slope * x + intercept)))];
    if !chosen.is_left_out {
        series.push(scatter(2, l().trap_outlier_first, true));
    }
    series.push(scatter(MAIN, l().trap_outlier_rows, false));
    Plot {
        x: Axis { name: l().input, kind: Kind::FromZero },
        y: Axis { name: l().output, kind: Kind::FromZero },
        series,
        rules: Vec::new(),
    }
}

/// R² of the trained line against steps.
pub fn baseline(chosen: Baseline) -> Plot {
    let training = Baseline::train();
    let steps = chosen.steps();
    Plot {
        x: Axis { name: l().trap_baseline_axis, kind: Kind::Log },
        y: share(l().r2),
        series: vec![line(
            MAIN,
            l().trap_baseline_trained.into(),
            training.curve.iter().map(|(step, r2)| (f64::from(*step), *r2)),
        )],
        rules: vec![
            Rule { is_x: false, at: training.solved, name: l().trap_baseline_solved.into() },
            upright(f64::from(steps), count(u64::from(steps))),
        ],
    }
}

/// Published values of the two regimes.
pub fn regimes(published: &Published) -> Plot {
    let series = published.models.iter().enumerate().map(|(style, model)| {
        let values = model.r2_lin_scalar.get(SURVEY).into_iter().flatten().zip(&model.r2_feature_median);
        let rank = |at: usize| model.effective_rank.get(at).copied().unwrap_or(0) as f64;
        let size = |at: usize| 0.6 + 1.6 * (rank(at) / model.hidden_size.max(1) as f64).sqrt();
        let mark = |(at, (r2, median)): (usize, (&f64, &f64))| Mark {
            size: size(at),
            ..Mark::new(at.to_string(), *r2, Some(*median)).of_block(at)
        };
        Series {
            name: model.name.clone(),
            style,
            named: true,
            marks: values.enumerate().map(mark).collect(),
            ..Series::default()
        }
    });
    Plot { x: share(l().regimes_axis_x), y: share(l().regimes_axis_y), series: series.collect(), rules: Vec::new() }
}

fn share(name: &'static str) -> Axis {
    Axis { name, kind: Kind::Share }
}

fn upright(at: f64, name: String) -> Rule {
    Rule { is_x: true, at, name }
}

fn line(style: usize, name: String, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    let mark = |(x, y)| Mark::new(String::new(), x, Some(y));
    Series { name, style, joined: true, marks: points.into_iter().map(mark).collect(), ..Series::default() }
}
