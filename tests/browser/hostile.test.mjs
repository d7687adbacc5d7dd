// Inputs that once broke the engine, tried on its build for browsers: tokenizers, sizes beyond memory, and rows at the
// edge of what numbers hold.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { assertClose, FIXTURES, visit } from './driver.mjs';
import { noSeeds } from './shims.mjs';

const MODEL = join(FIXTURES, 'tiny-gpt2');
/** Most bytes of memory for long texts, twice what they take. 13 MB encoded at once would take up to 2.7 GB. */
const MOST = 250e6;
const [INPUTS, OUTPUTS, ROWS, WINDOW] = [6, 5, 160, 4];

/** A folder that is deleted after the test. */
async function scratch(t) {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

async function fails(app, words) {
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), words);
}

/** Header of a safetensors file with x (rows, inputs) and y (rows, outputs) in F32. */
function header(rows, inputs, outputs) {
  const bytes = [inputs, outputs].map((width) => rows * width * 4);
  const json = Buffer.from(JSON.stringify({
    x: { dtype: 'F32', shape: [rows, inputs], data_offsets: [0, bytes[0]] },
    y: { dtype: 'F32', shape: [rows, outputs], data_offsets: [bytes[0], bytes[0] + bytes[1]] },
  }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return { start: Buffer.concat([length, json]), size: bytes[0] + bytes[1] };
}

/** Writes rows of zeros, which take no room on the disk. */
async function writeZeros(path, rows, inputs, outputs) {
  const { start, size } = header(rows, inputs, outputs);
  const file = await open(path, 'w');
  await file.write(start);
  await file.truncate(start.length + size);
  await file.close();
  return path;
}

async function chooseRows(app, path, settings = {}) {
  await app.choose({ 'model-select': ':rows', backend: 'cpu' });
  await app.element('rows-file').setInputFiles(path);
  await app.choose(settings);
}

visit('tokenizers that broke their library are refused by the name of the field, and the engine goes on', { webgpu: false }, async (app, t) => {
  const folder = join(await scratch(t), 'hostile');
  await cp(MODEL, folder, { recursive: true });
  const whole = JSON.parse(await readFile(join(MODEL, 'tokenizer.json'), 'utf8'));
  const tokens = Object.keys(whole.model.vocab);
  const first = tokens.filter((token) => token.length === 1).slice(0, 2);
  const longest = tokens.reduce((a, b) => (b.length > a.length ? b : a));
  const replace = (pattern, content) => ({ type: 'Replace', pattern: { String: pattern }, content });
  const inner = (normalizer) => ({ type: 'Sequence', normalizers: [{ type: 'Sequence', normalizers: [normalizer] }] });
  const trie = (bytes) => ({ type: 'Precompiled', precompiled_charsmap: Buffer.from(bytes).toString('base64') });
  const cases = [
    [/normalizer\.prepend is empty/, { normalizer: { type: 'Prepend', prepend: '' } }],
    [/normalizer\.pattern is empty/, { normalizer: replace('', 'xy') }],
    [/normalizer\.normalizers\S+pattern is empty/, { normalizer: inner(replace('', 'xy')) }],
    [/normalizer\S* can make a text more than \d+ times as long/, { normalizer: { type: 'Sequence', normalizers: Array(40).fill(replace('a', 'aa')) } }],
    [/precompiled_charsmap cannot be used/, { normalizer: { type: 'Precompiled', precompiled_charsmap: '' } }],
    [/precompiled_charsmap cannot be used/, { normalizer: trie([...Array(16).keys()]) }],
    [/precompiled_charsmap cannot be used/, { normalizer: trie([255, 255, 255, 255, 0, 0, 0, 0]) }],
    [/model\.merges\[0\]/, { model: { ...whole.model, merges: [[longest, longest]] } }],
    [/pre_tokenizer\.length/, { pre_tokenizer: { type: 'FixedLength', length: 0 } }],
    [/model\.merges/, { model: { ...whole.model, continuing_subword_prefix: 'long prefix', merges: [first] } }],
  ];
  for (const [words, change] of cases) {
    await writeFile(join(folder, 'tokenizer.json'), JSON.stringify({ ...whole, ...change }));
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(folder);
    await app.choose({ 'text-select': 'tales:1', rows: 640, 'seq-len': 32, backend: 'cpu' });
    await fails(app, words);
    assert.match(await app.error(), /tokenizer\.json/);
  }
  await app.choose({ 'model-select': ':own' });
  await app.element('model-folder').setInputFiles(MODEL);
  await app.choose({ 'text-select': 'tales:1', rows: 640, 'seq-len': 32 });
  assert.equal((await app.measure()).blocks.length, 4);
});

visit('a panic of the tokenizer is told of its file, and the next measurement has a new worker', { webgpu: false, shim: noSeeds() }, async (app, t) => {
  const folder = join(await scratch(t), 'panics');
  await cp(MODEL, folder, { recursive: true });
  const whole = JSON.parse(await readFile(join(MODEL, 'tokenizer.json'), 'utf8'));
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify({ ...whole, model: { ...whole.model, dropout: 0 } }));
  const choose = async (folder) => {
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(folder);
    await app.choose({ 'text-select': 'tales:1', rows: 640, 'seq-len': 32, backend: 'cpu' });
  };
  // Either the preview or the measurement meets it first, and both tell it.
  for (let times = 0; times < 2; times += 1) {
    const worker = app.engine();
    await choose(folder);
    await fails(app, /^tokenizer\.json: the crate tokenizers fails on it; use the tokenizer that belongs to the model/);
    assert.ok(!app.page.workers().includes(worker), 'the worker that panicked is gone');
    await choose(MODEL);
    assert.equal((await app.measure()).blocks.length, 4);
  }
  const others = app.faults.splice(0).filter((fault) => !/unreachable/.test(fault));
  assert.deepEqual(others, []);
});

visit('what does not fit into memory is refused with its size, and long texts are read as far as rows need them', { webgpu: false }, async (app, t) => {
  const folder = await scratch(t);
  for (const [count, inputs, outputs, folds] of [[160, 8, 30_000, 5], [160, 8, 70_000, 5], [6400, 1536, 1536, 200]]) {
    const file = await writeZeros(join(folder, `${outputs}.safetensors`), count, inputs, outputs);
    await chooseRows(app, file, { rows: count, 'seq-len': 32, folds });
    await fails(app, /\d[\s\d]* MB.*\d[\s\d]* MB/);
  }

  // Beside the limit: numbers, or the same refusal.
  const near = await writeZeros(join(folder, 'near.safetensors'), 3200, 768, 768);
  await chooseRows(app, near, { rows: 3200, 'seq-len': 16, folds: 200 });
  await app.run();
  if (await app.ended() === 'failed') assert.match(await app.error(), /\d[\s\d]* MB.*\d[\s\d]* MB/);
  else assert.equal((await app.report()).blocks.length, 1);

  // A worker of its own, whose memory no matrix has grown.
  await app.afresh();
  const words = '线性的网络可以用仿射映射代替';
  const texts = [
    ['word.txt', 'a'.repeat(20_000_000), /word\.txt: 20 MB without a place to cut;/],
    ['phrase.txt', words.repeat(300_000), /phrase\.txt: 13 MB without a place to cut;/],
    ['chinese.txt', `${words}，${words}。\n`.repeat(150_000)],
    ['lines.txt', '\n'.repeat(1_000_000)],
  ];
  for (const [name, text, refusal] of texts) {
    const path = join(folder, name);
    await writeFile(path, text);
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(MODEL);
    await app.choose({ 'text-select': ':file', rows: 640, 'seq-len': 32, folds: 5 });
    await app.element('text-file').setInputFiles(path);
    if (refusal) await fails(app, refusal);
    else assert.equal((await app.measure()).blocks.length, 4, name);
    const { wasm } = await app.memory();
    assert.ok(wasm < MOST, `${name}: ${wasm} bytes`);
  }
});

visit('a final norm that overflows, fewer layers and too many folds are told, not run into', { webgpu: false }, async (app, t) => {
  const folder = join(await scratch(t), 'overflow');
  await cp(MODEL, folder, { recursive: true });
  const measured = async (settings = {}) => {
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(folder);
    await app.choose({ 'text-select': 'tales:1', rows: 640, 'seq-len': 32, backend: 'cpu', folds: 5, ...settings });
    await app.element('measures-swap').check();
    return app.measure();
  };
  const weights = join(folder, 'model.safetensors');
  const bytes = await readFile(weights);
  const start = 8 + Number(bytes.readBigUInt64LE());
  const tensors = JSON.parse(bytes.subarray(8, start));
  const norm = Object.keys(tensors).find((name) => name.endsWith('ln_f.weight'));
  const [from, to] = tensors[norm].data_offsets;
  for (let at = start + from; at < start + to; at += 4) bytes.writeFloatLE(3e38, at);
  await writeFile(weights, bytes);
  const codes = ({ warnings }) => warnings.map(({ code }) => code);
  const overflown = await measured();
  assert.equal(overflown.ppl, null);
  assert.ok(codes(overflown).includes('undefined_perplexity'), `${codes(overflown)}`);

  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, n_layer: 2 }));
  const shorter = await measured();
  assert.equal(shorter.blocks.length, 2);
  assert.ok(codes(shorter).includes('unread_blocks'), `${codes(shorter)}`);

  await app.choose({ folds: 4096 });
  // Refused by the form itself, so that no measurement begins.
  await app.element('run').click();
  await app.waitForText('error', /4096.*1000/);
});

