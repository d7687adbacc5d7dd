//! The views of a measurement: names, required measures, and whether those are available.

use std::collections::BTreeSet;

use straightedge_api::baseline::BaselineTraining;
use straightedge_api::job::Measure;
use straightedge_api::report::{BlockReport, HealedTogether, Report, orders};

use crate::text::continuation as texts_sides;
use crate::text::detail::t as d;
use crate::text::{Texts, fill, groups, probes, t};

/// A view, in the order of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// R² by block.
    #[default]
    Profile,
    /// One block in detail.
    Block,
    /// A prompt continued by the model and by the model with linear blocks.
    Continuation,
    /// What the model loses.
    Losses,
    /// Maps of every rank.
    Ranks,
    /// Healing.
    Healing,
    /// Which kind of linearity.
    Regimes,
    /// Probes of the residual.
    Probes,
    /// The under-trained baseline.
    Baseline,
    /// Controls.
    Controls,
    /// Whole layers.
    Layers,
    /// Several measurements in one chart.
    Compare,
}

/// Why a measure is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An encoder has no next-token perplexity.
    Encoder,
    /// It needs the model that the rows came from.
    Rows,
}

impl View {
    /// All views.
    pub const ALL: [Self; 12] = [
        Self::Profile,
        Self::Block,
        Self::Continuation,
        Self::Losses,
        Self::Ranks,
        Self::Healing,
        Self::Regimes,
        Self::Probes,
        Self::Baseline,
        Self::Controls,
        Self::Layers,
        Self::Compare,
    ];

    /// Stable short name, for addresses and tests.
    pub fn id(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Block => "block",
            Self::Compare => "compare",
            Self::Continuation => "sides",
            Self::Losses => "losses",
            Self::Regimes => "regimes",
            Self::Ranks => "ranks",
            Self::Probes => "probes",
            Self::Baseline => "baseline",
            Self::Controls => "controls",
            Self::Layers => "layers",
            Self::Healing => "healing",
        }
    }

    /// Tab name, full name, and description in one sentence.
    pub fn texts(self) -> [&'static str; 3] {
        let t: &Texts = t();
        match self {
            Self::Profile => [t.profile_tab, t.chart_name, ""],
            Self::Block => [d().tab, d().name, d().about],
            Self::Compare => [t.compare_tab, t.compare_name, t.compare_about],
            Self::Continuation => [texts_sides::t().tab, texts_sides::t().name, texts_sides::t().about],
            Self::Losses => [t.losses_tab, t.losses_name, t.losses_about],
            Self::Regimes => [t.regimes_tab, t.regimes_name, t.regimes_about],
            Self::Ranks => [t.ranks_tab, t.ranks_name, t.ranks_about],
            Self::Probes => [probes::t().probes_tab, probes::t().probes_name, probes::t().probes_about],
            Self::Baseline => [t.baseline_tab, t.baseline_name, t.baseline_about],
            Self::Controls => [t.controls_tab, t.controls_name, t.controls_about],
            Self::Layers => [t.layers_tab, t.layers_name, t.layers_about],
            Self::Healing => [t.healing_tab, t.healing_name, t.healing_about],
        }
    }

    /// Measures without which it has nothing to show; empty for views that explain themselves before anything is
    /// measured.
    pub fn measures(self) -> &'static [Measure] {
        match self {
            Self::Profile | Self::Compare | Self::Continuation => &[],
            Self::Regimes => &[Measure::Fit],
            Self::Block => &[Measure::Swap, Measure::RankSwap, Measure::Probes, Measure::Degrees],
            Self::Losses => &[Measure::Swap, Measure::Greedy],
            Self::Ranks => &[Measure::RankSwap],
            Self::Probes => &[Measure::Probes, Measure::FurtherProbes, Measure::Degrees, Measure::Conjunction],
            Self::Baseline => &[Measure::Baseline],
            Self::Controls => &[Measure::Controls],
            Self::Layers => &[Measure::Layers, Measure::Prune],
            Self::Healing => &[Measure::Heal, Measure::HealTogether],
        }
    }

    /// Whether it shows one block at a time.
    pub fn is_by_block(self) -> bool {
        matches!(self, Self::Block | Self::Ranks | Self::Probes | Self::Baseline | Self::Healing)
    }
}

