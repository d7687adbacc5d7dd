// Rows of a table, chosen by id: out[i, :] = table[ids[i], :].
//
// Values are copied as words, whatever is in them.
//
// A table larger than a binding comes in parts; one dispatch per part writes only the rows that it holds.

struct Params {
    // Ids, and words of a row of the table.
    count: u32,
    cols: u32,
    // Table row that this part begins with, and rows in it.
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
