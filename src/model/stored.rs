//! A model before it is loaded: the source of each of its tensors in the checkpoint, and its rearrangement.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use super::layout::{interleaved_part, transposed_columns};
use super::token_rows::TokenRows;
use super::{Model, ModelPart};
use crate::backend::{Shape, Storage};
use crate::error::Result;
use crate::platform::yielding::yield_now;
use crate::weights::Weights;

/// A tensor of a model in its checkpoint, checked for presence, shape and format. Equal values share one device tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckpointTensor {
    pub(super) name: String,
    /// Shape in the checkpoint.
    pub(super) shape: Vec<usize>,
    /// Rows on the device.
    pub(super) rows: usize,
    pub(super) arrangement: Arrangement,
}

/// How values of a checkpoint tensor are rearranged into the model's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arrangement {
    /// Unchanged.
    Same,
    /// The given columns, transposed.
    Columns(Range<usize>),
    /// One of three parts that are interleaved by head.
    HeadPart { part: usize, head_dim: usize, width: usize },
    /// The given rows, or elements of a vector.
    RowRange(Range<usize>),
    /// The rows from `first` on, with the first row of another tensor, which has `rows` rows, added to each.
    PlusFirstRow { first: usize, name: String, rows: usize },
    /// 1 is added to each element.
    PlusOne,
    /// Zeros of the same shape.
    Zeros,
    /// Only the rows of the wanted tokens; the checkpoint tensor has `of` rows.
    Rows { occurring: Rc<TokenRows>, of: usize },
}

/// Elements decoded at a time when only some rows of a table are kept.
const PIECE: usize = 1 << 20;

impl CheckpointTensor {
    /// Name in the checkpoint.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the weight is stored `(in, out)`, as in GPT-2, instead of `(out, in)`.
    pub fn inputs_first(&self) -> bool {
        matches!(self.arrangement, Arrangement::Columns(_))
    }

    /// Storage format on the device: matrices keep the checkpoint's format, which is lossless; all else is f32.
    pub(super) fn storage(&self, weights: &Weights) -> Storage {
        let is_sum = matches!(self.arrangement, Arrangement::PlusFirstRow { .. });
        if is_sum || self.shape.len() < 2 { Storage::F32 } else { weights.storage(&self.name) }
    }

    /// Restricts an unchanged table to the rows of some tokens.
    pub(super) fn with_rows(self, occurring: &Rc<TokenRows>) -> Self {
        let of = self.rows;
        Self { rows: occurring.len(), arrangement: Arrangement::Rows { occurring: occurring.clone(), of }, ..self }
    }

    /// Whether it is read in pieces and never as a whole.
    pub(super) fn is_piecemeal(&self) -> bool {
        matches!(self.arrangement, Arrangement::Rows { .. })
    }

    /// Reads all values of the checkpoint tensor.
    pub(super) async fn read(&self, weights: &Weights) -> Result<Vec<f32>> {
        weights.tensor(&self.name, &self.shape).await
    }

    /// Names of the checkpoint tensors that it reads.
    fn names(&self) -> impl Iterator<Item = &str> {
        let other = match &self.arrangement {
            Arrangement::PlusFirstRow { name, .. } => Some(name.as_str()),
            _ => None,
        };
        [self.name.as_str()].into_iter().chain(other)
    }

    /// The device shape, and the values rearranged from `values`; `None` if unchanged.
    pub(super) async fn arrange(&self, weights: &Weights, values: &[f32]) -> Result<(Shape, Option<Vec<f32>>)> {
        let arranged = match &self.arrangement {
            Arrangement::Same => None,
            Arrangement::Columns(columns) => Some(transposed_columns(values, self.cols(), columns.clone())),
            Arrangement::HeadPart { part, head_dim, width } => {
                Some(interleaved_part(values, 3, *part, *head_dim, *width))
            }
            Arrangement::RowRange(rows) => {
                let width = values.len() / self.shape[0];
                Some(values[rows.start * width..rows.end * width].to_vec())
            }
            Arrangement::PlusFirstRow { first, name, rows } => {
                let width = self.cols();
                let others = weights.tensor(name, &[*rows, width]).await?;
                Some(plus_row(&values[first * width..], &others[..width]))
            }
            Arrangement::PlusOne => Some(values.iter().map(|value| 1.0 + value).collect()),
            Arrangement::Zeros => Some(vec![0.0; values.len()]),
            Arrangement::Rows { occurring, of } => Some(self.some_rows(weights, occurring, *of).await?),
        };
        Ok((self.device_shape(), arranged))
    }

