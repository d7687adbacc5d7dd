//! What page and worker say to each other, as plain data.
//!
//! A message crosses as JSON. File handles cannot: they travel beside a [`Request::Measure`], those of the model
//! first and in the order of their names, that of the text last.
//!
//! Enumerations are tagged from outside throughout: serde's other forms double the size of the page's module.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use straightedge::event::Event;
use straightedge::job::Job;
use straightedge::report::DeviceInfo;

/// From the page to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Starts a measurement; one that still runs is dropped.
    Measure(Box<Order>),
    /// Drops a measurement at its next event or wait.
    Cancel {
        /// The measurement meant.
        run: u32,
    },
}

/// A measurement with where to find what it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Number of the measurement, which its replies carry.
    pub run: u32,
    /// What to measure.
    pub job: Job,
    /// Where the model's files are.
    pub model: ModelSource,
    /// Where the text is.
    pub text: TextSource,
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
    /// A measurement is over, cancelled ones included: its last message.
    Ended {
        /// The measurement.
        run: u32,
    },
    /// The engine broke down and will not answer again.
    Crashed {
        /// The reason as far as it is known.
        why: String,
    },
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
    use straightedge::error::Error;

    #[test]
    fn an_order_survives_the_crossing() {
        let order = Order {
            run: 3,
            job: Job::new("calibration", "calibration.txt"),
            model: ModelSource::Bundled {
                folder: "models/calibration".into(),
                files: BTreeMap::from([("model.safetensors".into(), u64::from(u32::MAX) + 7)]),
            },
            text: TextSource::Pasted { content: "two\nlines \"quoted\"".into() },
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
