//! Matrix products, split into dispatches of bounded time.

use super::choice::KernelChoice;
use super::device::{Buffer, Engine, Part};
use super::kernels::products::MatmulParams;

/// One product: rows of x times the transposed rows of a weight part.
pub(super) struct Product<'a> {
    pub(super) x: &'a Buffer,
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) weight: &'a Part,
    pub(super) bias: Option<&'a Buffer>,
    pub(super) out: &'a Buffer,
    pub(super) out_cols: usize,
}

/// Records a product in dispatches of bounded time.
pub(super) fn record(engine: &Engine, choice: &KernelChoice, product: &Product<'_>) {
    let variant = choice.variant(product.inner);
    let cols = product.weight.rows;
    let [tile_rows, tile_cols] = variant.tile;
    let tile_ms = choice.ms(2.0 * (tile_rows * tile_cols * product.inner) as f64);
    let [step_rows, step_cols] = piece(
        [product.rows.div_ceil(tile_rows), cols.div_ceil(tile_cols)],
        engine.pacer.dispatch_ms() / tile_ms,
        engine.device.max_workgroups(),
    );
    for tile_row in (0..product.rows.div_ceil(tile_rows)).step_by(step_rows) {
        for tile_col in (0..cols.div_ceil(tile_cols)).step_by(step_cols) {
            let groups_y = step_rows.min(product.rows.div_ceil(tile_rows) - tile_row);
            let groups_x = step_cols.min(cols.div_ceil(tile_cols) - tile_col);
            let params = MatmulParams {
                rows: product.rows as u32,
                cols: cols as u32,
                inner: product.inner as u32,
                first_row: (tile_row * tile_rows) as u32,
                first_col: (tile_col * tile_cols) as u32,
                out_stride: product.out_cols as u32,
                out_offset: product.weight.first_row as u32,
                has_bias: product.bias.is_some().into(),
            };
            let weight = &product.weight.buffer;
            let buffers = [product.x, weight, product.bias.unwrap_or(weight), product.out];
            let ms = (groups_x * groups_y) as f64 * tile_ms;
            engine.dispatch(variant.kernel, &params, &buffers, [groups_x as u32, groups_y as u32, 1], ms);
        }
    }
}

/// Cuts a grid of `tiles` into pieces of at most `most` tiles and at most `limit` tiles per side; columns are cut last.
pub(super) fn piece(tiles: [usize; 2], most: f64, limit: usize) -> [usize; 2] {
    let most = most.clamp(1.0, 1e9) as usize;
    let [rows, cols] = tiles.map(|side| side.clamp(1, limit));
    let cols = cols.min(most);
    [rows.min(most / cols).max(1), cols]
}
