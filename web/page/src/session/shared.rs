//! A result that a link shares: in its fragment, or in a report at an address that it names. Shown at once, as a claim
//! that measuring again verifies.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::error::{Error, Result};
use straightedge_api::report::Report;
use straightedge_web::browser::foreign;
use straightedge_web::state::frame::Frame;
use straightedge_web::state::run::{Provenance, Run};
use straightedge_web::text::fill;
use straightedge_web::text::result::t as r;
use straightedge_web::text::sentences::translated;
use straightedge_web::url::address::Address;
use straightedge_web::url::finding::{self, Shared};
use wasm_bindgen::prelude::*;

use super::state::{Results, Session};
use crate::permalink;

/// Most bytes of a report from another host; a report of 100 blocks with everything has a tenth.
const MOST_BYTES: usize = 32_000_000;

impl Session {
    /// Shows the result of the link that was followed, if it has one.
    pub(super) fn open_shared(self, shared: Option<Shared>) {
        match shared {
            Some(Shared::Fragment(fragment)) => self.open_fragment(&fragment),
            Some(Shared::Report(address)) => self.fetch_report(address),
            None => {}
        }
    }

    /// Follows a link with a result that is opened in this tab.
    pub(crate) fn follow_fragments(self) {
        let follow = Closure::<dyn Fn()>::new(move || {
            let fragment = permalink::fragment();
            if !finding::is_finding(&fragment) {
                return;
            }
            if self.results.run.with_untracked(Run::is_running) {
                self.choices.complaint.set(Some(Error::MalformedLink { why: r().busy_link.into() }));
            } else {
                self.keep();
                self.open_fragment(&fragment);
            }
        });
        // A window takes any listener.
        let _ = window().add_event_listener_with_callback("hashchange", follow.into_js_value().unchecked_ref());
    }

    fn open_fragment(self, fragment: &str) {
        match finding::read(fragment) {
            Ok(report) => self.show_claim(report, Provenance::Link, Shared::Fragment(fragment.into())),
            Err(error) => self.choices.refused.update(|refused| {
                refused.retain(|known| !matches!(known, Error::MalformedLink { .. }));
                refused.push(error);
            }),
        }
    }

    fn fetch_report(self, address: String) {
        self.results.shared.set(Some(Shared::Report(address.clone())));
        self.results.fetching.set(Some(address.clone()));
        spawn_local(async move {
            let found = fetched(&address).await;
            self.results.fetching.set(None);
            // Something else was measured or opened meanwhile.
            if !self.results.run.with_untracked(Run::is_untouched) {
                return;
            }
            match found {
                Ok(report) => self.show_claim(report, Provenance::Address(address.clone()), Shared::Report(address)),
                Err(error) => self.choices.complaint.set(Some(error)),
            }
        });
    }

    /// The link to the result shown, or to its chart alone if `is_embedded`. The link contains the numbers unless they
    /// are a recording of the page or come from an address.
    ///
    /// # Errors
    /// It is too large for a link.
    pub(crate) fn shared_link(self, is_embedded: bool) -> Result<String> {
        let Results { run, shared, .. } = self.results;
        let report = run.with(|run| run.report().filter(|_| !run.is_untouched() && !run.blocks().is_empty()).cloned());
        let is_named = shared.with(|shared| matches!(shared, Some(Shared::Report(_))));
        let mut form = self.choices.form.get();
        if let Some(report) = &report {
            let index = self.choices.index.get().unwrap_or_default();
            // A result of the sender's own files has only the form's settings.
            let _ = form.repeat(report, &index);
        }
        let address = Address {
            frame: Frame { is_embedded, ..Frame::default() },
            lesson: None,
            overlay: None,
            ..self.address_of(&form)
        };
        let fragment = report.filter(|_| !is_named).map(|report| finding::written(&report)).transpose()?;
        Ok(permalink::link(&address).unwrap_or_default() + &fragment.unwrap_or_default())
    }

    /// Keeps the view and block that the link opens.
    fn show_claim(self, report: Report, provenance: Provenance, shared: Shared) {
        let block = self.display.block.get_untracked();
        self.show_received(report, provenance);
        self.display.block.set(block);
        self.results.shared.set(Some(shared));
    }
}

async fn fetched(address: &str) -> Result<Report> {
    let refuse = |why: String| Error::UnreadableFile { file: address.into(), why };
    if address.starts_with("http://") && !permalink::is_own(address) {
        return Err(refuse("only https is allowed for other hosts".into()));
    }
    let json = foreign::text(address, MOST_BYTES)
        .await
        .map_err(|why| refuse(fill(r().unfetched, &[("why", &translated(&why))])))?;
    Report::from_json(address, &json)
}
