//! All signals of the page, and nothing of what its buttons do.

use leptos::prelude::*;
use straightedge_api::atlas::Index;
use straightedge_api::bundled::Bundled;
use straightedge_api::error::{Error, Result};
use straightedge_api::event::Progress;
use straightedge_api::extent::Extent;
use straightedge_api::hub::preflight::Preflight;
use straightedge_api::message::{Device, Memory, Order, Shelf, Unfinished};
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;
use straightedge_web::comparison::Comparison;
use straightedge_web::comparison::overlay::{Choice, Kept, Metric};
use straightedge_web::comparison::published::Published;
use straightedge_web::continuation::{Ask, Sides};
use straightedge_web::lesson::progress::Progress as Reached;
use straightedge_web::lesson::{Bench, Step};
use straightedge_web::state::bundled::Expected;
use straightedge_web::state::form::Form;
use straightedge_web::state::frame::Frame;
use straightedge_web::state::run::Run;
use straightedge_web::state::views::View;
use web_sys::File;

use super::handles::Handles;
use crate::link::Link;
use crate::permalink::Entry;

/// The state of the page. Copies are handles to the same state.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    /// Bundled models; `None` until the list has arrived.
    pub(crate) index: RwSignal<Option<Vec<Bundled>>>,
    /// What is known of the chosen model beforehand.
    pub(crate) expected: RwSignal<Option<Expected>>,
    /// What is known about the choice before it is measured.
    pub(crate) look: RwSignal<Look>,
    /// What downloads have left in the browser; `None` until the engine has told.
    pub(crate) shelf: RwSignal<Option<Shelf>>,
    /// The measurement that was ended and can go on.
    pub(crate) unfinished: RwSignal<Option<Unfinished>>,
    /// Which order last came to an end in the engine, and what it held then.
    pub(crate) ended: RwSignal<(u32, Memory)>,
    /// What is to be continued, and how.
    pub(crate) ask: RwSignal<Ask>,
    /// The latest continuation.
    pub(crate) sides: RwSignal<Sides>,
    /// What measurements run on, or why the engine did not start; `None` until it is known.
    pub(crate) device: RwSignal<Option<Result<Device>>>,
    /// What is chosen.
    pub(crate) form: RwSignal<Form>,
    /// What is wrong with it.
    pub(crate) complaint: RwSignal<Option<Error>>,
    /// What the link that was followed says and could not be read, until something is measured.
    pub(crate) refused: RwSignal<Vec<Error>>,
    /// The latest measurement.
    pub(crate) run: RwSignal<Run>,
    /// The block singled out in chart and table.
    pub(crate) focus: RwSignal<Option<usize>>,
    /// The view that is open.
    pub(crate) view: RwSignal<View>,
    /// The block that views of one block show; `None` is whichever has the news.
    pub(crate) block: RwSignal<Option<usize>>,
    /// How much of the page is there.
    pub(crate) frame: RwSignal<Frame>,
    /// Which R² the profile shows.
    pub(crate) metric: RwSignal<Metric>,
    /// What is laid over it.
    pub(crate) overlay: RwSignal<Option<Choice>>,
    /// The report that the measurement shown repeats.
    pub(crate) repeated: RwSignal<Option<Report>>,
    /// Earlier measurements and opened reports.
    pub(crate) kept: RwSignal<Vec<Kept>>,
    /// What is compared with what.
    pub(crate) comparison: RwSignal<Comparison>,
    /// Recordings of the bundled models, once they are to be compared.
    pub(crate) recorded: RwSignal<Option<Vec<Summary>>>,
    /// What was measured with this build, once it is to be compared.
    pub(crate) atlas: RwSignal<Option<Index>>,
    /// Published values, once they were asked for.
    pub(crate) published: RwSignal<Option<Published>>,
    /// The model on the hub whose published values are shown before anything is measured.
    pub(crate) introduced: RwSignal<Option<String>>,
    /// Whether the measurement shown can be added to: it was made here.
    pub(crate) can_extend: RwSignal<bool>,
    /// The lesson.
    pub(crate) guide: Guide,
    /// Whether what is shown is a step of its own in the browser's history.
    pub(super) entry: StoredValue<Entry>,
    /// What a measurement that repeats it has replaced, until it has measured something itself, and how many had been
    /// kept before.
    pub(super) replaced: StoredValue<Option<(Run, usize)>, LocalStorage>,
    /// What the measurement shown was ordered with.
    pub(super) ordered: StoredValue<Option<(Order, Vec<File>)>, LocalStorage>,
    /// Number of the latest order or look.
    pub(super) numbers: StoredValue<u32>,
    pub(super) handles: StoredValue<Handles, LocalStorage>,
    pub(super) link: StoredValue<Option<Link>, LocalStorage>,
}

/// What is known about the choice before it is measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Look {
    /// Number of the question; 0 before the first.
    pub(super) number: u32,
    /// What was asked, without its number.
    pub(super) asked: Option<Order>,
    /// Whether the answer no longer holds, though the question is the same.
    pub(super) is_stale: bool,
    /// Whether the engine is still at it.
    pub(crate) is_busy: bool,
    /// How far the text is tokenised.
    pub(crate) progress: Option<Progress>,
    /// The model on the hub.
    pub(crate) preflight: Option<Result<Preflight>>,
    /// The text, or the file of rows.
    pub(crate) extent: Option<Result<Extent>>,
    /// Bytes per second of the latest download.
    pub(crate) rate: Option<f64>,
}

/// Signals of the lesson. Copies are handles to the same state.
#[derive(Clone, Copy)]
pub(crate) struct Guide {
    /// The step that is open; `None` while there is no lesson.
    pub(crate) step: RwSignal<Option<Step>>,
    /// What is set in its examples.
    pub(crate) bench: RwSignal<Bench>,
    /// What has been reached.
    pub(crate) progress: RwSignal<Reached>,
}

impl Default for Guide {
    fn default() -> Self {
        Self {
            step: RwSignal::new(None),
            bench: RwSignal::new(Bench::default()),
            progress: RwSignal::new(Reached::default()),
        }
    }
}

impl Session {
    /// As it is before anything is chosen.
    pub(super) fn empty() -> Self {
        Self {
            index: RwSignal::new(None),
            expected: RwSignal::new(None),
            look: RwSignal::new(Look::default()),
            shelf: RwSignal::new(None),
            unfinished: RwSignal::new(None),
            ended: RwSignal::new((0, Memory::default())),
            ask: RwSignal::new(Ask::default()),
            sides: RwSignal::new(Sides::default()),
            device: RwSignal::new(None),
            form: RwSignal::new(Form::default()),
            complaint: RwSignal::new(None),
            refused: RwSignal::new(Vec::new()),
            run: RwSignal::new(Run::default()),
            focus: RwSignal::new(None),
            view: RwSignal::new(View::default()),
            block: RwSignal::new(None),
            frame: RwSignal::new(Frame::default()),
            metric: RwSignal::new(Metric::default()),
            overlay: RwSignal::new(None),
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

    /// A number that no order or look had before.
    pub(super) fn next_number(self) -> u32 {
        self.numbers.update_value(|number| *number += 1);
        self.numbers.get_value()
    }

    /// The file handles that belong to an order.
    pub(super) fn handles_of(self, order: &Order) -> Vec<File> {
        self.handles.with_value(|handles| handles.of(order))
    }

    /// Asks something of the engine, where there is one.
    pub(super) fn with_link(self, action: impl FnOnce(&Link)) {
        // Cloned, so that replies that arrive meanwhile may use the link again.
        if let Some(link) = self.link.get_value() {
            action(&link);
        }
    }
}
