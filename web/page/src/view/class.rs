//! A link to what is chosen and shown, for the visitor, a class, or another page.

use std::collections::BTreeSet;

use leptos::prelude::*;
use straightedge_web::state::frame::{Frame, Part};
use straightedge_web::state::views::View;
use straightedge_web::text::t;

use crate::permalink::link;
use crate::session::{Display, Session};

/// The fold with the link; absent under a link that hides or locks something.
#[component]
pub(crate) fn ForClass(session: Session) -> impl IntoView {
    let frame = RwSignal::new(Frame::default());
    let is_plain = Memo::new(move |_| session.display.frame.with(|frame| *frame == Frame::default()));
    let copied = RwSignal::new(false);
    let target = Memo::new(move |_| {
        copied.set(false);
        let mut address = session.address();
        address.frame = frame.get();
        link(&address).unwrap_or_default()
    });
    let copy = move |_| {
        // Without a clipboard the link can still be selected.
        let _ = window().navigator().clipboard().write_text(&target.get_untracked());
        copied.set(true);
    };
    view! {
        <Show when=move || is_plain.get()>
            <details class="fold" data-testid="class">
                <summary><span class="title">{t().link}</span><span class="note">{t().link_about}</span></summary>
                <div class="fields">
                    {Part::ALL.map(|part| view! { <PartChoice frame part/> }).collect_view()}
                    <label for="embed">{t().link_embed}</label>
                    <input
                        type="checkbox" id="embed" data-testid="link-embed"
                        on:change=move |event| frame.update(|frame| frame.is_embedded = event_target_checked(&event))
                    />
                    <input
                        type="text" class="link" data-testid="link" readonly aria-label=t().link prop:value=target
                    />
                    <button type="button" data-testid="link-copy" on:click=copy>
                        {move || if copied.get() { t().link_copied } else { t().link_copy }}
                    </button>
                    <p class="note">{t().link_note}</p>
                </div>
            </details>
        </Show>
    }
}

/// Whether a part is visible and unlocked.
#[component]
fn PartChoice(frame: RwSignal<Frame>, part: Part) -> impl IntoView {
    let id = format!("frame-{part}");
    let change = move |event| {
        let chosen = event_target_value(&event);
        let put = |parts: &mut BTreeSet<Part>, is_in: bool| {
            if is_in {
                parts.insert(part)
            } else {
                parts.remove(&part)
            };
        };
        frame.update(|frame| {
            put(&mut frame.hidden, chosen == "hide");
            put(&mut frame.locked, chosen == "lock");
        });
    };
    let lock = Part::CHOICES.contains(&part).then(|| view! { <option value="lock">{t().link_locked}</option> });
    view! {
        <label for=id.clone()>{name(part)}</label>
        <select id=id data-testid=format!("frame-{part}") class="inline" on:change=change>
            <option value="">{t().link_free}</option>
            {lock}
            <option value="hide">{t().link_hidden}</option>
        </select>
    }
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Model => t().model,
        Part::Text => t().text,
        Part::Protocol => t().protocol,
        Part::Downloads => t().downloads,
        Part::Views => t().views_short,
        Part::Continuation => View::Continuation.texts()[0],
    }
}

/// A part of the page that a link can hide or lock.
#[component]
pub(crate) fn Framed(display: Display, part: Part, children: ChildrenFn) -> impl IntoView {
    let is_there = Memo::new(move |_| display.frame.with(|frame| !frame.hidden.contains(&part)));
    let is_locked = Memo::new(move |_| display.frame.with(|frame| frame.locked.contains(&part)));
    view! {
        <Show when=move || is_there.get()>
            <fieldset class="part" disabled=move || is_locked.get() data-testid=format!("part-{part}")>
                {children()}
            </fieldset>
        </Show>
    }
}
