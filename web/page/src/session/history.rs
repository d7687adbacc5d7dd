//! Actions on the results kept in the browser: written as blocks finish, shown again after a reload, opened, compared.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::error::Error;
use straightedge_api::message::Order;
use straightedge_api::report::Report;
use straightedge_web::comparison::Key;
use straightedge_web::comparison::overlay::KeptMeasurement;
use straightedge_web::history::{KeptResult, StoredResult};
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::{Provenance, Run};
use straightedge_web::state::views::View;

use super::browser::{scroll_to_results, show_after_reload, shown_before_reload};
use super::state::{Current, Session};

impl Session {
    /// Reads the list, shows the result of before a reload again, and keeps results from now on.
    pub(super) fn keep_results(self) {
        self.show_last();
        self.follow_results();
        spawn_local(self.history.open());
    }

    /// Once the list is read, shows the result that was open before a reload, or the partial result of an unfinished
    /// measurement, unless something else is shown by then.
    fn show_last(self) {
        let last = shown_before_reload();
        Effect::new(move |is_done: Option<bool>| {
            if is_done == Some(true) {
                return true;
            }
            let of_unfinished = |entries: &Vec<KeptResult>| {
                self.engine.unfinished.with(|unfinished| {
                    let unfinished = unfinished.as_ref()?;
                    entries.iter().find(|entry| entry.is_of(unfinished)).map(|entry| entry.id.clone())
                })
            };
            let found = self.history.entries.with(|entries| last.clone().or_else(|| of_unfinished(entries.as_ref()?)));
            match found.filter(|_| self.history.entries.with_untracked(Option::is_some)) {
                Some(id) => {
                    self.open_kept(id, true);
                    true
                }
                None => false,
            }
        });
    }

    fn follow_results(self) {
        let changed = Memo::new(move |_| {
            self.results.run.with(|run| (run.number(), run.results(), run.phase().id(), run.provenance().clone()))
        });
        Effect::new(move |_| {
            // A memo that nobody has read yet follows nothing.
            changed.with(|_| ());
            if self.history.store.with(Option::is_none) {
                return;
            }
            let origin = self.results.run.with_untracked(Run::origin);
            show_after_reload(origin.and_then(|origin| self.history.entry_of(origin)).map(|entry| entry.id).as_deref());
            self.write_result();
        });
    }

    /// Deletes what was kept of a measurement whose weights turned out to be damaged.
    pub(super) fn delete_damaged(self) {
        let damaged = self.results.run.with_untracked(|run| {
            let is_damaged = matches!(run.phase(), Phase::Failed(Error::DamagedWeights { .. }));
            run.origin().filter(|_| is_damaged && run.blocks().is_empty())
        });
        if let Some(entry) = damaged.and_then(|origin| self.history.entry_of(origin)) {
            self.history.current.set_value(None);
            self.history.delete(entry.id);
        }
    }

    /// Writes the measurement shown; a change while it is being written is written afterwards.
    fn write_result(self) {
        if !self.results.run.with_untracked(is_own) {
            return;
        }
        if self.history.writing.get_value().0 {
            return self.history.writing.set_value((true, true));
        }
        self.history.writing.set_value((true, false));
        spawn_local(async move {
            loop {
                self.write_now().await;
                let (_, is_old) = self.history.writing.get_value();
                self.history.writing.set_value((is_old, false));
                if !is_old {
                    break;
                }
            }
        });
    }

    async fn write_now(self) {
        let found =
            self.results.run.with_untracked(|run| Some((run.origin()?, run.report().filter(|_| is_own(run))?.clone())));
        let Some((origin, report)) = found else { return };
        // An opened result is stored already; other tabs would take a write for a change.
        let is_as_kept = self.history.entry_of(origin).is_some_and(|entry| entry.saved.is_some())
            && self.results.run.with_untracked(|run| run.results() == 0);
        if !is_as_kept {
            let order = self.results.ordered.get_value().map(|(order, _)| order);
            self.history.write(origin, &report, order).await;
        }
    }

