// Shared by the kernels of second moments: a product A^T B of digits, cut into tiles. The kernel table puts this file
// before them, preceded by the type `Number`: f32 or u32.

struct Params {
    a_cols: u32,
    b_cols: u32,
    // Groups of four rows: per plane of digits, per block, and the range of a plane that is multiplied here.
    groups: u32,
    block_groups: u32,
    first_group: u32,
    end_group: u32,
    // Planes of products, where planes are multiplied separately: (A0, A1)^T (B0, B1) is (A0^T B0, A1^T B1).
    planes: u32,
    symmetric: u32,
    // Tiles of this dispatch.
    first_tile: u32,
    end_tile: u32,
}

const TILE: u32 = 32u;

// Four rows of a column.
alias Vec4 = vec4<Number>;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<Vec4>;
@group(0) @binding(2) var<storage, read> b: array<Vec4>;

// Adds products of a column of A with four of B over four rows. Not by `dot`, which needs one more addition.
fn with_rows(sums: Vec4, a: Vec4, b0: Vec4, b1: Vec4, b2: Vec4, b3: Vec4) -> Vec4 {
    let first = sums + a.x * Vec4(b0.x, b1.x, b2.x, b3.x);
    let second = first + a.y * Vec4(b0.y, b1.y, b2.y, b3.y);
    let third = second + a.z * Vec4(b0.z, b1.z, b2.z, b3.z);
    return third + a.w * Vec4(b0.w, b1.w, b2.w, b3.w);
}

// Row and column of a tile. In a symmetric product, row y is paired with row n - 1 - y: together they have n + 1 tiles
// on and above the diagonal.
fn place(tile: u32) -> vec2<u32> {
    let tiles = params.b_cols / TILE;
    if params.symmetric == 0u {
        return vec2<u32>(tile / tiles, tile % tiles);
    }
    let y = tile / (tiles + 1u);
    let x = tile % (tiles + 1u);
    return select(vec2<u32>(tiles - 1u - y, x - 1u), vec2<u32>(y, y + x), x + y < tiles);
}
