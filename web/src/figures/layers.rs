//! Whole layers: linearity and size of their residual stream step, and the model's loss without them.

use straightedge_api::fields::Field;
use straightedge_api::report::{LayerReport, Report};

use super::figure::{Figure, grid_of, series, share_axis};
use super::orders;
use crate::chart::plot::{Axis, Mark, Plot, Series};
use crate::chart::scale::Kind;
use crate::text::engine;
use crate::text::format::{exact, fixed, rounded};
use crate::text::{fill, t};

pub(super) fn figures(report: &Report) -> Vec<Option<Figure>> {
    vec![
        linearity(report),
        update(report),
        losses(report),
        orders::of_layers(report),
        anisotropy(report),
        dimension(report),
        properties(report),
    ]
}

fn linearity(report: &Report) -> Option<Figure> {
    let all = [
        by_layer(report, t().layer_linearity, 0, "", |layer| Some(layer.linearity)),
        by_layer(report, t().layer_heldout, 1, "linearity_heldout", |layer| Some(layer.linearity_heldout)),
        by_layer(report, t().layer_no_residual, 2, "", |layer| Some(layer.linearity_no_residual)),
    ];
    let axis = share_axis(t().axis_linearity);
    figure(report, all, FigureText { axis, title: t().layers_figure, caption: t().layers_caption, cell: rounded })
}

fn update(report: &Report) -> Option<Figure> {
    let all = [by_layer(report, t().layer_update, 3, "", |layer| Some(layer.update_norm_ratio))];
    let axis = Axis { name: t().axis_update, kind: Kind::FromZero };
    figure(report, all, FigureText { axis, title: t().update_figure, caption: t().update_caption, cell: exact })
}

fn anisotropy(report: &Report) -> Option<Figure> {
    let all = [by_layer(report, engine::label(Field::Anisotropy), 4, "", |layer| Some(layer.anisotropy))];
    let axis = share_axis(engine::axis(Field::Anisotropy));
    figure(
        report,
        all,
        FigureText { axis, title: t().anisotropy_figure, caption: t().anisotropy_caption, cell: rounded },
    )
}

fn dimension(report: &Report) -> Option<Figure> {
    let field = Field::IntrinsicDimension;
    let all = [by_layer(report, engine::label(field), 5, "", |layer| Some(layer.intrinsic_dimension))];
    let axis = Axis { name: engine::axis(field), kind: Kind::FromZero };
    figure(report, all, FigureText { axis, title: t().dimension_figure, caption: t().dimension_caption, cell: exact })
}

/// The properties in reports, from the stream of the token itself to what follows it.
const PROPERTIES: [(&str, Field); 6] = [
    ("token", Field::ReadsToken),
    ("position", Field::ReadsPosition),
    ("next_kind", Field::ReadsNextKind),
    ("sentence_end", Field::ReadsSentenceEnd),
    ("person", Field::ReadsPerson),
    ("place", Field::ReadsPlace),
];

fn properties(report: &Report) -> Option<Figure> {
    let accuracy = |field: Field| move |layer: &LayerReport| field.of_layer(layer).map(Some);
    let all = PROPERTIES.map(|(_, field)| field);
    let mut style = 0..;
    let all =
        all.map(|field| by_layer(report, engine::label(field), style.next()?, field.line().interval, accuracy(field)));
    let axis = share_axis(engine::axis(Field::ReadsToken));
    let text = FigureText { axis, title: t().properties_figure, caption: t().properties_caption, cell: rounded };
    let mut figure = figure(report, all, text)?;
    let guess = |(name, field): &(&str, Field)| {
        let share = report.layers.iter().find_map(|layer| layer.properties.get(*name)?.most_frequent)?;
        Some(format!("{} {}", engine::label(*field), fixed(Some(share), 2)))
    };
    let guesses: Vec<_> = PROPERTIES.iter().filter_map(guess).collect();
    figure.facts = vec![fill(t().properties_guess, &[("shares", &guesses.join(", "))])];
    Some(figure)
}

