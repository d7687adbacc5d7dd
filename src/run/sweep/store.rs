//! Stores rows between two visits: on the device within a budget, then in memory, then in a file.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::spill::{ScratchFile, SpillFile};
use crate::backend::{Backend, Shape};
use crate::error::Result;

/// Default budget in bytes on a device with its own memory: what the smallest GPUs can spare.
const ON_DEVICE: u64 = 256 << 20;
/// Default budget in bytes of main memory.
const IN_MEMORY: u64 = 1 << 30;

/// Keeps row tensors until they are needed again, in the first tier with room.
pub(in crate::run) struct RowStore<'a, B> {
    backend: &'a B,
    tiers: Rc<Tiers>,
}

/// A stored tensor. Dropping it frees its room.
pub(in crate::run) struct StoredRows<T> {
    place: Location<T>,
    shape: Shape,
    tiers: Rc<Tiers>,
}

enum Location<T> {
    /// The tensor itself.
    Device(T),
    /// Its values, row-major.
    Memory(Vec<f32>),
    /// Byte offset of its values.
    File(u64),
}

/// The usage of each tier.
struct Tiers {
    device: Tier,
    memory: Tier,
    /// `None` if memory takes the remainder.
    spill: Option<RefCell<SpillFile>>,
}

struct Tier {
    used: Cell<u64>,
    most: u64,
}

impl Tier {
    fn new(most: u64) -> Self {
        Self { used: Cell::new(0), most }
    }

    /// Reserves `bytes` if they fit.
    fn take(&self, bytes: u64) -> bool {
        let used = self.used.get() + bytes;
        let fits = used <= self.most;
        if fits {
            self.used.set(used);
        }
        fits
    }

    /// Reserves `bytes` even beyond the limit.
    fn put(&self, bytes: u64) {
        self.used.set(self.used.get() + bytes);
    }

    fn give(&self, bytes: u64) {
        self.used.set(self.used.get() - bytes);
    }
}

impl<T> StoredRows<T> {
    /// Its rows.
    pub(in crate::run) fn rows(&self) -> usize {
        self.shape.rows
    }

    /// Its columns.
    pub(in crate::run) fn cols(&self) -> usize {
        self.shape.cols
    }
}

impl<T> Drop for StoredRows<T> {
    fn drop(&mut self) {
        let bytes = bytes(self.shape);
        match self.place {
            Location::Device(_) => self.tiers.device.give(bytes),
            Location::Memory(_) => self.tiers.memory.give(bytes),
            Location::File(at) => self.tiers.spill.iter().for_each(|spill| spill.borrow_mut().free(at, bytes)),
        }
    }
}

impl<'a, B: Backend> RowStore<'a, B> {
    /// A store of `budget` bytes per tier (`None`: the defaults), with `file` as the last tier. If device tensors lie
    /// in main memory, device and memory are one tier.
    pub(in crate::run) fn new(backend: &'a B, budget: Option<u64>, file: Option<Rc<dyn ScratchFile>>) -> Self {
        let memory = budget.unwrap_or(IN_MEMORY);
        let (device, memory) = if B::IN_MEMORY { (memory, 0) } else { (budget.unwrap_or(ON_DEVICE), memory) };
        let spill = file.map(|file| RefCell::new(SpillFile::new(file)));
        let tiers = Tiers { device: Tier::new(device), memory: Tier::new(memory), spill };
        Self { backend, tiers: Rc::new(tiers) }
    }

    /// Stores a tensor.
    pub(in crate::run) async fn keep(&self, tensor: B::Tensor) -> Result<StoredRows<B::Tensor>> {
        let shape = self.backend.shape(&tensor);
        let bytes = bytes(shape);
        let place = if self.tiers.device.take(bytes) {
            Location::Device(tensor)
        } else {
            let values = self.backend.read(&tensor).await?;
            match &self.tiers.spill {
                Some(spill) if !self.tiers.memory.take(bytes) => Location::File(spill.borrow_mut().write(&values)?),
                Some(_) => Location::Memory(values),
                None => {
                    self.tiers.memory.put(bytes);
                    Location::Memory(values)
                }
            }
        };
        Ok(StoredRows { place, shape, tiers: self.tiers.clone() })
    }

