//! Draws a [`Plot`]: grid, rules, lines, whiskers, marks and labels. The style sheet colours each class.

use super::plot::{Mark, Plot, Series, Spot};
use super::scale::{Kind, Scale};
use super::shape::{STYLES, arrow, outline};
use super::svg::{Fragment, number};
use crate::text::format::{fixed, tick};

/// Width and height of a card's bars.
const SPARK: (f64, f64) = (132.0, 30.0);
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// Usual radius of a mark.
const RADIUS: f64 = 4.6;
/// Width of a digit of tick labels, and of the short names next to marks.
const DIGIT: f64 = 6.8;

/// Positions and sizes, in pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Width of the whole chart.
    pub width: f64,
    /// Height of the whole chart.
    pub height: f64,
    left: f64,
    x: Scale,
    y: Scale,
    /// Width of a column, and the number of marks side by side in it.
    column: Option<(f64, usize)>,
}

impl Layout {
    /// The layout of a plot in a space `width` wide.
    pub fn new(plot: &Plot, width: f64) -> Self {
        let width = width.max(240.0).round();
        let inner = (width * 0.44).clamp(240.0, 330.0).round();
        let (x, y) = plot.scales();
        let labels = y.ticks(inner / 44.0).into_iter().map(|value| tick(value).chars().count());
        let left = 16.0 + DIGIT * labels.max().unwrap_or(1) as f64;
        let column = match x.kind() {
            Kind::Index(count) => {
                let side_by_side = plot.series.iter().filter(|series| !series.joined).count();
                Some(((width - left - RIGHT) / count.max(1) as f64, side_by_side))
            }
            _ => None,
        };
        Self { width, height: TOP + inner + BOTTOM, left, x, y, column }
    }

    /// The centre of a mark.
    fn centre(&self, plot: &Plot, series: usize, mark: &Mark) -> Option<(f64, f64)> {
        Some((self.x(mark.x) + self.aside(plot, series), self.y(mark.y?)))
    }

    /// Horizontal offset of a series' marks from the centre of their columns.
    fn aside(&self, plot: &Plot, series: usize) -> f64 {
        let Some((width, side_by_side)) = self.column.filter(|(_, side_by_side)| *side_by_side > 1) else { return 0.0 };
        if plot.series[series].joined {
            return 0.0;
        }
        let before = plot.series[..series].iter().filter(|series| !series.joined).count() as f64;
        let step = (width * 0.8 / side_by_side as f64).min(13.0);
        (before - (side_by_side as f64 - 1.0) / 2.0) * step
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.width - self.left - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - self.y.place(value)) * (self.height - TOP - BOTTOM)
    }

    fn floor(&self) -> f64 {
        self.height - BOTTOM
    }

    fn radius(&self, plot: &Plot, mark: &Mark) -> f64 {
        let crowded = self.column.map_or(RADIUS, |(width, side_by_side)| width * 0.42 / side_by_side.max(1) as f64);
        let usual = if plot.series.len() > 1 || self.column.is_some() { crowded.clamp(2.6, RADIUS) } else { RADIUS };
        usual * mark.size
    }

    /// The mark nearest to a point of the chart.
    pub fn nearest(&self, plot: &Plot, x: f64, y: f64) -> Option<Spot> {
        let mut best = None;
        for (at, series) in plot.series.iter().enumerate() {
            for (number, mark) in series.marks.iter().enumerate() {
                let Some((mx, my)) = self.centre(plot, at, mark) else { continue };
                let distance = (mx - x).powi(2) + (my - y).powi(2);
                if best.is_none_or(|(least, _)| distance < least) {
                    best = Some((distance, (at, number)));
                }
            }
        }
        best.map(|(_, spot)| spot)
    }
}

