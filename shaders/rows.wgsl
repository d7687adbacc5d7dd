// Row reductions, one workgroup per row: norms, softmax, log-likelihoods. Neighbouring threads read adjacent values.
// The kernel table puts reduce_workgroup.wgsl or reduce_subgroup.wgsl, with the entry points, before this file.

struct NormParams {
    rows: u32,
    cols: u32,
    eps: f32,
}

struct SoftmaxParams {
    rows: u32,
    seq_len: u32,
    causal: u32,
    // Largest distance to a position that is attended to.
    reach: u32,
}

struct RowsParams {
    rows: u32,
    cols: u32,
}

const LANES: u32 = 64u;
const LOWEST: f32 = -3.40282346e38;

// LayerNorm and RMSNorm. LayerNorm computes mean and variance in two passes over the row, because the one-pass formula
// loses digits if the mean is large.

@group(0) @binding(0) var<uniform> norm: NormParams;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn layer_norm(row: u32, place: Place) {
    let first = row * norm.cols;

    var sum = 0.0;
    for (var i = place.lane; i < norm.cols; i += LANES) {
        sum += x[first + i];
    }
    let mean = total(place, sum) / f32(norm.cols);

    var squares = 0.0;
    for (var i = place.lane; i < norm.cols; i += LANES) {
        let centred = x[first + i] - mean;
        squares += centred * centred;
    }
    let scale = 1.0 / sqrt(total(place, squares) / f32(norm.cols) + norm.eps);

    for (var i = place.lane; i < norm.cols; i += LANES) {
        out[first + i] = (x[first + i] - mean) * scale * weight[i] + bias[i];
    }
}

fn rms_norm(row: u32, place: Place) {
    let first = row * norm.cols;

    var squares = 0.0;
    for (var i = place.lane; i < norm.cols; i += LANES) {
        let value = x[first + i];
        squares += value * value;
    }
    let scale = 1.0 / sqrt(total(place, squares) / f32(norm.cols) + norm.eps);

    for (var i = place.lane; i < norm.cols; i += LANES) {
        out[first + i] = x[first + i] * scale * weight[i];
    }
}

// scores[b, i, :] = softmax over the positions that i attends to, 0 elsewhere; in place.

@group(0) @binding(0) var<uniform> softmax: SoftmaxParams;
@group(0) @binding(1) var<storage, read_write> scores: array<f32>;

fn attention_softmax(row: u32, place: Place) {
    let first = row * softmax.seq_len;
    let position = row % softmax.seq_len;
    let begin = position - min(position, softmax.reach);
    let end = select(min(position + softmax.reach + 1u, softmax.seq_len), position + 1u, softmax.causal == 1u);

    var largest = LOWEST;
    for (var j = begin + place.lane; j < end; j += LANES) {
        largest = max(largest, scores[first + j]);
    }
    largest = largest_of(place, largest);
    var sum = 0.0;
    for (var j = begin + place.lane; j < end; j += LANES) {
        let weight = exp(scores[first + j] - largest);
        scores[first + j] = weight;
        sum += weight;
    }
    let scale = 1.0 / total(place, sum);
    for (var j = place.lane; j < softmax.seq_len; j += LANES) {
        if j >= begin && j < end {
            scores[first + j] *= scale;
        } else {
            scores[first + j] = 0.0;
        }
    }
}

// losses[i] = log sum exp(logits_i) - logits_i[target_i].

@group(0) @binding(0) var<uniform> vocabulary: RowsParams;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> losses: array<f32>;

fn next_token_nll(row: u32, place: Place) {
    let first = row * vocabulary.cols;

    var largest = LOWEST;
    for (var i = place.lane; i < vocabulary.cols; i += LANES) {
        largest = max(largest, logits[first + i]);
    }
    largest = largest_of(place, largest);
    var sum = 0.0;
    for (var i = place.lane; i < vocabulary.cols; i += LANES) {
        sum += exp(logits[first + i] - largest);
    }
    sum = total(place, sum);
    if place.lane == 0u {
        losses[row] = log(sum) + largest - logits[first + targets[row]];
    }
}
