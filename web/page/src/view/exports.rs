//! Buttons that save a chart: two pictures, a table, data.

use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_web::export::Sheet;
use straightedge_web::text::t;
use wasm_bindgen::JsValue;

use crate::save;

/// The buttons below a chart; `at` distinguishes them in tests.
#[component]
pub(crate) fn Exports(sheet: Callback<(), Option<Sheet>>, at: String) -> impl IntoView {
    let refused = RwSignal::new(false);
    let group = format!("exports-{at}");
    let button = move |kind: &'static str, mime: &'static str| {
        let save = move |_| {
            let Some(sheet) = sheet.run(()) else { return };
            spawn_local(async move {
                let saved = save(&sheet, kind, mime).await;
                // The view may be closed by then.
                let _ = refused.try_set(saved.is_err());
            });
        };
        let name = kind.to_uppercase();
        view! { <button type="button" data-testid=format!("{kind}-{at}") on:click=save>{name}</button> }
    };
    let [svg, png] = [button("svg", "image/svg+xml"), button("png", "image/png")];
    let [csv, json] = [button("csv", "text/csv"), button("json", "application/json")];
    view! {
        <div class="exports" role="group" aria-label=t().export data-testid=group>
            <span>{t().export}</span>
            {svg}
            {png}
            {csv}
            {json}
            <span role="status">{move || refused.get().then_some(t().export_refused)}</span>
        </div>
    }
}

async fn save(sheet: &Sheet, kind: &str, mime: &str) -> Result<(), JsValue> {
    let name = format!("{}.{kind}", sheet.name);
    match kind {
        "svg" => save::text(&name, mime, &sheet.svg),
        "csv" => save::text(&name, mime, &sheet.csv()),
        "json" => save::text(&name, mime, &sheet.json()),
        _ => save::png(&name, &sheet.svg).await,
    }
}
