//! Reads the list of models for `atlas`: a TOML file, checked as a whole before the first measurement.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use straightedge::atlas::{AtlasEntry, Replication, SLUG_MOST};
use straightedge::error::{Error, Result};
use straightedge::hub::id::is_commit;
use straightedge::job::{BackendChoice, GramMode, Job, Measure, Protocol};
use straightedge::platform::digest::sha256;
use straightedge::published::{Published, PublishedModel};
use straightedge::report::AppInfo;
use straightedge::summary::Summary;

use super::super::args::TextArgs;
use super::super::{bundled, inputs, measure};

/// Keys allowed only for a single model.
const OWN_KEYS: [&str; 4] = ["id", "revision", "title", "published"];

/// One model of the list.
#[derive(Debug)]
pub(super) struct ListedModel {
    /// Its entry in the index before it is measured.
    pub(super) entry: AtlasEntry,
    /// The job, without the names of model and text.
    pub(super) job: Job,
    /// The model argument, as for `measure`.
    pub(super) model: String,
    /// The text arguments, as for `measure`.
    pub(super) text: TextArgs,
    published: Option<(PublishedModel, String)>,
}

impl ListedModel {
    /// Compares a measurement with the published values named in the list.
    pub(super) fn replication(&self, summary: &Summary) -> Option<Replication> {
        self.published.as_ref().map(|(model, corpus)| Replication::new(model, corpus, summary))
    }
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainList {
    #[serde(default)]
    defaults: toml::Table,
    #[serde(default)]
    model: Vec<toml::Table>,
}

/// A model with the defaults filled in.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PlainModel {
    id: String,
    revision: Option<String>,
    #[serde(skip_serializing)]
    title: Option<String>,
    #[serde(skip_serializing)]
    published: Option<PlainPublished>,
    text: Option<String>,
    measures: Option<BTreeSet<Measure>>,
    rows: Option<usize>,
    seq_len: Option<usize>,
    folds: Option<usize>,
    interleaved_folds: Option<bool>,
    skip_positions: Option<usize>,
    bos: Option<bool>,
    piece_chars: Option<usize>,
    gram: Option<GramMode>,
    seed: Option<u64>,
    backend: Option<BackendChoice>,
}

/// Published values to compare with, by their names in the paper.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainPublished {
    model: String,
    corpus: String,
}

