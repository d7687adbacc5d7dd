// A lost or full GPU: results stay, one sentence says what happened, and Resume continues.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { open, trial } from './driver.mjs';
import { littleMemory, losing } from './shims.mjs';

const CHOICE = { model: 'demo-gpt2', backend: 'gpu', rows: 1280 };

const numbers = ({ blocks, ppl }) => ({ ppl, blocks: blocks.map(({ row_microseconds, ...block }) => block) });

const row = (app, block) => app.element(`row-${block}`);

/** Opens the page, runs `body` and closes it. */
async function within(shim, body) {
  const app = await open({ webgpu: true, query: CHOICE, shim });
  try {
    await app.started();
    return await body(app);
  } finally {
    await app.browser.close();
  }
}

/** Chooses a model of twelve blocks with random weights. */
async function chooseDeep(app, t) {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-deep-'));
  t.after(() => rm(folder, { recursive: true }));
  await promisify(execFile)(process.env.XTASK, ['made-model', folder, '--shape', '12x64']);
  await app.choose({ 'model-select': ':own' });
  await app.element('model-folder').setInputFiles(folder);
  await app.choose({ 'text-select': 'tales:1', backend: 'gpu', rows: 640 });
}

/**
 * Loses the device by `lose` after five blocks of a measurement. One sentence reports the loss, the blocks stay, and
 * Resume gives the numbers of an undisturbed measurement. That one runs first, so that both use the kernels cached in
 * this browser.
 */
async function losesNothing(app, t, lose) {
  await chooseDeep(app, t);
  const undisturbed = await app.measure();
  assert.equal(undisturbed.blocks.length, 12);
  await app.run();
  await row(app, 4).waitFor();
  await lose();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /^GPU: the device was lost \(.+\); .*kept.*$/);
  assert.equal(await row(app, 4).count(), 1, 'what was measured is shown');
  assert.equal(await row(app, 11).count(), 0, 'it was lost before the end');
  await app.element('resume').waitFor();
  assert.match(await app.element('unfinished').innerText(), /stopped before block [1-9]/);
  await app.order(app.element('resume'));
  const phase = await app.ended();
  assert.equal(phase, 'finished', phase === 'failed' ? await app.error() : '');
  const report = await app.report();
  assert.equal(report.partial, false);
  assert.equal(report.device.backend, 'gpu');
  assert.deepEqual(numbers(report), numbers(undisturbed));
}

trial('after the GPU process crashed in the middle, Resume goes on with the same digits', (t) => within(undefined, async (app) => {
  const session = await app.browser.newBrowserCDPSession();
  await losesNothing(app, t, async () => {
    // A process that ended does not answer.
    session.send('Browser.crashGpuProcess').catch(() => {});
  });
}));

for (const first of ['the map', 'the loss']) {
  trial(`a lost device is told as one where ${first} is told first`, (t) => within(losing(first === 'the map'), async (app) => {
    await losesNothing(app, t, () => app.engine().evaluate(() => self.lose()));
  }));
}

const NO_MEMORY = /^GPU: out of memory \([^;]*\); close other programs or use the CPU, finished blocks are kept$/;

trial('where there is no memory from the start, one sentence says so', () => within(littleMemory(1e6), async (app) => {
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), NO_MEMORY);
}));

trial('where memory ends in the middle, one sentence says so and what was measured stays', () => within(littleMemory(Infinity), async (app) => {
  await app.run();
  await row(app, 1).waitFor();
  await app.engine().evaluate(() => self.fillMemory());
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), NO_MEMORY);
  assert.equal(await row(app, 1).count(), 1, 'what was measured is shown');
  assert.equal(await row(app, 5).count(), 0, 'it failed before the end');
  assert.equal((await app.report()).partial, true);
  // Once there is memory again, it goes on with the same digits.
  await app.engine().evaluate(() => self.freeMemory());
  await app.element('resume').waitFor();
  await app.order(app.element('resume'));
  assert.equal(await app.ended(), 'finished');
  const resumed = await app.report();
  assert.equal(resumed.blocks.length, 6);
  assert.deepEqual(numbers(await app.measure()), numbers(resumed));
}));

trial('with as much memory as is asked for, nothing fails', () => within(littleMemory(2e9), async (app) => {
  const report = await app.measure();
  assert.equal(report.blocks.length, 6);
  assert.deepEqual(app.faults, []);
}));
