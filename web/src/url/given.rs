//! Reads the untrusted names and values of a link one by one: an invalid value is refused in a sentence and ignored.

use std::cell::RefCell;
use std::collections::BTreeSet;

use straightedge_api::error::{Error, Result};
use straightedge_api::job::{Measure, Protocol};

use super::continuation;
use crate::continuation::ContinuationForm;

/// Most characters of a value that an error repeats.
pub(super) const SHOWN: usize = 60;

/// Names and values of a link, and the errors so far.
pub(super) struct Given<'a> {
    pairs: &'a [(String, String)],
    refused: RefCell<Vec<Error>>,
}

impl<'a> Given<'a> {
    /// Takes decoded names and values.
    pub(super) fn new(pairs: &'a [(String, String)]) -> Self {
        Self { pairs, refused: RefCell::default() }
    }

    /// The errors, in reading order.
    pub(super) fn refused(self) -> Vec<Error> {
        self.refused.into_inner()
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn refuse(&self, error: Error) {
        self.refused.borrow_mut().push(error);
    }

    pub(super) fn read<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>, hint: &str) -> Option<T> {
        let value = self.value(name)?;
        let parsed = parse(value);
        if parsed.is_none() {
            self.refuse(refused(name, value, hint));
        }
        parsed
    }

    /// Reads a value with a parser that has its own errors.
    pub(super) fn parsed<T>(&self, name: &str, parse: impl Fn(&str) -> Result<T>) -> Option<T> {
        parse(self.value(name)?).map_err(|error| self.refuse(error)).ok()
    }

    /// A whole number of at most nine digits: no setting needs more, and sums cannot overflow.
    pub(super) fn count(&self, name: &str) -> Option<usize> {
        let value = self.value(name)?;
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let hint = match value.strip_prefix('-') {
            Some(digits) if is_number(digits) => "give a whole number, 0 or more",
            None if is_number(value) => "give at most 999999999",
            _ => "give a whole number",
        };
        self.read(name, |value| value.parse().ok().filter(|_| is_number(value) && value.len() <= 9), hint)
    }

    /// Whether a switch is `1`.
    fn is_on(&self, name: &'static str, hint: &'static str) -> bool {
        self.read(name, |value| (value == "1").then_some(()), hint).is_some()
    }

    /// The protocol; settings out of range get their defaults.
    pub(super) fn protocol(&self) -> Protocol {
        let usual = Protocol::default();
        let mut protocol = Protocol {
            rows: self.count("rows").unwrap_or(usual.rows),
            seq_len: self.count("seq_len").unwrap_or(usual.seq_len),
            folds: self.count("folds").unwrap_or(usual.folds),
            skip_positions: self.count("skip_positions").unwrap_or(usual.skip_positions),
            interleaved_folds: self.is_on("interleaved_folds", "interleaved_folds=1 is all there is"),
            bos: self.is_on("bos", "bos=1 is all there is"),
            piece_chars: self.count("piece_chars").unwrap_or(usual.piece_chars),
            gram: self.read("gram", |mode| mode.parse().ok(), "choose exact or fast").unwrap_or_default(),
            ..usual.clone()
        };
        while let Err(error) = protocol.check() {
            match &error {
                Error::InvalidSetting { field, .. } if field == "--folds" => protocol.folds = usual.folds,
                Error::InvalidSetting { field, .. } if field == "--seq-len" => protocol.seq_len = usual.seq_len,
                Error::InvalidSetting { field, .. } if field == "--skip-positions" => {
                    protocol.skip_positions = usual.skip_positions;
                }
                Error::InvalidSetting { field, .. } if field == "--rows" && protocol.rows != usual.rows => {
                    protocol.rows = usual.rows;
                }
                _ => protocol = usual.clone(),
            }
            self.refuse(in_link(error));
        }
        protocol
    }

    pub(super) fn measures(&self) -> BTreeSet<Measure> {
        let list = |list: &str| Measure::parse_list(list).ok();
        let mut measures = self.read("measures", list, "give a list such as swap,layers").unwrap_or_default();
        measures.remove(&Measure::Fit);
        measures
    }

    pub(super) fn continuation(&self) -> ContinuationForm {
        let given = continuation::NAMES.into_iter().filter_map(|name| Some((name, self.value(name)?)));
        given.fold(ContinuationForm::default(), |form, (name, value)| {
            form.with(name, value).unwrap_or_else(|hint| {
                self.refuse(refused(name, value, hint));
                form
            })
        })
    }

    pub(super) fn parts<T: std::str::FromStr + Ord>(&self, name: &str) -> BTreeSet<T> {
        let list = |value: &str| value.split(',').map(|part| part.parse().ok()).collect();
        self.read(name, list, "name parts of the page, such as model,text").unwrap_or_default()
    }
}

/// Renames the setting in an error to its name in links.
fn in_link(error: Error) -> Error {
    match error {
        Error::InvalidSetting { field, value, hint } => {
            let name = field.trim_start_matches('-').replace('-', "_");
            Error::InvalidSetting { field: format!("{name} in this link"), value, hint }
        }
        other => other,
    }
}

fn refused(name: &str, value: &str, hint: &str) -> Error {
    let mut shown: String = value.chars().take(SHOWN).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    Error::InvalidSetting { field: format!("{name} in this link"), value: format!("“{shown}”"), hint: hint.into() }
}

/// Whether a value can be a name: it cannot form a path or URL.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " -_.:".contains(c);
    !name.is_empty() && name.len() <= SHOWN && name.chars().all(plain) && !name.contains("..")
}
