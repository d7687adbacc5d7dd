//! All signals of the page, and what its buttons do.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge::atlas::Index;
use straightedge::bundled::Bundled;
use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::job::{Job, Measure};
use straightedge::report::Report;
use straightedge::summary::Summary;
use straightedge_web::beforehand::FIRST;
use straightedge_web::bundled::{Expected, path};
use straightedge_web::comparison::Comparison;
use straightedge_web::fetch;
use straightedge_web::folder::{Chosen, Folder, sort_out};
use straightedge_web::form::{Form, LocalModel, ModelChoice, TextChoice, find};
use straightedge_web::frame::{Frame, Part};
use straightedge_web::message::{Device, Memory, ModelSource, Order, Reply, Shelf, TextSource, Unfinished, Work};
use straightedge_web::overlay::{Choice, Kept, Metric};
use straightedge_web::published::Published;
use straightedge_web::run::Run;
use straightedge_web::sides::{Ask, Sides};
use straightedge_web::views::{View, job_measures};
use web_sys::File;

use crate::guide::Guide;
use crate::link::Link;
use crate::look::Look;
use crate::picked::Picked;
use crate::start::Start;

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
    /// What the measurement shown was ordered with.
    ordered: StoredValue<Option<(Order, Vec<File>)>, LocalStorage>,
    /// Number of the latest order or look.
    numbers: StoredValue<u32>,
    handles: StoredValue<Handles, LocalStorage>,
    link: StoredValue<Option<Link>, LocalStorage>,
}

/// The user's files. They never leave the machine: only handles are passed on.
#[derive(Clone, Default)]
struct Handles {
    model: Vec<File>,
    text: Option<File>,
    rows: Option<File>,
}

impl Session {
    /// The page as it opens.
    pub(crate) fn new(start: Start) -> Self {
        let session = Self::empty();
        session.begin(start);
        session
    }

