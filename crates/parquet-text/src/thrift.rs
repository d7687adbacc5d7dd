//! Metadata in Thrift's compact form, walked over before the library reads it: it makes room for as many bytes, elements
//! and children as the metadata claim.

use parquet::errors::{ParquetError, Result};

/// Most structures and lists within each other; Parquet's own have eight.
const DEEPEST: usize = 32;
/// Most groups of columns within each other: the library calls itself for each.
const MOST_GROUPS: usize = 100;
/// Bytes of a file after its footer: the footer's length, and four letters.
const TAIL: usize = 8;
/// The field of a file's metadata that lists the elements of its schema.
const SCHEMA: [i16; 1] = [2];
/// The number of children of an element.
const CHILDREN: [i16; 2] = [2, 5];

/// What the walk comes upon, at a path of field ids.
enum Found {
    Structure,
    Number(i64),
}

/// Checks the footer of a file, if it has one.
///
/// # Errors
/// Lengths beyond the footer, or a schema that is no tree.
pub(crate) fn check_footer(file: &[u8]) -> Result<()> {
    let length = file.len().checked_sub(TAIL).and_then(|end| Some((end, *file[end..].first_chunk()?)));
    let start = length.and_then(|(end, length)| Some(end.checked_sub(u32::from_le_bytes(length) as usize)?..end));
    let Some(footer) = start.and_then(|footer| file.get(footer)) else { return Ok(()) };
    let mut children = Vec::new();
    walk(footer, &mut |path, found| match found {
        Found::Structure if path == SCHEMA => children.push(0),
        Found::Number(number) if path == CHILDREN => {
            // The library keeps the lower 32 bits.
            if let (Some(last), Ok(number)) = (children.last_mut(), usize::try_from(number as i32)) {
                *last = number.max(*last);
            }
        }
        _ => {}
    })?;
    check_tree(&children)
}

/// Checks the header at the beginning of a page.
///
/// # Errors
/// Lengths beyond the file.
pub(crate) fn check_page(header: &[u8]) -> Result<()> {
    walk(header, &mut |_, _| {})
}

/// Checks the numbers of children of a schema, whose elements follow each other in the order of the tree.
fn check_tree(children: &[usize]) -> Result<()> {
    let all = children.iter().fold(0usize, |all, own| all.saturating_add(*own));
    let mut open: Vec<usize> = Vec::new();
    for own in children {
        while open.pop_if(|left| *left == 0).is_some() {}
        open.last_mut().into_iter().for_each(|left| *left -= 1);
        open.push(*own);
        if open.len() > MOST_GROUPS {
            return damaged();
        }
    }
    if all < children.len().max(1) { Ok(()) } else { damaged() }
}

/// Walks over a structure and all that is inside.
fn walk(data: &[u8], visit: &mut dyn FnMut(&[i16], Found)) -> Result<()> {
    let mut walk = Walk { rest: data, path: Vec::new(), visit };
    walk.structure(DEEPEST)
}

struct Walk<'a, 'v> {
    rest: &'a [u8],
    /// Ids of the fields that lead here.
    path: Vec<i16>,
    visit: &'v mut dyn FnMut(&[i16], Found),
}

impl Walk<'_, '_> {
    fn structure(&mut self, depth: usize) -> Result<()> {
        if depth == 0 {
            return damaged();
        }
        (self.visit)(&self.path, Found::Structure);
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            if header & 0xf == 0 {
                return Ok(());
            }
            id = match header >> 4 {
                0 => self.number()? as i16,
                more => id.wrapping_add(i16::from(more)),
            };
            self.path.push(id);
            self.value(header & 0xf, depth)?;
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<()> {
        match kind {
            // The two truths of a field.
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4..=6 => {
                let number = self.number()?;
                (self.visit)(&self.path, Found::Number(number));
                Ok(())
            }
            7 => self.skip(8),
            8 => {
                let length = self.length()?;
                self.skip(length)
            }
            9 => self.list(depth - 1),
            12 => self.structure(depth - 1),
            13 => self.skip(16),
            // Parquet's metadata have no sets and maps.
            _ => damaged(),
        }
    }

    fn list(&mut self, depth: usize) -> Result<()> {
        let header = self.byte()?;
        let count = if header >> 4 == 0xf { self.length()? } else { usize::from(header >> 4) };
        // Elements have a byte at least; truths in lists, which the library skips as if they had none, do not occur.
        if depth == 0 || count > self.rest.len() || (count > 0 && matches!(header & 0xf, 0..=2)) {
            return damaged();
        }
        (0..count).try_for_each(|_| self.value(header & 0xf, depth))
    }

    fn byte(&mut self) -> Result<u8> {
        let Some((first, rest)) = self.rest.split_first() else { return damaged() };
        self.rest = rest;
        Ok(*first)
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        let Some(rest) = self.rest.get(count..) else { return damaged() };
        self.rest = rest;
        Ok(())
    }

    /// A number of seven bits a byte.
    fn varint(&mut self) -> Result<u64> {
        let mut number = 0u64;
        for place in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(7 * place).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        damaged()
    }

    fn length(&mut self) -> Result<usize> {
        self.varint()?.try_into().or_else(|_| damaged())
    }

    /// A signed number: 0, −1, 1, −2 …
    fn number(&mut self) -> Result<i64> {
        let folded = self.varint()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }
}

fn damaged<T>() -> Result<T> {
    Err(ParquetError::General("its metadata is damaged".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_damaged(data: &[u8]) -> bool {
        walk(data, &mut |_, _| {}).is_err()
    }

    #[test]
    fn lengths_end_within_the_data() {
        // A text of two letters in field 1, and an empty structure in field 3 of three elements.
        assert!(!is_damaged(&[0x18, 2, b'a', b'b', 0x29, 0x3c, 0, 0, 0, 0]));
        assert!(is_damaged(&[0x18, 2, b'a']), "a text that is cut");
        assert!(is_damaged(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, b'a', 0]));
        assert!(is_damaged(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0, 0]), "2³¹ elements");
        assert!(is_damaged(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]), "2³¹ truths, which take no byte");
        assert!(is_damaged(&[0x1c; 1000]), "1000 structures within each other");
    }

    #[test]
    fn a_schema_is_a_tree_with_as_many_children_as_elements_follow() {
        assert!(check_tree(&[2, 0, 0]).is_ok() && check_tree(&[2, 1, 0, 0]).is_ok() && check_tree(&[]).is_ok());
        assert!(check_tree(&[3, 0, 0]).is_err() && check_tree(&[usize::MAX, usize::MAX]).is_err());
        let deep = |groups: usize| [vec![1; groups], vec![0]].concat();
        assert!(check_tree(&deep(50)).is_ok() && check_tree(&deep(5000)).is_err());
    }
}
