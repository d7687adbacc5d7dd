//! Buttons that take a chart away: two pictures, a table, data.

use leptos::prelude::*;
use straightedge_web::export::Sheet;
use straightedge_web::texts::t;

use crate::save;

/// The buttons below a chart; `at` tells them apart in tests.
#[component]
pub(crate) fn Exports(sheet: Callback<(), Option<Sheet>>, at: String) -> impl IntoView {
    let button = move |kind: &'static str, take: fn(Sheet)| {
        let save = move |_| {
            if let Some(sheet) = sheet.run(()) {
                take(sheet);
            }
        };
        let name = kind.to_uppercase();
        view! { <button type="button" data-testid=format!("{kind}-{at}") on:click=save>{name}</button> }
    };
    // A browser that cannot make a blob or an address for it cannot download at all.
    let svg = button("svg", |sheet| drop(save::text(&format!("{}.svg", sheet.name), "image/svg+xml", &sheet.svg)));
    let png = button("png", |sheet| save::png(format!("{}.png", sheet.name), sheet.svg));
    let csv = button("csv", |sheet| drop(save::text(&format!("{}.csv", sheet.name), "text/csv", &sheet.csv())));
    let json =
        button("json", |sheet| drop(save::text(&format!("{}.json", sheet.name), "application/json", &sheet.json())));
    view! { <div class="exports" role="group" aria-label=t().export><span>{t().export}</span>{svg}{png}{csv}{json}</div> }
}
