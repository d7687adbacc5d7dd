//! All signals of the page, without the actions of its buttons.

use leptos::prelude::*;
use straightedge_api::atlas::Index;
use straightedge_api::bundled::Bundled;
use straightedge_api::corpus_size::CorpusSize;
use straightedge_api::error::{Error, Result};
use straightedge_api::event::Progress;
use straightedge_api::hub::preflight::Preflight;
use straightedge_api::message::{Device, Memory, Order, StorageReport, Unfinished};
use straightedge_api::recorded_texts::RecordedTexts;
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;
use straightedge_web::comparison::Comparison;
use straightedge_web::comparison::overlay::{Choice, KeptMeasurement, Metric};
use straightedge_web::comparison::published::Published;
use straightedge_web::continuation::{ContinuationForm, ContinuationState};
use straightedge_web::lesson::progress::Progress as Reached;
use straightedge_web::lesson::{Bench, Print, Step};
use straightedge_web::state::bundled::Expected;
use straightedge_web::state::form::Form;
use straightedge_web::state::frame::Frame;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;
use straightedge_web::text::language::Language;
use straightedge_web::url::finding::Shared;
use web_sys::File;

use super::handles::Handles;
use super::history_state::{Current, History};
use crate::link::Link;
use crate::permalink::Entry;

/// A result that was replaced, the measurements kept before, and its entry in the store.
type Replaced = (Run, Vec<KeptMeasurement>, Option<Current>);

/// The state of the page. Copies are handles to the same state.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    /// Bundled models; `None` until the list has arrived.
    pub(crate) index: RwSignal<Option<Vec<Bundled>>>,
    /// Known results of the chosen model.
    pub(crate) expected: RwSignal<Option<Expected>>,
    /// The preview of the choice.
    pub(crate) preview: RwSignal<Preview>,
    /// Downloads stored in the browser; `None` until the engine has reported them.
    pub(crate) storage: RwSignal<Option<StorageReport>>,
    /// The unfinished measurement that can be resumed.
    pub(crate) unfinished: RwSignal<Option<Unfinished>>,
    /// The order that ended last in the engine, and the memory held then.
    pub(crate) ended: RwSignal<(u32, Memory)>,
    /// The request for a continuation.
    pub(crate) continuation_form: RwSignal<ContinuationForm>,
    /// The latest continuation.
    pub(crate) continuation: RwSignal<ContinuationState>,
    /// Recorded continuations of the first model, once loaded.
    pub(crate) texts: RwSignal<Option<RecordedTexts>>,
    /// The device that measurements run on, or why the engine did not start; `None` until known.
    pub(crate) device: RwSignal<Option<Result<Device>>>,
    /// The form's choices.
    pub(crate) form: RwSignal<Form>,
    /// Error in the form.
    pub(crate) complaint: RwSignal<Option<Error>>,
    /// Errors of the link that was followed, until something is measured.
    pub(crate) refused: RwSignal<Vec<Error>>,
    /// The latest measurement.
    pub(crate) run: RwSignal<Run>,
    /// The block highlighted in chart and table.
    pub(crate) focus: RwSignal<Option<usize>>,
    /// The open view.
    pub(crate) view: RwSignal<View>,
    /// The block that views of one block show; `None` follows the latest.
    pub(crate) block: RwSignal<Option<usize>>,
    /// The sampled row that passes through the drawing of a block.
    pub(crate) row: RwSignal<usize>,
    /// The sampled row to highlight in the scatter, until the scatter shows it.
    pub(crate) pointed: RwSignal<Option<usize>>,
    /// The definition that is shown.
    pub(crate) defined: RwSignal<Option<Definition>>,
    /// The language that the link asks for.
    pub(crate) requested_language: Option<Language>,
    /// The parts of the page that are shown.
    pub(crate) frame: RwSignal<Frame>,
    /// Which R² the profile shows.
    pub(crate) metric: RwSignal<Metric>,
    /// The overlay of the profile.
    pub(crate) overlay: RwSignal<Option<Choice>>,
    /// The results kept in the browser.
    pub(crate) history: History,
    /// The result that a link shares, while it is shown or fetched.
    pub(crate) shared: RwSignal<Option<Shared>>,
    /// The address that a report is fetched from.
    pub(crate) fetching: RwSignal<Option<String>>,
    /// The report that the measurement shown repeats.
    pub(crate) repeated: RwSignal<Option<Report>>,
    /// Earlier measurements and opened reports.
    pub(crate) kept: RwSignal<Vec<KeptMeasurement>>,
    /// The comparison.
    pub(crate) comparison: RwSignal<Comparison>,
    /// Recordings of the bundled models, loaded for the first comparison.
    pub(crate) recorded: RwSignal<Option<Vec<Summary>>>,
    /// Models measured with this build, loaded for the first comparison.
    pub(crate) atlas: RwSignal<Option<Index>>,
    /// Published values, once loaded.
    pub(crate) published: RwSignal<Option<Published>>,
    /// The hub model whose published values are shown before anything is measured.
    pub(crate) introduced: RwSignal<Option<String>>,
    /// Whether the measurement shown can be extended because it was measured here.
    pub(crate) can_extend: RwSignal<bool>,
    /// The lesson.
    pub(crate) guide: Guide,
    /// The kind of history entry for the current state.
    pub(super) entry: StoredValue<Entry>,
    /// What a repeated measurement has replaced, until that has results of its own.
    pub(super) replaced: StoredValue<Option<Replaced>, LocalStorage>,
    /// Order and file handles of the measurement shown.
    pub(super) ordered: StoredValue<Option<(Order, Vec<File>)>, LocalStorage>,
    /// Number of the latest order or preview.
    pub(super) numbers: StoredValue<u32>,
    pub(super) handles: StoredValue<Handles, LocalStorage>,
    pub(super) link: StoredValue<Option<Link>, LocalStorage>,
}

