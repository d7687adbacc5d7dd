//! Helper workers: how a browser uses its cores without shared memory.
//!
//! Each is another instance of the engine, which receives all it needs: a block's weights and the rows to take through
//! it, or a block's moments to solve. Natively there are none, because threads share memory. The work of a helper that
//! has ended is redone here, with the same digits.

mod ask;
mod helper;
mod message;
pub mod sums;

use std::cell::Cell;
use std::rc::Rc;

use crate::backend::BATCH_ROWS;
use crate::error::{Error, Result};
use crate::model::ModelConfig;
use crate::platform::parallel;
use crate::platform::yielding::yield_now;
use crate::solve::{BlockScore, HeadlineFit, RemainderScore, score_block};
use crate::stats::moments::Moments;

use ask::ask;
pub use ask::{RemoteBlock, RemoteSums, copied};
pub use helper::serve;
pub use message::{BlockTask, Message, WantedTensors, WorkTime, Worker, unix_seconds};
use message::{HelperRequest, ReplyHead};

/// Bytes of an idle worker.
const EMPTY: u64 = 16 << 20;
/// Matrices of d × d that a solve holds in addition to the moments.
const SOLVE_MATRICES: u64 = 12;

/// Bytes for the blocks that threads solve at once.
const THREADS_MEMORY: u64 = 4 << 30;

/// The helper workers. Each starts on its first request.
#[derive(Clone, Default)]
pub struct Workers {
    all: Vec<Rc<dyn Worker>>,
    limits: Limits,
    /// How many blocks may be solved at the same time: one per worker with memory for it, or on two threads each.
    solvers: usize,
    /// Blocks given to single workers so far.
    solved: Cell<usize>,
}

/// Limits on the use of helper workers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Memory budget in bytes for all workers together, this one included.
    pub memory: u64,
    /// Smallest hidden_size worth a helper: narrower models are done before it has started.
    pub hidden_size: usize,
}

impl Workers {
    /// Uses the workers `all` within `limits`.
    pub fn new(all: Vec<Rc<dyn Worker>>, limits: Limits) -> Self {
        Self { all, limits, ..Self::default() }
    }

    /// The workers worth using for a model, within the memory budget.
    pub fn for_model(&self, config: &ModelConfig, folds: usize) -> Self {
        let folds = folds as u64;
        let (own, each) = needed(config, folds);
        let is_wide = config.hidden_size >= self.limits.hidden_size;
        let count = if is_wide { self.all.len().min(self.affordable(own, each)) } else { 0 };
        // The moments of every block in progress stay here too, in case its worker ends.
        let on_workers = count.min(self.affordable(own, each + moment_bytes(config, folds)));
        let on_threads = threads_that_solve(parallel::threads(), config, folds);
        let all = self.all[..count].to_vec();
        Self { all, solvers: on_workers.max(on_threads), ..Self::new(Vec::new(), self.limits) }
    }

    /// How many workers of `each` bytes fit beside `own` bytes here.
    fn affordable(&self, own: u64, each: u64) -> usize {
        (self.limits.memory.saturating_sub(own) / each) as usize
    }

    /// How many blocks may be solved at the same time.
    pub fn solves_at_once(&self) -> usize {
        self.solvers.max(1)
    }

    /// All helper workers.
    pub fn all(&self) -> &[Rc<dyn Worker>] {
        &self.all
    }

    /// Sum of their peak memory in bytes.
    pub fn bytes(&self) -> u64 {
        self.all.iter().map(|worker| worker.bytes()).sum()
    }

    /// [`score_block`] where `at_once` blocks are solved at the same time. If there are several and helper workers, one
    /// of them solves the block; if it is one block, a helper takes half of the work. It starts before the fit is done;
    /// more helpers would only wait for it.
    ///
    /// # Errors
    /// If a moment is not finite.
    pub async fn score(&self, block: usize, folds: Vec<Moments>, at_once: usize) -> Result<SolvedMoments> {
        let worker = if at_once <= 1 { 0 } else { self.solved.replace(self.solved.get() + 1) % self.all.len().max(1) };
        let helped = match self.all.get(worker) {
            None => None,
            Some(helper) if at_once <= 1 => share(&**helper, block, &folds).await?,
            Some(helper) => whole(&**helper, block, &folds).await?,
        };
        if let Some((score, time)) = helped {
            return Ok(SolvedMoments { score, helped: time.map(|time| (worker, time)) });
        }
        let score = parallel::on_own_thread(move || score_block(block, &folds)).await;
        let score = score.unwrap_or_else(|| Err(Error::Solve { block, why: "its thread ended".into() }))?;
        Ok(SolvedMoments { score, helped: None })
    }
}

/// A solved block.
pub struct SolvedMoments {
    /// Its score.
    pub score: BlockScore,
    /// The helper that took part, by its place among all, and when it was at work.
    pub helped: Option<(usize, WorkTime)>,
}

/// A score, and when the helper was at work on it.
type HelpedScore = (BlockScore, Option<WorkTime>);

/// The score computed by a helper; `None` if the helper has ended.
async fn whole(worker: &dyn Worker, block: usize, folds: &[Moments]) -> Result<Option<HelpedScore>> {
    send(worker, folds);
    let answer = ask(worker, &HelperRequest::Solve { block }, Vec::new(), Vec::new()).await?;
    Ok(answer.and_then(|(ReplyHead { report, time, .. }, found)| {
        Some((BlockScore::from_wire(report?, found.doubles.first()?)?, time))
    }))
}

