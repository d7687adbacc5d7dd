//! Orders of replacement: the rise of perplexity as blocks, or whole layers, are replaced one after another.

use straightedge_api::report::{OrderStep, Report, orders};

use super::figure::{BLOCK_AXIS, Figure, Grid, series};
use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::text::cell::Cell;
use crate::text::format::{exact, fixed};
use crate::text::orders::t as o;
use crate::text::{fill, t};

/// An order in a figure: its name in the report, and in words; `{block}` of a step stands for a block or a layer.
struct ShownOrder {
    key: &'static str,
    name: &'static str,
    step: &'static str,
}

/// Blocks made linear.
pub(super) fn of_blocks(report: &Report) -> Option<Figure> {
    let step = o().step;
    let shown = [
        ShownOrder { key: orders::BY_COST, name: o().by_cost, step },
        ShownOrder { key: orders::GREEDY, name: o().greedy, step },
        ShownOrder { key: orders::GREEDY_REFITTED, name: o().refitted, step },
    ];
    let figure = figure(report, &shown, o().axis_blocks)?;
    Some(Figure { title: o().blocks_figure.into(), caption: o().blocks_caption, ..figure })
}

/// Layers removed or made linear.
pub(super) fn of_layers(report: &Report) -> Option<Figure> {
    let shown = [
        ShownOrder { key: orders::LAYERS_LINEAR, name: t().layer_linear, step: o().layer_linear },
        ShownOrder { key: orders::LAYERS_REMOVED, name: t().layer_removed, step: o().layer_removed },
    ];
    let figure = figure(report, &shown, o().axis_layers)?;
    Some(Figure { title: o().layers_figure.into(), caption: o().layers_caption, ..figure })
}

fn figure(report: &Report, shown: &[ShownOrder], axis: &'static str) -> Option<Figure> {
    let steps = |shown: &ShownOrder| report.orders.get(shown.key).map_or(&[][..], |steps| steps);
    let present: Vec<&ShownOrder> = shown.iter().filter(|shown| !steps(shown).is_empty()).collect();
    let line = |(style, shown): (usize, &&ShownOrder)| {
        let start = Mark::new(o().start, 0.0, Some(0.0));
        let mark = |(at, step): (usize, &OrderStep)| {
            let before = present[..style].iter().filter_map(|earlier| steps(earlier).get(at));
            // Lines that take the same block would write its number over each other.
            let is_first = before.into_iter().all(|earlier| earlier.block != step.block);
            Mark { block: is_first.then_some(step.block), ..mark(at, step, shown.step) }
        };
        let marks = std::iter::once(start).chain(steps(shown).iter().enumerate().map(mark)).collect();
        series(shown.name, style, marks).map(|series| Series { joined: true, marked: true, named: true, ..series })
    };
    let all: Vec<Series> = present.iter().enumerate().filter_map(line).collect();
    let longest = present.iter().map(|shown| steps(shown).len()).max()?;
    let per_order = |shown: &&ShownOrder| {
        [shown.name.to_owned(), t().axis_ppl.into(), t().axis_delta_ppl.into(), t().compression.into()]
    };
    let row = |at: usize| {
        let cells = present.iter().flat_map(|shown| of_step(steps(shown).get(at)));
        std::iter::once((at + 1).to_string().into()).chain(cells).collect()
    };
    Some(Figure {
        plot: Plot {
            x: Axis { name: axis, ..BLOCK_AXIS(longest + 1) },
            y: Axis { name: t().axis_delta_ppl, kind: Kind::Wide },
            series: all,
            rules: Vec::new(),
        },
        table: Grid {
            head: std::iter::once(axis.to_owned()).chain(present.iter().flat_map(per_order)).collect(),
            rows: (0..longest).map(row).collect(),
        },
        ..Figure::default()
    })
}

fn mark(at: usize, step: &OrderStep, name: &str) -> Mark {
    let more = fill(o().more, &[("ppl", &exact(step.ppl)), ("times", &fixed(step.compression, 2))]);
    let name = fill(name, &[("block", &step.block.to_string())]);
    Mark { more, ..Mark::new(name, (at + 1) as f64, step.delta_ppl).within(None, step.interval) }
}

/// Block, perplexity, its change and compression of a step; nothing where an order has fewer steps.
fn of_step(step: Option<&OrderStep>) -> [Cell; 4] {
    let Some(step) = step else { return [""; 4].map(Into::into) };
    let smaller = Cell::number(step.compression, None, |times| fixed(times, 3));
    let loss = Cell::number(step.delta_ppl, step.interval, exact);
    [step.block.to_string().into(), Cell::number(step.ppl, None, exact), loss, smaller]
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::Interval;

    use super::super::sample;
    use super::*;

    #[test]
    fn every_order_begins_with_the_untouched_model() {
        let figure = of_blocks(&sample::report()).unwrap();
        let names: Vec<_> = figure.plot.series.iter().map(|series| &*series.name).collect();
        assert_eq!(names, [o().by_cost, o().greedy]);
        let found = |at: usize| figure.plot.series[at].marks.iter().map(|mark| (mark.x, mark.y)).collect::<Vec<_>>();
        assert_eq!(found(0), [(0.0, Some(0.0)), (1.0, Some(0.5)), (2.0, Some(3.0))]);
        assert_eq!(found(1), [(0.0, Some(0.0)), (1.0, Some(0.5)), (2.0, Some(2.0))]);
        let sentence = figure.plot.describe((0, 2));
        assert!(
            sentence.contains("Block 1 also linear") && sentence.contains("perplexity 23, 2.00× smaller"),
            "{sentence}"
        );
        let numbers = |at: usize| figure.plot.series[at].marks.iter().map(|mark| mark.block).collect::<Vec<_>>();
        assert_eq!(numbers(0), [None, Some(0), Some(1)]);
        assert_eq!(numbers(1), [None; 3], "the same blocks as the line before");
        assert_eq!(figure.table.rows[1], ["2", "1", "23", "3", "2.000", "1", "22", "2", "2.000"]);
    }

    #[test]
    fn a_step_has_the_interval_of_its_loss() {
        let mut report = sample::report();
        let steps = report.orders.get_mut(orders::GREEDY).unwrap();
        steps[1].interval = Some(Interval { low: 1.75, high: 2.25 });
        let figure = of_blocks(&report).unwrap();
        assert_eq!(figure.table.rows[1], ["2", "1", "23", "3", "2.000", "1", "22", "2.0 ± 0.2", "2.000"]);
        assert_eq!(figure.plot.series[1].marks[2].within.y, report.orders[orders::GREEDY][1].interval);
    }

    #[test]
    fn layers_have_a_figure_of_their_own() {
        let figure = of_layers(&sample::report()).unwrap();
        assert_eq!(figure.plot.series.len(), 2);
        let sentence = figure.plot.describe((1, 1));
        assert!(sentence.contains("Layer 1 removed"), "{sentence}");
    }

    #[test]
    fn nothing_is_drawn_of_what_was_not_measured() {
        let mut report = sample::report();
        report.orders.clear();
        assert!(of_blocks(&report).is_none() && of_layers(&report).is_none());
    }
}
