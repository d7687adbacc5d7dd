//! Two numbers of every block on the same held-out windows, such as the losses by two replacements: by how much they
//! differ, and whether the windows explain it.

use std::collections::BTreeSet;

use straightedge_api::paired::{MeasuredValue, PairedDifference};
use straightedge_api::report::{BlockReport, Interval, Report};

use super::figure::{BLOCK_AXIS, Figure, at_block, block_mark, blocks_of, grid_of, series};
use crate::chart::plot::{Axis, Plot, Rule, Series};
use crate::chart::scale::Kind;
use crate::text::format::{exact, magnitude, spans};
use crate::text::language::plural;
use crate::text::pairs::t as pairs;
use crate::text::verdict::t as verdict;
use crate::text::{fill, t};

/// Beginning of the names of losses in `influence`.
const LOSS: &str = "delta_ppl_";

/// The replacements whose losses can be compared: named as in the report, ranks last and ascending.
pub fn replacements(report: &Report) -> Vec<String> {
    let losses = report.blocks.iter().flat_map(|block| block.influence.keys());
    let names: BTreeSet<&str> = losses.filter_map(|name| name.strip_prefix(LOSS)).collect();
    let mut names: Vec<String> = names.into_iter().map(String::from).collect();
    names.sort_by_key(|name| name.strip_prefix("rank_").and_then(|rank| rank.parse::<usize>().ok()));
    names
}

/// A replacement's name for people.
pub fn replacement_name(name: &str) -> String {
    match (name, name.strip_prefix("rank_")) {
        ("linear", _) => t().swap_linear.into(),
        ("mean", _) => t().swap_mean.into(),
        ("zero", _) => t().swap_zero.into(),
        (_, Some(rank)) => fill(pairs().rank, &[("rank", rank)]),
        _ => name.into(),
    }
}

/// The loss by the second replacement minus that by the first, block by block; `None` where no block has both.
pub fn pair(report: &Report, [first, second]: [&str; 2]) -> Option<Figure> {
    let differences: Vec<(&BlockReport, PairedDifference)> =
        report.blocks.iter().filter_map(|block| Some((block, difference(block, [first, second])?))).collect();
    let mark = |(block, PairedDifference { amount, half }): &(&BlockReport, PairedDifference)| {
        let within = Interval { low: amount - half, high: amount + half };
        block_mark(block, block.block as f64, Some(*amount)).within(None, Some(within))
    };
    let names = [second, first].map(replacement_name);
    let [name, other] = names.each_ref().map(String::as_str);
    let gaps = [("name", name), ("first", other)];
    let line: Series = series(&fill(pairs().series, &gaps), 0, differences.iter().map(mark).collect())?;
    let known = differences.iter().map(|(block, difference)| (block.block, *difference)).collect();
    let all = vec![line];
    Some(Figure {
        title: fill(pairs().figure, &gaps),
        table: grid_of(t().block, &all, at_block, exact),
        plot: Plot {
            x: BLOCK_AXIS(blocks_of(report)),
            y: Axis { name: pairs().axis, kind: Kind::Wide },
            series: all,
            rules: vec![Rule { is_x: false, at: 0.0, name: String::new() }],
        },
        facts: sentence([name, other], PlaceKind::Blocks, known).into_iter().collect(),
        caption: pairs().caption,
    })
}

fn difference(block: &BlockReport, names: [&str; 2]) -> Option<PairedDifference> {
    let [first, second] = names.map(|name| MeasuredValue::of(block, &format!("{LOSS}{name}")));
    PairedDifference::new(first?, second?)
}

/// What differences are of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceKind {
    Blocks,
    Layers,
}

impl PlaceKind {
    /// The places at these indices, as prose.
    fn written(self, at: Vec<usize>) -> String {
        let [one, many] = match self {
            Self::Blocks => [verdict().undefined_one, verdict().undefined_many],
            Self::Layers => [pairs().layer, pairs().layers],
        };
        let name = plural(at.len(), one, many);
        let indices = spans(&at.into_iter().collect()).replace('-', "–").replace(',', ", ");
        fill(name, &[("blocks", &indices)])
    }
}

/// In which places `name` differs from `first` by more than the held-out windows explain; `None` where no difference is
/// known.
pub(super) fn sentence(
    [name, first]: [&str; 2],
    places: PlaceKind,
    known: Vec<(usize, PairedDifference)>,
) -> Option<String> {
    let (differing, same): (Vec<_>, Vec<_>) = known.into_iter().partition(|(_, difference)| difference.differs());
    let written = |found: &[(usize, PairedDifference)]| places.written(found.iter().map(|(at, _)| *at).collect());
    let (most, alike) = (differing.iter().max_by(|a, b| a.1.amount.abs().total_cmp(&b.1.amount.abs())), written(&same));
    let Some((at, PairedDifference { amount, half })) = most else {
        let gaps = [("name", name), ("first", first), ("blocks", &alike)];
        return (!same.is_empty()).then(|| fill(pairs().alike, &gaps));
    };
    let gaps = [
        ("name", name),
        ("first", first),
        ("blocks", &written(&differing)),
        ("at", &places.written(vec![*at])),
        ("amount", &magnitude(Some(*amount))),
        ("half", &magnitude(Some(*half))),
    ];
    let rest = if same.is_empty() { String::new() } else { fill(pairs().rest, &[("blocks", &alike)]) };
    Some(fill(pairs().differs, &gaps) + &rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    /// Two blocks, of which the second loses much more by a map of rank 4 than by the full one.
    fn measured() -> Report {
        let mut report = sample_report();
        let noise = |scale: f64| (0..12).map(|at| [scale, -scale][at % 2]).collect::<Vec<f64>>();
        for (block, (rank_4, own)) in report.blocks.iter_mut().zip([(0.51, 0.2), (1.5, 0.01)]) {
            block.delta_ppl = [("linear", 0.5), ("rank_16", 0.7), ("rank_4", rank_4), ("zero", 3.0)]
                .map(|(name, loss)| (name.to_owned(), Some(loss)))
                .into();
            block.influence = [
                ("r2_lin", 0.1),
                ("delta_ppl_linear", 0.3),
                ("delta_ppl_rank_16", 0.3),
                ("delta_ppl_rank_4", 0.3 + own),
            ]
            .map(|(name, scale)| (name.to_owned(), noise(scale)))
            .into();
        }
        report
    }

    #[test]
    fn replacements_are_those_with_influences_ranks_last() {
        assert_eq!(replacements(&measured()), ["linear", "rank_4", "rank_16"]);
        assert!(replacements(&sample_report()).is_empty());
        assert_eq!(["zero", "rank_8", "poly"].map(replacement_name), ["removed", "rank 8", "poly"]);
    }

    #[test]
    fn two_replacements_differ_where_the_windows_do_not_explain_it() {
        let figure = pair(&measured(), ["linear", "rank_4"]).expect("a figure");
        let marks = &figure.plot.series[0].marks;
        assert_eq!(marks.len(), 2);
        assert!((marks[1].y.expect("a difference") - 1.0).abs() < 1e-12);
        let within = marks[0].within.y.expect("an interval");
        assert!(within.low < 0.0 && within.high > 0.0, "{within:?}");
        assert!(
            figure.facts[0].starts_with(
                "On the same held-out windows, rank 4 differs from linear in block 1, most in block 1: by 1.00 ±"
            ) && figure.facts[0].ends_with("It does not differ here in block 0."),
            "{}",
            figure.facts[0]
        );
        assert_eq!(pair(&measured(), ["linear", "zero"]), None, "no influences of zero");
    }
}