/// The chart as SVG text.
pub fn draw(plot: &Plot, layout: &Layout) -> String {
    let mut svg = Fragment::default();
    axes(&mut svg, plot, layout);
    for rule in &plot.rules {
        let (line, x, y) = if rule.is_x {
            let x = layout.x(rule.at);
            // Columns would cover the name of a rule at the floor.
            let name = if plot.series.iter().any(|series| series.columns) { TOP + 14.0 } else { layout.floor() - 8.0 };
            (format!("M{} {}V{}", number(x), number(TOP), number(layout.floor())), x, name)
        } else {
            let y = layout.y(rule.at);
            (format!("M{} {}H{}", number(layout.left), number(y), number(layout.width - RIGHT)), layout.left, y - 7.0)
        };
        svg.path("rule", &line);
        let (class, dx) = if x > layout.width * 0.6 { ("aside before", -6.0) } else { ("aside", 6.0) };
        svg.text(class, x + dx, y, &rule.name);
    }
    let (behind, front): (Vec<_>, Vec<_>) = plot.series.iter().enumerate().rev().partition(|(_, s)| s.is_behind);
    for (at, series) in behind.into_iter().chain(front) {
        if series.joined {
            svg.path(&class("join", series), &line(plot, layout, at));
        }
        let shown = || series.marks.iter().filter(|_| series.marked || !series.joined);
        // Columns would hide whiskers, whiskers would cross marks.
        shown().filter(|_| series.columns).for_each(|mark| draw_column(&mut svg, plot, layout, at, mark));
        shown().for_each(|mark| whisker(&mut svg, plot, layout, at, mark));
        shown().filter(|_| !series.columns).for_each(|mark| draw_mark(&mut svg, plot, layout, at, mark));
    }
    names(&mut svg, plot, layout);
    svg.into_svg(layout.width, layout.height)
}

/// The overlay that highlights one mark.
pub fn single_out(plot: &Plot, layout: &Layout, spot: Spot) -> String {
    let mut svg = Fragment::default();
    if let Some((mark, (x, y))) = plot.mark(spot).and_then(|mark| Some((mark, layout.centre(plot, spot.0, mark)?))) {
        let (across, down) = (number(x), number(y));
        let (left, floor) = (number(layout.left), number(layout.floor()));
        svg.path("guide", &format!("M{across} {down}V{floor}M{left} {down}H{across}"));
        svg.element("circle", "ring", &[("cx", x), ("cy", y), ("r", layout.radius(plot, mark) + 4.0)]);
    }
    svg.into_svg(layout.width, layout.height)
}

/// The legend sample of a series.
pub fn sample(series: &Series) -> String {
    let mut svg = Fragment::default();
    if series.joined {
        svg.path(&class("join", series), "M1 8H25");
    }
    if series.columns {
        svg.element("rect", &class("bar", series), &[("x", 8.0), ("y", 2.0), ("width", 10.0), ("height", 12.0)]);
    } else if series.marked || !series.joined {
        svg.path(&class("mark", series), &outline(series.style, 13.0, 8.0, RADIUS));
    }
    svg.into_svg(26.0, 16.0)
}

/// A curve over the blocks as small bars, from 0 or its least value to 1 or its largest.
pub fn spark(curve: &[Option<f64>]) -> String {
    let known = || curve.iter().copied().flatten();
    let (low, high) = (known().fold(0.0, f64::min), known().fold(0.0, f64::max).max(f64::MIN_POSITIVE));
    let high = if known().all(|value| value <= 1.0) { 1.0 } else { high };
    let step = SPARK.0 / curve.len().max(1) as f64;
    let mut svg = Fragment::default();
    for (block, value) in curve.iter().enumerate() {
        let Some(value) = value else { continue };
        let (x, y) = (block as f64 * step, SPARK.1 * (high - value.max(low)) / (high - low));
        let floor = SPARK.1 * high / (high - low);
        let (top, height) = (y.min(floor), (floor - y).abs().max(1.0));
        svg.element("rect", "bar look0", &[("x", x), ("y", top), ("width", step * 0.8), ("height", height)]);
    }
    svg.into_svg(SPARK.0, SPARK.1)
}

/// CSS class of a part of a series.
fn class(part: &str, series: &Series) -> String {
    let behind = if series.is_behind { " behind" } else { "" };
    format!("{part} look{}{behind}", series.style % STYLES)
}