    /// Shows a kept result; if `is_restored`, only in place of what is known without measuring.
    pub(crate) fn open_kept(self, id: String, is_restored: bool) {
        self.with_kept(id.clone(), move |StoredResult { entry, order }, report| {
            let is_free = self.results.run.with_untracked(Run::is_untouched)
                && self.results.fetching.with_untracked(Option::is_none);
            if self.results.run.with_untracked(Run::is_running) || (is_restored && !is_free) {
                return;
            }
            let (block, unfinished) = (self.display.block.get_untracked(), self.engine.unfinished.get_untracked());
            self.keep();
            self.choices.complaint.set(None);
            self.results.introduced.set(None);
            let number = self.engine.next_number();
            self.history.current.set_value(Some(Current { origin: number, id: id.clone(), saved: Some(entry.saved) }));
            self.show(Run::received(number, report, Provenance::Here));
            self.engine.unfinished.set(unfinished);
            self.results.set_order(order.map(|order| (order, Vec::new())));
            if is_restored {
                self.display.block.set(block);
            } else {
                self.display.open_view(View::Profile);
                scroll_to_results();
            }
            self.load_published_if_any();
        });
    }

    /// Adds a kept result to the comparison.
    pub(crate) fn compare_kept(self, id: String) {
        self.with_kept(id, move |StoredResult { entry, .. }, report| {
            let number = self.engine.next_number();
            let name = entry.shown().to_string();
            self.compared.keep(KeptMeasurement { name, ..KeptMeasurement::new(number, false, report) });
            self.compared.chart.update(|comparison| comparison.add(Key::Measured(number)));
            self.display.open_view(View::Compare);
            scroll_to_results();
        });
    }

    fn with_kept(self, id: String, action: impl FnOnce(StoredResult, Report) + 'static) {
        let is_listed = |entries: &Option<Vec<KeptResult>>| entries.iter().flatten().any(|entry| entry.id == id);
        // A reload asks for the result shown before, which may have been deleted.
        let Some(store) = self.history.store.get_untracked().filter(|_| self.history.entries.with_untracked(is_listed))
        else {
            return;
        };
        spawn_local(async move {
            let read = async { Ok((store.entry(&id).await?, store.report(&id).await?)) };
            match read.await {
                // Kept results may come from another version of the page.
                Ok((result, json)) => match Report::from_json(result.entry.shown(), &json) {
                    Ok(report) => action(result, report),
                    Err(error) => self.choices.complaint.set(Some(error)),
                },
                Err(why) => self.history.refused.set(Some(why)),
            }
        });
    }

    /// Passes on the run in which an unfinished measurement resumes, and its order if that is known. The run continues
    /// in the history entry of its partial result and keeps that result.
    pub(super) fn with_begun(self, number: u32, result: &str, action: impl FnOnce(Run, Option<Order>) + 'static) {
        let (id, store) = (result.to_owned(), self.history.store.get_untracked());
        spawn_local(async move {
            let read = async {
                let store = store?;
                let result = store.entry(&id).await.ok()?;
                let report = Report::from_json(result.entry.shown(), &store.report(&id).await.ok()?).ok()?;
                Some((result, report))
            };
            let read = read.await;
            // Something else may have begun while it was read.
            if self.results.run.with_untracked(Run::is_running) {
                return;
            }
            let (saved, run, order) = match read {
                Some((StoredResult { entry, order }, report)) => {
                    (Some(entry.saved), Run::received(number, report, Provenance::Here).extend(number), order)
                }
                None => (None, Run::start(number, None), None),
            };
            self.history.current.set_value(Some(Current { origin: number, id, saved }));
            action(run, order);
        });
    }
}

/// Whether a measurement of this page has results.
fn is_own(run: &Run) -> bool {
    !run.is_untouched() && *run.provenance() == Provenance::Here && !run.blocks().is_empty()
}
