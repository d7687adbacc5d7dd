//! A model before it is loaded: which checkpoint tensor becomes which tensor of the model, and how it is rearranged.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::Model;
use super::layout::{interleaved_part, transposed_columns};
use crate::backend::{Shape, Storage};
use crate::error::Result;
use crate::weights::Weights;

/// A tensor of a model, still in its checkpoint, where it is known to be there in this shape and a supported format.
/// Equal places become one tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stored {
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
}

impl Stored {
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
        };
        let len = arranged.as_ref().map_or(values.len(), Vec::len);
        Ok((Shape::new(self.rows, len / self.rows), arranged))
    }
}

fn plus_row(values: &[f32], row: &[f32]) -> Vec<f32> {
    values.chunks_exact(row.len()).flat_map(|chunk| chunk.iter().zip(row).map(|(value, more)| value + more)).collect()
}

impl Model<Stored> {
    /// Every tensor with the places that are made of it, in the order in which the files have them.
    pub(super) fn by_tensor(&self, weights: &Weights) -> Vec<Vec<Stored>> {
        let mut tensors: BTreeMap<_, Vec<Stored>> = BTreeMap::new();
        self.each(&mut |stored| {
            let uses = tensors.entry(weights.part(&stored.name)).or_default();
            if !uses.contains(stored) {
                uses.push(stored.clone());
            }
        });
        tensors.into_values().collect()
    }

    /// Names of all checkpoint tensors that it takes.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.each(&mut |stored| names.extend(stored.names().map(str::to_owned)));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Bytes that it takes on a device: one that `keeps_halves` stores matrices of 16-bit formats as they are, all else
    /// is f32.
    pub fn device_bytes(&self, weights: &Weights, keeps_halves: bool) -> u64 {
        let mut seen = HashSet::new();
        let mut bytes = 0;
        self.each(&mut |stored| {
            if seen.insert(stored.clone()) {
                let is_half = keeps_halves && stored.storage(weights) != Storage::F32;
                bytes += if is_half { 2 } else { 4 } * stored.len();
            }
        });
        bytes
    }

    /// Bytes of its largest tensor on a device, in f32, with the tensor's name.
    pub fn largest(&self) -> (String, u64) {
        let mut largest = (String::new(), 0);
        self.each(&mut |stored| {
            if 4 * stored.len() > largest.1 {
                largest = (stored.name.clone(), 4 * stored.len());
            }
        });
        largest
    }

    fn each(&self, take: &mut dyn FnMut(&Stored)) {
        let taken: Result<Model<()>> = self.clone().map(&mut |stored| {
            take(&stored);
            Ok(())
        });
        debug_assert!(taken.is_ok(), "nothing here fails");
    }
}

impl Stored {
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
        }
    }
}
