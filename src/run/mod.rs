//! Job in, events out: the one place that knows everyone.

mod continuation;
mod device;
mod events;
mod extent;
mod feed;
mod header;
mod heal;
mod kept;
mod measures;
mod memory;
mod sweep;

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;

use web_time::Instant;

use crate::backend::Backend;
use crate::corpus::{Folds, TokenWindows};
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::event::{Event, Outcome, Stage};
use crate::forward::Layers;
use crate::gpu;
use crate::job::{Job, Measure};
use crate::model::{self, Checkpoint, Model, ModelConfig};
use crate::report::{AppInfo, CorpusInfo, Header, ModelInfo, Ordered, ProtocolInfo, Seconds, finite};
use crate::solve::TAU;
use crate::trace::{Lane, Span};
use crate::weights::{Files, RowsFile, Weights, read_whole};
use crate::workers::Workers;

pub use continuation::{MapSource, continuation};
pub use events::Events;
pub use extent::{extent, rows_extent};
pub use kept::KeptMaps;

use device::on_device;
use events::{Emitter, Meter};
use feed::Feed;
use measures::{LayerMeasure, Source};
#[cfg(not(target_arch = "wasm32"))]
pub use sweep::ResumeFile;
use sweep::{Cut, Reading, RowStore, Sweep, Swept, adopt, temporary};
pub use sweep::{Resume, Save, Scratch, standing};

/// The text of a job.
#[derive(Clone, Debug)]
pub enum Text {
    /// UTF-8 bytes, to be tokenised with the model's own tokenizer.
    Plain(Vec<u8>),
    /// Token ids.
    Tokens(Vec<u32>),
}

impl Text {
    /// SHA-256 as in a report: of the text's bytes, or of its ids as little-endian 32-bit numbers.
    pub fn sha256(&self) -> String {
        match self {
            Self::Plain(bytes) => sha256(bytes),
            Self::Tokens(ids) => sha256(&ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>()),
        }
    }
}

/// What a job works on.
pub struct Inputs {
    /// The model in Hugging Face layout.
    pub files: Rc<dyn Files>,
    /// What it reads.
    pub text: Text,
    /// What perplexity is measured on instead of the held-out windows.
    pub eval: Option<Text>,
    /// The model whose rows are fed through this one's networks, with its name (docs/measures.md, section 6,
    /// `cross_feed`).
    pub feed: Option<(String, Rc<dyn Files>)>,
    /// Other workers that help.
    pub workers: Workers,
    /// Where the sweep is saved after every block, and from where it goes on.
    pub resume: Option<Rc<dyn Resume>>,
    /// Where rows wait that memory has no room for.
    pub scratch: Option<Rc<dyn Scratch>>,
    /// How a GPU is used, for tests.
    pub gpu: gpu::Options,
}

impl Inputs {
    /// A model and a text, and nothing besides.
    pub fn new(files: Rc<dyn Files>, text: Text) -> Self {
        let workers = Workers::default();
        let gpu = gpu::Options::default();
        Self { files, text, eval: None, feed: None, workers, resume: None, scratch: temporary(), gpu }
    }
}

/// Measures a model on a text. The stream ends after `Finished` or `Failed`; dropping it cancels.
pub fn measure(job: Job, files: Rc<dyn Files>, text: Text) -> Events {
    measure_inputs(job, Inputs::new(files, text))
}

/// [`measure`] with all that can be given besides.
pub fn measure_inputs(job: Job, inputs: Inputs) -> Events {
    Events::new(move |out| async move {
        let started = Instant::now();
        job.check()?;
        for files in [&inputs.files].into_iter().chain(inputs.feed.as_ref().map(|(_, files)| files)) {
            let out = out.clone();
            files.listen(Rc::new(move |event| out.send(event)));
        }
        let config = read_config(&*inputs.files, &job).await?;
        let options = inputs.gpu;
        let prepared = Prepared::read(job, inputs, config, started, &out).await?;
        on_device!(prepared.job.backend, options, &out, backend => prepared.measure(&backend, &out).await)
    })
}

/// Measures captured rows: tensors x (n, d_in) and y (n, d_out) of `file`. `seq_len` of the protocol is the window.
pub fn fit(job: Job, files: Rc<dyn Files>, file: String) -> Events {
    Events::new(move |out| async move {
        let started = Instant::now();
        job.check()?;
        check_rows_measures(&job)?;
        let rows_file = RowsFile::open(files, &file).await?;
        on_device!(job.backend, gpu::Options::default(), &out, backend => fit_rows(&backend, &job, &rows_file, started, &out).await)
    })
}

