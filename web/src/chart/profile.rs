//! R² by block: dots with whiskers on an axis that is the same for every model.
//!
//! The axis always runs from 0 to 1, with a strip below zero. A value under the strip is drawn as a triangle at its
//! lower edge next to the number, an undefined one as a cross on the zero line.

use straightedge_api::report::Interval;

use super::shape::outline;
use super::svg::{Fragment, number};
use crate::text::cell::within;
use crate::text::format::{fixed, share, tick};

/// Lower end of the axis.
const LOWEST: f64 = -0.1;
/// Upper end of the axis: room for a dot at 1 and its whisker.
const HIGHEST: f64 = 1.06;
/// Values with a grid line.
const GRID: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Margins around the plot.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
/// Least distance between two labels of the block axis.
const LABEL_STEP: f64 = 26.0;

/// Look of the diamonds.
const DIAMOND: usize = 2;

/// The data of the chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Blocks on the axis, measured or not.
    pub blocks: usize,
    /// Measured blocks, ascending.
    pub points: Vec<Point>,
    /// Values known before measuring, by block.
    pub expected: Vec<Option<f64>>,
    /// Values of another measurement, by block.
    pub overlay: Vec<Option<f64>>,
    /// The block that is measured now.
    pub next: Option<usize>,
}

impl Profile {
    /// Extends the block axis to hold all values.
    pub fn covering(mut self) -> Self {
        let measured = self.points.last().map_or(0, |point| point.block + 1);
        self.blocks = self.blocks.max(measured).max(self.expected.len()).max(self.overlay.len());
        self
    }
}

/// One measured block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Block index from 0.
    pub block: usize,
    /// R²; `None` where it is undefined.
    pub value: Option<f64>,
    /// Ends of its whisker.
    pub spread: Option<[f64; 2]>,
    /// Its 95 % interval, if it is known.
    pub interval: Option<Interval>,
}

/// Names of the axes.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// Name of the value axis.
    pub value: &'static str,
    /// Name of the block axis.
    pub block: &'static str,
}

/// Positions and sizes, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileLayout {
    /// Width of the whole chart.
    pub width: f64,
    /// Height of the whole chart.
    pub height: f64,
    blocks: usize,
}

impl ProfileLayout {
    /// The layout of a chart of `blocks` blocks in a space `width` wide.
    pub fn new(width: f64, blocks: usize) -> Self {
        let width = width.max(240.0).round();
        let plot = (width * 0.46).clamp(210.0, 340.0).round();
        Self { width, height: TOP + plot + BOTTOM, blocks: blocks.max(1) }
    }

    /// Centre of a block's column.
    pub fn x(&self, block: usize) -> f64 {
        LEFT + (block as f64 + 0.5) * self.step()
    }

    /// Height of a value; values beyond the axis are drawn at its ends.
    pub fn y(&self, value: f64) -> f64 {
        let share = (HIGHEST - value.clamp(LOWEST, HIGHEST)) / (HIGHEST - LOWEST);
        TOP + share * (self.height - TOP - BOTTOM)
    }

    /// The block whose column is at `x`.
    pub fn block_at(&self, x: f64) -> Option<usize> {
        let column = ((x - LEFT) / self.step()).floor();
        (column >= 0.0 && column < self.blocks as f64).then_some(column as usize)
    }

    fn step(&self) -> f64 {
        (self.width - LEFT - RIGHT) / self.blocks as f64
    }

    /// Whether text at `x` has more room to its left.
    fn is_right(&self, x: f64) -> bool {
        x > self.width * 0.7
    }

    fn radius(&self) -> f64 {
        (self.step() * 0.2).clamp(2.5, 5.0)
    }
}

