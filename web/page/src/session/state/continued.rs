//! A prompt continued by the chosen model, and by the same model with some blocks linear.

use leptos::prelude::*;
use straightedge_api::recorded_texts::RecordedTexts;
use straightedge_web::continuation::{ContinuationForm, ContinuationState};

/// The continuation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Continued {
    /// The request.
    pub(crate) form: RwSignal<ContinuationForm>,
    /// The latest continuation.
    pub(crate) state: RwSignal<ContinuationState>,
    /// Recorded continuations of the first model, once loaded.
    pub(crate) texts: RwSignal<Option<RecordedTexts>>,
}
