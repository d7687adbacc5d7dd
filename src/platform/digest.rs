//! Streaming SHA-256, and the hashes by which git and the hub name files. \[sha1, sha2\]

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// An incremental hash.
#[derive(Clone, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Hashes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes so far, as 64 lower-case hexadecimal digits.
    pub fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// The hash by which a file is listed.
#[derive(Clone)]
pub enum BlobDigest {
    /// SHA-256 of the content: large files on the hub.
    Sha256(Digest),
    /// SHA-1 of a header and the content: git's object id.
    Git(Sha1),
}

impl BlobDigest {
    /// An empty hash of the kind of `hash`, for a file of `size` bytes; `None` if it is neither.
    pub fn like(hash: &str, size: u64) -> Option<Self> {
        match hash.len() {
            64 => Some(Self::Sha256(Digest::default())),
            40 => Some(Self::Git(Sha1::new_with_prefix(format!("blob {size}\0")))),
            _ => None,
        }
    }

    /// Its name in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "SHA-256",
            Self::Git(_) => "git SHA-1",
        }
    }

    /// Hashes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(digest) => digest.update(bytes),
            Self::Git(digest) => digest.update(bytes),
        }
    }

    /// The hash of all bytes so far, in lower-case hexadecimal digits.
    pub fn hex(self) -> String {
        match self {
            Self::Sha256(digest) => digest.hex(),
            Self::Git(digest) => hex(&digest.finalize()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of `bytes`, as 64 lower-case hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.update(bytes);
    digest.hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_vector_however_the_bytes_arrive() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
        let mut digest = Digest::default();
        digest.update(b"a");
        digest.update(b"bc");
        assert_eq!(digest.hex(), expected);
    }

    #[test]
    fn a_file_has_the_object_id_that_git_gives_it() {
        // Printed by `git hash-object` for a file with these bytes.
        let id = "bd9dbf5aae1a3862dd1526723246b20206e5fc37";
        let mut digest = BlobDigest::like(id, 16).expect("git's hash");
        digest.update(b"what is up, ");
        digest.update(b"doc?");
        assert_eq!(digest.hex(), id);
        assert!(BlobDigest::like("abc", 3).is_none());
    }
}
