//! Settings of the benchmarks as plain data, sent to a browser's worker as JSON.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A GPT-2-shaped model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Transformer blocks.
    pub layers: usize,
    /// Width of the residual stream; heads are 64 wide if that divides it.
    pub width: usize,
}

impl Shape {
    /// GPT-2 itself.
    pub const GPT2: Self = Self { layers: 12, width: 768 };
    /// A shape that a software adapter can measure in a minute.
    pub const SMALL: Self = Self { layers: 2, width: 256 };

    /// Attention heads.
    pub fn heads(self) -> usize {
        if self.width.is_multiple_of(64) { self.width / 64 } else { 1 }
    }
}

impl FromStr for Shape {
    type Err = String;

    /// Reads `LAYERSxWIDTH`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('x').and_then(|(layers, width)| {
            let shape = Self { layers: layers.parse().ok()?, width: width.parse().ok()? };
            ((1..=96).contains(&shape.layers) && (8..=8192).contains(&shape.width)).then_some(shape)
        });
        parsed.ok_or_else(|| format!("{text:?} is not LAYERSxWIDTH such as 12x768, 1 to 96 layers and width 8 to 8192"))
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.layers, self.width)
    }
}

/// A backend of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The best adapter, software ones included.
    Gpu,
    /// The processor.
    Cpu,
}

/// A part of the benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Every operation alone, against the peak of the device.
    Kernels,
    /// Time second moments add to a forward pass.
    Gram,
    /// One block's complete solve against one eigen-decomposition.
    Solve,
    /// A complete measurement by stage.
    Whole,
    /// Small complete measurements of more rows, width and depth.
    Growth,
}

impl Part {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Kernels, Self::Gram, Self::Solve, Self::Whole, Self::Growth];
}

impl FromStr for Part {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        serde_json::from_value(name.into()).map_err(|_| "choose from kernels, gram, solve, whole, growth".into())
    }
}

/// One run of the benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Backends, in order.
    pub devices: Vec<Device>,
    /// Parts, in order.
    pub parts: Vec<Part>,
    /// The model; `None` is GPT-2's shape, or a small one on a software adapter.
    pub shape: Option<Shape>,
    /// Rows of a complete measurement; `None` is the engine's default of 15 000, or few with the small shape.
    pub rows: Option<usize>,
    /// Bytes of rows that a complete measurement may hold on the device ([`straightedge::job::Job::row_memory`]).
    #[serde(default)]
    pub row_memory: Option<u64>,
    /// Tokens per window.
    pub seq_len: usize,
    /// Seed of weights and tokens.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            devices: vec![Device::Gpu, Device::Cpu],
            parts: Part::ALL.to_vec(),
            shape: None,
            rows: None,
            row_memory: None,
            seq_len: 128,
            seed: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_and_refused() {
        assert_eq!("12x768".parse(), Ok(Shape::GPT2));
        for wrong in ["12", "x768", "0x768", "12x7", "12x768x2", "12X768", "-1x64"] {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
        }
        assert_eq!((Shape::GPT2.heads(), Shape { layers: 1, width: 40 }.heads()), (12, 1));
    }

    #[test]
    fn settings_survive_the_crossing() {
        let settings = Settings { shape: Some(Shape::GPT2), ..Settings::default() };
        let json = serde_json::to_string(&settings).expect("plain data");
        assert_eq!(serde_json::from_str::<Settings>(&json).expect("the same"), settings);
        assert_eq!("growth".parse(), Ok(Part::Growth));
        assert!("all".parse::<Part>().is_err());
    }
}