/// Everything that is known before a device is chosen.
struct Prepared {
    job: Job,
    files: Rc<dyn Files>,
    config: ModelConfig,
    corpus: CorpusInfo,
    windows: TokenWindows,
    /// What perplexity is measured on instead of the held-out windows.
    eval: Option<TokenWindows>,
    /// The model whose rows are fed through this one's networks.
    feed: Option<Feed>,
    workers: Workers,
    resume: Option<Rc<dyn Resume>>,
    scratch: Option<Rc<dyn Scratch>>,
    /// Rows of a batch of the sweep that goes on.
    batch_rows: Option<usize>,
    folds: Folds,
    tokenize: f64,
    started: Instant,
}

impl Prepared {
    /// Cuts the texts into windows and folds.
    async fn read(job: Job, inputs: Inputs, config: ModelConfig, started: Instant, out: &Emitter) -> Result<Self> {
        let Inputs { files, text, eval, feed, workers, resume, scratch, gpu: _ } = inputs;
        let tokenize = out.stage(Stage::Tokenize, 0);
        let (corpus, windows) =
            header::read_text(&*files, &job.corpus, &job.protocol, &config, &text, &tokenize).await?;
        let eval = match eval {
            Some(text) => {
                let name = "evaluation text";
                let (_, windows) = header::read_text(&*files, name, &job.protocol, &config, &text, &tokenize).await?;
                Some(windows)
            }
            None => None,
        };
        let folds = Folds::new(&job.corpus, &windows, job.protocol.folds)?;
        folds.check_rows(&job.corpus, &job.protocol, config.hidden_size)?;
        let feed = match feed {
            Some(feed) => Some(Feed::read(&job, feed, &text, config.hidden_size, &tokenize).await?),
            None => None,
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
            tokenize,
            started,
        })
    }

    async fn measure<B: Backend>(&self, backend: &B, out: &Emitter) -> Result<()> {
        let weights = Weights::open(self.files.clone()).await?;
        let header = self.header(backend, &weights, out).await?;
        let pass = Pass { key: self.key(&header), ..self.pass(backend, out) };
        out.emit(Event::Started(Box::new(header))).await;
        let (swept, ppl) = self.sweep(&pass, &weights).await?;
        if pass.asks(Measure::Heal) {
            self.heal(&pass, swept).await?;
        }
        if let Some(resume) = pass.resume {
            resume.clear();
        }
        pass.finish(ppl).await;
        Ok(())
    }

    /// What is measured and how, by which a saved sweep is known again.
    fn key(&self, header: &Header) -> String {
        let Job { measures, blocks, ranks, training, dump_maps, .. } = &self.job;
        let all = |windows: &TokenWindows| {
            sha256(&windows.ids(0..windows.len()).iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>())
        };
        let evaluated = self.eval.as_ref().map(all);
        let feed = self.feed.as_ref().map(|feed| (&feed.name, all(&feed.windows)));
        let of = (&header.model, &header.corpus, &header.protocol, &header.device.backend, &header.app.version);
        serde_json::json!([of, measures, blocks, ranks, training, dump_maps, evaluated, feed]).to_string()
    }

    /// Everything that is measured block by block. Returns the blocks, and the perplexity of the untouched model.
    async fn sweep<B: Backend>(&self, pass: &Pass<'_, B>, weights: &Weights) -> Result<(Vec<Swept>, Option<f64>)> {
        let (backend, seq_len) = (pass.backend, self.job.protocol.seq_len);
        let blocks = self.job.chosen_blocks(self.config.num_hidden_layers)?;
        let checkpoint = Checkpoint::new(&self.config, weights, pass.has_perplexity)?;
        let layers = Layers::new(backend, &self.config, seq_len)?;
        let store = RowStore::new(backend, self.job.row_memory, self.scratch.clone());
        let batch_rows = self.batch_rows.unwrap_or_else(|| backend.batch_rows(self.config.widest()));
        let cut = Cut { seq_len, batch_rows: batch_rows.clamp(1, 1 << 20) };
        let reading = match pass.has_perplexity {
            true => Reading::evaluated(&self.windows, &self.folds, self.eval.as_ref(), cut)?,
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
                Checkpoint::new(&feed.config, weights, false)?,
                Layers::new(backend, &feed.config, seq_len)?,
                Reading::of_folds(&feed.windows, &feed.folds, cut),
            )),
            None => None,
        };
        let feed = feed
            .as_ref()
            .map(|(name, checkpoint, layers, reading)| (*name, Source { store: &store, checkpoint, layers, reading }));

        let load = pass.out.later(Stage::Load, checkpoint.bytes());
        let measures = pass.measures(source, feed, &blocks)?;
        let rows = pass.rows(&self.folds) * self.config.num_hidden_layers as u64;
        let of_layers =
            pass.asks(Measure::Layers).then(|| LayerMeasure::new(pass, pass.out.later(Stage::Layers, rows)));
        let sweep = Sweep { pass, source, blocks: &blocks, load: &load };
        let swept = sweep.run(measures, of_layers).await?;
        pass.took(|seconds| &mut seconds.load, &load);
        if self.needs_perplexity() && !self.config.causal {
            pass.explain_missing_perplexity();
        }
        Ok(swept)
    }

    /// Model, text, protocol and device, for the report.
    async fn header<B: Backend>(&self, backend: &B, weights: &Weights, out: &Emitter) -> Result<Header> {
        let info = header::model_info(&self.job, &self.config, weights, &out.stage(Stage::Hash, 0)).await?;
        Ok(header(backend, &self.job, info, self.corpus.clone(), &self.folds))
    }

    fn pass<'a, B>(&'a self, backend: &'a B, out: &'a Emitter) -> Pass<'a, B> {
        Pass {
            backend,
            job: &self.job,
            folds: &self.folds,
            out,
            workers: self.workers.for_model(&self.config, self.folds.len()),
            expected_rank: header::expected_rank(&self.config),
            ffn_parameters: Some(self.config.ffn_parameters()),
            has_perplexity: self.needs_perplexity() && self.config.causal,
            keeps_maps: self.job.measures.contains(&Measure::Heal),
            resume: self.resume.as_deref(),
            key: String::new(),
            seconds: Cell::new(Seconds { tokenize: self.tokenize, ..Seconds::default() }),
            started: self.started,
        }
    }

    fn needs_perplexity(&self) -> bool {
        self.job.measures.iter().any(|measure| measure.needs_perplexity())
    }
}

