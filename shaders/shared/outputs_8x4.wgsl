// Outer products from the tiles: 128 threads compute 64 x 64 outputs, 8 rows x 4 columns each. The kernel table puts this
// file and shared/tiles.wgsl before kernels that fill the tiles and define `store`.
//
// 32 sums, 16 prefetched values and 12 factors leave room for half of a core's threads; 8 x 8 sums spill on devices with
// 64 registers per thread. Three vec4 loads serve 32 multiply-adds.

// One per row of the thread: rows are 16 apart, the second four start 8 later.
var<private> sum0: vec4<f32>;
var<private> sum1: vec4<f32>;
var<private> sum2: vec4<f32>;
var<private> sum3: vec4<f32>;
var<private> sum4: vec4<f32>;
var<private> sum5: vec4<f32>;
var<private> sum6: vec4<f32>;
var<private> sum7: vec4<f32>;

// First column and row of a thread. A wave of 32 is 8 x 4 threads, which minimises the number of distinct factors.
fn place(index: u32) -> vec2<u32> {
    return vec2<u32>(index % 8u + index / 32u % 2u * 8u, index / 8u % 4u + index / 64u * 4u);
}

// Adds the products of one inner value.
fn add(left: vec4<f32>, right: vec4<f32>, cols: vec4<f32>) {
    sum0 += left.x * cols;
    sum1 += left.y * cols;
    sum2 += left.z * cols;
    sum3 += left.w * cols;
    sum4 += right.x * cols;
    sum5 += right.y * cols;
    sum6 += right.z * cols;
    sum7 += right.w * cols;
}

// Multiplies the tiles. Unrolled by hand, because compilers may keep a loop with its counter and bounds checks.
fn multiply(at: vec2<u32>) {
    add(row_tile[0][at.y], row_tile[0][at.y + 8u], col_tile[0][at.x]);
    add(row_tile[1][at.y], row_tile[1][at.y + 8u], col_tile[1][at.x]);
    add(row_tile[2][at.y], row_tile[2][at.y + 8u], col_tile[2][at.x]);
    add(row_tile[3][at.y], row_tile[3][at.y + 8u], col_tile[3][at.x]);
    add(row_tile[4][at.y], row_tile[4][at.y + 8u], col_tile[4][at.x]);
    add(row_tile[5][at.y], row_tile[5][at.y + 8u], col_tile[5][at.x]);
    add(row_tile[6][at.y], row_tile[6][at.y + 8u], col_tile[6][at.x]);
    add(row_tile[7][at.y], row_tile[7][at.y + 8u], col_tile[7][at.x]);
    add(row_tile[8][at.y], row_tile[8][at.y + 8u], col_tile[8][at.x]);
    add(row_tile[9][at.y], row_tile[9][at.y + 8u], col_tile[9][at.x]);
    add(row_tile[10][at.y], row_tile[10][at.y + 8u], col_tile[10][at.x]);
    add(row_tile[11][at.y], row_tile[11][at.y + 8u], col_tile[11][at.x]);
    add(row_tile[12][at.y], row_tile[12][at.y + 8u], col_tile[12][at.x]);
    add(row_tile[13][at.y], row_tile[13][at.y + 8u], col_tile[13][at.x]);
    add(row_tile[14][at.y], row_tile[14][at.y + 8u], col_tile[14][at.x]);
    add(row_tile[15][at.y], row_tile[15][at.y + 8u], col_tile[15][at.x]);
}

// Stores a thread's sums; `first` is the tile's first row and column.
fn store_sums(first: vec2<u32>, at: vec2<u32>) {
    let cols = first.y + at.x + LINES;
    let row = first.x + at.y;
    store(row, cols, sum0);
    store(row + 16u, cols, sum1);
    store(row + 32u, cols, sum2);
    store(row + 48u, cols, sum3);
    store(row + 8u, cols, sum4);
    store(row + 24u, cols, sum5);
    store(row + 40u, cols, sum6);
    store(row + 56u, cols, sum7);
}
