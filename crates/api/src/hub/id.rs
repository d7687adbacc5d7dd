//! Names on the hub, `ID` or `ID@REVISION`, and base addresses of the hub or a mirror. All input is untrusted.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Most characters of an owner, a name or a part of a revision.
const MAX_PART: usize = 96;
/// Most characters of a revision or of a base address.
const MAX_LENGTH: usize = 200;

/// The kinds of repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepoKind {
    /// A model.
    Model,
    /// A data set: here, a text.
    Dataset,
}

/// A checked repository name and revision, safe to insert into any address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub struct HubId {
    kind: RepoKind,
    name: String,
    revision: Option<String>,
}

/// [`HubId`] before it is checked.
#[derive(Clone, Serialize, Deserialize)]
struct Plain {
    kind: RepoKind,
    name: String,
    revision: Option<String>,
}

impl HubId {
    /// A model from `ID` or `ID@REVISION`.
    ///
    /// # Errors
    /// [`Error::HubId`] if the form is wrong.
    pub fn model(text: &str) -> Result<Self> {
        Self::parse(RepoKind::Model, text)
    }

    /// A data set from `ID` or `ID@REVISION`.
    ///
    /// # Errors
    /// [`Error::HubId`] if the form is wrong.
    pub fn dataset(text: &str) -> Result<Self> {
        Self::parse(RepoKind::Dataset, text)
    }

    fn parse(kind: RepoKind, text: &str) -> Result<Self> {
        let (name, revision) = match text.trim().split_once('@') {
            Some((name, revision)) => (name, Some(revision)),
            None => (text.trim(), None),
        };
        let refused = |why: &str| Error::HubId { id: excerpt(text), why: why.into() };
        if text.contains("://") {
            return Err(refused("it is an address of another host than the hub"));
        }
        check_name(name).map_err(refused)?;
        revision.map_or(Ok(()), check_revision).map_err(refused)?;
        Ok(Self { kind, name: name.into(), revision: revision.map(Into::into) })
    }

    /// Model or data set.
    pub fn kind(&self) -> RepoKind {
        self.kind
    }

    /// `OWNER/NAME`, or `NAME` alone for the oldest models.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The requested branch, tag or commit; `None` for the main branch.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// The revision if it is a training checkpoint or another branch: neither the main one nor a commit.
    pub fn checkpoint(&self) -> Option<&str> {
        self.revision().filter(|revision| *revision != "main" && !is_commit(revision))
    }

    /// Whether it is a branch or tag of the same repository as `other`.
    pub fn is_sibling(&self, other: &Self) -> bool {
        self.kind == other.kind && self.name == other.name && !is_commit(self.revision_or_main())
    }

    /// The requested revision, or the main branch.
    pub fn revision_or_main(&self) -> &str {
        self.revision.as_deref().unwrap_or("main")
    }

    /// The same repository at another revision, such as the resolved commit of a branch.
    ///
    /// # Errors
    /// [`Error::HubId`] if it is not a valid revision name.
    pub fn at(&self, revision: &str) -> Result<Self> {
        check_revision(revision).map_err(|why| Error::HubId { id: excerpt(revision), why: why.into() })?;
        Ok(Self { revision: Some(revision.into()), ..self.clone() })
    }
}

/// Whether a revision is a commit, which never changes.
pub fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl fmt::Display for HubId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.revision {
            Some(revision) => write!(f, "{}@{revision}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl TryFrom<Plain> for HubId {
    type Error = Error;

    fn try_from(plain: Plain) -> Result<Self> {
        let text = plain.revision.map_or_else(|| plain.name.clone(), |revision| format!("{}@{revision}", plain.name));
        Self::parse(plain.kind, &text)
    }
}

impl From<HubId> for Plain {
    fn from(id: HubId) -> Self {
        Self { kind: id.kind, name: id.name, revision: id.revision }
    }
}

/// Checks one or two parts by the hub's rules.
fn check_name(name: &str) -> Result<(), &'static str> {
    if name.split('/').count() > 2 {
        return Err("it has more than one slash");
    }
    name.split('/').try_for_each(check_part)
}

fn check_revision(revision: &str) -> Result<(), &'static str> {
    if revision.len() > MAX_LENGTH {
        return Err("its revision is too long");
    }
    revision.split('/').try_for_each(check_part)
}

/// Checks a part: letters, digits, `-`, `_` and `.`; nothing with a meaning in addresses or paths.
fn check_part(part: &str) -> Result<(), &'static str> {
    if part.is_empty() {
        return Err("a part of it is empty");
    }
    if part.len() > MAX_PART {
        return Err("a part of it is too long");
    }
    if !part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        return Err("only letters, digits, - _ and . are possible in its parts");
    }
    if part.starts_with(['.', '-']) || part.ends_with('.') || part.contains("..") {
        return Err("a part of it begins with a dot or dash, ends with a dot or has two dots in a row");
    }
    Ok(())
}

