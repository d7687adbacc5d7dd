//! Continuing a prompt with the chosen model beside itself: what is known of its blocks, ordering, stopping.

use leptos::prelude::*;
use straightedge_api::job::{Blocks, Measure};
use straightedge_web::comparison::overlay::Kept;
use straightedge_web::continuation::{Known, Linear, Sides};
use straightedge_web::state::form::ModelChoice;
use straightedge_web::state::run::Run;

use super::browser::{ask_to_keep, now};
use super::state::Session;

impl Session {
    /// The blocks of the chosen model with their R²: as measured or recorded, else as many as the hub says it has.
    pub(crate) fn known_blocks(self) -> Known {
        let Some(name) = self.model_name() else { return Known::default() };
        let of = |report: Option<&straightedge_api::report::Report>| {
            report.filter(|report| report.model.id == name).map(Known::of_report)
        };
        let measured = self.run.with(|run| of(run.report()));
        let known = measured.filter(|known| known.most_linear().is_some());
        let known = known.or_else(|| self.sides.with(|sides| of(sides.report())));
        let known = known.or_else(|| {
            self.look.with(|look| {
                let found = look.preflight.as_ref()?.as_ref().ok()?;
                (found.id.name() == name).then(|| Known::of_number(found.num_hidden_layers))
            })
        });
        known.unwrap_or_default()
    }

    /// Blocks of one model are none of another's: with the model, their choice goes.
    pub(crate) fn keep_blocks_apart(self) {
        Effect::new(move |before: Option<Option<String>>| {
            let now = self.model_name();
            // One whose files are still to be chosen has no name yet.
            if before.flatten().is_some_and(|before| now.as_ref() != Some(&before)) {
                self.ask.update(|ask| ask.blocks = None);
            }
            now
        });
    }

    /// What reports call the chosen model.
    pub(crate) fn model_name(self) -> Option<String> {
        self.form.with(|form| match &form.model {
            ModelChoice::Bundled(name) => Some(name.clone()),
            ModelChoice::Hub(id) => Some(id.split('@').next().unwrap_or(id).trim().into()),
            ModelChoice::Local => form.local_model.as_ref().map(|local| local.name.clone()),
            ModelChoice::Rows => None,
        })
    }

    /// Orders what is asked for, or complains.
    pub(crate) fn go_on(self) {
        if self.run.with_untracked(Run::is_running) {
            return;
        }
        let number = self.next_number();
        let index = self.index.get_untracked().unwrap_or_default();
        let asked = self.ask.with_untracked(|ask| ask.continuation());
        let order = self.form.with_untracked(|form| form.order(number, &index));
        let (asked, order) = match asked.and_then(|asked| Ok((asked, order?))) {
            Ok(both) => both,
            Err(error) => return self.complaint.set(Some(error)),
        };
        let mut order = self.as_looked_up(order);
        order.job.measures = [Measure::Fit].into();
        let known = untrack(|| self.known_blocks());
        order.job.blocks = match self.ask.with_untracked(|ask| ask.linear(&known)) {
            Linear::All => None,
            Linear::Some(blocks) => Some(Blocks::of(blocks)),
        };
        let handles = self.handles_of(&order);
        self.stop_looking();
        ask_to_keep(&order);
        self.complaint.set(None);
        self.sides.set(Sides::start(number, asked.clone()).dated(now()));
        self.with_link(|link| link.go_on(order, asked, &handles));
    }

    /// Keeps the maps that a continuation has measured on its way, so that they can be compared as any measurement.
    pub(super) fn keep_fit(self, number: u32) {
        let report = self.sides.with_untracked(|sides| sides.report().filter(|_| sides.number() == number).cloned());
        if let Some(report) = report.filter(|report| !report.blocks.is_empty()) {
            self.keep_this(Kept::new(number, false, report));
        }
    }

    /// Stops at once; what both have added stays.
    pub(crate) fn stop_going_on(self) {
        let number = self.sides.with_untracked(Sides::number);
        self.sides.update(Sides::cancel);
        self.with_link(|link| link.cancel(number));
    }
}