/// A definition, and where it is shown on the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// The definition.
    pub(crate) text: String,
    /// Distance from the left.
    pub(crate) left: f64,
    /// Distance from the top.
    pub(crate) top: f64,
}

/// The preview of the choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Preview {
    /// Number of the request; 0 before the first.
    pub(super) number: u32,
    /// The order requested, without its number.
    pub(super) requested: Option<Order>,
    /// Whether the answer is outdated although the request is the same.
    pub(super) is_stale: bool,
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

/// Signals of the lesson. Copies are handles to the same state.
#[derive(Clone, Copy)]
pub(crate) struct Guide {
    /// The open step; `None` while the lesson is closed.
    pub(crate) step: RwSignal<Option<Step>>,
    /// Settings of its examples.
    pub(crate) bench: RwSignal<Bench>,
    /// Progress.
    pub(crate) progress: RwSignal<Reached>,
    /// Whether the summary behind the last step is open.
    pub(crate) is_at_end: RwSignal<bool>,
    /// Whether it is shown in large type, for a projector.
    pub(crate) is_projected: RwSignal<bool>,
    /// What it prints as.
    pub(crate) paper: RwSignal<Print>,
}

impl Guide {
    /// Whether a step is the one that is shown.
    pub(crate) fn is_open(self, step: Step) -> bool {
        self.step.get() == Some(step) && !self.is_at_end.get()
    }
}

impl Default for Guide {
    fn default() -> Self {
        Self {
            step: RwSignal::new(None),
            bench: RwSignal::new(Bench::default()),
            progress: RwSignal::new(Reached::default()),
            is_at_end: RwSignal::new(false),
            is_projected: RwSignal::new(false),
            paper: RwSignal::new(Print::default()),
        }
    }
}

impl Session {
    /// The state before anything is chosen.
    pub(super) fn empty() -> Self {
        Self {
            index: RwSignal::new(None),
            expected: RwSignal::new(None),
            preview: RwSignal::new(Preview::default()),
            storage: RwSignal::new(None),
            unfinished: RwSignal::new(None),
            ended: RwSignal::new((0, Memory::default())),
            continuation_form: RwSignal::new(ContinuationForm::default()),
            continuation: RwSignal::new(ContinuationState::default()),
            texts: RwSignal::new(None),
            device: RwSignal::new(None),
            form: RwSignal::new(Form::default()),
            complaint: RwSignal::new(None),
            refused: RwSignal::new(Vec::new()),
            run: RwSignal::new(Run::default()),
            focus: RwSignal::new(None),
            view: RwSignal::new(View::default()),
            block: RwSignal::new(None),
            row: RwSignal::new(0),
            pointed: RwSignal::new(None),
            defined: RwSignal::new(None),
            requested_language: None,
            frame: RwSignal::new(Frame::default()),
            metric: RwSignal::new(Metric::default()),
            overlay: RwSignal::new(None),
            history: History::default(),
            shared: RwSignal::new(None),
            fetching: RwSignal::new(None),
            repeated: RwSignal::new(None),
            kept: RwSignal::new(Vec::new()),
            comparison: RwSignal::new(Comparison::default()),
            recorded: RwSignal::new(None),
            atlas: RwSignal::new(None),
            published: RwSignal::new(None),
            introduced: RwSignal::new(None),
            can_extend: RwSignal::new(false),
            guide: Guide::default(),
            entry: StoredValue::new(Entry::Same),
            replaced: StoredValue::new_local(None),
            ordered: StoredValue::new_local(None),
            numbers: StoredValue::new(0),
            handles: StoredValue::new_local(Handles::default()),
            link: StoredValue::new_local(None),
        }
    }

    /// A number unused by any order or preview.
    pub(super) fn next_number(self) -> u32 {
        self.numbers.update_value(|number| *number += 1);
        self.numbers.get_value()
    }

    /// The file handles of an order.
    pub(super) fn handles_of(self, order: &Order) -> Vec<File> {
        self.handles.with_value(|handles| handles.of(order))
    }

    /// Calls the engine's link, if there is one.
    pub(super) fn with_link(self, action: impl FnOnce(&Link)) {
        // Cloned, so that replies arriving meanwhile can use the link.
        if let Some(link) = self.link.get_value() {
            action(&link);
        }
    }
}
