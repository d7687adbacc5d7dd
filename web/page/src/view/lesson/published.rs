//! Step 8: published values of the two regimes.

use leptos::prelude::*;
use straightedge_web::lesson::pictures;
use straightedge_web::text::lesson::l;

use super::parts::Picture;
use crate::session::Compared;

#[component]
pub(super) fn Example(compared: Compared) -> impl IntoView {
    let is_here = Memo::new(move |_| compared.published.with(Option::is_some));
    let plot = Memo::new(move |_| {
        compared.published.with(|published| published.as_ref().map(pictures::regimes)).unwrap_or_default()
    });
    view! {
        <div class="example">
            <Show when=move || is_here.get() fallback=|| view! { <p class="note">{l().regimes_waiting}</p> }>
                <Picture plot label=l().regimes_chart/>
            </Show>
        </div>
    }
}
