//! Reads the tokenizer of a model from its files.

use std::collections::BTreeMap;

use crate::corpus::{TOKENIZER_KINDS, Tokenizer, check_tokenizer_size, tokenizer_files};
use crate::error::Result;
use crate::weights::Files;

/// The model's own tokenizer.
pub(super) async fn tokenizer(files: &dyn Files) -> Result<Tokenizer> {
    let mut sizes = BTreeMap::new();
    for kind in TOKENIZER_KINDS {
        for file in kind {
            sizes.extend(files.size(file).await?.map(|size| (*file, size)));
        }
        if let Some(names) = tokenizer_files(|file| sizes.contains_key(file)) {
            let mut found = Vec::new();
            for file in names {
                check_tokenizer_size(file, sizes[file])?;
                found.push((file, files.read(file, 0..sizes[file]).await?));
            }
            return Tokenizer::from_files(&found);
        }
    }
    Tokenizer::from_files(&[])
}
