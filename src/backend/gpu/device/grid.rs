//! Workgroup counts.

use super::engine::Engine;
use crate::backend::Shape;
use crate::backend::gpu::kernels::Kernel;

/// Rows of a column that one thread handles.
const ROWS_PER_THREAD: usize = 8;

impl Engine {
    /// Enough workgroups for `threads` threads, spread over two dimensions if one does not suffice.
    pub(in crate::backend::gpu) fn grid(&self, kernel: &Kernel, threads: usize) -> [u32; 3] {
        let groups = threads.div_ceil(kernel.workgroup[0] as usize);
        let width = groups.min(self.device.max_workgroups()).max(1);
        [width as u32, groups.div_ceil(width) as u32, 1]
    }

    /// One workgroup per row, spread over two dimensions if one does not suffice.
    pub(in crate::backend::gpu) fn group_grid(&self, rows: usize) -> [u32; 3] {
        let width = rows.min(self.device.max_workgroups()).max(1);
        [width as u32, rows.div_ceil(width) as u32, 1]
    }

    /// Workgroups along columns, where each of the n threads of a column handles every n-th row. This needs no
    /// division, and per-column values are loaded once.
    pub(in crate::backend::gpu) fn column_grid(&self, kernel: &Kernel, shape: Shape) -> [u32; 3] {
        let rows = shape.rows.div_ceil(ROWS_PER_THREAD).clamp(1, self.device.max_workgroups());
        [shape.cols.div_ceil(kernel.workgroup[0] as usize) as u32, rows as u32, 1]
    }
}
