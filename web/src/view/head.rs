//! The head of the page: its name and what it is for.

use leptos::prelude::*;
use straightedge_web::texts::t;

/// Name, mark and one sentence.
#[component]
pub(crate) fn Head() -> impl IntoView {
    view! {
        <header class="head">
            <h1>
                <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
                    <path class="curve" d="M3 24C11 26 15 24.5 18 19S24 8 29 5"/>
                    <path class="edge" d="M4 28L28 6"/>
                </svg>
                {t().title}
            </h1>
            <p>{t().lead}</p>
        </header>
    }
}
