//! Requests to a worker and its replies.

use std::ops::Range;

use super::message::{BlockTask, HelperRequest, Message, ReplyHead, WantedTensors, WorkTime, Worker};
use crate::backend::{Backend, Shape};
use crate::error::{Error, Result};
use crate::model::{Block, ModelPart as _};
use crate::stats::moments::Moments;
use crate::workers::sums::HalfFold;

/// Sends a request at once. The reply is `None` if the worker has ended.
pub(super) fn ask(
    worker: &dyn Worker,
    request: &HelperRequest,
    singles: Vec<Vec<f32>>,
    doubles: Vec<Vec<f64>>,
) -> impl Future<Output = Result<Option<(ReplyHead, Message)>>> + use<> {
    let head = serde_json::to_string(request).unwrap_or_default();
    let answer = worker.ask(Message { head, singles, doubles });
    async {
        let Some(message) = answer.await else { return Ok(None) };
        let head: Option<Result<ReplyHead, Error>> = serde_json::from_str(&message.head).ok();
        head.transpose().map(|head| head.map(|head| (head, message)))
    }
}

/// A worker that takes rows through a block.
pub struct RemoteBlock<'w>(&'w dyn Worker);

impl<'w> RemoteBlock<'w> {
    /// Sends a block with its weights.
    pub fn begin(worker: &'w dyn Worker, passage: BlockTask, weights: Vec<Vec<f32>>) -> Self {
        // An error here shows up with the first rows, which then find no block.
        drop(ask(worker, &HelperRequest::Block(Box::new(passage)), weights, Vec::new()));
        Self(worker)
    }

    /// Sends rows (N, hidden_size) at once. Returns the residual stream after the block, then the tensors `wanted`, in
    /// order; `None` if the worker has ended.
    pub fn rows(
        &self,
        (part, windows): (Option<HalfFold>, Range<usize>),
        hidden: Vec<f32>,
        wanted: WantedTensors,
    ) -> impl Future<Output = Result<Option<Vec<Vec<f32>>>>> + use<> {
        let answer = ask(self.0, &HelperRequest::Rows { part, windows, wanted }, vec![hidden], Vec::new());
        async { Ok(answer.await?.map(|(_, found)| found.singles)) }
    }

    /// Requests at once the second moments of all rows sent, by fold.
    pub fn moments(self) -> impl Future<Output = Result<Option<RemoteSums>>> + use<> {
        let answer = ask(self.0, &HelperRequest::Moments, Vec::new(), Vec::new());
        async {
            Ok(answer.await?.and_then(|(ReplyHead { folds, time, .. }, message)| {
                let moments =
                    message.doubles.iter().map(|numbers| Moments::from_wire(numbers)).collect::<Option<Vec<_>>>()?;
                Some(RemoteSums { folds: folds.into_iter().zip(moments).collect(), time })
            }))
        }
    }
}

/// What a worker returns after its rows of a block.
pub struct RemoteSums {
    /// Second moments, by fold.
    pub folds: Vec<(usize, Moments)>,
    /// When it was at work.
    pub time: Option<WorkTime>,
}

/// The shapes of a block's weights, and their values in the same order.
pub async fn copied<B: Backend>(backend: &B, block: &Block<B::Tensor>) -> Result<(Block<Shape>, Vec<Vec<f32>>)> {
    let mut tensors = Vec::new();
    let shapes = block.clone().map(&mut |tensor| {
        let shape = backend.shape(&tensor);
        tensors.push(tensor);
        Ok::<_, Error>(shape)
    })?;
    let mut values = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        values.push(backend.read(&tensor).await?);
    }
    Ok((shapes, values))
}
