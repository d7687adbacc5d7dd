//! What page and worker say to each other, as plain data.
//!
//! A message crosses as JSON. File handles cannot: they travel beside a request with an [`Order`], those of the model
//! first and in the order of their names, that of the text last; a file of rows alone.
//!
//! Enumerations are tagged from outside throughout: serde's other forms double the size of the page's module.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::continuation::Continuation;
use crate::corpus_size::CorpusSize;
use crate::error::Result;
use crate::event::Event;
use crate::hub::id::{Endpoint, HubId};
use crate::hub::preflight::Preflight;
use crate::job::Job;
use crate::report::DeviceInfo;

/// From the page to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Starts a measurement; one that still runs is dropped.
    Measure(Box<Order>),
    /// Goes on with the measurement that was ended, with the file handles that belong to it.
    Resume {
        /// Number of the measurement from now on.
        run: u32,
    },
    /// Continues a prompt with a model beside itself; the order says where maps are measured that are not there yet. What
    /// still runs is dropped.
    Continue {
        /// Model, text and protocol, and the blocks to be linear.
        order: Box<Order>,
        /// Prompt and sampling.
        asked: Box<Continuation>,
    },
    /// Looks what an order would come to: a model on the hub, the extent of the text. A look under way is dropped.
    Preview(Box<Order>),
    /// Drops a measurement or a look at its next event or wait.
    Cancel {
        /// The measurement or look meant.
        run: u32,
    },
    /// How many cores the browser has, before anything is measured.
    Cores {
        /// As it tells the page.
        cores: u32,
    },
    /// Lists what downloads have left in the browser's storage, after deleting some of it.
    Storage(Deletion),
    /// Has the measurement that could go on be forgotten.
    Forget,
}

/// What to delete of the browser's storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deletion {
    /// Nothing.
    Nothing,
    /// One model or text.
    One {
        /// Its [`Stored::name`].
        name: String,
    },
    /// All of it.
    Everything,
}

/// What downloads have left in the browser's storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageReport {
    /// Models and texts by name.
    pub stored: Vec<StoredItem>,
    /// Bytes that the site uses in all, where the browser tells.
    pub usage: Option<u64>,
    /// Bytes that it may use.
    pub quota: Option<u64>,
    /// Whether the browser has promised not to clear it by itself.
    pub is_persistent: bool,
    /// Why nothing can be kept here, if so.
    pub why_not: Option<String>,
}

/// A model or text in the browser's storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredItem {
    /// `OWNER/NAME@COMMIT`.
    pub name: String,
    /// Bytes of it that are there.
    pub bytes: u64,
}

/// A measurement with where to find what it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Number of the measurement, which its replies carry.
    pub run: u32,
    /// What to measure.
    pub job: Job,
    /// What to measure it on.
    pub work: Work,
}

impl Order {
    /// How many file handles belong to it.
    pub fn handles(&self) -> usize {
        match &self.work {
            Work::Rows => 1,
            Work::Model { model, text } => {
                let model = if let ModelSource::Handles { names } = model { names.len() } else { 0 };
                model + usize::from(*text == TextSource::Handle)
            }
        }
    }
}

/// A measurement that was ended and can go on. Its order stays with the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Name of the model.
    pub model: String,
    /// Name of the text.
    pub text: String,
    /// The block that comes next.
    pub next: usize,
    /// Blocks of the model.
    pub of: usize,
    /// How many file handles it needs again.
    pub handles: usize,
}

/// What a measurement works on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A model that reads a text.
    Model {
        /// Where the model's files are.
        model: ModelSource,
        /// Where the text is.
        text: TextSource,
    },
    /// Rows x and y that some network left behind, in the one file handle beside the message.
    Rows,
}

