//! All tensors of a model by name, over one file or several shards.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use safetensors::tensor::Dtype;
use serde::Deserialize;

use super::decode::Format;
use super::place::{Places, TensorPlace};
use super::source::{FilePart, Files, is_plain_name, read_whole};
use super::{header, torch};
use crate::backend::Storage;
use crate::error::{Error, Result};
use crate::platform::digest::{Digest, sha256};
use crate::platform::yielding::yield_now;

/// Callback with the bytes done and the total.
pub type ByteProgress<'a> = &'a dyn Fn(u64, u64);

/// A model's only weight file, or the index of its shards, by preference.
const LAYOUTS: [(&str, &str); 2] =
    [("model.safetensors", "model.safetensors.index.json"), ("pytorch_model.bin", "pytorch_model.bin.index.json")];

/// Ending of PyTorch's files; all others are safetensors.
const TORCH: &str = ".bin";

/// Bytes read at a time: the most that is held in stored format. A multiple of every element size.
const PIECE: usize = 8 << 20;

/// The tensors of a model, still in their files.
pub struct Weights {
    files: Rc<dyn Files>,
    /// Sizes of the weight files, ordered by name.
    sizes: BTreeMap<String, u64>,
    tensors: BTreeMap<String, StoredTensor>,
}

/// A tensor with its file.
struct StoredTensor {
    file: Rc<str>,
    place: TensorPlace,
}

/// The index: maps tensors to shards.
#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

/// Whether a file may hold a model's weights, by its name.
pub fn is_weight_file(name: &str) -> bool {
    name.ends_with(".safetensors") || name.ends_with(TORCH)
}

/// Whether a model whose files are those that `has` names has weights.
pub fn has_weights(has: impl Fn(&str) -> bool) -> bool {
    LAYOUTS.iter().any(|(single, index)| has(single) || has(index))
}

/// Whether such a model has its weights as safetensors.
pub fn has_safetensors(has: impl Fn(&str) -> bool) -> bool {
    let (single, index) = LAYOUTS[0];
    has(single) || has(index)
}

impl Weights {
    /// Reads the description of the tensors: in `model.safetensors` or the shards of its index, otherwise in
    /// `pytorch_model.bin` or its shards.
    pub async fn open(files: Rc<dyn Files>) -> Result<Self> {
        for (single, index) in LAYOUTS {
            if files.size(single).await?.is_some() {
                return Self::open_file(files, single).await;
            }
            if files.size(index).await?.is_some() {
                return Self::open_shards(files, index).await;
            }
        }
        let [(safetensors, index), (torch, _)] = LAYOUTS;
        let hint = format!(
            "put it, {index} with its shards, or {torch} beside config.json, and convert other formats to safetensors \
             first"
        );
        Err(Error::MissingFile { file: safetensors.into(), hint })
    }

    /// Reads the description of the tensors in one file.
    pub async fn open_file(files: Rc<dyn Files>, file: &str) -> Result<Self> {
        let mut weights = Self { files, sizes: BTreeMap::new(), tensors: BTreeMap::new() };
        let places = weights.places(file).await?;
        weights.take(file, places);
        Ok(weights)
    }

    async fn open_shards(files: Rc<dyn Files>, index: &'static str) -> Result<Self> {
        let json = read_whole(&*files, index, "restore it").await?;
        let shards = tensors_by_shard(&json, index)?;
        let mut weights = Self { files, sizes: BTreeMap::new(), tensors: BTreeMap::new() };
        for (shard, tensors) in shards {
            let mut places = weights.places(&shard).await?;
            if let Some(name) = tensors.iter().find(|name| !places.contains_key(*name)) {
                return Err(malformed(&shard, format!("it lacks tensor {name}, which {index} places there")));
            }
            places.retain(|name, _| tensors.contains(name));
            weights.take(&shard, places);
        }
        Ok(weights)
    }

    async fn places(&mut self, file: &str) -> Result<Places> {
        let hint = "the model is incomplete without it, download it too";
        let size = self.files.size(file).await?;
        let size = size.ok_or_else(|| Error::MissingFile { file: file.into(), hint: hint.into() })?;
        self.sizes.insert(file.into(), size);
        let places = match file.ends_with(TORCH) {
            true => torch::read(&*self.files, file, size).await,
            false => header::read(&*self.files, file, size).await,
        };
        if matches!(places, Err(Error::MalformedWeights { .. } | Error::MalformedTorch { .. })) {
            self.files.report_damaged(file).await?;
        }
        places
    }

