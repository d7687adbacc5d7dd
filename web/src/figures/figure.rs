//! A figure: a chart with what stands around it, and the series, axes and rows that figures are made of.

use straightedge_api::report::{BlockReport, CurvePoint, Report};

use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::text::format::exact;
use crate::text::{fill, t};

/// Marks up to which those of a line are drawn.
pub(super) const FEW: usize = 24;

/// A chart with all that stands around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// The chart.
    pub plot: Plot,
    /// What follows from the numbers, one sentence each.
    pub facts: Vec<String>,
    /// How to read it.
    pub caption: &'static str,
    /// The same in numbers.
    pub table: Grid,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Headings; the first is that of the row names.
    pub head: Vec<String>,
    /// Cells, the row's name first.
    pub rows: Vec<Vec<String>>,
}

/// Joined values over the blocks or layers of a model.
pub(super) const BLOCK_AXIS: fn(usize) -> Axis =
    |blocks| Axis { name: t().chart_axis_block, kind: Kind::Index(blocks) };

pub(super) fn share_axis(name: &'static str) -> Axis {
    Axis { name, kind: Kind::Share }
}

/// One mark per block that has a value of this kind, defined or not; `None` where no block has.
pub(super) fn by_block(
    report: &Report,
    name: &str,
    look: usize,
    value: impl Fn(&BlockReport) -> Option<Option<f64>>,
) -> Option<Series> {
    let mark = |block: &BlockReport| Some(block_mark(block, block.block as f64, value(block)?));
    series(name, look, report.blocks.iter().filter_map(mark).collect())
}

pub(super) fn block_mark(block: &BlockReport, x: f64, y: Option<f64>) -> Mark {
    Mark::new(block_name(block.block), x, y).of_block(block.block)
}

/// A series, unless it is empty.
pub(super) fn series(name: &str, look: usize, marks: Vec<Mark>) -> Option<Series> {
    (!marks.is_empty()).then(|| Series { name: name.into(), look, marks, ..Series::default() })
}

/// A training curve as a series.
pub(super) fn curve(block: &BlockReport, key: &str, name: &str, look: usize, from: usize) -> Option<Series> {
    let mark = |point: &CurvePoint| Mark::new("", point.step as f64, point.value).of_block(block.block);
    let points = block.curves.get(key)?.iter().filter(|point| point.step >= from);
    let series = series(name, look, points.map(mark).collect())?;
    Some(Series { joined: true, ..series })
}

/// Curves of one figure, with marks where all of them have few.
pub(super) fn alike(mut curves: Vec<Series>) -> Vec<Series> {
    let marked = curves.iter().all(|curve| curve.marks.len() <= FEW);
    curves.iter_mut().for_each(|curve| curve.marked = marked);
    curves
}

/// All series side by side, one row per value of x.
pub(super) fn grid_of(
    first: &str,
    series: &[Series],
    columns: impl Fn(&Mark) -> String,
    cell: fn(Option<f64>) -> String,
) -> Grid {
    let head = std::iter::once(first.to_string()).chain(series.iter().map(|series| series.name.clone())).collect();
    let mut xs: Vec<&Mark> = series.iter().flat_map(|series| &series.marks).collect();
    xs.sort_by(|a, b| a.x.total_cmp(&b.x));
    xs.dedup_by(|a, b| a.x == b.x);
    let row = |at: &&Mark| {
        let value = |series: &Series| {
            let mark = series.marks.iter().find(|mark| mark.x == at.x);
            mark.map_or(String::new(), |mark| cell(mark.y))
        };
        std::iter::once(columns(at)).chain(series.iter().map(value)).collect()
    };
    Grid { head, rows: xs.iter().map(row).collect() }
}

/// The name of a row that stands for a step or a rank.
pub(super) fn at_x(mark: &Mark) -> String {
    exact(Some(mark.x))
}

pub(super) fn at_block(mark: &Mark) -> String {
    mark.block.map_or_else(|| exact(Some(mark.x)), |block| block.to_string())
}

pub(super) fn block_name(block: usize) -> String {
    fill(t().block_n, &[("block", &block.to_string())])
}

pub(super) fn blocks_of(report: &Report) -> usize {
    report.model.num_hidden_layers.max(report.blocks.last().map_or(0, |block| block.block + 1))
}

pub(super) fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// Where perplexities leave all proportion, decades tell more.
pub(super) fn perplexity_kind(values: &[f64]) -> Kind {
    let (least, most) = values.iter().fold((f64::INFINITY, 0f64), |(a, b), value| (a.min(*value), b.max(*value)));
    if least > 0.0 && most / least > 20.0 { Kind::Log } else { Kind::Linear }
}
