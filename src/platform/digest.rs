//! Streaming SHA-256. \[sha2\]

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
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
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
}
