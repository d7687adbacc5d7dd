//! Addresses of the hub's pages as people paste them, read as a repository and a revision.

use super::id::{Endpoint, HubId};
use crate::error::{Error, Result};

/// Pages of a repository whose address goes on with a revision.
const OF_REVISION: [&str; 5] = ["tree", "blob", "resolve", "raw", "commit"];

impl HubId {
    /// A model from `ID`, `ID@REVISION` or the address of one of its pages or files on the hub or on `mirror`.
    ///
    /// # Errors
    /// [`Error::HubId`] if the form is wrong, or if the address is another host's or no model's.
    pub fn pasted(text: &str, mirror: &Endpoint) -> Result<Self> {
        let text = text.trim();
        let Some(path) = path_on(text, mirror) else { return Self::model(text) };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let parts: Option<Vec<String>> = path.split('/').filter(|part| !part.is_empty()).map(unescaped).collect();
        let refused = |why: &str| Error::HubId { id: text.chars().take(80).collect(), why: why.into() };
        let parts = parts.ok_or_else(|| refused("its address is not UTF-8"))?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        if let Some(page) = parts.first().filter(|part| ["datasets", "spaces", "api", "docs"].contains(part)) {
            return Err(refused(&format!("its address is one of {page}, not of a model")));
        }
        // The oldest models have no owner.
        let names = parts.iter().position(|part| OF_REVISION.contains(part)).filter(|at| *at > 0);
        let names = names.unwrap_or(parts.len().min(2));
        let name = parts[..names].join("/");
        let revision = match &parts[names..] {
            [_, "refs", folder, number, ..] => Some(format!("refs/{folder}/{number}")),
            [page, revision, ..] if OF_REVISION.contains(page) => Some((*revision).to_owned()),
            _ => None,
        };
        match revision.filter(|revision| revision != "main") {
            Some(revision) => Self::model(&format!("{name}@{revision}")),
            None => Self::model(&name),
        }
    }
}

/// What follows the host in an address on the hub or on `mirror`.
fn path_on<'a>(text: &'a str, mirror: &Endpoint) -> Option<&'a str> {
    let hosts = ["huggingface.co", "www.huggingface.co", "hf.co"];
    let hub = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    let after = |host: &str| hub.strip_prefix(host).filter(|rest| rest.starts_with('/'));
    let own = text.strip_prefix(mirror.as_str()).filter(|rest| rest.starts_with('/'));
    own.or_else(|| hosts.into_iter().find_map(after))
}

/// A part of an address with its `%XX` decoded; `None` if it is not UTF-8.
fn unescaped(part: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::super::id::RepoKind;
    use super::*;

    fn pasted(text: &str) -> Result<String> {
        let id = HubId::pasted(text, &"http://192.168.1.5:8090/hub".parse().unwrap())?;
        assert_eq!(id.kind(), RepoKind::Model);
        Ok(id.to_string())
    }

    #[test]
    fn every_page_of_a_model_names_it() {
        let commit = "607a30d783dfa663caf39e06633721c8d4cfcd7e";
        let cases = [
            ("https://huggingface.co/a/b", "a/b"),
            (" https://huggingface.co/a/b/ \n", "a/b"),
            ("https://huggingface.co/gpt2", "gpt2"),
            ("huggingface.co/a/b", "a/b"),
            ("https://hf.co/a/b?library=transformers#readme", "a/b"),
            ("https://www.huggingface.co/a/b/tree/main", "a/b"),
            ("https://huggingface.co/a/b/tree/step3000", "a/b@step3000"),
            ("https://huggingface.co/a/b/tree/step3000/onnx", "a/b@step3000"),
            ("https://huggingface.co/gpt2/tree/v1", "gpt2@v1"),
            ("https://huggingface.co/a/b/blob/refs%2Fpr%2F1/config.json", "a/b@refs/pr/1"),
            ("https://huggingface.co/a/b/tree/refs/pr/1", "a/b@refs/pr/1"),
            ("https://huggingface.co/a/b/resolve/step1/model.safetensors?download=true", "a/b@step1"),
            ("https://huggingface.co/a/b/discussions/3", "a/b"),
            ("http://192.168.1.5:8090/hub/a/b/tree/step1", "a/b@step1"),
            ("a/b@step3000", "a/b@step3000"),
        ];
        for (text, id) in cases {
            assert_eq!(pasted(text).as_deref(), Ok(id), "{text}");
        }
        assert_eq!(pasted(&format!("https://huggingface.co/a/b/commit/{commit}")), Ok(format!("a/b@{commit}")));
    }

    #[test]
    fn addresses_of_other_things_are_refused_with_a_sentence() {
        let cases = [
            ("https://huggingface.co/datasets/Salesforce/wikitext", "not of a model"),
            ("https://huggingface.co/spaces/a/b", "not of a model"),
            ("https://huggingface.co/", "empty"),
            ("https://huggingface.co/a/b/tree/%2e%2e%2f", "two dots"),
            ("https://huggingface.co/a/b/tree/%ff", "UTF-8"),
            ("https://huggingface.co.example/a/b", "another host"),
            ("https://mirror.example/a/b", "another host"),
            ("http://192.168.1.5:8090/hubris/a/b", "another host"),
        ];
        for (text, words) in cases {
            let Err(error @ Error::HubId { .. }) = pasted(text) else { panic!("{text}: {:?}", pasted(text)) };
            assert!(error.to_string().contains(words), "{text}: {error}");
        }
    }
}
