//! Everything known of a job before a device is chosen, and its sweep on a device.

use std::cell::Cell;
use std::rc::Rc;

use super::cross_feed::CrossFeed;
use super::evaluation::check_predicted;
use super::events::Emitter;
use super::header;
use super::inputs::{Inputs, Text};
use super::memory;
use super::pass::Pass;
use super::resume_file::Resume;
use super::sweep::{Cut, LayerMeasure, Reading, RowStore, ScratchFile, Source, Sweep, Swept, adopt};
use super::text_reader::TextReader;
use super::tokenizer::tokenizer;
use crate::backend::Backend;
use crate::corpus::{Folds, Properties, TokenWindows};
use crate::error::Result;
use crate::event::Stage;
use crate::forward::Layers;
use crate::job::{BackendChoice, Job, Measure};
use crate::model::{self, Checkpoint, Model, ModelConfig, ModelParts};
use crate::platform::digest::sha256;
use crate::platform::parallel;
use crate::report::{CorpusInfo, Header, OtherInput, Seconds, Warning, WarningKind};
use crate::trace::Lane;
use crate::weights::{Files, Weights};
use crate::workers::Workers;

/// Everything that is known before a device is chosen.
pub(super) struct Prepared {
    pub(super) job: Job,
    pub(super) files: Rc<dyn Files>,
    pub(super) config: ModelConfig,
    pub(super) corpus: CorpusInfo,
    pub(super) windows: TokenWindows,
    /// Text for perplexity, in place of the held-out windows, and what the report says of it.
    pub(super) eval: Option<(OtherInput, TokenWindows)>,
    /// The model whose rows are fed through this one's networks.
    pub(super) feed: Option<CrossFeed>,
    pub(super) workers: Workers,
    pub(super) resume: Option<Rc<dyn Resume>>,
    pub(super) scratch: Option<Rc<dyn ScratchFile>>,
    /// Rows per batch of the resumed sweep.
    pub(super) batch_rows: Option<usize>,
    pub(super) folds: Folds,
    /// Properties of the tokens, if layers are measured.
    pub(super) properties: Properties,
    pub(super) tokenize: f64,
}

impl Prepared {
    /// Cuts the texts into windows and folds.
    pub(super) async fn read(job: Job, inputs: Inputs, config: ModelConfig, out: &Emitter) -> Result<Self> {
        let Inputs { files, text, eval, feed, workers, resume, scratch, gpu: _ } = inputs;
        let tokenize = out.stage(Stage::Tokenize, 0);
        let reader = TextReader { files: &*files, config: &config, protocol: &job.protocol };
        let (corpus, windows) = reader.read(&job.corpus, &text, &tokenize).await?;
        let eval = match eval {
            Some((name, text)) => {
                let (CorpusInfo { sha256, .. }, windows) = reader.read(&name, &text, &tokenize).await?;
                warn_of_cut(&name, &windows, out);
                Some((OtherInput { id: name, sha256, windows: windows.len() }, windows))
            }
            None => None,
        };
        let folds = Folds::new(&job.corpus, &windows, job.protocol.folds)?.interleaved(job.protocol.interleaved_folds);
        let windows = windows.in_order_of(&folds);
        folds.check_rows(&job.corpus, &job.protocol, config.hidden_size)?;
        if config.causal && job.measures.iter().any(|measure| measure.needs_perplexity()) {
            let evaluated = eval.as_ref().map_or(folds.windows(folds.len() - 1).len(), |(_, windows)| windows.len());
            check_predicted(evaluated, job.protocol.seq_len)?;
        }
        let width = config.hidden_size as u64;
        let rows = memory::held_rows(&job, (windows.len() as u64).saturating_mul(job.protocol.seq_len as u64));
        // In a browser on the CPU a block is solved before the rows of the next one run.
        let is_alone = job.backend == BackendChoice::Cpu && !parallel::HAS_THREADS;
        let (blocks, what) = if is_alone { (1, "the sums of a block") } else { (2, "the sums of two blocks") };
        let sums = memory::Sums { d_in: width, d_out: width, folds: job.protocol.folds as u64, blocks, rows };
        memory::check(what, sums)?;
        let feed = match feed {
            Some(feed) => Some(CrossFeed::read(&job, feed, &text, config.hidden_size, &tokenize).await?),
            None => None,
        };
        let properties = match (job.measures.contains(&Measure::Layers), &text) {
            (true, Text::Plain(_)) => Properties::of(&windows, Some(&*tokenizer(&*files).await?))?,
            (true, Text::Tokens(_)) => Properties::of(&windows, None)?,
            (false, _) => Properties::default(),
        };
        let tokenize = tokenize.seconds();
        let batch_rows = adopt(resume.as_deref());
        Ok(Self {
            job,
            files,
            config,
            corpus,
            windows,
            eval,
            feed,
            workers,
            resume,
            scratch,
            batch_rows,
            folds,
            properties,
            tokenize,
        })
    }

    /// Identifies the measurement, so that a saved sweep resumes only the same one.
    pub(super) fn key(&self, header: &Header) -> String {
        let Job { measures, blocks, ranks, training, dump_maps, .. } = &self.job;
        let all = |windows: &TokenWindows| {
            sha256(&windows.ids(0..windows.len()).iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>())
        };
        let evaluated = self.eval.as_ref().map(|(_, windows)| all(windows));
        let feed = self.feed.as_ref().map(|feed| (&feed.name, all(&feed.windows)));
        // Another build may define a number otherwise.
        let build = (&header.app.version, &header.app.commit);
        let of = (header.model.identity(), &header.corpus, &header.protocol, &header.device.backend, build);
        serde_json::json!([of, measures, blocks, ranks, training, dump_maps, evaluated, feed]).to_string()
    }

