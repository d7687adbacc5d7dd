//! The trained baseline: how close gradient descent gets to the closed-form solution.

use straightedge_api::baseline::BaselineTraining;
use straightedge_api::report::{BlockReport, CurvePoint, Report};

use super::figure::{Figure, alike, at_x, block_name, by_block, curve, grid_of, share_axis, with_closed_form};
use super::shown::shown_block;
use crate::chart::plot::{Axis, Plot, Rule};
use crate::chart::scale::Kind;
use crate::state::views::View;
use crate::text::format::{exact, fixed, rounded};
use crate::text::{fill, t};

pub(super) fn figures(report: &Report, block: Option<usize>) -> Vec<Option<Figure>> {
    vec![training(report, block), overview(report)]
}

/// Name of a training, and index of its colour; the closed form has 0.
fn named(training: BaselineTraining) -> (&'static str, usize) {
    match training {
        BaselineTraining::Sgd => (t().sgd, 1),
        BaselineTraining::AdamwConstant => (t().adamw_constant, 3),
        BaselineTraining::Adamw => (t().adamw, 2),
    }
}

fn training(report: &Report, block: Option<usize>) -> Option<Figure> {
    let number = shown_block(View::Baseline, report, block)?;
    let block = report.blocks.iter().find(|block| block.block == number)?;
    // Step 0 has no place on a logarithmic axis.
    let curve_of = |training: BaselineTraining| {
        let (name, style) = named(training);
        curve(block, training.name(), name, style, 1)
    };
    let all = alike(BaselineTraining::ALL.into_iter().filter_map(curve_of).collect());
    let solved = block.r2_lin.map(|at| Rule { is_x: false, at, name: t().closed_form.into() });
    (!all.is_empty()).then(|| Figure {
        title: format!("{}: {}", block_name(number), t().baseline_figure),
        table: grid_of(t().axis_steps, &all, at_x, rounded),
        plot: Plot {
            x: Axis { name: t().axis_steps, kind: Kind::Log },
            y: share_axis(t().axis_heldout),
            series: all,
            rules: solved.into_iter().collect(),
        },
        facts: BaselineTraining::ALL.into_iter().filter_map(|training| fact(block, training)).collect(),
        caption: t().baseline_caption,
    })
}

/// The last value of a training, and whether it is below or above the closed form.
fn fact(block: &BlockReport, training: BaselineTraining) -> Option<String> {
    let last = last(block, training)?;
    let is_above = last.value.zip(block.r2_lin).is_some_and(|(value, solved)| value > solved);
    let gaps = [
        ("name", named(training).0),
        ("value", &fixed(last.value, 4)),
        ("steps", &exact(Some(last.step as f64))),
        ("closed", &fixed(block.r2_lin, 4)),
    ];
    Some(fill(if is_above { t().baseline_fact_above } else { t().baseline_fact }, &gaps))
}

/// Final values of every block, next to the closed form.
fn overview(report: &Report) -> Option<Figure> {
    let ends = |training: BaselineTraining| {
        let (name, style) = named(training);
        by_block(report, name, style, |block| last(block, training).map(|point| point.value))
    };
    let trained: Vec<_> = BaselineTraining::ALL.into_iter().filter_map(ends).collect();
    with_closed_form(report, [t().baseline_overview, t().baseline_overview_caption], trained, Vec::new())
}

fn last(block: &BlockReport, training: BaselineTraining) -> Option<&CurvePoint> {
    block.curves.get(training.name())?.last()
}

#[cfg(test)]
mod tests {
    use straightedge_api::job::Measure;

    use super::super::sample;
    use super::*;
    use crate::state::views::has;

    #[test]
    fn curves_stand_beside_the_closed_form_of_their_block() {
        let figures: Vec<_> = figures(&sample::report(), None).into_iter().flatten().collect();
        let curve = &figures[0].plot.series[0];
        assert_eq!(
            curve.marks.iter().map(|mark| (mark.x, mark.y)).collect::<Vec<_>>(),
            [(1.0, Some(-2.0)), (100.0, Some(0.3))]
        );
        assert_eq!(figures[0].plot.rules[0].at, 0.9);
        assert_eq!(figures[0].facts, ["SGD: 0.3000 after 100 steps; the closed form reaches 0.9000."]);
        let overview: Vec<_> = figures[1].plot.series.iter().map(|series| series.marks.len()).collect();
        assert_eq!(overview, [3, 1]);
    }

    #[test]
    fn a_training_above_the_closed_form_is_said_to_be_there() {
        let mut report = sample::report();
        let end = |value| vec![CurvePoint { step: 0, value: Some(-7.0) }, CurvePoint { step: 3000, value }];
        let curves = &mut report.blocks[0].curves;
        curves.insert("adamw_constant".into(), end(Some(0.75)));
        curves.insert("adamw".into(), end(Some(0.9001)));
        let figure = training(&report, Some(0)).unwrap();
        let above = "on these held-out rows above the closed form, which reaches 0.9000.";
        assert_eq!(
            figure.facts,
            [
                "SGD: 0.3000 after 100 steps; the closed form reaches 0.9000.".to_string(),
                "AdamW, constant rate: 0.7500 after 3000 steps; the closed form reaches 0.9000.".into(),
                format!("AdamW, cosine: 0.9001 after 3000 steps, {above}"),
            ]
        );
        let styles: Vec<_> = figure.plot.series.iter().map(|series| (series.style, series.marks.len())).collect();
        assert_eq!(styles, [(1, 2), (3, 1), (2, 1)]);
        assert_eq!(overview(&report).unwrap().plot.series.len(), 4);
    }

    #[test]
    fn a_report_of_a_version_with_two_trainings_opens_with_these() {
        let mut report = sample::report();
        report.blocks.truncate(1);
        report.blocks[0].curves.insert("adamw".into(), vec![CurvePoint { step: 1, value: None }]);
        let figure = training(&report, None).unwrap();
        assert_eq!((figure.plot.series.len(), figure.facts.len()), (2, 2));
        assert_eq!(figure.facts[1], "AdamW, cosine: – after 1 steps; the closed form reaches 0.9000.");
        assert!(has(Measure::Baseline, &report.blocks[0]), "it is not offered again");
    }
}