/// The whole model on the device.
async fn load<B: Backend>(
    backend: &B,
    config: &ModelConfig,
    weights: &Weights,
    need_head: bool,
    out: &Emitter,
) -> Result<Model<B::Tensor>> {
    model::fetch(config, weights, need_head).await?;
    let load = out.stage(Stage::Load, weights.total_bytes());
    model::load(backend, config, weights, need_head, &|done, total| load.tell(done, total)).await
}

async fn read_config(files: &dyn Files, job: &Job) -> Result<ModelConfig> {
    let hint = "give a folder in Hugging Face layout";
    let json = read_whole(files, "config.json", hint).await?;
    let config = ModelConfig::from_json(&String::from_utf8_lossy(&json))?;
    config.check_window(job.protocol.seq_len)?;
    if let Some(blocks) = &job.blocks {
        blocks.within(config.num_hidden_layers)?;
    }
    if let Some(ranks) = &job.ranks {
        ranks.within(config.hidden_size)?;
    }
    Ok(config)
}

/// Refuses what needs the model that the rows came from.
fn check_rows_measures(job: &Job) -> Result<()> {
    let of_rows = [Measure::Fit, Measure::Probes, Measure::Baseline, Measure::Conjunction];
    match job.measures.iter().find(|measure| !of_rows.contains(measure)) {
        Some(measure) => Err(Error::InvalidSetting {
            field: "--measures".into(),
            value: measure.to_string(),
            hint: "it needs the model; of captured rows choose from fit, probes, baseline and conjunction".into(),
        }),
        None => Ok(()),
    }
}

