// An interrupted measurement resumes, in the same page and in the next one, with the same numbers.
import assert from 'node:assert/strict';

import { open, trial } from './driver.mjs';

const CHOICE = { model: 'demo-gpt2', backend: 'cpu', rows: 20000 };

const numbers = ({ blocks, ppl }) => ({ ppl, blocks: blocks.map(({ row_microseconds, ...block }) => block) });

/** Waits until a block is shown. The state after the first block is always saved, a later one where that is quick. */
const shown = (app, block) => app.page.waitForFunction((block) => document.querySelector(`[data-testid=row-${block}]`), block);

async function undisturbed() {
  const app = await open({ webgpu: false, query: CHOICE });
  try {
    await app.started();
    const report = await app.measure();
    assert.equal(await app.element('resume').count(), 0, 'what is complete does not go on');
    return report;
  } finally {
    await app.browser.close();
  }
}

/** Ends a measurement after its fourth block by `end`, and resumes it in the page that `end` returns. */
async function disturbed(end) {
  const app = await open({ webgpu: false, query: CHOICE });
  try {
    await app.started();
    await app.run();
    await shown(app, 3);
    await end(app);
    await app.element('resume').waitFor();
    const said = await app.element('unfinished').innerText();
    assert.match(said, /demo-gpt2 .* stopped before block [1-9]\d* of \d+/);
    await app.order(app.element('resume'));
    assert.equal(await app.ended(), 'finished');
    const report = await app.report();
    assert.equal(await app.element('resume').count(), 0);
    return report;
  } finally {
    await app.browser.close();
  }
}

trial('cancelled, reloaded and ended by the browser, a measurement goes on with the same digits', async () => {
  const expected = numbers(await undisturbed());
  assert.ok(expected.blocks.every((block) => Number.isFinite(block.r2_lin)));
  const ends = {
    cancelled: async (app) => {
      await app.element('cancel').click();
      assert.equal(await app.ended(), 'cancelled');
    },
    reloaded: async (app) => {
      await app.page.reload();
      await app.started();
    },
    'ended by the browser': async (app) => {
      const [worker] = app.page.workers();
      // The worker closes between two batches.
      worker.evaluate(() => self.close()).catch(() => {});
      assert.equal(await app.ended(), 'failed');
      assert.match(await app.error(), /the browser ended it/);
    },
  };
  for (const [how, end] of Object.entries(ends)) {
    const report = await disturbed(end);
    assert.equal(report.partial, false, how);
    assert.deepEqual(numbers(report), expected, how);
  }
});

trial('what could go on is forgotten on request', async () => {
  const app = await open({ webgpu: false, query: CHOICE });
  try {
    await app.started();
    await app.run();
    await shown(app, 3);
    await app.element('cancel').click();
    await app.element('forget').click();
    await app.element('resume').waitFor({ state: 'detached' });
    await app.page.reload();
    await app.started();
    assert.equal(await app.element('resume').count(), 0);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
});

trial('an extension that was stopped goes on, and what was measured before it stays', async () => {
  const app = await open({ webgpu: false, query: { ...CHOICE, measures: 'swap' } });
  try {
    await app.started();
    const first = await app.measure();
    await app.view('controls');
    const row = await app.element('row-3').evaluate((row) => row.textContent);
    await app.element('measure-controls').click();
    await app.page.waitForFunction((row) => document.querySelector('[data-testid=row-3]').textContent !== row, row);
    await app.element('cancel').click();
    await app.element('resume').waitFor();
    await app.page.reload();
    await app.started();
    await app.order(app.element('resume'));
    assert.equal(await app.ended(), 'finished');
    const { blocks } = await app.report();
    assert.deepEqual(blocks.map(({ delta_ppl }) => delta_ppl), first.blocks.map(({ delta_ppl }) => delta_ppl));
    assert.ok(first.blocks.length > 0 && blocks.every(({ controls }) => Object.keys(controls).length > 0));
  } finally {
    await app.browser.close();
  }
});
