//! The recorded texts of the chosen blocks. `web/public/early.js` changes them on a click before this module is there,
//! so it relies on the names, classes and attributes here.

use leptos::prelude::*;
use straightedge_web::chart::profile::{Labels, Profile, ProfileLayout, draw};
use straightedge_web::chart::scale::LEAST_NATS;
use straightedge_web::comparison::overlay::Metric;
use straightedge_web::continuation::{RecordedPair, RecordedPlace, heading};
use straightedge_web::text::continuation::t;
use straightedge_web::text::engine;
use straightedge_web::text::{fill, t as page};

use super::super::chart::finding;
use super::super::typeset::typeset;
use crate::session::Session;

/// Width of the profile next to the texts, in SVG units.
const NARROW: f64 = 320.0;

/// Both texts, and how far the models are apart.
#[component]
pub(super) fn RecordedTexts(pair: Memo<Option<RecordedPair>>) -> impl IntoView {
    let tokens = move |is_linear: bool| {
        let tokens = pair.with(|pair| pair.as_ref().map(|pair| pair.tokens.clone()).unwrap_or_default());
        tokens.into_iter().map(move |place| token(place, is_linear)).collect_view()
    };
    let prompt = move || pair.with(|pair| pair.as_ref().map(|pair| pair.prompt.clone()));
    let linear = move || pair.with(|pair| pair.as_ref().map(|pair| heading(&pair.blocks)));
    let mean = move || pair.with(|pair| pair.as_ref().map(|pair| pair.mean_kl.clone()));
    let parting = move || pair.with(|pair| pair.as_ref().map(|pair| parting(pair.parting)));
    view! {
        <div class="recorded" data-testid="recorded-texts" data-least=LEAST_NATS>
            <p class="apart" role="status">
                {t().recorded_kl}<b data-testid="recorded-kl">{mean}</b>{t().recorded_nats}
                <span data-testid="recorded-parting" data-same=t().recorded_same data-parted=t().recorded_parted>{parting}</span>
            </p>
            <div class="sides">
                <section class="side">
                    <h3>{t().original}</h3>
                    <p class="flow" data-testid="recorded-original">
                        <span class="prompt">{prompt}</span>{move || tokens(false)}
                    </p>
                </section>
                <section class="side of-linear">
                    <h3
                        data-testid="recorded-heading" data-none=t().linear_none data-one=t().linear_one
                        data-many=t().linear
                    >{linear}</h3>
                    <p class="flow" data-testid="recorded-linear">
                        <span class="prompt">{prompt}</span>{move || tokens(true)}
                    </p>
                </section>
            </div>
            <p class="note">{t().recorded_caption}</p>
        </div>
    }
}

fn token(place: RecordedPlace, is_linear: bool) -> impl IntoView {
    let is_other = is_linear && !place.is_same();
    let text = if is_linear { place.linear } else { place.original };
    view! { <span class="token" class:other=is_other data-kl=(!is_linear).then_some(place.level)>{text}</span> }
}

/// Where the texts diverge, in words.
fn parting(at: Option<usize>) -> String {
    at.map_or(t().recorded_same.into(), |at| fill(t().recorded_parted, &[("at", &at.to_string())]))
}

/// The profile of the model whose blocks are chosen, small.
#[component]
pub(super) fn SmallProfile(session: Session) -> impl IntoView {
    let profile = Memo::new(move |_| {
        let name = session.choices.model_name();
        session.results.run.with(|run| {
            let report = run.report().filter(|report| name.as_ref() == Some(&report.model.id))?;
            (!report.blocks.is_empty()).then(|| run.profile(Metric::Lin).covering())
        })
    });
    let drawing = move |profile: &Profile| {
        let labels = Labels { value: engine::label(Metric::Lin.field()), block: page().chart_axis_block };
        draw(profile, &ProfileLayout::new(NARROW, profile.blocks), labels)
    };
    view! {
        {move || profile.get().map(|profile| view! {
            <figure class="small-profile">
                <div
                    class="chart" role="img" inner_html=drawing(&profile)
                    aria-label=finding(session.results, &profile).unwrap_or_else(|| page().chart_name.into())
                ></div>
                <figcaption class="note">{finding(session.results, &profile)}" "{typeset(t().profile_caption)}</figcaption>
            </figure>
        })}
    }
}
