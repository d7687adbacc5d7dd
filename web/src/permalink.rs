//! The page's address follows what is chosen and shown, and what an address says is chosen.

use leptos::prelude::*;
use straightedge::error::Result;
use straightedge::hub::id::HubId;
use straightedge_web::address::{Address, Laid, NAMES, OWN, ROWS};
use straightedge_web::beforehand::FIRST;
use straightedge_web::comparison::link::Linked;
use straightedge_web::form::{Form, ModelChoice};
use straightedge_web::frame::Part;
use straightedge_web::overlay::Choice;
use straightedge_web::sides::Ask;
use straightedge_web::views::View;
use wasm_bindgen::JsValue;
use web_sys::UrlSearchParams;

use crate::session::Session;

/// What the page's address says.
pub(crate) fn address() -> Result<Address> {
    Address::read(&query())
}

impl Session {
    /// Chooses what an address says.
    pub(crate) fn choose_address(self, address: Address) {
        self.form.update(|form| {
            form.mirror = address.mirror.as_ref().map(ToString::to_string).unwrap_or_default();
        });
        match (&address.hub, address.model.as_deref()) {
            (Some(hub), _) => self.choose_hub(&hub.to_string()),
            (None, Some(OWN)) => self.choose_local(),
            (None, Some(ROWS)) => self.choose_rows(),
            (None, name) => self.choose_named(name.unwrap_or(FIRST)),
        }
        self.follow(address);
    }

    /// Everything of an address but the model.
    pub(crate) fn follow(self, address: Address) {
        self.form.update(|form| form.follow(&address));
        // What a link hides it does not open.
        let is_hidden = address.view == View::Sides && address.frame.hidden.contains(&Part::Sides);
        self.view.set(if is_hidden { View::default() } else { address.view });
        self.block.set(address.block);
        match address.overlay {
            Some(Laid::Published(corpus)) => self.overlay.set(Some(Choice::Published(corpus))),
            Some(Laid::Recorded(model)) => self.lay_recording_over(&model),
            None => {}
        }
        if !address.comparison.is_empty() {
            let index = self.index.get_untracked().unwrap_or_default();
            match address.comparison.comparison(&index) {
                Ok(comparison) => self.comparison.set(comparison),
                Err(error) => self.complaint.set(Some(error)),
            }
        }
        if self.introduced.with_untracked(Option::is_none) {
            self.metric.set(address.metric);
        }
        self.ask.set(address.ask);
        self.frame.set(address.frame);
        self.guide.step.set(address.lesson);
    }

    /// From now on the address says what is chosen and shown.
    pub(crate) fn keep_address(self) {
        Effect::new(move |_| {
            // Where history is out of bounds, as in some frames, there is no address to keep.
            let _ = replace_query(&self.address());
        });
    }

    /// What a link to here says; the model on the hub by the commit that was found.
    pub(crate) fn address(self) -> Address {
        let overlay = self.overlay.get().and_then(|choice| match choice {
            Choice::Published(corpus) => Some(Laid::Published(corpus)),
            Choice::Kept(at) => self.recording_laid_over(at).map(Laid::Recorded),
        });
        let comparison = match self.view.get() {
            View::Compare => self.comparison.with(|comparison| {
                self.index.with(|index| Linked::of(comparison, index.as_deref().unwrap_or_default()))
            }),
            _ => Linked::default(),
        };
        let ask = if self.view.get() == View::Sides { self.ask.with(Ask::linkable) } else { Ask::default() };
        // Published figures that are shown beforehand come with their model.
        let is_introduced = self.introduced.with(Option::is_some);
        self.form.with(|form| Address {
            model: model_of(form),
            hub: self.hub_of(form),
            mirror: form.endpoint().ok().filter(|endpoint| !endpoint.is_hub()),
            text: self.index.with(|index| form.foreign_text(index.as_deref().unwrap_or_default())),
            protocol: form.protocol().ok().filter(|protocol| protocol.check().is_ok()).unwrap_or_default(),
            backend: form.backend,
            measures: form.measures.clone(),
            view: self.view.get(),
            block: self.block.get(),
            metric: if is_introduced { Default::default() } else { self.metric.get() },
            overlay: overlay.filter(|_| !is_introduced),
            comparison,
            ask,
            frame: self.frame.get(),
            lesson: self.guide.step.get(),
        })
    }

    fn hub_of(self, form: &Form) -> Option<HubId> {
        let ModelChoice::Hub(typed) = &form.model else { return None };
        let typed = HubId::model(typed).ok()?;
        Some(self.found().filter(|found| found.name() == typed.name()).unwrap_or(typed))
    }
}

fn model_of(form: &Form) -> Option<String> {
    match &form.model {
        ModelChoice::Bundled(name) => Some(name.clone()),
        ModelChoice::Local => Some(OWN.into()),
        ModelChoice::Rows => Some(ROWS.into()),
        ModelChoice::Hub(_) => None,
    }
}

fn query() -> Vec<(String, String)> {
    let search = window().location().search().unwrap_or_default();
    let Ok(params) = UrlSearchParams::new_with_str(&search) else { return Vec::new() };
    NAMES.into_iter().filter_map(|name| params.get(name).map(|value| (name.to_string(), value))).collect()
}

/// The whole link to an address of this page.
pub(crate) fn link(address: &Address) -> Result<String, JsValue> {
    let location = window().location();
    let (origin, path) = (location.origin()?, location.pathname()?);
    Ok(format!("{origin}{path}{}", search_of(&UrlSearchParams::new()?, address)))
}

fn replace_query(address: &Address) -> Result<(), JsValue> {
    let location = window().location();
    let search = search_of(&UrlSearchParams::new_with_str(&location.search()?)?, address);
    if search != location.search()? {
        let target = format!("{}{search}{}", location.pathname()?, location.hash()?);
        window().history()?.replace_state_with_url(&JsValue::NULL, "", Some(&target))?;
    }
    Ok(())
}

/// Names that are not ours stay; what needs no escape is left readable.
fn search_of(params: &UrlSearchParams, address: &Address) -> String {
    for (name, value) in address.pairs() {
        match value {
            Some(value) => params.set(name, &value),
            None => params.delete(name),
        }
    }
    let readable = [("%2F", "/"), ("%40", "@"), ("%3A", ":"), ("%2C", ",")];
    let query = readable.iter().fold(String::from(params.to_string()), |text, (code, sign)| text.replace(code, sign));
    if query.is_empty() { query } else { format!("?{query}") }
}
