//! Status of the measurement, and the report once there is one.

use leptos::prelude::*;
use straightedge_web::continuation;
use straightedge_web::state::run::{Provenance, Run};
use straightedge_web::state::views::View;
use straightedge_web::state::words;
use straightedge_web::text::result::t as r;
use straightedge_web::text::{fill, t};

use super::share::CopyLink;
use crate::link::Link;
use crate::save;
use crate::session::{Results, Session};

/// Stage, amount, rate and time left above the chart; afterwards a summary and the download.
#[component]
pub(crate) fn Status(session: Session) -> impl IntoView {
    let results = session.results;
    let line = Memo::new(move |_| match results.introduced.get() {
        Some(_) => t().status_published.into(),
        None => results.run.with(words::status),
    });
    let fetching = move || {
        let address = results.fetching.get()?;
        Some(view! { <p class="note" data-testid="fetching">{fill(r().fetching, &[("address", &address)])}</p> })
    };
    let is_claim = Memo::new(move |_| results.run.with(|run| run.provenance().is_claim()));
    let is_short = move || results.run.with(|run| *run.provenance() == Provenance::Link);
    let progress = move || results.run.with(|run| run.progress());
    let is_running = Memo::new(move |_| results.run.with(Run::is_running));
    let share = move || progress().map(|progress| progress.fraction().to_string());
    let detail = move || progress().map(|progress| words::progress(&progress)).unwrap_or_default();
    let concurrent = move || results.run.with(|run| run.concurrent().map(|concurrent| words::concurrent(&concurrent)));
    let has_detail = Memo::new(move |_| progress().is_some_and(|progress| progress.total > 0));
    let has_report = Memo::new(move |_| results.run.with(|run| run.report().is_some() && !run.is_untouched()));
    let has_trace = Memo::new(move |_| results.run.with(|run| !run.spans().is_empty()));
    let can_resume = Memo::new(move |_| session.engine.unfinished.with(Option::is_some) && !is_running.get());
    let unfinished = move || session.engine.unfinished.with(|found| found.as_ref().map(words::unfinished));
    let is_embedded = Memo::new(move |_| session.display.frame.with(|frame| frame.is_embedded));
    let can_replay =
        Memo::new(move |_| has_report.get() && !is_running.get() && !results.can_extend.get() && !is_embedded.get());
    let about = Memo::new(move |_| match (session.display.view.get(), results.introduced.get()) {
        // A comparison names each of its measurements in the chart.
        (View::Compare, _) => None,
        (View::Continuation, _) => {
            let recorded = || session.recorded_pair().and_then(|_| results.run.with(words::about));
            session.continued.state.with(continuation::about).or_else(recorded)
        }
        (_, Some(id)) => Some(fill(r().about_published, &[("model", &id)])),
        (_, None) => results.run.with(words::about),
    });
    let name = move || session.display.view.get().texts()[1];
    // When embedded in another page, it is the first heading.
    let heading = move || match session.display.frame.with(|frame| frame.is_embedded) {
        true => view! { <h1>{name}</h1> }.into_any(),
        false => view! { <h2>{name}</h2> }.into_any(),
    };
    view! {
        <div class="standing">
            {heading}
            {move || about.get().map(|about| view! { <p class="about-result" data-testid="about-result">{about}</p> })}
            <p class="note">
                <span role="status" data-testid="status" data-phase=move || results.run.with(|run| run.phase().id())
                    data-run=move || results.run.with(Run::number)
                    data-ended=move || session.engine.ended.get().0
                    data-gpu-bytes=move || session.engine.ended.get().1.gpu_bytes
                    data-wasm-bytes=move || session.engine.ended.get().1.wasm_bytes>{line}</span>
                <Show when=move || has_detail.get()>" · "<span data-testid="progress">{detail}</span>{concurrent}</Show>
                <Show when=move || has_trace.get() && !is_running.get()>
                    " "
                    <button
                        type="button" class="plain" data-testid="trace" title=t().trace_explained
                        on:click=move |_| download_trace(results)
                    >{t().trace}</button>
                </Show>
            </p>
            {fetching}
            <Show when=is_short><p class="note" data-testid="claim-short">{r().claim_short}</p></Show>
            <Show when=move || can_resume.get()>
                <p class="note" data-testid="unfinished">
                    {unfinished}" "
                    <button
                        type="button" class="plain" data-testid="forget"
                        on:click=move |_| session.engine.with_link(Link::forget_unfinished)
                    >{t().forget_unfinished}</button>
                </p>
            </Show>
            <div class="actions">
                <Show when=move || has_report.get() && !is_running.get() && !is_embedded.get()>
                    <CopyLink session/>
                    <button type="button" class="button" data-testid="download" on:click=move |_| download(results)>
                        {t().download}
                    </button>
                </Show>
                <Show when=move || can_replay.get()>
                    <button
                        type="button" class="main" class:second=move || session.calls_elsewhere() data-testid="replay"
                        on:click=move |_| session.replay()
                    >{move || if is_claim.get() { r().claim_replay } else { t().replay }}</button>
                </Show>
                <Show when=move || can_resume.get()>
                    <button type="button" data-testid="resume" on:click=move |_| session.resume()>{t().resume}</button>
                </Show>
                <Show when=move || is_running.get()>
                    <button type="button" data-testid="stop" on:click=move |_| session.cancel()>{t().cancel}</button>
                </Show>
            </div>
        </div>
        <Show when=move || is_running.get() fallback=|| view! { <hr/> }>
            <progress max="1" value=share aria-label=line></progress>
        </Show>
    }
}

fn download_trace(results: Results) {
    let file = results.run.with_untracked(|run| {
        let name = words::report_name(run.report()?).replace(".json", ".trace.json");
        Some((name, straightedge_api::trace::to_json(run.spans())))
    });
    if let Some((name, json)) = file {
        let _ = save::text(&name, "application/json", &json);
    }
}

fn download(results: Results) {
    let file =
        results.run.with_untracked(|run| run.report().map(|report| (words::report_name(report), report.to_json())));
    if let Some((name, json)) = file {
        // A browser that cannot create a blob or its URL cannot download at all.
        let _ = save::text(&name, "application/json", &json);
    }
}
