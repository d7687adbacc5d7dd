//! The under-trained baseline: how close gradient descent gets to the closed-form solution.

use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, CurvePoint, Report};

use super::figure::{
    BLOCK_AXIS, Figure, alike, at_block, at_x, block_name, blocks_of, by_block, by_field, curve, grid_of, share_axis,
};
use super::shown::{BASELINE, shown_block};
use crate::chart::plot::{Axis, Plot, Rule};
use crate::chart::scale::Kind;
use crate::state::views::View;
use crate::text::format::{exact, fixed, rounded};
use crate::text::{fill, t};

pub(super) fn figures(report: &Report, block: Option<usize>) -> Vec<Option<Figure>> {
    vec![training(report, block), overview(report)]
}

fn training(report: &Report, block: Option<usize>) -> Option<Figure> {
    let number = shown_block(View::Baseline, report, block)?;
    let block = report.blocks.iter().find(|block| block.block == number)?;
    let names = [t().sgd, t().adamw];
    // Step 0 has no place on a logarithmic axis.
    let curves =
        BASELINE.iter().zip(names).enumerate().filter_map(|(at, (key, name))| curve(block, key, name, at + 1, 1));
    let all = alike(curves.collect());
    let ceiling = block.r2_lin.map(|at| Rule { is_x: false, at, name: t().ceiling.into() });
    (!all.is_empty()).then(|| Figure {
        title: format!("{}: {}", block_name(number), t().baseline_figure),
        table: grid_of(t().axis_steps, &all, at_x, rounded),
        plot: Plot {
            x: Axis { name: t().axis_steps, kind: Kind::Log },
            y: share_axis(t().axis_heldout),
            series: all,
            rules: ceiling.into_iter().collect(),
        },
        facts: BASELINE.iter().zip(names).filter_map(|(key, name)| fact(block, key, name)).collect(),
        caption: t().baseline_caption,
    })
}

fn fact(block: &BlockReport, key: &str, name: &str) -> Option<String> {
    let last = last(block, key)?;
    let gaps = [
        ("name", name),
        ("value", &fixed(last.value, 4)),
        ("steps", &exact(Some(last.step as f64))),
        ("ceiling", &fixed(block.r2_lin, 4)),
    ];
    Some(fill(t().baseline_fact, &gaps))
}

/// Final values of every block, next to the closed form.
fn overview(report: &Report) -> Option<Figure> {
    let end = |key: &'static str| move |block: &BlockReport| last(block, key).map(|point| point.value);
    let trained = [by_block(report, t().sgd, 1, end(BASELINE[0])), by_block(report, t().adamw, 2, end(BASELINE[1]))];
    let trained: Vec<_> = trained.into_iter().flatten().collect();
    if trained.is_empty() {
        return None;
    }
    let closed = by_field(report, t().closed_form, 0, Field::R2Lin)?;
    let all: Vec<_> = std::iter::once(closed).chain(trained).collect();
    Some(Figure {
        title: t().baseline_overview.into(),
        table: grid_of(t().block, &all, at_block, rounded),
        plot: Plot {
            x: BLOCK_AXIS(blocks_of(report)),
            y: share_axis(t().axis_heldout),
            series: all,
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption: t().baseline_overview_caption,
    })
}

fn last<'a>(block: &'a BlockReport, key: &str) -> Option<&'a CurvePoint> {
    block.curves.get(key)?.last()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn curves_run_under_the_ceiling_of_their_block() {
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
}
