// Row reductions through workgroup memory, and the entry points of rows.wgsl that use them.

struct Place {
    lane: u32,
}

var<workgroup> scratch: array<f32, 64>;

// Sum over all lanes.
fn total(place: Place, value: f32) -> f32 {
    scratch[place.lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if place.lane < half {
            scratch[place.lane] += scratch[place.lane + half];
        }
        workgroupBarrier();
    }
    let sum = scratch[0];
    workgroupBarrier();
    return sum;
}

// Maximum over all lanes.
fn largest_of(place: Place, value: f32) -> f32 {
    scratch[place.lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if place.lane < half {
            scratch[place.lane] = max(scratch[place.lane], scratch[place.lane + half]);
        }
        workgroupBarrier();
    }
    let largest = scratch[0];
    workgroupBarrier();
    return largest;
}

// The row bound is checked here, where every compiler sees that control flow at the barriers is uniform.

@compute @workgroup_size(64)
fn layer_norm_workgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < norm.rows {
        layer_norm(row, Place(lane));
    }
}

@compute @workgroup_size(64)
fn rms_norm_workgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < norm.rows {
        rms_norm(row, Place(lane));
    }
}

@compute @workgroup_size(64)
fn attention_softmax_workgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < softmax.rows {
        attention_softmax(row, Place(lane));
    }
}

@compute @workgroup_size(64)
fn next_token_nll_workgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < vocabulary.rows {
        next_token_nll(row, Place(lane));
    }
}
