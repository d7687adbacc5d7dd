//! The state of a sweep between two blocks, so that it can be resumed: the reports of the earlier blocks, and the rows
//! that enter the next one.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::forks::Of;
use super::measuring::Measuring;
use super::state::{MeasuredBlock, Stream, Sweep};
use super::{Batch, StoredRows};
use crate::backend::gpu::autotune;
use crate::backend::{Backend, Shape};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::job::Measure;
use crate::replacement::probe::Values;
use crate::replacement::replaced::Replaced;
use crate::report::{BlockReport, LayerReport, Warning};
use crate::run::resume_file::{MAGIC, Resume};
use crate::solve::AffineMap;
use crate::trace::Lane;

/// Header of a saved state; map and probes of every block and then rows follow, in this order.
#[derive(Serialize, Deserialize)]
struct StateHeader {
    /// Identifies the measurement.
    key: String,
    /// Whether the weights so far were not compared with their hash.
    claimed: bool,
    /// Copies of the weights that had been discarded as damaged when the measurement began.
    discarded: u64,
    /// The block whose rows follow.
    next: usize,
    /// Blocks of the model.
    of: usize,
    /// Rows per batch, and the GPU kernels: others would change the last digits of the remaining blocks.
    batch_rows: usize,
    kernels: String,
    blocks: Vec<SavedBlock>,
    layers: Vec<LayerReport>,
    warnings: Vec<Warning>,
    stream: Vec<BatchSize>,
    forks: Vec<(Of, String, Vec<BatchSize>)>,
}

#[derive(Serialize, Deserialize)]
struct SavedBlock {
    report: BlockReport,
    map: Option<MapSizes>,
    /// States of earlier versions have none.
    #[serde(default)]
    probes: Vec<(String, Replaced<Shape>)>,
}

/// Rows and columns of a batch.
type BatchSize = (usize, usize);

#[derive(Serialize, Deserialize)]
struct MapSizes {
    d_in: usize,
    d_out: usize,
    rank: usize,
}

/// Batches that are read from the device at once.
const AT_ONCE: usize = 8;
/// Size limit of the header in bytes.
const MAX_CONTENTS: u64 = 1 << 28;

impl<'a, B: Backend> Sweep<'a, B> {
    /// Saves the state before the block `next`, which the rows `entering` enter. Before the first block there is
    /// nothing to save.
    pub(super) async fn save(
        &self,
        next: usize,
        entering: &Stream<B::Tensor>,
        measuring: &Measuring<'_, 'a, B>,
    ) -> Result<()> {
        match self.pass.resume.filter(|resume| next > 0 && resume.is_due()) {
            Some(resume) => {
                let written = self.write(resume, (next, entering), measuring);
                self.pass.out.span(Lane::Save, Some(next), written).await
            }
            None => Ok(()),
        }
    }

    async fn write(
        &self,
        resume: &dyn Resume,
        (next, entering): (usize, &Stream<B::Tensor>),
        Measuring { forks, swept, layers, .. }: &Measuring<'_, 'a, B>,
    ) -> Result<()> {
        let shape = |kept: &StoredRows<_>| (kept.rows(), kept.cols());
        let contents = StateHeader {
            key: self.pass.key.clone(),
            claimed: self.pass.claimed,
            discarded: self.pass.discarded,
            next,
            of: self.source.checkpoint.config().num_hidden_layers,
            batch_rows: self.source.reading.batch_rows,
            kernels: autotune::snapshot(),
            blocks: swept.iter().map(saved).collect::<Result<_>>()?,
            layers: layers.as_ref().map(|layers| layers.reports().to_vec()).unwrap_or_default(),
            warnings: self.pass.out.warnings(),
            stream: entering.iter().map(|kept| shape(kept)).collect(),
            forks: forks
                .running()
                .iter()
                .map(|fork| (fork.of, fork.name.clone(), fork.hidden.iter().map(shape).collect()))
                .collect(),
        };
        let json = serde_json::to_vec(&contents).unwrap_or_default();
        let rows: Vec<&StoredRows<_>> =
            entering.iter().map(|kept| &**kept).chain(forks.running().iter().flat_map(|fork| &fork.hidden)).collect();
        let unwritable = |error: io::Error| Error::UnwritableFile { file: resume.name(), why: error.to_string() };
        let mut state = resume.save().map_err(unwritable)?;
        let mut write = |bytes: &[u8]| state.write_all(bytes).map_err(unwritable);
        write(MAGIC)?;
        write(&(json.len() as u64).to_le_bytes())?;
        write(&json)?;
        for MeasuredBlock { map, probes, .. } in swept {
            if let Some(AffineMap { weight, mean_x, deviation_x, mean_y, .. }) = map {
                for part in [weight, mean_x, deviation_x, mean_y] {
                    write(bytemuck::cast_slice(part))?;
                }
            }
            for (_, probe) in probes {
                probe.map(&mut |values, _| write(bytemuck::cast_slice(&values.data)))?;
            }
        }
        for kept in rows.chunks(AT_ONCE) {
            for values in self.source.store.values_of(kept).await? {
                write(bytemuck::cast_slice(&values))?;
            }
        }
        state.commit().map_err(unwritable)
    }

