// Tiles in workgroup memory: 64 rows of one matrix and 64 of the other, with 16 inner values each. Matrix products and
// attention put this file before kernels that fill the tiles.

const SIDE: u32 = 64u;
const DEPTH: u32 = 16u;

// Indexed by inner value. A vec4 holds the entries of 64 rows or columns that are 16 apart, so that one load gives
// factors for four outputs. One vec4 of padding per inner value makes threads that write different inner values use
// different banks. The inner index is constant on reads, so that the other bounds check can be hoisted.
var<workgroup> row_tile: array<array<vec4<f32>, 17>, 16>;
var<workgroup> col_tile: array<array<vec4<f32>, 17>, 16>;

const LINES = vec4<u32>(0u, 16u, 32u, 48u);
