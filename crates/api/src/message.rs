//! Messages between page and worker, as plain data.
//!
//! Messages are JSON. File handles are transferred separately with the request of an [`Order`]: those of the model
//! first, in the order of their names, then that of the text; a rows file alone.
//!
//! All enumerations are externally tagged: serde's other forms double the size of the page's module.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::continuation::Continuation;
use crate::corpus_size::CorpusSize;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::hub::id::{Endpoint, HubId};
use crate::hub::preflight::Preflight;
use crate::job::Job;
use crate::report::DeviceInfo;

/// Requests from the page to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Starts a measurement; a running one is dropped.
    Measure(Box<Order>),
    /// Resumes the interrupted measurement, with its file handles.
    Resume {
        /// New number of the measurement.
        run: u32,
        /// Its [`Order::result`].
        result: String,
    },
    /// Continues a prompt with a model and its linearised copy; missing maps are measured as the order says. Running
    /// work is dropped.
    Continue {
        /// Model, text and protocol, and the blocks to be linear.
        order: Box<Order>,
        /// Prompt and sampling.
        settings: Box<Continuation>,
    },
    /// Requests a preview of an order: the model on the hub, the size of the text. A running preview is dropped.
    Preview(Box<Order>),
    /// Cancels a measurement or preview at its next event or wait.
    Cancel {
        /// The measurement or preview to cancel.
        run: u32,
    },
    /// The browser's number of cores, sent before any measurement.
    Cores {
        /// `navigator.hardwareConcurrency` as seen by the page.
        cores: u32,
    },
    /// Lists downloads in the browser's storage, after deleting some.
    Storage(Deletion),
    /// Deletes the saved state of the resumable measurement.
    Forget,
}

/// Downloads to delete from the browser's storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deletion {
    /// Nothing.
    Nothing,
    /// One model or text.
    One {
        /// Its [`StoredItem::name`].
        name: String,
    },
    /// All downloads.
    Everything,
}

/// Downloads in the browser's storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageReport {
    /// Models and texts by name.
    pub stored: Vec<StoredItem>,
    /// Bytes used by the site, if the browser reports it.
    pub usage: Option<u64>,
    /// The site's quota in bytes.
    pub quota: Option<u64>,
    /// Whether the browser has granted persistent storage.
    pub is_persistent: bool,
    /// The reason if nothing can be stored.
    pub why_not: Option<String>,
}

/// A model or text in the browser's storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredItem {
    /// `OWNER/NAME@COMMIT`.
    pub name: String,
    /// Bytes stored.
    pub bytes: u64,
}

/// A measurement and the sources of its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Number of the measurement, repeated in its replies.
    pub run: u32,
    /// Key of its result in the page's store; orders that were stored by earlier versions have none.
    #[serde(default)]
    pub result: String,
    /// The job.
    pub job: Job,
    /// Its inputs.
    pub work: OrderInputs,
}

impl Order {
    /// Number of file handles it needs.
    pub fn handles(&self) -> usize {
        match &self.work {
            OrderInputs::Rows => 1,
            OrderInputs::Model { model, text, .. } => {
                let model = if let ModelSource::Handles { names } = model { names.len() } else { 0 };
                model + usize::from(*text == TextSource::Handle)
            }
        }
    }
}

/// An interrupted measurement that can be resumed. Its order stays with the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Key of what it had reached in the page's store.
    pub result: String,
    /// Name of the model.
    pub model: String,
    /// Name of the text.
    pub text: String,
    /// The next block.
    pub next: usize,
    /// Blocks of the model.
    pub of: usize,
    /// Number of file handles it needs again.
    pub handles: usize,
}

/// The inputs of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderInputs {
    /// A model that reads a text.
    Model {
        /// Source of the model's files.
        model: ModelSource,
        /// The model on the hub whose tokenizer is used in place of its own.
        #[serde(default)]
        tokenizer: Option<Box<(HubId, Endpoint)>>,
        /// Source of the text.
        text: TextSource,
        /// Source of the text that perplexity is measured on, with its name, if it is not the held-out windows.
        #[serde(default)]
        eval: Option<Box<(String, TextSource)>>,
        /// The model whose rows the controls feed through this one's networks, with its name in the report.
        #[serde(default)]
        feed: Option<Box<(String, ModelSource)>>,
    },
    /// Captured rows x and y, in the one file handle sent along.
    Rows,
}

