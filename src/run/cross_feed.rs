//! Another model whose rows are fed through this one's networks (docs/measures.md, section 6, `cross_feed`): everything
//! known before a device is chosen.

use std::rc::Rc;

use crate::corpus::{Folds, TokenWindows};
use crate::error::{Error, Result};
use crate::job::{Job, Measure};
use crate::model::ModelConfig;
use crate::weights::{Files, read_whole};

use super::events::StageMeter;
use super::inputs::Text;
use super::text_reader::TextReader;

/// The feeding model, and the text in its own tokens.
pub(super) struct CrossFeed {
    pub(super) name: String,
    pub(super) files: Rc<dyn Files>,
    pub(super) config: ModelConfig,
    pub(super) windows: TokenWindows,
    pub(super) folds: Folds,
}

impl CrossFeed {
    /// Reads the feeding model `name` and tokenises `text` for it. `hidden_size` is that of the model it feeds.
    ///
    /// # Errors
    /// Another hidden size, and all errors of a measured model's configuration or text.
    pub(super) async fn read(
        job: &Job,
        (name, files): (String, Rc<dyn Files>),
        text: &Text,
        hidden_size: usize,
        meter: &StageMeter,
    ) -> Result<Self> {
        let refused = |value: String, hint: String| Error::InvalidSetting { field: "--feed".into(), value, hint };
        if !job.measures.contains(&Measure::Controls) {
            return Err(refused(name, "ask for the controls too, with --measures controls".into()));
        }
        let json = read_whole(&*files, "config.json", "the feeding model must be in Hugging Face layout too").await?;
        let config = ModelConfig::from_json(&String::from_utf8_lossy(&json))?;
        if config.hidden_size != hidden_size {
            let hint = format!("the measured model's is {hidden_size}, feed it from a model of the same width");
            return Err(refused(format!("{name} of hidden size {}", config.hidden_size), hint));
        }
        config.check_window(job.protocol.seq_len)?;
        let corpus = format!("{} as {name} reads it", job.corpus);
        let reader = TextReader { files: &*files, config: &config, protocol: &job.protocol };
        let (_, windows) = reader.read(&corpus, text, meter).await?;
        let folds = Folds::new(&corpus, &windows, job.protocol.folds)?.interleaved(job.protocol.interleaved_folds);
        folds.check_rows(&corpus, &job.protocol, hidden_size)?;
        let windows = windows.in_order_of(&folds);
        Ok(Self { name, files, config, windows, folds })
    }
}
