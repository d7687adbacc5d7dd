//! Bytes of a result in a link, written and read by one description of their order, so that both cannot disagree.
//!
//! Whole numbers take as few bytes as they need, texts have their length in front, and values are f64, with NaN for an
//! undefined one: every digit survives.

use std::fmt::Write;

/// Most bytes of a text.
const LONGEST_TEXT: usize = 200;
/// Most bytes of a hash in hexadecimal digits.
const HASH_DIGITS: usize = 64;

/// What went wrong, in words.
pub(super) type Passed = Result<(), &'static str>;

/// Bytes that are written to, or read from.
pub(super) enum Wire<'a> {
    Out(Vec<u8>),
    In(&'a [u8]),
}

impl Wire<'_> {
    fn byte(&mut self, byte: &mut u8) -> Passed {
        match self {
            Self::Out(bytes) => bytes.push(*byte),
            Self::In(bytes) => {
                let (first, rest) = bytes.split_first().ok_or("it ends early")?;
                (*byte, *bytes) = (*first, rest);
            }
        }
        Ok(())
    }

    fn bytes(&mut self, chunk: &mut [u8]) -> Passed {
        chunk.iter_mut().try_for_each(|byte| self.byte(byte))
    }

    /// A whole number below 2³², seven bits a byte.
    pub(super) fn number(&mut self, number: &mut usize) -> Passed {
        let mut left = u32::try_from(*number).map_err(|_| "a number is too large")?;
        let mut found = 0u64;
        for place in 0..5 {
            let mut byte = if left > 0x7f { left as u8 | 0x80 } else { left as u8 };
            self.byte(&mut byte)?;
            left >>= 7;
            found |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                *number = u32::try_from(found).map_err(|_| "a number is too large")? as usize;
                return Ok(());
            }
        }
        Err("a number is too large")
    }

    /// A switch.
    pub(super) fn switch(&mut self, is_on: &mut bool) -> Passed {
        let mut byte = u8::from(*is_on);
        self.byte(&mut byte)?;
        *is_on = match byte {
            0 => false,
            1 => true,
            _ => return Err("a switch is neither on nor off"),
        };
        Ok(())
    }

    /// A position in a list of `count`.
    pub(super) fn choice(&mut self, at: &mut usize, count: usize) -> Passed {
        self.number(at)?;
        if *at < count { Ok(()) } else { Err("a choice is unknown") }
    }

    /// A text of one line.
    pub(super) fn text(&mut self, text: &mut String) -> Passed {
        let mut length = text.len();
        self.number(&mut length)?;
        if length > LONGEST_TEXT {
            return Err("a name is too long");
        }
        let mut bytes = std::mem::take(text).into_bytes();
        bytes.resize(length, 0);
        self.bytes(&mut bytes)?;
        *text = String::from_utf8(bytes).map_err(|_| "a name is not text")?;
        if text.chars().any(is_hidden) { Err("a name holds control characters") } else { Ok(()) }
    }

    /// A text that may be missing; an empty one counts as missing.
    pub(super) fn maybe_text(&mut self, text: &mut Option<String>) -> Passed {
        let mut known = text.take().unwrap_or_default();
        self.text(&mut known)?;
        *text = Some(known).filter(|known| !known.is_empty());
        Ok(())
    }

    /// A number that may be missing.
    pub(super) fn maybe_number(&mut self, number: &mut Option<usize>) -> Passed {
        let mut is_known = number.is_some();
        self.switch(&mut is_known)?;
        let mut known = number.take().unwrap_or_default();
        if is_known {
            self.number(&mut known)?;
        }
        *number = is_known.then_some(known);
        Ok(())
    }

    /// A SHA-256 hash in hexadecimal digits, as 32 bytes; anything else counts as missing.
    pub(super) fn hash(&mut self, hash: &mut Option<String>) -> Passed {
        let mut bytes = hash.take().as_deref().and_then(from_hexadecimal);
        let mut is_known = bytes.is_some();
        self.switch(&mut is_known)?;
        if is_known {
            let mut known = bytes.take().unwrap_or_else(|| vec![0; HASH_DIGITS / 2]);
            self.bytes(&mut known)?;
            *hash = Some(hexadecimal(&known));
        }
        Ok(())
    }

    /// A finite value with all its digits.
    pub(super) fn number_exact(&mut self, value: &mut f64) -> Passed {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes)?;
        *value = f64::from_le_bytes(bytes);
        if value.is_finite() { Ok(()) } else { Err("a value is not finite") }
    }

    /// A value with all its digits, or none.
    pub(super) fn value(&mut self, value: &mut Option<f64>) -> Passed {
        let mut bytes = value.unwrap_or(f64::NAN).to_le_bytes();
        self.bytes(&mut bytes)?;
        let found = f64::from_le_bytes(bytes);
        *value = Some(found).filter(|found| !found.is_nan());
        if found.is_infinite() { Err("a value is not finite") } else { Ok(()) }
    }

    /// A list, each item of which takes at least one byte.
    pub(super) fn list<T: Default + Clone>(
        &mut self,
        items: &mut Vec<T>,
        mut pass: impl FnMut(&mut Self, &mut T) -> Passed,
    ) -> Passed {
        let mut count = items.len();
        self.number(&mut count)?;
        if matches!(self, Self::In(bytes) if bytes.len() < count) {
            return Err("it ends early");
        }
        items.resize(count, T::default());
        items.iter_mut().try_for_each(|item| pass(self, item))
    }
}

