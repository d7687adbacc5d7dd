//! The preview of a model on the hub before anything large is fetched, as plain data.

use serde::{Deserialize, Serialize};

use super::id::HubId;

/// Device memory above which a model probably does not fit an unknown device.
const LARGE: u64 = 6 << 30;

/// A model as described by its listing, its configuration and its weight headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preflight {
    /// The model at the resolved commit, which links pin.
    pub id: HubId,
    /// `model_type`, if supported.
    pub architecture: Option<String>,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Storage format of the weights.
    pub dtype: Option<String>,
    /// Bytes of everything the measurement reads.
    pub needed_bytes: u64,
    /// Bytes of these already stored from an earlier visit.
    pub held_bytes: u64,
    /// Bytes still to be downloaded, small gaps between tensors included.
    pub download_bytes: u64,
    /// Number of requests.
    pub requests: usize,
    /// Bytes of the model and of its largest activations on the device.
    pub device_bytes: u64,
    /// Obstacles and warnings, the worst first.
    pub problems: Vec<Problem>,
}

/// A problem to show before the download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Whether the measurement cannot succeed.
    pub fatal: bool,
    /// The problem and its remedy, as a sentence.
    pub text: String,
}

/// The platform's capacity; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Bytes of free storage.
    pub storage: Option<u64>,
    /// Bytes of the largest buffer on the GPU (`maxBufferSize`); `None` on the CPU.
    pub buffer: Option<u64>,
    /// Bytes of the largest binding on the GPU (`maxStorageBufferBindingSize`); `None` on the CPU.
    pub binding: Option<u64>,
    /// Bytes of main memory, which a model on the CPU shares.
    pub memory: Option<u64>,
}

impl Preflight {
    /// A model of which nothing is known yet.
    pub fn unknown(id: HubId) -> Self {
        Self {
            id,
            architecture: None,
            num_hidden_layers: 0,
            hidden_size: 0,
            dtype: None,
            needed_bytes: 0,
            held_bytes: 0,
            download_bytes: 0,
            requests: 0,
            device_bytes: 0,
            problems: Vec::new(),
        }
    }

    /// Adds a problem.
    pub fn problem(&mut self, fatal: bool, text: String) {
        self.problems.push(Problem { fatal, text });
    }

    /// Adds a problem for every limit exceeded; `row` is the bytes of the longest tensor row, which cannot be split.
    pub fn compare(&mut self, capacity: &Capacity, row: u64) {
        if let Some(limit) =
            [capacity.buffer, capacity.binding].into_iter().flatten().min().filter(|limit| row > *limit)
        {
            let text =
                format!("GPU: a row of a weight takes {row} bytes, but the adapter allows {limit}; measure on the CPU");
            self.problem(true, text);
        }
        let device = megabytes(self.device_bytes);
        match capacity.memory {
            Some(memory) if self.device_bytes > memory => {
                let text = format!(
                    "memory: the model takes {device}, but {} are available; choose a smaller model",
                    megabytes(memory)
                );
                self.problem(true, text);
            }
            None if self.device_bytes > LARGE => {
                let text = format!("memory: the model takes {device}; the measurement fails on a device with less");
                self.problem(false, text);
            }
            _ => {}
        }
        if let Some(storage) = capacity.storage.filter(|storage| self.download_bytes > *storage) {
            let text = format!(
                "storage: the download needs {}, but {} are free; the rest is kept in memory and fetched again next \
                 time, delete what you no longer need",
                megabytes(self.download_bytes),
                megabytes(storage)
            );
            self.problem(false, text);
        }
    }

    /// Whether no fatal problem is known.
    pub fn can_start(&self) -> bool {
        !self.problems.iter().any(|problem| problem.fatal)
    }

    /// Seconds of download at a rate in bytes per second.
    pub fn seconds_at(&self, rate: f64) -> Option<f64> {
        (rate > 0.0).then(|| self.download_bytes as f64 / rate)
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
