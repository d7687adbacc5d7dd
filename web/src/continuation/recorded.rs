//! A recorded continuation as it is shown: the text of the chosen blocks, if the form has the settings of the recording.

use std::collections::BTreeSet;

use straightedge_api::recorded_texts::RecordedTexts;

use super::block_list::BlockList;
use super::form::{ContinuationForm, Linear};
use crate::chart::scale::LEAST_NATS;
use crate::text::format::magnitude;

/// Path of a model's recorded continuations, relative to the page.
pub fn recorded_path(model: &str) -> String {
    format!("data/continuations/{model}.json")
}

/// Steps of the height of a bar.
const LEVELS: f64 = 9.0;

/// A recorded text next to the model's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedPair {
    /// The prompt of both.
    pub prompt: String,
    /// Blocks that are linear, ascending.
    pub blocks: Vec<usize>,
    /// The tokens.
    pub tokens: Vec<RecordedPlace>,
    /// Mean KL in nats.
    pub mean_kl: String,
    /// Number from 1 of the first token that differs.
    pub parting: Option<usize>,
}

/// Both tokens at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedPlace {
    /// The model's own token.
    pub original: String,
    /// The token of the model with linear blocks.
    pub linear: String,
    /// Height of the KL's bar, 0 to 9.
    pub level: u8,
}

impl RecordedPlace {
    /// Whether the tokens are the same.
    pub fn is_same(&self) -> bool {
        self.original == self.linear
    }
}

/// The recorded text for `model` and the settings of a form; `None` if others were recorded.
pub fn recorded(
    texts: &RecordedTexts,
    form: &ContinuationForm,
    known: &BlockList,
    model: Option<&str>,
) -> Option<RecordedPair> {
    let usual = ContinuationForm::default();
    let of_recording = ContinuationForm { prompt: texts.prompt.clone(), blocks: form.blocks.clone(), ..usual };
    let is_recorded = *form == of_recording && form.tokens == texts.original.len().to_string();
    if !is_recorded || model != Some(&texts.model) || known.blocks.len() != texts.blocks() {
        return None;
    }
    let linear = form.linear(known);
    let blocks: BTreeSet<usize> = (0..texts.blocks()).filter(|block| linear.contains(*block)).collect();
    let text = texts.of(|block| blocks.contains(&block))?;
    let most = text.kl.iter().copied().fold(LEAST_NATS, f64::max);
    let place = |((original, linear), kl): ((&String, &String), &f64)| RecordedPlace {
        original: original.clone(),
        linear: linear.clone(),
        level: (LEVELS * (kl / most).clamp(0.0, 1.0)).round() as u8,
    };
    let tokens: Vec<_> = texts.original.iter().zip(&text.tokens).zip(&text.kl).map(place).collect();
    Some(RecordedPair {
        prompt: texts.prompt.clone(),
        blocks: blocks.into_iter().collect(),
        parting: tokens.iter().position(|token| !token.is_same()).map(|at| at + 1),
        tokens,
        mean_kl: magnitude(Some(text.mean_kl)),
    })
}

/// Whether the choice includes every known block, and whether it includes none.
pub fn extent(linear: &Linear, known: &BlockList) -> [bool; 2] {
    let chosen = known.blocks.iter().filter(|(block, _)| linear.contains(*block)).count();
    [chosen == known.blocks.len() && *linear != Linear::Some(BTreeSet::new()), chosen == 0 && *linear != Linear::All]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    fn texts() -> RecordedTexts {
        serde_json::from_str(include_str!("../../data/continuations/demo-gpt2.json")).unwrap()
    }

    fn form_of(blocks: &[usize]) -> ContinuationForm {
        ContinuationForm { blocks: Some(Linear::Some(blocks.iter().copied().collect())), ..ContinuationForm::default() }
    }

    #[test]
    fn every_choice_of_blocks_of_the_first_model_is_recorded_for_the_prompt_that_the_page_opens_with() {
        let (texts, known) = (texts(), BlockList::of_number(6));
        assert_eq!((texts.blocks(), texts.prompt.clone()), (6, ContinuationForm::default().prompt));
        let shown = |blocks: &[usize]| recorded(&texts, &form_of(blocks), &known, Some("demo-gpt2")).unwrap();
        let none = shown(&[]);
        assert_eq!((none.mean_kl.as_str(), none.parting, none.tokens.len()), ("0", None, 40));
        assert!(none.tokens.iter().all(|token| token.is_same() && token.level == 0));
        let two = shown(&[1, 4]);
        assert!(two.parting.is_some() && two.tokens.iter().any(|token| token.level == 9), "{two:?}");
        assert_eq!(two.blocks, [1, 4]);
        let all = ContinuationForm { blocks: Some(Linear::All), ..ContinuationForm::default() };
        assert_eq!(recorded(&texts, &all, &known, Some("demo-gpt2")).unwrap().blocks, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn another_request_has_no_recorded_text() {
        let (texts, known) = (texts(), BlockList::of_number(6));
        let is_there = |form: ContinuationForm, model| recorded(&texts, &form, &known, model).is_some();
        assert!(is_there(form_of(&[0]), Some("demo-gpt2")));
        assert!(!is_there(form_of(&[0]), Some("demo-neox")) && !is_there(form_of(&[0]), None));
        assert!(!is_there(ContinuationForm { prompt: "The".into(), ..form_of(&[0]) }, Some("demo-gpt2")));
        assert!(!is_there(ContinuationForm { tokens: "41".into(), ..form_of(&[0]) }, Some("demo-gpt2")));
        assert!(!is_there(ContinuationForm { temperature: "1".into(), ..form_of(&[0]) }, Some("demo-gpt2")));
        let other = BlockList::of_report(&sample_report());
        assert_eq!(recorded(&texts, &form_of(&[0]), &other, Some("demo-gpt2")), None);
        assert_eq!(recorded(&RecordedTexts::default(), &form_of(&[0]), &known, Some("demo-gpt2")), None);
    }

    #[test]
    fn all_blocks_one_by_one_are_all_blocks() {
        let known = BlockList::of_number(3);
        let some = |blocks: &[usize]| Linear::Some(blocks.iter().copied().collect());
        assert_eq!(extent(&some(&[0, 1, 2]), &known), [true, false]);
        assert_eq!(extent(&some(&[]), &known), [false, true]);
        assert_eq!(extent(&some(&[1]), &known), [false, false]);
        assert_eq!(extent(&Linear::All, &BlockList::default()), [true, false]);
        assert_eq!(extent(&some(&[]), &BlockList::default()), [false, true]);
    }
}
