//! Reads the tokenizer of a model from its files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::corpus::{TOKENIZER_KINDS, Tokenizer, check_tokenizer_size, tokenizer_files};
use crate::error::Result;
use crate::platform::digest::sha256;
use crate::weights::{Files, refuse_pointer};

/// Most bytes of files whose tokenizers are kept; larger ones take memory that the measurement needs.
const KEPT_BYTES: usize = 1 << 20;

/// Names and SHA-256 of files.
type FileHashes = Vec<(&'static str, String)>;

/// A tokenizer with the hashes of its files and their size.
struct Kept {
    hashes: FileHashes,
    bytes: usize,
    tokenizer: Rc<Tokenizer>,
}

thread_local! {
    /// The tokenizers used last, the latest at the end. `tokenizers` caches the encoded words of every instance until
    /// the thread ends. A worker that read the same files for every measurement would therefore grow.
    static RECENT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
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
                let bytes = files.read(file, 0..sizes[file]).await?;
                refuse_pointer(file, &bytes)?;
                found.push((file, bytes));
            }
            return read(&found);
        }
    }
    read(&[])
}

/// The tokenizer of these files, which is a kept one if there is one of the same files.
fn read(files: &[(&'static str, Vec<u8>)]) -> Result<Rc<Tokenizer>> {
    let hashes: FileHashes = files.iter().map(|(name, bytes)| (*name, sha256(bytes))).collect();
    let mut recent = RECENT.take();
    let known = recent.iter().position(|kept| kept.hashes == hashes).map(|at| recent.remove(at).tokenizer);
    let read = known.map_or_else(|| Tokenizer::from_files(files).map(Rc::new), Ok);
    let bytes = files.iter().map(|(_, bytes)| bytes.len()).sum();
    if let Ok(tokenizer) = &read
        && bytes <= KEPT_BYTES
    {
        recent.push(Kept { hashes, bytes, tokenizer: tokenizer.clone() });
    }
    while recent.iter().map(|kept| kept.bytes).sum::<usize>() > KEPT_BYTES {
        recent.remove(0);
    }
    RECENT.set(recent);
    read
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
        for _ in 0..2 {
            assert!(Rc::ptr_eq(&other, &read(&json("b")).expect("a tokenizer")));
            assert!(Rc::ptr_eq(&first, &read(&json("a")).expect("a tokenizer")), "both are kept");
        }
        assert!(read(&[("tokenizer.json", b"{}".to_vec())]).is_err());
        let mut large = json("b");
        large[0].1.extend(vec![b' '; KEPT_BYTES]);
        let large = [read(&large), read(&large)].map(|read| read.expect("a tokenizer"));
        assert!(!Rc::ptr_eq(&large[0], &large[1]), "a large one is not kept");
        let mut half = json("c");
        half[0].1.extend(vec![b' '; KEPT_BYTES / 2]);
        let halves: Vec<_> = (0..3)
            .map(|at| {
                half[0].1.push(b' ');
                (at, read(&half).expect("a tokenizer"))
            })
            .collect();
        assert!(RECENT.with_borrow(|recent| recent.len() == 1), "what is kept has a bound");
        assert!(Rc::ptr_eq(&halves[2].1, &read(&half).expect("a tokenizer")), "it is the latest");
    }
}
