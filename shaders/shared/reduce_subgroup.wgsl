// Row reductions by subgroup operations, and the entry points of rows.wgsl that use them: two barriers instead of eight
// with workgroup memory alone. Native only: browsers require `enable subgroups;`, which naga rejects.

// A thread's position in its workgroup. Nothing here depends on the subgroups' size or assignment of threads.
struct Place {
    lane: u32,
    subgroup: u32,
    subgroups: u32,
}

// One value per subgroup; a subgroup has at least one lane.
var<workgroup> scratch: array<f32, 64>;

// Publishes the subgroup's value to the workgroup.
fn keep(place: Place, value: f32) {
    if subgroupBroadcastFirst(place.lane) == place.lane {
        scratch[place.subgroup] = value;
    }
    workgroupBarrier();
}

// Sum over all lanes. Lanes come from loops of different lengths and need not have reconverged; the first barrier makes
// them. It also protects `scratch` while the previous reduction is still being read.
fn total(place: Place, value: f32) -> f32 {
    workgroupBarrier();
    keep(place, subgroupAdd(value));
    var sum = 0.0;
    for (var i = 0u; i < place.subgroups; i++) {
        sum += scratch[i];
    }
    return sum;
}

// Maximum over all lanes.
fn largest_of(place: Place, value: f32) -> f32 {
    workgroupBarrier();
    keep(place, subgroupMax(value));
    var largest = LOWEST;
    for (var i = 0u; i < place.subgroups; i++) {
        largest = max(largest, scratch[i]);
    }
    return largest;
}

@compute @workgroup_size(64)
fn layer_norm_subgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < norm.rows {
        layer_norm(row, Place(lane, subgroup, subgroups));
    }
}

@compute @workgroup_size(64)
fn rms_norm_subgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < norm.rows {
        rms_norm(row, Place(lane, subgroup, subgroups));
    }
}

@compute @workgroup_size(64)
fn attention_softmax_subgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < softmax.rows {
        attention_softmax(row, Place(lane, subgroup, subgroups));
    }
}

@compute @workgroup_size(64)
fn next_token_nll_subgroup(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
) {
    let row = group.y * groups.x + group.x;
    if row < vocabulary.rows {
        next_token_nll(row, Place(lane, subgroup, subgroups));
    }
}