/// Whether a character is invisible or changes the direction of the text around it.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    if digits.len() != HASH_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    (0..HASH_DIGITS).step_by(2).map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pass: impl Fn(&mut Wire<'_>) -> Passed) -> Vec<u8> {
        let mut wire = Wire::Out(Vec::new());
        pass(&mut wire).unwrap();
        match wire {
            Wire::Out(bytes) => bytes,
            Wire::In(_) => unreachable!("it was written"),
        }
    }

    #[test]
    fn numbers_and_values_come_back_to_the_last_bit() {
        for number in [0, 127, 128, 16_384, u32::MAX as usize] {
            let bytes = written(|wire| wire.number(&mut number.clone()));
            let mut found = 0;
            Wire::In(&bytes).number(&mut found).unwrap();
            assert_eq!(found, number);
        }
        for value in [None, Some(0.1 + 0.2), Some(-0.0), Some(f64::MIN_POSITIVE / 3.0), Some(f64::MAX)] {
            let bytes = written(|wire| wire.value(&mut value.clone()));
            let mut found = None;
            Wire::In(&bytes).value(&mut found).unwrap();
            assert_eq!(found.map(f64::to_bits), value.map(f64::to_bits));
        }
    }

    #[test]
    fn what_is_hostile_is_refused() {
        let refuse = |bytes: &[u8], pass: fn(&mut Wire<'_>) -> Passed| pass(&mut Wire::In(bytes)).unwrap_err();
        assert_eq!(refuse(&[0xff; 9], |wire| wire.number(&mut 0)), "a number is too large");
        assert_eq!(refuse(&[0x80, 0x80, 0x80, 0x80, 0x7f], |wire| wire.number(&mut 0)), "a number is too large");
        assert_eq!(refuse(&[200, 1, 0], |wire| wire.text(&mut String::new())), "it ends early");
        assert_eq!(refuse(&[201, 1, 0], |wire| wire.text(&mut String::new())), "a name is too long");
        assert_eq!(refuse(&[1, 7], |wire| wire.text(&mut String::new())), "a name holds control characters");
        assert_eq!(refuse(&[1, 0xff], |wire| wire.text(&mut String::new())), "a name is not text");
        assert_eq!(refuse(&f64::INFINITY.to_le_bytes(), |wire| wire.value(&mut None)), "a value is not finite");
        let list = |wire: &mut Wire<'_>| wire.list(&mut Vec::new(), |wire, item| wire.number(item));
        assert_eq!(refuse(&[0xff, 0xff, 0xff, 0xff, 0x0f], list), "it ends early", "and nothing is allocated");
        assert_eq!(refuse(&[2], |wire| wire.switch(&mut false)), "a switch is neither on nor off");
    }
}
