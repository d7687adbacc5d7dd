//! Values of single parameters of a link: read and checked, and written.

use std::collections::BTreeSet;

use straightedge_api::bundled::SYNTHETIC_TEXTS;
use straightedge_api::fields::Field;
use straightedge_api::hub::id::HubId;
use straightedge_api::job::Protocol;

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
        synthetic if SYNTHETIC_TEXTS.contains(&synthetic) => TextChoice::Synthetic(synthetic.into()),
        hub if WIKITEXT.contains(&hub) => TextChoice::Hub(hub.into()),
        bundled => TextChoice::Bundled(Some(bundled).filter(|name| is_plain(name) && !name.contains(':'))?.into()),
    })
}

/// A text that perplexity can be measured on.
pub(super) fn eval(value: &str) -> Option<TextChoice> {
    text(value).filter(|text| matches!(text, TextChoice::Synthetic(_) | TextChoice::Hub(_)))
}

/// The name of a bundled model or of one on the hub.
pub(super) fn fed(name: &str) -> Option<String> {
    (is_plain(name) || HubId::model(name).is_ok()).then(|| name.into())
}

/// The settings of a protocol that differ from the defaults.
pub(super) fn protocol_written(protocol: &Protocol) -> [(&'static str, Option<String>); 8] {
    let Protocol { rows, seq_len, folds, interleaved_folds, skip_positions, bos, piece_chars, gram, .. } = *protocol;
    let usual = Protocol::default();
    let count = |value: usize, usual: usize| (value != usual).then(|| value.to_string());
    [
        ("rows", count(rows, usual.rows)),
        ("seq_len", count(seq_len, usual.seq_len)),
        ("folds", count(folds, usual.folds)),
        ("interleaved_folds", interleaved_folds.then(|| "1".into())),
        ("skip_positions", count(skip_positions, usual.skip_positions)),
        ("bos", bos.then(|| "1".into())),
        ("piece_chars", count(piece_chars, usual.piece_chars)),
        ("gram", (gram != usual.gram).then(|| gram.to_string())),
    ]
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
        TextChoice::Synthetic(name) | TextChoice::Hub(name) | TextChoice::Bundled(name) => name.clone(),
    }
}

/// A list; `None` if it is empty.
pub(super) fn listed<T: ToString>(parts: &BTreeSet<T>) -> Option<String> {
    (!parts.is_empty()).then(|| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
}
