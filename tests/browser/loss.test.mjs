// A GPU that goes away or has no room: what was measured stays, one sentence tells what happened, and Resume goes on.
import assert from 'node:assert/strict';

import { open, trial } from './driver.mjs';
import { littleMemory, losing } from './shims.mjs';

const CHOICE = { model: 'demo-gpt2', backend: 'gpu', rows: 5120 };

const numbers = ({ blocks, ppl }) => ({ ppl, blocks: blocks.map(({ row_microseconds, ...block }) => block) });

const row = (app, block) => app.element(`row-${block}`);

/** Opens the page, does something with it and closes it. */
async function within(how, body) {
  const app = await open({ webgpu: true, query: CHOICE, ...how });
  try {
    await app.started();
    return await body(app);
  } finally {
    await app.browser.close();
  }
}

/** The report of an undisturbed measurement, made once. */
let undisturbed;
const expected = () => {
  undisturbed ??= within({}, (app) => app.measure()).then(numbers);
  return undisturbed;
};

/** Fails unless the device was told as lost in one sentence, with the first block still shown; then goes on. */
async function goesOn(app) {
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /^GPU: the device was lost \(.+\); .*kept.*$/);
  assert.equal(await row(app, 0).count(), 1, 'what was measured is shown');
  await app.element('resume').waitFor();
  await app.order(app.element('resume'));
  const phase = await app.ended();
  assert.equal(phase, 'finished', phase === 'failed' ? await app.error() : '');
  const report = await app.report();
  assert.equal(report.partial, false);
  assert.equal(report.device.backend, 'gpu');
  assert.deepEqual(numbers(report), await expected());
}

trial('after the GPU process crashed in the middle, Resume goes on with the same digits', () => within({}, async (app) => {
  await app.run();
  await row(app, 1).waitFor();
  const session = await app.browser.newBrowserCDPSession();
  // The answer may be lost with the process.
  session.send('Browser.crashGpuProcess').catch(() => {});
  await goesOn(app);
}));

for (const first of ['the map', 'the loss']) {
  trial(`a lost device is told as one where ${first} is told first`, () => within({ shim: losing(first === 'the map') }, async (app) => {
    await app.run();
    await row(app, 1).waitFor();
    await app.engine().evaluate(() => self.lose());
    await goesOn(app);
  }));
}

trial('where buffers fail after some bytes, a measurement is right or ends in one sentence', async () => {
  const outcomes = [];
  for (let megabytes = 1; megabytes <= 256; megabytes *= 2) {
    await within({ shim: littleMemory(megabytes * 2 ** 20) }, async (app) => {
      await app.run();
      const phase = await app.ended();
      outcomes.push(phase);
      if (phase === 'finished') {
        assert.deepEqual(numbers(await app.report()), await expected(), `${megabytes} MB`);
        return;
      }
      const told = await app.error();
      assert.match(told, /^GPU: [^.]*memory[^.]*; [^.]+$/, `${megabytes} MB: ${told}`);
      const shown = await app.page.locator('[data-testid^=row-]').count();
      assert.ok(shown < 6, `${megabytes} MB: ${shown} blocks`);
      console.log(`    ${megabytes} MB: ${shown} blocks shown, ${told}`);
    });
  }
  assert.equal(outcomes[0], 'failed', 'a little memory is not enough');
  assert.equal(outcomes.at(-1), 'finished', 'a lot of it is');
  assert.deepEqual(outcomes, [...outcomes].sort(), 'failed below, finished above');
});
