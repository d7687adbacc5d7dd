//! Continues a prompt twice: with the model, and with the same model after some blocks were made linear.
//!
//! Every step runs both models over the whole text so far. A few hundred positions cost little, and both models see
//! windows from position 0, as in a measurement. The maps belong to a measurement of the same model, text and protocol:
//! given, cached from an earlier run, or measured first.

use std::cell::RefCell;
use std::rc::Rc;

use crate::backend::Backend;
use crate::backend::gpu::Options;
use crate::continuation::{Both, Candidate, Continuation, Opening, Step};
use crate::corpus::{IncrementalDecoder, Tokenizer, check_ids};
use crate::error::{Error, Result};
use crate::event::{Event, FinalResults, MapDump, Stage};
use crate::forward::{Forward, ignore};
use crate::job::{Job, Measure};
use crate::model::{Model, ModelConfig};
use crate::replacement::swap::{Replacement, Replacements};
use crate::report::{Seconds, Warning, WarningKind, finite};
use crate::run::evaluation::MAX_LOGITS;
use crate::solve::AffineMap;
use crate::stats::next_token::Distribution;
use crate::weights::{Files, Weights};
use crate::workers::Workers;

use super::device::on_device;
use super::events::Emitter;
use super::events::Events;
use super::header::read_config;
use super::inputs::{Inputs, Text};
use super::map_cache::MapCache;
use super::memory;
use super::pass::Pass;
use super::prepared::{Prepared, load};
use super::tokenizer::tokenizer;

/// Most positions of a text: attention grows with their square, and a cancel must take effect soon.
const MAX_CONTEXT: usize = 1024;

/// Source of the maps of linear blocks.
pub enum MapSource {
    /// A measurement under the job's protocol: maps cached in `kept`, or else measured first.
    Measured {
        /// The text to measure on.
        text: Text,
        /// Helper workers.
        workers: Workers,
        /// Cached maps of earlier measurements. With a cache, all blocks are measured, for later prompts.
        kept: Option<Rc<RefCell<MapCache>>>,
    },
    /// Maps of this model.
    Given(Vec<MapDump>),
}

impl MapSource {
    /// A measurement on `text` by this process, without a cache.
    pub fn measured(text: Text) -> Self {
        Self::Measured { text, workers: Workers::default(), kept: None }
    }
}

/// Continues a prompt with a model and with the same model whose blocks `job.blocks` are linear (`None`: all). The
/// stream yields [`Opening`] and [`Step`]s and ends after `Finished` or `Failed`; dropping it cancels.
pub fn continuation(job: Job, settings: Continuation, files: Rc<dyn Files>, maps: MapSource) -> Events {
    Events::new(move |out| async move {
        job.check()?;
        settings.check()?;
        out.listen_to(&*files);
        let config = read_config(&*files, &job).await?;
        let context = context_of(&config)?;
        let tokenizer = tokenizer(&*files).await?;
        let prompt = read_prompt(&tokenizer, &settings.prompt, &config, context).await?;
        let blocks = job.chosen_blocks(config.num_hidden_layers)?;
        let maps = BlockMaps::prepare(&job, &files, maps, &blocks, &config, &out).await?;
        let prepared = PreparedContinuation { job, settings, files, config, context, tokenizer, prompt, blocks };
        on_device!(prepared.job.backend, Options::default(), &out, backend => prepared.run(&backend, maps, &out).await)
    })
}

/// The context length used: the model's limit or sliding window, at most `MAX_CONTEXT`.
fn context_of(config: &ModelConfig) -> Result<usize> {
    if !config.causal {
        return Err(Error::InvalidSetting {
            field: "model".into(),
            value: format!("{}, an encoder,", config.architecture),
            hint: "an encoder predicts no next token, choose a decoder such as GPT-2".into(),
        });
    }
    Ok(config.max_position_embeddings.min(MAX_CONTEXT))
}

