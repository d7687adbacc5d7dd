//! Revisions named after a training step that hold another revision's weights.
//!
//! A branch named after a step may have been filled with the final weights; only the hashes tell.

use std::collections::{BTreeMap, BTreeSet};

use super::repo::RepoFile;

type Listing = BTreeMap<String, RepoFile>;

/// The endings of weight files, the preferred format first.
const ENDINGS: [&str; 2] = [".safetensors", ".bin"];

/// A sentence about `revision` if its weights are, at least in part, those of one of the `others`; the first one counts.
pub(super) fn same_weights_notice<'a>(
    revision: &str,
    files: &Listing,
    others: impl IntoIterator<Item = (&'a str, &'a Listing)>,
) -> Option<String> {
    others.into_iter().find_map(|(other, known)| {
        let (hashes, known) = same_format(files, known)?;
        let shared = hashes.intersection(&known).count();
        match (shared, hashes.len()) {
            (0, _) => None,
            (shared, all) if shared < all => Some(format!(
                "{revision} shares {shared} of its {all} weight files with {other}; it mixes the weights of two steps"
            )),
            _ if other == "main" && revision.contains("step") => {
                Some(format!("{revision} has the same weights as main; it is not an intermediate step"))
            }
            _ if revision.contains("step") => Some(format!(
                "{revision} has the same weights as {other}; one of them is not the step it is named after"
            )),
            _ => Some(format!("{revision} has the same weights as {other}")),
        }
    })
}

/// The weight hashes of two listings in the format that both have.
fn same_format<'a>(one: &'a Listing, other: &'a Listing) -> Option<(BTreeSet<&'a str>, BTreeSet<&'a str>)> {
    let pairs = ENDINGS.iter().map(|ending| (hashes(one, ending), hashes(other, ending)));
    pairs.into_iter().find(|(one, other)| !one.is_empty() && !other.is_empty())
}

fn hashes<'a>(files: &'a Listing, ending: &str) -> BTreeSet<&'a str> {
    let weights = files.iter().filter(|(path, _)| path.ends_with(ending));
    weights.filter_map(|(_, file)| file.sha256.as_deref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(files: &[(&str, &str)]) -> Listing {
        let file = |hash: &str| RepoFile { size: 1, sha256: Some(hash.into()), oid: None };
        files.iter().map(|(path, hash)| (path.to_string(), file(hash))).collect()
    }

    #[test]
    fn a_step_is_compared_with_main_and_with_other_steps() {
        let main = listing(&[("model.safetensors", "a"), ("pytorch_model.bin", "b")]);
        let last = listing(&[("model.safetensors", "c"), ("pytorch_model.bin", "b")]);
        let others = [("main", &main), ("step143000", &last)];
        let notice = |revision: &str, files: &[(&str, &str)]| same_weights_notice(revision, &listing(files), others);
        assert_eq!(
            notice("step1000", &[("model.safetensors", "a"), ("pytorch_model.bin", "x")]).as_deref(),
            Some("step1000 has the same weights as main; it is not an intermediate step")
        );
        assert_eq!(
            notice("step1000", &[("model.safetensors", "c")]).as_deref(),
            Some("step1000 has the same weights as step143000; one of them is not the step it is named after")
        );
        assert_eq!(notice("v1.0", &[("model.safetensors", "a")]).as_deref(), Some("v1.0 has the same weights as main"));
        assert_eq!(notice("step1000", &[("model.safetensors", "d"), ("pytorch_model.bin", "b")]), None, "what is read");
        assert!(notice("step1000", &[("pytorch_model.bin", "b")]).is_some(), "all there is");
        assert_eq!(notice("step1000", &[("config.json", "a")]), None);
    }

    #[test]
    fn a_step_with_one_foreign_shard_is_told() {
        let main = listing(&[("pytorch_model-00001-of-00002.bin", "a"), ("pytorch_model-00002-of-00002.bin", "b")]);
        let step = listing(&[("pytorch_model-00001-of-00002.bin", "a"), ("pytorch_model-00002-of-00002.bin", "c")]);
        let notice = same_weights_notice("step50000", &step, [("main", &main)]);
        assert_eq!(
            notice.as_deref(),
            Some("step50000 shares 1 of its 2 weight files with main; it mixes the weights of two steps")
        );
    }
}
