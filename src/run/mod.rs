//! Job in, events out: the one place that knows everyone.

mod baseline;
mod captured;
mod conjunction;
mod continuation;
mod controls;
mod device;
mod events;
mod extent;
mod feed;
mod header;
mod heal;
mod heldout;
mod kept;
mod layers;
mod memory;
mod probes;
mod rows;
mod solved;
mod swaps;
mod timing;

use std::rc::Rc;

use web_time::Instant;

use crate::backend::Backend;
use crate::corpus::{Folds, TokenWindows};
use crate::crew::{Crew, OwnThreads};
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::event::{Event, Outcome, Stage};
use crate::forward::Forward;
use crate::job::{Job, Measure};
use crate::model::{self, Model, ModelConfig};
use crate::report::{AppInfo, BlockReport, CorpusInfo, Header, ModelInfo, Ordered, ProtocolInfo, Seconds, finite};
use crate::solve::{AffineMap, Directions, InputDistribution, TAU};
use crate::swap::Evaluation;
use crate::weights::{Files, RowsFile, Weights, read_whole};

pub use continuation::{MapSource, continuation};
pub use events::Events;
pub use extent::{extent, rows_extent};
pub use kept::KeptMaps;

use device::on_device;
use events::Emitter;
use feed::Feed;
use rows::{FileRows, ModelRows};

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
    /// Who solves.
    pub crew: Rc<dyn Crew>,
}

impl Inputs {
    /// A model and a text, and nothing besides.
    pub fn new(files: Rc<dyn Files>, text: Text) -> Self {
        Self { files, text, eval: None, feed: None, crew: Rc::new(OwnThreads) }
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
        let prepared = Prepared::read(job, inputs, config, started, &out).await?;
        on_device!(prepared.job.backend, &out, backend => prepared.measure(&backend, &out).await)
    })
}

/// Measures captured rows: tensors x (n, d_in) and y (n, d_out) of `file`. `seq_len` of the protocol is the window.
pub fn fit(job: Job, files: Rc<dyn Files>, file: String) -> Events {
    Events::new(move |out| async move {
        let started = Instant::now();
        job.check()?;
        check_rows_measures(&job)?;
        let rows_file = RowsFile::open(files, &file).await?;
        on_device!(job.backend, &out, backend => fit_rows(&backend, &job, &rows_file, started, &out).await)
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
    crew: Rc<dyn Crew>,
    folds: Folds,
    tokenize: f64,
    started: Instant,
}

impl Prepared {
    /// Cuts the texts into windows and folds.
    async fn read(job: Job, inputs: Inputs, config: ModelConfig, started: Instant, out: &Emitter) -> Result<Self> {
        let Inputs { files, text, eval, feed, crew } = inputs;
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
        Ok(Self { job, files, config, corpus, windows, eval, feed, crew, folds, tokenize, started })
    }

    async fn measure<B: Backend>(&self, backend: &B, out: &Emitter) -> Result<()> {
        let weights = Weights::open(self.files.clone()).await?;
        let need_head = self.config.causal && self.needs_perplexity();
        let (model, load) = load(backend, &self.config, &weights, need_head, out).await?;
        let mut seconds = Seconds { load, tokenize: self.tokenize, ..Seconds::default() };
        let header = self.header(backend, &weights, out).await?;
        out.emit(Event::Started(Box::new(header))).await;

        let forward = Forward::new(backend, &model, self.job.protocol.seq_len)?;
        let (source, pass) = (self.rows(&forward)?, self.pass(backend, out));
        let mut solved = pass.fit(&source, &mut seconds).await?;
        let evaluated = self.evaluate(&pass, &forward, &mut solved).await?;
        pass.swap(&self.config, &source, evaluated.as_ref(), &mut solved, &mut seconds).await?;
        if pass.asks(Measure::Layers) {
            let layers = self.config.num_hidden_layers;
            pass.layers(&forward, &self.windows, layers, evaluated.as_ref(), &mut seconds).await?;
        }
        if pass.asks(Measure::Conjunction) {
            pass.conjunctions(&source, &forward, &mut solved, &mut seconds).await?;
        }
        if pass.asks(Measure::Probes) {
            let ffn_parameters = Some(self.config.ffn_parameters());
            pass.probes(&source, evaluated.as_ref(), ffn_parameters, &mut solved, &mut seconds).await?;
        }
        if pass.asks(Measure::Baseline) {
            pass.baseline(&source, &mut solved, &mut seconds).await?;
        }
        if pass.asks(Measure::Controls) {
            pass.controls(&model, &source, self.feed.as_ref(), &mut solved, &mut seconds).await?;
        }
        if pass.asks(Measure::Heal) {
            self.heal(&pass, &model, &mut solved, &mut seconds).await?;
        }
        pass.finish(evaluated.map(|evaluated| evaluated.ppl), seconds, self.started).await;
        Ok(())
    }

    /// Model, text, protocol and device, for the report.
    async fn header<B: Backend>(&self, backend: &B, weights: &Weights, out: &Emitter) -> Result<Header> {
        let info = header::model_info(&self.job, &self.config, weights, &out.stage(Stage::Hash, 0)).await?;
        Ok(header(backend, &self.job, info, self.corpus.clone(), &self.folds))
    }

    /// The rows of the blocks that are asked for.
    fn rows<'a, B: Backend>(&'a self, forward: &'a Forward<'a, B>) -> Result<ModelRows<'a, B>> {
        let blocks = self.job.chosen_blocks(self.config.num_hidden_layers)?;
        Ok(ModelRows { forward, windows: &self.windows, blocks })
    }

    fn pass<'a, B>(&'a self, backend: &'a B, out: &'a Emitter) -> Pass<'a, B> {
        let expected_rank = header::expected_rank(&self.config);
        Pass { backend, job: &self.job, folds: &self.folds, out, crew: &*self.crew, expected_rank }
    }

    /// The untouched model on the evaluation windows, where something asks for its perplexity and it has one.
    async fn evaluate<'a, B: Backend>(
        &self,
        pass: &Pass<'a, B>,
        forward: &'a Forward<'a, B>,
        solved: &mut [Solved],
    ) -> Result<Option<Evaluated<'a, B>>> {
        if !self.needs_perplexity() {
            return Ok(None);
        }
        if !self.config.causal {
            pass.explain_missing_perplexity(solved);
            return Ok(None);
        }
        let heldout = self.folds.windows(self.folds.len() - 1);
        let (windows, which) = self.eval.as_ref().map_or((&self.windows, heldout), |eval| (eval, 0..eval.len()));
        let seq_len = self.job.protocol.seq_len;
        let evaluation = Evaluation::new(pass.backend, forward, windows, which, seq_len).await?;
        let ppl = evaluation.perplexity().await?;
        Ok(Some(Evaluated { evaluation, ppl }))
    }

    fn needs_perplexity(&self) -> bool {
        self.job.measures.iter().any(|measure| measure.needs_perplexity())
    }
}

