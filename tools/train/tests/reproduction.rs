//! The recorded losses are reproducible: repeats the first steps of a bundled run from its recipe alone.

use std::fs;
use std::path::Path;

use straightedge_train::backend::TrainingBackend;
use straightedge_train::recipe::Plan;
use straightedge_train::record::Record;
use straightedge_train::run::begun;
use straightedge_train::text::Batches;

/// Steps repeated.
const STEPS: usize = 50;
/// Tolerance in nats per token: rounding differs between processors, and grows from step to step.
const TOLERANCE: f64 = 1e-4;

#[test]
fn the_first_steps_give_the_recorded_losses() {
    repeat("demo-gpt2", STEPS);
}

#[test]
fn fine_tuning_begins_with_the_model_that_it_names() {
    repeat("demo-gpt2-puzzles", STEPS / 5);
}

fn repeat(name: &str, steps: usize) {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/models");
    let record = fs::read(models.join(name).join("training.json")).expect("a training record");
    let record: Record = serde_json::from_slice(&record).expect("a training record");
    let plans = Plan::all();
    let plan = plans.iter().find(|plan| plan.recipe.name == record.recipe.name).expect("a run of the demo set");
    assert_eq!(plan.recipe, record.recipe, "the bundled model was trained by another recipe");
    let recipe = record.recipe.clone();
    let tokenizer = fs::read(models.join(name).join("tokenizer.json")).expect("a tokenizer");
    let batches = Batches::new(&tokenizer, &recipe).expect("batches");
    // Nothing is trained below this folder, so that fine-tuning begins with the bundled model.
    let mut trainer = begun(&recipe, Path::new(""), TrainingBackend::default()).expect("a trainer");
    assert!(record.losses.len() >= steps, "{} steps are recorded", record.losses.len());
    for (step, recorded) in record.losses[..steps].iter().enumerate() {
        let found = trainer.step(&batches.ids(step).expect("ids")).expect("a step").nll;
        let difference = (found - recorded).abs();
        assert!(difference <= TOLERANCE, "step {step}: loss {found} where {recorded} is recorded");
    }
}