fn axes(svg: &mut Fragment, plot: &Plot, layout: &Layout) {
    let (end, floor) = (layout.width - RIGHT, layout.floor());
    // Shading groups the marks that stand side by side in one column.
    if let Some((width, _)) = layout.column.filter(|(_, side_by_side)| *side_by_side > 1) {
        for value in layout.x.ticks(f64::INFINITY).iter().skip(1).step_by(2) {
            let x = layout.x(*value) - width / 2.0;
            svg.element("rect", "band", &[("x", x), ("y", TOP), ("width", width), ("height", floor - TOP)]);
        }
    }
    if layout.y.kind() == Kind::Share {
        let zero = layout.y(0.0);
        svg.element(
            "rect",
            "below",
            &[("x", layout.left), ("y", zero), ("width", end - layout.left), ("height", floor - zero)],
        );
    }
    for value in layout.y.ticks((floor - TOP) / 44.0) {
        let y = layout.y(value);
        let class = if value == 0.0 { "zero" } else { "grid" };
        svg.path(class, &format!("M{} {}H{}", number(layout.left), number(y), number(end)));
        svg.text("tick y", layout.left - 9.0, y + 4.0, &tick(value));
    }
    let pixels_per_tick = if layout.column.is_some() { 26.0 } else { 60.0 };
    for value in layout.x.ticks((end - layout.left) / pixels_per_tick) {
        let x = layout.x(value);
        if layout.column.is_none() {
            svg.path("grid", &format!("M{} {}V{}", number(x), number(floor), number(floor + 4.0)));
        }
        svg.text("tick x", x, floor + 18.0, &label(plot, layout, value));
    }
    svg.text("name y", 2.0, 14.0, plot.y.name);
    svg.text("name x", (layout.left + end) / 2.0, layout.height - 6.0, plot.x.name);
}

/// The tick label at `value` on the x axis: the value, or the name of the column there.
fn label(plot: &Plot, layout: &Layout, value: f64) -> String {
    let columns = plot.series.iter().filter(|series| series.columns && layout.column.is_some());
    let mark = columns.flat_map(|series| &series.marks).find(|mark| mark.x == value);
    mark.map_or_else(|| tick(value), |mark| mark.name.clone())
}

/// Joins neighbouring marks; undefined ones leave gaps.
fn line(plot: &Plot, layout: &Layout, at: usize) -> String {
    let mut path = String::new();
    let mut is_begun = false;
    for mark in &plot.series[at].marks {
        let centre = layout.centre(plot, at, mark);
        if let Some((x, y)) = centre {
            path += &format!("{}{} {}", if is_begun { 'L' } else { 'M' }, number(x), number(y));
        }
        is_begun = centre.is_some();
    }
    path
}

fn draw_mark(svg: &mut Fragment, plot: &Plot, layout: &Layout, at: usize, mark: &Mark) {
    let (Some(value), Some((x, y))) = (mark.y, layout.centre(plot, at, mark)) else { return };
    let (series, r) = (&plot.series[at], layout.radius(plot, mark));
    let class = class("mark", series);
    if layout.y.is_below(value) {
        svg.path(&class, &arrow(x, layout.floor(), r));
        if series.joined {
            return;
        }
        let (class, dx) = if x > layout.width * 0.7 { ("under before", -r - 5.0) } else { ("under", r + 5.0) };
        svg.text(class, x + dx, layout.floor() - 3.0, &fixed(Some(value), 2));
    } else {
        svg.path(&class, &outline(series.style, x, y, r));
    }
}

/// A column from zero to a mark, somewhat narrower than the distance between columns or marks.
fn draw_column(svg: &mut Fragment, plot: &Plot, layout: &Layout, at: usize, mark: &Mark) {
    let (Some(value), Some((x, y))) = (mark.y, layout.centre(plot, at, mark)) else { return };
    let series = &plot.series[at];
    let apart = match (layout.column, series.marks.as_slice()) {
        (Some((width, _)), _) => (width * 0.62).min(64.0),
        (None, [first, second, ..]) => (layout.x(second.x) - layout.x(first.x)).abs() * 0.9,
        _ => 12.0,
    };
    let zero = layout.y(0.0);
    let (top, height) = (y.min(zero), (y - zero).abs());
    svg.element(
        "rect",
        &class("bar", series),
        &[("x", x - apart / 2.0), ("y", top), ("width", apart), ("height", height)],
    );
    if layout.y.is_below(value) {
        svg.text("under", x + apart / 2.0 + 3.0, layout.floor() - 3.0, &fixed(Some(value), 2));
    }
}

