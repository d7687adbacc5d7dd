//! Reads the listing, the configuration and the weight headers of a model on the hub, and derives its architecture and
//! the cost of a measurement.

use std::rc::Rc;

use super::files::{HubFiles, Plan};
use super::preflight::{Capacity, Preflight};
use crate::corpus::tokenizer_files;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::model::{self, ModelConfig, ModelParts};
use crate::visible::visible;
use crate::weights::{Weights, read_whole};

/// Activations held at once, as multiples of the widest row.
const ACTIVATIONS: u64 = 6;

impl HubFiles {
    /// The preview before a download. Anything that rules out the model becomes a [`Problem`](super::preflight::Problem).
    ///
    /// `job`: the measurement; `capacity`: free storage and memory.
    ///
    /// # Errors
    /// Only network errors.
    pub async fn preflight(&self, job: &Job, capacity: &Capacity) -> Result<Preflight> {
        let mut found = Preflight::unknown(self.id().clone());
        self.repo().remark.iter().for_each(|remark| found.problem(false, visible(remark)));
        match self.survey(&mut found, job, capacity).await {
            Err(error) if is_about_the_network(&error) => return Err(error),
            Err(error) => found.problem(true, error.sentence()),
            Ok(()) => {}
        }
        found.problems.sort_by_key(|problem| !problem.fatal);
        Ok(found)
    }

    async fn survey(&self, found: &mut Preflight, job: &Job, capacity: &Capacity) -> Result<()> {
        let needs_perplexity = job.measures.iter().any(|measure| measure.needs_perplexity());
        let seq_len = job.protocol.seq_len;
        let json = read_whole(self, "config.json", "choose a model in Hugging Face layout").await?;
        let config = ModelConfig::from_json(&String::from_utf8_lossy(&json))?;
        found.architecture = Some(config.architecture.name().into());
        (found.num_hidden_layers, found.hidden_size) = (config.num_hidden_layers, config.hidden_size);
        if self.tokenizer().is_none() && job.tokenizer.is_none() {
            let text = "tokenizer.json: not found, nor older files of a tokenizer; choose a model or revision that has one, name another model with --tokenizer, or give token ids";
            found.problem(true, text.into());
        }
        if let Err(error) = config.check_window(seq_len) {
            found.problem(true, error.sentence());
        }
        let weights = Weights::open(Rc::new(self.clone())).await.map_err(|error| self.without_weights(error))?;
        found.dtype = weights.dtype().map(Into::into);
        let parts = if needs_perplexity && config.causal { ModelParts::WithHead } else { ModelParts::Body };
        let model = model::stored(&config, &weights, parts)?;
        let widest = if needs_perplexity { config.vocab_size } else { config.intermediate_size };
        let on_gpu = capacity.buffer.is_some();
        let activations = (ACTIVATIONS * 4).saturating_mul(seq_len as u64).saturating_mul(widest as u64);
        found.device_bytes = model.device_bytes(&weights, on_gpu).saturating_add(activations);
        let groups: Vec<_> = model.groups().iter().map(|names| weights.parts(names)).collect();
        self.count(found, &self.plan_groups(&groups).await?).await?;
        found.compare(capacity, 4 * config.hidden_size.max(config.intermediate_size) as u64);
        Ok(())
    }

    /// The files of the tokenizer.
    fn tokenizer(&self) -> Option<Vec<&'static str>> {
        tokenizer_files(|file| self.repo().files.contains_key(file))
    }

    /// Counts the bytes of the planned weights and the tokenizer.
    async fn count(&self, found: &mut Preflight, weights: &Plan) -> Result<()> {
        let files = self.tokenizer().unwrap_or_default();
        let sizes = files.into_iter().filter_map(|file| Some((file, self.repo().files.get(file)?.size)));
        let tokenizer: Vec<_> = sizes.map(|(file, size)| (file.to_owned(), 0..size)).collect();
        let tokenizer = self.plan(&tokenizer).await?;
        for plan in [weights, &tokenizer] {
            found.needed_bytes += plan.needed;
            found.held_bytes += plan.held;
            found.download_bytes += plan.bytes();
            found.requests += plan.requests();
        }
        Ok(())
    }

    /// Names the weights of another format in the error about missing ones.
    fn without_weights(&self, error: Error) -> Error {
        let is_other =
            |file: &&String| [".h5", ".msgpack", ".ot", ".gguf", ".onnx"].iter().any(|end| file.ends_with(end));
        match (error, self.repo().files.keys().find(is_other)) {
            (Error::MissingFile { file, .. }, Some(other)) => {
                let hint = format!(
                    "this revision has its weights only as {other}, look for a revision with safetensors on its page"
                );
                Error::MissingFile { file, hint }
            }
            (error, _) => error,
        }
    }
}

/// Whether an error is about the network, not the model.
fn is_about_the_network(error: &Error) -> bool {
    matches!(
        error,
        Error::Network { .. }
            | Error::HubBusy { .. }
            | Error::HubGated { .. }
            | Error::HubMissing { .. }
            | Error::NotTheFile { .. }
            | Error::HashMismatch { .. }
            | Error::DamagedWeights { .. }
            | Error::StorageFull { .. }
            | Error::UnreadableFile { .. }
            | Error::NoRoom { .. }
            | Error::Evicted { .. }
            | Error::UnwritableFile { .. }
    )
}
