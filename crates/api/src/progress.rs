//! Stages of a measurement and their progress.

use serde::{Deserialize, Serialize};

/// Progress of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// Amount done, in the stage's unit.
    pub done: u64,
    /// Total amount.
    pub total: u64,
    /// Seconds since the stage began.
    pub seconds: f64,
}

impl Progress {
    /// Amount per second; `None` before there is any.
    pub fn rate(&self) -> Option<f64> {
        (self.done > 0 && self.seconds > 0.0).then(|| self.done as f64 / self.seconds)
    }

    /// Seconds left at the current rate.
    pub fn seconds_left(&self) -> Option<f64> {
        self.rate().map(|rate| self.total.saturating_sub(self.done) as f64 / rate)
    }

    /// Share done, 0 to 1.
    pub fn fraction(&self) -> f64 {
        if self.total == 0 { 0.0 } else { (self.done as f64 / self.total as f64).min(1.0) }
    }
}

/// The progress to show: the rows while they are measured, and a stage that runs concurrently.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgressPair {
    /// The current stage.
    pub main: Option<Progress>,
    /// A concurrent, unfinished stage.
    pub concurrent: Option<Progress>,
}

impl ProgressPair {
    /// Updates from a progress event.
    pub fn receive(&mut self, progress: Progress) {
        let measures = self.main.is_some_and(|main| main.stage == Stage::Measure && main.done < main.total);
        match (measures, progress.stage) {
            (true, Stage::Measure) => self.main = Some(progress),
            (true, _) => self.concurrent = Some(progress).filter(|progress| progress.done < progress.total),
            (false, _) => *self = Self { main: Some(progress), concurrent: None },
        }
    }
}

/// The stages, roughly in order of their start; those of a block's measures alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Downloading missing files.
    Download,
    /// Acquiring the device and preparing kernels.
    Device,
    /// Reading and uploading weights.
    Load,
    /// Hashing the weight files for the report.
    Hash,
    /// Tokenising the text.
    Tokenize,
    /// Forward passes with accumulation of second moments.
    Measure,
    /// Perplexity with blocks replaced.
    Swap,
    /// Perplexity with blocks replaced one after another.
    Greedy,
    /// Second moments of whole layers.
    Layers,
    /// Networks with parts of their inputs masked.
    Conjunction,
    /// Training probes of what the affine map misses.
    Probes,
    /// Fitting polynomials.
    Degrees,
    /// Training affine maps.
    Baseline,
    /// Fits under other conditions.
    Controls,
    /// Fine-tuning swapped blocks.
    Heal,
    /// Continuing a prompt.
    Continue,
}

impl Stage {
    /// The unit of this stage's amounts.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Device => "kernels",
            Self::Download | Self::Load | Self::Hash | Self::Tokenize => "bytes",
            Self::Measure | Self::Swap | Self::Layers | Self::Controls => "rows",
            Self::Greedy | Self::Conjunction => "blocks",
            Self::Degrees => "fits",
            Self::Probes | Self::Baseline | Self::Heal => "steps",
            Self::Continue => "tokens",
        }
    }

    /// The stage as a present participle, for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::Download => "Downloading",
            Self::Device => "Preparing the device",
            Self::Load => "Loading weights",
            Self::Hash => "Hashing weights",
            Self::Tokenize => "Tokenising",
            Self::Measure => "Measuring rows",
            Self::Swap => "Swapping blocks",
            Self::Greedy => "Replacing block after block",
            Self::Layers => "Measuring layers",
            Self::Conjunction => "Silencing inputs",
            Self::Probes => "Training probes",
            Self::Degrees => "Fitting polynomials",
            Self::Baseline => "Training affine maps",
            Self::Controls => "Measuring controls",
            Self::Heal => "Healing blocks",
            Self::Continue => "Continuing the prompt",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_shown_as_long_as_they_are_measured_and_concurrent_stages_beside_them() {
        let progress = |stage, done| Progress { stage, done, total: 4, seconds: 1.0 };
        let (rows, weights) = (|done| progress(Stage::Measure, done), |done| progress(Stage::Load, done));
        let mut pair = ProgressPair::default();
        let mut shown = |next| {
            pair.receive(next);
            (pair.main, pair.concurrent)
        };
        assert_eq!(shown(weights(1)), (Some(weights(1)), None));
        assert_eq!(shown(rows(0)), (Some(rows(0)), None));
        assert_eq!(shown(weights(2)), (Some(rows(0)), Some(weights(2))));
        assert_eq!(shown(rows(3)), (Some(rows(3)), Some(weights(2))));
        assert_eq!(shown(weights(4)), (Some(rows(3)), None), "what is over is shown no longer");
        assert_eq!(shown(rows(4)), (Some(rows(4)), None));
        assert_eq!(shown(progress(Stage::Swap, 1)), (Some(progress(Stage::Swap, 1)), None), "rows are over too");
    }

    #[test]
    fn time_left_follows_the_rate() {
        let progress = Progress { stage: Stage::Measure, done: 25, total: 100, seconds: 5.0 };
        assert_eq!(progress.seconds_left(), Some(15.0));
        let begun = Progress { done: 0, ..progress };
        assert_eq!(begun.seconds_left(), None);
    }
}
