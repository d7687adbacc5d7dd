//! A figure: a chart with its title, facts, caption and table, and helpers for series, axes and rows.

use straightedge_api::fields::Field;
use straightedge_api::report::{BlockReport, CurvePoint, Report};

use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::text::cell::Cell;
use crate::text::format::{exact, rounded};
use crate::text::{fill, t};

/// Most marks of a line that are still drawn.
pub(super) const FEW: usize = 24;

/// A chart with its title, facts, caption and table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// The chart.
    pub plot: Plot,
    /// Conclusions from the numbers, one sentence each.
    pub facts: Vec<String>,
    /// Explanation below the chart.
    pub caption: &'static str,
    /// The same in numbers.
    pub table: Grid,
}

impl Figure {
    /// Its caption, and what whiskers are where it has any.
    pub fn notes(&self) -> String {
        let whiskers = self.plot.has_whiskers().then_some(t().whiskers);
        [Some(self.caption), whiskers]
            .into_iter()
            .flatten()
            .filter(|note| !note.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Headings, that of the row names first.
    pub head: Vec<String>,
    /// Cells, the row's name first.
    pub rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// With one more column, if a number of it is known.
    pub(super) fn and(mut self, head: &str, column: Vec<Option<f64>>) -> Self {
        if column.iter().any(Option::is_some) {
            self.head.push(head.into());
            for (row, value) in self.rows.iter_mut().zip(column) {
                row.push(Cell::number(value, None, rounded));
            }
        }
        self
    }
}

/// The axis of blocks or layers.
pub(super) const BLOCK_AXIS: fn(usize) -> Axis =
    |blocks| Axis { name: t().chart_axis_block, kind: Kind::Index(blocks) };

pub(super) fn share_axis(name: &'static str) -> Axis {
    Axis { name, kind: Kind::Share }
}

/// One mark per block that has this value, defined or not; `None` if no block has it.
pub(super) fn by_block(
    report: &Report,
    name: &str,
    style: usize,
    value: impl Fn(&BlockReport) -> Option<Option<f64>>,
) -> Option<Series> {
    let mark = |block: &BlockReport| Some(block_mark(block, block.block as f64, value(block)?));
    series(name, style, report.blocks.iter().filter_map(mark).collect())
}

/// One mark per block that has this field, defined or not, within its interval.
pub(super) fn by_field(report: &Report, name: &str, style: usize, field: Field) -> Option<Series> {
    let mark = |block: &BlockReport| {
        block_mark(block, block.block as f64, field.of_block(block)).within(None, field.interval(block))
    };
    series(name, style, report.blocks.iter().map(mark).collect())
}

pub(super) fn block_mark(block: &BlockReport, x: f64, y: Option<f64>) -> Mark {
    Mark::new(block_name(block.block), x, y).of_block(block.block)
}

/// A series; `None` if it is empty.
pub(super) fn series(name: &str, style: usize, marks: Vec<Mark>) -> Option<Series> {
    (!marks.is_empty()).then(|| Series { name: name.into(), style, marks, ..Series::default() })
}

/// A training curve as a series.
pub(super) fn curve(block: &BlockReport, key: &str, name: &str, style: usize, from: usize) -> Option<Series> {
    let mark = |point: &CurvePoint| Mark::new("", point.step as f64, point.value).of_block(block.block);
    let points = block.curves.get(key)?.iter().filter(|point| point.step >= from);
    let series = series(name, style, points.map(mark).collect())?;
    Some(Series { joined: true, ..series })
}

/// Curves of one figure, drawn with marks if all of them are short.
pub(super) fn alike(mut curves: Vec<Series>) -> Vec<Series> {
    let marked = curves.iter().all(|curve| curve.marks.len() <= FEW);
    curves.iter_mut().for_each(|curve| curve.marked = marked);
    curves
}

/// R² of other maps of each block, next to the closed form; `None` without any.
pub(super) fn with_closed_form(
    report: &Report,
    [title, caption]: [&'static str; 2],
    others: Vec<Series>,
    facts: Vec<String>,
) -> Option<Figure> {
    let closed = by_field(report, t().closed_form, 0, Field::R2Lin).filter(|_| !others.is_empty())?;
    let all: Vec<Series> = std::iter::once(closed).chain(others).collect();
    Some(Figure {
        title: title.into(),
        table: grid_of(t().block, &all, at_block, rounded),
        plot: Plot {
            x: BLOCK_AXIS(blocks_of(report)),
            y: share_axis(t().axis_heldout),
            series: all,
            rules: Vec::new(),
        },
        facts,
        caption,
    })
}

/// All series side by side, one row per x value.
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
            mark.map_or("".into(), |mark| Cell::number(mark.y, mark.within.y, cell))
        };
        std::iter::once(columns(at).into()).chain(series.iter().map(value)).collect()
    };
    Grid { head, rows: xs.iter().map(row).collect() }
}

/// Row name of a step or a rank.
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
