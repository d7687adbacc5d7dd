// A model of GPT-2's shape with random weights and a third of its blocks, from the hub to the GPU: in few requests,
// without superfluous bytes, and never as a whole in the engine's memory.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { visit } from './driver.mjs';

let weights;

async function made(t) {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-large-'));
  t.after(() => rm(folder, { recursive: true }));
  await promisify(execFile)(process.env.XTASK, ['made-model', join(folder, 'test', 'gpt2'), '--blocks', '4']);
  weights = join(folder, 'test', 'gpt2', 'model.safetensors');
  return folder;
}

/** Bytes of the header and of all tensors except the masks. */
async function needed() {
  const file = await open(weights);
  try {
    const { buffer } = await file.read({ buffer: Buffer.alloc(8), position: 0 });
    const length = Number(buffer.readBigUInt64LE());
    const { buffer: json } = await file.read({ buffer: Buffer.alloc(length), position: 8 });
    const tensors = Object.entries(JSON.parse(json.toString()));
    const read = tensors.filter(([name]) => !/\.attn\.bias$/.test(name));
    const size = ([, { data_offsets: [start, end] }]) => end - start;
    return { header: 8 + length, tensors: read.map(size).reduce((a, b) => a + b), all: tensors.map(size).reduce((a, b) => a + b) };
  } finally {
    await file.close();
  }
}

visit('271 MB of weights are measured on the GPU within 150 MB of wasm memory and 20 requests', { webgpu: true, mirror: made }, async (app) => {
  const bytes = await needed();
  assert.ok(bytes.all > 280e6, `${bytes.all} bytes`);
  assert.equal(await app.hub('test/gpt2'), 'known');
  assert.match(await app.element('preflight').innerText(), /4 blocks of width 768.*271 MB to download/s);
  await app.choose({ 'text-select': 'tales:1', rows: 1792, folds: 2, backend: 'gpu' });
  const report = await app.measure();
  assert.equal(report.blocks.length, 4);
  const { gpu, wasm } = await app.memory();
  assert.equal(gpu, 0);
  assert.ok(wasm > 0 && wasm <= 150e6, `${wasm} bytes of wasm memory`);
  // Requests by name are redirected to the files' own origin, whose URLs contain the commit.
  const isSent = (path) => path.includes('@') && path.endsWith('model.safetensors');
  const stats = Object.entries(await app.mirror.stats()).filter(([path]) => isSent(path));
  const requests = stats.reduce((sum, [, entry]) => sum + entry.requests, 0);
  const fetched = stats.reduce((sum, [, entry]) => sum + entry.bytes, 0);
  assert.ok(requests <= 20, `${requests} requests`);
  const beyond = fetched - bytes.tensors;
  assert.ok(beyond >= 0 && beyond <= bytes.header + 64 * 1024, `${fetched} bytes fetched where ${bytes.tensors} are needed`);
  console.log(`    ${requests} requests, ${fetched} bytes (${beyond} beyond the tensors), ${wasm} bytes of wasm memory`);
});
