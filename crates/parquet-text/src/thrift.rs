//! Thrift's compact form, in which Parquet writes its metadata: a walk over all fields of a structure.

/// A result with the reason of a refusal, as a clause.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// Most structures and lists within each other; Parquet's own have eight.
const DEEPEST: usize = 32;

/// What the walk comes upon, at a path of field ids; the elements of a list have the path of the list.
pub(crate) enum Found<'a> {
    Structure,
    Truth(bool),
    Number(i64),
    Text(&'a [u8]),
}

/// Walks over the structure that `data` begins with and all that is inside, and returns its length.
///
/// # Errors
/// Lengths beyond `data`, and what Parquet's metadata do not have; an error of `visit`.
pub(crate) fn walk<'a>(data: &'a [u8], visit: &mut dyn FnMut(&[i16], Found<'a>) -> Result<()>) -> Result<usize> {
    let mut walk = Walk { rest: data, path: Vec::new(), visit };
    walk.structure(DEEPEST)?;
    Ok(data.len() - walk.rest.len())
}

struct Walk<'a, 'v> {
    rest: &'a [u8],
    /// Ids of the fields that lead here.
    path: Vec<i16>,
    visit: &'v mut dyn FnMut(&[i16], Found<'a>) -> Result<()>,
}

impl<'a> Walk<'a, '_> {
    fn structure(&mut self, depth: usize) -> Result<()> {
        if depth == 0 {
            return damaged();
        }
        (self.visit)(&self.path, Found::Structure)?;
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
            1 | 2 => (self.visit)(&self.path, Found::Truth(kind == 1)),
            3 => self.bytes(1).map(drop),
            4..=6 => {
                let number = self.number()?;
                (self.visit)(&self.path, Found::Number(number))
            }
            7 => self.bytes(8).map(drop),
            8 => {
                let length = self.length()?;
                let text = self.bytes(length)?;
                (self.visit)(&self.path, Found::Text(text))
            }
            9 => self.list(depth - 1),
            12 => self.structure(depth - 1),
            13 => self.bytes(16).map(drop),
            // Parquet's metadata have no sets and maps.
            _ => damaged(),
        }
    }

    fn list(&mut self, depth: usize) -> Result<()> {
        let header = self.byte()?;
        let (count, kind) = (usize::from(header >> 4), header & 0xf);
        let count = if count == 0xf { self.length()? } else { count };
        if depth == 0 || count > self.rest.len() {
            return damaged();
        }
        for _ in 0..count {
            match kind {
                // Truths have a byte each in a list.
                1 | 2 => drop(self.byte()?),
                _ => self.value(kind, depth)?,
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((bytes, rest)) = self.rest.split_at_checked(count) else { return damaged() };
        self.rest = rest;
        Ok(bytes)
    }

    fn length(&mut self) -> Result<usize> {
        let (length, rest) = varint(self.rest)?;
        self.rest = rest;
        length.try_into().or_else(|_| damaged())
    }

    /// A signed number: 0, −1, 1, −2 …
    fn number(&mut self) -> Result<i64> {
        let (folded, rest) = varint(self.rest)?;
        self.rest = rest;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }
}

/// The number of seven bits a byte that `data` begins with, and what follows it.
///
/// # Errors
/// A number without end.
pub(crate) fn varint(data: &[u8]) -> Result<(u64, &[u8])> {
    let mut number = 0u64;
    for (place, byte) in data.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * place as u32).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok((number, &data[place + 1..]));
        }
    }
    damaged()
}

fn damaged<T>() -> Result<T> {
    Err("its metadata is damaged".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(data: &[u8]) -> Result<usize> {
        walk(data, &mut |_, _| Ok(()))
    }

    #[test]
    fn lengths_end_within_the_data() {
        // A text of two letters in field 1, and three empty structures in a list in field 3; one byte follows.
        assert_eq!(length(&[0x18, 2, b'a', b'b', 0x29, 0x3c, 0, 0, 0, 0, 7]), Ok(10));
        let damaged = [
            (&[0x18, 2, b'a'][..], "a text that is cut"),
            (&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, b'a', 0], "a text of 2⁶⁴ letters"),
            (&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0, 0], "2³¹ elements"),
            (&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0], "2³¹ truths"),
            (&[0x1c; 1000], "1000 structures within each other"),
            (&[0x15, 0x80, 0x80], "a number that is cut"),
            (&[0x1b, 0], "a map"),
        ];
        for (data, what) in damaged {
            assert!(length(data).is_err(), "{what}");
        }
    }

    #[test]
    fn values_are_found_at_their_paths() {
        // 1: −3, 2: true, 3: { 5: "ab" }, 19: [false, true], by its id in full.
        let data = [0x15, 5, 0x11, 0x1c, 0x58, 2, b'a', b'b', 0, 0x09, 38, 0x21, 2, 1, 0];
        let mut found = Vec::new();
        let end = walk(&data, &mut |path, value| {
            let value = match value {
                Found::Structure => "structure".to_owned(),
                Found::Truth(truth) => truth.to_string(),
                Found::Number(number) => number.to_string(),
                Found::Text(text) => String::from_utf8_lossy(text).into_owned(),
            };
            found.push((path.to_vec(), value));
            Ok(())
        });
        let expected =
            [(vec![], "structure"), (vec![1], "-3"), (vec![2], "true"), (vec![3], "structure"), (vec![3, 5], "ab")];
        assert_eq!(found, expected.map(|(path, value)| (path, value.to_owned())));
        assert_eq!(end, Ok(data.len()));
    }
}
