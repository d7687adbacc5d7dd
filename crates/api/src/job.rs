//! A measurement's settings: model, corpus, protocol and measures, as plain data.
//!
//! Names and defaults are those of the command line and of the report; nothing here computes.

mod training;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
pub use training::{MAX_SEEDS, MAX_STEPS, Training};

/// One measurement: everything but the bytes of model and text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Model identifier for the report: folder name, hub id or bundled name.
    pub model: String,
    /// Training checkpoint of the model, for the report.
    #[serde(default)]
    pub checkpoint: Option<String>,
    /// The model whose tokenizer is used, for the report; `None` is the model's own.
    #[serde(default)]
    pub tokenizer: Option<String>,
    /// Corpus identifier for the report: file name or bundled name.
    pub corpus: String,
    /// How rows are cut and folded.
    pub protocol: Protocol,
    /// Measures to take.
    pub measures: BTreeSet<Measure>,
    /// Blocks to measure; `None` is all of them.
    pub blocks: Option<Blocks>,
    /// Ranks of `rank-swap`; `None` is 1, 2, 4 … and the width itself.
    #[serde(default)]
    pub ranks: Option<Ranks>,
    /// Training steps of probes, baseline and healing.
    #[serde(default)]
    pub training: Training,
    /// Where to compute.
    pub backend: BackendChoice,
    /// Whether to send every block's map along with its numbers.
    #[serde(default)]
    pub dump_maps: bool,
    /// Budget in bytes for rows on the device, and the same again in memory, before they go to a temporary file; `None`
    /// for the defaults. Results do not depend on it.
    #[serde(default)]
    pub row_memory: Option<u64>,
}

impl Job {
    /// The default job for a model and a corpus: `fit` on all blocks under the default protocol.
    pub fn new(model: impl Into<String>, corpus: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            checkpoint: None,
            tokenizer: None,
            corpus: corpus.into(),
            protocol: Protocol::default(),
            measures: BTreeSet::from([Measure::Fit]),
            blocks: None,
            ranks: None,
            training: Training::default(),
            backend: BackendChoice::Auto,
            dump_maps: false,
            row_memory: None,
        }
    }

    /// The chosen blocks of a model with `num_hidden_layers` blocks.
    pub fn chosen_blocks(&self, num_hidden_layers: usize) -> Result<Vec<usize>> {
        self.blocks.as_ref().map_or_else(|| Ok((0..num_hidden_layers).collect()), |b| b.within(num_hidden_layers))
    }

    /// Refuses settings out of range.
    pub fn check(&self) -> Result<()> {
        self.protocol.check()?;
        self.training.check()
    }
}

/// Default window of captured rows: large enough to keep correlated neighbours together.
pub const ROWS_WINDOW: usize = 32;

/// Most folds. Every one is fitted, and its sums are kept until the block is measured.
pub const MAX_FOLDS: usize = 1000;
/// Most characters of a piece of text that is tokenised by itself, and which the tokenizer takes as a whole.
pub const MAX_PIECE_CHARS: usize = 1 << 16;

/// How the corpus becomes rows and folds (docs/measures.md, section 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocol {
    /// Requested rows; the first ⌊rows / seq_len⌋ windows are used.
    pub rows: usize,
    /// Tokens per window.
    pub seq_len: usize,
    /// Folds; the last one is held out.
    pub folds: usize,
    /// Whether windows are dealt to the folds in turn, instead of cut into contiguous ones.
    #[serde(default)]
    pub interleaved_folds: bool,
    /// Leading positions of every window left out of all fits and scores.
    pub skip_positions: usize,
    /// Whether every window begins with the model's beginning-of-sequence token.
    #[serde(default)]
    pub bos: bool,
    /// Characters of the pieces that the text is cut into, each tokenised by itself with the tokenizer's own special
    /// tokens; 0 takes the text as a whole.
    #[serde(default)]
    pub piece_chars: usize,
    /// How second moments are accumulated.
    pub gram: GramMode,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            rows: 15_000,
            seq_len: 128,
            folds: 5,
            interleaved_folds: false,
            skip_positions: 0,
            bos: false,
            piece_chars: 0,
            gram: GramMode::Exact,
            seed: 0,
        }
    }
}