    fn take(&mut self, file: &str, places: Places) {
        let file: Rc<str> = file.into();
        let stored = |(name, place)| (name, StoredTensor { file: file.clone(), place });
        self.tensors.extend(places.into_iter().map(stored));
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Shape of a tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|stored| &*stored.place.shape)
    }

    /// Stored bytes of a tensor; 0 if it does not exist.
    pub fn bytes(&self, name: &str) -> u64 {
        self.tensors.get(name).map_or(0, StoredTensor::len)
    }

    /// Names of all tensors, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Passes the stored bytes of a tensor to `take`, in pieces.
    pub async fn copy(&self, name: &str, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let stored = self.stored(name)?;
        for start in stored.place.bytes.clone().step_by(PIECE) {
            take(&self.files.read(&stored.file, start..stored.place.bytes.end.min(start + PIECE as u64)).await?)?;
            yield_now().await;
        }
        Ok(())
    }

    /// Storage format of a tensor; F32 if it does not exist.
    pub fn storage(&self, name: &str) -> Storage {
        match self.tensors.get(name).and_then(|stored| Format::of(stored.place.dtype)) {
            Some(Format::F16) => Storage::F16,
            Some(Format::Bf16) => Storage::Bf16,
            Some(Format::F32) | None => Storage::F32,
        }
    }

    /// Format of a tensor in its file, supported or not.
    pub(super) fn format(&self, name: &str) -> Option<Dtype> {
        self.tensors.get(name).map(|stored| stored.place.dtype)
    }

    /// Revision of the model, if its source knows it.
    pub fn revision(&self) -> Option<String> {
        self.files.revision()
    }

    /// Stored bytes of all tensors.
    pub fn total_bytes(&self) -> u64 {
        self.tensors.values().map(StoredTensor::len).sum()
    }

    /// Storage format of most elements (`F32`, `F16` or `BF16`); `None` if no tensor has one of these.
    pub fn dtype(&self) -> Option<&'static str> {
        let mut elements = BTreeMap::new();
        for stored in self.tensors.values() {
            if let Some(format) = Format::of(stored.place.dtype) {
                *elements.entry(format).or_insert(0) += stored.len() / format.size() as u64;
            }
        }
        elements.into_iter().max_by_key(|(_, count)| *count).map(|(format, _)| format.name())
    }

    /// Checks that a tensor of this name exists with this shape in a supported format.
    pub fn check(&self, name: &str, shape: &[usize]) -> Result<()> {
        let stored = self.stored(name)?;
        if stored.place.shape != shape {
            let (tensor, found, expected) = (name.into(), stored.place.shape.clone(), shape.to_vec());
            return Err(Error::TensorShape { tensor, found, expected });
        }
        stored.format(name).map(drop)
    }

    /// File and byte range of a tensor; empty if it does not exist.
    pub(crate) fn part(&self, name: &str) -> (Rc<str>, u64, u64) {
        self.tensors.get(name).map_or_else(
            || ("".into(), 0, 0),
            |stored| (stored.file.clone(), stored.place.bytes.start, stored.place.bytes.end),
        )
    }

    /// Announces to the source which tensors will be read, in groups in reading order.
    pub async fn announce(&self, groups: &[Vec<String>]) -> Result<()> {
        let groups: Vec<Vec<FilePart>> = groups.iter().map(|names| self.parts(names)).collect();
        self.files.announce(&groups).await
    }

    /// Prefetches these tensors.
    pub async fn prepare(&self, names: &[String]) -> Result<()> {
        self.files.prepare(&self.parts(names)).await
    }

    /// The file ranges of these tensors.
    pub fn parts(&self, names: &[String]) -> Vec<FilePart> {
        let stored = names.iter().filter_map(|name| self.tensors.get(name));
        stored.map(|stored| (stored.file.to_string(), stored.place.bytes.clone())).collect()
    }

    /// Reads a tensor, row-major, after checking its shape; fails if an element is not finite.
    pub async fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.check(name, shape)?;
        self.elements(name, self.stored(name)?, 0..shape.iter().map(|&side| side as u64).product()).await
    }

    /// Reads the rows `rows` of a matrix with `cols` columns, row-major and finite. The caller has checked the shape.
    pub(crate) async fn matrix_rows(&self, name: &str, rows: Range<usize>, cols: usize) -> Result<Vec<f32>> {
        // On 32 bits a file may have more elements than addresses.
        let [start, end] = [rows.start, rows.end].map(|row| row as u64 * cols as u64);
        self.elements(name, self.stored(name)?, start..end).await
    }

    fn stored(&self, name: &str) -> Result<&StoredTensor> {
        let stored = self.tensors.get(name).ok_or_else(|| Error::MissingTensor { tensor: name.into() })?;
        match &stored.place.strides {
            Some(strides) => Err(Error::TensorStrides { tensor: name.into(), strides: strides.clone() }),
            None => Ok(stored),
        }
    }

    async fn elements(&self, name: &str, stored: &StoredTensor, range: Range<u64>) -> Result<Vec<f32>> {
        let format = stored.format(name)?;
        let at = |element: u64| stored.place.bytes.start + element * format.size() as u64;
        let mut values = reserve(name, range.end - range.start)?;
        let piece = (PIECE / format.size()) as u64;
        for start in range.clone().step_by(piece as usize) {
            let end = range.end.min(start + piece);
            let bytes = self.files.read(&stored.file, at(start)..at(end)).await?;
            format.decode(&bytes, &mut values);
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(position) => {
                // On 32 bits a file may have more elements than a usize can count.
                let index = usize::try_from(range.start).map_or(usize::MAX, |start| start.saturating_add(position));
                Err(Error::NonFiniteTensor { tensor: name.into(), index })
            }
            None => Ok(values),
        }
    }

    /// SHA-256 of the weight file, as on the hub; for several files, SHA-256 of their concatenated hexadecimal hashes,
    /// ordered by name. A hash that the source knows is used without reading the file.
    pub async fn sha256(&self, on_bytes: ByteProgress<'_>) -> Result<String> {
        let total = self.sizes.values().sum();
        let (mut hashes, mut done) = (Vec::new(), 0);
        for (file, &size) in &self.sizes {
            let known = self.files.sha256(file);
            hashes.push(match known {
                Some(hash) => hash,
                None => self.file_sha256(file, size, &|part| on_bytes(done + part, total)).await?,
            });
            done += size;
            on_bytes(done, total);
        }
        match &hashes[..] {
            [hash] => Ok(hash.clone()),
            hashes => Ok(sha256(hashes.concat().as_bytes())),
        }
    }

    /// Whether [`Self::sha256`] was computed from the bytes of all files.
    pub fn is_verified(&self) -> bool {
        self.sizes.keys().all(|file| self.files.is_verified(file))
    }

    /// How many copies of the files their source has discarded as damaged so far.
    pub async fn discarded(&self) -> u64 {
        let mut copies = 0u64;
        for file in self.sizes.keys() {
            copies = copies.saturating_add(self.files.discarded(file).await);
        }
        copies
    }

    async fn file_sha256(&self, file: &str, size: u64, on_bytes: &dyn Fn(u64)) -> Result<String> {
        let mut digest = Digest::default();
        for start in (0..size).step_by(PIECE) {
            let end = size.min(start + PIECE as u64);
            digest.update(&self.files.read(file, start..end).await?);
            on_bytes(end);
            yield_now().await;
        }
        Ok(digest.hex())
    }
}

