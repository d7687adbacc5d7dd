//! Reads the tokenizer of a model from its files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::corpus::{TOKENIZER_KINDS, Tokenizer, check_tokenizer_size, tokenizer_files};
use crate::error::Result;
use crate::platform::digest::sha256;
use crate::weights::Files;

/// Most bytes of files whose tokenizer is kept; a larger one takes memory that the measurement needs.
const KEPT_BYTES: usize = 1 << 20;

/// Names and SHA-256 of files.
type FileHashes = Vec<(&'static str, String)>;

thread_local! {
    /// The last tokenizer. `tokenizers` keeps the words that each instance has encoded for as long as the thread lives, so
    /// that a worker would grow by reading the same files for every measurement.
    static LAST: RefCell<Option<(FileHashes, Rc<Tokenizer>)>> = const { RefCell::new(None) };
}

/// The model's own tokenizer.
pub(super) async fn tokenizer(files: &dyn Files) -> Result<Rc<Tokenizer>> {
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
            return read(&found);
        }
    }
    read(&[])
}

/// The tokenizer of these files, which is the last one if they are the same.
fn read(files: &[(&'static str, Vec<u8>)]) -> Result<Rc<Tokenizer>> {
    let hashes: FileHashes = files.iter().map(|(name, bytes)| (*name, sha256(bytes))).collect();
    let last = LAST.take().filter(|(known, _)| *known == hashes);
    let tokenizer = match last {
        Some((_, last)) => last,
        None => Rc::new(Tokenizer::from_files(files)?),
    };
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    LAST.set((bytes <= KEPT_BYTES).then(|| (hashes, tokenizer.clone())));
    Ok(tokenizer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_read_once_and_others_anew() {
        let json = |token: &str| {
            let model = format!(r#"{{"type": "WordLevel", "vocab": {{"{token}": 0}}, "unk_token": "{token}"}}"#);
            vec![("tokenizer.json", format!(r#"{{"version": "1.0", "model": {model}}}"#).into_bytes())]
        };
        let first = read(&json("a")).expect("a tokenizer");
        assert!(Rc::ptr_eq(&first, &read(&json("a")).expect("a tokenizer")));
        let other = read(&json("b")).expect("a tokenizer");
        assert_eq!((first.id("a"), first.id("b"), other.id("a"), other.id("b")), (Some(0), None, None, Some(0)));
        let again = read(&json("b")).expect("a tokenizer");
        assert!(Rc::ptr_eq(&other, &again), "the last one is kept");
        assert!(read(&[("tokenizer.json", b"{}".to_vec())]).is_err());
        let mut large = json("b");
        large[0].1.extend(vec![b' '; KEPT_BYTES]);
        let large = [read(&large), read(&large)].map(|read| read.expect("a tokenizer"));
        assert!(!Rc::ptr_eq(&large[0], &large[1]), "a large one is not kept");
    }
}
