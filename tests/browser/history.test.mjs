// Results are kept in the browser: shown again after a reload, listed, named, compared, exported, deleted, also from two
// tabs, and after a measurement whose tab was closed. Where the browser stores nothing, one sentence says so.
import assert from 'node:assert/strict';

import { App, open, trial, visit } from './driver.mjs';

const SMALL = { webgpu: false, query: { model: 'demo-gpt2', rows: '1280' } };

/** Opens the list. */
const list = (app) => app.element('history').evaluate((fold) => { fold.open = true; });

/** Opens the list and waits until it has this many results. */
async function has(app, count) {
  await list(app);
  await app.page.waitForFunction((count) => document.querySelectorAll('[data-testid=kept-name]').length === count, count);
}

const names = (app) => app.element('kept-name').evaluateAll((fields) => fields.map((field) => field.value));

visit('a reload shows the last result again, and it is listed, named, compared, exported and deleted', SMALL, async (app) => {
  const first = await app.measure();
  await has(app, 1);
  await app.page.reload();
  await app.started();
  await app.waitForText('status', /6 blocks measured on/);
  assert.deepEqual((await app.report()).blocks, first.blocks, 'with every digit');
  assert.equal(await app.element('replay').count(), 0, 'it can be extended as before');
  await app.view('losses');
  await app.element('measure-swap').click();
  assert.equal(await app.ended(), 'finished');
  await has(app, 1);

  await app.view('profile');
  await app.choose({ 'seq-len': 64 });
  await app.measure();
  await has(app, 2);
  await list(app);
  const name = app.element('kept-name').first();
  await name.fill('Shorter windows');
  await name.press('Enter');
  await app.page.waitForFunction(() => document.querySelector('[data-testid=history-sum]').textContent.includes('2 kept'));
  assert.equal(await app.element('status').getAttribute('data-phase'), 'finished', 'Enter measures nothing');
  assert.match(await app.element('kept-about').first().innerText(), /^\d{4}-\d\d-\d\d · the CPU · \d of 6 blocks/);
  await app.element('kept-pin').first().click();
  await app.page.locator('[data-testid=kept-pin][aria-pressed=true]').waitFor();

  const { bytes } = await app.saved('history-export');
  const file = JSON.parse(bytes.toString());
  assert.deepEqual(file.results.map(({ name }) => name), ['Shorter windows', 'demo-gpt2 · tales:1']);
  assert.deepEqual(file.results[1].report.blocks.map(({ r2_lin }) => r2_lin), first.blocks.map(({ r2_lin }) => r2_lin));

  await app.afresh();
  await app.waitForText('status', /Recorded with this page/);
  await has(app, 2);
  assert.deepEqual(await names(app), ['Shorter windows', 'demo-gpt2 · tales:1']);
  await list(app);
  await app.element('kept-compare').last().click();
  await app.element('runs').filter({ hasText: 'demo-gpt2 · tales:1' }).waitFor();
  await app.element('kept-open').first().click();
  await app.waitForText('status', /6 blocks measured on/);
  assert.equal((await app.report()).protocol.seq_len, 64);

  await app.element('kept-delete').first().click();
  await has(app, 1);
  await app.page.reload();
  await app.started();
  await app.waitForText('status', /Recorded with this page/);
  await has(app, 1);
  assert.deepEqual(await names(app), ['demo-gpt2 · tales:1']);
  assert.doesNotMatch(await app.page.locator('body').innerText(), /was deleted/, 'what was deleted is not asked for');
});

visit('two tabs share one list', SMALL, async (app) => {
  const page = await app.page.context().newPage();
  await page.goto(app.page.url());
  const other = new App(app.browser, page, app.faults);
  await other.started();
  await app.measure();
  await has(other, 1);
  await other.measure();
  await has(app, 2);
  await list(other);
  await other.element('kept-delete').first().click();
  await has(app, 1);
});

visit('what was finished before the tab was closed is shown when it is opened again', {
  webgpu: false, query: { model: 'demo-gpt2', backend: 'cpu', rows: '20000' },
}, async (app) => {
  await app.run();
  await app.element('row-3').waitFor();
  await has(app, 1);
  const page = await app.page.context().newPage();
  await app.page.close();
  await page.goto(process.env.STRAIGHTEDGE_URL);
  const again = new App(app.browser, page, app.faults);
  await again.started();
  await again.element('resume').waitFor();
  await again.view('profile');
  await again.element('row-0').waitFor();
  await again.waitForText('status', /Results so far are kept/);
  await again.order(again.element('resume'));
  assert.equal(await again.ended(), 'finished');
  await has(again, 1);
  const report = await again.report();
  assert.deepEqual([report.partial, report.blocks.length], [false, 6]);
});

visit('after the page itself crashed its measurement goes on in a new tab', {
  webgpu: false, query: { model: 'demo-gpt2', backend: 'cpu', rows: '20000' },
}, async (app) => {
  await app.run();
  await app.element('row-2').waitFor();
  const session = await app.page.context().newCDPSession(app.page);
  const crashed = app.page.waitForEvent('crash');
  session.send('Page.crash').catch(() => {}); // It ends without an answer.
  await crashed;
  const page = await app.page.context().newPage();
  await page.goto(process.env.STRAIGHTEDGE_URL);
  const again = new App(app.browser, page, app.faults);
  await again.started();
  await again.waitForText('unfinished', /stopped before block [1-5] of 6/);
  await again.order(again.element('resume'));
  assert.equal(await again.ended(), 'finished');
  const report = await again.report();
  assert.deepEqual([report.partial, report.blocks.length], [false, 6]);
  assert.deepEqual(app.faults.splice(0), ['the page crashed']);
});

trial('without storage one sentence says so, and everything else works', async () => {
  const refuse = (page) => page.addInitScript(() => {
    Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('storage is blocked', 'SecurityError'); } });
  });
  const app = await open({ webgpu: false, query: SMALL.query, before: refuse });
  try {
    await app.started();
    await app.waitForText('history-sum', /cannot keep results \(storage is blocked\)/);
    await app.measure();
    assert.equal(await app.element('kept-name').count(), 0);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
});
