//! The page's own address: reading, replacing, and building a full link.

use leptos::prelude::*;
use straightedge_web::url::address::{Address, NAMES, Read};
use straightedge_web::url::finding::is_finding;
use wasm_bindgen::JsValue;
use web_sys::UrlSearchParams;

/// Reads the page's address.
pub(crate) fn address() -> Read {
    Address::read(&query())
}

fn query() -> Vec<(String, String)> {
    let search = window().location().search().unwrap_or_default();
    let Ok(params) = UrlSearchParams::new_with_str(&search) else { return Vec::new() };
    NAMES.into_iter().filter_map(|name| params.get(name).map(|value| (name.to_string(), value))).collect()
}

/// The fragment of the page's address, `#` included.
pub(crate) fn fragment() -> String {
    window().location().hash().unwrap_or_default()
}

/// Whether an address is of the page's own origin.
pub(crate) fn is_own(address: &str) -> bool {
    window().location().origin().is_ok_and(|origin| address.starts_with(&format!("{origin}/")))
}

/// The address of the page without query and fragment.
pub(crate) fn site() -> String {
    let location = window().location();
    format!("{}{}", location.origin().unwrap_or_default(), location.pathname().unwrap_or_default())
}

/// The full link to an address of this page.
pub(crate) fn link(address: &Address) -> Result<String, JsValue> {
    Ok(format!("{}{}", site(), search_of(&UrlSearchParams::new()?, address)))
}

/// The history entry of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A new entry, from which Back leads to the earlier address.
    New,
    /// Replaces the current entry.
    #[default]
    Same,
}

/// Replaces the page's address. A result in its fragment stays only while it is shown.
pub(crate) fn put_query(address: &Address, shows_fragment: bool, entry: Entry) -> Result<(), JsValue> {
    let location = window().location();
    if address.is_opening() && query().is_empty() {
        return Ok(());
    }
    let search = search_of(&UrlSearchParams::new_with_str(&location.search()?)?, address);
    let known = location.hash()?;
    let hash = if shows_fragment || !is_finding(&known) { known.clone() } else { String::new() };
    if search != location.search()? || hash != known {
        let target = format!("{}{search}{hash}", location.pathname()?);
        let history = window().history()?;
        match entry {
            Entry::New => history.push_state_with_url(&JsValue::NULL, "", Some(&target))?,
            Entry::Same => history.replace_state_with_url(&JsValue::NULL, "", Some(&target))?,
        }
    }
    Ok(())
}

/// Unknown names stay; characters that need no escape stay readable.
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
