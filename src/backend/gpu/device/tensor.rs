//! Buffers, the pool that reuses them, and tensors.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::{Shape, Storage};

/// Maximum bytes of freed buffers that the pool keeps.
const POOL_BYTES: u64 = 256 << 20;

/// Bytes of all existing buffers, over all devices of the process.
static ALLOCATED: AtomicU64 = AtomicU64::new(0);
/// The maximum of [`ALLOCATED`] since [`Memory::restart_peak`].
static PEAK: AtomicU64 = AtomicU64::new(0);

/// Device memory in buffers, over all devices of the process, including freed buffers kept for reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes now.
    pub allocated: u64,
    /// Maximum bytes since [`Memory::restart_peak`].
    pub peak: u64,
}

impl Memory {
    /// The counters as they stand.
    pub fn now() -> Self {
        Self { allocated: ALLOCATED.load(Ordering::Relaxed), peak: PEAK.load(Ordering::Relaxed) }
    }

    /// Resets the peak to the bytes allocated now.
    pub fn restart_peak() {
        PEAK.store(ALLOCATED.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A row-major array on the device; cloning shares it.
#[derive(Clone)]
pub struct Tensor {
    pub(in crate::backend::gpu) shape: Shape,
    /// f32, or two values to a word (`packed`).
    pub(in crate::backend::gpu) storage: Storage,
    /// Consecutive rows; a single part unless the tensor is larger than a binding.
    pub(in crate::backend::gpu) parts: Rc<[Part]>,
}

/// Rows of a tensor in one buffer.
pub(in crate::backend::gpu) struct Part {
    pub(in crate::backend::gpu) first_row: usize,
    pub(in crate::backend::gpu) rows: usize,
    pub(in crate::backend::gpu) buffer: Rc<Buffer>,
}

/// A buffer that returns to its pool when its last reference is dropped.
pub(in crate::backend::gpu) struct Buffer {
    pub(in crate::backend::gpu) raw: Allocation,
    /// Bytes in use, at most the buffer's own size.
    pub(in crate::backend::gpu) size: u64,
    /// Whether kernels may reuse the buffer. A buffer that the host wrote, such as a weight, is destroyed instead.
    reusable: bool,
    pool: Weak<Pool>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.put(self.raw.clone(), self.reusable);
        }
    }
}

/// A device buffer, counted until only commands refer to it.
#[derive(Clone)]
pub(in crate::backend::gpu) struct Allocation(Rc<Counted>);

struct Counted(wgpu::Buffer);

impl Allocation {
    fn new(device: &wgpu::Device, size: u64) -> Self {
        let allocated = ALLOCATED.fetch_add(size, Ordering::Relaxed) + size;
        PEAK.fetch_max(allocated, Ordering::Relaxed);
        Self(Rc::new(Counted(create(device, size))))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALLOCATED.fetch_sub(self.0.size(), Ordering::Relaxed);
    }
}

impl Deref for Allocation {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.0.0
    }
}

/// Freed buffers: reusable ones by size, and those to be destroyed.
///
/// Destruction is explicit because a browser's garbage collector does not see how much memory a buffer holds.
#[derive(Default)]
pub(in crate::backend::gpu) struct Pool {
    free: RefCell<BTreeMap<u64, Vec<Allocation>>>,
    bytes: Cell<u64>,
    doomed: RefCell<Vec<Allocation>>,
}

impl Pool {
    /// A buffer of `size` bytes for a kernel to write; its contents are undefined. It may be up to half as large again:
    /// sizes of temporary buffers follow the pace of the device, and buffers of every size would fill the pool.
    ///
    /// Never write to it from the host: such writes overtake the commands already recorded for its former contents.
    pub(in crate::backend::gpu) fn take(self: &Rc<Self>, device: &wgpu::Device, size: u64) -> Rc<Buffer> {
        let rounded = round(size);
        let raw = self.smallest_freed(rounded).unwrap_or_else(|| Allocation::new(device, rounded));
        Rc::new(Buffer { raw, size, reusable: true, pool: Rc::downgrade(self) })
    }

    /// Takes the smallest freed buffer of `size` bytes or up to half as many again.
    fn smallest_freed(&self, size: u64) -> Option<Allocation> {
        let mut free = self.free.borrow_mut();
        let mut fitting = free.range_mut(size..=size + size / 2);
        let freed = fitting.find_map(|(_, buffers)| buffers.pop())?;
        self.bytes.set(self.bytes.get() - freed.size());
        Some(freed)
    }

    /// A new buffer of zeros that the host may write to.
    pub(in crate::backend::gpu) fn fresh(self: &Rc<Self>, device: &wgpu::Device, size: u64) -> Rc<Buffer> {
        let raw = Allocation::new(device, round(size));
        Rc::new(Buffer { raw, size, reusable: false, pool: Rc::downgrade(self) })
    }

    /// Destroys the buffers that are not reusable. Call it only right after a submission: recorded commands may still
    /// refer to them.
    pub(in crate::backend::gpu) fn destroy_doomed(&self) {
        self.doomed.take().iter().for_each(|doomed| doomed.destroy());
    }

    fn put(&self, raw: Allocation, reusable: bool) {
        let size = raw.size();
        if !reusable || self.bytes.get() + size > POOL_BYTES {
            self.doomed.borrow_mut().push(raw);
            return;
        }
        self.bytes.set(self.bytes.get() + size);
        self.free.borrow_mut().entry(size).or_default().push(raw);
    }
}

fn create(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Rounds sizes up, so that batches of similar size share buffers and no binding is empty.
fn round(size: u64) -> u64 {
    size.max(1).next_multiple_of(256)
}

#[cfg(test)]
mod tests {
    use super::super::engine::tests::with_engine;

    #[test]
    fn a_freed_buffer_serves_smaller_requests_of_similar_size() {
        with_engine(async |engine| {
            let taken = |size| engine.output(size).raw.size();
            assert_eq!(taken(3000), 3072);
            assert_eq!([taken(2900), taken(2100)], [3072, 3072], "the freed one is used again");
            assert_eq!(taken(1500), 1536, "but not for half of its size");
            assert_eq!(taken(3100), 3328, "nor for more");
            assert_eq!(taken(2100), 3072, "the smallest that fits");
            assert_eq!(engine.pool.bytes.get(), 3072 + 1536 + 3328);
            let (first, second) = (engine.output(3000), engine.output(3000));
            assert_eq!([first.raw.size(), second.raw.size()], [3072, 3328], "each serves one request at a time");
            assert_eq!(engine.pool.bytes.get(), 1536);
        });
    }
}
