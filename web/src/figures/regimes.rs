//! Two kinds of linearity: of the whole output, and of its typical feature.

use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, Report};

use super::figure::{Figure, Grid, block_mark, series, share_axis};
use crate::chart::plot::{Mark, Plot, Series};
use crate::text::cell::Cell;
use crate::text::engine;
use crate::text::{fill, t};

/// Fields in the table of blocks.
const SHOWN: [Field; 3] = [Field::R2Lin, Field::R2FeatureMedian, Field::EffectiveRank];

pub(super) fn figures(report: &Report) -> Vec<Option<Figure>> {
    let width = report.model.hidden_size.max(1) as f64;
    let mark = |block: &BlockReport| {
        let rank = block.effective_rank;
        let more = rank.map(|rank| fill(t().regimes_more, &[("rank", &rank.to_string())])).unwrap_or_default();
        let size = 0.7 + 1.9 * (rank.unwrap_or(0) as f64 / width).sqrt();
        let mark = block_mark(block, block.r2_lin?, block.r2_feature_median);
        Some(Mark { size, more, ..mark.within(Field::R2Lin.interval(block), None) })
    };
    let marks = report.blocks.iter().filter_map(mark).filter(|mark| mark.y.is_some()).collect();
    let plot = series("", 0, marks).map(|series| Plot {
        x: share_axis(engine::label(Field::R2Lin)),
        y: share_axis(engine::label(Field::R2FeatureMedian)),
        series: vec![Series { named: true, ..series }],
        rules: Vec::new(),
    });
    vec![plot.map(|plot| Figure {
        title: t().regimes_figure.into(),
        plot,
        facts: Vec::new(),
        caption: t().regimes_caption,
        table: table(report),
    })]
}

fn table(report: &Report) -> Grid {
    let row = |block: &BlockReport| {
        let cells = SHOWN.map(|field| Cell::of_block(field, block));
        std::iter::once(block.block.to_string().into()).chain(cells).collect()
    };
    Grid {
        head: std::iter::once(t().block).chain(SHOWN.map(Field::label)).map(String::from).collect(),
        rows: report.blocks.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn marks_grow_with_the_effective_rank() {
        let figures: Vec<_> = figures(&sample::report()).into_iter().flatten().collect();
        let marks = &figures[0].plot.series[0].marks;
        assert_eq!(
            marks.iter().map(|mark| (mark.x, mark.y)).collect::<Vec<_>>(),
            [(0.9, Some(0.6)), (-0.25, Some(0.1))]
        );
        assert!(marks[0].size > marks[1].size);
        assert_eq!(figures[0].plot.describe((0, 0)), "Block 0: R² median 0.600000, R² 0.900000, effective rank 2");
    }
}
