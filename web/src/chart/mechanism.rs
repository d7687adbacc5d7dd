//! Draws one feed-forward block: from the token over the residual stream and the norm to x, through the network to y, and
//! through the affine map to ŷ. The style sheet colours each class.

use super::svg::{Fragment, number};
use crate::text::detail::t as d;

/// What the drawing says about a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// The row that passes, or the word for any.
    pub row: String,
    /// Size of x.
    pub inputs: String,
    /// Size of the hidden layer.
    pub units: String,
    /// Whether x is the stream behind a norm; else it is the stream itself.
    pub has_norm: bool,
    /// One value of y and of ŷ.
    pub passing: Option<Passing>,
}

/// One value of a row, in standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passing {
    /// The network's value.
    pub actual: f64,
    /// The affine map's value.
    pub predicted: f64,
    /// The largest value that the scale shows, of either sign.
    pub reach: f64,
}

/// Positions of the parts.
#[derive(Clone, Copy, Debug)]
struct Places {
    width: f64,
    height: f64,
    /// The residual stream.
    stream: f64,
    /// Where the block branches off, and x below.
    branch: f64,
    norm: f64,
    /// Both boxes, and the middle of each.
    boxes: [f64; 2],
    network: f64,
    map: f64,
    /// Where y and ŷ leave.
    out: f64,
    /// The scale: both ends and its height.
    scale: [f64; 2],
    floor: f64,
    /// Its name, below the paths that lead to it.
    label: f64,
    /// Whether paths lead from y and ŷ to the scale.
    is_led: bool,
}

const WIDE: Places = Places {
    width: 760.0,
    height: 246.0,
    stream: 32.0,
    branch: 150.0,
    norm: 80.0,
    boxes: [208.0, 436.0],
    network: 134.0,
    map: 210.0,
    out: 476.0,
    scale: [540.0, 744.0],
    floor: 172.0,
    label: 62.0,
    is_led: true,
};
const NARROW: Places = Places {
    width: 360.0,
    height: 304.0,
    stream: 30.0,
    branch: 112.0,
    norm: 74.0,
    boxes: [146.0, 300.0],
    network: 122.0,
    map: 190.0,
    out: 330.0,
    scale: [30.0, 330.0],
    floor: 258.0,
    label: 26.0,
    is_led: false,
};
const PILL: f64 = 92.0;
/// Half the height of the network's box, and of the map's.
const NETWORK: f64 = 26.0;
const MAP: f64 = 18.0;

/// The drawing for a narrow space and for a wide one, the style sheet chooses.
pub fn draw(parts: &Parts) -> [String; 2] {
    [NARROW, WIDE].map(|places| drawing(parts, places))
}

fn drawing(parts: &Parts, places: Places) -> String {
    let mut svg = Fragment::default();
    stream(&mut svg, parts, places);
    network(&mut svg, parts, places);
    map(&mut svg, places);
    if let Some(passing) = parts.passing {
        scale(&mut svg, passing, places);
    }
    svg.into_svg(places.width, places.height)
}

/// The token, the residual stream, the norm, and x.
fn stream(svg: &mut Fragment, parts: &Parts, p: Places) {
    svg.path("flow", &format!("M{} {}H{}", number(8.0 + PILL), p.stream, number(p.width - 10.0)));
    head(svg, p.width - 10.0, p.stream, [1.0, 0.0]);
    svg.path("flow", &format!("M{} {}V{}", p.branch, p.stream, number(p.network)));
    svg.element("rect", "pill", &[("x", 8.0), ("y", p.stream - 14.0), ("width", PILL), ("height", 28.0), ("rx", 14.0)]);
    svg.text("in", 8.0 + PILL / 2.0, p.stream + 4.0, &parts.row);
    svg.element("circle", "joint", &[("cx", p.branch), ("cy", p.stream), ("r", 3.5)]);
    let middle = (p.branch + p.out) / 2.0;
    svg.text("aside", middle + 20.0, p.stream - 10.0, d().mechanism_stream);
    if parts.has_norm {
        let (width, height) = (60.0, 26.0);
        let sides = [
            ("x", p.branch - width / 2.0),
            ("y", p.norm - height / 2.0),
            ("width", width),
            ("height", height),
            ("rx", 6.0),
        ];
        svg.element("rect", "part", &sides);
        svg.text("in", p.branch, p.norm + 4.0, d().mechanism_norm);
    }
    svg.element("circle", "joint", &[("cx", p.branch), ("cy", p.network), ("r", 3.5)]);
    svg.text("letter end", p.branch - 12.0, p.network + 2.0, "x");
    svg.text("size end", p.branch - 10.0, p.network + 20.0, &parts.inputs);
}

/// The network, y, and its way back to the stream.
fn network(svg: &mut Fragment, parts: &Parts, p: Places) {
    let [left, right] = p.boxes;
    svg.path("flow", &format!("M{} {}H{}", p.branch, p.network, number(p.out)));
    svg.path("flow", &format!("M{} {}V{}", p.out, p.network, number(p.stream + 12.0)));
    head(svg, left - 1.0, p.network, [1.0, 0.0]);
    head(svg, p.out, p.stream + 12.0, [0.0, -1.0]);
    svg.element("circle", "plus", &[("cx", p.out), ("cy", p.stream), ("r", 9.0)]);
    svg.path("flow", &format!("M{} {}h10m-5 -5v10", number(p.out - 5.0), p.stream));
    let sides =
        [("x", left), ("y", p.network - NETWORK), ("width", right - left), ("height", 2.0 * NETWORK), ("rx", 9.0)];
    svg.element("rect", "part network", &sides);
    let third = (right - left) / 3.0;
    for at in [1.0, 2.0] {
        svg.path("split", &format!("M{} {}v{}", number(left + at * third), p.network - NETWORK, 2.0 * NETWORK));
    }
    svg.text("in", left + third / 2.0, p.network + 4.0, "W₁ᵀ");
    svg.text("in", left + third * 2.5, p.network + 4.0, "W₂ᵀ");
    // The activation as a small curve with a bend.
    let (x, y) = (left + third * 1.5, p.network + 8.0);
    svg.path(
        "bend",
        &format!(
            "M{} {y}C{} {y} {} {} {} {}",
            number(x - 16.0),
            number(x - 2.0),
            number(x + 2.0),
            number(y + 2.0),
            number(x + 15.0),
            number(y - 17.0)
        ),
    );
    svg.text("size", (left + right) / 2.0, p.network - NETWORK - 6.0, &parts.units);
    svg.text("letter", p.out + 12.0, p.network + 5.0, "y");
}