impl StoredTensor {
    fn format(&self, name: &str) -> Result<Format> {
        let unsupported = || Error::TensorDtype { tensor: name.into(), dtype: self.place.dtype.to_string() };
        Format::of(self.place.dtype).ok_or_else(unsupported)
    }

    fn len(&self) -> u64 {
        self.place.bytes.end - self.place.bytes.start
    }
}

/// The error about a file that contradicts itself or its index.
fn malformed(file: &str, why: String) -> Error {
    match file.ends_with(TORCH) {
        true => Error::MalformedTorch { file: file.into(), why },
        false => header::malformed(file, why),
    }
}

/// Room for the elements of a tensor, or an error if this machine cannot address or allocate it.
fn reserve(tensor: &str, elements: u64) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    let reserved = usize::try_from(elements).is_ok_and(|elements| values.try_reserve_exact(elements).is_ok());
    if reserved { Ok(values) } else { Err(Error::NoRoom { what: format!("tensor {tensor}: its {elements} values") }) }
}

/// Inverts the index: each shard with its tensors.
fn tensors_by_shard(json: &[u8], file: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let malformed = |why: String| Error::MalformedJson { file: file.into(), why };
    let index: ShardIndex = serde_json::from_slice(json).map_err(|error| malformed(error.to_string()))?;
    let mut shards: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (tensor, shard) in index.weight_map {
        if !is_plain_name(&shard) {
            return Err(malformed(format!("tensor {tensor} lies in {shard:?}, which is not a plain file name")));
        }
        shards.entry(shard).or_default().insert(tensor);
    }
    Ok(shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_room_are_told_as_such() {
        let sentence = reserve("lm_head.weight", u64::MAX).expect_err("no machine has it").of_rows().to_string();
        assert!(
            sentence.starts_with("tensor lm_head.weight: its 18446744073709551615 values do not fit"),
            "{sentence}"
        );
        assert!(!sentence.contains("readable"), "{sentence}");
        assert!(reserve("small", 3).expect("room").capacity() >= 3);
    }
}