    /// Measures block by block. Returns the blocks, and the perplexity of the original model.
    pub(super) async fn sweep<B: Backend>(&self, pass: &Pass<'_, B>, weights: &Weights) -> Result<Swept> {
        let (backend, seq_len) = (pass.backend, self.job.protocol.seq_len);
        let blocks = self.job.chosen_blocks(self.config.num_hidden_layers)?;
        let parts = if pass.has_perplexity { ModelParts::WithHead } else { ModelParts::Body };
        let checkpoint = Checkpoint::new(&self.config, weights, parts)?;
        if checkpoint.has_more_blocks() {
            let blocks = self.config.num_hidden_layers;
            pass.out.warn(Warning::new(&WarningKind::UnreadBlocks { blocks }));
        }
        let layers = Layers::new(backend, &self.config, seq_len)?;
        let store = RowStore::new(backend, self.job.row_memory, self.scratch.clone());
        let batch_rows = self.batch_rows.unwrap_or_else(|| backend.batch_rows(self.config.widest()));
        let cut = Cut { seq_len, batch_rows: batch_rows.clamp(1, 1 << 20) };
        let reading = match pass.has_perplexity {
            true => {
                Reading::evaluated(&self.windows, &self.folds, self.eval.as_ref().map(|(_, windows)| windows), cut)?
            }
            false => Reading::of_folds(&self.windows, &self.folds, cut),
        };
        let source = Source { store: &store, checkpoint: &checkpoint, layers: &layers, reading: &reading };

        let feed_weights = match &self.feed {
            Some(feed) => Some(Weights::open(feed.files.clone()).await?),
            None => None,
        };
        let feed = match self.feed.as_ref().zip(feed_weights.as_ref()) {
            Some((feed, weights)) => Some((
                &*feed.name,
                Checkpoint::new(&feed.config, weights, ModelParts::Body)?,
                Layers::new(backend, &feed.config, seq_len)?,
                Reading::of_folds(&feed.windows, &feed.folds, cut),
            )),
            None => None,
        };
        let feed = feed
            .as_ref()
            .map(|(name, checkpoint, layers, reading)| (*name, Source { store: &store, checkpoint, layers, reading }));

        let load = pass.out.paused_stage(Stage::Load, checkpoint.bytes());
        let measures = pass.measures(source, feed, &blocks)?;
        let rows = pass.rows(&self.folds) * self.config.num_hidden_layers as u64;
        let meter = || pass.out.paused_stage(Stage::Layers, rows);
        let of_layers = pass.asks(Measure::Layers).then(|| LayerMeasure::new(pass, &self.properties, meter()));
        let sweep = Sweep { pass, source, blocks: &blocks, load: &load };
        let swept = sweep.run(measures, of_layers).await?;
        pass.set_seconds(|seconds| &mut seconds.load, &load);
        if self.needs_perplexity() && !self.config.causal {
            pass.explain_missing_perplexity();
        }
        Ok(swept)
    }

    /// Model, text, protocol and device, for the report.
    pub(super) async fn header<B: Backend>(&self, backend: &B, weights: &Weights, out: &Emitter) -> Result<Header> {
        let meter = out.stage(Stage::Hash, 0);
        let info = out.span(Lane::Hash, None, header::model_info(&self.job, &self.config, weights, &meter)).await?;
        let mut header = header::header(backend, &self.job, info, self.corpus.clone(), &self.folds);
        header.ordered.eval = self.eval.as_ref().map(|(eval, _)| eval.clone());
        if let Some(CrossFeed { name, files, windows, .. }) = &self.feed {
            let sha256 = Weights::open(files.clone()).await?.sha256(&|_, _| ()).await?;
            header.ordered.feed = Some(OtherInput { id: name.clone(), sha256: Some(sha256), windows: windows.len() });
        }
        Ok(header)
    }

    pub(super) fn pass<'a, B>(&'a self, backend: &'a B, out: &'a Emitter) -> Pass<'a, B> {
        let saves_maps = self.job.dump_maps && self.resume.as_ref().is_some_and(|resume| resume.takes_maps());
        Pass {
            backend,
            job: &self.job,
            folds: &self.folds,
            out,
            workers: self.workers.for_model(&self.config, self.folds.len()),
            expected_rank: header::expected_rank(&self.config),
            ffn_parameters: Some(self.config.ffn_parameters()),
            has_perplexity: self.needs_perplexity() && self.config.causal,
            keeps_maps: self.job.measures.contains(&Measure::Heal) || saves_maps,
            resume: self.resume.as_deref(),
            key: String::new(),
            claimed: false,
            discarded: 0,
            seconds: Cell::new(Seconds { tokenize: self.tokenize, ..Seconds::default() }),
        }
    }

    pub(super) fn needs_perplexity(&self) -> bool {
        self.job.measures.iter().any(|measure| measure.needs_perplexity())
    }
}

/// The whole model on the device, with its output head.
pub(super) async fn load<B: Backend>(
    backend: &B,
    config: &ModelConfig,
    weights: &Weights,
    out: &Emitter,
) -> Result<Model<B::Tensor>> {
    model::fetch(config, weights, ModelParts::WithHead).await?;
    let load = out.stage(Stage::Load, weights.total_bytes());
    model::load(backend, config, weights, ModelParts::WithHead, &|done, total| load.report(done, total)).await
}

/// Warns that the text for perplexity is longer than the requested rows.
fn warn_of_cut(name: &str, windows: &TokenWindows, out: &Emitter) {
    let (used, available) = (windows.len(), windows.available());
    if used < available {
        out.warn(Warning::new(&WarningKind::EvalCut { name: name.into(), available, used }));
    }
}
