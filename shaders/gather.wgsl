// Gathers rows of a table by id: out[i, :] = table[ids[i], :].
//
// Values are copied as words, in any format. A table larger than a binding is split into parts; there is one dispatch
// per part, which writes only the rows in it.

struct Params {
    // Number of ids, and words per row of the table.
    count: u32,
    cols: u32,
    // First table row of this part, and its number of rows.
    first_row: u32,
    rows: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read> table: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn gather(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    for (var i = id.y; i < params.count; i += groups.y) {
        let row = ids[i] - params.first_row;
        if row < params.rows {
            out[i * params.cols + col] = table[row * params.cols + col];
        }
    }
}
