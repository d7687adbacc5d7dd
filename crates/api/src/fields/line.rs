//! One line of the table of report fields: how a number is read, shown, explained and compared.

use crate::job::Measure;
use crate::report::{BlockReport, LayerReport};

/// Significant digits that two numbers can agree in: the last one is turned by reading a report.
pub const DIGITS: usize = 15;

/// Everything that is known of a field.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Path in the report: `[]` stands for every element of a list of objects, `NAME` for every key of a map.
    pub path: &'static str,
    /// Accessor of its value.
    pub get: Get,
    /// Digits that tables show.
    pub digits: NumberFormat,
    /// Unit; empty where it is a plain number.
    pub unit: &'static str,
    /// Name for people; empty where no table shows it.
    pub label: &'static str,
    /// Definition in one sentence, without its full stop.
    pub meaning: &'static str,
    /// Section of docs/measures.md that defines it; 0 if `meaning` is the whole definition.
    pub section: u8,
    /// Interpretation of a high value.
    pub higher: Higher,
    /// Which tables show it.
    pub shown: Shown,
    /// Chart over blocks or layers; `None` if comparisons do not offer one.
    pub chart: Option<Chart>,
    /// Factor on the tolerance of a comparison; infinite for fields that are not results.
    pub tolerance: f64,
    /// Significant digits that a report keeps.
    pub kept: usize,
    /// Name of its 95 % interval; empty where reports have none.
    pub interval: &'static str,
}

/// Accessor of a field's value.
#[derive(Clone, Copy, Debug)]
pub enum Get {
    /// One number of a block.
    Block(fn(&BlockReport) -> Option<f64>),
    /// One number of a layer.
    Layer(fn(&LayerReport) -> Option<f64>),
    /// It has many values, or no table shows it.
    Listed,
}

/// Digits that tables show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// This many after the point.
    Decimals(usize),
    /// Three significant ones, for values of any magnitude.
    Three,
    /// A change, such as of the perplexity.
    Change,
    /// A whole number.
    Whole,
    /// A factor: times as small or as fast.
    Times,
}

/// Interpretation of a high value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Higher {
    /// More linear, or less loss by replacement.
    MoreLinear,
    /// Less linear, or more loss.
    LessLinear,
    /// Neither.
    Neither,
}

/// Which tables show a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The table of all blocks or layers, and one block in detail.
    Table,
    /// One block in detail.
    Detail,
    /// None.
    Nowhere,
}

/// Chart of a field over blocks or layers.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Stable name, in links and of its curve in a summary.
    pub id: &'static str,
    /// Name of the axis of values.
    pub axis: &'static str,
    /// Scale of that axis.
    pub spread: Spread,
    /// The measure that provides the values.
    pub measure: Measure,
}

/// Scale of a chart axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// From 0 to 1, with a strip below.
    Share,
    /// Over the range of the values.
    Linear,
    /// The same, including zero.
    FromZero,
    /// From zero, logarithmic where values are of very different magnitude.
    Wide,
}

impl Line {
    /// A field that is defined and compared, and that no table shows.
    pub(super) const fn listed(path: &'static str, section: u8, meaning: &'static str) -> Self {
        Self {
            path,
            get: Get::Listed,
            digits: NumberFormat::Three,
            unit: "",
            label: "",
            meaning,
            section,
            higher: Higher::Neither,
            shown: Shown::Nowhere,
            chart: None,
            tolerance: 1.0,
            kept: DIGITS,
            interval: "",
        }
    }

    /// A number that a block or layer has one of, shown in detail.
    pub(super) const fn number(
        path: &'static str,
        get: Get,
        digits: NumberFormat,
        label: &'static str,
        section: u8,
        meaning: &'static str,
    ) -> Self {
        Self { get, digits, label, shown: Shown::Detail, ..Self::listed(path, section, meaning) }
    }

    pub(super) const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    pub(super) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    pub(super) const fn higher(self, higher: Higher) -> Self {
        Self { higher, ..self }
    }

    pub(super) const fn tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    pub(super) const fn kept(self, kept: usize) -> Self {
        Self { kept, ..self }
    }

    pub(super) const fn interval(self, interval: &'static str) -> Self {
        Self { interval, ..self }
    }

    pub(super) const fn chart(self, id: &'static str, axis: &'static str, spread: Spread, measure: Measure) -> Self {
        Self { chart: Some(Chart { id, axis, spread, measure }), ..self }
    }

    /// Whether a path of a report, such as `blocks[].curves.sgd[3].value`, is one of this field.
    pub fn covers(&self, path: &str) -> bool {
        covers(&names(self.path), &names(path))
    }
}

/// Names along a path, without the places in lists.
pub(super) fn names(path: &str) -> Vec<&str> {
    path.split('.').map(|name| name.split('[').next().unwrap_or(name)).collect()
}

/// Whether the names along a line's path are those of a given path; `NAME` is any.
pub(super) fn covers(own: &[&str], given: &[&str]) -> bool {
    own.len() == given.len() && own.iter().zip(given).all(|(own, given)| own == given || *own == "NAME")
}
