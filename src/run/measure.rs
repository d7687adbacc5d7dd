//! The two ways to measure: a model on a text, and captured rows.

use std::cell::Cell;
use std::rc::Rc;

use super::device::on_device;
use super::events::{Emitter, Events};
use super::header::{self, header, read_config};
use super::inputs::{Inputs, RowsInputs, Text};
use super::memory;
use super::pass::Pass;
use super::prepared::Prepared;
use super::sweep::{self, RowStore, ScratchFile};
use crate::backend::Backend;
use crate::backend::gpu;
use crate::corpus::Folds;
use crate::error::{Error, Result};
use crate::event::{Event, Stage};
use crate::job::{Job, Measure};
use crate::report::{CorpusInfo, Seconds, Warning, WarningKind};
use crate::trace::Lane;
use crate::weights::{Files, RowsFile, Weights};
use crate::workers::Workers;

/// Measures a model on a text. The stream ends after `Finished` or `Failed`; dropping it cancels.
pub fn measure(job: Job, files: Rc<dyn Files>, text: Text) -> Events {
    measure_inputs(job, Inputs::new(files, text))
}

/// [`measure`] with all optional inputs.
pub fn measure_inputs(job: Job, inputs: Inputs) -> Events {
    Events::new(move |out| async move {
        job.check()?;
        for files in [&inputs.files].into_iter().chain(inputs.feed.as_ref().map(|(_, files)| files)) {
            out.listen_to(&**files);
        }
        let config = read_config(&*inputs.files, &job).await?;
        let options = inputs.gpu;
        let prepared = out.span(Lane::Tokenize, None, Prepared::read(job, inputs, config, &out)).await?;
        on_device!(prepared.job.backend, options, &out, backend => prepared.measure(&backend, &out).await)
    })
}

/// Measures captured rows. The protocol's `seq_len` is the window.
pub fn fit(job: Job, RowsInputs { files, file, scratch }: RowsInputs) -> Events {
    Events::new(move |out| async move {
        job.check().map_err(Error::of_rows)?;
        check_rows_measures(&job)?;
        let rows_file = RowsFile::open(files, &file).await.map_err(Error::of_rows)?;
        let (d_in, d_out) = (rows_file.d_in as u64, rows_file.d_out as u64);
        let rows = memory::held_rows(&job, rows_file.n.min(job.protocol.rows) as u64);
        let sums = memory::Sums { d_in, d_out, folds: job.protocol.folds as u64, blocks: 1, rows };
        memory::check("a block of captured rows", sums)?;
        on_device!(job.backend, gpu::Options::default(), &out, backend => {
            fit_rows(&backend, &job, (&rows_file, scratch), &out).await.map_err(Error::of_rows)
        })
    })
}

/// Refuses measures that need the model the rows came from.
fn check_rows_measures(job: &Job) -> Result<()> {
    let of_rows = [
        Measure::Fit,
        Measure::Probes,
        Measure::FurtherProbes,
        Measure::Degrees,
        Measure::Baseline,
        Measure::Conjunction,
    ];
    match job.measures.iter().find(|measure| !of_rows.contains(measure)) {
        Some(measure) => Err(Error::InvalidSetting {
            field: "--measures".into(),
            value: measure.to_string(),
            hint: "it needs the model; for captured rows choose from fit, probes, further-probes, degrees, baseline and conjunction"
                .into(),
        }),
        None => Ok(()),
    }
}

