//! Texts with their indices set.

use leptos::prelude::*;

/// A text in which `_lin` is set as an index.
pub(super) fn typeset(text: &'static str) -> impl IntoView {
    match text.split_once("_lin") {
        Some((before, after)) => view! { {before}<sub>"lin"</sub>{after} }.into_any(),
        None => text.into_any(),
    }
}

/// The same for a text made here.
pub(super) fn typeset_owned(text: String) -> impl IntoView {
    match text.split_once("_lin") {
        Some((before, after)) => view! { {before.to_string()}<sub>"lin"</sub>{after.to_string()} }.into_any(),
        None => text.into_any(),
    }
}