/// Source of a model's files.
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
    /// In file handles sent along.
    Handles {
        /// Name of every handle, relative to the model's folder.
        names: Vec<String>,
    },
    /// On the hub or a mirror of it.
    Hub {
        /// The model.
        id: HubId,
        /// Base address of the hub.
        endpoint: Endpoint,
    },
}

/// Source of a measurement's text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// On the site itself, relative to the page.
    Bundled {
        /// Path of the file.
        path: String,
    },
    /// Synthetic, generated by the engine; `made` in orders that browsers stored earlier.
    #[serde(alias = "made")]
    Synthetic {
        /// Domain and seed, such as `tales:1`.
        corpus: String,
        /// Rows it must suffice for.
        rows: usize,
    },
    /// In the message.
    Pasted {
        /// The text.
        content: String,
    },
    /// In the last file handle sent along.
    Handle,
    /// A text on the hub or a mirror of it.
    Hub {
        /// Its name in reports.
        name: String,
        /// Base address of the hub.
        endpoint: Endpoint,
    },
    /// Not chosen yet; allowed for previews only.
    Missing,
}

/// Replies from the worker to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The engine is loaded and ready.
    Ready,
    /// The device available to the engine.
    Device(AvailableDevice),
    /// An event of a measurement.
    Event {
        /// The measurement.
        run: u32,
        /// Its event.
        event: Event,
    },
    /// The last message of a measurement or preview, cancelled or not.
    Ended {
        /// The measurement or preview.
        run: u32,
        /// Current memory of the engine.
        memory: EngineMemory,
    },
    /// Progress, waits and warnings of a preview.
    Previewing {
        /// The preview.
        run: u32,
        /// The event.
        event: Event,
    },
    /// Preview of a model on the hub.
    Preflight {
        /// The preview.
        run: u32,
        /// The model, or the error.
        found: Result<Preflight>,
    },
    /// Preview of the text or rows file.
    CorpusSize {
        /// The preview.
        run: u32,
        /// Its size, or the error.
        found: Result<CorpusSize>,
    },
    /// Contents of the browser's storage.
    Storage(StorageReport),
    /// The resumable measurement; sent when the engine starts and when a measurement ends.
    Unfinished(Option<Unfinished>),
    /// The engine crashed and will not reply again.
    Crashed(Error),
}

/// Memory of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineMemory {
    /// Bytes of GPU buffers.
    pub gpu_bytes: u64,
    /// Bytes of wasm memory, which never shrinks, so also its peak.
    pub wasm_bytes: u64,
}

/// The device available for measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AvailableDevice {
    /// A WebGPU adapter was found.
    Gpu {
        /// Its name, driver and limits.
        info: DeviceInfo,
        /// Whether it is a software adapter.
        software: bool,
    },
    /// No adapter was found.
    Cpu {
        /// The reason.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_the_crossing() {
        let order = Order {
            run: 3,
            result: "2026-11-28T18:00:00Z 0.5".into(),
            job: Job::new("calibration", "calibration.txt"),
            work: OrderInputs::Model {
                model: ModelSource::Bundled {
                    folder: "models/calibration".into(),
                    files: BTreeMap::from([("model.safetensors".into(), u64::from(u32::MAX) + 7)]),
                },
                tokenizer: None,
                text: TextSource::Pasted { content: "two\nlines \"quoted\"".into() },
                eval: None,
                feed: None,
            },
        };
        let request = Request::Measure(Box::new(order));
        let json = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&json).unwrap(), request);
    }

    #[test]
    fn a_text_of_a_stored_order_is_read_by_its_earlier_name() {
        let text = TextSource::Synthetic { corpus: "tales:1".into(), rows: 640 };
        let json = serde_json::to_string(&text).unwrap();
        assert!(json.contains("synthetic"), "{json}");
        for json in [json.replace("synthetic", "made"), json] {
            assert_eq!(serde_json::from_str::<TextSource>(&json).unwrap(), text);
        }
    }

    #[test]
    fn a_failure_survives_the_crossing() {
        let reply = Reply::Event { run: 1, event: Event::Failed(Error::EmptyText { corpus: "a.txt".into() }) };
        let json = serde_json::to_string(&reply).unwrap();
        assert_eq!(serde_json::from_str::<Reply>(&json).unwrap(), reply);
    }

    #[test]
    fn the_boot_script_can_report_a_crash() {
        let json = r#"{"crashed":["Engine",["no WebAssembly"]]}"#;
        let crash = Reply::Crashed(Error::Engine { why: "no WebAssembly".into() });
        assert_eq!(serde_json::from_str::<Reply>(json).unwrap(), crash);
    }
}