impl Protocol {
    /// The windows of the notebook of arXiv 2405.12250: pieces of 512 characters, each tokenised by itself. It keeps
    /// pieces of different lengths; here a window is the first 96 tokens of a piece.
    pub fn of_notebook() -> Self {
        Self { piece_chars: 512, seq_len: 96, ..Self::default() }
    }

    /// Refuses values that allow no split into folds.
    pub fn check(&self) -> Result<()> {
        let invalid = |field: &str, value: usize, hint: &str| {
            Err(Error::InvalidSetting { field: field.into(), value: value.to_string(), hint: hint.into() })
        };
        if self.seq_len == 0 {
            return invalid("--seq-len", self.seq_len, "give at least 1 token per window");
        }
        if self.bos && self.seq_len < 2 {
            return invalid("--seq-len", self.seq_len, "with --bos, give at least 2 tokens per window");
        }
        if self.piece_chars > MAX_PIECE_CHARS {
            return invalid("--piece-chars", self.piece_chars, &format!("give at most {MAX_PIECE_CHARS} characters"));
        }
        if self.bos && self.piece_chars > 0 {
            let hint = "pieces have the tokenizer's own special tokens, give only one of --piece-chars and --bos";
            return invalid("--piece-chars", self.piece_chars, hint);
        }
        if self.folds < 2 {
            return invalid("--folds", self.folds, "give at least 2 folds, one of them is held out");
        }
        if self.folds > MAX_FOLDS {
            return invalid("--folds", self.folds, &format!("give at most {MAX_FOLDS} folds"));
        }
        if self.skip_positions >= self.seq_len {
            return invalid("--skip-positions", self.skip_positions, "it must be below --seq-len");
        }
        if self.rows < self.seq_len {
            return invalid("--rows", self.rows, "ask for at least one window of --seq-len rows");
        }
        Ok(())
    }
}

/// A measure: a family of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Linear recoverability of every block (docs/measures.md, sections 2 and 3).
    Fit,
    /// ΔPPL of every block replaced (section 4).
    Swap,
    /// ΔPPL of every block replaced by reduced-rank maps (section 4).
    RankSwap,
    /// Blocks replaced one after another, the cheapest one left at every step (section 4).
    Greedy,
    /// Linearity of whole layers (section 7).
    Layers,
    /// Whole layers removed or made linear one after another, the cheapest one left at every step (section 7).
    Prune,
    /// Trained probes of the residual (section 5).
    Probes,
    /// Further trained probes: of higher rank, with a trained linear part, gated (section 5).
    FurtherProbes,
    /// Polynomials of degree 2 to 4 in closed form (section 5).
    Degrees,
    /// The affine map trained by gradient descent (section 5).
    Baseline,
    /// The conjunction index (section 5).
    Conjunction,
    /// Re-initialised, Gaussian, cross-fed and first-position controls (section 6).
    Controls,
    /// ΔPPL after fine-tuning the swapped map (section 4).
    Heal,
    /// ΔPPL with half of the networks, or of the layers, made linear, after fine-tuning all maps together (section 4).
    HealTogether,
}

impl Measure {
    /// Every measure, in the order of the command line. `fit` is always included.
    pub const ALL: [Self; 14] = [
        Self::Fit,
        Self::Swap,
        Self::RankSwap,
        Self::Greedy,
        Self::Layers,
        Self::Prune,
        Self::Probes,
        Self::FurtherProbes,
        Self::Degrees,
        Self::Baseline,
        Self::Conjunction,
        Self::Controls,
        Self::Heal,
        Self::HealTogether,
    ];

    /// Whether it needs the model's next-token predictions.
    pub const fn needs_perplexity(self) -> bool {
        matches!(
            self,
            Self::Swap
                | Self::RankSwap
                | Self::Greedy
                | Self::Layers
                | Self::Prune
                | Self::Probes
                | Self::FurtherProbes
                | Self::Heal
                | Self::HealTogether
        )
    }