    /// Stores a tensor if there is one.
    pub(in crate::run) async fn keep_some(&self, tensor: Option<B::Tensor>) -> Result<Option<StoredRows<B::Tensor>>> {
        match tensor {
            Some(tensor) => self.keep(tensor).await.map(Some),
            None => Ok(None),
        }
    }

    /// The tensor, uploaded again if it was moved off the device.
    pub(in crate::run) fn tensor(&self, kept: &StoredRows<B::Tensor>) -> Result<B::Tensor> {
        match &kept.place {
            Location::Device(tensor) => Ok(tensor.clone()),
            Location::Memory(values) => self.backend.upload("rows", kept.shape, values),
            Location::File(at) => self.backend.upload("rows", kept.shape, &self.spilled(*at, kept.shape)?),
        }
    }

    /// Its values, row-major.
    pub(in crate::run) async fn values(&self, kept: &StoredRows<B::Tensor>) -> Result<Vec<f32>> {
        match &kept.place {
            Location::Device(tensor) => self.backend.read(tensor).await,
            Location::Memory(values) => Ok(values.clone()),
            Location::File(at) => self.spilled(*at, kept.shape),
        }
    }

    /// The values of several tensors, with one device readback for all.
    pub(in crate::run) async fn values_of(&self, kept: &[&StoredRows<B::Tensor>]) -> Result<Vec<Vec<f32>>> {
        let on_device = |kept: &&&StoredRows<B::Tensor>| matches!(kept.place, Location::Device(_));
        let tensors = kept.iter().filter(on_device).map(|kept| self.tensor(kept)).collect::<Result<Vec<_>>>()?;
        let mut read = self.backend.read_all(&tensors.iter().collect::<Vec<_>>()).await?.into_iter();
        let mut all = Vec::with_capacity(kept.len());
        for kept in kept {
            all.push(match &kept.place {
                Location::Device(_) => read.next().unwrap_or_default(),
                Location::Memory(values) => values.clone(),
                Location::File(at) => self.spilled(*at, kept.shape)?,
            });
        }
        Ok(all)
    }

    fn spilled(&self, at: u64, shape: Shape) -> Result<Vec<f32>> {
        match &self.tiers.spill {
            Some(spill) => spill.borrow().read(at, shape.len()),
            None => Ok(Vec::new()),
        }
    }
}

fn bytes(shape: Shape) -> u64 {
    4 * shape.len() as u64
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::super::spill::temporary;
    use super::*;
    use crate::backend::cpu::CpuBackend;

    #[test]
    fn what_does_not_fit_goes_to_the_next_place_and_comes_back_alike() {
        let backend = CpuBackend::new();
        let shape = Shape::new(3, 2);
        let values = |first: usize| (first..first + 6).map(|value| value as f32 / 7.0).collect::<Vec<_>>();
        // Room for two tensors of 24 bytes.
        let store = RowStore::new(&backend, Some(50), temporary());
        let keep = |first| block_on(store.keep(backend.upload("rows", shape, &values(first)).expect("rows")));
        let mut kept: Vec<StoredRows<_>> = (0..5).map(|first| keep(first).expect("room")).collect();
        let places = |kept: &[StoredRows<_>]| {
            kept.iter().map(|kept| matches!(kept.place, Location::Device(_))).collect::<Vec<_>>()
        };
        assert_eq!(places(&kept), [true, true, false, false, false]);
        let check = |kept: &StoredRows<_>, first: usize| {
            assert_eq!(block_on(store.values(kept)).expect("values"), values(first));
            let tensor = store.tensor(kept).expect("a tensor");
            assert_eq!(block_on(backend.read(&tensor)).expect("values"), values(first));
        };
        kept.iter().enumerate().for_each(|(first, kept)| check(kept, first));
        drop(kept.remove(1));
        drop(kept.remove(2));
        kept.extend([keep(10).expect("room"), keep(20).expect("room")]);
        assert_eq!(places(&kept), [true, false, false, true, false], "room that was given back is used");
        for (kept, first) in kept.iter().zip([0, 2, 4, 10, 20]) {
            check(kept, first);
        }
        let bytes = store.tiers.spill.as_ref().map(|spill| spill.borrow().bytes());
        assert_eq!(bytes, Some(3 * 24), "in the file too");
    }
}
