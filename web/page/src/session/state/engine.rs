//! The engine: the connection to it, and what it has said of itself.

use leptos::prelude::*;
use straightedge_api::error::Result;
use straightedge_api::message::{AvailableDevice, EngineMemory, Reply, StorageReport, Unfinished};

use crate::link::Link;

/// The engine in its worker.
#[derive(Clone, Copy, Default)]
pub(crate) struct Engine {
    /// The device that measurements run on, or why the engine did not start; `None` until known.
    pub(crate) device: RwSignal<Option<Result<AvailableDevice>>>,
    /// The order that ended last in the engine, and the memory held then.
    pub(crate) ended: RwSignal<(u32, EngineMemory)>,
    /// Downloads stored in the browser; `None` until the engine has reported them.
    pub(crate) storage: RwSignal<Option<StorageReport>>,
    /// The unfinished measurement that can be resumed.
    pub(crate) unfinished: RwSignal<Option<Unfinished>>,
    /// Number of the latest order or preview.
    numbers: StoredValue<u32>,
    link: StoredValue<Option<Link>, LocalStorage>,
}

impl Engine {
    /// Starts it; `receive` gets every reply.
    pub(in crate::session) fn start(self, receive: impl Fn(Reply) + 'static) {
        self.link.set_value(Some(Link::open(receive)));
    }

    /// A number unused by any order or preview.
    pub(in crate::session) fn next_number(self) -> u32 {
        self.numbers.update_value(|number| *number += 1);
        self.numbers.get_value()
    }

    /// Calls its link, if it was started.
    pub(crate) fn with_link(self, action: impl FnOnce(&Link)) {
        // Cloned, so that replies arriving meanwhile can use the link.
        if let Some(link) = self.link.get_value() {
            action(&link);
        }
    }
}