    /// Reads a comma list such as `fit,swap`, or `all`.
    pub fn parse_list(list: &str) -> Result<BTreeSet<Self>> {
        if list.trim() == "all" {
            return Ok(Self::ALL.into_iter().collect());
        }
        list.split(',').map(|name| name.trim().parse()).collect()
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Swap => "swap",
            Self::RankSwap => "rank-swap",
            Self::Greedy => "greedy",
            Self::Layers => "layers",
            Self::Prune => "prune",
            Self::Probes => "probes",
            Self::FurtherProbes => "further-probes",
            Self::Degrees => "degrees",
            Self::Baseline => "baseline",
            Self::Conjunction => "conjunction",
            Self::Controls => "controls",
            Self::Heal => "heal",
            Self::HealTogether => "heal-together",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Measure {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name).ok_or_else(|| Error::InvalidSetting {
            field: "--measures".into(),
            value: name.into(),
            hint: "choose from fit, swap, rank-swap, greedy, layers, prune, probes, further-probes, degrees, baseline, conjunction, controls, heal, heal-together, or all"
                .into(),
        })
    }
}

/// Where to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// A hardware GPU if there is one, else the CPU.
    #[default]
    Auto,
    /// WebGPU only, software adapters included.
    Gpu,
    /// candle-core on the CPU.
    Cpu,
}

impl FromStr for BackendChoice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu),
            "cpu" => Ok(Self::Cpu),
            _ => Err(Error::InvalidSetting {
                field: "--backend".into(),
                value: name.into(),
                hint: "choose auto, gpu or cpu".into(),
            }),
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
        })
    }
}

/// How second moments are accumulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GramMode {
    /// Exact products and sums: on a GPU with integer digits of shifted, scaled values, on the CPU in f64.
    #[default]
    Exact,
    /// Shifted, scaled 64-row blocks in f32.
    Fast,
}

impl FromStr for GramMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "exact" => Ok(Self::Exact),
            "fast" => Ok(Self::Fast),
            _ => Err(Error::InvalidSetting {
                field: "--gram".into(),
                value: name.into(),
                hint: "choose exact or fast".into(),
            }),
        }
    }
}

impl fmt::Display for GramMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::Fast => "fast",
        })
    }
}

/// A choice of blocks such as `0,3-5`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Blocks(BTreeSet<usize>);

impl Blocks {
    /// These blocks; may be empty.
    pub fn of(blocks: impl IntoIterator<Item = usize>) -> Self {
        Self(blocks.into_iter().collect())
    }

    /// The chosen block indices, ascending, checked against `num_hidden_layers`.
    pub fn within(&self, num_hidden_layers: usize) -> Result<Vec<usize>> {
        match self.0.iter().find(|block| **block >= num_hidden_layers) {
            Some(block) => Err(Error::InvalidSetting {
                field: "--blocks".into(),
                value: block.to_string(),
                hint: format!("the model has blocks 0 to {}", num_hidden_layers.saturating_sub(1)),
            }),
            None => Ok(self.0.iter().copied().collect()),
        }
    }
}

impl Blocks {
    /// The union of both choices.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.0.union(&other.0).copied().collect()
    }
}

impl FromIterator<usize> for Blocks {
    fn from_iter<T: IntoIterator<Item = usize>>(blocks: T) -> Self {
        Self(blocks.into_iter().collect())
    }
}

impl FromStr for Blocks {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self> {
        let invalid = || Error::InvalidSetting {
            field: "--blocks".into(),
            value: list.into(),
            hint: "give a list such as 0,3-5".into(),
        };
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n < 10_000).ok_or_else(invalid);
        let mut blocks = BTreeSet::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(invalid());
            }
            blocks.extend(first..=last);
        }
        Ok(Self(blocks))
    }
}

/// A choice of ranks such as `1,8,64`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranks(BTreeSet<usize>);

impl Ranks {
    /// The chosen ranks of maps with `d_out` outputs, ascending.
    pub fn within(&self, d_out: usize) -> Result<Vec<usize>> {
        match self.0.iter().find(|rank| !(1..=d_out).contains(*rank)) {
            Some(rank) => Err(Error::InvalidSetting {
                field: "--ranks".into(),
                value: rank.to_string(),
                hint: format!("ranks of this model go from 1 to {d_out}"),
            }),
            None => Ok(self.0.iter().copied().collect()),
        }
    }
}

impl FromStr for Ranks {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self> {
        let rank = |text: &str| text.trim().parse().ok();
        list.split(',').map(rank).collect::<Option<_>>().map(Self).ok_or_else(|| Error::InvalidSetting {
            field: "--ranks".into(),
            value: list.into(),
            hint: "give a list such as 1,8,64".into(),
        })
    }
}