async fn fit_rows<B: Backend>(
    backend: &B,
    job: &Job,
    (file, scratch): (&RowsFile, Option<Rc<dyn ScratchFile>>),
    out: &Emitter,
) -> Result<()> {
    let seq_len = job.protocol.seq_len;
    let folds = Folds::of_rows(&job.corpus, file.n.min(job.protocol.rows), seq_len, job.protocol.folds)?;
    let folds = folds.interleaved(job.protocol.interleaved_folds);
    folds.check_rows(&job.corpus, &job.protocol, file.d_in)?;
    let load = out.stage(Stage::Hash, 0);
    let model = out.span(Lane::Hash, None, header::rows_info(job, file, &load)).await?;
    let corpus = CorpusInfo { id: job.corpus.clone(), sha256: model.sha256.clone(), tokens: file.n };
    out.emit(Event::Started(Box::new(header(backend, job, model, corpus, &folds)))).await;
    let pass = Pass {
        backend,
        job,
        folds: &folds,
        out,
        workers: Workers::default(),
        expected_rank: Some(file.d_in),
        ffn_parameters: None,
        has_perplexity: false,
        keeps_maps: false,
        resume: None,
        key: String::new(),
        claimed: false,
        discarded: 0,
        seconds: Cell::new(Seconds { load: load.seconds(), ..Seconds::default() }),
    };
    pass.explain_missing_intervals();
    if pass.asks(Measure::Conjunction) {
        out.warn(Warning::new(&WarningKind::NoNetwork));
    }
    let store = RowStore::new(backend, job.row_memory, scratch);
    sweep::of_rows(&pass, &store, file, pass.measures_of_rows(1)).await?;
    pass.finish(None).await;
    Ok(())
}

impl Prepared {
    async fn measure<B: Backend>(&self, backend: &B, out: &Emitter) -> Result<()> {
        let weights = Weights::open(self.files.clone()).await?;
        let heals = self.job.measures.iter().any(|measure| matches!(measure, Measure::Heal | Measure::HealTogether));
        if heals && self.config.causal {
            memory::check_model(&self.config, &weights)?;
        }
        if B::IN_MEMORY {
            self.check_windows()?;
        }
        let mut header = self.header(backend, &weights, out).await?;
        let key = self.key(&header);
        header.model.sha256_claimed |= sweep::is_claimed(self.resume.as_deref(), &key);
        let (claimed, discarded) = (header.model.sha256_claimed, self.discarded(&weights).await?);
        let pass = Pass { key, claimed, discarded, ..self.pass(backend, out) };
        out.emit(Event::Started(Box::new(header))).await;
        pass.explain_missing_intervals();
        if self.config.architecture.needs_bos() && !self.job.protocol.bos {
            out.warn(Warning::new(&WarningKind::NoBos));
        }
        let measured = self.sweep_and_heal(&pass, &weights, heals).await;
        // Another program may meanwhile have found that these weights are damaged.
        if measured.is_ok() && self.discarded(&weights).await.is_ok_and(|now| now > discarded) {
            out.warn(Warning::new(&WarningKind::DiscardedMeanwhile));
        }
        // Do not resume a state of damaged weights.
        let is_over = matches!(measured, Ok(_) | Err(Error::DamagedWeights { .. }));
        if let Some(resume) = pass.resume.filter(|_| is_over) {
            resume.clear();
        }
        pass.finish(measured?).await;
        Ok(())
    }

    /// Refuses windows too long for the memory that is left, also of the model that feeds this one.
    fn check_windows(&self) -> Result<()> {
        let seq_len = self.job.protocol.seq_len;
        memory::check_windows(&self.config, seq_len, self.needs_perplexity() && self.config.causal)?;
        self.feed.as_ref().map_or(Ok(()), |feed| memory::check_windows(&feed.config, seq_len, false))
    }

    /// Copies of all weights that their sources have discarded as damaged so far.
    async fn discarded(&self, weights: &Weights) -> Result<u64> {
        let of_feed = match &self.feed {
            Some(feed) => Weights::open(feed.files.clone()).await?.discarded().await,
            None => 0,
        };
        Ok(weights.discarded().await.saturating_add(of_feed))
    }

    async fn sweep_and_heal<B: Backend>(
        &self,
        pass: &Pass<'_, B>,
        weights: &Weights,
        heals: bool,
    ) -> Result<Option<f64>> {
        let swept = self.sweep(pass, weights).await?;
        let ppl = swept.ppl;
        if heals {
            pass.out.span(Lane::Heal, None, self.heal(pass, swept)).await?;
        }
        Ok(ppl)
    }
}
