//! A chart as numbers: axes, series of marks, and reference lines.

use std::collections::BTreeSet;

use straightedge_api::report::Interval;

use super::scale::{Kind, Scale};
use crate::text::cell::rounded_with_exact;
use crate::text::format::{exact, share};

/// A chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// The axis along the bottom.
    pub x: Axis,
    /// The axis along the side.
    pub y: Axis,
    /// The series, first on top.
    pub series: Vec<Series>,
    /// Reference values.
    pub rules: Vec<Rule>,
}

/// One axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Axis {
    /// Its name, with its unit.
    pub name: &'static str,
    /// Scale type.
    pub kind: Kind,
}

/// Related marks, distinguished from others by colour, shape and dashes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Index of its style, the same wherever the same thing is shown.
    pub style: usize,
    /// Whether neighbouring marks are joined.
    pub joined: bool,
    /// Whether marks are drawn on joined lines; lines with many marks are clearer without.
    pub marked: bool,
    /// Whether every mark is labelled with its short name.
    pub named: bool,
    /// Whether a column rises from zero to every mark; on an index axis the marks' names are its labels.
    pub columns: bool,
    /// Whether it is drawn faintly behind another series.
    pub is_behind: bool,
    /// The marks in keyboard order.
    pub marks: Vec<Mark>,
}

/// One value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Name of the block or place, such as `Block 3`.
    pub name: String,
    /// Its block, if it belongs to one.
    pub block: Option<usize>,
    /// Place on the x axis.
    pub x: f64,
    /// Value; `None` where it is undefined.
    pub y: Option<f64>,
    /// Size relative to the usual one.
    pub size: f64,
    /// Text after the value.
    pub more: String,
    /// The intervals of both.
    pub within: Within,
}

/// 95 % intervals of a mark's two numbers, where they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Within {
    /// That of its place.
    pub x: Option<Interval>,
    /// That of its value.
    pub y: Option<Interval>,
}

/// A straight line at one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Whether it is a value of the x axis.
    pub is_x: bool,
    /// The value.
    pub at: f64,
    /// Its name.
    pub name: String,
}

/// Index of a series, and of a mark in it.
pub type Spot = (usize, usize);

impl Plot {
    /// Whether a value is shown with its interval.
    pub fn has_whiskers(&self) -> bool {
        let drawn = self.series.iter().filter(|series| series.marked || !series.joined);
        drawn.flat_map(|series| &series.marks).any(|mark| mark.y.is_some() && mark.within.y.is_some())
    }

    /// A copy without the marks of the named series; the others keep their styles.
    pub fn without(&self, names: &BTreeSet<String>) -> Self {
        let mut plot = self.clone();
        plot.series.iter_mut().filter(|series| names.contains(&series.name)).for_each(|series| series.marks.clear());
        plot
    }

    /// Scales that cover everything shown.
    pub(super) fn scales(&self) -> (Scale, Scale) {
        let marks = || self.series.iter().flat_map(|series| &series.marks).filter(|mark| mark.y.is_some());
        let rules = |is_x| self.rules.iter().filter(move |rule| rule.is_x == is_x).map(|rule| rule.at);
        let columns = self.series.iter().filter(|series| series.columns).flat_map(edges);
        let xs: Vec<f64> = marks().map(|mark| mark.x).chain(rules(true)).chain(columns).collect();
        let ys: Vec<f64> = marks().filter_map(|mark| mark.y).chain(rules(false)).collect();
        let ends = marks().filter_map(|mark| mark.within.y).flat_map(|interval| [interval.low, interval.high]);
        (Scale::over(self.x.kind, &xs), ends.fold(Scale::over(self.y.kind, &ys), Scale::reaching))
    }

    /// The mark at a spot, if it has a value.
    pub fn mark(&self, (series, mark): Spot) -> Option<&Mark> {
        self.series.get(series)?.marks.get(mark)
    }

    /// A mark in words, with its exact values and what their intervals allow of them.
    pub fn describe(&self, spot: Spot) -> String {
        let Some(mark) = self.mark(spot) else { return String::new() };
        // A mark that belongs to no block is named after its place.
        let is_named_so = mark.block.is_none() && !mark.name.is_empty();
        let x = match self.x.kind {
            Kind::Index(_) => String::new(),
            _ if is_named_so => String::new(),
            kind => format!(", {} {}", self.x.name, written(kind, Some(mark.x), mark.within.x)),
        };
        let more = if mark.more.is_empty() { String::new() } else { format!(", {}", mark.more) };
        // The names of columns are the labels of their axis.
        let axis = if self.series[spot.0].columns && matches!(self.x.kind, Kind::Index(_)) { self.x.name } else { "" };
        let name = format!("{axis} {}", mark.name);
        let who = [name.trim(), self.series[spot.0].name.as_str()];
        let who: Vec<_> = who.into_iter().filter(|name| !name.is_empty()).collect();
        let text =
            format!("{}: {} {}{x}{more}", who.join(", "), self.y.name, written(self.y.kind, mark.y, mark.within.y));
        text.replace("_lin", "")
    }