    /// Restores the saved state of this measurement and sends the events of its blocks again. Returns the next block,
    /// and the rows that enter it.
    ///
    /// # Errors
    /// A state of another measurement, or one that is damaged.
    pub(super) async fn resume(
        &self,
        Measuring { forks, swept, layers, .. }: &mut Measuring<'_, 'a, B>,
    ) -> Result<Option<(usize, Stream<B::Tensor>)>> {
        let Some(resume) = self.pass.resume else { return Ok(None) };
        let damaged = |error: io::Error| refused(resume.name(), &error);
        let Some(mut from) = resume.open().map_err(damaged)? else { return Ok(None) };
        let contents = contents(&mut from).map_err(damaged)?;
        if contents.key != self.pass.key {
            return Err(Error::InvalidSetting {
                field: "--resume".into(),
                value: resume.name(),
                hint: "it holds another measurement, give another file or delete it".into(),
            });
        }
        self.check(&contents).map_err(damaged)?;
        for SavedBlock { report, map: sizes, probes } in contents.blocks {
            let map = sizes.map(|sizes| map(&mut from, &sizes)).transpose().map_err(damaged)?;
            let mut read = |shape: &Shape, _| values(&mut from, *shape).map_err(damaged);
            let probes = probes.into_iter().map(|(name, probe)| Ok((name, probe.map(&mut read)?)));
            let probes = probes.collect::<Result<_>>()?;
            self.pass.out.send(Event::Block(Box::new(report.clone())));
            if let Some(map) = map.as_ref().filter(|_| self.pass.job.dump_maps) {
                self.pass.out.send(Event::Map(Box::new(map.clone().dump(report.block, None))));
            }
            swept.push(MeasuredBlock { report, map, probes });
        }
        let from = RefCell::new(from);
        let batch = async |(rows, cols): BatchSize| {
            let mut values = vec![0.0f32; rows * cols];
            from.borrow_mut().read_exact(bytemuck::cast_slice_mut(&mut values)).map_err(damaged)?;
            self.source.store.keep(self.pass.backend.upload("rows", Shape::new(rows, cols), &values)?).await
        };
        let mut stream = Vec::with_capacity(contents.stream.len());
        for shape in contents.stream {
            stream.push(Rc::new(batch(shape).await?));
        }
        for (of, name, shapes) in contents.forks {
            let mut hidden = Vec::with_capacity(shapes.len());
            for shape in shapes {
                hidden.push(batch(shape).await?);
            }
            forks.start(of, &name, hidden);
        }
        if let Some(layers) = layers {
            layers.restore(contents.layers);
        }
        contents.warnings.into_iter().for_each(|warning| self.pass.out.warn(warning));
        Ok(Some((contents.next, stream)))
    }
}

impl<B: Backend> Sweep<'_, B> {
    /// Refuses a state of weights that were found damaged since, of other rows, or without one of the earlier blocks.
    fn check(&self, contents: &StateHeader) -> io::Result<()> {
        if self.pass.discarded > contents.discarded {
            return Err(malformed("the weights were found to be damaged since, and were fetched again"));
        }
        let (config, batches) = (self.source.checkpoint.config(), &self.source.reading.batches);
        let width = config.hidden_size;
        let shape = |batch: &Batch| (self.source.reading.ids(batch).len(), width);
        let all: Vec<_> = batches.iter().map(shape).collect();
        let evaluated: Vec<_> = batches.iter().filter(|batch| batch.evaluated).map(shape).collect();
        let fits = contents.stream == all
            && contents.forks.iter().all(|(_, _, shapes)| *shapes == evaluated)
            && contents
                .blocks
                .iter()
                .filter_map(|block| block.map.as_ref())
                .all(|map| [map.d_in, map.d_out] == [width; 2])
            && contents.next < config.num_hidden_layers;
        if !fits {
            return Err(malformed("its rows are not those of this measurement"));
        }
        let before: Vec<usize> = self.blocks.iter().copied().filter(|block| *block < contents.next).collect();
        if !contents.blocks.iter().map(|block| block.report.block).eq(before.iter().copied()) {
            return Err(malformed("its blocks are not all before the next one"));
        }
        let layers = if self.pass.asks(Measure::Layers) { contents.next } else { 0 };
        let is_known = |of: &Of| match of {
            Of::Block(block) => before.contains(block),
            Of::Layer(layer) => *layer < layers,
        };
        let are_all = contents.layers.iter().map(|layer| layer.layer).eq(0..layers);
        let are_known = are_all && contents.forks.iter().all(|(of, ..)| is_known(of));
        if are_known { Ok(()) } else { Err(malformed("its layers are not all before the next one")) }
    }
}

