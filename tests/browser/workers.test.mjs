// Rows and solves shared with helper workers: the same numbers as without.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { open, trial } from './driver.mjs';

/** Measures a model of three wide blocks in a browser that reports `cores` cores. */
async function measured(t, cores, webgpu = false) {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-wide-'));
  t.after(() => rm(folder, { recursive: true }));
  await promisify(execFile)(process.env.XTASK, ['made-model', folder, '--shape', '3x256']);
  const app = await open({
    webgpu,
    before: (page) => page.addInitScript((cores) => {
      Object.defineProperty(navigator, 'hardwareConcurrency', { get: () => cores });
    }, cores),
  });
  try {
    await app.started();
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(folder);
    await app.choose({ 'text-select': 'tales:1', backend: webgpu ? 'gpu' : 'cpu', rows: 1280 });
    const report = await app.measure();
    assert.deepEqual(app.faults, []);
    return report;
  } finally {
    await app.browser.close();
  }
}

const blocks = (report) => report.blocks.map(({ row_microseconds, ...numbers }) => numbers);

trial('with a helper the numbers are the same, and what it needs is counted', async (t) => {
  const alone = await measured(t, 1);
  const helped = await measured(t, 2);
  assert.equal(alone.blocks.length, 3);
  assert.ok(alone.blocks.every((block) => Number.isFinite(block.r2_lin) && block.r2_rank.length === 256));
  assert.deepEqual(blocks(helped), blocks(alone));
  const more = helped.peak_memory - alone.peak_memory;
  console.log(`    ${alone.peak_memory} bytes alone, ${more} more with a helper`);
  assert.ok(more > 4e6, `a helper needs memory of its own: ${more} bytes`);
});

trial('on a GPU several helpers solve a block each, with the same numbers', async (t) => {
  const alone = await measured(t, 1, true);
  const helped = await measured(t, 4, true);
  assert.equal(alone.device.backend, 'gpu');
  assert.equal(alone.blocks.length, 3);
  assert.deepEqual(blocks(helped), blocks(alone));
  assert.ok(helped.peak_memory - alone.peak_memory > 12e6, 'three helpers need memory of their own');
});
