//! Recovery of a swap's cost by fine-tuning, next to the same budget for the original.

use straightedge_api::report::{BlockReport, Interval, Report};

use super::figure::{
    BLOCK_AXIS, Figure, Grid, alike, at_x, block_mark, block_name, blocks_of, curve, grid_of, heads, series,
};
use super::healed_together;
use super::shown::{HEALED, probe_names, shown_block};
use crate::chart::plot::{Axis, Plot, Series};
use crate::chart::scale::Kind;
use crate::state::views::View;
use crate::text::cell::Cell;
use crate::text::format::{NOTHING, exact};
use crate::text::probes::t as probes;
use crate::text::{fill, t};

pub(super) fn figures(report: &Report, block: Option<usize>) -> Vec<Option<Figure>> {
    vec![
        before_and_after(report),
        training(report, block),
        healed_together::of_blocks(report),
        healed_together::of_layers(report),
    ]
}

fn before_and_after(report: &Report) -> Option<Figure> {
    let all = [
        by_block(report, t().heal_before, 1, before),
        by_block(report, t().heal_after, 0, |block| after(block, "linear")),
        by_block(report, t().heal_adam, 3, |block| after(block, "linear_adam")),
        by_block(report, t().heal_original, 2, |block| after(block, "original")),
    ];
    let of_probe = |(at, name): (usize, &str)| by_block(report, &healed(name), 4 + at, |block| after(block, name));
    let all = all.into_iter().chain(probe_names().enumerate().map(of_probe));
    let all: Vec<_> = all.flatten().collect();
    (!all.is_empty()).then(|| Figure {
        title: t().healing_figure.into(),
        plot: Plot {
            x: BLOCK_AXIS(blocks_of(report)),
            y: Axis { name: t().axis_delta_ppl, kind: Kind::Wide },
            series: all,
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption: t().healing_caption,
        table: table(report),
    })
}

/// A loss and its interval.
type Loss = (Option<f64>, Option<Interval>);

/// That of the map before healing, whose interval is that of the swap; `None` if it was not healed.
fn before(block: &BlockReport) -> Option<Loss> {
    Some((block.heal.get("linear")?.delta_ppl_before, block.loss_interval("linear")))
}

/// That of a healed replacement.
fn after(block: &BlockReport, name: &str) -> Option<Loss> {
    block.heal.get(name).map(|heal| (heal.delta_ppl, heal.interval))
}

fn by_block(report: &Report, name: &str, style: usize, loss: impl Fn(&BlockReport) -> Option<Loss>) -> Option<Series> {
    let mark = |block: &BlockReport| {
        let (value, interval) = loss(block)?;
        Some(block_mark(block, block.block as f64, value).within(None, interval))
    };
    series(name, style, report.blocks.iter().filter_map(mark).collect())
}

fn training(report: &Report, block: Option<usize>) -> Option<Figure> {
    let number = shown_block(View::Healing, report, block)?;
    let block = report.blocks.iter().find(|block| block.block == number)?;
    let names = [(t().heal_after, 0), (t().heal_adam, 3), (t().heal_original, 2)];
    let curves = HEALED.iter().zip(names).filter_map(|(key, (name, style))| curve(block, key, name, style, 0));
    let all = alike(curves.collect());
    (!all.is_empty()).then(|| Figure {
        title: format!("{}: {}", block_name(number), t().healing_curves_figure),
        table: grid_of(t().axis_steps, &all, at_x, exact),
        plot: Plot {
            x: Axis { name: t().axis_steps, kind: Kind::Linear },
            y: Axis { name: t().axis_nll, kind: Kind::Linear },
            series: all,
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption: t().healing_curves_caption,
    })
}

fn table(report: &Report) -> Grid {
    let blocks = report.blocks.iter().filter(|block| !block.heal.is_empty());
    let probes: Vec<&str> =
        probe_names().filter(|name| report.blocks.iter().any(|block| block.heal.contains_key(*name))).collect();
    let mut head = heads(&[t().block, t().heal_before, t().heal_after, t().heal_adam, t().heal_original]);
    head.extend(probes.iter().map(|name| healed(name)));
    head.push(t().axis_steps.into());
    Grid { head, rows: blocks.map(|block| row(block, &probes)).collect() }
}

fn row(block: &BlockReport, probes: &[&str]) -> Vec<Cell> {
    let loss = |found: Option<Loss>| {
        let (value, interval) = found.unwrap_or_default();
        Cell::number(value, interval, exact)
    };
    let steps = block.heal.get("linear").or(block.heal.get("original"));
    let steps = steps.map_or(NOTHING.into(), |heal| heal.steps.to_string().into());
    let mut cells = vec![
        block.block.to_string().into(),
        loss(before(block)),
        loss(after(block, "linear")),
        loss(after(block, "linear_adam")),
        loss(after(block, "original")),
    ];
    cells.extend(probes.iter().map(|name| loss(after(block, name))));
    cells.push(steps);
    cells
}

/// Name of the losses of a probe after healing.
fn healed(probe: &str) -> String {
    fill(probes().probe_healed, &[("probe", probe)])
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::HealReport;

    use super::super::sample;
    use super::*;

    #[test]
    fn healing_shows_before_after_and_the_original_with_the_same_budget() {
        let mut report = sample::report();
        let gate = HealReport { delta_ppl: Some(0.125), steps: 200, ..HealReport::default() };
        report.blocks[0].heal.insert("gate".into(), gate);
        let figures: Vec<_> = figures(&report, None).into_iter().flatten().collect();
        let values: Vec<_> = figures[0].plot.series.iter().map(|series| series.marks[0].y).collect();
        assert_eq!(values, [Some(0.5), Some(0.2), Some(0.25), Some(-0.3), Some(0.3), Some(0.125)]);
        let table = &figures[0].table;
        let values = ["0", "0.500000", "0.200000", "0.250000", "−0.300000", "0.300000", "0.125000", "200"];
        assert_eq!(table.rows, [values]);
        assert_eq!(table.head.len(), values.len());
        assert!(table.head[5].contains("poly") && table.head[6].contains("gate"), "{:?}", table.head);
        assert_eq!(figures[1].plot.series[0].marks.len(), 2);
    }

    #[test]
    fn losses_before_and_after_have_their_intervals() {
        let mut report = sample::report();
        let interval = |low, high| Interval { low, high };
        let block = &mut report.blocks[0];
        block.intervals.insert("delta_ppl_linear".into(), interval(0.25, 0.75));
        block.heal.get_mut("linear").unwrap().interval = Some(interval(0.125, 0.25));
        block.heal.get_mut("poly").unwrap().interval = Some(interval(0.1, 0.5));
        let figure = figures(&report, None).remove(0).unwrap();
        let found: Vec<_> = figure.plot.series.iter().map(|series| series.marks[0].within.y).collect();
        let [before, after, poly] = [interval(0.25, 0.75), interval(0.125, 0.25), interval(0.1, 0.5)].map(Some);
        assert_eq!(found, [before, after, None, None, poly]);
        let cells = ["0", "0.5 ± 0.2", "0.20 ± 0.06", "0.250000", "−0.300000", "0.3 ± 0.2", "200"];
        assert_eq!(figure.table.rows, [cells]);
    }
}