/// Where the files of a model are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// On the site itself.
    Bundled {
        /// Folder relative to the page, without a slash at its end.
        folder: String,
        /// Size in bytes of every file.
        files: BTreeMap<String, u64>,
    },
    /// In file handles beside the message.
    Handles {
        /// Name of every handle, relative to the model's folder.
        names: Vec<String>,
    },
    /// On the hub or a mirror of it.
    Hub {
        /// Which model.
        id: HubId,
        /// Where the hub is.
        endpoint: Endpoint,
    },
}

/// Where the text of a measurement is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// On the site itself, relative to the page.
    Bundled {
        /// Path of the file.
        path: String,
    },
    /// Made by the engine.
    Made {
        /// Domain and seed, such as `tales:1`.
        corpus: String,
        /// Rows that it must be long enough for.
        rows: usize,
    },
    /// In the message.
    Pasted {
        /// The text.
        content: String,
    },
    /// In the last file handle beside the message.
    Handle,
    /// A text on the hub or a mirror of it.
    Hub {
        /// Its name in reports.
        name: String,
        /// Where the hub is.
        endpoint: Endpoint,
    },
    /// Not chosen yet, which only a look can do with.
    Missing,
}

/// From the worker to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The engine is loaded and listens.
    Ready,
    /// What the engine can compute on.
    Device(Device),
    /// An event of a measurement.
    Event {
        /// The measurement.
        run: u32,
        /// Its event.
        event: Event,
    },
    /// A measurement or look is over, cancelled ones included: its last message.
    Ended {
        /// The measurement or look.
        run: u32,
        /// What the engine holds now.
        memory: Memory,
    },
    /// How a look goes on: progress, waits and warnings.
    Looking {
        /// The look.
        run: u32,
        /// What happens.
        event: Event,
    },
    /// What a look found out about a model on the hub.
    Preflight {
        /// The look.
        run: u32,
        /// The model, or why it cannot be had.
        found: Result<Preflight>,
    },
    /// What a look found out about the text, or the file of rows.
    CorpusSize {
        /// The look.
        run: u32,
        /// How far it goes, or what is wrong with it.
        found: Result<CorpusSize>,
    },
    /// What is in the browser's storage.
    Storage(StorageReport),
    /// The measurement that can go on: told when the engine starts and when a measurement ends.
    Unfinished(Option<Unfinished>),
    /// The engine broke down and will not answer again.
    Crashed {
        /// The reason as far as it is known.
        why: String,
    },
}

/// Memory of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes of GPU buffers.
    pub gpu_bytes: u64,
    /// Bytes of wasm memory, which never shrinks: the most it ever was.
    pub wasm_bytes: u64,
}

/// What a measurement can run on here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// A WebGPU adapter was found.
    Gpu {
        /// Its name, driver and limits.
        info: DeviceInfo,
        /// Whether it emulates a GPU on the processor.
        software: bool,
    },
    /// There is none.
    Cpu {
        /// Why.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_order_survives_the_crossing() {
        let order = Order {
            run: 3,
            job: Job::new("calibration", "calibration.txt"),
            work: Work::Model {
                model: ModelSource::Bundled {
                    folder: "models/calibration".into(),
                    files: BTreeMap::from([("model.safetensors".into(), u64::from(u32::MAX) + 7)]),
                },
                text: TextSource::Pasted { content: "two\nlines \"quoted\"".into() },
            },
        };
        let request = Request::Measure(Box::new(order));
        let json = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&json).unwrap(), request);
    }

    #[test]
    fn a_failure_survives_the_crossing() {
        let reply = Reply::Event { run: 1, event: Event::Failed(Error::EmptyText { corpus: "a.txt".into() }) };
        let json = serde_json::to_string(&reply).unwrap();
        assert_eq!(serde_json::from_str::<Reply>(&json).unwrap(), reply);
    }

    #[test]
    fn the_boot_script_can_report_a_crash() {
        let json = r#"{"crashed":{"why":"no WebAssembly"}}"#;
        assert_eq!(serde_json::from_str::<Reply>(json).unwrap(), Reply::Crashed { why: "no WebAssembly".into() });
    }
}