visit('a report that orders more steps than could ever end is refused, and the page goes on', { webgpu: false }, async (app) => {
  await app.choose({ rows: 1280 });
  const saved = await app.measure();
  const choose = async (steps) => {
    const training = { ...saved.ordered.training, heal_steps: steps };
    const report = { ...saved, ordered: { ...saved.ordered, training } };
    await app.afresh();
    await app.element('report-file').setInputFiles({ name: 'report.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)) });
  };
  // More than a number of the page holds.
  await choose(1e15);
  await app.waitForText('error', /^report\.json: not a Straightedge report of schema 1 \(.*1000000000000000.*\); export it again$/);
  assert.equal(await app.element('replay').count(), 0);
  await choose(4e9);
  // Refused by the form itself, so that no measurement begins.
  await app.element('replay').click();
  await app.waitForText('error', /^heal steps: 4000000000 is not possible; give at most 1000000 steps$/);
  await choose(saved.ordered.training.heal_steps);
  await app.order(app.element('replay'));
  assert.equal(await app.ended(), 'finished');
});

/** Numbers in [-1, 1) that follow from a seed. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** Rows of which an affine map explains a part, with `change` applied to (side, row, column, value). */
function rows(change) {
  const next = generator(7);
  const weights = Array.from({ length: OUTPUTS }, () => Array.from({ length: INPUTS }, next));
  const [x, y] = [new Float32Array(ROWS * INPUTS), new Float32Array(ROWS * OUTPUTS)];
  for (let row = 0; row < ROWS; row += 1) {
    const inputs = Array.from({ length: INPUTS }, next);
    inputs.forEach((value, at) => { x[row * INPUTS + at] = change('x', row, at, value); });
    weights.forEach((weight, at) => {
      const value = weight.reduce((sum, factor, from) => sum + factor * inputs[from], 0.3 * next());
      y[row * OUTPUTS + at] = change('y', row, at, value);
    });
  }
  const { start } = header(ROWS, INPUTS, OUTPUTS);
  return Buffer.concat([start, Buffer.from(x.buffer), Buffer.from(y.buffer)]);
}

visit('rows at the edge give the numbers and the warnings of the native program', { webgpu: false }, async (app, t) => {
  const folder = await scratch(t);
  const edge = {
    'y-nearly-constant': (side, row, at, value) => (side === 'y' ? 8_388_608 + Math.round(value) : value),
    'all-offset': (side, row, at, value) => value + 1e6 * (1 + at),
    'a-fifth-far': (side, row, at, value) => (row % 5 === 0 ? value + 1e6 * (1 + at) : value),
    'an-element-far': (side, row, at, value) => (side === 'y' && row === 80 && at === 1 ? 1e10 : value),
    'a-row-far': (side, row, at, value) => (side === 'x' && row === 80 ? 1e6 * value : value),
    subnormal: (side, row, at, value) => (side === 'x' ? value * 1e-38 : value),
    large: (side, row, at, value) => value * 1e37,
  };
  let compared = 0;
  for (const [name, change] of Object.entries(edge)) {
    const [file, out] = [join(folder, `${name}.safetensors`), join(folder, `${name}.json`)];
    await writeFile(file, rows(change));
    const args = ['fit', file, '--window', String(WINDOW), '--rows', String(ROWS), '--backend', 'cpu', '--out', out];
    await promisify(execFile)(process.env.STRAIGHTEDGE, args);
    const expected = JSON.parse(await readFile(out, 'utf8'));
    await chooseRows(app, file, { rows: ROWS, 'seq-len': WINDOW });
    const found = await app.measure();
    const [block, native] = [found.blocks[0], expected.blocks[0]];
    const codes = ({ warnings }) => warnings.map(({ code }) => code).sort();
    assert.deepEqual(codes(found), codes(expected), name);
    assert.equal(block.rank, native.rank, name);
    if (name === 'a-row-far') assert.ok(codes(found).includes('clipped_rank'), `${name}: ${codes(found)}`);
    if (codes(found).some((code) => code.endsWith('_digits'))) continue;
    compared += 1;
    // Root of the variance of y, which an error of rmse is a share of.
    const spread = native.rmse / Math.sqrt(1 - native.r2_lin_scalar);
    const scales = { r2_lin: 1, r2_lin_scalar: 1, r2_feature_median: 1, cosine: 1, rmse: spread };
    for (const [number, scale] of Object.entries(scales)) {
      assertClose(`${name}: ${number}`, block[number], native[number], 1e-6 * scale);
    }
  }
  assert.equal(compared, 5, 'the others have lost digits, and say so');
});