/// The chart as SVG text.
pub fn draw(profile: &Profile, layout: &ProfileLayout, labels: Labels) -> String {
    let mut svg = Fragment::default();
    axes(&mut svg, layout, labels, profile.blocks);
    if let Some(next) = profile.next {
        let (left, top) = (layout.x(next) - layout.step() / 2.0, layout.y(1.0));
        let column = [("x", left), ("y", top), ("width", layout.step()), ("height", layout.y(0.0) - top)];
        svg.element("rect", "next", &column);
    }
    for (block, value) in profile.expected.iter().enumerate() {
        expected(&mut svg, layout, block, *value);
    }
    overlay(&mut svg, layout, &profile.overlay);
    svg.path("line", &line(&profile.points, layout));
    for point in &profile.points {
        mark(&mut svg, layout, point);
        whisker(&mut svg, layout, point);
    }
    svg.into_svg(layout.width, layout.height)
}

/// The overlay that highlights one block.
pub fn highlight(profile: &Profile, layout: &ProfileLayout, block: usize) -> String {
    let mut svg = Fragment::default();
    let x = layout.x(block);
    svg.path("guide", &format!("M{} {}V{}", number(x), number(layout.y(HIGHEST)), number(layout.y(LOWEST))));
    if let Some(point) = profile.points.iter().find(|point| point.block == block) {
        let y = layout.y(point.value.unwrap_or(0.0));
        svg.element("circle", "ring", &[("cx", x), ("cy", y), ("r", layout.radius() + 4.0)]);
        let (class, dx) = if layout.is_right(x) { ("value before", -14.0) } else { ("value", 14.0) };
        let dy = if y < TOP + 24.0 { 20.0 } else { -8.0 };
        let value = within(point.value, point.interval).unwrap_or_else(|| share(point.value));
        svg.text(class, x + dx, y + dy, &value);
    }
    svg.into_svg(layout.width, layout.height)
}

fn axes(svg: &mut Fragment, layout: &ProfileLayout, labels: Labels, blocks: usize) {
    let (end, zero, floor) = (layout.width - RIGHT, layout.y(0.0), layout.y(LOWEST));
    let strip = [("x", LEFT), ("y", zero), ("width", end - LEFT), ("height", floor - zero)];
    svg.element("rect", "below", &strip);
    for value in GRID {
        let y = layout.y(value);
        let class = if value == 0.0 { "zero" } else { "grid" };
        svg.path(class, &format!("M{LEFT} {}H{}", number(y), number(end)));
        svg.text("tick y", LEFT - 9.0, y + 4.0, &tick(value));
    }
    svg.text("name y", 2.0, 14.0, labels.value);
    let every = (LABEL_STEP / layout.step()).ceil().max(1.0) as usize;
    for block in (0..blocks).step_by(every) {
        svg.text("tick x", layout.x(block), floor + 18.0, &block.to_string());
    }
    svg.text("name x", (LEFT + end) / 2.0, layout.height - 6.0, labels.block);
}

fn expected(svg: &mut Fragment, layout: &ProfileLayout, block: usize, value: Option<f64>) {
    if let Some(value) = value {
        let half = (layout.step() * 0.36).clamp(6.0, 16.0);
        let (from, to) = (layout.x(block) - half, layout.x(block) + half);
        svg.path("expected", &format!("M{} {}H{}", number(from), number(layout.y(value)), number(to)));
    }
}

/// Another measurement, as diamonds on a dashed line.
fn overlay(svg: &mut Fragment, layout: &ProfileLayout, values: &[Option<f64>]) {
    let point = |(block, value): (usize, &Option<f64>)| Point { block, value: *value, ..Point::default() };
    let points: Vec<_> = values.iter().enumerate().map(point).collect();
    svg.path("overlay line", &line(&points, layout));
    for (block, value) in values.iter().enumerate() {
        if let Some(value) = value {
            let (x, y) = (layout.x(block), layout.y(*value));
            svg.path("overlay", &outline(DIAMOND, x, y, layout.radius()));
        }
    }
}