/// Selects the kernels of a saved sweep and returns its rows per batch, because a new autotune could choose others.
/// `None` if no readable state is saved.
pub(in crate::run) fn adopt(resume: Option<&dyn Resume>) -> Option<usize> {
    let contents = contents(&mut *resume?.open().ok()??).ok()?;
    autotune::adopt(&contents.kernels);
    Some(contents.batch_rows)
}

/// Whether the saved sweep that `key` identifies has used weights that were not compared with their hash.
pub(in crate::run) fn is_claimed(resume: Option<&dyn Resume>, key: &str) -> bool {
    let saved = || contents(&mut *resume?.open().ok()??).ok();
    saved().is_some_and(|contents| contents.key == key && contents.claimed)
}

/// The next block of a saved sweep, and the model's number of blocks.
///
/// # Errors
/// If it is not a saved sweep; `file` names it.
pub fn standing(file: &str, from: &mut dyn Read) -> Result<(usize, usize)> {
    contents(from).map(|contents| (contents.next, contents.of)).map_err(|error| refused(file.into(), &error))
}

fn malformed(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The error of an unreadable state, or of a damaged one, which must be deleted.
fn refused(file: String, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::MalformedState { file, why: "it is cut off".into() },
        io::ErrorKind::InvalidData => Error::MalformedState { file, why: error.to_string() },
        _ => Error::UnreadableFile { file, why: error.to_string() },
    }
}

fn contents(from: &mut dyn Read) -> io::Result<StateHeader> {
    let (mut magic, mut len) = ([0; 8], [0; 8]);
    from.read_exact(&mut magic)?;
    from.read_exact(&mut len)?;
    let len = u64::from_le_bytes(len);
    if &magic != MAGIC || len > MAX_CONTENTS {
        return Err(malformed("it does not begin like one"));
    }
    // Only what is there takes memory.
    let mut json = Vec::new();
    if from.take(len).read_to_end(&mut json)? as u64 != len {
        return Err(malformed("it is cut off"));
    }
    serde_json::from_slice(&json).map_err(|error| malformed(&error.to_string()))
}

/// A measured block without its maps and probes.
fn saved(swept: &MeasuredBlock) -> Result<SavedBlock> {
    let sizes = |map: &AffineMap| MapSizes { d_in: map.mean_x.len(), d_out: map.mean_y.len(), rank: map.rank };
    let shapes = |(name, probe): &(String, Replaced<Values>)| Ok((name.clone(), probe.map(&mut |v, _| Ok(v.shape))?));
    let probes = swept.probes.iter().map(shapes).collect::<Result<_>>()?;
    Ok(SavedBlock { report: swept.report.clone(), map: swept.map.as_ref().map(sizes), probes })
}

/// The values of a tensor. Only what is there takes memory.
fn values(from: &mut dyn Read, shape: Shape) -> io::Result<Values> {
    let size = shape.rows.checked_mul(shape.cols).and_then(|len| len.checked_mul(4));
    let size = size.ok_or_else(|| malformed("a probe is too large"))?;
    let mut bytes = Vec::new();
    if from.take(size as u64).read_to_end(&mut bytes)? != size {
        return Err(malformed("it is cut off"));
    }
    let data = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Ok(Values { shape, data })
}

fn map(from: &mut dyn Read, sizes: &MapSizes) -> io::Result<AffineMap> {
    let &MapSizes { d_in, d_out, rank } = sizes;
    let mut part = |len: usize| {
        let mut values = vec![0.0f64; len];
        from.read_exact(bytemuck::cast_slice_mut(&mut values)).map(|()| values)
    };
    Ok(AffineMap {
        weight: part(d_in.checked_mul(d_out).ok_or_else(|| malformed("a map is too large"))?)?,
        mean_x: part(d_in)?,
        deviation_x: part(d_in)?,
        mean_y: part(d_out)?,
        rank,
    })
}
