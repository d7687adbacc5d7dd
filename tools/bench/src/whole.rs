//! Complete measurements of a generated model, by stage.

use std::rc::Rc;

use futures::StreamExt;
use straightedge::error::Result;
use straightedge::event::{Event, Stage};
use straightedge::job::{BackendChoice, Job, Protocol};
use straightedge::report::Seconds;
use straightedge::run::{Inputs, Text, measure_inputs};
use straightedge::workers::Workers;
use web_time::Instant;

use crate::memory;
use crate::model::SyntheticModel;
use crate::results::WholeLine;
use crate::settings::{Device, Shape};

/// One measurement.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) device: Device,
    pub(crate) shape: Shape,
    pub(crate) rows: usize,
    pub(crate) row_memory: Option<u64>,
    pub(crate) seq_len: usize,
    pub(crate) seed: u64,
}

impl Plan {
    /// Measures and returns the time per stage.
    pub(crate) async fn run(&self, workers: Workers) -> Result<WholeLine> {
        let files = Rc::new(SyntheticModel::new(self.shape, self.seed));
        let tokens = SyntheticModel::tokens(self.rows, self.seed);
        memory::restart();
        let started = Instant::now();
        let inputs = Inputs { workers: workers.clone(), ..Inputs::new(files.clone(), Text::Tokens(tokens)) };
        let mut events = measure_inputs(self.job(), inputs);
        let (mut generated_by_hash, mut hash, mut r2, mut rows) = (0.0, 0.0, Vec::new(), 0);
        let mut spent = Seconds::default();
        while let Some(event) = events.next().await {
            match event {
                Event::Progress(progress) if progress.stage == Stage::Hash => hash = progress.seconds,
                // All bytes were read once for hashing, and are read again block by block.
                Event::Started(header) => (rows, generated_by_hash) = (header.protocol.rows, files.seconds()),
                Event::Block(block) => {
                    r2.retain(|(known, _)| *known != block.block);
                    r2.push((block.block, block.r2_lin));
                }
                Event::Finished(outcome) => spent = outcome.seconds,
                Event::Failed(error) => return Err(error),
                _ => {}
            }
        }
        let total = started.elapsed().as_secs_f64();
        let made = files.seconds();
        let known: Vec<f64> = r2.iter().filter_map(|(_, r2)| *r2).collect();
        Ok(WholeLine {
            name: self.name.clone(),
            shape: Some(self.shape),
            rows,
            made,
            load: spent.load - (made - generated_by_hash),
            hash: hash - generated_by_hash,
            measure: spent.forward,
            solve: spent.solve,
            total: total - made,
            process_bytes: memory::process().map(|own| own + workers.bytes()),
            device_bytes: Some(memory::device()).filter(|bytes| *bytes > 0),
            r2: (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64),
        })
    }

    fn job(&self) -> Job {
        let mut job = Job::new(format!("random {}", self.shape), "random tokens");
        job.protocol = Protocol { rows: self.rows, seq_len: self.seq_len, ..Protocol::default() };
        job.row_memory = self.row_memory;
        job.backend = match self.device {
            Device::Gpu => BackendChoice::Gpu,
            Device::Cpu => BackendChoice::Cpu,
        };
        job
    }
}

/// A base, and measurements with 2 or 4 times the rows or twice the depth or width; smaller on a software adapter. Even
/// the base's folds hold a whole batch, which determines memory.
pub(crate) fn growth(device: Device, software: bool, seq_len: usize, seed: u64) -> Vec<Plan> {
    let (layers, width) = if software { (1, 192) } else { (4, 384) };
    let base = Shape { layers, width };
    let rows = usize::next_multiple_of(5 * 1024, 5 * seq_len);
    let plan =
        |name: &str, shape, rows| Plan { name: name.into(), device, shape, rows, row_memory: None, seq_len, seed };
    vec![
        plan("base", base, rows),
        plan("rows ×2", base, 2 * rows),
        plan("rows ×4", base, 4 * rows),
        plan("depth ×2", Shape { layers: 2 * layers, ..base }, rows),
        plan("width ×2", Shape { width: 2 * width, ..base }, rows),
    ]
}
