//! Every known profile as a card: searched, sorted, compared, opened.

use leptos::prelude::*;
use straightedge_api::fields::Field;
use straightedge_web::chart::draw::spark;
use straightedge_web::comparison::Key;
use straightedge_web::comparison::cards::Card;
use straightedge_web::comparison::sources::Sources;
use straightedge_web::state::run::Run;
use straightedge_web::text::format::fixed;
use straightedge_web::text::{fill, t};

use super::typeset::typeset_owned;
use crate::session::Session;

/// The cards, with the fields that search and sort them.
#[component]
pub(crate) fn Cards(session: Session, known: Memo<Sources>) -> impl IntoView {
    let (words, metric) = (RwSignal::new(String::new()), RwSignal::new(None::<Field>));
    let cards = Memo::new(move |_| known.with(|known| words.with(|words| known.cards(words, metric.get()))));
    let sort = move |event| {
        let chosen = event_target_value(&event);
        metric.set(Field::charts().find(|field| field.id() == chosen));
    };
    let option = |field: Field| view! { <option value=field.id()>{field.label()}</option> };
    let id = move |card: &Card| (card.key.value(), metric.get_untracked(), card.curve.len());
    view! {
        <section class="cards" aria-labelledby="cards-name">
            <h3 id="cards-name">{t().cards}</h3>
            <p class="note">{t().cards_about}</p>
            <div class="overlay-bar">
                <input
                    type="search" data-testid="cards-search" aria-label=t().cards_search placeholder=t().cards_search
                    on:input=move |event| words.set(event_target_value(&event))
                />
                <label class="pick">
                    {t().cards_sort}
                    <select data-testid="cards-sort" on:change=sort>
                        <option value="">{t().cards_listed}</option>
                        {Field::charts().map(option).collect_view()}
                    </select>
                </label>
            </div>
            <ul data-testid="cards">
                <For each=move || cards.get() key=id children=move |card| view! { <CardItem session card/> }/>
            </ul>
            <Show when=move || cards.with(Vec::is_empty)><p class="note">{t().cards_none}</p></Show>
        </section>
    }
}

#[component]
fn CardItem(session: Session, card: Card) -> impl IntoView {
    let Card { key, name, source, finding, curve, mean } = card;
    let label = |text: &'static str| fill(text, &[("name", &name)]);
    let (add_name, open_name) = (label(t().atlas_add_name), label(t().cards_open_name));
    let mean = mean.map(|mean| fill(t().cards_mean, &[("value", &fixed(Some(mean), 3))]));
    let can_open = matches!(key, Key::Recorded(_) | Key::Published(..) | Key::Atlas(_));
    let key = StoredValue::new(key);
    let is_compared = Memo::new(move |_| {
        session.compared.chart.with(|comparison| key.with_value(|key| comparison.entry(key).is_some()))
    });
    let open = move || {
        view! {
            <button
                type="button" class="small" data-testid="card-open" aria-label=open_name.clone()
                disabled=move || session.results.run.with(Run::is_running) on:click=move |_| session.open_profile(&key.get_value())
            >
                {t().cards_open}
            </button>
        }
    };
    view! {
        <li data-testid="card" data-key=key.with_value(Key::value)>
            <p><strong>{name.clone()}</strong>" "<span class="source">{source.text()}</span></p>
            <span class="spark" inner_html=spark(&curve)></span>
            <p class="note">{finding.map(|finding| typeset_owned(finding + " · "))}{mean}</p>
            <div class="chips">
                <button
                    type="button" class="small" data-testid="card-add" aria-label=add_name
                    disabled=move || is_compared.get() on:click=move |_| session.compared.add(key.get_value())
                >
                    {t().atlas_add}
                </button>
                {can_open.then(open)}
            </div>
        </li>
    }
}
