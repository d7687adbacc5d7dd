//! Results known before a model is measured here: a report recorded with the page, or published figures.

use straightedge_api::bundled::Bundled;

use crate::state::form::PUBLISHED;

/// The bundled model whose recording the page opens with.
pub const FIRST: &str = "demo-gpt2";

/// Path of a bundled model's recorded report, relative to the page; `None` if it was constructed, not trained.
pub fn recording(bundled: &Bundled) -> Option<String> {
    bundled.demo.as_ref().map(|_| format!("data/recorded/{}.json", bundled.name))
}

/// Whether figures of a hub model were published.
pub fn is_published(hub_id: &str) -> bool {
    PUBLISHED.iter().any(|(known, _)| *known == hub_id)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::comparison::published::Published;

    #[test]
    fn what_the_page_promises_to_know_is_there() {
        let index: Vec<Bundled> = serde_json::from_str(include_str!("../../models/index.json")).unwrap();
        let first = index.iter().find(|bundled| bundled.name == FIRST).expect("the first model is bundled");
        let path = recording(first).expect("it was trained");
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists());
        assert_eq!(recording(&index[0]), None, "the calibration model is known by construction");
        let published: Published = serde_json::from_str(include_str!("../../data/published.json")).unwrap();
        for model in published.models {
            assert!(is_published(&model.hub_id), "{}", model.hub_id);
        }
    }
}