/// The model on the device, and how many seconds that took.
async fn load<B: Backend>(
    backend: &B,
    config: &ModelConfig,
    weights: &Weights,
    need_head: bool,
    out: &Emitter,
) -> Result<(Model<B::Tensor>, f64)> {
    model::fetch(config, weights, need_head).await?;
    let load = out.stage(Stage::Load, weights.total_bytes());
    let on_bytes = |done, total| load.tell(done, total);
    let model = model::load(backend, config, weights, need_head, &on_bytes).await?;
    Ok((model, load.seconds()))
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
    let mut seconds = Seconds { load: load.seconds(), ..Seconds::default() };
    let pass = Pass { backend, job, folds: &folds, out, crew: &OwnThreads, expected_rank: None };
    let source = FileRows { backend, file, seq_len };
    let mut solved = pass.fit(&source, &mut seconds).await?;
    if pass.asks(Measure::Conjunction) {
        pass.explain_missing_network();
    }
    if pass.asks(Measure::Probes) {
        pass.probes(&source, None, None, &mut solved, &mut seconds).await?;
    }
    if pass.asks(Measure::Baseline) {
        pass.baseline(&source, &mut solved, &mut seconds).await?;
    }
    pass.finish(None, seconds, started).await;
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
    crew: &'a dyn Crew,
    /// Rank that the norm before the feed-forward networks implies, where known.
    expected_rank: Option<usize>,
}

/// The evaluation windows, and the perplexity of the untouched model on them.
struct Evaluated<'a, B: Backend> {
    evaluation: Evaluation<'a, B>,
    ppl: f64,
}

/// A block's numbers with the maps behind them.
struct Solved {
    report: BlockReport,
    /// Held-out Σ‖y − ȳ_h‖².
    heldout_variation: f64,
    map: AffineMap,
    /// Training standard deviation of every output.
    deviation_y: Vec<f64>,
    /// Where rank swaps are asked for.
    directions: Option<Directions>,
    /// Where controls are asked for.
    inputs: Option<InputDistribution>,
}

impl<B: Backend> Pass<'_, B> {
    async fn finish(&self, ppl: Option<f64>, mut seconds: Seconds, started: Instant) {
        seconds.total = started.elapsed().as_secs_f64();
        let peak_memory = memory::peak().map(|own| own + self.crew.bytes());
        let outcome = Outcome { ppl: ppl.and_then(finite), seconds, peak_memory };
        self.out.emit(Event::Finished(outcome)).await;
    }

    fn asks(&self, measure: Measure) -> bool {
        self.job.measures.contains(&measure)
    }

    /// An encoder predicts no next token: the values are null, with this reason.
    fn explain_missing_perplexity(&self, solved: &mut [Solved]) {
        for block in solved {
            block.report.delta_ppl.extend(["linear", "mean", "zero"].map(|name| (name.to_owned(), None)));
            self.out.send(Event::Block(Box::new(block.report.clone())));
        }
        let text = "an encoder predicts no next token, so that perplexity and its changes are undefined";
        self.out.warn("no_perplexity", None, text.into());
    }
}
