//! From a report to charts: what each view shows, as numbers, with the same numbers as a table.
//!
//! Every function takes a report that may be half done, and leaves out what is not there yet.

mod baseline;
mod compare;
mod controls;
mod detail;
mod healing;
mod layers;
mod losses;
mod probes;
mod ranks;
mod regimes;
#[cfg(test)]
mod sample;

#[cfg(test)]
pub(crate) use sample::report as sample_report;

pub use compare::{compared, quantity_name};
pub use controls::control_name;

use straightedge::report::{BlockReport, CurvePoint, Report};

use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::format::exact;
use crate::texts::{fill, t};
use crate::views::View;

/// Marks up to which those of a line are drawn.
const FEW: usize = 24;

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

/// The charts of a view; none where nothing of it is measured. `block` is the one chosen, where one is.
pub fn figures(view: View, report: &Report, block: Option<usize>) -> Vec<Figure> {
    let figures = match view {
        View::Profile | View::Compare | View::Sides => Vec::new(),
        View::Block => detail::figures(report, block),
        View::Losses => losses::figures(report),
        View::Regimes => regimes::figures(report),
        View::Ranks => ranks::figures(report, block),
        View::Probes => probes::figures(report, block),
        View::Baseline => baseline::figures(report, block),
        View::Controls => controls::figures(report),
        View::Layers => layers::figures(report),
        View::Healing => healing::figures(report, block),
    };
    figures.into_iter().flatten().collect()
}

/// The block whose curves a view shows: the one chosen, else the last that has any.
pub fn shown_block(view: View, report: &Report, chosen: Option<usize>) -> Option<usize> {
    let has_curve = |names: &[&str]| {
        let curved = |block: &&BlockReport| names.iter().any(|name| block.curves.contains_key(*name));
        report.blocks.iter().filter(curved).map(|block| block.block).next_back()
    };
    let fallback = match view {
        View::Block | View::Ranks => report.blocks.first().map(|block| block.block),
        View::Probes => has_curve(&probes::NAMES),
        View::Baseline => has_curve(&baseline::NAMES),
        View::Healing => has_curve(&healing::CURVES),
        _ => return None,
    };
    chosen.filter(|block| report.blocks.iter().any(|known| known.block == *block)).or(fallback)
}

/// Joined values over the blocks or layers of a model.
const BLOCK_AXIS: fn(usize) -> Axis = |blocks| Axis { name: t().chart_axis_block, kind: Kind::Index(blocks) };

fn share_axis(name: &'static str) -> Axis {
    Axis { name, kind: Kind::Share }
}

/// One mark per block that has a value of this kind, defined or not; `None` where no block has.
fn by_block(
    report: &Report,
    name: &str,
    look: usize,
    value: impl Fn(&BlockReport) -> Option<Option<f64>>,
) -> Option<Series> {
    let mark = |block: &BlockReport| Some(block_mark(block, block.block as f64, value(block)?));
    series(name, look, report.blocks.iter().filter_map(mark).collect())
}

fn block_mark(block: &BlockReport, x: f64, y: Option<f64>) -> Mark {
    Mark::new(block_name(block.block), x, y).of_block(block.block)
}

/// A series, unless it is empty.
fn series(name: &str, look: usize, marks: Vec<Mark>) -> Option<Series> {
    (!marks.is_empty()).then(|| Series { name: name.into(), look, marks, ..Series::default() })
}

/// A training curve as a series.
fn curve(block: &BlockReport, key: &str, name: &str, look: usize, from: usize) -> Option<Series> {
    let mark = |point: &CurvePoint| Mark::new("", point.step as f64, point.value).of_block(block.block);
    let points = block.curves.get(key)?.iter().filter(|point| point.step >= from);
    let series = series(name, look, points.map(mark).collect())?;
    Some(Series { joined: true, ..series })
}

/// Curves of one figure, with marks where all of them have few.
fn alike(mut curves: Vec<Series>) -> Vec<Series> {
    let marked = curves.iter().all(|curve| curve.marks.len() <= FEW);
    curves.iter_mut().for_each(|curve| curve.marked = marked);
    curves
}

/// All series side by side, one row per value of x.
fn grid_of(first: &str, series: &[Series], columns: impl Fn(&Mark) -> String, cell: fn(Option<f64>) -> String) -> Grid {
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
fn at_x(mark: &Mark) -> String {
    exact(Some(mark.x))
}

fn at_block(mark: &Mark) -> String {
    mark.block.map_or_else(|| exact(Some(mark.x)), |block| block.to_string())
}

fn block_name(block: usize) -> String {
    fill(t().block_n, &[("block", &block.to_string())])
}

fn blocks_of(report: &Report) -> usize {
    report.model.num_hidden_layers.max(report.blocks.last().map_or(0, |block| block.block + 1))
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// Where perplexities leave all proportion, decades tell more.
fn perplexity_kind(values: &[f64]) -> Kind {
    let (least, most) = values.iter().fold((f64::INFINITY, 0f64), |(a, b), value| (a.min(*value), b.max(*value)));
    if least > 0.0 && most / least > 20.0 { Kind::Log } else { Kind::Linear }
}
