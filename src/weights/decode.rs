//! Decodes tensor bytes to f32. \[half\]

use half::{bf16, f16};
use safetensors::tensor::Dtype;

/// A supported storage format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    F32,
    F16,
    Bf16,
}

impl Format {
    /// `None` for integers, booleans, 8-bit and 64-bit floats.
    pub(super) fn of(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F32 => Some(Self::F32),
            Dtype::F16 => Some(Self::F16),
            Dtype::BF16 => Some(Self::Bf16),
            _ => None,
        }
    }

    /// The name in a safetensors header.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
        }
    }

    /// Bytes per element.
    pub(super) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Appends the elements in little-endian `bytes` to `values`; all three formats convert exactly.
    pub(super) fn decode(self, bytes: &[u8], values: &mut Vec<f32>) {
        match self {
            Self::F32 => values.extend(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))),
            Self::F16 => values.extend(bytes.as_chunks().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32())),
            Self::Bf16 => values.extend(bytes.as_chunks().0.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_decodes_its_own_bits() {
        let cases = [
            (Format::F32, vec![0x00, 0x00, 0xc0, 0xbf, 0x01, 0x00, 0x00, 0x00], vec![-1.5, f32::from_bits(1)]),
            (Format::F16, vec![0x00, 0xbe, 0x01, 0x00, 0xff, 0x7b], vec![-1.5, 2f32.powi(-24), 65504.0]),
            (Format::Bf16, vec![0xc0, 0xbf, 0x80, 0x7f], vec![-1.5, f32::INFINITY]),
        ];
        for (format, bytes, expected) in cases {
            let mut values = vec![7.0];
            format.decode(&bytes, &mut values);
            assert_eq!(values[1..], expected, "{format:?}");
            assert_eq!(bytes.len(), expected.len() * format.size());
        }
    }
}