    fn empty() -> Self {
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
            ordered: StoredValue::new_local(None),
            numbers: StoredValue::new(0),
            handles: StoredValue::new_local(Handles::default()),
            link: StoredValue::new_local(None),
        }
    }

    /// Starts the engine, and looks ahead from now on.
    pub(crate) fn connect(self) {
        self.link.set_value(Some(Link::open(move |reply| self.hear(&reply))));
        self.keep_looking();
        self.keep_blocks_apart();
        self.keep_address();
    }

    /// Chooses what the address says, or the first model.
    fn begin(self, start: Start) {
        let Start { address, index, recording, missing } = start;
        self.index.set(Some(index));
        self.complaint.set(missing);
        match address {
            Ok(address) if address.is_first() => {
                self.open_first(recording);
                self.follow(address);
            }
            Ok(address) => self.choose_address(address),
            Err(error) => {
                self.open_first(recording);
                self.complaint.set(Some(error));
            }
        }
    }

    fn open_first(self, recording: Option<Report>) {
        let Some(report) = recording else { return self.choose_bundled(FIRST) };
        self.pick_bundled(FIRST);
        self.run.set(Run::recorded(report));
    }

    /// Whether another button than those that measure is the one that calls: there is one such at a time, of the
    /// lesson where that is open, else of the view.
    pub(crate) fn calls_elsewhere(self) -> bool {
        let is_embedded = self.frame.with(|frame| frame.is_embedded);
        !is_embedded && (self.guide.step.get().is_some() || self.view.get() == View::Sides)
    }

    /// A number that no order or look had before.
    pub(crate) fn next_number(self) -> u32 {
        self.numbers.update_value(|number| *number += 1);
        self.numbers.get_value()
    }

    /// Orders what is chosen, or complains.
    pub(crate) fn measure(self) {
        self.measure_as(|_| ());
    }

    /// The same with what the form has no field for.
    pub(crate) fn measure_as(self, finish: impl FnOnce(&mut Job)) {
        let number = self.next_number();
        let index = self.index.get_untracked().unwrap_or_default();
        match self.form.with_untracked(|form| form.order(number, &index)) {
            Ok(mut order) => {
                finish(&mut order.job);
                self.send(self.as_looked_up(order));
            }
            Err(error) => self.complaint.set(Some(error)),
        }
    }

    /// Adds a measure to the measurement shown, for one block or all: same model, same text, same protocol.
    pub(crate) fn extend(self, measure: Measure, block: Option<usize>) {
        let Some((mut order, handles)) = self.ordered.get_value() else { return };
        order.run = self.next_number();
        order.job.measures = job_measures(measure);
        order.job.blocks = block.and_then(|block| block.to_string().parse().ok());
        if let Err(error) = order.job.check() {
            return self.complaint.set(Some(error));
        }
        self.complaint.set(None);
        self.unfinished.set(None);
        self.sides.update(Sides::cancel);
        self.run.update(|run| *run = run.extend(order.run));
        self.with_link(|link| link.measure(order, &handles));
    }

    /// Goes on with the measurement that was ended, or asks for the files that it needs.
    pub(crate) fn resume(self) {
        let Some(Unfinished { model, text, handles: needed, .. }) = self.unfinished.get_untracked() else { return };
        let of_it = |(order, _): &(Order, Vec<File>)| order.job.model == model && order.job.corpus == text;
        let ordered = self.ordered.get_value().filter(of_it);
        let handles = match &ordered {
            Some((_, handles)) => handles.clone(),
            None => self.handles.with_value(|handles| handles.of_names(&model, &text)),
        };
        if handles.len() != needed {
            let hint = "the page no longer has them: choose the same files again, then Resume".into();
            let value = format!("{needed} files of the user's own");
            return self.complaint.set(Some(Error::InvalidSetting { field: model, value, hint }));
        }
        let number = self.next_number();
        self.begin_run(Run::start(number, None), ordered);
        self.with_link(|link| link.resume(number, &handles));
    }

    /// Has it be forgotten.
    pub(crate) fn forget_unfinished(self) {
        self.with_link(Link::forget_unfinished);
    }

    /// Stops at once; what was measured stays.
    pub(crate) fn cancel(self) {
        let number = self.run.with_untracked(Run::number);
        self.run.update(Run::cancel);
        self.with_link(|link| link.cancel(number));
    }

    /// Chooses a bundled model and its text.
    pub(crate) fn choose_bundled(self, name: &str) {
        let Some(bundled) = self.pick_bundled(name) else { return };
        if let Some(file) = &bundled.expected {
            spawn_local(self.load_expected(bundled.name.clone(), path(&bundled, file)));
        }
        self.know_nothing();
        self.know(&bundled);
    }

    /// Chooses a bundled model by a name that somebody else wrote.
    pub(crate) fn choose_named(self, name: &str) {
        self.choose_bundled(name);
        if self.form.with_untracked(|form| form.model != ModelChoice::Bundled(name.into())) {
            self.choose_bundled(FIRST);
            let index = self.index.get_untracked().unwrap_or_default();
            self.complaint.set(find(&index, name).err());
        }
    }

    fn pick_bundled(self, name: &str) -> Option<Bundled> {
        let found = |bundled: &&Bundled| bundled.name == name;
        let bundled = self.index.with_untracked(|index| index.iter().flatten().find(found).cloned())?;
        self.complaint.set(None);
        self.form.update(|form| form.choose_bundled(&bundled));
        self.expected.set(None);
        Some(bundled)
    }

    /// Chooses the user's own model, whose files may still be missing.
    pub(crate) fn choose_local(self) {
        self.complaint.set(None);
        self.expected.set(None);
        self.form.update(|form| form.choose(ModelChoice::Local));
        self.know_nothing();
    }

    /// Chooses a model on the hub.
    pub(crate) fn choose_hub(self, id: &str) {
        self.complaint.set(None);
        self.expected.set(None);
        self.look_anew();
        let index = self.index.get_untracked().unwrap_or_default();
        self.form.update(|form| form.choose_hub(id, &index));
        self.know_nothing();
        self.introduce(id);
    }

    /// Chooses captured rows, whose file may still be missing.
    pub(crate) fn choose_rows(self) {
        self.complaint.set(None);
        self.expected.set(None);
        self.form.update(|form| form.choose(ModelChoice::Rows));
        self.know_nothing();
    }

    /// Takes a file as captured rows, whatever its name.
    pub(crate) fn take_rows(self, picked: Picked) {
        self.choose_rows();
        self.form.update(|form| form.local_rows = Some((picked.file.name(), picked.file.size() as u64)));
        self.handles.update_value(|handles| handles.rows = Some(picked.file));
        self.look_again();
    }

    /// Takes files for whatever they are: a model, a text, rows or a report.
    pub(crate) fn take(self, picked: Vec<Picked>) {
        let paths: Vec<_> = picked.iter().map(|picked| picked.path.clone()).collect();
        match sort_out(&paths) {
            Ok(Chosen::Model(folder)) => self.take_model(folder, &picked),
            Ok(Chosen::Text(at)) => self.take_text(picked[at].clone()),
            Ok(Chosen::Rows(at)) => self.take_rows(picked[at].clone()),
            Ok(Chosen::Report(at)) => self.open_report(picked[at].file.clone()),
            Err(error) => self.complaint.set(Some(error)),
        }
    }

    /// Takes a file as the text, whatever its name.
    pub(crate) fn take_text(self, picked: Picked) {
        self.complaint.set(None);
        self.form.update(|form| {
            form.text = TextChoice::File;
            form.local_text = Some(picked.file.name());
        });
        self.handles.update_value(|handles| handles.text = Some(picked.file));
        self.look_again();
    }

    fn take_model(self, folder: Folder, picked: &[Picked]) {
        self.choose_local();
        let files: Vec<_> = folder.files.iter().map(|(at, _)| picked[*at].file.clone()).collect();
        let local = LocalModel {
            name: folder.name.unwrap_or_else(|| "local-model".into()),
            files: folder.files.into_iter().map(|(_, name)| name).collect(),
            bytes: files.iter().map(|file| file.size() as u64).sum(),
        };
        self.form.update(|form| form.local_model = Some(local));
        self.handles.update_value(|handles| handles.model = files);
        self.look_again();
    }

    /// The file handles that belong to an order.
    pub(crate) fn handles_of(self, order: &Order) -> Vec<File> {
        self.handles.with_value(|handles| handles.of(order))
    }

    fn send(self, order: Order) {
        let handles = self.handles_of(&order);
        ask_to_keep(&order);
        let run = Run::start(order.run, self.expected.get_untracked());
        self.begin_run(run, Some((order.clone(), handles.clone())));
        self.with_link(|link| link.measure(order, &handles));
    }

    /// Shows a measurement that begins; it can be added to where it is known what was ordered.
    fn begin_run(self, run: Run, ordered: Option<(Order, Vec<File>)>) {
        self.stop_looking();
        self.complaint.set(None);
        self.sides.update(Sides::cancel);
        let known = self.remember_known();
        self.show(run);
        self.overlay.set(known);
        self.introduced.set(None);
        self.can_extend.set(ordered.is_some());
        self.ordered.set_value(ordered);
        self.unfinished.set(None);
        look_at_results();
    }

    /// Shows another measurement, with nothing singled out.
    pub(crate) fn show(self, run: Run) {
        self.focus.set(None);
        self.block.set(None);
        self.overlay.set(None);
        self.repeated.set(None);
        self.run.set(run);
    }

    /// Shows one block in detail, where something of it is measured and the views are not hidden.
    pub(crate) fn open_block(self, block: usize) {
        let is_known = self.run.with_untracked(|run| run.blocks().iter().any(|known| known.block == block));
        if is_known && self.frame.with_untracked(|frame| !frame.is_embedded && !frame.hidden.contains(&Part::Views)) {
            self.block.set(Some(block));
            self.view.set(View::Block);
            look_at_results();
        }
    }

    /// Shows a report that was not measured here, so that nothing can be added to it.
    pub(crate) fn show_opened(self, report: Report) {
        self.show(Run::opened(self.next_number(), report));
        self.ordered.set_value(None);
        self.can_extend.set(false);
        self.look_up();
    }

    fn hear(self, reply: &Reply) {
        match reply {
            Reply::Device(device) => self.device.set(Some(Ok(device.clone()))),
            Reply::Crashed { why } => self.crashed(Error::Engine { why: why.clone() }),
            Reply::Ended { run, memory } => self.ended.set((*run, *memory)),
            Reply::Shelf(shelf) => self.shelf.set(Some(shelf.clone())),
            Reply::Unfinished(found) => self.unfinished.set(found.clone()),
            Reply::Ready | Reply::Event { .. } => {}
            Reply::Looking { .. } | Reply::Preflight { .. } | Reply::Extent { .. } => {}
        }
        self.hear_of_look(reply);
        self.run.update(|run| run.hear(reply));
        self.sides.update(|sides| sides.hear(reply));
        if matches!(reply, Reply::Event { event: Event::Started(_), .. }) {
            self.look_up();
        }
    }

    /// A running measurement tells of a crash itself.
    fn crashed(self, error: Error) {
        self.device.update(|device| {
            device.get_or_insert(Err(error.clone()));
        });
        let is_told = self.run.with_untracked(Run::is_running) || self.sides.with_untracked(Sides::is_running);
        if !is_told {
            self.complaint.set(Some(error));
        }
    }

    pub(crate) fn with_link(self, action: impl FnOnce(&Link)) {
        // Cloned, so that replies that arrive meanwhile may use the link again.
        if let Some(link) = self.link.get_value() {
            action(&link);
        }
    }

    async fn load_expected(self, name: String, path: String) {
        let loaded = fetch::json(&path).await;
        let still_chosen = self.form.with_untracked(|form| form.model == ModelChoice::Bundled(name));
        match loaded {
            Ok(expected) if still_chosen => self.expected.set(Some(expected)),
            Ok(_) => {}
            Err(error) => self.complaint.set(Some(error)),
        }
    }
}

