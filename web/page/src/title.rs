//! Keeps the title of the page, and that of what is shared from it, in line with the result shown.

use leptos::prelude::*;
use straightedge_web::state::headline::title;

use crate::session::Session;

/// Names model and finding of the result shown.
pub(crate) fn follow(session: Session) {
    let named = Memo::new(move |_| {
        if let Some(id) = session.results.introduced.get() {
            return title(&id, None);
        }
        session.results.run.with(|run| match run.report() {
            Some(report) => title(&session.choices.title_of(&report.model.id), Some(report)),
            None => title("", None),
        })
    });
    Effect::new(move |_| {
        let title = named.get();
        document().set_title(&title);
        let share = document().query_selector("meta[property='og:title']").ok().flatten();
        if let Some(share) = share {
            // Any element takes this attribute.
            let _ = share.set_attribute("content", &title);
        }
    });
}