/// The interval of a mark's value. One that is shorter than its mark is not seen: the mark is precise.
fn whisker(svg: &mut Fragment, plot: &Plot, layout: &Layout, at: usize, mark: &Mark) {
    let (Some(interval), Some((x, _))) = (mark.within.y, layout.centre(plot, at, mark)) else { return };
    let [low, high] = [interval.low, interval.high].map(|end| number(layout.y(end)));
    svg.path(&class("whisker", &plot.series[at]), &format!("M{} {low}V{high}", number(x)));
}

/// Short names next to marks, where there is room.
fn names(svg: &mut Fragment, plot: &Plot, layout: &Layout) {
    let centres: Vec<(usize, &Mark, f64, f64)> = plot
        .series
        .iter()
        .enumerate()
        .flat_map(|(at, series)| series.marks.iter().map(move |mark| (at, mark)))
        .filter_map(|(at, mark)| layout.centre(plot, at, mark).map(|(x, y)| (at, mark, x, y)))
        .collect();
    let mut taken: Vec<(f64, f64, f64, f64)> =
        centres.iter().map(|(_, _, x, y)| (x - 5.0, y - 5.0, x + 5.0, y + 5.0)).collect();
    for (at, mark, x, y) in centres {
        let Some(block) = mark.block.filter(|_| plot.series[at].named) else { continue };
        let text = block.to_string();
        let (w, r) = (DIGIT * text.len() as f64, layout.radius(plot, mark) + 3.0);
        let left_and_right = [(x + r, y + 4.0), (x - r - w, y + 4.0)];
        let over_and_under = [(x - w / 2.0, y - r), (x - w / 2.0, y + r + 9.0)];
        // A line passes to the left and right of its marks, so above and below are tried first.
        let is_joined = plot.series[at].joined;
        let places =
            if is_joined { [over_and_under, left_and_right] } else { [left_and_right, over_and_under] }.concat();
        let boxed = |(x, y): (f64, f64)| (x, y - 9.0, x + w, y);
        let is_free = |place: &&(f64, f64)| {
            let (a, b, c, d) = boxed(**place);
            let inside = a > layout.left && c < layout.width && b > 16.0 && d < layout.floor();
            inside && !taken.iter().any(|(e, f, g, h)| a < *g && c > *e && b < *h && d > *f)
        };
        if let Some(place) = places.iter().find(is_free) {
            taken.push(boxed(*place));
            svg.text("short", place.0, place.1, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::Interval;

    use super::super::plot::{Axis, Rule};
    use super::*;

    fn plot(kind: Kind, joined: bool) -> Plot {
        let series = |style, shift: f64| Series {
            style,
            joined,
            named: true,
            marks: (0..4).map(|at| Mark::new("", at as f64, Some(0.2 * at as f64 + shift)).of_block(at)).collect(),
            ..Series::default()
        };
        let axis = Axis { name: "R²_lin", kind: Kind::Share };
        let rules = vec![Rule { is_x: false, at: 0.9, name: "ceiling".into() }];
        Plot { x: Axis { name: "x", kind }, y: axis, series: vec![series(0, 0.0), series(1, 0.01)], rules }
    }

    #[test]
    fn the_mark_nearest_to_its_own_place_is_itself() {
        let plot = plot(Kind::Index(4), false);
        let layout = Layout::new(&plot, 390.0);
        for series in 0..2 {
            for at in 0..4 {
                let (x, y) = layout.centre(&plot, series, &plot.series[series].marks[at]).unwrap();
                assert_eq!(layout.nearest(&plot, x, y), Some((series, at)));
                assert!(x > layout.left && x < layout.width - RIGHT);
            }
        }
    }

    #[test]
    fn undefined_values_leave_gaps_and_no_marks() {
        let mut plot = plot(Kind::Linear, true);
        plot.series[0].marks[1].y = None;
        let layout = Layout::new(&plot, 600.0);
        let commands: String = line(&plot, &layout, 0).chars().filter(|c| c.is_alphabetic()).collect();
        assert_eq!(commands, "MML");
        plot.series[0].marked = true;
        assert_eq!(draw(&plot, &layout).matches("class=\"mark look0\"").count(), 3);
    }

    #[test]
    fn values_far_below_zero_are_told_at_the_edge() {
        let mut plot = plot(Kind::Index(4), false);
        plot.series[0].marks[2].y = Some(-7.0);
        let svg = draw(&plot, &Layout::new(&plot, 600.0));
        assert!(svg.contains("−7.00"), "{svg}");
    }

    #[test]
    fn a_whisker_reaches_from_end_to_end_of_its_interval_within_the_axis() {
        for (kind, high) in [(Kind::Share, 0.5), (Kind::FromZero, 3.0), (Kind::Linear, 3.0)] {
            let mut plot = plot(Kind::Index(4), true);
            plot.y.kind = kind;
            plot.series.iter_mut().for_each(|series| series.marked = true);
            plot.series[1].marks[1] = plot.series[1].marks[1].clone().within(None, Some(Interval { low: 0.125, high }));
            let layout = Layout::new(&plot, 600.0);
            let svg = draw(&plot, &layout);
            let (x, y) = layout.centre(&plot, 1, &plot.series[1].marks[1]).expect("a centre");
            let [low, high] = [0.125, high].map(|end| layout.y(end));
            assert!(TOP <= high && high < y && y < low, "{kind:?}: {high} {y} {low}");
            let path = format!("class=\"whisker look1\" d=\"M{} {}V{}\"", number(x), number(low), number(high));
            assert!(svg.contains(&path) && svg.matches("whisker").count() == 1, "{path}: {svg}");
            assert!(svg.find(&path) < svg.find("class=\"mark look1\""), "the marks are in front");
            plot.series[1].columns = true;
            assert!(draw(&plot, &layout).rfind("class=\"bar look1\"") < draw(&plot, &layout).rfind("whisker"));
        }
    }

    #[test]
    fn rules_stand_at_their_values_and_names_never_overlap() {
        let plot = plot(Kind::Linear, false);
        let layout = Layout::new(&plot, 600.0);
        let svg = draw(&plot, &layout);
        assert!(
            svg.contains(&format!("class=\"rule\" d=\"M{} {}H", number(layout.left), number(layout.y(0.9)))),
            "{svg}"
        );
        assert!(svg.matches("class=\"short\"").count() >= 4, "{svg}");
    }

    #[test]
    fn columns_stand_on_zero_and_name_their_places() {
        let mut plot = plot(Kind::Index(4), false);
        plot.series.truncate(1);
        plot.series[0].columns = true;
        plot.series[0].marks[1] = Mark::new("removed", 1.0, Some(-0.25));
        let layout = Layout::new(&plot, 600.0);
        let svg = draw(&plot, &layout);
        assert!(svg.contains(">removed</text>") && svg.matches("class=\"bar look0\"").count() == 4, "{svg}");
        let zero = number(layout.y(0.0));
        assert!(svg.contains(&format!("y=\"{zero}\" width")), "the negative one hangs from zero: {svg}");
        assert!(sample(&plot.series[0]).contains("bar look0"));
    }

    #[test]
    fn the_outermost_columns_stand_within_their_axes() {
        let mut plot = plot(Kind::Linear, false);
        plot.series.truncate(1);
        plot.series[0].columns = true;
        for shift in [0.5, 3.0, 10.0] {
            plot.series[0].marks.iter_mut().enumerate().for_each(|(at, mark)| mark.x = shift + at as f64);
            let layout = Layout::new(&plot, 600.0);
            let svg = draw(&plot, &layout);
            let bars = svg.split("<rect class=\"bar look0\" x=\"").skip(1);
            let lefts: Vec<f64> = bars.map(|bar| bar.split('"').next().unwrap().parse().unwrap()).collect();
            let apart = (lefts[1] - lefts[0]) * 0.9;
            assert!(lefts.len() == 4 && lefts[0] >= layout.left, "{lefts:?} right of {}", layout.left);
            assert!(lefts[3] + apart <= layout.width - RIGHT + 0.1, "{lefts:?}");
        }
    }

    #[test]
    fn a_mark_singled_out_is_ringed_and_nothing_else_is() {
        let plot = plot(Kind::Linear, false);
        let layout = Layout::new(&plot, 600.0);
        assert!(single_out(&plot, &layout, (1, 3)).contains("ring"));
        assert!(!single_out(&plot, &layout, (1, 9)).contains("ring"));
        assert!(sample(&plot.series[1]).contains("mark look1"));
    }
}