/// Brings the result into sight where it is above or below what is seen, as on a phone.
pub(crate) fn look_at_results() {
    let results = document().query_selector(".results").ok().flatten();
    if let Some(results) = results {
        let (top, height) = (results.get_bounding_client_rect().top(), window().inner_height());
        let height = height.ok().and_then(|height| height.as_f64()).unwrap_or(f64::INFINITY);
        if !(0.0..height * 0.7).contains(&top) {
            results.scroll_into_view();
        }
    }
}

/// Asks the browser not to clear downloads by itself; whether it agrees shows with what is stored.
pub(crate) fn ask_to_keep(order: &Order) {
    if matches!(order.work, Work::Model { model: ModelSource::Hub { .. }, .. }) {
        // It answers by itself or asks its user, and outside a secure context there is nothing to ask.
        let _ = window().navigator().storage().persist();
    }
}

impl Handles {
    /// Those that are chosen now, where they were chosen for a measurement of these names.
    fn of_names(&self, model: &str, text: &str) -> Vec<File> {
        if let Some(rows) = self.rows.iter().find(|rows| rows.name() == model) {
            return vec![rows.clone()];
        }
        self.model.iter().chain(self.text.iter().filter(|file| file.name() == text)).cloned().collect()
    }

    /// The handles that an order speaks of, in its order.
    fn of(&self, order: &Order) -> Vec<File> {
        let Work::Model { model, text } = &order.work else { return self.rows.iter().cloned().collect() };
        let model = if matches!(model, ModelSource::Handles { .. }) { self.model.as_slice() } else { &[] };
        let text = self.text.as_ref().filter(|_| *text == TextSource::Handle);
        model.iter().chain(text).cloned().collect()
    }
}