/// The models of a list.
///
/// # Errors
/// An unreadable file, and the first invalid key.
pub(super) fn read(path: &Path) -> Result<Vec<ListedModel>> {
    let refused = |why: String| Error::MalformedList { file: path.display().to_string(), why };
    let text = String::from_utf8(inputs::bytes(path)?).map_err(|error| refused(error.to_string()))?;
    let PlainList { defaults, model } = toml::from_str(&text).map_err(|error| refused(located(&error, &text)))?;
    if let Some(key) = OWN_KEYS.into_iter().find(|key| defaults.contains_key(*key)) {
        return Err(refused(format!("defaults: {key} belongs to a model")));
    }
    if model.is_empty() {
        return Err(refused("it names no model; write [[model]] and its id".into()));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut orders: Vec<ListedModel> = Vec::new();
    for (at, model) in model.into_iter().enumerate() {
        let name = model.get("id").and_then(toml::Value::as_str).map(|id| format!(" ({id})")).unwrap_or_default();
        let refused = |why: String| refused(format!("model {}{name}: {why}", at + 1));
        let mut table = defaults.clone();
        table.extend(model);
        let plain: PlainModel = table.try_into().map_err(|error: toml::de::Error| refused(error.message().into()))?;
        let order = plain.order(folder).map_err(refused)?;
        let is_same = |other: &ListedModel| other.entry.slug.eq_ignore_ascii_case(&order.entry.slug);
        if let Some(other) = orders.iter().position(is_same) {
            return Err(refused(format!("it repeats model {}; remove one", other + 1)));
        }
        orders.push(order);
    }
    Ok(orders)
}

/// The parser's message with the line number.
fn located(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    line.map_or_else(String::new, |line| format!("line {line}: ")) + error.message()
}

impl PlainModel {
    fn order(self, folder: &Path) -> Result<ListedModel, String> {
        let text = self.text_args(folder)?;
        let job = self.job();
        job.check().map_err(|error| error.to_string())?;
        let published = self.published.as_ref().map(PlainPublished::find).transpose()?;
        let own = folder.join(&self.id);
        let model = match &self.revision {
            _ if own.is_dir() => own.display().to_string(),
            Some(revision) => format!("{}@{revision}", self.id),
            None => self.id.clone(),
        };
        let settings = self.settings(text.text.as_deref()).map_err(|error| error.to_string())?;
        let entry = AtlasEntry {
            slug: self.slug()?,
            title: self.title.clone().unwrap_or_else(|| self.id.clone()),
            id: self.id,
            revision: self.revision,
            text: self.text,
            settings,
            ..AtlasEntry::default()
        };
        Ok(ListedModel { entry, job, model, text, published })
    }

    fn job(&self) -> Job {
        let usual = Protocol::default();
        let protocol = Protocol {
            rows: self.rows.unwrap_or(usual.rows),
            seq_len: self.seq_len.unwrap_or(usual.seq_len),
            folds: self.folds.unwrap_or(usual.folds),
            interleaved_folds: self.interleaved_folds.unwrap_or(usual.interleaved_folds),
            skip_positions: self.skip_positions.unwrap_or(usual.skip_positions),
            bos: self.bos.unwrap_or(usual.bos),
            piece_chars: self.piece_chars.unwrap_or(usual.piece_chars),
            gram: self.gram.unwrap_or(usual.gram),
            seed: self.seed.unwrap_or(usual.seed),
        };
        let job = Job::new("", "");
        let measures = self.measures.clone().unwrap_or(job.measures);
        Job { protocol, measures, backend: self.backend.unwrap_or_default(), ..job }
    }

    /// A file next to the list, or else a text by name.
    fn text_args(&self, folder: &Path) -> Result<TextArgs, String> {
        let none = TextArgs { text: None, tokens: None, corpus: None };
        let Some(name) = &self.text else {
            return match bundled::find(&self.id) {
                Some(_) => Ok(none),
                None => Err("text is missing; name a text or a file, only bundled models have one of their own".into()),
            };
        };
        let file = folder.join(name);
        if file.is_file() {
            return Ok(TextArgs { text: Some(file), ..none });
        }
        measure::check_corpus(name).map_err(|error| error.to_string().replace("--corpus", "text"))?;
        Ok(TextArgs { corpus: Some(name.clone()), ..none })
    }

    /// Identifies the measurement: all settings but display names, and the content of a text file.
    fn settings(&self, file: Option<&Path>) -> Result<String> {
        let content = file.map(inputs::bytes).transpose()?.map(|bytes| sha256(&bytes));
        let all = serde_json::json!({"model": self, "content": content, "version": AppInfo::this().version});
        Ok(sha256(all.to_string().as_bytes()))
    }

    /// Model, revision and text in characters allowed in file names and addresses. Commits are left out, so that a
    /// pinned model keeps its address when its commit changes.
    fn slug(&self) -> Result<String, String> {
        let is_usual = |revision: &str| revision == "main" || is_commit(revision);
        let revision = self.revision.as_deref().filter(|revision| !is_usual(revision));
        let text = self.text.as_deref().map(|text| Path::new(text).file_stem().unwrap_or_default().to_string_lossy());
        let parts = [Some(self.id.as_str()), revision, text.as_deref()].into_iter().flatten();
        let slug = parts.map(plain).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        match slug.len() {
            0 => Err("its id has no letter or digit".into()),
            1..=SLUG_MOST => Ok(slug),
            _ => Err(format!("id, revision and text together have more than {SLUG_MOST} letters")),
        }
    }
}

/// A name in letters, digits, `-`, `_` and `.`, with no dot or dash at its ends.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(letter).collect::<String>().trim_matches(['-', '.']).to_owned()
}

impl PlainPublished {
    fn find(&self) -> Result<(PublishedModel, String), String> {
        let Self { model, corpus } = self;
        let all: Published = serde_json::from_str(include_str!("../../../web/data/published.json"))
            .expect("the published values are read by a test");
        let known = all.models.iter().map(|known| known.name.clone()).collect::<Vec<_>>().join(", ");
        let found = all.models.into_iter().find(|known| known.name == *model);
        let found = found.ok_or_else(|| format!("published: there is no model {model}; choose from {known}"))?;
        match found.r2_lin_scalar.contains_key(corpus) {
            true => Ok((found, corpus.clone())),
            false => Err(format!("published: there is no corpus {corpus}; choose from {}", found.corpora().join(", "))),
        }
    }
}
