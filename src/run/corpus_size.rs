//! Preview: how many rows a text or a rows file yields, and whether they suffice, without measuring any.

use std::rc::Rc;

use crate::corpus::Folds;
use crate::corpus_size::CorpusSize;
use crate::error::{Error, Result};
use crate::job::{Job, Protocol};
use crate::weights::{Files, RowsFile};

use super::header::read_config;
use super::inputs::Text;
use super::text_reader::TextReader;

/// The size of a job's text. `on_bytes` receives the number of bytes tokenised so far, and the total.
///
/// # Errors
/// The errors of [`super::measure()`] about configuration, tokenizer or text. A text that is too short is reported in
/// [`CorpusSize::refusal`] instead.
pub async fn extent(job: &Job, files: &dyn Files, text: &Text, on_bytes: &dyn Fn(u64, u64)) -> Result<CorpusSize> {
    job.check()?;
    let config = read_config(files, job).await?;
    let reader = TextReader { files, config: &config, protocol: &job.protocol };
    let ids = reader.token_ids(&job.corpus, text, on_bytes).await?;
    let tokens = ids.len();
    let windows = reader.windows(&job.corpus, ids).await?;
    let folds = Folds::new(&job.corpus, &windows, job.protocol.folds);
    Ok(of_folds(job, tokens, windows.len(), folds, config.hidden_size))
}

/// The size of a job's rows file.
///
/// # Errors
/// The errors of [`super::fit()`] about the file.
pub async fn rows_extent(job: &Job, files: Rc<dyn Files>, file: &str) -> Result<CorpusSize> {
    job.check().map_err(Error::of_rows)?;
    let rows = RowsFile::open(files, file).await.map_err(Error::of_rows)?;
    let Protocol { rows: requested, seq_len, folds, .. } = job.protocol;
    let used = rows.n.min(requested);
    let folds = Folds::of_rows(&job.corpus, used, seq_len, folds);
    let extent = of_folds(job, rows.n, used / seq_len, folds, rows.d_in);
    Ok(CorpusSize { refusal: extent.refusal.map(Error::of_rows), ..extent })
}

fn of_folds(job: &Job, tokens: usize, windows: usize, folds: Result<Folds>, d_in: usize) -> CorpusSize {
    let train_rows = folds.as_ref().map_or(0, |folds| folds.train_rows(&job.protocol)) as u64;
    let checked = folds.and_then(|folds| folds.check_rows(&job.corpus, &job.protocol, d_in));
    let rows = (windows * job.protocol.seq_len) as u64;
    CorpusSize { tokens: tokens as u64, rows, d_in: d_in as u64, train_rows, refusal: checked.err() }
}