/// Joins neighbouring blocks; undefined and missing blocks leave gaps.
fn line(points: &[Point], layout: &ProfileLayout) -> String {
    let mut path = String::new();
    let mut last = None;
    for point in points {
        let Some(value) = point.value else { continue };
        let command = if last == point.block.checked_sub(1) && last.is_some() { 'L' } else { 'M' };
        path += &format!("{command}{} {}", number(layout.x(point.block)), number(layout.y(value)));
        last = Some(point.block);
    }
    path
}

fn whisker(svg: &mut Fragment, layout: &ProfileLayout, point: &Point) {
    let Some(ends) = point.spread.filter(|_| point.value.is_some_and(|value| value >= LOWEST)) else { return };
    // Wider than the dot, so that a whisker shorter than the dot is visible too.
    let (x, cap) = (layout.x(point.block), layout.radius() + 3.0);
    let [low, high] = ends.map(|end| layout.y(end));
    let (left, right) = (number(x - cap), number(x + cap));
    let (x, low, high) = (number(x), number(low), number(high));
    svg.path("whisker", &format!("M{x} {low}V{high}M{left} {low}H{right}M{left} {high}H{right}"));
}

fn mark(svg: &mut Fragment, layout: &ProfileLayout, point: &Point) {
    let (x, r) = (layout.x(point.block), layout.radius());
    match point.value {
        None => {
            let (y, r) = (layout.y(0.0), r * 0.9);
            let corners = [x - r, y - r, x + r, y + r].map(number);
            let [left, top, right, bottom] = &corners;
            svg.path("undefined", &format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}"));
        }
        Some(value) if value < LOWEST => {
            let y = layout.y(LOWEST);
            let (left, right, top) = (number(x - r - 1.0), number(x + r + 1.0), number(y - 2.0 * r));
            svg.path("dot", &format!("M{left} {top}H{right}L{} {}Z", number(x), number(y)));
            let (class, dx) = if layout.is_right(x) { ("under before", -r - 5.0) } else { ("under", r + 5.0) };
            svg.text(class, x + dx, y - 3.0, &fixed(Some(value), 2));
        }
        Some(value) => svg.element("circle", "dot", &[("cx", x), ("cy", layout.y(value)), ("r", r)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::Language;
    use crate::text::translation::tests::speaking;

    const LABELS: Labels = Labels { value: "R²_lin", block: "block" };

    fn point(block: usize, value: Option<f64>) -> Point {
        Point { block, value, ..Point::default() }
    }

    #[test]
    fn the_axis_is_fixed_and_ends_where_it_says() {
        let layout = ProfileLayout::new(600.0, 12);
        assert_eq!(layout.y(HIGHEST), TOP);
        assert_eq!(layout.y(LOWEST), layout.height - BOTTOM);
        assert_eq!(layout.y(-7.0), layout.y(LOWEST));
        let unit = layout.y(0.0) - layout.y(1.0);
        assert!((layout.y(0.5) - layout.y(1.0) - unit / 2.0).abs() < 1e-9);
    }

    #[test]
    fn every_column_finds_its_own_block() {
        let layout = ProfileLayout::new(390.0, 12);
        for block in 0..12 {
            assert_eq!(layout.block_at(layout.x(block)), Some(block));
        }
        assert_eq!(layout.block_at(LEFT - 1.0), None);
        assert_eq!(layout.block_at(390.0), None);
    }

    #[test]
    fn the_line_breaks_at_undefined_and_missing_blocks() {
        let layout = ProfileLayout::new(600.0, 8);
        let points = [0, 1, 2, 3, 5, 6].map(|block| point(block, (block != 2).then_some(0.5)));
        let commands: String = line(&points, &layout).chars().filter(|c| c.is_alphabetic()).collect();
        assert_eq!(commands, "MLMML");
    }

    #[test]
    fn every_kind_of_value_has_its_mark() {
        let points = vec![point(0, Some(0.9)), point(1, None), point(2, Some(-0.05)), point(3, Some(-3.0))];
        let svg = draw(&Profile { blocks: 4, points, ..Profile::default() }, &ProfileLayout::new(600.0, 4), LABELS);
        let count = |mark: &str| svg.matches(mark).count();
        assert_eq!(count("<circle class=\"dot\""), 2);
        assert_eq!(count("class=\"undefined\""), 1);
        assert_eq!(count("<path class=\"dot\""), 1);
        assert!(svg.contains("−3.00"), "{svg}");
    }

    #[test]
    fn whiskers_and_expected_values_are_at_their_heights() {
        let layout = ProfileLayout::new(600.0, 1);
        let measured = Point { block: 0, value: Some(0.5), spread: Some([0.4, 0.6]), ..Point::default() };
        let profile = Profile { blocks: 1, points: vec![measured], expected: vec![Some(0.25)], ..Profile::default() };
        let svg = draw(&profile, &layout, LABELS);
        let (low, high) = (number(layout.y(0.4)), number(layout.y(0.6)));
        assert!(svg.contains(&format!("{low}V{high}M")), "{svg}");
        let bar = svg.split("class=\"expected\" d=\"").nth(1).unwrap();
        assert!(bar.split('"').next().unwrap().contains(&format!(" {}H", number(layout.y(0.25)))), "{svg}");
    }

    #[test]
    fn a_whisker_that_is_shorter_than_its_dot_is_seen_beside_and_before_it() {
        let layout = ProfileLayout::new(600.0, 6);
        let points = vec![Point { block: 0, value: Some(0.5), spread: Some([0.4999, 0.5001]), ..Point::default() }];
        let svg = draw(&Profile { blocks: 6, points, ..Profile::default() }, &layout, LABELS);
        assert!(svg.find("class=\"dot\"").unwrap() < svg.find("class=\"whisker\"").unwrap(), "{svg}");
        let cap = svg.split("class=\"whisker\" d=\"").nth(1).unwrap().split('M').nth(2).unwrap();
        let left: f64 = cap.split(' ').next().unwrap().parse().unwrap();
        assert!(left < layout.x(0) - layout.radius() - 2.0, "{cap}");
    }

    #[test]
    fn another_measurement_is_laid_over_where_it_has_values() {
        let overlay = vec![Some(0.5), None, Some(0.75)];
        let svg = draw(&Profile { overlay, ..Profile::default() }.covering(), &ProfileLayout::new(600.0, 3), LABELS);
        assert_eq!(svg.matches("class=\"overlay\"").count(), 2);
        assert_eq!(svg.matches("class=\"tick x\"").count(), 3);
    }

    #[test]
    fn grid_lines_are_named_in_the_language_in_use() {
        speaking(Language::German);
        let svg = draw(&Profile::default(), &ProfileLayout::new(600.0, 3), LABELS);
        speaking(Language::English);
        assert!(svg.contains(">0,25<") && !svg.contains(">0.25<"), "{svg}");
    }

    #[test]
    fn the_highlight_carries_the_value_as_far_as_its_interval_allows() {
        let profile = Profile { blocks: 2, points: vec![point(1, Some(0.123_456_789))], ..Profile::default() };
        let layout = ProfileLayout::new(600.0, 2);
        assert!(highlight(&profile, &layout, 1).contains("0.123457"));
        assert!(!highlight(&profile, &layout, 0).contains("circle"));
        let interval = Some(Interval { low: 0.121, high: 0.125 });
        let known = Point { interval, ..profile.points[0] };
        let profile = Profile { points: vec![known], ..profile };
        assert!(highlight(&profile, &layout, 1).contains(">0.123 ± 0.002<"), "{}", highlight(&profile, &layout, 1));
    }

    #[test]
    fn labels_of_many_blocks_do_not_collide() {
        let svg = draw(&Profile { blocks: 48, ..Profile::default() }, &ProfileLayout::new(390.0, 48), LABELS);
        let labels = svg.matches("class=\"tick x\"").count();
        assert!((8..=14).contains(&labels), "{labels}");
    }
}
