// out = x * weight^T + bias where the inner width is a multiple of 4: a workgroup of 16 x 16 threads computes 64 x 64
// outputs, 4 x 4 per thread, from tiles in workgroup memory. For real GPUs.
//
// A tile row is 4 vec4 (16 inner values) padded to 5, which spreads the lanes over all memory banks.

struct Params {
    // Outputs computed here: rows [first_row, rows) of x against `cols` rows of this part of the weight.
    rows: u32,
    cols: u32,
    inner: u32,
    first_row: u32,
    first_col: u32,
    // Where this part's columns lie in a row of the output.
    out_stride: u32,
    out_offset: u32,
    has_bias: u32,
}

const TILE: u32 = 64u;
const DEPTH: u32 = 4u;
const STRIDE: u32 = 5u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

var<workgroup> x_tile: array<vec4<f32>, 320>;
var<workgroup> weight_tile: array<vec4<f32>, 320>;

fn store(row: u32, col: u32, value: vec4<f32>) {
    if row >= params.rows {
        return;
    }
    for (var c = 0u; c < 4u; c++) {
        let part_col = col + c * 16u;
        if part_col < params.cols {
            let out_col = params.out_offset + part_col;
            out[row * params.out_stride + out_col] =
                value[c] + select(0.0, bias[out_col * params.has_bias], params.has_bias == 1u);
        }
    }
}

@compute @workgroup_size(16, 16)
fn matmul_shared(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    let steps = params.inner / 4u;
    let tile_row = params.first_row + group.y * TILE;
    let tile_col = params.first_col + group.x * TILE;

    // Every thread brings one vec4 of each tile.
    let load_line = index / DEPTH;
    let load_step = index % DEPTH;
    let load_at = load_line * STRIDE + load_step;
    let x_row = tile_row + load_line;
    let weight_row = tile_col + load_line;

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var first = 0u; first < steps; first += DEPTH) {
        let step = first + load_step;
        var x_value = vec4<f32>();
        if x_row < params.rows && step < steps {
            x_value = x[x_row * steps + step];
        }
        var weight_value = vec4<f32>();
        if weight_row < params.cols && step < steps {
            weight_value = weight[weight_row * steps + step];
        }
        x_tile[load_at] = x_value;
        weight_tile[load_at] = weight_value;
        workgroupBarrier();

        for (var k = 0u; k < DEPTH; k++) {
            let block = mat4x4<f32>(
                weight_tile[local.x * STRIDE + k],
                weight_tile[(local.x + 16u) * STRIDE + k],
                weight_tile[(local.x + 32u) * STRIDE + k],
                weight_tile[(local.x + 48u) * STRIDE + k],
            );
            sum0 += x_tile[local.y * STRIDE + k] * block;
            sum1 += x_tile[(local.y + 16u) * STRIDE + k] * block;
            sum2 += x_tile[(local.y + 32u) * STRIDE + k] * block;
            sum3 += x_tile[(local.y + 48u) * STRIDE + k] * block;
        }
        workgroupBarrier();
    }

    store(tile_row + local.y, tile_col + local.x, sum0);
    store(tile_row + local.y + 16u, tile_col + local.x, sum1);
    store(tile_row + local.y + 32u, tile_col + local.x, sum2);
    store(tile_row + local.y + 48u, tile_col + local.x, sum3);
}