async fn fit_rows<B: Backend>(backend: &B, job: &Job, file: &RowsFile, started: Instant, out: &Emitter) -> Result<()> {
    let seq_len = job.protocol.seq_len;
    let folds = Folds::of_rows(&job.corpus, file.n.min(job.protocol.rows), seq_len, job.protocol.folds)?;
    folds.check_rows(&job.corpus, &job.protocol, file.d_in)?;
    let load = out.stage(Stage::Hash, 0);
    let model = header::rows_info(job, file, &load).await?;
    let corpus = CorpusInfo { id: job.corpus.clone(), sha256: model.sha256.clone(), tokens: file.n };
    out.emit(Event::Started(Box::new(header(backend, job, model, corpus, &folds)))).await;
    let pass = Pass {
        backend,
        job,
        folds: &folds,
        out,
        workers: Workers::default(),
        expected_rank: None,
        ffn_parameters: None,
        has_perplexity: false,
        keeps_maps: false,
        resume: None,
        key: String::new(),
        seconds: Cell::new(Seconds { load: load.seconds(), ..Seconds::default() }),
        started,
    };
    if pass.asks(Measure::Conjunction) {
        let text = "captured rows come without their network, so that its conjunction index is undefined";
        out.warn("no_network", None, text.into());
    }
    sweep::of_rows(&pass, &RowStore::new(backend, job.row_memory, temporary()), file, pass.measures_of_rows(1)).await?;
    pass.finish(None).await;
    Ok(())
}

fn header<B: Backend>(backend: &B, job: &Job, model: ModelInfo, corpus: CorpusInfo, folds: &Folds) -> Header {
    let heldout = folds.windows(folds.len() - 1).len();
    let mut protocol = ProtocolInfo::new(&job.protocol, folds.all().len(), heldout, TAU);
    protocol.gram = backend.gram_mode(job.protocol.gram);
    Header { app: AppInfo::this(), model, corpus, protocol, device: backend.info(), ordered: Ordered::of(job) }
}

/// One measurement on one device, from rows to report.
struct Pass<'a, B> {
    backend: &'a B,
    job: &'a Job,
    folds: &'a Folds,
    out: &'a Emitter,
    workers: Workers,
    /// Rank that the norm before the feed-forward networks implies, where known.
    expected_rank: Option<usize>,
    /// Of one network, where there is a model.
    ffn_parameters: Option<usize>,
    /// Whether perplexity is asked for, of a model that has one.
    has_perplexity: bool,
    /// Whether the blocks' maps are needed once all are measured.
    keeps_maps: bool,
    /// Where the sweep is saved, under this key.
    resume: Option<&'a dyn Resume>,
    key: String,
    seconds: Cell<Seconds>,
    started: Instant,
}

impl<B: Backend> Pass<'_, B> {
    async fn finish(&self, ppl: Option<f64>) {
        let seconds = Seconds { total: self.started.elapsed().as_secs_f64(), ..self.seconds.get() };
        let peak_memory = memory::peak().map(|own| own + self.workers.bytes());
        let outcome = Outcome { ppl: ppl.and_then(finite), seconds, peak_memory };
        self.out.emit(Event::Finished(outcome)).await;
    }

    fn asks(&self, measure: Measure) -> bool {
        self.job.measures.contains(&measure)
    }

    /// Rows of some folds.
    fn rows(&self, folds: &Folds) -> u64 {
        (folds.all().len() * self.job.protocol.seq_len) as u64
    }

    /// What `work` comes to, with its span told at the end.
    async fn span<R>(&self, lane: Lane, block: Option<usize>, work: impl Future<Output = R>) -> R {
        let start = self.started.elapsed().as_secs_f64();
        let (mut work, mut busy) = (std::pin::pin!(work), 0.0);
        let done = poll_fn(|context| {
            let polled = Instant::now();
            let found = work.as_mut().poll(context);
            busy += polled.elapsed().as_secs_f64();
            found
        })
        .await;
        let seconds = self.started.elapsed().as_secs_f64() - start;
        self.out.send(Event::Span(Span { lane, block, start, seconds, busy }));
        done
    }

    /// Adds to the time of a stage.
    fn spend(&self, of: impl FnOnce(&mut Seconds) -> &mut f64, spent: f64) {
        let mut seconds = self.seconds.get();
        *of(&mut seconds) += spent;
        self.seconds.set(seconds);
    }

    /// Takes over the time of a stage as far as it has come.
    fn took(&self, of: impl FnOnce(&mut Seconds) -> &mut f64, meter: &Meter) {
        let mut seconds = self.seconds.get();
        *of(&mut seconds) = meter.seconds();
        self.seconds.set(seconds);
    }

    /// An encoder predicts no next token: the values are null, with this reason.
    fn explain_missing_perplexity(&self) {
        let text = "an encoder predicts no next token, so that perplexity and its changes are undefined";
        self.out.warn("no_perplexity", None, text.into());
    }
}
