//! The helper worker's side: takes rows through blocks on the CPU, and solves a part of a block.

use futures::{Stream, StreamExt};

use super::message::{BlockTask, HelperRequest, Message, ReplyHead, WantedTensors, WorkTime, unix_seconds};
use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, Shape};
use crate::error::{Error, Result};
use crate::forward::{Layers, ResidualTerms};
use crate::model::{Block, ModelConfig, ModelPart as _};
use crate::solve::{Remainder, RetainedSpace, score_block};
use crate::stats::moments::Moments;
use crate::workers::sums::BlockSums;

/// Answers the messages of `inbox` one after another.
pub async fn serve(inbox: impl Stream<Item = Message>, answer: impl Fn(Message)) {
    let mut helper = Helper {
        backend: &CpuBackend::new(),
        passing: None,
        folds: Vec::new(),
        solving: None,
        row_time: None,
        solve_time: None,
    };
    let mut inbox = std::pin::pin!(inbox);
    while let Some(message) = inbox.next().await {
        answer(helper.answer(message).await);
    }
}

struct Helper<'a> {
    backend: &'a CpuBackend,
    /// The current block.
    passing: Option<LoadedBlock<'a>>,
    /// Folds received of the block to solve.
    folds: Vec<Moments>,
    /// The unfinished solve, and its folds.
    solving: Option<(Remainder, Vec<Moments>)>,
    /// Time spent on the rows of the current block.
    row_time: Option<WorkTime>,
    /// Time spent on the unfinished solve.
    solve_time: Option<WorkTime>,
}

struct LoadedBlock<'a> {
    config: ModelConfig,
    block: Block<<CpuBackend as Backend>::Tensor>,
    seq_len: usize,
    sums: Option<BlockSums<'a, CpuBackend>>,
}

impl<'a> Helper<'a> {
    async fn answer(&mut self, message: Message) -> Message {
        let found = match serde_json::from_str(&message.head) {
            Ok(request) => self.timed(request, message).await,
            Err(error) => Err(unexpected(&error.to_string())),
        };
        let (head, singles, doubles) = match found {
            Ok(HelperAnswer { head, singles, doubles }) => (Ok(head), singles, doubles),
            Err(error) => (Err(error), Vec::new(), Vec::new()),
        };
        // The requester treats an unreadable reply as the end of this worker.
        Message { head: serde_json::to_string(&head).unwrap_or_default(), singles, doubles }
    }

    /// Handles a request. The reply to the last one about a block holds the working time of all.
    async fn timed(&mut self, request: HelperRequest, message: Message) -> Result<HelperAnswer> {
        let of_rows = matches!(request, HelperRequest::Block(_) | HelperRequest::Rows { .. } | HelperRequest::Moments);
        let is_last = matches!(request, HelperRequest::Moments | HelperRequest::Solve { .. } | HelperRequest::Kept);
        // The previous block's sums were never requested: drop its time.
        if matches!(request, HelperRequest::Block(_)) {
            self.row_time = None;
        }
        let start = unix_seconds();
        let mut answer = self.handle(request, message).await?;
        let total = if of_rows { &mut self.row_time } else { &mut self.solve_time };
        let this = WorkTime::since(start);
        let time = total.take().map_or(this, |before| before.and(this));
        if is_last {
            answer.head.time = Some(time);
        } else {
            *total = Some(time);
        }
        Ok(answer)
    }

