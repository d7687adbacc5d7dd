// Nothing but multiply-adds in registers. Eight independent chains hide the latency of each and still fit the registers
// of a processor that emulates a GPU; 32 steps between two turns of the loop make the loop itself cheap.

struct Params {
    steps: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn multiply_add(@builtin(global_invocation_id) id: vec3<u32>) {
    // Unknown to the compiler, and never so large that a chain overflows.
    let start = f32(id.x) * 1e-9;
    let factor = 0.5 + start;
    let term = 0.25 + start;
    var a = start + 0.0;
    var b = start + 1.0;
    var c = start + 2.0;
    var d = start + 3.0;
    var e = start + 4.0;
    var f = start + 5.0;
    var g = start + 6.0;
    var h = start + 7.0;
    for (var step = 0u; step < params.steps; step++) {
        a = fma(a, factor, term);
        b = fma(b, factor, term);
        c = fma(c, factor, term);
        d = fma(d, factor, term);
        e = fma(e, factor, term);
        f = fma(f, factor, term);
        g = fma(g, factor, term);
        h = fma(h, factor, term);
        a = fma(a, factor, term);
        b = fma(b, factor, term);
        c = fma(c, factor, term);
        d = fma(d, factor, term);
        e = fma(e, factor, term);
        f = fma(f, factor, term);
        g = fma(g, factor, term);
        h = fma(h, factor, term);
        a = fma(a, factor, term);
        b = fma(b, factor, term);
        c = fma(c, factor, term);
        d = fma(d, factor, term);
        e = fma(e, factor, term);
        f = fma(f, factor, term);
        g = fma(g, factor, term);
        h = fma(h, factor, term);
        a = fma(a, factor, term);
        b = fma(b, factor, term);
        c = fma(c, factor, term);
        d = fma(d, factor, term);
        e = fma(e, factor, term);
        f = fma(f, factor, term);
        g = fma(g, factor, term);
        h = fma(h, factor, term);
    }
    out[id.x] = a + b + c + d + e + f + g + h;
}
