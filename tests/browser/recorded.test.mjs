// Views and ready comparisons of recordings: they are shown while the engine, which they do not need, has not arrived.
import assert from 'node:assert/strict';

import { open, trial } from './driver.mjs';
import { relay } from './relay.mjs';

const recorded = async () => (await fetch(new URL('data/recorded/demo-gpt2.json', process.env.STRAIGHTEDGE_URL))).json();

/** Values in the first figure of a view of demo-gpt2's report: lines, each over all blocks. */
const VIEWS = {
  losses: () => 3,
  controls: ({ blocks: [block] }) => 1 + Object.keys(block.controls).length,
  layers: () => 3,
};

/** Lines of each ready comparison, and its figures. */
const COMPARISONS = { 'fine-tuned': [2, 3], regularised: [3, 4], learned: [5, 1] };

/** Waits until a figure shows so many values, and no more; a pre-rendered one is drawn for several widths. */
async function holds(app, at, values, what) {
  const marks = app.element(`chart-${at}`).locator('.drawing:not(.over) path.mark:visible');
  await marks.nth(values - 1).waitFor();
  assert.equal(await marks.count(), values, `${what}, figure ${at}`);
}

trial('views and comparisons of recordings open before the engine has arrived', async () => {
  const network = await relay();
  let arrive;
  network.waits['worker_bg.wasm'] = new Promise((resolve) => { arrive = resolve; });
  /** Opens a link, and ends its browser after the body. */
  const opened = async (query, body) => {
    const app = await open({ webgpu: false, query, address: network.address, waitUntil: 'commit' });
    try {
      await body(app);
      assert.deepEqual(app.faults, [], JSON.stringify(query));
    } finally {
      await app.browser.close();
    }
  };
  try {
    const report = await recorded();
    const blocks = report.blocks.length;
    assert.equal(report.layers.length, blocks);
    for (const [view, lines] of Object.entries(VIEWS)) {
      await opened({ view }, async (app) => {
        await holds(app, 0, lines(report) * blocks, view);
        assert.equal(await app.element('status').getAttribute('data-phase'), 'recorded', view);
        assert.equal(await app.device(), 'probing', `${view} needs no engine`);
      });
    }
    for (const [compare, [lines, figures]] of Object.entries(COMPARISONS)) {
      await opened({ view: 'compare', compare }, async (app) => {
        for (let at = 0; at < figures; at += 1) await holds(app, at, lines * blocks, compare);
        assert.equal(await app.element(`figure-${figures}`).count(), 0, `${compare} has no further figure`);
        assert.equal(await app.device(), 'probing', `${compare} needs no engine`);
      });
    }
    // Both are held back only until the engine arrives.
    await opened({ view: 'losses' }, async (app) => {
      await holds(app, 0, VIEWS.losses(report) * blocks, 'losses');
      arrive();
      await app.started();
      assert.notEqual(await app.device(), 'probing');
      await holds(app, 0, VIEWS.losses(report) * blocks, 'losses, with the engine');
    });
  } finally {
    arrive();
    await network.end();
  }
});