/// The score with a helper's share; `None` if the helper has ended.
async fn share(worker: &dyn Worker, block: usize, folds: &[Moments]) -> Result<Option<HelpedScore>> {
    send(worker, folds);
    drop(ask(worker, &HelperRequest::SolveRemainder { block }, Vec::new(), Vec::new()));
    let fit = HeadlineFit::new(block, folds)?;
    let rest = ask(worker, &HelperRequest::Kept, Vec::new(), vec![fit.kept().to_wire()]);
    yield_now().await;
    let score = fit.score(folds)?;
    // An error there is ignored: the block is then solved here and returns the same error.
    let rest = rest.await.ok().flatten();
    Ok(rest.and_then(|(ReplyHead { time, .. }, found)| {
        Some((score.complete(RemainderScore::from_wire(found.doubles.first()?)?), time))
    }))
}

/// Sends the folds of a block to solve, one by one, so that at most one is in this module's memory twice.
fn send(worker: &dyn Worker, folds: &[Moments]) {
    for fold in folds {
        drop(ask(worker, &HelperRequest::Fold, Vec::new(), vec![fold.to_wire()]));
    }
}

/// How many blocks are solved at once on `threads` threads that share memory: each keeps about two of them busy.
fn threads_that_solve(threads: usize, config: &ModelConfig, folds: u64) -> usize {
    (threads / 2).min((THREADS_MEMORY / solve_bytes(config, folds)) as usize)
}

/// Bytes of a block's moments: xxᵀ and xyᵀ of every fold, and one yyᵀ.
fn moment_bytes(config: &ModelConfig, folds: u64) -> u64 {
    matrix_bytes(config) * (2 * folds + 1)
}

/// Bytes of a block's moments and of its solve.
fn solve_bytes(config: &ModelConfig, folds: u64) -> u64 {
    let moments = moment_bytes(config, folds);
    moments + moments / folds + SOLVE_MATRICES * matrix_bytes(config)
}

fn matrix_bytes(config: &ModelConfig) -> u64 {
    8 * (config.hidden_size as u64).pow(2)
}

/// Peak bytes of this worker and of each helper, without stored rows.
fn needed(config: &ModelConfig, folds: u64) -> (u64, u64) {
    let ModelConfig { hidden_size, head_dim, num_attention_heads, num_key_value_heads, intermediate_size, .. } = config;
    let width = *hidden_size as u64;
    let heads = (head_dim * (num_attention_heads + num_key_value_heads)) as u64;
    let weights = 4 * (config.ffn_parameters() as u64 + 2 * width * heads);
    // A batch in a network, and around it.
    let batch = 4 * BATCH_ROWS as u64 * (3 * *intermediate_size as u64 + 6 * width);
    let moments = moment_bytes(config, folds);
    let solve = solve_bytes(config, folds);
    (EMPTY + 2 * weights + solve.max(batch + moments), EMPTY + solve.max(weights + batch + moments))
}

#[cfg(test)]
mod tests {
    use futures::future::LocalBoxFuture;

    use super::*;

    struct Idle;

    impl Worker for Idle {
        fn ask(&self, _request: Message) -> LocalBoxFuture<'static, Option<Message>> {
            Box::pin(async { None })
        }

        fn bytes(&self) -> u64 {
            0
        }
    }

    fn config(width: usize, intermediate: usize) -> ModelConfig {
        let json = format!(
            r#"{{"model_type": "gpt2", "n_embd": {width}, "n_inner": {intermediate}, "n_layer": 2, "n_head": 4,
                "n_positions": 128, "vocab_size": 100}}"#
        );
        ModelConfig::from_json(&json).expect("a configuration")
    }

    #[test]
    fn workers_help_where_they_are_of_use_and_memory_allows() {
        let of = |width, intermediate, memory| {
            let all = (0..3).map(|_| Rc::new(Idle) as Rc<dyn Worker>).collect();
            Workers::new(all, Limits { memory, hidden_size: 256 })
                .for_model(&config(width, intermediate), 5)
                .all()
                .len()
        };
        assert_eq!(of(128, 512, u64::MAX), 0, "narrow");
        assert_eq!(of(768, 3072, u64::MAX), 3);
        assert_eq!(of(768, 3072, 1 << 20), 0, "no room");
        let (own, each) = needed(&config(768, 3072), 5);
        assert_eq!([own + each - 1, own + each, own + 2 * each].map(|room| of(768, 3072, room)), [0, 1, 2]);

        // To solve a block alone, a worker also needs room for the block's moments here.
        let config = config(768, 3072);
        let solver = each + moment_bytes(&config, 5);
        let solvers = |memory| {
            let all = (0..3).map(|_| Rc::new(Idle) as Rc<dyn Worker>).collect();
            Workers::new(all, Limits { memory, hidden_size: 256 }).for_model(&config, 5).solves_at_once()
        };
        let on_threads = threads_that_solve(parallel::threads(), &config, 5);
        let most = |on_workers: usize| on_workers.max(on_threads);
        assert_eq!([own + 2 * each, own + 2 * solver, u64::MAX].map(solvers), [1, 2, 3].map(most));
    }

    #[test]
    fn threads_solve_as_many_blocks_as_memory_allows() {
        let of = |threads, width| threads_that_solve(threads, &config(width, 4 * width), 5);
        assert_eq!([1, 2, 16].map(|threads| of(threads, 768)), [0, 1, 8]);
        assert_eq!([2048, 4096].map(|width| of(16, width)), [5, 1]);
    }
}
