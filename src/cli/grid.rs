//! Text tables: right-aligned columns with headings, and number formats.

use straightedge::fields::{Field, NumberFormat};
use straightedge::precision::Precision;
use straightedge::report::{BlockReport, Interval, LayerReport};
use straightedge::visible::shown;

/// Heading and values of a column.
pub(super) struct Column<R> {
    heading: String,
    of: Box<dyn Fn(&R) -> String>,
}

/// A column.
pub(super) fn column<R>(heading: impl Into<String>, of: impl Fn(&R) -> String + 'static) -> Column<R> {
    Column { heading: heading.into(), of: Box::new(of) }
}

/// Right-aligned columns under their headings.
pub(super) fn grid<R>(columns: &[Column<R>], rows: &[R]) -> String {
    let heading: Vec<String> = columns.iter().map(|column| shown(&column.heading)).collect();
    let rows = rows.iter().map(|row| columns.iter().map(|column| shown(&(column.of)(row))).collect::<Vec<String>>());
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let align = |line: &Vec<String>| {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        cells.join("  ") + "\n"
    };
    lines.iter().map(align).collect()
}

fn or_dash(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".into(), show)
}

/// A number of a block with half the width of its 95 % interval, as far as that is known.
pub(super) fn cell_of_block(field: Field, block: &BlockReport) -> String {
    let value = field.of_block(block);
    within(value, field.interval(block)).unwrap_or_else(|| cell(field, value))
}

/// The same of a layer.
pub(super) fn cell_of_layer(field: Field, layer: &LayerReport) -> String {
    let value = field.of_layer(layer);
    within(value, field.interval_of_layer(layer)).unwrap_or_else(|| cell(field, value))
}

/// A change and half the width of its interval, as far as that is known, with its sign.
pub(super) fn change_within(value: Option<f64>, interval: Option<Interval>) -> String {
    let sign = if value > Some(0.0) { "+" } else { "" };
    within(value, interval).map_or_else(|| change(value), |text| format!("{sign}{text}"))
}

/// A number and half the width of its interval, rounded as far as that allows: `0.849 ± 0.002`. `None` without a value,
/// or an interval that has a width.
pub(super) fn within(value: Option<f64>, interval: Option<Interval>) -> Option<String> {
    let (value, Precision { half, decimals }) = (value?, Precision::of(interval?)?);
    Some(format!("{value:.decimals$} ± {half:.decimals$}"))
}

/// A value of a field.
pub(super) fn cell(field: Field, value: Option<f64>) -> String {
    match field.line().digits {
        NumberFormat::Decimals(digits) => or_dash(value, |value| format!("{value:.digits$}")),
        NumberFormat::Three => or_dash(value, |value| format!("{value:.3e}")),
        NumberFormat::Change => change(value),
        NumberFormat::Whole => or_dash(value, |value| value.to_string()),
        NumberFormat::Times => times(value),
    }
}

/// Six decimals.
pub(super) fn fixed(value: Option<f64>) -> String {
    or_dash(value, |value| format!("{value:.6}"))
}

/// Two decimals.
pub(super) fn short(value: Option<f64>) -> String {
    or_dash(value, |value| format!("{value:.2}"))
}

/// A change, with its sign.
pub(super) fn change(value: Option<f64>) -> String {
    or_dash(value, |value| format!("{value:+.4}"))
}

/// A factor.
pub(super) fn times(value: Option<f64>) -> String {
    or_dash(value, |value| format!("×{value:.2}"))
}

/// A whole number.
pub(super) fn whole(value: Option<usize>) -> String {
    value.map_or_else(|| "–".into(), |value| value.to_string())
}
