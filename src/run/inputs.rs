//! The inputs of a job: model files, texts, workers and storage.

use std::rc::Rc;

use super::resume_file::Resume;
use super::sweep::{ScratchFile, temporary};
use crate::backend::gpu;
use crate::platform::digest::sha256;
use crate::weights::Files;
use crate::workers::Workers;

/// The text of a job.
#[derive(Clone, Debug)]
pub enum Text {
    /// UTF-8 bytes, to be tokenised with the model's own tokenizer.
    Plain(Vec<u8>),
    /// Token ids.
    Tokens(Vec<u32>),
}

impl Text {
    /// Whether there is no text, so that no tokenizer is to blame.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(bytes) => bytes.is_empty(),
            Self::Tokens(ids) => ids.is_empty(),
        }
    }

    /// SHA-256 as in a report: of the text's bytes, or of its ids as little-endian 32-bit numbers.
    pub fn sha256(&self) -> String {
        match self {
            Self::Plain(bytes) => sha256(bytes),
            Self::Tokens(ids) => sha256(&ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>()),
        }
    }
}

/// The inputs of a job.
pub struct Inputs {
    /// The model in Hugging Face layout.
    pub files: Rc<dyn Files>,
    /// The text to measure on.
    pub text: Text,
    /// Text for perplexity, in place of the held-out windows, with its name.
    pub eval: Option<(String, Text)>,
    /// The model whose rows are fed through this one's networks, with its name (docs/measures.md, section 6,
    /// `cross_feed`).
    pub feed: Option<(String, Rc<dyn Files>)>,
    /// Helper workers.
    pub workers: Workers,
    /// Storage for the sweep's state, saved between blocks and resumed from.
    pub resume: Option<Rc<dyn Resume>>,
    /// Scratch file for rows that do not fit into memory.
    pub scratch: Option<Rc<dyn ScratchFile>>,
    /// GPU options, for tests.
    pub gpu: gpu::Options,
}

impl Inputs {
    /// A model and a text; everything else is the default.
    pub fn new(files: Rc<dyn Files>, text: Text) -> Self {
        let workers = Workers::default();
        let gpu = gpu::Options::default();
        Self { files, text, eval: None, feed: None, workers, resume: None, scratch: temporary(), gpu }
    }
}

/// Captured rows, and where those go that do not fit into memory.
pub struct RowsInputs {
    /// The source of the file.
    pub files: Rc<dyn Files>,
    /// A safetensors file with the tensors x (N, d_in) and y (N, d_out).
    pub file: String,
    /// Scratch file for rows that do not fit into memory.
    pub scratch: Option<Rc<dyn ScratchFile>>,
}

impl RowsInputs {
    /// A file of captured rows, with the platform's scratch file.
    pub fn new(files: Rc<dyn Files>, file: impl Into<String>) -> Self {
        Self { files, file: file.into(), scratch: temporary() }
    }
}
