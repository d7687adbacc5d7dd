//! R² of one block by the number of training rows, and the limit that it approaches.

use straightedge_api::learning::{LearningLaw, LearningPoint};
use straightedge_api::report::BlockReport;

use super::figure::{Figure, at_x, block_name, grid_of, series};
use crate::chart::plot::{Axis, Mark, Plot, Rule, Series};
use crate::chart::scale::Kind;
use crate::text::detail::t as d;
use crate::text::format::{count, exact, fixed};
use crate::text::{fill, t};

/// Places of the law's curve.
const PLACES: i32 = 40;
/// Where the curve ends, in units of the most training rows.
const BEYOND: f64 = 16.0;

/// Every fit, the law through them, and its limit; `None` in reports without a curve of two sizes.
pub(super) fn curve(block: &BlockReport) -> Option<Figure> {
    let points = &block.learning_curve;
    // An opened report may hold anything.
    let last = points.last().filter(|_| points.len() > 1 && points.iter().all(|point| point.rows >= 1.0))?;
    let law = LearningLaw::new(points, block.rank);
    let mark = |point: &LearningPoint, r2: &Option<f64>| {
        let name = fill(d().learning_rows, &[("rows", &count(point.rows.round() as u64))]);
        Mark::new(name, point.rows, *r2)
    };
    let fits = points.iter().flat_map(|point| point.r2.iter().map(move |r2| mark(point, r2))).collect();
    let fits = series(d().learning_fits, 0, fits)?;
    let ridge = ridge(block);
    let tabled = [Some(series(t().axis_heldout, 0, means(points))?), ridge.clone()];
    let table = grid_of(d().axis_training_rows, &tabled.into_iter().flatten().collect::<Vec<_>>(), at_x, exact);
    let rule = |law: &LearningLaw| Rule {
        is_x: false,
        at: law.limit,
        name: fill(d().learning_limit, &[("limit", &fixed(Some(law.limit), 3))]),
    };
    Some(Figure {
        title: format!("{}: {}", block_name(block.block), d().learning_figure),
        plot: Plot {
            x: Axis { name: d().axis_training_rows, kind: Kind::Log },
            y: Axis { name: t().axis_heldout, kind: Kind::Linear },
            series: [Some(fits), ridge, law.and_then(|law| drawn(&law, points[0].rows, BEYOND * last.rows))]
                .into_iter()
                .flatten()
                .collect(),
            rules: law.iter().map(rule).collect(),
        },
        facts: [limit(block), needed(block)].into_iter().flatten().collect(),
        caption: d().learning_caption,
        table,
    })
}

fn means(points: &[LearningPoint]) -> Vec<Mark> {
    points.iter().map(|point| Mark::new("", point.rows, point.mean())).collect()
}

/// The same by ridge regression, if polynomials were measured.
fn ridge(block: &BlockReport) -> Option<Series> {
    let points = &block.ridge_curve;
    let drawn = points.len() > 1 && points.iter().all(|point| point.rows >= 1.0);
    let found = drawn.then(|| series(d().learning_ridge, 1, means(points)))??;
    Some(Series { joined: true, marked: true, ..found })
}

/// The law as a line without marks.
fn drawn(law: &LearningLaw, from: f64, to: f64) -> Option<Series> {
    let place = |at: i32| from * (to / from).powf(f64::from(at) / f64::from(PLACES));
    let marks = (0..=PLACES).map(place).map(|rows| Mark::new("", rows, law.at(rows))).collect();
    Some(Series { joined: true, ..series(d().learning_law, 6, marks)? })
}

/// The limit in words.
fn limit(block: &BlockReport) -> Option<String> {
    let three = |value| fixed(Some(value), 3);
    let (limit, error, r2) = (block.r2_limit?, block.r2_limit_error?, block.r2_lin?);
    let gaps = [
        ("limit", &*three(limit)),
        ("error", &three(error)),
        ("r2", &three(r2)),
        ("ratio", &fixed(block.rows_per_input, 1)),
    ];
    Some(fill(d().learning_summary, &gaps))
}

