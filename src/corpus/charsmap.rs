//! Checks the table of a `Precompiled` normaliser, which SentencePiece compiles from its rules.
//!
//! The table is the length of a trie in bytes, the trie as a double array of 32-bit units, and the replacements, each
//! ended by a zero byte. The crate that reads it trusts every length and every index in it.

use std::collections::VecDeque;

/// Bytes of a table: that of NFKC with additions has 316 kB.
const LARGEST: usize = 4 << 20;
/// Bytes of a replacement: NFKC has 33.
const LONGEST_REPLACEMENT: usize = 1 << 10;

/// Checks a table for every possible text. Returns the most bytes that replace one byte.
pub(super) fn growth(table: &[u8]) -> Result<u64, &'static str> {
    if table.len() > LARGEST {
        return Err("it is larger than 4 MB");
    }
    let (size, rest) = table.split_first_chunk::<4>().ok_or("it is cut short")?;
    let size = u32::from_le_bytes(*size) as usize;
    if size == 0 || !size.is_multiple_of(4) || size > rest.len() {
        return Err("the length of its trie is wrong");
    }
    let (trie, replacements) = rest.split_at(size);
    let units = trie.chunks_exact(4).map(|unit| u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]])).collect();
    let replacements = std::str::from_utf8(replacements).map_err(|_| "its replacements are not UTF-8")?;
    Trie { units, replacements }.growth()
}

/// The bits of a unit are those of Darts-clone, the library that SentencePiece uses.
struct Trie<'a> {
    units: Vec<u32>,
    replacements: &'a str,
}

impl Trie<'_> {
    /// Visits every state that a text can reach, shorter keys first.
    fn growth(&self) -> Result<u64, &'static str> {
        let mut seen = vec![false; self.units.len()];
        let mut waiting = VecDeque::from([(offset(self.units[0]), 1)]);
        let mut growth = 1;
        while let Some((state, key_len)) = waiting.pop_front() {
            // Every byte of a text may follow, and looks up a unit.
            if state | 0xff >= self.units.len() {
                return Err("its trie points outside itself");
            }
            if std::mem::replace(&mut seen[state], true) {
                continue;
            }
            for byte in 1..=0xff {
                let unit = self.units[state ^ byte];
                if (unit & 0x8000_00ff) as usize == byte {
                    let next = state ^ byte ^ offset(unit);
                    if unit >> 8 & 1 == 1 {
                        let len = self.replacement_len(next)? as u64;
                        growth = growth.max(len.div_ceil(key_len));
                    }
                    waiting.push_back((next, key_len + 1));
                }
            }
        }
        Ok(growth)
    }

    /// The length of the replacement whose place the unit `leaf` gives.
    fn replacement_len(&self, leaf: usize) -> Result<usize, &'static str> {
        let unit = self.units.get(leaf).ok_or("its trie points outside itself")?;
        let text = self.replacements.get((unit & 0x7fff_ffff) as usize..);
        let text = text.ok_or("its trie points outside its replacements")?;
        let most = &text.as_bytes()[..text.len().min(LONGEST_REPLACEMENT + 1)];
        let len = most.iter().position(|byte| *byte == 0).unwrap_or(most.len());
        if len > LONGEST_REPLACEMENT { Err("one of its replacements is longer than 1 kB") } else { Ok(len) }
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A table that replaces the byte `a` by `replacement`.
    pub(in crate::corpus) fn table(replacement: &str) -> Vec<u8> {
        let mut units = vec![0u32; 256];
        // The root's state is 0; after `a` the state is a ^ 1, where the place of the replacement lies.
        units[usize::from(b'a')] = u32::from(b'a') | 1 << 8 | 1 << 10;
        let bytes = units.iter().flat_map(|unit| unit.to_le_bytes());
        [&1024u32.to_le_bytes()[..], &bytes.collect::<Vec<_>>(), replacement.as_bytes(), b"\0"].concat()
    }

    fn with_unit(index: usize, unit: u32) -> Vec<u8> {
        let mut table = table("xy");
        table[4 + 4 * index..8 + 4 * index].copy_from_slice(&unit.to_le_bytes());
        table
    }

    #[test]
    fn an_intact_table_is_accepted_with_its_growth() {
        assert_eq!(growth(&table("xyz")), Ok(3));
        assert_eq!(growth(&table("")), Ok(1));
    }

    #[test]
    fn a_table_that_points_outside_is_refused() {
        let a = u32::from(b'a');
        let cases = [
            (vec![], "it is cut short"),
            (vec![0; 4], "the length of its trie is wrong"),
            ([&u32::MAX.to_le_bytes()[..], &[0; 8]].concat(), "the length of its trie is wrong"),
            (with_unit(0, 1 << 20), "its trie points outside itself"),
            (with_unit(usize::from(b'a'), a | 1 << 8 | 1 << 22), "its trie points outside itself"),
            (with_unit(usize::from(b'a') ^ 1, 5000), "its trie points outside its replacements"),
            ([&table("x")[..], b"\xff"].concat(), "its replacements are not UTF-8"),
            (table(&"x".repeat(2000)), "one of its replacements is longer than 1 kB"),
        ];
        for (table, why) in cases {
            assert_eq!(growth(&table), Err(why));
        }
        // In the middle of a character.
        let mut table = table("é");
        table[4 + 4 * usize::from(b'a' ^ 1)] = 1;
        assert_eq!(growth(&table), Err("its trie points outside its replacements"));
    }
}
