//! Buffers, the pool that hands them out again, and the tensors made of them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use crate::backend::Shape;

/// Freed buffers are kept up to this many bytes in all.
const POOL_BYTES: u64 = 256 << 20;

/// A row-major f32 array on the device; cloning shares it.
#[derive(Clone)]
pub struct Tensor {
    pub(super) shape: Shape,
    /// Consecutive rows; one part unless the whole is larger than a binding.
    pub(super) parts: Rc<[Part]>,
}

/// Rows of a tensor in one buffer.
pub(super) struct Part {
    pub(super) first_row: usize,
    pub(super) rows: usize,
    pub(super) buffer: Rc<Buffer>,
}

/// A buffer that returns to its pool when nothing refers to it any more.
pub(super) struct Buffer {
    pub(super) raw: wgpu::Buffer,
    /// Bytes in use, at most the buffer's own size.
    pub(super) size: u64,
    /// Whether kernels may get the buffer again. What the host wrote is gone with its owner: weights, above all.
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

/// Freed buffers: by size those to be used again, and those to be destroyed.
///
/// Destruction is explicit because a browser's garbage collector does not see how much memory a buffer holds.
#[derive(Default)]
pub(super) struct Pool {
    free: RefCell<HashMap<u64, Vec<wgpu::Buffer>>>,
    bytes: Cell<u64>,
    doomed: RefCell<Vec<wgpu::Buffer>>,
}

impl Pool {
    /// A buffer for `size` bytes that a kernel will write; its contents are whatever was there before.
    ///
    /// Never write to it from the host: writes overtake the commands already recorded on its former contents.
    pub(super) fn take(self: &Rc<Self>, device: &wgpu::Device, size: u64) -> Rc<Buffer> {
        let rounded = round(size);
        let freed = self.free.borrow_mut().get_mut(&rounded).and_then(Vec::pop);
        if freed.is_some() {
            self.bytes.set(self.bytes.get() - rounded);
        }
        let raw = freed.unwrap_or_else(|| create(device, rounded));
        Rc::new(Buffer { raw, size, reusable: true, pool: Rc::downgrade(self) })
    }

    /// A new buffer of zeros, which the host may write to.
    pub(super) fn fresh(self: &Rc<Self>, device: &wgpu::Device, size: u64) -> Rc<Buffer> {
        let raw = create(device, round(size));
        Rc::new(Buffer { raw, size, reusable: false, pool: Rc::downgrade(self) })
    }

    /// Destroys what is not to be used again. Only right after a submission: commands that are merely recorded may
    /// still refer to it.
    pub(super) fn destroy_doomed(&self) {
        self.doomed.take().iter().for_each(wgpu::Buffer::destroy);
    }

    fn put(&self, raw: wgpu::Buffer, reusable: bool) {
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

/// Sizes are rounded so that batches of nearly the same size share buffers, and so that a binding is never empty.
fn round(size: u64) -> u64 {
    size.max(1).next_multiple_of(256)
}
