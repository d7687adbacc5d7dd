//! Texts on the hub: WikiText-2 as published, in Parquet files with one line per row.

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
    /// For training: 10.9 MB of text.
    Train,
    /// 1.1 MB.
    Validation,
    /// For published perplexities: 1.3 MB. `wikitext-2` alone means this part.
    Test,
}

/// Reads the column `text` of a Parquet file as one text, rows concatenated; the error is a clause with the reason. The
/// page loads the implementation on first use.
pub trait Table {
    /// The text of `file`.
    fn texts(&self, file: Vec<u8>) -> LocalBoxFuture<'_, Result<String, String>>;
}

impl WikiText2 {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Test, Self::Validation, Self::Train];

    /// The part by its name: `wikitext-2`, or this with `-test`, `-validation` or `-train`.
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
    /// Whether a part is stored from an earlier download; sends no request.
    pub async fn holds_wikitext(&self, part: WikiText2) -> Result<bool> {
        let known = self.store().load_repo(&HubId::dataset(WIKITEXT)?).await?;
        match known.and_then(|repo| repo.key(&part.path())) {
            Some(key) => Ok(self.store().held(&key).await? == [0..key.size]),
            None => Ok(false),
        }
    }

    /// A part of WikiText-2, with its name for reports. Rows are joined unchanged: each carries its own line end.
    ///
    /// # Errors
    /// Download errors, and a file that is not a valid table.
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
