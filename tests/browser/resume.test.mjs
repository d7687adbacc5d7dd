// An interrupted measurement resumes, in the same page and in the next one, with the same numbers.
import assert from 'node:assert/strict';

import { App, open, trial } from './driver.mjs';

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

/** The reports that are kept, the latest first. */
async function kept(app) {
  await app.element('history').evaluate((fold) => { fold.open = true; });
  const { results } = JSON.parse((await app.saved('history-export')).bytes.toString());
  return results.map(({ report }) => report);
}

/** The same while a measurement runs, from the page's database. */
async function stored(app) {
  const reports = await app.page.evaluate(() => new Promise((resolve, reject) => {
    const opening = indexedDB.open('straightedge results');
    opening.onerror = reject;
    opening.onsuccess = () => {
      const found = opening.result.transaction('reports').objectStore('reports').getAll();
      found.onerror = reject;
      found.onsuccess = () => {
        opening.result.close();
        resolve(found.result);
      };
    };
  }));
  return reports.map((report) => JSON.parse(report));
}

/** Opens the page again after its tab was closed. */
async function closed(app) {
  const page = await app.page.context().newPage();
  await app.page.close();
  await page.goto(process.env.STRAIGHTEDGE_URL);
  const again = new App(app.browser, page, app.faults);
  await again.started();
  await again.element('resume').waitFor();
  return again;
}

trial('an added measure goes on after its tab was closed, in its own result, and what was measured before stays', async () => {
  const app = await open({ webgpu: false, query: CHOICE });
  try {
    await app.started();
    // Of the same model and text, and stopped too.
    await app.choose({ 'seq-len': 64 });
    await app.run();
    await shown(app, 2);
    await app.element('cancel').click();
    assert.equal(await app.ended(), 'cancelled');
    await app.choose({ 'seq-len': 128 });
    await app.element('measures-swap').check();
    const first = await app.measure();
    await app.view('controls');
    await app.element('measure-controls').click();
    const hasControls = ({ controls }) => Object.keys(controls ?? {}).length > 0;
    while (!(await stored(app)).some(({ blocks }) => blocks[2] && hasControls(blocks[2])));
    const again = await closed(app);
    const [during, other] = await kept(again);
    assert.equal(during.partial, true, 'its blocks are kept as they finish');
    assert.ok(during.blocks.some(hasControls));
    await again.order(again.element('resume'));
    assert.equal(await again.ended(), 'finished');
    const { blocks } = await again.report();
    const losses = (blocks) => blocks.map(({ delta_ppl }) => delta_ppl);
    assert.deepEqual(losses(blocks), losses(first.blocks));
    assert.ok(first.blocks.length > 0 && blocks.every(hasControls));
    const now = await kept(again);
    assert.deepEqual(now.map(({ partial, protocol }) => [partial, protocol.seq_len]), [[false, 128], [true, 64]]);
    assert.deepEqual(now[1].blocks, other.blocks, 'the other result is as it was');
    await again.view('probes');
    await again.element('measure-probes').waitFor();
  } finally {
    await app.browser.close();
  }
});

trial('of one result in two tabs each keeps what it adds', async () => {
  const app = await open({ webgpu: false, query: { ...CHOICE, rows: 1280 } });
  try {
    await app.started();
    await app.measure();
    const page = await app.page.context().newPage();
    await page.goto(process.env.STRAIGHTEDGE_URL);
    const other = new App(app.browser, page, app.faults);
    await other.started();
    await other.element('history').evaluate((fold) => { fold.open = true; });
    await other.element('kept-open').click();
    await other.waitForText('status', /6 blocks measured on/);
    await app.element('history').evaluate((fold) => { fold.open = true; });
    for (const [tab, view, measure, count] of [[app, 'controls', 'controls', 1], [other, 'losses', 'swap', 2]]) {
      await tab.view(view);
      await tab.order(tab.element(`measure-${measure}`));
      assert.equal(await tab.ended(), 'finished');
      await app.page.waitForFunction((count) => document.querySelectorAll('[data-testid=kept-name]').length === count, count);
      // To look at a result is no change of it.
      if (count === 1) assert.ok((await stored(app)).every(({ blocks }) => Object.keys(blocks[0].controls).length > 0));
    }
    const has = (name) => ({ blocks }) => blocks.every((block) => Object.keys(block[name]).length > 0);
    const results = await kept(app);
    assert.ok(results.some(has('delta_ppl')) && results.some(has('controls')), 'neither is lost');
  } finally {
    await app.browser.close();
  }
});
