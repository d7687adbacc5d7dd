//! 64-bit sums on the device and their read-back.
//!
//! A sum of products of 24-bit integers over 2¹⁷ rows fits 63 bits. Before more rows are added, all but the low 32 bits
//! are carried to a second array; the host combines both.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::choice::KernelChoice;
use super::device::{Buffer, Engine, Span};
use super::kernels::gram::{CARRY, LenParams};
use crate::error::{Error, Result};

/// Rows that an exact sum holds without overflow.
pub(super) const MAX_ROWS: u64 = 1 << 17;

/// An array of 64-bit integers that dispatches accumulate into.
pub(super) struct DeviceSums {
    low: Rc<Buffer>,
    high: OnceCell<Rc<Buffer>>,
    /// Rows added since the last carry.
    rows: Cell<u64>,
}

impl DeviceSums {
    /// `len` zeros; `what` appears in errors.
    pub(super) fn new(engine: &Engine, what: &str, len: usize) -> Result<Self> {
        let needed = 8 * (len as u64).next_multiple_of(2);
        let limit = engine.device.max_bytes();
        if needed > limit {
            return Err(Error::DeviceLimit { what: what.into(), needed, limit });
        }
        Ok(Self { low: engine.zeros(needed), high: OnceCell::new(), rows: Cell::new(0) })
    }

    /// Reserves the sums for `rows` more rows and returns their buffer. Carries first if there would be more than `most`
    /// rows since the last carry.
    pub(super) fn reserve(&self, engine: &Engine, choice: &KernelChoice, rows: u64, most: u64) -> &Buffer {
        if self.rows.get() + rows > most {
            let high = self.high.get_or_init(|| engine.zeros(self.low.size));
            let pairs = (self.low.size / 16) as usize;
            let params = LenParams { len: pairs as u32 };
            let ms = choice.ms(32.0 * pairs as f64);
            engine.dispatch(&CARRY, &params, &[&self.low, high], engine.grid(&CARRY, pairs), ms);
            self.rows.set(0);
        }
        self.rows.set(self.rows.get() + rows);
        &self.low
    }
}

/// Receives the index of the first number, and consecutive numbers.
type Receiver<'a> = Box<dyn FnMut(usize, &[f64]) + 'a>;

/// A buffer to read back as numbers, and their receiver.
pub(super) struct Readback<'a> {
    source: ReadSource<'a>,
    take: Receiver<'a>,
}

