// Matrix product through workgroup memory as in matmul_shared.wgsl, with 8 x 8 outputs per thread: 64 threads compute
// 64 x 64 outputs. The inner width is a multiple of 4.
//
// Four vec4 loads serve 64 multiply-adds, where three serve 32 with 8 x 4 outputs. But 64 sums need more registers than
// some devices have, so the two compete.

// One pair per row of the thread: columns are 16 apart, those of the second start 8 later.
var<private> left0: vec4<f32>;
var<private> right0: vec4<f32>;
var<private> left1: vec4<f32>;
var<private> right1: vec4<f32>;
var<private> left2: vec4<f32>;
var<private> right2: vec4<f32>;
var<private> left3: vec4<f32>;
var<private> right3: vec4<f32>;
var<private> left4: vec4<f32>;
var<private> right4: vec4<f32>;
var<private> left5: vec4<f32>;
var<private> right5: vec4<f32>;
var<private> left6: vec4<f32>;
var<private> right6: vec4<f32>;
var<private> left7: vec4<f32>;
var<private> right7: vec4<f32>;

// Adds the products of one inner value.
fn add(above: vec4<f32>, below: vec4<f32>, left: vec4<f32>, right: vec4<f32>) {
    left0 += above.x * left;
    right0 += above.x * right;
    left1 += above.y * left;
    right1 += above.y * right;
    left2 += above.z * left;
    right2 += above.z * right;
    left3 += above.w * left;
    right3 += above.w * right;
    left4 += below.x * left;
    right4 += below.x * right;
    left5 += below.y * left;
    right5 += below.y * right;
    left6 += below.z * left;
    right6 += below.z * right;
    left7 += below.w * left;
    right7 += below.w * right;
}

// Unrolled by hand, because compilers may keep a loop with its counter and bounds checks.
fn multiply(at: vec2<u32>) {
    add(row_tile[0][at.y], row_tile[0][at.y + 8u], col_tile[0][at.x], col_tile[0][at.x + 8u]);
    add(row_tile[1][at.y], row_tile[1][at.y + 8u], col_tile[1][at.x], col_tile[1][at.x + 8u]);
    add(row_tile[2][at.y], row_tile[2][at.y + 8u], col_tile[2][at.x], col_tile[2][at.x + 8u]);
    add(row_tile[3][at.y], row_tile[3][at.y + 8u], col_tile[3][at.x], col_tile[3][at.x + 8u]);
    add(row_tile[4][at.y], row_tile[4][at.y + 8u], col_tile[4][at.x], col_tile[4][at.x + 8u]);
    add(row_tile[5][at.y], row_tile[5][at.y + 8u], col_tile[5][at.x], col_tile[5][at.x + 8u]);
    add(row_tile[6][at.y], row_tile[6][at.y + 8u], col_tile[6][at.x], col_tile[6][at.x + 8u]);
    add(row_tile[7][at.y], row_tile[7][at.y + 8u], col_tile[7][at.x], col_tile[7][at.x + 8u]);
    add(row_tile[8][at.y], row_tile[8][at.y + 8u], col_tile[8][at.x], col_tile[8][at.x + 8u]);
    add(row_tile[9][at.y], row_tile[9][at.y + 8u], col_tile[9][at.x], col_tile[9][at.x + 8u]);
    add(row_tile[10][at.y], row_tile[10][at.y + 8u], col_tile[10][at.x], col_tile[10][at.x + 8u]);
    add(row_tile[11][at.y], row_tile[11][at.y + 8u], col_tile[11][at.x], col_tile[11][at.x + 8u]);
    add(row_tile[12][at.y], row_tile[12][at.y + 8u], col_tile[12][at.x], col_tile[12][at.x + 8u]);
    add(row_tile[13][at.y], row_tile[13][at.y + 8u], col_tile[13][at.x], col_tile[13][at.x + 8u]);
    add(row_tile[14][at.y], row_tile[14][at.y + 8u], col_tile[14][at.x], col_tile[14][at.x + 8u]);
    add(row_tile[15][at.y], row_tile[15][at.y + 8u], col_tile[15][at.x], col_tile[15][at.x + 8u]);
}

// Four inner values of four rows of x; 0 beyond the inner width.
fn rows_of_x(at: vec4<u32>, step: u32) -> mat4x4<f32> {
    if step >= params.inner / 4u {
        return mat4x4<f32>();
    }
    return mat4x4<f32>(x[at.x + step], x[at.y + step], x[at.z + step], x[at.w + step]);
}

fn rows_of_weight(at: vec4<u32>, step: u32) -> mat4x4<f32> {
    if step >= params.inner / 4u {
        return mat4x4<f32>();
    }
    return mat4x4<f32>(weight[at.x + step], weight[at.y + step], weight[at.z + step], weight[at.w + step]);
}

fn store_two(row: u32, col: u32, left: vec4<f32>, right: vec4<f32>) {
    store(row, col + LINES, left);
    store(row, col + 8u + LINES, right);
}

@compute @workgroup_size(64)
fn matmul_shared_8x8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let steps = params.inner / 4u;
    let first_row = params.first_row + group.y * SIDE;
    let first_col = params.first_col + group.x * SIDE;
    // First column and row of the thread. A wave of 32 is 8 x 4 threads, which minimises the number of distinct factors.
    let at = vec2<u32>(index % 8u, index / 8u);

    // Two neighbours read 32 bytes of a row, the smallest memory transaction. Rows and columns beyond the edge repeat the
    // last one and are not stored.
    let line = index / 2u % 16u;
    let step = index % 2u + index / 32u * 2u;
    let rows_at = min(first_row + line + LINES, vec4<u32>(params.rows - 1u)) * steps;
    let cols_at = min(first_col + line + LINES, vec4<u32>(params.cols - 1u)) * steps;

    var of_x = rows_of_x(rows_at, step);
    var of_weight = rows_of_weight(cols_at, step);
    for (var done = 0u; done < steps; done += DEPTH / 4u) {
        let rows = transpose(of_x);
        row_tile[4u * step][line] = rows[0];
        row_tile[4u * step + 1u][line] = rows[1];
        row_tile[4u * step + 2u][line] = rows[2];
        row_tile[4u * step + 3u][line] = rows[3];
        let cols = transpose(of_weight);
        col_tile[4u * step][line] = cols[0];
        col_tile[4u * step + 1u][line] = cols[1];
        col_tile[4u * step + 2u][line] = cols[2];
        col_tile[4u * step + 3u][line] = cols[3];
        workgroupBarrier();
        // The next tiles are loaded while the current ones are multiplied.
        of_x = rows_of_x(rows_at, done + DEPTH / 4u + step);
        of_weight = rows_of_weight(cols_at, done + DEPTH / 4u + step);
        multiply(at);
        workgroupBarrier();
    }

    let row = first_row + at.y;
    let col = first_col + at.x;
    store_two(row, col, left0, right0);
    store_two(row + 16u, col, left1, right1);
    store_two(row + 32u, col, left2, right2);
    store_two(row + 48u, col, left3, right3);
    store_two(row + 8u, col, left4, right4);
    store_two(row + 24u, col, left5, right5);
    store_two(row + 40u, col, left6, right6);
    store_two(row + 56u, col, left7, right7);
}
