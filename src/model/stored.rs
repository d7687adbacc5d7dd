//! A model before it is loaded: which checkpoint tensor becomes which tensor of the model, and how it is rearranged.

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

/// A tensor of a model, still in its checkpoint, where it is known to be there in this shape and a supported format.
/// Equal places become one tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckpointTensor {
    pub(super) name: String,
    /// Shape in the checkpoint.
    pub(super) shape: Vec<usize>,
    /// Rows on the device.
    pub(super) rows: usize,
    pub(super) arrangement: Arrangement,
}

/// How the values of a checkpoint tensor become those of a model's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arrangement {
    /// As they are stored.
    Same,
    /// These columns, transposed.
    Columns(Range<usize>),
    /// One of three parts that alternate by heads.
    HeadPart { part: usize, head_dim: usize, width: usize },
    /// With the first row of another tensor, which has so many rows, added to each row.
    PlusFirstRow { name: String, rows: usize },
    /// The rows of some tokens alone, of so many rows in the checkpoint.
    Rows { wanted: Rc<TokenRows>, of: usize },
}

/// Elements of a table that are decoded at once where only some of its rows are kept.
const PIECE: usize = 1 << 20;

impl CheckpointTensor {
    /// Name in the checkpoint.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a weight stored `(in, out)`, as GPT-2 does, not `(out, in)`.
    pub fn inputs_first(&self) -> bool {
        matches!(self.arrangement, Arrangement::Columns(_))
    }

    /// How a device may keep it: matrices as the checkpoint does, which loses nothing, and all else in f32.
    pub(super) fn storage(&self, weights: &Weights) -> Storage {
        let is_sum = matches!(self.arrangement, Arrangement::PlusFirstRow { .. });
        if is_sum || self.shape.len() < 2 { Storage::F32 } else { weights.storage(&self.name) }
    }

    /// The rows of some tokens alone, of a table as it is stored.
    pub(super) fn with_rows(self, wanted: &Rc<TokenRows>) -> Self {
        let of = self.rows;
        Self { rows: wanted.len(), arrangement: Arrangement::Rows { wanted: wanted.clone(), of }, ..self }
    }

    /// Whether it is read by and by, and never as a whole.
    pub(super) fn is_piecemeal(&self) -> bool {
        matches!(self.arrangement, Arrangement::Rows { .. })
    }

    /// All values of the checkpoint's tensor.
    pub(super) async fn read(&self, weights: &Weights) -> Result<Vec<f32>> {
        weights.tensor(&self.name, &self.shape).await
    }

    /// Names of the checkpoint tensors that it takes.
    fn names(&self) -> impl Iterator<Item = &str> {
        let other = match &self.arrangement {
            Arrangement::PlusFirstRow { name, .. } => Some(name.as_str()),
            _ => None,
        };
        [self.name.as_str()].into_iter().chain(other)
    }

    /// The tensor's shape on a device and its values there, made of all `values` of the checkpoint's.
    pub(super) async fn arrange(&self, weights: &Weights, values: &[f32]) -> Result<(Shape, Option<Vec<f32>>)> {
        let arranged = match &self.arrangement {
            Arrangement::Same => None,
            Arrangement::Columns(columns) => Some(transposed_columns(values, self.cols(), columns.clone())),
            Arrangement::HeadPart { part, head_dim, width } => {
                Some(interleaved_part(values, 3, *part, *head_dim, *width))
            }
            Arrangement::PlusFirstRow { name, rows } => {
                let width = self.cols();
                let others = weights.tensor(name, &[*rows, width]).await?;
                Some(plus_row(values, &others[..width]))
            }
            Arrangement::Rows { wanted, of } => Some(self.some_rows(weights, wanted, *of).await?),
        };
        Ok((self.device_shape(), arranged))
    }