/// The question that a measure answers.
pub fn question(measure: Measure) -> &'static str {
    let t = groups::t();
    match measure {
        Measure::Fit => t.asks_fit,
        Measure::Swap => t.asks_swap,
        Measure::RankSwap => t.asks_rank_swap,
        Measure::Greedy => t.asks_greedy,
        Measure::Layers => t.asks_layers,
        Measure::Prune => t.asks_prune,
        Measure::Probes => t.asks_probes,
        Measure::FurtherProbes => t.asks_further_probes,
        Measure::Degrees => t.asks_degrees,
        Measure::Baseline => t.asks_baseline,
        Measure::Conjunction => t.asks_conjunction,
        Measure::Controls => t.asks_controls,
        Measure::Heal => t.asks_heal,
        Measure::HealTogether => t.asks_heal_together,
    }
}

/// Name of a measure on buttons.
pub fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Fit => t().measure_fit,
        Measure::Swap => t().measure_swap,
        Measure::RankSwap => t().measure_rank_swap,
        Measure::Greedy => t().measure_greedy,
        Measure::Layers => t().measure_layers,
        Measure::Prune => t().measure_prune,
        Measure::Probes => t().measure_probes,
        Measure::FurtherProbes => probes::t().measure_further,
        Measure::Degrees => t().measure_degrees,
        Measure::Baseline => t().measure_baseline,
        Measure::Conjunction => t().measure_conjunction,
        Measure::Controls => t().measure_controls,
        Measure::Heal => t().measure_heal,
        Measure::HealTogether => t().measure_heal_together,
    }
}

/// Whether a report has all values of a measure.
pub fn is_complete(measure: Measure, report: &Report) -> bool {
    if report.blocks.is_empty() {
        return false;
    }
    let layers = report.model.num_hidden_layers;
    match measure {
        Measure::Layers => return report.layers.len() >= layers,
        Measure::Greedy => return steps(report, orders::GREEDY_REFITTED) >= report.blocks.len(),
        Measure::Prune => return steps(report, orders::LAYERS_LINEAR) >= layers,
        Measure::HealTogether => return orders::HEALED.iter().all(|order| is_healed(report, order)),
        _ => {}
    }
    report.blocks.iter().all(|block| has(measure, block))
}

/// Steps of an order in a report.
fn steps(report: &Report, order: &str) -> usize {
    report.orders.get(order).map_or(0, Vec::len)
}

/// Whether the first half of an order was healed in both ways.
fn is_healed(report: &Report, order: &str) -> bool {
    report.healed_together.get(order).is_some_and(|healed| healed.delta_ppl.contains_key(HealedTogether::TOKENS))
}

/// All measures beyond the fit that a report has a value of.
pub fn measured(report: &Report) -> BTreeSet<Measure> {
    let some = |measure: &Measure| match measure {
        Measure::Fit => false,
        Measure::Layers => !report.layers.is_empty(),
        Measure::Greedy => steps(report, orders::GREEDY) > 0,
        Measure::Prune => steps(report, orders::LAYERS_REMOVED) > 0,
        Measure::HealTogether => !report.healed_together.is_empty(),
        measure => report.blocks.iter().any(|block| has(*measure, block)),
    };
    Measure::ALL.into_iter().filter(some).collect()
}

/// Whether a block has a value of a measure.
pub fn has(measure: Measure, block: &BlockReport) -> bool {
    let trained = |training: &BaselineTraining| block.curves.contains_key(training.name());
    let probed = |names: &[&str]| names.iter().any(|name| block.probes.contains_key(*name));
    match measure {
        Measure::Fit => true,
        Measure::Swap => block.delta_ppl.contains_key("zero"),
        Measure::RankSwap => block.delta_ppl.keys().any(|name| name.starts_with("rank_")),
        Measure::Layers | Measure::Greedy | Measure::Prune | Measure::HealTogether => false,
        Measure::Probes => probed(&straightedge_api::probes::NAMES),
        Measure::FurtherProbes => probed(&straightedge_api::probes::FURTHER),
        Measure::Degrees => !block.degrees.is_empty(),
        // Reports of versions before `adamw_constant` have only these two.
        Measure::Baseline => [BaselineTraining::Sgd, BaselineTraining::Adamw].iter().all(trained),
        Measure::Conjunction => block.conjunction.is_some(),
        Measure::Controls => !block.controls.is_empty(),
        Measure::Heal => !block.heal.is_empty(),
    }
}

