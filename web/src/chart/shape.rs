//! Marks of series: shapes that are distinguishable without colour.

use super::svg::number;

/// Number of colours and dash patterns; after that they repeat with other shapes.
pub(super) const STYLES: usize = 8;

/// The outline of a style's mark, centred at (x, y), as large as a circle of radius `r`.
pub(super) fn outline(style: usize, x: f64, y: f64, r: f64) -> String {
    match (style + style / STYLES) % STYLES {
        0 => circle(x, y, r),
        1 => polygon(x, y, &[(-r, -r), (r, -r), (r, r), (-r, r)].map(|(a, b)| (a * 0.88, b * 0.88))),
        2 => polygon(x, y, &[(0.0, -1.35 * r), (1.35 * r, 0.0), (0.0, 1.35 * r), (-1.35 * r, 0.0)]),
        3 => polygon(x, y, &[(0.0, -1.2 * r), (1.2 * r, 0.9 * r), (-1.2 * r, 0.9 * r)]),
        4 => polygon(x, y, &[(0.0, 1.2 * r), (1.2 * r, -0.9 * r), (-1.2 * r, -0.9 * r)]),
        5 => cross(x, y, r * 1.15, r * 0.4),
        6 => polygon(x, y, &[(-1.3 * r, -0.55 * r), (1.3 * r, -0.55 * r), (1.3 * r, 0.55 * r), (-1.3 * r, 0.55 * r)]),
        _ => polygon(x, y, &[(-0.55 * r, -1.3 * r), (0.55 * r, -1.3 * r), (0.55 * r, 1.3 * r), (-0.55 * r, 1.3 * r)]),
    }
}

/// The mark at the lower edge for a value below it.
pub(super) fn arrow(x: f64, edge: f64, r: f64) -> String {
    polygon(x, edge, &[(-r - 1.0, -2.0 * r), (r + 1.0, -2.0 * r), (0.0, 0.0)])
}

fn circle(x: f64, y: f64, r: f64) -> String {
    let (left, right, y, r) = (number(x - r), number(x + r), number(y), number(r));
    format!("M{left} {y}A{r} {r} 0 1 1 {right} {y}A{r} {r} 0 1 1 {left} {y}Z")
}

fn polygon(x: f64, y: f64, corners: &[(f64, f64)]) -> String {
    let points: Vec<_> = corners.iter().map(|(a, b)| format!("{} {}", number(x + a), number(y + b))).collect();
    format!("M{}Z", points.join("L"))
}

/// A plus sign with arms of length `long`, twice as thick as `thin`.
fn cross(x: f64, y: f64, long: f64, thin: f64) -> String {
    let (l, t) = (long, thin);
    let corners =
        [(-t, -l), (t, -l), (t, -t), (l, -t), (l, t), (t, t), (t, l), (-t, l), (-t, t), (-l, t), (-l, -t), (-t, -t)];
    polygon(x, y, &corners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_look_has_a_shape_of_its_own() {
        let shapes: std::collections::BTreeSet<_> = (0..STYLES).map(|style| outline(style, 10.0, 10.0, 4.0)).collect();
        assert_eq!(shapes.len(), STYLES);
        let second: std::collections::BTreeSet<_> =
            (0..STYLES).map(|style| outline(style + STYLES, 10.0, 10.0, 4.0)).collect();
        assert_eq!(second, shapes);
        assert!((0..STYLES).all(|style| outline(style, 0.0, 0.0, 1.0) != outline(style + STYLES, 0.0, 0.0, 1.0)));
    }
}
