//! 64-bit sums on the device and how they are read back.
//!
//! A sum of products of 24-bit integers over 2¹⁷ rows fits 63 bits. Before more rows come, all but the low 32 bits
//! spill into a second array; the host puts both together again.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::engine::Engine;
use super::gram_kernels::{LenParams, SPILL};
use super::matmul::Pace;
use super::tensor::Buffer;
use super::wait::Span;
use crate::error::{Error, Result};

/// Rows that an exact sum takes without overflow.
pub(super) const MAX_ROWS: u64 = 1 << 17;

/// An array of 64-bit integers that dispatches add to.
pub(super) struct Sums {
    low: Rc<Buffer>,
    high: OnceCell<Rc<Buffer>>,
    /// Rows added since the last spill.
    rows: Cell<u64>,
}

impl Sums {
    /// `len` zeros; `what` appears in errors.
    pub(super) fn new(engine: &Engine, what: &str, len: usize) -> Result<Self> {
        let needed = 8 * (len as u64).next_multiple_of(2);
        let limit = engine.device.max_bytes();
        if needed > limit {
            return Err(Error::DeviceLimit { what: what.into(), needed, limit });
        }
        Ok(Self { low: engine.zeros(needed), high: OnceCell::new(), rows: Cell::new(0) })
    }

    /// The buffer to add to, with room for `rows` more rows out of at most `most` between spills.
    pub(super) fn room(&self, engine: &Engine, pace: &Pace, rows: u64, most: u64) -> &Buffer {
        if self.rows.get() + rows > most {
            let high = self.high.get_or_init(|| engine.zeros(self.low.size));
            let pairs = (self.low.size / 16) as usize;
            let params = LenParams { len: pairs as u32 };
            let ms = pace.ms(32.0 * pairs as f64);
            engine.dispatch(&SPILL, &params, &[&self.low, high], engine.grid(&SPILL, pairs), ms);
            self.rows.set(0);
        }
        self.rows.set(self.rows.get() + rows);
        &self.low
    }

    /// All sums, in order.
    pub(super) async fn read(&self, engine: &Engine) -> Result<Vec<i128>> {
        let mut sums = vec![0i128; (self.low.size / 8) as usize];
        let spans: Vec<_> = std::iter::once(&self.low)
            .chain(self.high.get())
            .map(|buffer| Span { buffer, offset: 0, size: buffer.size })
            .collect();
        engine
            .read(&spans, |index, offset, bytes| {
                for (sum, word) in sums[offset as usize / 8..].iter_mut().zip(bytes.chunks_exact(8)) {
                    let word = i128::from(bytemuck::pod_read_unaligned::<i64>(word));
                    *sum += if index == 0 { word } else { word << 32 };
                }
            })
            .await?;
        Ok(sums)
    }
}
