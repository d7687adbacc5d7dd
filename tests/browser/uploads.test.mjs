// Weights reach the GPU in slices: a browser copies what is written until it is submitted, which would double a large
// tensor.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

import { open, trial } from './driver.mjs';
import { uploads } from './shims.mjs';

/** Bytes of a slice, and of parameters of dispatches that come with one. */
const [SLICE, PARAMETERS] = [16 << 20, 64 << 10];

/** Its network has two tensors of 26 MB. */
const SHAPE = '1x1280';

trial('at most 16 MiB of weights are written between two submissions', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-uploads-'));
  t.after(() => rm(folder, { recursive: true }));
  await promisify(execFile)(process.env.XTASK, ['made-model', folder, '--shape', SHAPE]);
  const { size } = await stat(join(folder, 'model.safetensors'));
  assert.ok(size > 4 * SLICE, `${size} bytes of weights`);
  const app = await open({ webgpu: true, shim: uploads() });
  try {
    await app.started();
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(folder);
    await app.choose({ 'text-select': 'tales:1', backend: 'gpu', rows: 3200, folds: 2, gram: 'fast' });
    await app.run();
    // All weights of its block are written before its first rows, which an emulated device takes minutes for.
    const counted = () => app.engine().evaluate(() => self.uploads);
    const deadline = Date.now() + 120_000;
    while ((await counted()).bytes <= 4 * SLICE && Date.now() < deadline) await setTimeout(200);
    const { bytes, most } = await counted();
    console.log(`    ${bytes} bytes, ${most} between two submissions`);
    assert.ok(bytes > 4 * SLICE, `${bytes} bytes were counted`);
    assert.ok(most > SLICE / 2 && most <= SLICE + PARAMETERS, `${most} bytes between two submissions`);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
});
