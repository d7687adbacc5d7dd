// While the engine computes, the screen stays on, because a phone that goes to sleep stops it.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** Records the page's wake lock requests, and still grants them. */
const noted = (page) => page.addInitScript(() => {
  window.asked = [];
  window.locks = [];
  const { request } = WakeLock.prototype;
  WakeLock.prototype.request = async function (kind) {
    window.asked.push(kind ?? 'screen');
    const lock = await request.call(this, kind);
    window.locks.push(lock);
    return lock;
  };
});

/** Number of lock requests, and of locks still held. */
const locks = (app) => app.page.evaluate(() => ({
  asked: window.asked.length,
  held: window.locks.filter((lock) => !lock.released).length,
}));

const held = (app, count) => app.page.waitForFunction(
  (count) => window.locks.filter((lock) => !lock.released).length === count, count,
);

const CHOICE = { model: 'demo-gpt2', backend: 'cpu', rows: 20000 };

visit('the screen stays on from the order to the end of a measurement, also after the page was hidden', {
  webgpu: false, query: CHOICE, before: noted,
}, async (app) => {
  assert.deepEqual(await locks(app), { asked: 0, held: 0 }, 'nothing is measured yet');
  await app.run();
  await held(app, 1);
  // Simulates the browser hiding the page and showing it again.
  await app.page.evaluate(async () => {
    await window.locks[0].release();
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await held(app, 1);
  assert.deepEqual(await locks(app), { asked: 2, held: 1 });
  await app.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await app.element('cancel').click();
  assert.equal(await app.ended(), 'cancelled');
  await held(app, 0);
  assert.deepEqual(await locks(app), { asked: 2, held: 0 }, 'one that is held is enough');
});

visit('what ends by itself lets the screen go', { webgpu: false, before: noted }, async (app) => {
  await app.measure();
  await held(app, 0);
  assert.equal((await locks(app)).asked, 1);
});

for (const [what, before] of [
  ['without a wake lock', (page) => page.addInitScript(() => { delete Navigator.prototype.wakeLock; })],
  ['where it is refused', (page) => page.addInitScript(() => {
    WakeLock.prototype.request = () => Promise.reject(new DOMException('the battery is low', 'NotAllowedError'));
  })],
]) {
  visit(`${what} everything is measured all the same`, { webgpu: false, before }, async (app) => {
    const report = await app.measure();
    assert.equal(report.partial, false);
  });
}
