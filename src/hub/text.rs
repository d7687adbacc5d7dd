//! Texts on the hub: WikiText-2 as it was published, whose parts are Parquet files with one line per row.

use std::fmt;

use futures::future::LocalBoxFuture;

use super::client::Hub;
use super::id::HubId;
use crate::error::{Error, Result};
use crate::weights::{Files, read_whole};

const WIKITEXT: &str = "Salesforce/wikitext";
const FOLDER: &str = "wikitext-2-raw-v1";

/// A part of WikiText-2 (raw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WikiText2 {
    /// What models are trained on: 10.9 MB of text.
    Train,
    /// 1.1 MB.
    Validation,
    /// What perplexities are published for: 1.3 MB. `wikitext-2` alone is this part.
    Test,
}

/// Reads the column `text` of a Parquet file as one text, its rows one after the other with nothing between them; or a
/// clause that says why not. The page loads what can do so only when it is needed.
pub trait Table {
    /// The text of `file`.
    fn texts(&self, file: Vec<u8>) -> LocalBoxFuture<'_, Result<String, String>>;
}

impl WikiText2 {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Test, Self::Validation, Self::Train];

    /// The part that a name asks for: `wikitext-2`, or this with `-test`, `-validation` or `-train`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "wikitext-2" => Some(Self::Test),
            name => Self::ALL.into_iter().find(|part| part.to_string() == name),
        }
    }

    /// Its file in the data set.
    fn path(self) -> String {
        format!("{FOLDER}/{}-00000-of-00001.parquet", self.split())
    }

    fn split(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

impl fmt::Display for WikiText2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wikitext-2-{}", self.split())
    }
}

impl Hub {
    /// Whether a part is here, from an earlier download; nobody is asked.
    pub async fn holds_wikitext(&self, part: WikiText2) -> Result<bool> {
        let known = self.store().recall(&HubId::dataset(WIKITEXT)?).await?;
        match known.and_then(|repo| repo.key(&part.path())) {
            Some(key) => Ok(self.store().held(&key).await? == [0..key.size]),
            None => Ok(false),
        }
    }

    /// A part of WikiText-2, and what a report calls it. Rows are joined as they are: each carries its own line end,
    /// and nothing is added.
    ///
    /// # Errors
    /// As of every download, and a file that cannot be read as a table.
    pub async fn wikitext(&self, part: WikiText2, table: &dyn Table) -> Result<(String, Vec<u8>)> {
        let files = self.open_folder(&HubId::dataset(WIKITEXT)?, FOLDER).await?;
        let path = part.path();
        let hint = "the data set has changed its layout, save the text and give it as a file";
        let bytes = read_whole(&files as &dyn Files, &path, hint).await?;
        let text = table.texts(bytes).await.map_err(|why| {
            let hint = "delete what was downloaded and try again, or save the text and give it as a file".into();
            Error::NotTheFile { what: path, why, hint }
        })?;
        Ok((part.to_string(), text.into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for part in WikiText2::ALL {
            assert_eq!(WikiText2::named(&part.to_string()), Some(part));
        }
        assert_eq!(WikiText2::named("wikitext-2"), Some(WikiText2::Test));
        assert_eq!(WikiText2::named("wikitext-103"), None);
    }
}
