//! The best map of every rank of one block: the share of its output it predicts, and the model's loss with it.

use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, Report};

use super::figure::{FEW, Figure, at_x, block_name, grid_of, series};
use super::shown::shown_block;
use crate::chart::plot::{Axis, Mark, Plot, Rule, Series};
use crate::chart::scale::Kind;
use crate::state::views::View;
use crate::text::engine;
use crate::text::format::{exact, rounded};
use crate::text::{fill, t};

pub(super) fn figures(report: &Report, block: Option<usize>) -> Vec<Option<Figure>> {
    let number = shown_block(View::Ranks, report, block);
    let Some(block) = report.blocks.iter().find(|block| Some(block.block) == number) else { return Vec::new() };
    vec![curve(block), losses(block)]
}

pub(super) fn curve(block: &BlockReport) -> Option<Figure> {
    let mark = |(at, value): (usize, &Option<f64>)| Mark::new(rank_name(at + 1), (at + 1) as f64, *value);
    let marks: Vec<_> = block.r2_rank.iter().enumerate().map(mark).collect();
    let line = series("", 0, marks).filter(|series| series.marks.iter().any(|mark| mark.y.is_some()))?;
    let line = Series { joined: true, marked: line.marks.len() <= FEW, ..line };
    let rank = block.effective_rank;
    let rule = rank.map(|rank| Rule {
        is_x: true,
        at: rank as f64,
        name: fill(t().rank_rule, &[("rank", &rank.to_string())]),
    });
    let full = block.r2_lin.map(|at| Rule { is_x: false, at, name: t().rank_full.into() });
    let table =
        grid_of(t().axis_rank, &[Series { name: engine::label(Field::R2Lin).into(), ..line.clone() }], at_x, rounded);
    Some(Figure {
        title: titled(t().ranks_figure, block),
        plot: Plot {
            x: Axis { name: t().axis_rank, kind: Kind::Log },
            y: Axis { name: engine::label(Field::R2Lin), kind: Kind::Share },
            series: vec![line],
            rules: rule.into_iter().chain(full).collect(),
        },
        facts: Vec::new(),
        caption: t().ranks_caption,
        table,
    })
}

/// `None` unless `rank-swap` was measured.
pub(super) fn losses(block: &BlockReport) -> Option<Figure> {
    let mark = |(name, value): (&String, &Option<f64>)| {
        let rank: usize = name.strip_prefix("rank_")?.parse().ok()?;
        Some(Mark::new(rank_name(rank), rank as f64, *value).within(None, block.loss_interval(name)))
    };
    let mut marks: Vec<_> = block.delta_ppl.iter().filter_map(mark).filter(|mark| mark.y.is_some()).collect();
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    let line = series("", 0, marks)?;
    let line = Series { joined: true, marked: true, ..line };
    let linear = block.delta_ppl.get("linear").copied().flatten();
    let rules = linear.map(|at| Rule { is_x: false, at, name: t().rank_full.into() });
    let table = grid_of(t().axis_rank, &[Series { name: t().axis_delta_ppl.into(), ..line.clone() }], at_x, exact);
    Some(Figure {
        title: titled(t().rank_losses_figure, block),
        plot: Plot {
            x: Axis { name: t().axis_rank, kind: Kind::Log },
            y: Axis { name: t().axis_delta_ppl, kind: Kind::Wide },
            series: vec![line],
            rules: rules.into_iter().collect(),
        },
        facts: Vec::new(),
        caption: t().rank_losses_caption,
        table,
    })
}

fn titled(title: &str, block: &BlockReport) -> String {
    format!("{}: {title}", block_name(block.block))
}

fn rank_name(rank: usize) -> String {
    fill(t().rank_n, &[("rank", &rank.to_string())])
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_curve_is_that_of_the_chosen_block_with_its_effective_rank() {
        let report = sample::report();
        let found: Vec<_> = figures(&report, Some(0)).into_iter().flatten().collect();
        assert_eq!(found.len(), 2);
        let values: Vec<_> = found[0].plot.series[0].marks.iter().map(|mark| (mark.x, mark.y)).collect();
        assert_eq!(values, [(1.0, Some(0.5)), (2.0, Some(0.85)), (3.0, Some(0.9)), (4.0, Some(0.9))]);
        assert!(found[0].plot.rules.contains(&Rule { is_x: true, at: 2.0, name: "effective rank 2".into() }));
        let losses: Vec<_> = found[1].plot.series[0].marks.iter().map(|mark| (mark.x, mark.y)).collect();
        assert_eq!(losses, [(1.0, Some(3.0)), (2.0, Some(1.0)), (16.0, Some(0.5))], "by rank, not by name");
        assert!(found[0].title.starts_with("Block 0"));
    }

    #[test]
    fn without_a_choice_the_first_block_is_shown_and_without_values_nothing() {
        let report = sample::report();
        assert!(figures(&report, None)[0].as_ref().unwrap().title.starts_with("Block 0"));
        assert!(figures(&report, Some(2)).into_iter().flatten().next().is_none());
        assert!(figures(&report, Some(9))[0].as_ref().unwrap().title.starts_with("Block 0"));
    }
}
