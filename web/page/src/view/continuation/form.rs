//! The request: prompt, blocks, tokens, sampling, and the button.

use std::collections::BTreeSet;

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use straightedge_web::continuation::{self, BlockList, ContinuationForm, ContinuationState, Linear};
use straightedge_web::state::order_status::Phase;
use straightedge_web::state::run::Run;
use straightedge_web::text::continuation::t;
use straightedge_web::text::fill;
use straightedge_web::text::format::{NOTHING, fixed, spans};

use crate::session::{Continued, Session};

/// The form of the view, apart from the blocks.
#[component]
pub(super) fn PromptForm(session: Session) -> impl IntoView {
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        session.continue_prompt();
    };
    let is_running = Memo::new(move |_| session.continued.state.with(ContinuationState::is_running));
    let is_blocked = Memo::new(move |_| session.results.run.with(Run::is_running));
    let name = move || match session.continued.state.with(|continuation| *continuation.phase() == Phase::Idle) {
        true => t().go,
        false => t().again,
    };
    view! {
        <form class="ask" aria-label=t().own on:submit=submit inert=cfg!(not(target_arch = "wasm32")) novalidate>
            <label class="title" for="sides-prompt">{t().prompt}</label>
            <textarea
                id="sides-prompt" data-testid="sides-prompt" rows="2" spellcheck="false" aria-describedby="sides-hint"
                prop:value=move || session.continued.form.with(|form| form.prompt.clone())
                on:input=move |event| session.continued.form.update(|form| form.prompt = event_target_value(&event))
            ></textarea>
            <p class="note" id="sides-hint">{t().prompt_hint}</p>
            <Show when=move || session.continued.form.with(ContinuationForm::is_too_long_for_a_link)>
                <p class="note" data-testid="sides-long">{t().prompt_long}</p>
            </Show>
            <div class="ask-bar">
                <Typed
                    continued=session.continued id="sides-tokens" name=t().tokens decimal=false field=|form| &mut form.tokens
                />
                <Show
                    when=move || is_running.get()
                    fallback=move || view! {
                        <button
                            type="submit" class="main" class:second=move || session.guide.step.get().is_some()
                            data-testid="sides-go" disabled=move || is_blocked.get()
                        >
                            {name}
                        </button>
                    }
                >
                    <button type="button" class="stop" data-testid="sides-stop" on:click=move |_| session.cancel_continuation()>
                        {t().stop}
                    </button>
                </Show>
            </div>
            <Show when=move || is_blocked.get()><p class="note">{t().blocked}</p></Show>
            <Sampling continued=session.continued/>
        </form>
    }
}

/// One switch per block with its R², and the three usual choices. Before the page is ready, `web/public/early.js`
/// answers their clicks.
#[component]
pub(super) fn BlockChoice(session: Session) -> impl IntoView {
    let known = Memo::new(move |_| session.known_blocks());
    let linear = Memo::new(move |_| known.with(|known| session.continued.form.with(|form| form.linear(known))));
    let count = Memo::new(move |_| known.with(|known| known.blocks.len()));
    let absent = Memo::new(move |_| {
        let absent = known.with(|known| session.continued.form.with(|form| form.absent(known)));
        (!absent.is_empty()).then(|| fill(t().blocks_absent, &[("blocks", &spans(&absent))]))
    });
    let chip = move |block: usize| view! { <Chip continued=session.continued known linear block/> };
    let choose = move |blocks: Linear| session.continued.form.update(|form| form.blocks = Some(blocks));
    let best = Memo::new(move |_| known.with(BlockList::most_linear));
    let extent = Memo::new(move |_| known.with(|known| linear.with(|linear| continuation::extent(linear, known))));
    let every = move || {
        known.with(|known| known.blocks.iter().map(|(block, _)| block.to_string()).collect::<Vec<_>>().join(","))
    };
    let choose_best = move |_| {
        if let Some(best) = best.get_untracked() {
            choose(Linear::Some(BTreeSet::from([best])));
        }
    };
    view! {
        <fieldset class="ask-blocks">
            <legend class="title">{t().blocks}</legend>
            <Show
                when=move || count.get() != 0
                fallback=|| view! { <p class="note">{t().blocks_unknown}</p> }
            >
                <div class="chips"><For each=move || 0..count.get() key=|block| *block children=chip/></div>
            </Show>
            {move || absent.get().map(|text| view! { <p class="note bad" data-testid="sides-absent">{text}</p> })}
            <div class="shortcuts">
                <button
                    type="button" class="small" data-testid="sides-best" on:click=choose_best
                    disabled=move || best.get().is_none() data-blocks=move || best.get().map(|best| best.to_string())
                >{t().blocks_best}</button>
                <button
                    type="button" class="small" data-testid="sides-all"
                    aria-pressed=move || extent.get()[0].to_string() data-blocks=every
                    on:click=move |_| choose(Linear::All)
                >{t().blocks_all}</button>
                <button
                    type="button" class="small" data-testid="sides-none"
                    aria-pressed=move || extent.get()[1].to_string() data-blocks=""
                    on:click=move |_| choose(Linear::Some(BTreeSet::new()))
                >{t().blocks_none}</button>
            </div>
        </fieldset>
    }
}

/// A block that can be made linear.
#[component]
fn Chip(continued: Continued, known: Memo<BlockList>, linear: Memo<Linear>, block: usize) -> impl IntoView {
    let r2 = Memo::new(move |_| known.with(|known| known.blocks.get(block).and_then(|(_, r2)| *r2)));
    let between = move || if r2.get().is_some() { t().block_r2 } else { t().block_r2_unknown };
    let is_unknown = move || r2.get().is_none().then_some("true");
    let shown = move || r2.get().map_or(NOTHING.into(), |r2| fixed(Some(r2), 2));
    view! {
        <button
            type="button" class="chip of-block" data-testid=format!("sides-block-{block}")
            aria-pressed=move || linear.with(|linear| linear.contains(block)).to_string()
            on:click=move |_| known.with_untracked(|known| continued.form.update(|form| form.toggle(block, known)))
        >
            <span class="unseen">{t().block_before}</span><b>{block}</b>
            <span class="unseen">{between}</span><span aria-hidden=is_unknown>{shown}</span>
        </button>
    }
}

/// Temperature and seed, folded: the likeliest token is the usual choice.
#[component]
fn Sampling(continued: Continued) -> impl IntoView {
    let summary = move || continued.form.with(|form| continuation::sampling(form.temperature.trim(), form.seed.trim()));
    view! {
        <details class="fold" data-testid="sides-sampling">
            <summary><span class="title">{t().sampling}</span><span class="note">{summary}</span></summary>
            <div class="fields">
                <Typed
                    continued id="sides-temperature" name=t().temperature decimal=true field=|form| &mut form.temperature
                />
                <p class="note">{t().temperature_meaning}</p>
                <Typed continued id="sides-seed" name=t().seed decimal=false field=|form| &mut form.seed/>
                <p class="note">{t().seed_meaning}</p>
            </div>
        </details>
    }
}

/// A number, kept as typed.
#[component]
fn Typed(
    continued: Continued,
    id: &'static str,
    name: &'static str,
    decimal: bool,
    field: fn(&mut ContinuationForm) -> &mut String,
) -> impl IntoView {
    let value = move || continued.form.with(|form| field(&mut form.clone()).clone());
    let change = move |event| continued.form.update(|form| *field(form) = event_target_value(&event));
    view! {
        <label for=id>{name}</label>
        <input
            id=id data-testid=id type="text" inputmode=if decimal { "decimal" } else { "numeric" } autocomplete="off"
            prop:value=value on:input=change
        />
    }
}
