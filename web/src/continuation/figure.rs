//! A chart of the KL divergence between both models at every token.

use straightedge_api::continuation::Step;

use super::state::ContinuationState;
use super::wording::{numbers, shown};
use crate::chart::plot::{Axis, Mark, Plot, Rule, Series};
use crate::chart::scale::Kind;
use crate::figures::Figure;
use crate::text::continuation::t;
use crate::text::fill;

/// KL as a column per token; `None` before the first one.
pub fn figure(continuation: &ContinuationState) -> Option<Figure> {
    let transcript = continuation.transcript();
    let marks: Vec<Mark> = transcript.steps.iter().map(mark).collect();
    let parting = transcript.parting();
    // Before the column of the first token that differs.
    let rule = |at: usize| Rule { is_x: true, at: at as f64 - 0.5, name: t().figure_parting.into() };
    let tokens = marks.len();
    (!marks.is_empty()).then(|| Figure {
        title: t().figure_title.into(),
        plot: Plot {
            x: Axis { name: t().figure_token, kind: Kind::Index(tokens) },
            y: Axis { name: t().table_kl, kind: Kind::Nats },
            series: vec![Series { columns: true, marks, ..Series::default() }],
            rules: parting.map(rule).into_iter().collect(),
        },
        facts: Vec::new(),
        caption: t().figure_caption,
        table: numbers(transcript),
    })
}

fn mark(step: &Step) -> Mark {
    let [original, linear] = [&step.token.original, &step.token.linear].map(|token| shown(&token.name));
    let gaps = [("original", original.as_str()), ("linear", &linear)];
    let both = fill(t().figure_both, &gaps);
    let more = if step.is_same() { original } else { both };
    Mark { more, ..Mark::new((step.step + 1).to_string(), step.step as f64, Some(step.kl)) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{opened, received, step};
    use super::*;

    #[test]
    fn every_token_has_its_column_and_the_parting_its_line() {
        assert_eq!(figure(&received(&[opened()])), None);
        let continuation = received(&[opened(), step(0, [" a", " a"], 0.0), step(1, [" bb", "\n"], 0.25)]);
        let figure = figure(&continuation).unwrap();
        let marks = &figure.plot.series[0].marks;
        assert_eq!(
            marks.iter().map(|mark| (mark.x, mark.y)).collect::<Vec<_>>(),
            [(0.0, Some(0.0)), (1.0, Some(0.25))]
        );
        assert_eq!(figure.plot.describe((0, 0)), "Token 1: KL in nats 0, ␣a");
        assert_eq!(figure.plot.describe((0, 1)), "Token 2: KL in nats 0.250000, ␣bb, linear ⏎");
        assert_eq!(figure.plot.rules.iter().map(|rule| rule.at).collect::<Vec<_>>(), [0.5]);
        assert_eq!(figure.table.rows.len(), 2);
    }
}
