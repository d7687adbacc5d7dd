//! The request for a continuation: prompt, blocks to make linear, number of tokens, sampling.

use std::collections::BTreeSet;

use straightedge_api::continuation::Continuation;
use straightedge_api::error::{Error, Result};

use super::block_list::BlockList;

/// The prompt at first, in the language of the texts that the bundled models were trained on.
const PROMPT: &str = "A day in";

/// All choices of the view. Numbers stay as typed until they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuationForm {
    /// The prompt of both models.
    pub prompt: String,
    /// Blocks to make linear; `None`: the most linear one, or all until one is known.
    pub blocks: Option<Linear>,
    /// Tokens to add, as typed.
    pub tokens: String,
    /// Temperature as typed; 0 is greedy.
    pub temperature: String,
    /// Sampling seed as typed.
    pub seed: String,
}

/// Blocks to make linear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linear {
    /// All blocks.
    All,
    /// These blocks, possibly none.
    Some(BTreeSet<usize>),
}

impl Default for ContinuationForm {
    fn default() -> Self {
        let usual = Continuation::new(PROMPT);
        Self {
            prompt: usual.prompt,
            blocks: None,
            tokens: usual.tokens.to_string(),
            temperature: usual.temperature.to_string(),
            seed: usual.seed.to_string(),
        }
    }
}

impl ContinuationForm {
    /// The blocks to make linear, of those known.
    pub fn linear(&self, known: &BlockList) -> Linear {
        match &self.blocks {
            Some(Linear::Some(blocks)) => {
                Linear::Some(blocks.iter().copied().filter(|block| known.may_have(*block)).collect())
            }
            Some(Linear::All) => Linear::All,
            None => known.most_linear().map_or(Linear::All, |block| Linear::Some(BTreeSet::from([block]))),
        }
    }

    /// Requested blocks, as by a link, that the model does not have.
    pub fn absent(&self, known: &BlockList) -> BTreeSet<usize> {
        match &self.blocks {
            Some(Linear::Some(blocks)) => blocks.iter().copied().filter(|block| !known.may_have(*block)).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// Puts a block in or takes it out.
    pub fn toggle(&mut self, block: usize, known: &BlockList) {
        let mut blocks = match self.linear(known) {
            Linear::All => known.blocks.iter().map(|(block, _)| *block).collect(),
            Linear::Some(blocks) => blocks,
        };
        if !blocks.remove(&block) {
            blocks.insert(block);
        }
        self.blocks = Some(Linear::Some(blocks));
    }

    /// The request to the engine.
    ///
    /// # Errors
    /// A number is invalid or out of its range.
    pub fn continuation(&self) -> Result<Continuation> {
        let settings = Continuation {
            prompt: self.prompt.clone(),
            tokens: number("--tokens", &self.tokens)?,
            temperature: number("--temperature", &self.temperature.replace(',', "."))?,
            seed: number("--seed", &self.seed)?,
            ..Continuation::new("")
        };
        settings.check()?;
        Ok(settings)
    }
}

impl Linear {
    /// Whether `block` is included.
    pub fn contains(&self, block: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some(blocks) => blocks.contains(&block),
        }
    }
}

fn number<T: std::str::FromStr>(field: &str, typed: &str) -> Result<T> {
    typed.trim().parse().map_err(|_| Error::InvalidSetting {
        field: field.into(),
        value: if typed.trim().is_empty() { "nothing".into() } else { typed.chars().take(60).collect() },
        hint: "give a number".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BlockList {
        BlockList { blocks: vec![(0, Some(0.2)), (1, None), (2, Some(0.9)), (3, Some(0.5))] }
    }

    fn some(blocks: &[usize]) -> Linear {
        Linear::Some(blocks.iter().copied().collect())
    }

    #[test]
    fn at_first_the_most_linear_block_is_chosen_and_all_where_none_is_known() {
        let mut form = ContinuationForm::default();
        assert_eq!(form.linear(&known()), some(&[2]));
        assert_eq!(form.linear(&BlockList::default()), Linear::All);
        form.toggle(0, &known());
        assert_eq!(form.linear(&known()), some(&[0, 2]));
        form.toggle(2, &known());
        form.toggle(0, &known());
        assert_eq!(form.linear(&known()), some(&[]), "none at all");
        form.blocks = Some(Linear::All);
        form.toggle(1, &known());
        assert_eq!(form.linear(&known()), some(&[0, 2, 3]));
    }

    #[test]
    fn blocks_that_the_model_does_not_have_are_left_out_and_named() {
        let form = ContinuationForm { blocks: Some(some(&[1, 3, 4, 9])), ..ContinuationForm::default() };
        assert_eq!((form.linear(&known()), form.absent(&known())), (some(&[1, 3]), [4, 9].into()));
        assert_eq!(form.linear(&BlockList::default()), some(&[1, 3, 4, 9]), "nobody knows yet");
        assert!(
            form.absent(&BlockList::default()).is_empty() && ContinuationForm::default().absent(&known()).is_empty()
        );
    }

    #[test]
    fn numbers_are_read_as_typed_and_what_is_none_is_named() {
        let form = ContinuationForm {
            tokens: " 7".into(),
            temperature: "0,5".into(),
            seed: "3".into(),
            ..ContinuationForm::default()
        };
        let settings = form.continuation().unwrap();
        assert_eq!((settings.tokens, settings.temperature, settings.seed), (7, 0.5, 3));
        let refused = |form: ContinuationForm| match form.continuation() {
            Err(Error::InvalidSetting { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(ContinuationForm { tokens: "many".into(), ..form.clone() }), "--tokens");
        assert_eq!(refused(ContinuationForm { tokens: "0".into(), ..form.clone() }), "--tokens");
        assert_eq!(refused(ContinuationForm { temperature: "NaN".into(), ..form.clone() }), "--temperature");
        assert_eq!(refused(ContinuationForm { seed: "-1".into(), ..form.clone() }), "--seed");
        assert_eq!(refused(ContinuationForm { prompt: String::new(), ..form }), "--prompt");
    }
}
