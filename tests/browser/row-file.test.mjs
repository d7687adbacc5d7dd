// Rows beyond the budget of memory go to a file in the browser's storage, and come back with the same numbers.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';
import { littleRowMemory } from './shims.mjs';

const numbers = ({ blocks, ppl }) => ({ ppl, blocks: blocks.map(({ row_microseconds, ...block }) => block) });

/** Room for one batch of 1024 rows of width 128. */
const BUDGET = 4 * 128 * 1024;

async function measured(app) {
  await app.choose({ 'model-select': 'demo-gpt2', 'text-select': 'tales:1', rows: 2560, backend: 'cpu' });
  for (const measure of ['swap', 'layers']) await app.element(`measures-${measure}`).check();
  const report = await app.measure();
  assert.ok(Number.isFinite(report.ppl) && report.blocks.every(({ r2_lin }) => Number.isFinite(r2_lin)));
  return numbers(report);
}

visit('rows that do not fit go through a file of the browser, with the same numbers', {
  webgpu: false, shim: littleRowMemory(BUDGET),
}, async (app) => {
  const filed = await measured(app);
  const { written, read } = await app.engine().evaluate(() => self.rowFile);
  assert.ok(written > 2 * BUDGET && read > 2 * BUDGET, `${written} bytes written, ${read} read`);
  // The file is deleted after the measurement.
  await app.page.waitForFunction(async () => {
    const root = await navigator.storage.getDirectory();
    const rows = await (await root.getDirectoryHandle('straightedge')).getDirectoryHandle('rows');
    return (await Array.fromAsync(rows.keys())).length === 0;
  });
  await app.engine().evaluate(() => { self.rowFile.budget = null; });
  assert.deepEqual(filed, await measured(app));
  assert.equal(await app.engine().evaluate(() => self.rowFile.written), written, 'within the default budget nothing is written');
});
