//! The model's losses: ΔPPL of every block against its R², and blocks made linear one after another.

use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, Report};
use straightedge_api::thirds::{Third, Thirds};

use super::figure::{Figure, Grid, block_mark, heads, series, share_axis};
use super::orders;
use super::ranking::ranking;
use crate::chart::plot::{Axis, Plot, Series};
use crate::chart::scale::Kind;
use crate::text::cell::Cell;
use crate::text::engine;
use crate::text::format::{exact, fixed, magnitude, times};
use crate::text::verdict::t as verdict;
use crate::text::{fill, t};

pub(super) fn figures(report: &Report) -> Vec<Option<Figure>> {
    vec![against_r2(report), orders::of_blocks(report)]
}

fn against_r2(report: &Report) -> Option<Figure> {
    let kinds = [("linear", t().swap_linear, 0), ("mean", t().swap_mean, 1), ("zero", t().swap_zero, 2)];
    let of_kind = |(key, name, style): (&str, &str, usize)| {
        let mark = |block: &BlockReport| {
            let (r2, loss) = (Field::R2Lin.interval(block), block.loss_interval(key));
            Some(block_mark(block, block.r2_lin?, *block.delta_ppl.get(key)?).within(r2, loss))
        };
        let marks: Vec<_> = report.blocks.iter().filter_map(mark).filter(|mark| mark.y.is_some()).collect();
        series(name, style, marks).map(|series| Series { named: style == 0, ..series })
    };
    let all: Vec<_> = kinds.into_iter().filter_map(of_kind).collect();
    let plot = Plot {
        x: share_axis(engine::label(Field::R2Lin)),
        y: Axis { name: t().axis_delta_ppl, kind: Kind::Wide },
        series: all,
        rules: Vec::new(),
    };
    (!plot.series.is_empty()).then(|| Figure {
        title: t().losses_figure.into(),
        plot,
        facts: facts(report),
        caption: t().losses_caption,
        table: table(report),
    })
}

fn facts(report: &Report) -> Vec<String> {
    let untouched = report.ppl.map(|ppl| fill(t().untouched, &[("ppl", &magnitude(Some(ppl)))]));
    untouched.into_iter().chain(ranking(report, "delta_ppl_linear", verdict().by_loss)).chain(thirds(report)).collect()
}

/// Lower, middle and upper third of the depth, each in a sentence.
fn thirds(report: &Report) -> Vec<String> {
    let Some(Thirds { rank, thirds }) = Thirds::new(report) else { return Vec::new() };
    let sentence = |(third, name): (&Third, &str)| {
        if third.removed.is_none() && third.linear.is_none() && third.low_rank.is_none() {
            return None;
        }
        let low_rank = rank
            .filter(|_| third.low_rank.is_some())
            .map(|rank| [("rank", rank.to_string()), ("loss", magnitude(third.low_rank))]);
        let low_rank = low_rank.map(|gaps| fill_owned(t().third_low_rank, &gaps)).unwrap_or_default();
        let speed = third.linear_speedup.map(|times| fill(t().third_speed, &[("times", &fixed(Some(times), 1))]));
        let gaps = [
            ("third", name.to_string()),
            ("removed", magnitude(third.removed)),
            ("linear", magnitude(third.linear)),
            ("low_rank", low_rank),
            ("speed", speed.unwrap_or_default()),
        ];
        Some(fill_owned(t().third, &gaps))
    };
    thirds.iter().zip([t().third_lower, t().third_middle, t().third_upper]).filter_map(sentence).collect()
}

fn fill_owned(text: &str, gaps: &[(&str, String)]) -> String {
    fill(text, &gaps.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

fn table(report: &Report) -> Grid {
    let timed = report.blocks.iter().any(|block| !block.row_microseconds.is_empty());
    let mut head = heads(&[
        t().block,
        engine::label(Field::R2Lin),
        t().swap_linear,
        t().swap_mean,
        t().swap_zero,
        t().compression,
    ]);
    if timed {
        head.extend(heads(&[t().time_original, t().time_linear]));
    }
    let row = |block: &BlockReport| {
        let of = |map: &std::collections::BTreeMap<String, Option<f64>>, name: &str| map.get(name).copied().flatten();
        let loss = |name| Cell::number(of(&block.delta_ppl, name), block.loss_interval(name), exact);
        let r2 = Cell::of_block(Field::R2Lin, block);
        let smaller = Cell::number(of(&block.compression, "linear"), None, times);
        let mut cells = vec![block.block.to_string().into(), r2, loss("linear"), loss("mean"), loss("zero"), smaller];
        if timed {
            let time = |name| Cell::number(of(&block.row_microseconds, name), None, exact);
            cells.extend(["original", "linear"].map(time));
        }
        cells
    };
    Grid { head, rows: report.blocks.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_loss_stands_at_its_blocks_r2() {
        let report = sample::report();
        let figures: Vec<_> = figures(&report).into_iter().flatten().collect();
        let scatter = &figures[0].plot.series;
        assert_eq!(scatter.iter().map(|series| series.marks.len()).collect::<Vec<_>>(), [2, 2, 2]);
        let first = &scatter[0].marks[0];
        assert_eq!((first.block, first.x, first.y), (Some(0), 0.9, Some(0.5)));
        assert_eq!(figures[0].table.rows[0], ["0", "0.9000", "0.500000", "4", "8", "8.0×", "2.50000", "0.500000"]);
        assert_eq!(figures[0].table.rows[2][2..6], ["–", "–", "–", "–"], "the block without variance");
    }

    #[test]
    fn thirds_of_the_depth_are_told_in_a_sentence_each() {
        let facts = facts(&sample::report());
        assert_eq!(facts[0], "Perplexity of the original model: 20.0.");
        let lower = "Lower third, mean ΔPPL: removed 8.00, linear 0.500, rank 1 3.00; linear 5.0× as fast.";
        assert_eq!(facts[1], lower);
        assert_eq!(facts.len(), 3, "nothing of the block without values: {facts:?}");
    }

    #[test]
    fn nothing_is_drawn_of_what_was_not_measured() {
        let mut report = sample::report();
        report.orders.clear();
        report.blocks.iter_mut().for_each(|block| block.delta_ppl.clear());
        assert!(figures(&report).into_iter().flatten().next().is_none());
    }
}