/// The affine map as a ruler, and ŷ.
fn map(svg: &mut Fragment, p: Places) {
    let [left, right] = p.boxes;
    svg.path("flow map", &format!("M{} {}V{}H{}", p.branch, p.network, p.map, number(p.out)));
    head(svg, left - 1.0, p.map, [1.0, 0.0]);
    let sides = [("x", left), ("y", p.map - MAP), ("width", right - left), ("height", 2.0 * MAP), ("rx", 3.0)];
    svg.element("rect", "ruler", &sides);
    let ticks: Vec<String> = (1..((right - left) / 8.0) as usize)
        .map(|at| format!("M{} {}v{}", number(left + 8.0 * at as f64), p.map - MAP, if at % 5 == 0 { 10 } else { 6 }))
        .collect();
    svg.path("ticks", &ticks.concat());
    svg.text("in", (left + right) / 2.0, p.map + 12.0, "ŷ = Wᵀx + b");
    svg.text("letter map", p.out + 12.0, p.map + 5.0, "ŷ");
}

/// One value of y and of ŷ on one scale, and the residual between them.
fn scale(svg: &mut Fragment, passing: Passing, p: Places) {
    let [left, right] = p.scale;
    let middle = (left + right) / 2.0;
    let x = |value: f64| middle + (value / passing.reach).clamp(-1.0, 1.0) * (right - left) / 2.0;
    let (actual, predicted) = (x(passing.actual), x(passing.predicted));
    svg.path("axis", &format!("M{left} {}H{right}M{middle} {}v10", p.floor, p.floor - 5.0));
    svg.path("residual", &format!("M{} {}H{}", number(actual), p.floor, number(predicted)));
    svg.text("size", middle, p.floor + p.label, d().mechanism_scale);
    if p.is_led {
        svg.path("lead", &format!("M{} {}L{} {}", p.out + 26.0, p.network, number(actual), number(p.floor - 8.0)));
        svg.path("lead map", &format!("M{} {}L{} {}", p.out + 26.0, p.map, number(predicted), number(p.floor + 8.0)));
    }
    svg.element("circle", "actual", &[("cx", actual), ("cy", p.floor), ("r", 6.0)]);
    let (px, py) = (number(predicted), p.floor);
    svg.path("predicted", &format!("M{px} {}l7 7l-7 7l-7 -7z", py - 7.0));
    svg.text("in", actual, p.floor - 13.0, "y");
    if (actual - predicted).abs() > 16.0 {
        svg.text("in map", predicted, p.floor - 13.0, "ŷ");
    }
    let start = format!("M{} {}H{}V{}", 8.0 + PILL, p.stream, p.branch, p.network);
    svg.moving_point("pass", &format!("{start}H{}V{}H{}", p.out, p.stream, number(p.width - 10.0)));
    svg.moving_point("pass map", &format!("{start}V{}H{}", p.map, p.out));
}

/// The head of an arrow.
fn head(svg: &mut Fragment, x: f64, y: f64, [dx, dy]: [f64; 2]) {
    let (back, side) = (7.0, 4.0);
    let [ax, ay] = [x - back * dx - side * dy, y - back * dy + side * dx];
    let [bx, by] = [x - back * dx + side * dy, y - back * dy - side * dx];
    let at = |x: f64, y: f64| format!("{} {}", number(x), number(y));
    svg.path("head", &format!("M{}L{}L{}Z", at(x, y), at(ax, ay), at(bx, by)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(actual: f64, predicted: f64) -> Parts {
        let passing = Some(Passing { actual, predicted, reach: 4.0 });
        Parts { row: "row 1 & <b>".into(), has_norm: true, passing, ..Parts::default() }
    }

    #[test]
    fn both_values_stand_where_they_are_and_texts_stay_texts() {
        let [narrow, wide] = draw(&parts(2.0, -1.0));
        // Half of the way to the right end, and a quarter of the way to the left one.
        assert!(
            wide.contains(r#"class="actual" cx="693""#) && wide.contains(r#"class="predicted" d="M616.5 "#),
            "{wide}"
        );
        assert!(narrow.contains(r#"class="actual" cx="255""#), "{narrow}");
        assert!([narrow, wide].iter().all(|svg| svg.contains("row 1 &amp; &lt;b&gt;")));
    }

    #[test]
    fn a_value_beyond_the_scale_stands_at_its_end_and_without_a_row_there_is_no_scale() {
        let [_, wide] = draw(&parts(1e9, f64::NEG_INFINITY));
        assert!(wide.contains(r#"class="actual" cx="744""#), "{wide}");
        let [_, wide] = draw(&Parts::default());
        assert!(!wide.contains("axis") && !wide.contains("pass") && !wide.contains(d().mechanism_norm));
    }
}
