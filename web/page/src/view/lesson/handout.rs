//! What only the printed lesson has: a front with name, link and QR code, and lines to write on.

use leptos::prelude::*;
use straightedge_web::lesson::Print;
use straightedge_web::lesson::qr::{Code, code};
use straightedge_web::text::lesson::l;

use crate::permalink::link;
use crate::session::Session;

/// The front of the handout, or of its answer key.
#[component]
pub(super) fn Front(session: Session) -> impl IntoView {
    let address = Memo::new(move |_| link(&session.lesson_address()).unwrap_or_default());
    let is_key = Memo::new(move |_| session.guide.paper.get() == Print::Key);
    let drawn = move || address.with(|address| code(address)).map(drawing);
    view! {
        <div class="front" data-testid="handout">
            <div>
                <p class="paper-title">{l().handout_title}</p>
                {move || if is_key.get() {
                    view! { <p class="paper-title">{l().handout_key}</p> }.into_any()
                } else {
                    view! {
                        <p class="blank"><span>{l().handout_name}</span><i></i><span>{l().handout_date}</span><i></i></p>
                    }.into_any()
                }}
                <p>{l().handout_lead}</p>
                <p class="address" data-testid="handout-address">{address}</p>
            </div>
            {drawn}
        </div>
    }
}

/// A QR code with its quiet zone of four modules.
fn drawing(Code { size, path }: Code) -> impl IntoView {
    let whole = size + 8;
    view! {
        <svg
            class="code" viewBox=format!("-4 -4 {whole} {whole}") role="img" aria-label=l().handout_code
            data-testid="handout-code"
        >
            <path d=path/>
        </svg>
    }
}

/// Lines to write on, below the name of what belongs there.
#[component]
pub(super) fn Lines(name: &'static str) -> impl IntoView {
    view! {
        <div class="lines">
            <p class="note">{name}</p>
            <i></i><i></i><i></i>
        </div>
    }
}
