//! Weights that a checkpoint stores in 16 bits stay so on the device, two to a word, which halves their memory.
//!
//! Arithmetic is still f32: a separate kernel (`unpack.wgsl`) unpacks weights piece by piece right before they are
//! used. Each weight is unpacked once per batch and used for all of its rows. Results are bitwise equal to those with
//! f32 storage, with every kernel.

use std::rc::Rc;

use half::{bf16, f16};

use super::backend::GpuBackend;
use super::device::{Buffer, Part, Tensor};
use super::kernels::{UNPACK, UnpackParams};
use super::matmul::{self, Product};
use crate::backend::Storage;
use crate::error::Result;

/// Bytes of unpacked weights at a time.
const UNPACKED_BYTES: usize = 32 << 20;
/// Cost of unpacking one word, in floating-point operations of a matrix product.
const FLOPS_PER_WORD: f64 = 32.0;

/// Packs rows of `cols` values two to a word; `None` if `cols` is odd or `storage` cannot represent a value.
pub(super) fn pack(values: &[f32], cols: usize, storage: Storage) -> Option<Vec<u32>> {
    let bits: fn(f32) -> Option<u16> = match storage {
        Storage::F32 => return None,
        Storage::F16 => |value| Some(f16::from_f32(value)).filter(|half| half.to_f32() == value).map(f16::to_bits),
        Storage::Bf16 => |value| Some(bf16::from_f32(value)).filter(|half| half.to_f32() == value).map(bf16::to_bits),
    };
    let (pairs, rest) = values.as_chunks::<2>();
    if !cols.is_multiple_of(2) || !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[low, high]| Some(u32::from(bits(*low)?) | u32::from(bits(*high)?) << 16)).collect()
}

/// Unpacks words, low half first.
pub(super) fn unpack(words: impl Iterator<Item = u32>, storage: Storage) -> impl Iterator<Item = f32> {
    let value = move |bits: u16| match storage {
        Storage::Bf16 => bf16::from_bits(bits).to_f32(),
        _ => f16::from_bits(bits).to_f32(),
    };
    words.flat_map(move |word| [value(word as u16), value((word >> 16) as u16)])
}

impl GpuBackend {
    /// Unpacks `len` words, beginning with word `first`.
    pub(super) fn unpacked(&self, packed: &Buffer, storage: Storage, first: usize, len: usize) -> Rc<Buffer> {
        let out = self.engine.output(8 * len as u64);
        let bf16 = (storage == Storage::Bf16).into();
        let params = UnpackParams { len: len as u32, first: first as u32, bf16 };
        let ms = self.choice.ms(FLOPS_PER_WORD * len as f64);
        self.engine.dispatch(&UNPACK, &params, &[packed, &out], self.engine.grid(&UNPACK, len), ms);
        out
    }

    /// Records a product whose weight is packed, a bounded number of unpacked rows at a time.
    pub(super) fn packed_product(&self, product: &Product<'_>, storage: Storage) {
        let (part, inner) = (product.weight, product.inner);
        let step = (UNPACKED_BYTES / (4 * inner).max(1)).max(1);
        for first in (0..part.rows).step_by(step) {
            let rows = step.min(part.rows - first);
            let buffer = self.unpacked(&part.buffer, storage, first * inner / 2, rows * inner / 2);
            let piece = Part { first_row: part.first_row + first, rows, buffer };
            matmul::record(&self.engine, &self.choice, &Product { weight: &piece, ..*product });
        }
    }

    /// A packed tensor of one part, converted to f32.
    pub(super) fn widened(&self, packed: &Tensor) -> Result<Tensor> {
        let [part] = &packed.parts[..] else { return Ok(packed.clone()) };
        let buffer = self.unpacked(&part.buffer, packed.storage, 0, packed.shape.len() / 2);
        let parts = Rc::new([Part { first_row: 0, rows: part.rows, buffer }]);
        Ok(Tensor { shape: packed.shape, storage: Storage::F32, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_to_the_same_bits() {
        let halves = [0x0000u16, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00, 0xfbff, 0x7bff];
        for storage in [Storage::F16, Storage::Bf16] {
            let words = halves.as_chunks::<2>().0.iter().map(|[low, high]| u32::from(*low) | u32::from(*high) << 16);
            let values: Vec<f32> = unpack(words.clone(), storage).collect();
            assert_eq!(pack(&values, 4, storage), Some(words.collect()), "{storage:?}");
        }
    }

    #[test]
    fn nothing_that_would_change_is_packed() {
        assert_eq!(pack(&[1.0, 2.0, 3.0], 3, Storage::F16), None, "half a word");
        assert_eq!(pack(&[1.0, 2.0], 2, Storage::F32), None);
        assert_eq!(pack(&[1.0, 0.1], 2, Storage::F16), None, "0.1 has more digits");
        assert_eq!(pack(&[1.0, 70000.0], 2, Storage::F16), None, "70000 is beyond the range");
        assert_eq!(pack(&[1.0, f32::NAN], 2, Storage::Bf16), None);
        assert!(pack(&[1.0, 2.0f32.powi(100)], 2, Storage::Bf16).is_some());
    }
}
