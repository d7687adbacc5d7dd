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
                    <path class="curve" d="M3 20.5C9 20.5 11.5 25.5 17 22S24.5 9.5 28.5 3.5"/>
                    <path class="edge" d="M3.5 28L28.5 9"/>
                </svg>
                {t().title}
            </h1>
            <p>{t().lead}</p>
        </header>
    }
}
