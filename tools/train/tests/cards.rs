//! The cards of the bundled models agree with their records.

use std::fs;
use std::path::Path;

use straightedge_train::card::card;
use straightedge_train::recipe::Plan;
use straightedge_train::record::Record;

#[test]
fn every_bundled_card_is_that_of_its_record() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/models");
    for plan in Plan::all() {
        let name = plan.recipe.name.clone();
        let checkpoints = plan.checkpoints.iter().map(|&step| (plan.recipe.checkpoint_name(step), step));
        for (name, steps) in checkpoints.chain([(name, plan.recipe.steps)]) {
            let read = |file: &str| fs::read_to_string(models.join(&name).join(file)).expect("a bundled model");
            let record: Record = serde_json::from_str(&read("training.json")).expect("a training record");
            assert_eq!((&record.recipe, record.steps_done()), (&plan.recipe, steps), "{name}");
            let written = serde_json::to_string(&record).expect("a training record");
            assert_eq!(written, read("training.json").trim_end(), "{name}: a record is written as it was read");
            assert!(!record.devices.is_empty(), "{name} was trained nowhere");
            let card = card(&name, &record);
            assert_eq!(read("README.md"), card, "{name}");
            for part in ["license: [mit, apache-2.0]", "## Data", "## Recipe", "## Licence"] {
                assert!(card.contains(part), "{name} lacks {part}");
            }
        }
    }
}
