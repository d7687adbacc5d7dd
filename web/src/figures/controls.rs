//! The same fit under controls, next to the original: is it learned, is it the weights or the inputs?

use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, ControlReport, Report};

use super::figure::{BLOCK_AXIS, Figure, Grid, blocks_of, by_block, by_field, share_axis};
use crate::chart::plot::Plot;
use crate::text::cell::Cell;
use crate::text::controls::{CONTROLS, Named};
use crate::text::engine;
use crate::text::probes::t as probes;
use crate::text::t;

/// Fields in the table of controls.
const SHOWN: [Field; 4] = [Field::R2Lin, Field::R2LinScalar, Field::R2FeatureMedian, Field::EffectiveRank];

pub(super) fn figures(report: &Report) -> Vec<Option<Figure>> {
    let control = |(at, (key, name)): (usize, &Named)| {
        by_block(report, name(t()), at + 1, |block| block.controls.get(*key).map(|control| control.r2_lin))
    };
    let found: Vec<_> = CONTROLS.iter().enumerate().filter_map(control).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let original = by_field(report, t().control_original, 0, Field::R2Lin);
    let figure = Figure {
        title: t().controls_figure.into(),
        plot: Plot {
            x: BLOCK_AXIS(blocks_of(report)),
            y: share_axis(engine::label(Field::R2Lin)),
            series: original.into_iter().chain(found).collect(),
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption: t().controls_caption,
        table: table(report),
    };
    vec![Some(figure)]
}

fn table(report: &Report) -> Grid {
    let of_block = |block: &BlockReport| {
        let original = row(block, t().control_original, SHOWN.map(|field| Cell::of_block(field, block)));
        let control = |(key, name): &Named| {
            let cells = row(block, name(t()), cells(block.controls.get(*key)?));
            Some((cells, block.seed_deviation(&format!("r2_lin_{key}"))))
        };
        std::iter::once((original, None)).chain(CONTROLS.iter().filter_map(control)).collect::<Vec<_>>()
    };
    let (rows, over_seeds) = report.blocks.iter().flat_map(of_block).unzip();
    let head = [t().block, t().control].into_iter().chain(SHOWN.map(Field::label)).map(String::from).collect();
    Grid { head, rows }.and(probes().over_seeds, over_seeds)
}

fn row(block: &BlockReport, name: &str, cells: [Cell; 4]) -> Vec<Cell> {
    [block.block.to_string().into(), name.into()].into_iter().chain(cells).collect()
}

/// The numbers of a control, none of which has an interval.
fn cells(control: &ControlReport) -> [Cell; 4] {
    let rank = control.effective_rank.map(|rank| rank as f64);
    let values = [control.r2_lin, control.r2_lin_scalar, control.r2_feature_median, rank];
    std::array::from_fn(|at| Cell::of_field(SHOWN[at], values[at]))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn controls_stand_beside_the_original_under_looks_of_their_own() {
        let figures: Vec<_> = figures(&sample::report()).into_iter().flatten().collect();
        let found: Vec<_> = figures[0].plot.series.iter().map(|series| (series.style, series.marks.len())).collect();
        assert_eq!(found, [(0, 3), (4, 2), (5, 1)]);
        assert_eq!(figures[0].plot.series[1].marks[0].y, Some(1.0));
        assert_eq!(figures[0].table.rows[1][..3], ["0", "Gaussian inputs", "1.0000"]);
    }

    #[test]
    fn the_spread_over_seeds_stands_beside_the_control_that_was_drawn() {
        let mut report = sample::report();
        let plain = table(&report);
        report.blocks[0].seeds.insert("r2_lin_gaussian".into(), vec![Some(1.0), Some(0.75), Some(0.5)]);
        let grid = table(&report);
        assert_eq!(grid.head.last().unwrap(), "sd over seeds");
        let spreads: Vec<_> = grid.rows.iter().map(|row| row.last().unwrap().shown.as_str()).collect();
        assert_eq!(spreads[..3], ["–", "0.2500", "–"]);
        assert_eq!(plain.head.len() + 1, grid.head.len(), "without seeds there is no such column");
    }

    #[test]
    fn without_controls_there_is_no_figure() {
        let mut report = sample::report();
        report.blocks.iter_mut().for_each(|block| block.controls.clear());
        assert!(figures(&report).is_empty());
    }
}
