//! Keeps the page's address in line with what is chosen and shown, and applies addresses.

use leptos::prelude::*;
use straightedge_web::comparison::overlay::Choice;
use straightedge_web::continuation::ContinuationForm;
use straightedge_web::lesson::Step;
use straightedge_web::state::form::{Form, ModelChoice};
use straightedge_web::state::frame::Part;
use straightedge_web::state::recordings::FIRST;
use straightedge_web::state::views::View;
use straightedge_web::url::address::{Address, OWN, ROWS, Read};
use straightedge_web::url::comparison::Linked;
use straightedge_web::url::finding::{Shared, is_finding};
use straightedge_web::url::overlay::LinkedOverlay;
use wasm_bindgen::prelude::*;

use super::state::Session;
use crate::permalink::{address, fragment, put_query};

impl Session {
    /// Applies an address.
    pub(crate) fn choose_address(self, address: Address) {
        match (&address.hub, address.model.as_deref()) {
            (Some(hub), _) => self.choose_hub(&hub.to_string()),
            (None, Some(OWN)) => self.choose_own(ModelChoice::Local),
            (None, Some(ROWS)) => self.choose_own(ModelChoice::Rows),
            (None, name) => self.choose_named(name.unwrap_or(FIRST)),
        }
        self.follow(address);
    }

    /// Applies an address except for the model.
    pub(crate) fn follow(self, address: Address) {
        self.choices.form.update(|form| form.follow(&address));
        self.display.view.set(visible_view(&address));
        self.display.block.set(address.block);
        match address.overlay {
            Some(LinkedOverlay::Published(corpus)) => self.compared.overlay.set(Some(Choice::Published(corpus))),
            Some(LinkedOverlay::Recorded(model)) => self.overlay_recording(&model),
            None => {}
        }
        if !address.comparison.is_empty() {
            match address.comparison.comparison(&self.choices.bundled()) {
                Ok(comparison) => self.compared.chart.set(comparison),
                Err(error) => self.choices.complaint.set(Some(error)),
            }
        }
        if self.results.introduced.with_untracked(Option::is_none) {
            self.compared.metric.set(address.metric);
        }
        self.continued.form.set(address.continuation);
        self.display.frame.set(address.frame);
        self.guide.step.set(address.lesson);
        self.guide.is_projected.set(address.is_projected);
    }

    /// Updates the address with every change of state from now on, and follows Back and Forward.
    pub(crate) fn keep_address(self) {
        Effect::new(move |_| {
            let entry = self.display.take_entry();
            // Some frames deny access to the history; the address then stays as it is.
            let shows_fragment = self.results.shared.with(|shared| matches!(shared, Some(Shared::Fragment(_))));
            let _ = put_query(&self.address(), shows_fragment, entry);
        });
        let back = Closure::<dyn Fn()>::new(move || {
            let fragment = fragment();
            // A link with another result was opened in this tab: its fragment is read next, and must stay until then.
            if is_finding(&fragment) && self.results.shared.get_untracked() != Some(Shared::Fragment(fragment)) {
                return;
            }
            let Read { address, .. } = address();
            self.display.view.set(visible_view(&address));
            self.display.block.set(address.block);
        });
        // A window takes any listener.
        let _ = window().add_event_listener_with_callback("popstate", back.into_js_value().unchecked_ref());
    }

    /// The address of the present state; a hub model with the commit that was found.
    pub(crate) fn address(self) -> Address {
        self.choices.form.with(|form| self.address_of(form))
    }

    /// The same with another form.
    pub(super) fn address_of(self, form: &Form) -> Address {
        let overlay = self.compared.overlay.get().and_then(|choice| match choice {
            Choice::Published(corpus) => Some(LinkedOverlay::Published(corpus)),
            Choice::Kept(at) => self.overlaid_recording(at).map(LinkedOverlay::Recorded),
        });
        let comparison = match self.display.view.get() {
            View::Compare => self.compared.chart.with(|comparison| {
                self.choices.index.with(|index| Linked::of(comparison, index.as_deref().unwrap_or_default()))
            }),
            _ => Linked::default(),
        };
        let continuation = if self.display.view.get() == View::Continuation {
            self.continued.form.with(ContinuationForm::linkable)
        } else {
            ContinuationForm::default()
        };
        // The published figures shown before measuring are implied by their model.
        let is_introduced = self.results.introduced.with(Option::is_some);
        Address {
            model: model_of(form),
            hub: self.choices.hub_of(form),
            mirror: form.endpoint().ok().filter(|endpoint| !endpoint.is_hub()),
            tokenizer: form.tokenizer_source().ok().flatten().map(|source| source.0),
            text: self.choices.index.with(|index| form.foreign_text(index.as_deref().unwrap_or_default())),
            eval: form.eval.clone(),
            protocol: form.protocol().ok().filter(|protocol| protocol.check().is_ok()).unwrap_or_default(),
            backend: form.backend,
            measures: form.measures.clone(),
            feed: Some(form.feed.trim().to_owned()).filter(|feed| !feed.is_empty()),
            view: self.display.view.get(),
            block: self.display.block.get(),
            metric: if is_introduced { Default::default() } else { self.compared.metric.get() },
            overlay: overlay.filter(|_| !is_introduced),
            comparison,
            continuation,
            frame: self.display.frame.get(),
            lesson: self.guide.step.get(),
            is_projected: self.guide.is_projected.get(),
            report: self.results.shared.with(|shared| match shared {
                Some(Shared::Report(address)) => Some(address.clone()),
                _ => None,
            }),
            language: self.display.requested_language,
        }
    }

    /// The link to the lesson: its first step, with the model, text and protocol chosen, and with a teacher's locks.
    pub(crate) fn lesson_address(self) -> Address {
        let Address { model, hub, mirror, text, protocol, backend, frame, language, .. } = self.address();
        Address {
            model,
            hub,
            mirror,
            text,
            protocol,
            backend,
            frame,
            language,
            lesson: Some(Step::default()),
            ..Address::default()
        }
    }
}

/// The view that an address opens: the default one if the link hides it.
fn visible_view(address: &Address) -> View {
    let is_hidden = address.view == View::Continuation && address.frame.hidden.contains(&Part::Continuation);
    if is_hidden { View::default() } else { address.view }
}

fn model_of(form: &Form) -> Option<String> {
    match &form.model {
        ModelChoice::Bundled(name) => Some(name.clone()),
        ModelChoice::Local => Some(OWN.into()),
        ModelChoice::Rows => Some(ROWS.into()),
        ModelChoice::Hub(_) => None,
    }
}