    async fn handle(
        &mut self,
        request: HelperRequest,
        Message { singles, doubles, .. }: Message,
    ) -> Result<HelperAnswer> {
        match request {
            HelperRequest::Block(passage) => {
                self.passing = Some(LoadedBlock::new(self.backend, *passage, singles)?);
                Ok(HelperAnswer::default())
            }
            HelperRequest::Rows { part, windows, wanted } => {
                let passing = self.passing.as_mut().ok_or_else(|| unexpected("rows without a block"))?;
                let hidden = singles.into_iter().next().unwrap_or_default();
                let shape = Shape::new(hidden.len() / passing.config.hidden_size, passing.config.hidden_size);
                let hidden = self.backend.upload("rows", shape, &hidden)?;
                let layers = Layers::new(self.backend, &passing.config, passing.seq_len)?;
                let passed = layers.pass(&passing.block, &hidden)?;
                if let (Some(sums), Some(part)) = (&mut passing.sums, part) {
                    sums.add((part, &windows), &passed.x, &passed.y).await?;
                }
                let WantedTensors { x, y, rest } = wanted;
                let mut tensors = vec![passed.next];
                tensors.extend(x.then_some(passed.x));
                tensors.extend(y.then_some(passed.y));
                match passed.rest {
                    ResidualTerms::Sequential(middle) if rest => tensors.push(middle),
                    ResidualTerms::Parallel(attended, hidden) if rest => tensors.extend([attended, hidden]),
                    _ => {}
                }
                let mut singles = Vec::with_capacity(tensors.len());
                for tensor in tensors {
                    singles.push(self.backend.read(&tensor).await?);
                }
                Ok(HelperAnswer { singles, ..HelperAnswer::default() })
            }
            HelperRequest::Moments => {
                let sums = self.passing.take().and_then(|passing| passing.sums);
                let moments = match sums {
                    Some(sums) => sums.moments().await?,
                    None => Vec::new(),
                };
                let counted = moments.into_iter().enumerate().filter(|(_, moments)| moments.n > 0);
                let (folds, doubles) = counted.map(|(fold, moments)| (fold, moments.to_wire())).unzip();
                let head = ReplyHead { folds, ..ReplyHead::default() };
                Ok(HelperAnswer { head, doubles, ..HelperAnswer::default() })
            }
            HelperRequest::Fold => {
                let fold = doubles.first().and_then(|numbers| Moments::from_wire(numbers));
                self.folds.push(fold.ok_or_else(|| unexpected("moments"))?);
                Ok(HelperAnswer::default())
            }
            HelperRequest::Solve { block } => {
                let score = score_block(block, &std::mem::take(&mut self.folds))?;
                let doubles = vec![score.to_wire()];
                let head = ReplyHead { report: Some(score.report), ..ReplyHead::default() };
                Ok(HelperAnswer { head, doubles, ..HelperAnswer::default() })
            }
            HelperRequest::SolveRemainder { block } => {
                let folds = std::mem::take(&mut self.folds);
                self.solving = Some((Remainder::new(block, &folds)?, folds));
                Ok(HelperAnswer::default())
            }
            HelperRequest::Kept => {
                let kept = doubles.first().and_then(|numbers| RetainedSpace::from_wire(numbers));
                let task = self.solving.take().zip(kept);
                let ((remainder, folds), kept) = task.ok_or_else(|| unexpected("directions"))?;
                Ok(HelperAnswer {
                    doubles: vec![remainder.finish(&folds, &kept)?.to_wire()],
                    ..HelperAnswer::default()
                })
            }
        }
    }
}

impl<'a> LoadedBlock<'a> {
    fn new(backend: &'a CpuBackend, passage: BlockTask, weights: Vec<Vec<f32>>) -> Result<Self> {
        let BlockTask { index, config, block, protocol, folds, scales } = passage;
        let mut weights = weights.into_iter();
        let block = block.map(&mut |shape| backend.upload("weight", shape, &weights.next().unwrap_or_default()))?;
        let sums = scales.map(|scales| BlockSums::new(backend, index, folds, &protocol, Some(scales)));
        Ok(Self { config, block, seq_len: protocol.seq_len, sums })
    }
}

/// A reply before serialisation.
#[derive(Default)]
struct HelperAnswer {
    head: ReplyHead,
    singles: Vec<Vec<f32>>,
    doubles: Vec<Vec<f64>>,
}

fn unexpected(what: &str) -> Error {
    Error::Cpu { what: "another worker".into(), why: format!("inconsistent request: {what}") }
}
