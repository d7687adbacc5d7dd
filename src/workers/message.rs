//! What workers say to each other: a line of JSON, and lists of numbers that cross as they are.

use futures::future::LocalBoxFuture;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::backend::Shape;
use crate::job::Protocol;
use crate::model::{Block, ModelConfig};
use crate::workers::sums::{HalfFold, Scales};

/// A message. Answers come in the order of the requests, one for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// JSON of a request; of an answer the JSON of a result, whose error is that of the measurement.
    pub head: String,
    /// Values of tensors.
    pub singles: Vec<Vec<f32>>,
    /// What is in double precision.
    pub doubles: Vec<Vec<f64>>,
}

/// What another worker is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum HelperRequest {
    /// Takes a block, whose weights are in `singles`.
    Block(Box<BlockTask>),
    /// Takes the rows of `singles` through that block. The answer has the residual stream after it, and what else is
    /// asked for, in the order of [`WantedTensors`].
    Rows {
        /// Which of the folds; none in a text for perplexity alone.
        part: Option<HalfFold>,
        /// Windows of the text, for errors.
        windows: Range<usize>,
        /// What to send back.
        wanted: WantedTensors,
    },
    /// Asks for the second moments of all those rows: the answer has their numbers in `doubles` and their folds in its head.
    Moments,
    /// Takes the next fold of a block to be solved, whose numbers are in `doubles`.
    Fold,
    /// All folds are there.
    Solve {
        /// Index of the block.
        block: usize,
    },
    /// Tells the directions that the fit keeps, as numbers, and asks for the rest of the block's score.
    Kept,
}

/// A block with what its rows need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BlockTask {
    /// Index of the block, for errors.
    pub index: usize,
    /// Configuration of the model.
    pub config: ModelConfig,
    /// Shapes of the weights.
    pub block: Block<Shape>,
    /// How windows are cut and counted.
    pub protocol: Protocol,
    /// Folds of the text.
    pub folds: usize,
    /// Where second moments are wanted.
    pub scales: Option<Scales>,
}

/// What is wanted of a batch beside the residual stream after the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedTensors {
    /// What enters the feed-forward network.
    pub x: bool,
    /// What it returns.
    pub y: bool,
    /// What y is added to.
    pub rest: bool,
}

/// Another worker.
pub trait Worker {
    /// Sends a request at once. The answer is `None` where the worker has ended.
    fn ask(&self, request: Message) -> LocalBoxFuture<'static, Option<Message>>;

    /// The most bytes of memory that it has taken.
    fn bytes(&self) -> u64;
}
