//! The preview of the choice: what the engine found of it before anything is measured.

use straightedge_api::corpus_size::CorpusSize;
use straightedge_api::error::Result;
use straightedge_api::event::Progress;
use straightedge_api::hub::id::HubId;
use straightedge_api::hub::preflight::Preflight;
use straightedge_api::message::{ModelSource, Order, OrderInputs};

/// The preview of the choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Preview {
    /// Number of the request; 0 before the first.
    pub(in crate::session) number: u32,
    /// The order requested, without its number.
    requested: Option<Order>,
    /// Whether the answer is outdated although the request is the same.
    pub(in crate::session) is_stale: bool,
    /// Whether the engine is still working on it.
    pub(crate) is_busy: bool,
    /// Progress of tokenising the text.
    pub(crate) progress: Option<Progress>,
    /// The model on the hub.
    pub(crate) preflight: Option<Result<Preflight>>,
    /// The text, or the file of rows.
    pub(crate) extent: Option<Result<CorpusSize>>,
    /// Bytes per second of the latest download.
    pub(crate) rate: Option<f64>,
}

impl Preview {
    /// The parts that stay valid for another request: a new text does not change the model.
    pub(in crate::session) fn next(&self, number: u32, order: &Order) -> Self {
        let preflight = self.preflight.clone().filter(|_| self.has_model_of(order));
        Self { number, requested: Some(plain(order)), is_busy: true, preflight, rate: self.rate, ..Self::default() }
    }

    /// Nothing but the rate of downloads, as the answer to an order if one is given.
    pub(super) fn cleared(&self, requested: Option<&Order>) -> Self {
        Self { requested: requested.map(plain), rate: self.rate, ..Self::default() }
    }

    /// Whether it answers an order.
    pub(in crate::session) fn answers(&self, order: &Order) -> bool {
        !self.is_stale && self.requested == Some(plain(order))
    }

    /// The hub model with the commit that was found.
    pub(super) fn found(&self) -> Option<&HubId> {
        self.preflight.as_ref()?.as_ref().ok().map(|preflight| &preflight.id)
    }

    /// The same, if it is the model of an order.
    pub(super) fn found_for(&self, order: &Order) -> Option<&HubId> {
        self.found().filter(|_| self.has_model_of(order))
    }

    /// Whether it is of the hub model of an order.
    fn has_model_of(&self, order: &Order) -> bool {
        let requested = self.requested.as_ref().and_then(model);
        requested.is_some() && requested == model(order)
    }
}

/// The order without its number and key, for comparison with another.
fn plain(order: &Order) -> Order {
    Order { run: 0, result: String::new(), ..order.clone() }
}

/// The hub model of an order, if it has one.
fn model(order: &Order) -> Option<&ModelSource> {
    match &order.work {
        OrderInputs::Model { model: model @ ModelSource::Hub { .. }, .. } => Some(model),
        _ => None,
    }
}