/// Why a measure is unavailable for the model of a report.
pub fn refusal(measure: Measure, report: &Report) -> Option<Refusal> {
    let is_encoder = report.model.is_encoder();
    let is_perplexity = matches!(
        measure,
        Measure::Swap | Measure::RankSwap | Measure::Greedy | Measure::Prune | Measure::Heal | Measure::HealTogether
    );
    let is_rows = report.model.architecture == "rows";
    let is_of_rows = matches!(
        measure,
        Measure::Fit | Measure::Probes | Measure::FurtherProbes | Measure::Degrees | Measure::Baseline
    );
    if is_rows && !is_of_rows {
        Some(Refusal::Rows)
    } else if is_encoder && is_perplexity {
        Some(Refusal::Encoder)
    } else {
        None
    }
}

/// The reason in words.
pub fn refused(measure: Measure, refusal: Refusal) -> String {
    let text = match refusal {
        Refusal::Encoder => t().refused_encoder,
        Refusal::Rows => t().refused_rows,
    };
    fill(text, &[("measure", name(measure))])
}

/// Measures a job must include to add one to a report.
pub fn job_measures(measure: Measure) -> BTreeSet<Measure> {
    BTreeSet::from([Measure::Fit, measure])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report as report;

    #[test]
    fn a_measure_is_complete_when_every_block_has_it() {
        let mut report = report();
        assert!(!is_complete(Measure::Swap, &report));
        report.blocks.truncate(2);
        assert!(is_complete(Measure::Swap, &report));
        assert!(!is_complete(Measure::Heal, &report));
        assert!(!is_complete(Measure::Layers, &report), "two of three layers");
    }

    #[test]
    fn what_was_measured_is_known_from_the_report() {
        let mut report = report();
        assert!(measured(&report).is_superset(&BTreeSet::from([Measure::Swap, Measure::Layers])));
        report.blocks.clear();
        report.layers.clear();
        report.orders.clear();
        report.healed_together.clear();
        assert!(measured(&report).is_empty());
    }

    #[test]
    fn an_encoder_is_told_why_it_has_no_perplexity() {
        let mut report = report();
        assert_eq!(refusal(Measure::Swap, &report), None);
        for encoder in ["roberta", "distilbert", "modernbert", "bert"] {
            report.model.architecture = encoder.into();
            assert_eq!(refusal(Measure::Swap, &report), Some(Refusal::Encoder), "{encoder}");
        }
        assert!(refused(Measure::Swap, Refusal::Encoder).contains("encoder"));
        assert_eq!(refusal(Measure::Layers, &report), None);
    }

    #[test]
    fn rows_are_told_what_needs_their_model() {
        let mut report = report();
        report.model.architecture = "rows".into();
        for measure in [Measure::Swap, Measure::Layers, Measure::Conjunction, Measure::Controls] {
            assert_eq!(refusal(measure, &report), Some(Refusal::Rows), "{measure}");
        }
        assert_eq!(refusal(Measure::Probes, &report), None);
    }

    #[test]
    fn every_view_has_a_name_and_all_but_the_first_say_what_they_are() {
        for view in View::ALL {
            let [tab, name, about] = view.texts();
            assert!(!tab.is_empty() && !name.is_empty());
            assert!(view == View::Profile || about.ends_with('.'), "{view:?}");
        }
    }

    #[test]
    fn every_measure_answers_a_question_of_its_own() {
        let questions: BTreeSet<_> = Measure::ALL.into_iter().map(question).collect();
        assert_eq!(questions.len(), Measure::ALL.len());
        assert!(questions.iter().all(|question| question.ends_with('?')));
    }
}