/// How many rows would bring R² near its limit, if it is not.
fn needed(block: &BlockReport) -> Option<String> {
    let (rows, own) = (block.rows_needed?, block.learning_curve.last()?.rows);
    (rows > own).then(|| fill(d().learning_needed, &[("rows", &count(rows as u64))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(slope: f64) -> BlockReport {
        let point = |rows: f64| {
            let r2 = 0.7 - slope * 50.0 / (rows - 51.0);
            LearningPoint { rows, r2: vec![Some(r2 - 0.01), Some(r2 + 0.01)] }
        };
        let mut block =
            BlockReport { block: 3, rank: 50, r2_lin: Some(0.684), rows_per_input: Some(20.0), ..Default::default() };
        block.learn([250.0, 500.0, 1000.0].map(point).to_vec());
        block
    }

    #[test]
    fn the_fits_stand_on_a_line_that_ends_at_its_limit() {
        let figure = curve(&learned(0.3)).unwrap();
        assert!(figure.title.starts_with("Block 3: "), "{}", figure.title);
        let [fits, line] = &figure.plot.series[..] else { panic!("{:?}", figure.plot.series) };
        assert_eq!(fits.marks.iter().map(|mark| mark.x).collect::<Vec<_>>(), [250.0, 250.0, 500.0, 500.0, 1e3, 1e3]);
        let ends = [&line.marks[0], line.marks.last().unwrap()].map(|mark| (mark.x.round(), mark.y.unwrap()));
        assert!(ends[0].0 == 250.0 && (ends[0].1 - 0.624_623).abs() < 1e-6, "{ends:?}");
        assert!(ends[1].0 == 16_000.0 && (ends[1].1 - 0.699_059).abs() < 1e-6, "{ends:?}");
        assert!((figure.plot.rules[0].at - 0.7).abs() < 1e-9 && figure.plot.rules[0].name == "limit 0.700");
        assert_eq!(figure.table.rows[2], ["1000", "0.684194"]);
        assert!(figure.facts[0].contains("0.700 ± 0.0") && figure.facts[0].contains("20.0"), "{:?}", figure.facts);
        let needed = learned(0.3).rows_needed.unwrap();
        assert!((3051.0..=3052.0).contains(&needed) && figure.facts[1].contains(&count(needed as u64)));
    }

    #[test]
    fn ridge_regressions_are_a_second_curve() {
        let mut block = learned(0.3);
        block.ridge_curve = [250.0, 1000.0].map(|rows| LearningPoint { rows, r2: vec![Some(0.66); 2] }).to_vec();
        let figure = curve(&block).unwrap();
        let [_, ridge, _] = &figure.plot.series[..] else { panic!("{:?}", figure.plot.series) };
        assert_eq!((ridge.name.as_str(), ridge.marks.len(), ridge.marks[1].y), ("ridge regression", 2, Some(0.66)));
        assert_eq!(figure.table.rows[0].len(), 3);
        block.ridge_curve[0].rows = 0.0;
        assert_eq!(curve(&block).unwrap().plot.series.len(), 2);
    }

    #[test]
    fn without_a_limit_the_fits_stand_alone_and_without_sizes_there_is_no_figure() {
        let mut block = learned(0.3);
        block.learn(block.learning_curve[1..].to_vec());
        let figure = curve(&block).unwrap();
        assert_eq!((figure.plot.series.len(), figure.plot.rules.len(), figure.facts.len()), (1, 0, 0));
        block.learn(block.learning_curve[1..].to_vec());
        assert_eq!(curve(&block), None);
        assert_eq!(curve(&BlockReport::default()), None);
        let mut hostile = learned(0.3);
        hostile.learning_curve[0].rows = -1.0;
        assert_eq!(curve(&hostile), None);
        assert_eq!(curve(&learned(-0.1)).unwrap().facts.len(), 1, "more rows would not raise it");
    }
}
