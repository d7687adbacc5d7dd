//! The first half of an order of blocks or layers, made linear and healed together, next to the order itself.

use straightedge_api::report::{HealedTogether, OrderStep, Report, orders};

use super::figure::{BLOCK_AXIS, Figure, Grid, heads, series};
use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::text::cell::Cell;
use crate::text::format::exact;
use crate::text::orders::t as o;
use crate::text::{fill, t};

/// What was learned, in words, by its name in the report.
fn ways() -> [(&'static str, &'static str); 2] {
    [(HealedTogether::STREAMS, o().healed_streams), (HealedTogether::TOKENS, o().healed_tokens)]
}

/// Networks made linear.
pub(super) fn of_blocks(report: &Report) -> Option<Figure> {
    figure(report, orders::GREEDY_REFITTED, o().healed_blocks_figure)
}

/// Layers made linear.
pub(super) fn of_layers(report: &Report) -> Option<Figure> {
    figure(report, orders::LAYERS_LINEAR, o().healed_layers_figure)
}

fn figure(report: &Report, order: &str, title: &str) -> Option<Figure> {
    let healed = report.healed_together.get(order)?;
    let steps = report.orders.get(order).map_or(&[][..], |steps| steps);
    let count = healed.blocks.len();
    let replaced = |(at, step): (usize, &OrderStep)| {
        Mark::new((at + 1).to_string(), (at + 1) as f64, step.delta_ppl).within(None, step.interval)
    };
    let start = Mark::new(o().start, 0.0, Some(0.0));
    let line = std::iter::once(start).chain(steps.iter().enumerate().map(replaced)).collect();
    let line = series(o().refitted_order, 0, line);
    let line = line.map(|line| Series { joined: true, marked: true, named: true, ..line });
    let name = fill(o().healed_at, &[("count", &count.to_string()), ("steps", &healed.steps.to_string())]);
    let points = ways().into_iter().enumerate().filter_map(|(at, (key, way))| {
        let value = *healed.delta_ppl.get(key)?;
        let mark = Mark::new(name.clone(), count as f64, value).within(None, healed.intervals.get(key).copied());
        let point = series(way, at + 1, vec![mark])?;
        Some(Series { marked: true, named: true, ..point })
    });
    Some(Figure {
        title: title.into(),
        plot: Plot {
            x: Axis { name: o().axis_replaced, ..BLOCK_AXIS(steps.len().max(count) + 1) },
            y: Axis { name: t().axis_delta_ppl, kind: Kind::Wide },
            series: line.into_iter().chain(points).collect(),
            rules: Vec::new(),
        },
        caption: o().healed_caption,
        table: table(healed),
        ..Figure::default()
    })
}

fn table(healed: &HealedTogether) -> Grid {
    let row = |(key, name, loss, error): (&str, &str, Option<f64>, Option<f64>)| {
        let loss = Cell::number(loss, healed.intervals.get(key).copied(), exact);
        vec![name.to_string().into(), loss, Cell::number(error, None, exact)]
    };
    let known =
        |(key, way)| Some((key, way, *healed.delta_ppl.get(key)?, healed.stream_error.get(key).copied().flatten()));
    let before = (HealedTogether::BEFORE, o().refitted_order, healed.delta_ppl_before, healed.stream_error_before);
    Grid {
        head: heads(&[o().healed_maps, t().axis_delta_ppl, o().healed_error]),
        rows: std::iter::once(before).chain(ways().into_iter().filter_map(known)).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::Interval;

    use super::super::sample;
    use super::*;
    use crate::text::format::NOTHING;

    #[test]
    fn healed_maps_lie_beside_the_step_that_they_begin_with() {
        let figure = of_layers(&sample::report()).unwrap();
        let found = figure.plot.series.iter().map(|series| series.marks.iter().map(|mark| (mark.x, mark.y)).collect());
        let found: Vec<Vec<_>> = found.collect();
        assert_eq!(found[0], [(0.0, Some(0.0)), (1.0, Some(6.0))]);
        assert_eq!(found[1..], [[(1.0, Some(1.5))], [(1.0, None)]]);
        assert_eq!(figure.table.rows[1][1..], ["1.50000", "0.250000"]);
        assert!(of_blocks(&sample::report()).is_none());
    }

    #[test]
    fn losses_have_their_intervals() {
        let mut report = sample::report();
        let interval = |low, high| Interval { low, high };
        let healed = report.healed_together.get_mut(orders::LAYERS_LINEAR).unwrap();
        healed.intervals = [
            (HealedTogether::BEFORE.into(), interval(5.0, 7.0)),
            (HealedTogether::STREAMS.into(), interval(1.25, 1.75)),
        ]
        .into();
        report.orders.get_mut(orders::LAYERS_LINEAR).unwrap()[0].interval = Some(interval(4.0, 8.0));
        let figure = of_layers(&report).unwrap();
        let cells: Vec<_> = figure.table.rows.iter().map(|row| row[1].shown.as_str()).collect();
        assert_eq!(cells, ["6 ± 1", "1.5 ± 0.2", NOTHING]);
        let of_mark = |series: usize, mark: usize| figure.plot.series[series].marks[mark].within.y;
        assert_eq!(of_mark(0, 1), Some(interval(4.0, 8.0)));
        assert_eq!(of_mark(1, 0), Some(interval(1.25, 1.75)));
    }
}