/// The prompt's token ids: at least 1, at most `context`, no unknown token.
async fn read_prompt(tokenizer: &Tokenizer, prompt: &str, config: &ModelConfig, context: usize) -> Result<Vec<u32>> {
    let refuse = |value: String, hint: String| Err(Error::InvalidSetting { field: "--prompt".into(), value, hint });
    let ids = tokenizer.encode("prompt", prompt.as_bytes()).await?;
    check_ids("prompt", &ids, config.vocab_size)?;
    if ids.is_empty() {
        return refuse("none of its characters".into(), "the model knows none of them, use its language".into());
    }
    if ids.len() > context {
        let hint = format!("the model reads {context} tokens at most here, shorten the prompt");
        return refuse(format!("{} tokens", ids.len()), hint);
    }
    if ids.iter().any(|id| Some(*id) == tokenizer.unknown()) {
        let hint = "the model’s vocabulary lacks some of its characters, use others";
        return refuse("an unknown character".into(), hint.into());
    }
    Ok(ids)
}

/// Maps, or the measurement that will produce them.
enum BlockMaps {
    Given(Vec<(usize, AffineMap)>),
    Measured(Box<Prepared>, Option<Rc<RefCell<MapCache>>>),
}

impl BlockMaps {
    async fn prepare(
        job: &Job,
        files: &Rc<dyn Files>,
        source: MapSource,
        blocks: &[usize],
        config: &ModelConfig,
        out: &Emitter,
    ) -> Result<Self> {
        if blocks.is_empty() {
            return Ok(Self::Given(Vec::new()));
        }
        match source {
            MapSource::Given(maps) => blocks
                .iter()
                .map(|block| given(&maps, *block, config.hidden_size))
                .collect::<Result<_>>()
                .map(Self::Given),
            MapSource::Measured { text, workers, kept } => {
                let blocks = if kept.is_some() { None } else { job.blocks.clone() };
                let job = Job { measures: [Measure::Fit].into(), blocks, dump_maps: kept.is_some(), ..job.clone() };
                let inputs = Inputs { workers, ..Inputs::new(files.clone(), text) };
                Ok(Self::Measured(Box::new(Prepared::read(job, inputs, config.clone(), out).await?), kept))
            }
        }
    }
}

/// The given map of a block.
fn given(maps: &[MapDump], block: usize, width: usize) -> Result<(usize, AffineMap)> {
    let refuse =
        |value: String, hint: &str| Err(Error::InvalidSetting { field: "--maps".into(), value, hint: hint.into() });
    let Some(map) = maps.iter().find(|map| map.block == block) else {
        return refuse(format!("no map of block {block}"), "measure this block too, with --dump-maps");
    };
    let lengths = [map.weight.len(), map.mean_x.len(), map.deviation_x.len(), map.mean_y.len()];
    if lengths != [width * width, width, width, width] {
        return refuse(format!("a map of block {block} that is not {width} × {width}"), "give the maps of this model");
    }
    Ok((block, map.into()))
}

/// Everything that is known before a device is chosen.
struct PreparedContinuation {
    job: Job,
    settings: Continuation,
    files: Rc<dyn Files>,
    config: ModelConfig,
    context: usize,
    tokenizer: Rc<Tokenizer>,
    prompt: Vec<u32>,
    blocks: Vec<usize>,
}

impl PreparedContinuation {
    async fn run<B: Backend>(&self, backend: &B, maps: BlockMaps, out: &Emitter) -> Result<()> {
        let weights = Weights::open(self.files.clone()).await?;
        if B::IN_MEMORY {
            memory::check_model(&self.config, &weights)?;
        }
        let maps = match maps {
            BlockMaps::Given(maps) => maps,
            BlockMaps::Measured(prepared, kept) => {
                prepared.maps(backend, &weights, &self.blocks, kept.as_deref(), out).await?
            }
        };
        let model = load(backend, &self.config, &weights, out).await?;
        let mut swaps = Replacements::new();
        for (block, map) in &maps {
            swaps.insert(*block, Replacement::affine(backend, map)?);
        }
        drop(maps);
        ModelPair { prepared: self, backend, model: &model, swaps }.run(out).await?;
        let seconds = Seconds { total: out.elapsed(), ..Seconds::default() };
        out.emit(Event::Finished(FinalResults { seconds, peak_memory: memory::peak(), ppl: None })).await;
        Ok(())
    }
}

