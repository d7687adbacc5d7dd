//! Values of single parameters of a link: read and checked, and written.

use std::collections::BTreeSet;

use straightedge_api::bundled::MADE_TEXTS;
use straightedge_api::fields::Field;

use crate::state::form::{TextChoice, WIKITEXT};
use crate::url::given::is_plain;

const PASTED: &str = ":pasted";
const FILE: &str = ":file";
/// Most characters of the address of a report.
const LONGEST_ADDRESS: usize = 500;

/// The text that a link names.
pub(super) fn text(value: &str) -> Option<TextChoice> {
    Some(match value {
        PASTED => TextChoice::Pasted,
        FILE => TextChoice::File,
        made if MADE_TEXTS.contains(&made) => TextChoice::Made(made.into()),
        hub if WIKITEXT.contains(&hub) => TextChoice::Hub(hub.into()),
        bundled => TextChoice::Bundled(Some(bundled).filter(|name| is_plain(name) && !name.contains(':'))?.into()),
    })
}

/// A text that perplexity can be measured on.
pub(super) fn eval(value: &str) -> Option<TextChoice> {
    text(value).filter(|text| matches!(text, TextChoice::Made(_) | TextChoice::Hub(_)))
}

/// The address of a report: of any https host, of this machine, or a path of this site. The page allows http only for
/// its own origin.
pub(super) fn report(address: &str) -> Option<String> {
    let has_host = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
    let is_path = address.starts_with("./") && !address.contains("..");
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '`');
    ((has_host || is_path) && address.len() <= LONGEST_ADDRESS && address.chars().all(plain)).then(|| address.into())
}

/// The charts that a link names.
pub(super) fn charts(list: &str) -> Option<BTreeSet<Field>> {
    list.split(',').map(Field::charted).collect()
}

/// A list of charts; `None` if it is empty.
pub(super) fn charts_written(charts: &BTreeSet<Field>) -> Option<String> {
    (!charts.is_empty()).then(|| charts.iter().map(|quantity| quantity.id()).collect::<Vec<_>>().join(","))
}

/// A text as links name it.
pub(super) fn written(text: &TextChoice) -> String {
    match text {
        TextChoice::Pasted => PASTED.into(),
        TextChoice::File => FILE.into(),
        TextChoice::Made(name) | TextChoice::Hub(name) | TextChoice::Bundled(name) => name.clone(),
    }
}

/// A list; `None` if it is empty.
pub(super) fn listed<T: ToString>(parts: &BTreeSet<T>) -> Option<String> {
    (!parts.is_empty()).then(|| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
}