/// An excerpt of untrusted text for errors.
fn excerpt(text: &str) -> String {
    text.trim().chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Base address of the hub or a mirror: `http(s)://HOST[:PORT][/PATH]`, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Endpoint(String);

impl Endpoint {
    /// The address of a file at a commit; the hub redirects it to the bytes.
    pub fn file_url(&self, id: &HubId, commit: &str, path: &str) -> String {
        let part = match id.kind() {
            RepoKind::Model => "",
            RepoKind::Dataset => "datasets/",
        };
        format!("{}/{part}{}/resolve/{}/{}", self.0, id.name(), escaped(commit), path_escaped(path))
    }

    /// The address of a revision's metadata, such as its commit.
    pub fn revision_url(&self, id: &HubId) -> String {
        format!("{}/revision/{}", self.api(id), escaped(id.revision_or_main()))
    }

    /// The address of the listing of `folder`, not recursive; empty for the root.
    pub fn tree_url(&self, id: &HubId, commit: &str, folder: &str) -> String {
        let root = format!("{}/tree/{}", self.api(id), escaped(commit));
        if folder.is_empty() { root } else { format!("{root}/{}", path_escaped(folder)) }
    }

    /// The address of the open pull requests of an author.
    pub fn discussions_url(&self, id: &HubId, author: &str) -> String {
        format!("{}/discussions?type=pull_request&status=open&author={}", self.api(id), escaped(author))
    }

    fn api(&self, id: &HubId) -> String {
        let part = match id.kind() {
            RepoKind::Model => "models",
            RepoKind::Dataset => "datasets",
        };
        format!("{}/api/{part}/{}", self.0, id.name())
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether requests stay private on their way: https, or this machine.
    pub fn is_private(&self) -> bool {
        let Some(rest) = self.0.strip_prefix("http://") else { return true };
        let host = rest.split('/').next().unwrap_or_default();
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        is_loopback || host == "localhost" || host.ends_with(".localhost")
    }

    /// Whether this is the hub itself, not a mirror.
    pub fn is_hub(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Endpoint {
    fn default() -> Self {
        Self("https://huggingface.co".into())
    }
}

impl FromStr for Endpoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = |why: &str| Error::HubEndpoint { address: excerpt(text), why: why.into() };
        let address = text.trim().trim_end_matches('/');
        let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
        let rest = rest.ok_or_else(|| refused("it does not begin with https:// or http://"))?;
        if address.len() > MAX_LENGTH {
            return Err(refused("it is too long"));
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '[' | ']' | '_');
        if host.is_empty() || !host.chars().all(plain) {
            return Err(refused("its host is not a plain name or number"));
        }
        if !path.is_empty() {
            path.split('/').try_for_each(check_part).map_err(refused)?;
        }
        Ok(Self(address.into()))
    }
}

impl TryFrom<String> for Endpoint {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Escapes one part of an address: all but letters, digits and `-_.` become `%XX`.
fn escaped(part: &str) -> String {
    let escape = |byte: u8| match byte {
        b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    part.bytes().map(escape).collect()
}

fn path_escaped(path: &str) -> String {
    path.split('/').map(escaped).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_with_and_without_owner_and_revision() {
        let id = HubId::model(" EleutherAI/pythia-160m@step3000 ").unwrap();
        assert_eq!((id.name(), id.revision()), ("EleutherAI/pythia-160m", Some("step3000")));
        assert_eq!(id.to_string(), "EleutherAI/pythia-160m@step3000");
        let id = HubId::model("gpt2").unwrap();
        assert_eq!((id.name(), id.revision_or_main()), ("gpt2", "main"));
        assert_eq!(HubId::model("a/b@refs/pr/1").unwrap().revision(), Some("refs/pr/1"));
    }

    #[test]
    fn hostile_ids_are_refused_with_a_sentence() {
        let long = "x".repeat(1000);
        for text in [
            "",
            "@main",
            "a/b/c",
            "../x",
            "a/..",
            "a/./b",
            "/a",
            "a/",
            "a b",
            "a/b@",
            "a/b@../../x",
            "a/b@x@y",
            "a/b?x=1",
            "a/b#x",
            "a%2fb",
            "a\\b",
            "a/b\n",
            "é/b",
            "a/b@/etc",
            "-a/b",
            long.as_str(),
        ] {
            // Line breaks at either end are trimmed, like blanks around pasted text.
            let found = HubId::model(text);
            if text == "a/b\n" {
                assert!(found.is_ok());
                continue;
            }
            let Err(error @ Error::HubId { .. }) = found else { panic!("{text:?}: {found:?}") };
            assert!(error.to_string().len() < 300 && error.to_string().contains("; "), "{error}");
        }
        let crossing = r#"{"kind":"model","name":"../x","revision":null}"#;
        assert!(serde_json::from_str::<HubId>(crossing).is_err(), "a message is checked as well");
    }

    #[test]
    fn addresses_are_those_of_the_hub() {
        let hub = Endpoint::default();
        let model = HubId::model("EleutherAI/pythia-160m@refs/pr/1").unwrap();
        let text = HubId::dataset("Salesforce/wikitext").unwrap();
        assert_eq!(
            hub.revision_url(&model),
            "https://huggingface.co/api/models/EleutherAI/pythia-160m/revision/refs%2Fpr%2F1"
        );
        assert_eq!(
            hub.tree_url(&text, "abc", "wikitext-2-raw-v1"),
            "https://huggingface.co/api/datasets/Salesforce/wikitext/tree/abc/wikitext-2-raw-v1"
        );
        assert_eq!(
            hub.file_url(&text, "abc", "a b/c?.parquet"),
            "https://huggingface.co/datasets/Salesforce/wikitext/resolve/abc/a%20b/c%3F.parquet"
        );
    }

    #[test]
    fn mirrors_are_addresses_without_surprises() {
        for good in ["http://192.168.1.5:8090", "https://mirror.example/hub/", "http://localhost:1", "http://[::1]:80"]
        {
            assert_eq!(good.parse::<Endpoint>().unwrap().as_str(), good.trim_end_matches('/'));
        }
        for bad in [
            "",
            "mirror.example",
            "ftp://x",
            "https://",
            "https://u:p@x",
            "http://x/?a",
            "javascript:0",
            "http://x/../y",
        ] {
            assert!(matches!(bad.parse::<Endpoint>(), Err(Error::HubEndpoint { .. })), "{bad}");
        }
    }
}
