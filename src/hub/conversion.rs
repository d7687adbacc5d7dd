//! The hub's own conversions to safetensors: a bot opens a pull request for a model that has PyTorch's weights alone.
//!
//! As in transformers, the request is found among the model's discussions by its title and its author, so that nobody
//! else can put weights in place of a model's own.

use serde::Deserialize;

use super::client::Hub;
use super::files::HubFiles;
use super::id::HubId;
use super::repo::Repo;
use crate::event::Event;
use crate::report::{Warning, WarningKind};
use crate::weights::{has_safetensors, has_weights, is_weight_file};

/// Author and title of the pull requests.
const BOT: &str = "SFconvertbot";
const TITLE: &str = "Adding `safetensors` variant of this model";
/// Most bytes of the list of discussions.
const MAX_ANSWER: usize = 8 << 20;

impl Hub {
    /// The conversion of a main branch with PyTorch's weights alone, if there is one of just these weights; otherwise
    /// `found` itself. A hub that does not answer has none.
    pub(super) async fn converted(&self, id: &HubId, found: HubFiles) -> HubFiles {
        let main = found.repo();
        let has = |name: &str| main.files.contains_key(name);
        if id.revision_or_main() != "main" || !has_weights(has) || has_safetensors(has) {
            return found;
        }
        let url = self.endpoint().discussions_url(id, BOT);
        let is_news = self.visit().conversion(&url).is_none();
        let Some(revision) = self.conversion(id, main, url).await else { return found };
        let Ok(request) = id.at(&revision) else { return found };
        match self.open_folder(&request, "").await {
            Ok(converted) if is_conversion(main, converted.repo()) => {
                if is_news {
                    let (name, revision) = (id.name().to_string(), revision.to_string());
                    self.emit(Event::Warning(Warning::new(&WarningKind::Converted { name, revision })));
                }
                converted
            }
            _ => found,
        }
    }

    /// The revision of the conversion: asked for once in a visit; offline, the last answer.
    async fn conversion(&self, id: &HubId, main: &Repo, url: String) -> Option<String> {
        if let Some(known) = self.visit().conversion(&url) {
            return known;
        }
        let Ok((json, _)) = self.document(&id.to_string(), url.clone(), MAX_ANSWER).await else {
            return main.conversion.clone();
        };
        let conversion = newest(&json);
        self.visit().keep_conversion(url, conversion.as_ref());
        let main = Repo { conversion: conversion.clone(), ..main.clone() };
        self.visit().keep_repo(self.listed_at(id, ""), &main);
        // Only a visit without a network needs it, and then finds the weights missing.
        let _ = self.store().save_repo(id, &main).await;
        conversion
    }
}

/// Whether a revision has safetensors besides the very weights, configuration and tokenizer of `main`.
fn is_conversion(main: &Repo, other: &Repo) -> bool {
    let counts = |path: &str| is_weight_file(path) || ["config.json", "tokenizer.json"].contains(&path);
    let mut kept = main.files.iter().filter(|(path, _)| counts(path));
    has_safetensors(|name| other.files.contains_key(name))
        && kept.all(|(path, file)| other.files.get(path) == Some(file))
}

/// The hub's list of discussions.
#[derive(Deserialize)]
struct Discussions {
    discussions: Vec<Discussion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discussion {
    num: u64,
    title: String,
    status: String,
    is_pull_request: bool,
    /// `None` if the account was deleted.
    author: Option<Author>,
}

#[derive(Deserialize)]
struct Author {
    #[serde(default)]
    name: String,
}

/// The revision of the bot's newest open pull request.
fn newest(json: &[u8]) -> Option<String> {
    let Discussions { discussions } = serde_json::from_slice(json).ok()?;
    let by_bot = |found: &&Discussion| found.author.as_ref().is_some_and(|author| author.name == BOT);
    let is_open = |found: &&Discussion| found.is_pull_request && found.status == "open" && found.title == TITLE;
    let newest = discussions.iter().filter(by_bot).filter(is_open).map(|found| found.num).max()?;
    Some(format!("refs/pr/{newest}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn discussion(num: u64, change: (&str, Value)) -> Value {
        let mut found = json!({
            "num": num, "title": TITLE, "status": "open", "isPullRequest": true, "author": {"name": BOT, "type": "user"},
            "createdAt": "2023-03-14T15:26:53.000Z", "repo": {"name": "a/b", "type": "model"},
        });
        found[change.0] = change.1;
        found
    }

    #[test]
    fn only_an_open_pull_request_of_the_bot_is_a_conversion() {
        let found =
            |list: &[Value]| newest(json!({"discussions": list, "count": 1, "start": 0}).to_string().as_bytes());
        let same = ("num", json!(8));
        assert_eq!(found(&[discussion(8, same.clone())]).as_deref(), Some("refs/pr/8"));
        for change in [
            ("author", json!({"name": "somebody"})),
            ("author", json!(null)),
            ("status", json!("closed")),
            ("isPullRequest", json!(false)),
            ("title", json!("Adding `safetensors` variant of another model")),
        ] {
            assert_eq!(found(&[discussion(9, change.clone())]), None, "{change:?}");
            assert_eq!(found(&[discussion(9, change), discussion(8, same.clone())]).as_deref(), Some("refs/pr/8"));
        }
        for json in
            ["", "[]", "<html>", r#"{"error": "discussions are disabled"}"#, r#"{"discussions": [{"num": -1}]}"#]
        {
            assert_eq!(newest(json.as_bytes()), None, "{json}");
        }
    }
}
