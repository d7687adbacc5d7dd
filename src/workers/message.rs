//! Messages between workers: a JSON header, and number lists transferred as they are.

use std::ops::Range;

use futures::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use web_time::SystemTime;

use crate::backend::Shape;
use crate::job::Protocol;
use crate::model::{Block, ModelConfig};
use crate::report::BlockReport;
use crate::workers::sums::{HalfFold, Scales};

/// A message. Every request gets one reply, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// JSON of the request, or of the reply's `Result`, whose error ends the measurement.
    pub head: String,
    /// f32 tensors.
    pub singles: Vec<Vec<f32>>,
    /// f64 values.
    pub doubles: Vec<Vec<f64>>,
}

/// A request to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum HelperRequest {
    /// Loads a block, whose weights are in `singles`.
    Block(Box<BlockTask>),
    /// Takes the rows in `singles` through that block. The reply holds the residual stream after it, then the requested
    /// tensors in the order of [`WantedTensors`].
    Rows {
        /// The half-fold; `None` in a text for perplexity alone.
        part: Option<HalfFold>,
        /// Windows of the text, for errors.
        windows: Range<usize>,
        /// The tensors to return.
        wanted: WantedTensors,
    },
    /// Requests the second moments of all rows sent: values in `doubles`, folds in `head`.
    Moments,
    /// The next fold of a block to solve, its moments in `doubles`.
    Fold,
    /// All folds are sent: solve the block. The reply holds its report, and the rest of its score in `doubles`.
    Solve {
        /// Index of the block.
        block: usize,
    },
    /// All folds are sent: solve the part of the block that needs no fit.
    SolveRemainder {
        /// Index of the block.
        block: usize,
    },
    /// Sends the directions kept by the fit, and requests the rest of the block's score.
    Kept,
}

/// What a reply holds besides lists of numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ReplyHead {
    /// The folds of the moments, if any.
    pub(super) folds: Vec<usize>,
    /// The report of a solved block.
    pub(super) report: Option<BlockReport>,
    /// When the worker was at work on the block, if this reply ends that.
    pub(super) time: Option<WorkTime>,
}

/// When a worker was at work on one block. Workers share no clock but that of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkTime {
    /// Seconds since 1970 when it began.
    pub start: f64,
    /// Seconds since 1970 when it ended.
    pub end: f64,
    /// Seconds in between in which it was at work; the rest it waited.
    pub busy: f64,
}

impl WorkTime {
    /// Work that began at `start` and ends now.
    pub(super) fn since(start: f64) -> Self {
        let end = unix_seconds();
        Self { start, end, busy: end - start }
    }

    /// Adds later work on the same block.
    pub(super) fn and(self, later: Self) -> Self {
        Self { start: self.start, end: later.end, busy: self.busy + later.busy }
    }
}

/// Seconds since 1970.
pub fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// A block and the settings its rows need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BlockTask {
    /// Index of the block, for errors.
    pub index: usize,
    /// Configuration of the model.
    pub config: ModelConfig,
    /// Shapes of the weights.
    pub block: Block<Shape>,
    /// Window size and skipped positions.
    pub protocol: Protocol,
    /// Folds of the text.
    pub folds: usize,
    /// Set if second moments are wanted.
    pub scales: Option<Scales>,
}

/// The tensors wanted of a batch in addition to the residual stream after the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedTensors {
    /// Input of the feed-forward network.
    pub x: bool,
    /// Output of the feed-forward network.
    pub y: bool,
    /// The terms y is added to.
    pub rest: bool,
}

/// A helper worker.
pub trait Worker {
    /// Sends a request at once. The reply is `None` if the worker has ended.
    fn ask(&self, request: Message) -> LocalBoxFuture<'static, Option<Message>>;

    /// Its peak memory in bytes.
    fn bytes(&self) -> u64;
}