impl Prepared {
    /// The maps of `blocks`, kept or measured.
    async fn maps<B: Backend>(
        &self,
        backend: &B,
        weights: &Weights,
        blocks: &[usize],
        kept: Option<&RefCell<MapCache>>,
        out: &Emitter,
    ) -> Result<Vec<(usize, AffineMap)>> {
        let header = self.header(backend, weights, out).await?;
        let at_hand = kept.and_then(|kept| kept.borrow().of(&header, blocks));
        out.emit(Event::Started(Box::new(header))).await;
        if let Some(maps) = at_hand {
            return Ok(maps);
        }
        let pass = Pass { keeps_maps: true, ..self.pass(backend, out) };
        let swept = self.sweep(&pass, weights).await?.blocks;
        let chosen = swept.into_iter().filter(|swept| blocks.contains(&swept.report.block));
        Ok(chosen.filter_map(|swept| Some((swept.report.block, swept.map?))).collect())
    }
}

/// Both models on one device.
struct ModelPair<'a, B: Backend> {
    prepared: &'a PreparedContinuation,
    backend: &'a B,
    model: &'a Model<B::Tensor>,
    swaps: Replacements<B::Tensor>,
}

/// One of the two texts.
struct ContinuedText {
    ids: Vec<u32>,
    decoder: IncrementalDecoder,
}

