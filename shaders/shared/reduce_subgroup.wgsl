// Reductions of a row by a workgroup whose subgroups add and compare by themselves, and the entry points of rows.wgsl
// that use them: two barriers where workgroup memory alone takes eight. Native only: a browser wants
// `enable subgroups;`, which naga refuses.

// A thread's place in its workgroup. How threads are dealt out to subgroups, and how many a subgroup has, is the
// device's affair: nothing here builds on either.
struct Place {
    lane: u32,
    subgroup: u32,
    subgroups: u32,
}

// What every subgroup came to; a subgroup has one lane at least.
var<workgroup> scratch: array<f32, 64>;

// Keeps what the thread's subgroup came to, for all to see.
fn keep(place: Place, value: f32) {
    if subgroupBroadcastFirst(place.lane) == place.lane {
        scratch[place.subgroup] = value;
    }
    workgroupBarrier();
}

// The sum of every lane's value. Lanes come from loops of different lengths, and no rule says that they meet again after
// one: the first barrier makes them. It also keeps what the last reduction is still read from.
fn total(place: Place, value: f32) -> f32 {
    workgroupBarrier();
    keep(place, subgroupAdd(value));
    var sum = 0.0;
    for (var i = 0u; i < place.subgroups; i++) {
        sum += scratch[i];
    }
    return sum;
}

// The largest of every lane's value.
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