fn losses(report: &Report) -> Option<Figure> {
    let loss = |key: &'static str| move |layer: &LayerReport| layer.delta_ppl.get(key).copied();
    let all = [
        by_layer(report, t().layer_linear, 0, "delta_ppl_linear", loss("linear")),
        by_layer(report, t().layer_removed, 2, "delta_ppl_removed", loss("removed")),
    ];
    let axis = Axis { name: t().axis_delta_ppl, kind: Kind::Wide };
    figure(
        report,
        all,
        FigureText { axis, title: t().layer_losses_figure, caption: t().layer_losses_caption, cell: exact },
    )
}

/// Texts around the curves of a figure, and how its table writes their values.
struct FigureText {
    axis: Axis,
    title: &'static str,
    caption: &'static str,
    cell: fn(Option<f64>) -> String,
}

fn figure<const N: usize>(report: &Report, all: [Option<Series>; N], text: FigureText) -> Option<Figure> {
    let FigureText { axis, title, caption, cell } = text;
    let all: Vec<_> = all.into_iter().flatten().collect();
    let is_known = all.iter().any(|series| series.marks.iter().any(|mark| mark.y.is_some()));
    let layers = report.model.num_hidden_layers.max(report.layers.last().map_or(0, |layer| layer.layer + 1));
    is_known.then(|| Figure {
        title: title.into(),
        table: grid_of(t().layer, &all, |mark| mark.x.to_string(), cell),
        plot: Plot {
            x: Axis { name: t().axis_layer, kind: Kind::Index(layers) },
            y: axis,
            series: all,
            rules: Vec::new(),
        },
        facts: Vec::new(),
        caption,
    })
}

/// One mark per layer that has this value, within its interval of this name.
fn by_layer(
    report: &Report,
    name: &str,
    style: usize,
    interval: &str,
    value: impl Fn(&LayerReport) -> Option<Option<f64>>,
) -> Option<Series> {
    let mark = |layer: &LayerReport| {
        let name = fill(t().layer_n, &[("layer", &layer.layer.to_string())]);
        let interval = layer.intervals.get(interval).copied();
        Some(Mark::new(name, layer.layer as f64, value(layer)?).within(None, interval))
    };
    series(name, style, report.layers.iter().filter_map(mark).collect())
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::Interval;

    use super::super::sample;
    use super::*;

    #[test]
    fn layers_show_all_their_measures() {
        let figures: Vec<_> = figures(&sample::report()).into_iter().flatten().collect();
        let names: Vec<_> = figures.iter().map(|figure| figure.plot.series.len()).collect();
        assert_eq!(names, [3, 1, 2, 2, 1, 1, 1]);
        assert!(figures[6].facts[0].ends_with("token read out 0.50."), "{:?}", figures[6].facts);
        assert_eq!(figures[0].table.rows[1], ["1", "0.9900", "0.9800", "0.4000"]);
        assert_eq!(figures[2].plot.series[1].marks[0].y, Some(7.0));
    }

    #[test]
    fn numbers_of_layers_have_their_own_intervals() {
        let mut report = sample::report();
        let interval = |value: f64| Interval { low: value - 0.0625, high: value + 0.0625 };
        report.layers[1].intervals =
            [("linearity_heldout", 0.98), ("delta_ppl_linear", 0.1), ("delta_ppl_removed", 2.0), ("reads_token", 0.75)]
                .map(|(name, value)| (name.into(), interval(value)))
                .into();
        let figures: Vec<_> = figures(&report).into_iter().flatten().collect();
        assert_eq!(figures[0].table.rows[1], ["1", "0.9900", "0.98 ± 0.06", "0.4000"]);
        assert_eq!(figures[2].table.rows[0], ["0", "0.100000", "7"]);
        assert_eq!(figures[2].table.rows[1], ["1", "0.10 ± 0.06", "2.00 ± 0.06"]);
        assert_eq!(figures[6].table.rows[1], ["1", "0.75 ± 0.06"]);
        let text = figures[6].plot.describe((0, 1));
        assert!(text.contains("0.75 ± 0.06 (0.750000)"), "{text}");
    }

    #[test]
    fn an_encoder_has_no_losses_to_show() {
        let mut report = sample::report();
        report.orders.clear();
        report.layers.iter_mut().for_each(|layer| layer.delta_ppl.values_mut().for_each(|value| *value = None));
        assert_eq!(figures(&report).into_iter().flatten().count(), 5);
    }
}