    /// The spot a key moves to; `None` for keys without effect, `Some(None)` to clear the selection.
    pub fn step(&self, key: &str, spot: Option<Spot>) -> Option<Option<Spot>> {
        let shown: Vec<usize> = (0..self.series.len()).filter(|at| !self.series[*at].marks.is_empty()).collect();
        let &first = shown.first()?;
        let (series, mark) = spot.unwrap_or((first, usize::MAX));
        let last = self.series.get(series)?.marks.len().checked_sub(1)?;
        let at = shown.iter().position(|shown| *shown == series)?;
        let in_series = |at: usize| {
            let series = shown[at];
            let same = self.mark(spot?).map(|mark| mark.x);
            let marks = &self.series[series].marks;
            let distance = |mark: &f64| same.map_or(0.0, |same| (mark - same).abs());
            let nearest = (0..marks.len()).min_by(|a, b| distance(&marks[*a].x).total_cmp(&distance(&marks[*b].x)));
            Some((series, nearest?))
        };
        Some(match key {
            "ArrowRight" => Some((series, if mark == usize::MAX { 0 } else { (mark + 1).min(last) })),
            "ArrowLeft" => Some((series, mark.min(last + 1).saturating_sub(1))),
            "ArrowDown" if spot.is_some() => in_series((at + 1).min(shown.len() - 1)),
            "ArrowUp" if spot.is_some() => in_series(at.saturating_sub(1)),
            "Home" | "ArrowDown" | "ArrowUp" => Some((series, 0)),
            "End" => Some((series, last)),
            "Escape" => None,
            _ => return None,
        })
    }

    /// Number of marks before a spot, and in total.
    pub fn count(&self, spot: Option<Spot>) -> (usize, usize) {
        let all = self.series.iter().map(|series| series.marks.len());
        let before = spot.map_or(0, |(series, mark)| all.clone().take(series).sum::<usize>() + mark);
        (before, all.sum())
    }
}

impl Mark {
    /// A mark of the usual size.
    pub fn new(name: impl Into<String>, x: f64, y: Option<f64>) -> Self {
        Self { name: name.into(), x, y, size: 1.0, ..Self::default() }
    }

    /// Assigns it to a block.
    pub fn of_block(mut self, block: usize) -> Self {
        self.block = Some(block);
        self
    }

    /// Gives it the intervals of its place and of its value.
    pub fn within(mut self, x: Option<Interval>, y: Option<Interval>) -> Self {
        self.within = Within { x, y };
        self
    }
}

/// Left and right edges of a series' columns, each as wide as the distance between two marks.
fn edges(series: &Series) -> Vec<f64> {
    let [first, second, ..] = series.marks.as_slice() else { return Vec::new() };
    let half = (second.x - first.x).abs() / 2.0;
    series.marks.iter().flat_map(|mark| [mark.x - half, mark.x + half]).collect()
}

fn written(kind: Kind, value: Option<f64>, interval: Option<Interval>) -> String {
    rounded_with_exact(value, interval, if kind == Kind::Share { share } else { exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn two_series() -> Plot {
        let marks = |values: [f64; 3]| {
            let mark =
                |(at, value): (usize, f64)| Mark::new(format!("Block {at}"), at as f64, Some(value)).of_block(at);
            values.into_iter().enumerate().map(mark).collect()
        };
        let series =
            |name: &str, style, values| Series { name: name.into(), style, marks: marks(values), ..Series::default() };
        Plot {
            x: Axis { name: "block", kind: Kind::Index(3) },
            y: Axis { name: "R²_lin", kind: Kind::Share },
            series: vec![series("one", 0, [0.1, 0.2, 0.3]), series("two", 1, [0.4, -0.5, 0.6])],
            rules: Vec::new(),
        }
    }

    #[test]
    fn a_mark_is_told_with_its_exact_value() {
        let mut plot = two_series();
        assert_eq!(plot.describe((1, 1)), "Block 1, two: R² −0.500000");
        plot.x.kind = Kind::Log;
        plot.series[1].marks[1].more = "8 steps".into();
        assert_eq!(plot.describe((1, 1)), "Block 1, two: R² −0.500000, block 1, 8 steps");
        plot.series[1].marks[1].within.y = Some(Interval { low: -0.53, high: -0.47 });
        assert_eq!(plot.describe((1, 1)), "Block 1, two: R² −0.50 ± 0.03 (−0.500000), block 1, 8 steps");
        plot.series[1].marks[1].within = Within::default();
        plot.series[1].marks[1].block = None;
        assert_eq!(plot.describe((1, 1)), "Block 1, two: R² −0.500000, 8 steps");
        assert_eq!(plot.describe((7, 1)), "");
    }

    #[test]
    fn keys_go_along_a_series_and_across_at_the_same_place() {
        let plot = two_series();
        assert_eq!(plot.step("ArrowRight", None), Some(Some((0, 0))));
        assert_eq!(plot.step("ArrowLeft", None), Some(Some((0, 2))));
        assert_eq!(plot.step("ArrowRight", Some((0, 2))), Some(Some((0, 2))));
        assert_eq!(plot.step("ArrowLeft", Some((0, 2))), Some(Some((0, 1))));
        assert_eq!(plot.step("ArrowDown", Some((0, 1))), Some(Some((1, 1))));
        assert_eq!(plot.step("ArrowDown", Some((1, 1))), Some(Some((1, 1))));
        assert_eq!(plot.step("ArrowUp", Some((1, 2))), Some(Some((0, 2))));
        assert_eq!(plot.step("End", Some((1, 0))), Some(Some((1, 2))));
        assert_eq!(plot.step("Escape", Some((1, 0))), Some(None));
        assert_eq!(plot.step("Tab", None), None);
        assert_eq!(Plot::default().step("Home", None), None);
        assert_eq!(plot.count(Some((1, 1))), (4, 6));
    }
}