    async fn some_rows(&self, weights: &Weights, occurring: &TokenRows, of: usize) -> Result<Vec<f32>> {
        let (mut kept, cols) = (Vec::with_capacity(self.rows * self.cols()), self.cols());
        let step = (PIECE / cols).max(1);
        for first in (0..of).step_by(step) {
            let ids = first..of.min(first + step);
            occurring.pick(ids.clone(), &weights.matrix_rows(&self.name, ids, cols).await?, cols, &mut kept);
            yield_now().await;
        }
        Ok(kept)
    }

    /// Shape on a device.
    pub(super) fn device_shape(&self) -> Shape {
        Shape::new(self.rows, usize::try_from(self.len() / self.rows.max(1) as u64).unwrap_or(usize::MAX))
    }
}

fn plus_row(values: &[f32], row: &[f32]) -> Vec<f32> {
    values.chunks_exact(row.len()).flat_map(|chunk| chunk.iter().zip(row).map(|(value, more)| value + more)).collect()
}

impl Model<CheckpointTensor> {
    /// Names of all checkpoint tensors that the model reads.
    pub fn names(&self) -> Vec<String> {
        names(self)
    }

    /// Names of all checkpoint tensors, grouped in the order of block-wise loading: the embedding, each block (the last
    /// one with the final norm), and the output head if there is one. A file that the groups cover completely can be
    /// verified against its hash.
    pub fn groups(&self) -> Vec<Vec<String>> {
        let mut groups = vec![names(&self.embedding)];
        groups.extend(self.blocks.iter().map(names));
        if let Some(last) = groups.last_mut() {
            last.extend(names(&self.final_norm));
        }
        groups.extend(self.head.iter().map(|head| {
            let mut group = names(head);
            group.extend(names(&self.projection));
            group
        }));
        groups
    }

    /// Stored bytes of these tensors, not counting those of which only one row is added.
    pub fn stored_bytes(&self, weights: &Weights) -> u64 {
        let names: HashSet<String> = places(self).into_iter().map(|place| place.name).collect();
        names.iter().map(|name| weights.bytes(name)).sum()
    }

    /// Bytes of all tensors in f32, each once.
    pub fn f32_bytes(&self) -> u64 {
        places(self).into_iter().collect::<HashSet<_>>().iter().map(|place| 4 * place.len()).sum()
    }

    /// Device bytes in block-wise loading, where the next block is loaded alongside the current one: twice the largest
    /// block, or the output head if larger. If `keeps_halves`, 16-bit matrices keep their format; all else is f32.
    pub fn device_bytes(&self, weights: &Weights, keeps_halves: bool) -> u64 {
        let size = |stored: &CheckpointTensor| {
            let is_half = keeps_halves && stored.storage(weights) != Storage::F32;
            if is_half { 2 * stored.len() } else { 4 * stored.len() }
        };
        let blocks = self.blocks.iter().map(|block| places(block).iter().map(size).sum::<u64>());
        let head = places(&self.head).iter().map(size).sum::<u64>();
        (2 * blocks.max().unwrap_or_default()).max(head)
    }

    /// Name and f32 bytes of its largest tensor on a device.
    pub fn largest(&self) -> (String, u64) {
        let mut largest = (String::new(), 0);
        for stored in places(self) {
            if 4 * stored.len() > largest.1 {
                largest = (stored.name.clone(), 4 * stored.len());
            }
        }
        largest
    }
}

/// Names of all checkpoint tensors that a part reads, sorted and unique.
pub(super) fn names<P: ModelPart<CheckpointTensor> + Clone>(part: &P) -> Vec<String> {
    let mut names: Vec<String> = places(part).iter().flat_map(CheckpointTensor::names).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// All tensors of a part.
pub(super) fn places<P: ModelPart<CheckpointTensor> + Clone>(part: &P) -> Vec<CheckpointTensor> {
    let mut places = Vec::new();
    let taken: Result<P::Of<()>> = part.clone().map(&mut |place| {
        places.push(place);
        Ok(())
    });
    assert!(taken.is_ok(), "nothing here fails");
    places
}

impl CheckpointTensor {
    /// Columns in the checkpoint; a vector is one row.
    fn cols(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Elements on the device.
    fn len(&self) -> u64 {
        let all: u64 = self.shape.iter().map(|&size| size as u64).product();
        match &self.arrangement {
            Arrangement::Same | Arrangement::PlusOne | Arrangement::Zeros => all,
            Arrangement::RowRange(rows) => all / self.shape[0] as u64 * rows.len() as u64,
            Arrangement::PlusFirstRow { first, .. } => all - (first * self.cols()) as u64,
            Arrangement::Columns(columns) => all / self.cols() as u64 * columns.len() as u64,
            Arrangement::HeadPart { .. } => all / 3,
            Arrangement::Rows { occurring, of } => all / *of as u64 * occurring.len() as u64,
        }
    }
}