    async fn some_rows(&self, weights: &Weights, wanted: &TokenRows, of: usize) -> Result<Vec<f32>> {
        let (mut kept, cols) = (Vec::with_capacity(self.rows * self.cols()), self.cols());
        let step = (PIECE / cols).max(1);
        for first in (0..of).step_by(step) {
            let ids = first..of.min(first + step);
            wanted.pick(ids.clone(), &weights.matrix_rows(&self.name, ids, cols).await?, cols, &mut kept);
            yield_now().await;
        }
        Ok(kept)
    }

    /// Shape on a device.
    pub(super) fn device_shape(&self) -> Shape {
        Shape::new(self.rows, self.len() as usize / self.rows.max(1))
    }
}

fn plus_row(values: &[f32], row: &[f32]) -> Vec<f32> {
    values.chunks_exact(row.len()).flat_map(|chunk| chunk.iter().zip(row).map(|(value, more)| value + more)).collect()
}

impl Model<CheckpointTensor> {
    /// Names of all checkpoint tensors that it takes.
    pub fn names(&self) -> Vec<String> {
        names(self)
    }

    /// Names of all checkpoint tensors in the groups in which they are read where a block at a time is: the embedding,
    /// every block, the last one with the norm after it, and the output head where there is one. A file of which all is
    /// in some group can be compared with its hash in the end.
    pub fn groups(&self) -> Vec<Vec<String>> {
        let mut groups = vec![names(&self.embedding)];
        groups.extend(self.blocks.iter().map(names));
        if let Some(last) = groups.last_mut() {
            last.extend(names(&self.final_norm));
        }
        groups.extend(self.head.iter().map(names));
        groups
    }

    /// Bytes of these tensors as they are stored, less what only a row is added of.
    pub fn stored_bytes(&self, weights: &Weights) -> u64 {
        let names: HashSet<String> = places(self).into_iter().map(|place| place.name).collect();
        names.iter().map(|name| weights.bytes(name)).sum()
    }

    /// Bytes that it takes on a device where a block at a time is there, beside the next one: the largest two blocks, or
    /// the output head. A device that `keeps_halves` stores matrices of 16-bit formats as they are, all else is f32.
    pub fn device_bytes(&self, weights: &Weights, keeps_halves: bool) -> u64 {
        let size = |stored: &CheckpointTensor| {
            let is_half = keeps_halves && stored.storage(weights) != Storage::F32;
            if is_half { 2 * stored.len() } else { 4 * stored.len() }
        };
        let blocks = self.blocks.iter().map(|block| places(block).iter().map(size).sum::<u64>());
        let head = places(&self.head).iter().map(size).sum::<u64>();
        (2 * blocks.max().unwrap_or_default()).max(head)
    }

    /// Bytes of its largest tensor on a device, in f32, with the tensor's name.
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

/// Names of all checkpoint tensors that a part of a model takes.
pub(super) fn names<P: ModelPart<CheckpointTensor> + Clone>(part: &P) -> Vec<String> {
    let mut names: Vec<String> = places(part).iter().flat_map(CheckpointTensor::names).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// All places of a part of a model.
pub(super) fn places<P: ModelPart<CheckpointTensor> + Clone>(part: &P) -> Vec<CheckpointTensor> {
    let mut places = Vec::new();
    let taken: Result<P::Of<()>> = part.clone().map(&mut |place| {
        places.push(place);
        Ok(())
    });
    debug_assert!(taken.is_ok(), "nothing here fails");
    places
}

impl CheckpointTensor {
    /// Columns in the checkpoint, where a vector is one row.
    fn cols(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Elements on the device.
    fn len(&self) -> u64 {
        let all: u64 = self.shape.iter().map(|&size| size as u64).product();
        match &self.arrangement {
            Arrangement::Same | Arrangement::PlusFirstRow { .. } => all,
            Arrangement::Columns(columns) => all / self.cols() as u64 * columns.len() as u64,
            Arrangement::HeadPart { .. } => all / 3,
            Arrangement::Rows { wanted, of } => all / *of as u64 * wanted.len() as u64,
        }
    }
}
