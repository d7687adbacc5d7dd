//! Parquet's hybrid of run lengths and packed bits, in which it writes levels and places in a dictionary.

use crate::thrift::{Result, varint};

/// Calls `take` with each of `count` values of `width` bits, and how often it follows itself.
///
/// # Errors
/// More than 32 bits, or data that hold fewer values; an error of `take`.
pub(crate) fn runs(
    mut data: &[u8],
    width: u32,
    count: u64,
    take: &mut dyn FnMut(u32, u64) -> Result<()>,
) -> Result<()> {
    if width > u32::BITS {
        return Err("a page has values of more than 32 bits".into());
    }
    let mut left = count;
    while left > 0 {
        let (header, rest) = varint(data)?;
        let (length, is_packed) = (header >> 1, header & 1 == 1);
        let bytes = if is_packed { length.saturating_mul(width.into()) } else { width.div_ceil(8).into() };
        // The last values may be packed without the bits that fill their last group.
        let held = rest.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        let (values, rest) = rest.split_at(held);
        data = rest;
        if is_packed && width > 0 {
            let present = (held as u64 * 8 / u64::from(width)).min(length.saturating_mul(8)).min(left);
            (0..present).try_for_each(|at| take(packed(values, width, at), 1))?;
            left -= present;
        } else if (held as u64) < bytes {
            break;
        } else {
            let repeated = if is_packed { length.saturating_mul(8) } else { length }.min(left);
            take(packed(values, width, 0), repeated)?;
            left -= repeated;
        }
        if data.is_empty() {
            break;
        }
    }
    if left == 0 { Ok(()) } else { Err("a page holds fewer values than it claims".into()) }
}

/// The value at a place among values of `width` bits, the lowest bits first.
fn packed(values: &[u8], width: u32, at: u64) -> u32 {
    let bit = at * u64::from(width);
    let bytes = values.iter().skip((bit / 8) as usize).take(5).enumerate();
    let word = bytes.fold(0u64, |word, (place, byte)| word | u64::from(*byte) << (8 * place));
    ((word >> (bit % 8)) & ((1u64 << width) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(data: &[u8], width: u32, count: u64) -> Result<Vec<u32>> {
        let mut values = Vec::new();
        let taken = runs(data, width, count, &mut |value, times| {
            values.extend(std::iter::repeat_n(value, times as usize));
            Ok(())
        });
        taken.map(|()| values)
    }

    #[test]
    fn runs_and_packed_bits_are_read() {
        // 0 to 7 in three bits, the example of the format's own documentation; then five times 6.
        let data = [3, 0b1000_1000, 0b1100_0110, 0b1111_1010, 10, 6];
        assert_eq!(values(&data, 3, 13), Ok(vec![0, 1, 2, 3, 4, 5, 6, 7, 6, 6, 6, 6, 6]));
        assert_eq!(values(&data, 3, 10), Ok(vec![0, 1, 2, 3, 4, 5, 6, 7, 6, 6]), "no more than asked for");
        assert!(values(&data, 3, 14).is_err() && values(&data[..5], 3, 9).is_err());
        assert_eq!(values(&data[..3], 3, 5), Ok(vec![0, 1, 2, 3, 4]), "packed as far as they go");
        assert!(values(&data[..3], 3, 6).is_err());
        assert_eq!(values(&[4, 0x78, 0x56, 0x34, 0x12], 32, 2), Ok(vec![0x1234_5678; 2]));
        let wide = [3, 0xfe, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0];
        assert_eq!(values(&wide, 31, 2), Ok(vec![0x7fff_fffe, 0xff]), "a value over five bytes");
    }

    #[test]
    fn claims_take_no_time_and_no_room() {
        let endless = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let mut calls = 0;
        let mut count = |_, times| {
            calls += 1;
            assert_eq!(times, u64::MAX >> 1);
            Ok(())
        };
        runs(&endless, 0, u64::MAX >> 1, &mut count).expect("a run of zeros has no bytes");
        assert_eq!(calls, 1);
        assert!(values(&[0; 100], 8, 5).is_err(), "runs of no values");
        assert!(values(&[], 3, 1).is_err() && values(&[3], 33, 1).is_err());
        assert_eq!(values(&[], 3, 0), Ok(vec![]));
    }
}
