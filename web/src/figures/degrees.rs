//! Polynomials fitted in closed form: R² by degree, and by the number of features.

use straightedge_api::report::{BlockReport, DegreePoint, Report};

use super::figure::{Figure, at_x, block_name, by_block, grid_of, series, with_closed_form};
use super::shown::shown_block;
use crate::chart::plot::{Axis, Mark, Plot, Rule, Series};
use crate::chart::scale::Kind;
use crate::state::views::View;
use crate::text::format::{fixed, rounded};
use crate::text::probes::t as probes;
use crate::text::{fill, t};

/// Degrees beyond the linear map, as the report names them.
const DEGREES: [&str; 3] = ["2", "3", "4"];

fn name(degree: &str) -> String {
    fill(probes().degree_n, &[("degree", degree)])
}

/// R² of every block with the most features, by degree.
pub(super) fn overview(report: &Report) -> Option<Figure> {
    let of_degree =
        |(at, degree): (usize, &&str)| by_block(report, &name(degree), at + 1, |block| Some(last(block, degree)?.r2));
    let polynomials: Vec<Series> = DEGREES.iter().enumerate().filter_map(of_degree).collect();
    with_closed_form(
        report,
        [probes().degrees_figure, probes().degrees_caption],
        polynomials,
        fact(report).into_iter().collect(),
    )
}

/// The mean over blocks of what degree 2 adds to R²_lin, and of what the highest degree adds to that.
fn fact(report: &Report) -> Option<String> {
    let mean = |gain: &dyn Fn(&BlockReport) -> Option<f64>| {
        let gains: Vec<f64> = report.blocks.iter().filter_map(gain).collect();
        (!gains.is_empty()).then(|| gains.iter().sum::<f64>() / gains.len() as f64)
    };
    let [second, third, highest] = DEGREES.map(|degree| move |block: &BlockReport| last(block, degree)?.r2);
    let products = mean(&|block| Some(second(block)? - block.r2_lin?))?;
    let more = mean(&|block| Some(third(block)?.max(highest(block)?) - second(block)?))?;
    Some(fill(probes().degrees_fact, &[("second", &fixed(Some(products), 4)), ("more", &fixed(Some(more), 4))]))
}

fn last<'r>(block: &'r BlockReport, degree: &str) -> Option<&'r DegreePoint> {
    block.degrees.get(degree)?.last()
}

/// R² of one block by the number of features.
pub(super) fn growth(report: &Report, block: Option<usize>) -> Option<Figure> {
    let number = shown_block(View::Probes, report, block)?;
    let block = report.blocks.iter().find(|block| block.block == number)?;
    let of_degree = |(at, degree): (usize, &&str)| {
        let mark = |point: &DegreePoint| Mark::new("", point.features as f64, point.r2).of_block(block.block);
        let found = series(&name(degree), at + 1, block.degrees.get(*degree)?.iter().map(mark).collect())?;
        Some(Series { joined: true, marked: true, ..found })
    };
    let all: Vec<Series> = DEGREES.iter().enumerate().filter_map(of_degree).collect();
    let solved = block.r2_lin.map(|at| Rule { is_x: false, at, name: t().closed_form.into() });
    (!all.is_empty()).then(|| Figure {
        title: format!("{}: {}", block_name(number), probes().degrees_growth_figure),
        table: grid_of(t().axis_features, &all, at_x, rounded),
        plot: Plot {
            x: Axis { name: t().axis_features, kind: Kind::Log },
            y: Axis { name: t().axis_heldout, kind: Kind::Linear },
            series: all,
            rules: solved.into_iter().collect(),
        },
        facts: Vec::new(),
        caption: probes().degrees_growth_caption,
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn degrees_stand_beside_the_linear_map() {
        let report = sample::report();
        let figure = overview(&report).unwrap();
        assert_eq!(figure.table.rows[0], ["0", "0.9000", "0.9250", "0.9500", "0.9375"]);
        assert_eq!(
            figure.facts,
            [
                "On average, degree 2 adds 0.0250 to R² of the linear map; with as many features, the better of degrees 3 and 4 differs from degree 2 by 0.0250."
            ]
        );
    }

    #[test]
    fn growth_is_that_of_one_block() {
        let figure = growth(&sample::report(), Some(0)).unwrap();
        assert_eq!(figure.table.rows, [["12", "0.9125", "0.9125", "0.9125"], ["16", "0.9250", "0.9500", "0.9375"]]);
        assert_eq!(figure.plot.rules[0].at, 0.9);
    }
}