#[derive(Clone, Copy)]
enum ReadSource<'a> {
    DeviceSums(&'a DeviceSums),
    Values(&'a Buffer),
}

impl<'a> Readback<'a> {
    /// Reads 64-bit sums, carried or not.
    pub(super) fn sums(sums: &'a DeviceSums, take: impl FnMut(usize, &[f64]) + 'a) -> Self {
        Self { source: ReadSource::DeviceSums(sums), take: Box::new(take) }
    }

    /// Reads f32 values.
    pub(super) fn values(values: &'a Buffer, take: impl FnMut(usize, &[f64]) + 'a) -> Self {
        Self { source: ReadSource::Values(values), take: Box::new(take) }
    }
}

/// Bytes of low words that are read before their high words.
const CARRIED_BYTES: u64 = 1 << 20;
/// Numbers converted at a time.
const RUN: usize = 1024;

/// A part of a read-back, read as one span.
#[derive(Clone, Copy)]
struct ReadPart {
    reading: usize,
    kind: WordKind,
    /// Index of its first number.
    first: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum WordKind {
    Values,
    /// Sums without a carry.
    Whole,
    /// Low words of sums with a carry.
    Low,
    /// High words of the previous part.
    High,
}

/// Reads everything with bounded memory and passes numbers on as they arrive.
pub(super) async fn read(engine: &Engine, mut readings: Vec<Readback<'_>>) -> Result<()> {
    // Four-byte values last, so that no chunk ends within an eight-byte sum.
    readings.sort_by_key(|reading| matches!(reading.source, ReadSource::Values(_)));
    let (parts, spans): (Vec<ReadPart>, Vec<Span<'_>>) =
        readings.iter().enumerate().flat_map(|(index, reading)| reading.parts(index)).unzip();
    let mut lows = LowWords::default();
    engine
        .read(&spans, |span, offset, bytes| {
            let ReadPart { reading, kind, first } = parts[span];
            let take = &mut readings[reading].take;
            let within = offset as usize / if kind == WordKind::Values { 4 } else { 8 };
            match kind {
                WordKind::Values => convert(bytes, first + within, |_, word| f64::from(f32::from_le_bytes(word)), take),
                WordKind::Whole => convert(bytes, first + within, |_, word| i64::from_le_bytes(word) as f64, take),
                WordKind::Low => lows.take(within, bytes),
                WordKind::High => {
                    let whole = |at: usize, word| lows.whole(at - first, i64::from_le_bytes(word));
                    convert(bytes, first + within, whole, take);
                }
            }
        })
        .await
}

/// Low words of a part that wait for their high words.
#[derive(Default)]
struct LowWords(Vec<i64>);

impl LowWords {
    /// Stores low words from index `from` on; a part may arrive in several chunks.
    fn take(&mut self, from: usize, bytes: &[u8]) {
        self.0.truncate(from);
        self.0.extend(bytes.as_chunks().0.iter().map(|word| i64::from_le_bytes(*word)));
    }

    /// Combines the low word at `at` with its `high` word.
    fn whole(&self, at: usize, high: i64) -> f64 {
        (i128::from(self.0[at]) + (i128::from(high) << 32)) as f64
    }
}

impl<'a> Readback<'a> {
    fn parts(&self, reading: usize) -> Vec<(ReadPart, Span<'a>)> {
        let part = |kind, first| ReadPart { reading, kind, first };
        match self.source {
            ReadSource::Values(buffer) => {
                vec![(part(WordKind::Values, 0), Span { buffer, offset: 0, size: buffer.size })]
            }
            ReadSource::DeviceSums(DeviceSums { low, high, .. }) => match high.get() {
                None => vec![(part(WordKind::Whole, 0), Span { buffer: low, offset: 0, size: low.size })],
                Some(high) => (0..low.size)
                    .step_by(CARRIED_BYTES as usize)
                    .flat_map(|offset| {
                        let size = CARRIED_BYTES.min(low.size - offset);
                        let part = |kind| part(kind, offset as usize / 8);
                        [
                            (part(WordKind::Low), Span { buffer: low, offset, size }),
                            (part(WordKind::High), Span { buffer: high, offset, size }),
                        ]
                    })
                    .collect(),
            },
        }
    }
}

/// Converts words in order, `RUN` at a time.
fn convert<const BYTES: usize>(
    bytes: &[u8],
    first: usize,
    number: impl Fn(usize, [u8; BYTES]) -> f64,
    take: &mut impl FnMut(usize, &[f64]),
) {
    let mut run = [0.0; RUN];
    let words = bytes.as_chunks::<BYTES>().0.chunks(RUN);
    for (first, words) in (first..).step_by(RUN).zip(words) {
        for (at, (value, word)) in (first..).zip(run.iter_mut().zip(words)) {
            *value = number(at, *word);
        }
        take(first, &run[..words.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_words_that_come_in_two_pieces_stay_in_their_places() {
        let mut lows = LowWords::default();
        for sign in [1, -1] {
            let words: Vec<i64> = (0..9).map(|at| sign * (at + 1)).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (first, second) = bytes.split_at(5 * 8);
            lows.take(0, first);
            lows.take(5, second);
            for (at, word) in words.iter().enumerate() {
                assert_eq!(lows.whole(at, -3), (word - (3 << 32)) as f64);
            }
        }
    }
}
