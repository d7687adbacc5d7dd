// A visitor's own model: a folder from disk, measured against independent references; damaged files reported in words.
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { assertClose, drop, FIXTURES, visit } from './driver.mjs';

const MODEL = join(FIXTURES, 'tiny-llama');
const TEXT = join(FIXTURES, 'texts', 'encyclopedia.txt');
/** Files of a model. */
const FILES = ['config.json', 'tokenizer.json', 'model.safetensors'];

async function own(app, folder, text = TEXT) {
  await app.choose({ 'model-select': ':own' });
  await app.element('model-folder').setInputFiles(folder);
  await app.choose({ 'text-select': ':file' });
  await app.element('text-file').setInputFiles(text);
}

/** A folder that is deleted after the test. */
async function scratch(t) {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** Copies the model with a tensor that nothing uses before all others, so that these lie beyond 4 GiB of a sparse file. */
async function beyond4GiB(folder) {
  for (const name of ['config.json', 'tokenizer.json']) await cp(join(MODEL, name), join(folder, name));
  const weights = await readFile(join(MODEL, 'model.safetensors'));
  const start = 8 + Number(weights.readBigUInt64LE());
  const tensors = JSON.parse(weights.subarray(8, start).toString());
  const shape = [1025, 1 << 20];
  const before = 4 * shape[0] * shape[1];
  for (const { data_offsets: offsets = [] } of Object.values(tensors)) offsets.forEach((at, i) => { offsets[i] = at + before; });
  const header = Buffer.from(JSON.stringify({ ...tensors, unused: { dtype: 'F32', shape, data_offsets: [0, before] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const file = await open(join(folder, 'model.safetensors'), 'w');
  try {
    await file.write(Buffer.concat([length, header]), 0, null, 0);
    await file.write(weights.subarray(start), 0, null, 8 + header.length + before);
  } finally {
    await file.close();
  }
}

/** Fails unless a report has the values of the independent implementation. */
async function assertReference(report) {
  const expected = JSON.parse(await readFile(join(MODEL, 'expected.json'), 'utf8'));
  assert.equal(report.model.id, 'tiny-llama');
  assert.equal(report.blocks.length, expected.blocks.length);
  for (const [at, block] of report.blocks.entries()) {
    const reference = expected.blocks[at];
    for (const name of ['r2_lin', 'r2_lin_scalar', 'r2_feature_median']) {
      assertClose(`block ${at} ${name}`, block[name], reference[name], 1e-5);
    }
    assert.equal(block.r2_folds.length, reference.r2_folds.length);
    for (const [fold, value] of block.r2_folds.entries()) {
      assertClose(`block ${at} fold ${fold}`, value, reference.r2_folds[fold], 1e-5);
    }
    assert.equal(block.rank, reference.rank, `block ${at} rank`);
  }
}

visit('a folder from the disk gives the values of an independent implementation', { webgpu: false }, async (app) => {
  await own(app, MODEL);
  await assertReference(await app.measure());
});

visit('weights beyond the first 4 GiB of a file are read from their place', { webgpu: false }, async (app, t) => {
  const folder = join(await scratch(t), 'tiny-llama');
  await mkdir(folder);
  await beyond4GiB(folder);
  await own(app, folder);
  await assertReference(await app.measure());
});

visit('GPU and CPU agree on a small part of the text', { webgpu: true }, async (app) => {
  await own(app, MODEL);
  await app.choose({ rows: 640, 'seq-len': 32, backend: 'gpu' });
  const gpu = await app.measure();
  await app.choose({ backend: 'cpu' });
  const cpu = await app.measure();
  assert.deepEqual([gpu.device.backend, cpu.device.backend], ['gpu', 'cpu']);
  assert.equal(gpu.blocks.length, 4);
  assert.equal(cpu.blocks.length, 4);
  for (const [at, block] of gpu.blocks.entries()) {
    assertClose(`block ${at} r2_lin`, block.r2_lin, cpu.blocks[at].r2_lin, 1e-5);
    assert.equal(block.rank, cpu.blocks[at].rank, `block ${at} rank`);
  }
});

visit('a truncated weight file is told in one sentence, and the page goes on', { webgpu: false }, async (app, t) => {
  const folder = join(await scratch(t), 'broken');
  await mkdir(folder);
  for (const name of FILES) {
    const whole = await readFile(join(MODEL, name));
    await writeFile(join(folder, name), name.endsWith('.safetensors') ? whole.subarray(0, 100_000) : whole);
  }

  await own(app, folder);
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /^model\.safetensors: .*not an intact safetensors file.*;.*$/s);

  await own(app, MODEL);
  await app.choose({ rows: 640, 'seq-len': 32 });
  await app.measure();
});

visit('a text too short for the folds is told before anything is measured', { webgpu: false }, async (app, t) => {
  const text = join(await scratch(t), 'short.txt');
  await writeFile(text, 'Too short to be cut into windows.');
  await own(app, MODEL, text);
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /short\.txt: .*5 folds.*;/s);
});

visit('files dropped on the page are taken for what they are', { webgpu: false }, async (app) => {
  const files = await Promise.all(FILES.map(async (name) => [name, (await readFile(join(MODEL, name))).toString('base64')]));
  await drop(app.page, files);
  assert.equal(await app.element('model-select').inputValue(), ':own');
  assert.match(await app.element('model-note').innerText(), /3/);
  await drop(app.page, [['part.txt', (await readFile(TEXT)).subarray(0, 20_000).toString('base64')]]);
  assert.equal(await app.element('text-select').inputValue(), ':file');
  await app.choose({ rows: 640, 'seq-len': 32 });
  const report = await app.measure();
  assert.equal(report.corpus.id, 'part.txt');
  assert.equal(report.blocks.length, 4);
});
