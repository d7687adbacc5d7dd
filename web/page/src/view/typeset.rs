//! Texts with subscripts.

use leptos::prelude::*;

/// A text in which `_lin` becomes a subscript.
pub(super) fn typeset(text: &'static str) -> impl IntoView {
    match text.split_once("_lin") {
        Some((before, after)) => view! { {before}<sub>"lin"</sub>{after} }.into_any(),
        None => text.into_any(),
    }
}

/// The same for an owned text.
pub(super) fn typeset_owned(text: String) -> impl IntoView {
    match text.split_once("_lin") {
        Some((before, after)) => view! { {before.to_string()}<sub>"lin"</sub>{after.to_string()} }.into_any(),
        None => text.into_any(),
    }
}
