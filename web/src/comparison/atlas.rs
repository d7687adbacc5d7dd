//! Models measured when this copy of the page was built: their names and descriptions.

use straightedge_api::atlas::{AtlasEntry, AtlasState, Measured, Replication};

use super::key::Key;
use crate::comparison::published::{CORPORA, MODELS};
use crate::text::format::magnitude;
use crate::text::{fill, t};

/// The index, relative to the page. Every build has one.
pub const ATLAS: &str = "data/atlas/index.json";

/// Digits shown of a commit hash.
const SHORT: usize = 10;

/// Path of a measurement's report, relative to the page; `None` if its name points elsewhere.
pub fn report(measured: &Measured) -> Option<String> {
    let slug = measured.report.strip_suffix(".json")?;
    Key::parse(&format!("atlas:{slug}")).map(|_| format!("data/atlas/{}", measured.report))
}

/// Name of an entry in charts.
pub fn name(entry: &AtlasEntry) -> String {
    format!("{} · {}", entry.title, text(entry))
}

fn text(entry: &AtlasEntry) -> &str {
    entry.text.as_deref().unwrap_or(t().atlas_own_text)
}

/// The keys compared for an entry: its measurement, and the published values it was checked against.
pub fn keys(entry: &AtlasEntry) -> Vec<Key> {
    let published = entry.measured.as_ref().and_then(|measured| measured.published.as_ref());
    let known = published.filter(|Replication { model, corpus, .. }| {
        MODELS.contains(&model.as_str()) && CORPORA.contains(&corpus.as_str())
    });
    let published = known.map(|Replication { model, corpus, .. }| Key::Published(model.clone(), corpus.clone()));
    std::iter::once(Key::Atlas(entry.slug.clone())).chain(published).collect()
}

/// The source of an entry, in one line; `date` is the day it was measured.
pub fn origin(entry: &AtlasEntry, date: Option<&str>) -> String {
    let revision = entry.revision.as_deref().map(|revision| format!("@{revision}")).unwrap_or_default();
    let commit = entry.measured.as_ref().and_then(|measured| measured.commit.as_deref());
    // A requested commit is shown once.
    let id = if entry.revision.as_deref() == commit { entry.id.clone() } else { format!("{}{revision}", entry.id) };
    let on = fill(t().atlas_on, &[("id", &id), ("text", text(entry))]);
    let commit = commit.map(|commit| fill(t().atlas_commit, &[("commit", commit.get(..SHORT).unwrap_or(commit))]));
    let date = date.map(|date| fill(t().atlas_when, &[("date", date)]));
    [Some(on), date, commit].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The outcome of an entry, if there is one: its agreement with published values, or why it failed.
pub fn outcome(entry: &AtlasEntry) -> Option<String> {
    match (entry.state, &entry.measured) {
        (AtlasState::Measured, Some(measured)) => measured.published.as_ref().map(agreement),
        (AtlasState::Failed, _) => Some(fill(t().atlas_failed, &[("why", entry.error.as_deref().unwrap_or_default())])),
        _ => Some(t().atlas_pending.into()),
    }
}

fn agreement(Replication { model, corpus, most }: &Replication) -> String {
    let Some(most) = most else { return fill(t().atlas_other_blocks, &[("model", model)]) };
    let (value, block) = (magnitude(Some(most.value)), most.block.to_string());
    fill(t().atlas_agrees, &[("most", &value), ("model", model), ("corpus", corpus), ("block", &block)])
}

#[cfg(test)]
pub(crate) mod tests {
    use straightedge_api::atlas::PublishedDifference;
    use straightedge_api::fields::Field;
    use straightedge_api::summary::Summary;

    use super::*;

    /// An entry measured and checked against published values, and one that failed.
    pub(crate) fn entries() -> Vec<AtlasEntry> {
        let most = Some(PublishedDifference { block: 4, value: 0.01234 });
        let measured = Measured {
            report: "made-one-wikitext-2.json".into(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
            summary: Summary {
                controls: [("gaussian".to_owned(), vec![Some(0.125)])].into(),
                ..Summary::of("made/one".into(), [(Field::R2LinScalar, vec![Some(0.5), Some(0.25)])])
            },
            published: Some(Replication { model: "gpt2".into(), corpus: "WikiText-2".into(), most }),
            ..Measured::default()
        };
        let one = AtlasEntry {
            slug: "made-one-wikitext-2".into(),
            id: "made/one".into(),
            revision: Some("main".into()),
            title: "One".into(),
            text: Some("wikitext-2".into()),
            state: AtlasState::Measured,
            measured: Some(measured),
            ..AtlasEntry::default()
        };
        let error = Some("tensor <wte>: missing".to_owned());
        let two = AtlasEntry {
            slug: "made-two".into(),
            title: "Two".into(),
            state: AtlasState::Failed,
            error,
            ..AtlasEntry::default()
        };
        vec![one, two]
    }

    #[test]
    fn an_entry_tells_where_it_comes_from_and_how_far_from_published_values_it_is() {
        let [one, two] = entries().try_into().unwrap();
        assert_eq!(name(&one), "One · wikitext-2");
        let sentence = origin(&one, Some("2026-11-23"));
        assert_eq!(sentence, "made/one@main, on wikitext-2 · measured 2026-11-23 · commit 0123456789");
        let agrees = outcome(&one).unwrap();
        assert!(
            agrees.contains("0.0123 from the published values of gpt2 on WikiText-2") && agrees.contains("block 4")
        );
        assert_eq!(outcome(&two).unwrap(), "Not measured: tensor <wte>: missing");
        assert_eq!(outcome(&AtlasEntry::default()).as_deref(), Some(t().atlas_pending));
        let mut other = one.clone();
        other.revision = one.measured.as_ref().and_then(|measured| measured.commit.clone());
        assert!(origin(&other, None).starts_with("made/one, on"), "{}", origin(&other, None));
        if let Some(published) = other.measured.as_mut().and_then(|measured| measured.published.as_mut()) {
            published.most = None;
        }
        assert_eq!(outcome(&other).unwrap(), "The published values of gpt2 cover a different number of blocks.");
    }

    #[test]
    fn published_values_come_along_and_paths_lead_nowhere_else() {
        let [mut one, two] = entries().try_into().unwrap();
        let own = Key::Atlas("made-one-wikitext-2".into());
        assert_eq!(keys(&one), [own.clone(), Key::Published("gpt2".into(), "WikiText-2".into())]);
        assert_eq!(keys(&two), [Key::Atlas("made-two".into())]);
        let mut measured = one.measured.take().unwrap();
        assert_eq!(report(&measured).as_deref(), Some("data/atlas/made-one-wikitext-2.json"));
        measured.report = "../../secret.json".into();
        assert_eq!(report(&measured), None);
        measured.published = Some(Replication { model: "somebody's".into(), ..Replication::default() });
        one.measured = Some(measured);
        assert_eq!(keys(&one), [own]);
    }
}