impl<B: Backend> ModelPair<'_, B> {
    async fn run(&self, out: &Emitter) -> Result<()> {
        let PreparedContinuation { settings, context, prompt, .. } = self.prepared;
        out.emit(Event::Opened(Box::new(self.open().await?))).await;
        let side = || ContinuedText { ids: prompt.clone(), decoder: IncrementalDecoder::after(prompt) };
        let mut texts = Both { original: side(), linear: side() };
        let meter = out.stage(Stage::Continue, settings.tokens as u64);
        for step in 0..settings.tokens {
            if texts.original.ids.len() > *context {
                out.warn(Warning::new(&WarningKind::ContextFull { context: *context, step }));
                break;
            }
            let step = self.step(step, &mut texts).await?;
            out.send(Event::Step(Box::new(step)));
            meter.reach((texts.original.ids.len() - prompt.len()) as u64).await;
        }
        Ok(())
    }

    /// The perplexity of the prompt under both models.
    async fn open(&self) -> Result<Opening> {
        let PreparedContinuation { job, config, context, prompt, blocks, .. } = self.prepared;
        Ok(Opening {
            model: job.model.clone(),
            blocks: blocks.clone(),
            num_hidden_layers: config.num_hidden_layers,
            device: self.backend.info(),
            prompt_tokens: prompt.len(),
            context: *context,
            ppl: Both {
                original: self.perplexity(prompt, &Replacements::new()).await?,
                linear: self.perplexity(prompt, &self.swaps).await?,
            },
        })
    }

    /// Appends one token to both texts.
    async fn step(&self, step: usize, texts: &mut Both<ContinuedText>) -> Result<Step> {
        let PreparedContinuation { settings, tokenizer, .. } = self.prepared;
        let (original, linear) = (&texts.original.ids, &texts.linear.ids);
        let p = self.next(&[original], &Replacements::new(), "original model").await?.swap_remove(0);
        let parted = original != linear;
        let contexts: &[&[u32]] = if parted { &[original, linear] } else { &[original] };
        let mut q = self.next(contexts, &self.swaps, "model with linear blocks").await?;
        let own = if parted { q.pop() } else { None };
        let q = q.swap_remove(0);
        let draw = |distribution: &Distribution| distribution.choose(settings.temperature, settings.seed, step as u64);
        let chosen = Both { original: draw(&p), linear: draw(own.as_ref().unwrap_or(&q)) };
        let name = |id| tokenizer.name(id);
        Ok(Step {
            step,
            token: Both {
                original: texts.original.push(tokenizer, chosen.original)?,
                linear: texts.linear.push(tokenizer, chosen.linear)?,
            },
            kl: p.divergence(&q),
            entropy: Both { original: p.entropy(), linear: q.entropy() },
            candidates: candidates(&p, &q, settings.top, &name),
            own: own.map_or(Vec::new(), |own| {
                let alone = |id| {
                    let probability = Both { original: None, linear: Some(own.probability(id)) };
                    Candidate { id, name: name(id), probability }
                };
                own.top(settings.top).into_iter().map(alone).collect()
            }),
        })
    }

    /// The next-token distribution after each of `texts`, which have equal length.
    async fn next(&self, texts: &[&[u32]], swaps: &Replacements<B::Tensor>, what: &str) -> Result<Vec<Distribution>> {
        let len = texts[0].len();
        let forward = Forward::new(self.backend, self.model, len)?;
        let hidden = self.hidden(&forward, &texts.concat(), swaps)?;
        let last: Vec<u32> = (1..=texts.len()).map(|text| (text * len - 1) as u32).collect();
        let logits = self.backend.read(&forward.logits(&self.backend.gather(&hidden, &last)?)?).await?;
        let broken = || Error::NonFiniteLogits { what: what.into(), tokens: len };
        let rows = logits.chunks_exact(forward.vocab_size());
        rows.map(|row| Distribution::of(row).ok_or_else(broken)).collect()
    }

    /// exp of the mean negative log-likelihood of all tokens of a text but the first.
    async fn perplexity(&self, ids: &[u32], swaps: &Replacements<B::Tensor>) -> Result<Option<f64>> {
        let predicted = ids.len() - 1;
        if predicted == 0 {
            return Ok(None);
        }
        let forward = Forward::new(self.backend, self.model, ids.len())?;
        let hidden = self.hidden(&forward, ids, swaps)?;
        let (rows_at_once, mut sum) = ((MAX_LOGITS / forward.vocab_size()).max(1), 0.0);
        let rows: Vec<u32> = (0..predicted as u32).collect();
        for (rows, targets) in rows.chunks(rows_at_once).zip(ids[1..].chunks(rows_at_once)) {
            let logits = forward.logits(&self.backend.gather(&hidden, rows)?)?;
            let nll = self.backend.read(&self.backend.next_token_nll(&logits, targets)?).await?;
            sum += nll.iter().map(|&nll| f64::from(nll)).sum::<f64>();
        }
        Ok(finite((sum / predicted as f64).exp()))
    }

    fn hidden(&self, forward: &Forward<'_, B>, ids: &[u32], swaps: &Replacements<B::Tensor>) -> Result<B::Tensor> {
        forward.run_swapped(ids, swaps, &mut ignore)
    }
}

impl ContinuedText {
    fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> Result<crate::continuation::Token> {
        self.ids.push(id);
        self.decoder.push(tokenizer, id)
    }
}

/// The likeliest tokens of either distribution with both probabilities, sorted by the original model's.
fn candidates(p: &Distribution, q: &Distribution, top: usize, name: &dyn Fn(u32) -> String) -> Vec<Candidate> {
    let mut ids = p.top(top);
    let theirs: Vec<u32> = q.top(top).into_iter().filter(|id| !ids.contains(id)).collect();
    ids.extend(theirs);
    let candidate = |id| Candidate {
        id,
        name: name(id),
        probability: Both { original: Some(p.probability(id)), linear: Some(q.probability(id)) },
    };
    let mut all: Vec<Candidate> = ids.into_iter().map(candidate).collect();
    all.sort_by(|a, b| b.probability.original.unwrap_or(0.0).total_cmp(&a.probability.original.unwrap_or(0.0)));
    all
}
