//! The recorded losses are reproducible: repeats the first steps of a bundled run from its recipe alone.

use std::fs;
use std::path::Path;

use straightedge_train::backend::TrainingBackend;
use straightedge_train::recipe::Plan;
use straightedge_train::record::Record;
use straightedge_train::text::Batches;
use straightedge_train::trainer::Trainer;

/// Steps repeated.
const STEPS: usize = 50;
/// Tolerance in nats per token: rounding differs between processors, and grows from step to step.
const TOLERANCE: f64 = 1e-4;

#[test]
fn the_first_steps_give_the_recorded_losses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/models/demo-gpt2");
    let record = fs::read(folder.join("training.json")).expect("a training record");
    let record: Record = serde_json::from_slice(&record).expect("a training record");
    let plans = Plan::all();
    let plan = plans.iter().find(|plan| plan.recipe.name == record.recipe.name).expect("a run of the demo set");
    assert_eq!(plan.recipe, record.recipe, "the bundled model was trained by another recipe");
    let recipe = record.recipe.clone();
    let tokenizer = fs::read(folder.join("tokenizer.json")).expect("a tokenizer");
    let (windows, seq_len) = (recipe.schedule.windows, recipe.size.seq_len);
    let batches = Batches::new(&tokenizer, recipe.seed, windows, seq_len).expect("batches");
    let mut trainer = Trainer::new(recipe, TrainingBackend::default()).expect("a trainer");
    assert!(record.losses.len() >= STEPS, "{} steps are recorded", record.losses.len());
    for (step, recorded) in record.losses[..STEPS].iter().enumerate() {
        let found = trainer.step(&batches.ids(step).expect("ids")).expect("a step").nll;
        let difference = (found - recorded).abs();
        assert!(difference <= TOLERANCE, "step {step}: loss {found} where {recorded} is recorded");
    }
}
