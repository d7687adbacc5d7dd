//! The engine's names in the language in use: report fields with their definitions, stages, and their units.
//!
//! Their English is the engine's own, in `straightedge_api`.

use std::cell::Cell;

use straightedge_api::bundled::Bundled;
use straightedge_api::event::Stage;
use straightedge_api::fields::{Field, Higher};

use super::language::Words;

thread_local! {
    static IN_USE: Cell<Option<&'static Words>> = const { Cell::new(None) };
    static MODELS: Cell<Option<&'static Words>> = const { Cell::new(None) };
}

/// All stages.
const STAGES: [Stage; 16] = [
    Stage::Download,
    Stage::Device,
    Stage::Load,
    Stage::Hash,
    Stage::Tokenize,
    Stage::Measure,
    Stage::Swap,
    Stage::Greedy,
    Stage::Layers,
    Stage::Conjunction,
    Stage::Probes,
    Stage::Degrees,
    Stage::Baseline,
    Stage::Controls,
    Stage::Heal,
    Stage::Continue,
];

/// What a definition says of a high value.
const MORE_LINEAR: &str = "Higher is more linear.";
const LESS_LINEAR: &str = "Lower is more linear.";

/// Name of a field.
pub fn label(field: Field) -> &'static str {
    word("label", field.line().path).unwrap_or(field.label())
}

/// Name of a field's axis in a chart over blocks or layers; empty where it has none.
pub fn axis(field: Field) -> &'static str {
    word("axis", field.id()).unwrap_or(field.line().chart.map_or("", |chart| chart.axis))
}

/// Definition of a field in sentences.
pub fn definition(field: Field) -> String {
    let Some(meaning) = word("meaning", field.line().path) else { return field.hover() };
    let direction = match field.line().higher {
        Higher::MoreLinear => word("higher", "more_linear").unwrap_or(MORE_LINEAR),
        Higher::LessLinear => word("higher", "less_linear").unwrap_or(LESS_LINEAR),
        Higher::Neither => return format!("{meaning}."),
    };
    format!("{meaning}. {direction}")
}

/// A stage as a present participle.
pub fn stage(stage: Stage) -> &'static str {
    word("stage", &format!("{stage:?}").to_lowercase()).unwrap_or(stage.label())
}

/// The unit of a stage's amounts.
pub(crate) fn unit(stage: Stage) -> &'static str {
    word("unit", stage.unit()).unwrap_or(stage.unit())
}

/// Gives bundled models their titles and descriptions.
pub fn name_models(models: &mut [Bundled]) {
    let Some(words) = MODELS.get() else { return };
    for model in models {
        for (kind, text) in [("title", &mut model.title), ("about", &mut model.about)] {
            if let Some(word) = words.get(&key(kind, &model.name)) {
                text.clone_from(word);
            }
        }
    }
}

/// Names and English texts of fields that tables or charts show, of stages and of units.
pub(crate) fn english() -> Vec<(String, String)> {
    let mut words = vec![(key("higher", "more_linear"), MORE_LINEAR), (key("higher", "less_linear"), LESS_LINEAR)];
    for field in Field::ALL.iter().filter(|field| !field.label().is_empty()) {
        words.push((key("label", field.line().path), field.label()));
        words.push((key("meaning", field.line().path), field.line().meaning));
        words.extend(field.line().chart.map(|chart| (key("axis", chart.id), chart.axis)));
    }
    for stage in STAGES {
        words.push((key("stage", &format!("{stage:?}").to_lowercase()), stage.label()));
        words.push((key("unit", stage.unit()), stage.unit()));
    }
    words.into_iter().map(|(name, text)| (name, text.into())).collect()
}

/// Names and English texts of bundled models.
#[cfg(test)]
pub(crate) fn english_models() -> Vec<(String, String)> {
    let models: Vec<Bundled> = serde_json::from_str(include_str!("../../models/index.json")).unwrap();
    let texts = |model: Bundled| [(key("title", &model.name), model.title), (key("about", &model.name), model.about)];
    models.into_iter().flat_map(texts).collect()
}

/// Uses a translation from now on.
pub(crate) fn speak(words: Option<&'static Words>) {
    IN_USE.set(words);
}

/// Uses a translation of the bundled models' titles and descriptions from now on.
pub(crate) fn speak_of_models(words: Option<&'static Words>) {
    MODELS.set(words);
}

fn word(kind: &str, name: &str) -> Option<&'static str> {
    IN_USE.get()?.get(&key(kind, name)).map(String::as_str)
}

fn key(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}
