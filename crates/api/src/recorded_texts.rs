//! Recorded continuations of one prompt for every choice of linear blocks, as plain data: what the page shows before
//! its engine has arrived.

use serde::{Deserialize, Serialize};

/// The continuations of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedTexts {
    /// Name of the model.
    pub model: String,
    /// SHA-256 of its weights.
    pub sha256: String,
    /// The text that the maps were measured on.
    pub text: String,
    /// The prompt of all texts.
    pub prompt: String,
    /// The tokens that the model itself adds.
    pub original: Vec<String>,
    /// One text for every choice of linear blocks, at the index in which bit `b` stands for block `b`.
    pub linear: Vec<RecordedText>,
}

/// The text of the model with some blocks linear.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedText {
    /// Its tokens.
    pub tokens: Vec<String>,
    /// KL(original ‖ linear) at each token, in nats, after the original's text.
    pub kl: Vec<f64>,
    /// Mean of all digits of `kl`.
    pub mean_kl: f64,
}

impl RecordedTexts {
    /// Blocks of the model; 0 unless there is a text for every choice of them.
    pub fn blocks(&self) -> usize {
        let blocks = self.linear.len().checked_ilog2().unwrap_or(0) as usize;
        let tokens = self.original.len();
        let is_whole = |text: &RecordedText| text.tokens.len() == tokens && text.kl.len() == tokens;
        let is_complete = self.linear.len().is_power_of_two() && self.linear.iter().all(is_whole);
        if is_complete { blocks } else { 0 }
    }

    /// The text with exactly those blocks linear that `is_linear` names.
    pub fn of(&self, is_linear: impl Fn(usize) -> bool) -> Option<&RecordedText> {
        let at = (0..self.blocks()).filter(|block| is_linear(*block)).map(|block| 1 << block).sum::<usize>();
        self.linear.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_blocks_has_its_own_text_and_an_incomplete_recording_has_no_blocks() {
        let text = |name: usize| RecordedText { tokens: vec![name.to_string()], kl: vec![0.5], mean_kl: 0.5 };
        let mut texts = RecordedTexts {
            original: vec!["a".into()],
            linear: (0..8).map(text).collect(),
            ..RecordedTexts::default()
        };
        assert_eq!(texts.blocks(), 3);
        let of = |blocks: &[usize]| texts.of(|block| blocks.contains(&block)).unwrap().tokens[0].clone();
        assert_eq!([of(&[]), of(&[0, 2]), of(&[0, 1, 2, 9])], ["0", "5", "7"]);
        texts.linear[3].kl.clear();
        assert_eq!(texts.blocks(), 0);
        texts.linear.truncate(7);
        assert_eq!((texts.blocks(), RecordedTexts::default().blocks()), (0, 0));
    }
}
