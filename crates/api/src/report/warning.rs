//! Warnings of a measurement, each as one sentence.

use serde::{Deserialize, Serialize};

use crate::sentences::{code, sentences};
use crate::visible::safe_sentence;

/// A caveat of a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable identifier.
    pub code: String,
    /// Block concerned.
    pub block: Option<usize>,
    /// One sentence.
    pub text: String,
}

impl Warning {
    /// A warning about the whole measurement.
    pub fn new(kind: &WarningKind) -> Self {
        Self { code: kind.code(), block: None, text: kind.sentence() }
    }

    /// A warning about one block, whose text begins with it.
    pub fn of_block(block: usize, kind: &WarningKind) -> Self {
        Self { code: kind.code(), block: Some(block), text: format!("block {block}: {}", kind.sentence()) }
    }
}

sentences! {
    /// What the engine warns of; remarks about a revision of the hub are sentences of the hub's client. Rounded numbers
    /// are texts.
    pub enum WarningKind {
        /// A prompt and its continuation fill the model's context.
        ContextFull { context: usize, step: usize } =
            "all {context} positions are used after {step} tokens: shorten the prompt to get more",
        /// A probe's training ended before its error settled.
        ProbeSteps { name: String, steps: usize } =
            "{name} was still improving after {steps} steps; its R² is a lower bound, allow more --probe-steps",
        /// A cosine of values whose squares overflow or vanish.
        NoCosine =
            "its outputs are so large or so small that their squares leave the range of f32, so the cosine is undefined",
        /// A second model with fewer blocks.
        FeedBlocks { name: String, blocks: usize, first: usize } =
            "{name} has {blocks} blocks, so block {first} and later ones are not fed from it",
        /// A constant output.
        NoVariance = "the output does not vary on the held-out rows; R² is undefined",
        /// A constant output under a control.
        NoControlVariance { control: String } = "the output of the control {control} does not vary; R² is undefined",
        /// The control of first positions where the protocol leaves them out.
        FirstPositionWith { skipped: usize, control: String } =
            "the protocol skips the first {skipped} positions already, so the control {control} includes them",
        /// A control that cannot be computed.
        NoControl { control: String, why: String } = "the control {control} cannot be computed: {why}",
        /// Few training rows for the width.
        FewRows { train_rows: usize, d_in: usize } =
            "{train_rows} training rows are fewer than twice the {d_in} inputs; R² is pessimistic",
        /// Too few rows for polynomials, or too many inputs.
        NoDegrees { needed: usize, widest: usize, train_rows: usize } =
            "polynomials of degree 2 and more need {needed} training rows, four for each feature, where there are {train_rows}, and at most {widest} inputs",
        /// Powers of inputs that overflow.
        DegreeOverflow { degree: usize } =
            "powers of its inputs leave the range of f32, so R² of degree {degree} is undefined",
        /// Inputs that do not vary in every direction.
        ClippedRank {
            rank: usize,
            expected: usize,
            /// What was left out.
            inputs: String,
        } = "rank {rank} instead of {expected}; {inputs} were left out",
        /// A bias of R² that the learning curve shows.
        MoreRows { bias: String, error: String, per_input: String, rows: String, bound: String } =
            "R² is about {bias} ± {error} below its limit for many rows, at {per_input} training rows per input; with \
             {rows} rows it would be within {bound}",
        /// The state of a measurement could not be saved.
        NotResumable { file: String, why: String } =
            "the state of this measurement is no longer saved ({file}: {why}); if it is interrupted, it begins again or \
             from the state before, so free some space for the next one",
        /// Sums in f64 of which nothing is left.
        NoDigits =
            "R², rmse, the cosine and the rank are rounding alone, because some rows or columns are too far from the \
             others for f64; leave out the largest rows, or subtract the columns' means",
        /// Sums in f64 that lost digits.
        LostDigits { error: String } =
            "R² and rmse may be off by {error} of the variance of y, or of the squared error where that is larger, and \
             with them the cosine, the median over features and the rank, because some rows or columns are too far from \
             the others for f64; leave out the largest rows, or subtract the columns' means",
        /// Captured rows, whose network is not known.
        NoNetwork = "captured rows come without their network, so its conjunction index is undefined",
        /// A family that needs its first token.
        NoBos = "this family predicts nothing sensible without its beginning-of-sequence token; measure with --bos",
        /// Logits beyond f32.
        UndefinedPerplexity =
            "the logits of the untouched model leave the range of numbers, so perplexity and its changes are undefined; \
             check that config.json and weights belong together",
        /// Too few windows for intervals.
        FewWindows { heldout: usize, fewest: usize } =
            "{heldout} held-out windows are fewer than {fewest}; R² and the other numbers have no interval",
        /// A model that predicts no next token.
        NoPerplexity = "an encoder predicts no next token, so perplexity and its changes are undefined",
        /// A configuration with fewer blocks than the weights.
        UnreadBlocks { blocks: usize } =
            "config.json names {blocks} blocks, but the weights hold more; the others are left out",
        /// A text for perplexity that is longer than the rows asked for.
        EvalCut { name: String, available: usize, used: usize } =
            "{name} has {available} windows or more, and perplexity is measured on the first {used}; ask for more --rows \
             to use all",
        /// Healing that diverged.
        HealDiverged { replacement: String } = "fine-tuning of {replacement} diverged",
        /// No GPU to measure on.
        NoAdapter { why: String } = "no hardware GPU: {why}; measured on the CPU",
        /// No room for downloads.
        StorageFull { why: String } =
            "storage is full ({why}); the rest is kept in memory and fetched again next time, unless you free some space",
        /// No storage at all.
        NoStorage { why: String } = "{why}; downloads last only as long as this page is open",
        /// A stored copy of weights with another hash than the hub lists.
        Discarded { file: String } =
            "{file}: the stored copy was damaged and is fetched again; what was measured from that copy before may be wrong, measure it again",
        /// The same, found by another program during the measurement.
        DiscardedMeanwhile =
            "weights that this measurement has read were found to be damaged, and were fetched again by another program; measure again",
        /// Weights that the hub converted.
        Converted { name: String, revision: String } =
            "{name} has its weights only in PyTorch's format; using the hub's conversion to safetensors, {revision}",
        /// A hub that does not answer.
        Offline { why: String, commit: String } =
            "the hub cannot be reached ({why}); using the last known state, commit {commit}",
    }
}

impl WarningKind {
    /// The sentence to show, safe and with short values: they may come from files and servers.
    fn sentence(&self) -> String {
        let (_, sentence, values) = self.parts();
        safe_sentence(sentence, &values)
    }

    /// Identifiers of all kinds.
    pub fn codes() -> impl Iterator<Item = String> {
        Self::SENTENCES.iter().map(|(name, _)| code(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_has_code_block_and_sentence() {
        let few = Warning::of_block(3, &WarningKind::FewRows { train_rows: 90, d_in: 64 });
        assert_eq!((few.code.as_str(), few.block), ("few_rows", Some(3)));
        assert_eq!(few.text, "block 3: 90 training rows are fewer than twice the 64 inputs; R² is pessimistic");
        let long = WarningKind::StorageFull { why: "\u{1b}[2J".to_owned() + &"w".repeat(5000) };
        let long = Warning::new(&long).text;
        assert!(long.starts_with("storage is full (\\u{1b}[2Jwww") && long.ends_with("free some space"), "{long}");
        assert!(long.contains('…') && long.chars().count() < 400, "{long}");
        let none = Warning::new(&WarningKind::NoPerplexity);
        assert_eq!((none.code.as_str(), none.block), ("no_perplexity", None));
    }
}
