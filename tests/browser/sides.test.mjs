// Side by side: a prompt is continued by the model and by the same model with linear blocks, on a recording, by
// keyboard alone, cancelled half-way, and never garbled.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { PATIENCE, assertClose, visit } from './driver.mjs';
import { leaves } from './files.mjs';

const AXE = fileURLToPath(new URL('node_modules/axe-core/axe.min.js', import.meta.url));
/** The page as it opens, on a recording, with fewer rows so that maps are ready soon. */
const RECORDED = { webgpu: false, query: { view: 'sides', rows: '2560' } };

async function ended(app) {
  const status = app.element('sides-status');
  await status.and(app.page.locator(':is([data-phase=finished], [data-phase=cancelled], [data-phase=failed])'))
    .waitFor({ timeout: PATIENCE });
  return status.getAttribute('data-phase');
}

async function go(app, tokens) {
  await app.element('sides-tokens').fill(String(tokens));
  await app.element('sides-go').click();
  assert.equal(await ended(app), 'finished', await app.element('sides-error').allInnerTexts().then(String));
}

/** Every step in the table: number, both tokens, KL. */
async function steps(app) {
  const fold = app.element('numbers-0');
  if (!await fold.evaluate((fold) => fold.open)) await fold.locator('summary').click();
  const rows = await fold.locator('tbody tr').all();
  return Promise.all(rows.map(async (row) => {
    const cells = await row.locator('th, td').allInnerTexts();
    return { original: cells[1], linear: cells[2], kl: Number(cells[3].replace('−', '-')) };
  }));
}

async function findings(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: await readFile(AXE, 'utf8') });
  const { violations } = await page.evaluate(() => axe.run());
  return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(' | ')}`);
}

visit('two linear blocks go their own way, token by token, and no block none', RECORDED, async (app) => {
  assert.match(await app.element('sides-block-0').textContent(), /^Block 0, R² 0\.\d\d$/);
  assert.equal(await app.element('sides-block-0').getAttribute('aria-pressed'), 'true', 'the most linear one');
  await app.element('sides-none').click();
  for (const block of [2, 4]) await app.element(`sides-block-${block}`).click();
  await app.element('sides-prompt').fill('The cook lived in');
  await go(app, 12);
  const tokens = await steps(app);
  assert.equal(tokens.length, 12);
  assert.ok(tokens.every(({ kl }) => kl >= 0) && tokens.some(({ kl }) => kl > 1e-3), JSON.stringify(tokens));
  assert.ok(tokens.some(({ original, linear }) => original !== linear), 'the texts part');
  assert.match(await app.element('sides-status').innerText(), /12 tokens; the texts diverge at token \d+\. Mean KL/);
  const parting = tokens.findIndex(({ original, linear }) => original !== linear);
  assert.match(await app.element(`linear-${parting}`).getAttribute('class'), /other/);
  const { data, picture } = await leaves(app, 0);
  assert.deepEqual(data.chart.series[0].points.map(({ y }) => y), data.continuation.steps.map(({ kl }) => kl));
  for (const [at, { kl }] of tokens.entries()) assertClose(`KL of token ${at}`, data.chart.series[0].points[at].y, kl, 1e-5);
  assert.ok(data.continuation.steps.every(({ candidates }) => candidates.length >= 5), 'the likeliest tokens of both');
  assert.deepEqual([data.asked.prompt, data.continuation.opening.blocks], ['The cook lived in', [2, 4]]);
  assert.equal(data.made.model.id, 'demo-gpt2');
  assert.match(picture.text, /Continuation of “The cook lived in”\. With linear blocks 2, 4; the most likely token at every step\..*texts diverge at token/s);
  assert.match(picture.text, /demo-gpt2.*tales:1.*rows/s);
  assert.ok(picture.bars > 0, `${picture.bars} columns`);
  await app.element('chart-0').focus();
  await app.page.keyboard.press('End');
  assert.match(await app.element('readout-0').innerText(), /^Token 12: KL in nats [\d.e−]+, /);
  assert.match(await app.element('sides-detail').innerText(), /^Token 12 after/, 'what is pointed at in the chart is told of');

  const texts = await app.page.locator('.flow').allInnerTexts();
  assert.ok(texts.every((text) => text.startsWith('The cook lived in') && !text.includes('\u{fffd}')), texts.join(' | '));

  assert.equal(await app.page.locator('button.main:not(.second):visible').count(), 1, 'one button calls');

  // The measurement is cached: the same model continues at once, with other blocks.
  await app.element('sides-none').click();
  await go(app, 8);
  const same = await steps(app);
  assert.equal(same.length, 8);
  assert.ok(same.every(({ original, linear, kl }) => original === linear && kl === 0), JSON.stringify(same));
  assert.deepEqual(same.map(({ original }) => original), tokens.slice(0, 8).map(({ original }) => original));
  assert.match(await app.element('sides-status').innerText(), /8 tokens, identical in both texts\. Mean KL 0 nats/);
});

visit('texts of an earlier choice say so, and what was measured for them can be compared', RECORDED, async (app) => {
  await go(app, 3);
  assert.equal(await app.element('sides-stale').count(), 0, 'they are of what is chosen');
  assert.match(await app.element('about-result').innerText(), /demo-gpt2/);
  await app.element('sides-prompt').fill('Another one');
  await app.waitForText('sides-stale', /the prompt changed/);
  await app.element('sides-prompt').fill('A day in');
  await app.page.waitForFunction(() => !document.querySelector('[data-testid=sides-stale]'));
  await app.element('sides-block-1').click();
  await app.waitForText('sides-stale', /the blocks changed/);
  await app.element('model-select').selectOption('demo-neox');
  await app.waitForText('sides-stale', /: the model changed/);
  assert.match(await app.element('sides-fit').innerText(), /demo-gpt2.*Compare/);
  await app.view('compare');
  const measured = app.element('add').locator('option', { hasText: 'measured here' });
  await measured.waitFor({ state: 'attached' });
  assert.match(await measured.innerText(), /demo-gpt2/);
});

visit('an affine block made linear changes nothing', { webgpu: false, query: { model: 'calibration', view: 'sides' } }, async (app) => {
  await app.element('sides-none').click();
  await go(app, 2);
  await app.element('sides-all').click();
  await go(app, 2);
  assert.equal((await app.page.locator('.chip.of-block').count()), 6, 'what was measured tells how many blocks there are');
  await app.element('sides-none').click();
  await app.element('sides-block-0').click();
  await go(app, 6);
  const tokens = await steps(app);
  assert.ok(tokens.every(({ original, linear, kl }) => original === linear && kl < 1e-6), JSON.stringify(tokens));
});

visit('stopped half-way, what was told stays and the engine is ready again', RECORDED, async (app) => {
  await app.element('sides-none').click();
  await app.element('sides-tokens').fill('100');
  const stopped = app.page.evaluate(() => new Promise((pressed) => {
    const watcher = new MutationObserver(() => {
      if (!document.querySelector('[data-testid=original-1]')) return;
      watcher.disconnect();
      document.querySelector('[data-testid=sides-stop]').click();
      pressed();
    });
    watcher.observe(document.body, { childList: true, subtree: true });
  }));
  await app.element('sides-go').click();
  await stopped;
  assert.equal(await ended(app), 'cancelled');
  const count = await app.page.locator('[data-testid^=original-]').count();
  assert.ok(count >= 2 && count < 100, `${count} tokens`);
  assert.match(await app.element('sides-status').innerText(), /^Stopped after \d+ tokens/);
  await go(app, 3);
  assert.equal(await app.page.locator('[data-testid^=original-]').count(), 3);
});

visit('by keyboard from the prompt to a token, without serious findings of axe-core', RECORDED, async (app) => {
  const { keyboard } = app.page;
  await app.element('sides-none').click();
  await app.element('sides-tokens').fill('4');
  await app.element('sides-tokens').press('Enter');
  assert.equal(await ended(app), 'finished');
  await app.element('original-0').focus();
  await keyboard.press('End');
  assert.equal(await app.page.evaluate(() => document.activeElement.dataset.testid), 'original-3');
  assert.match(await app.element('sides-detail').innerText(), /^Token 4 after/);
  await keyboard.press('ArrowLeft');
  assert.match(await app.element('sides-detail').innerText(), /^Token 3 after/);
  assert.match(await app.element('original-2').getAttribute('aria-label'), /token 3: KL 0 nats$/);
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      await app.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await app.page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await findings(app.page), [], `${colorScheme}, ${width} wide`);
    }
  }
});

visit('what cannot be continued is one sentence, and a link can hide the view', { webgpu: false, query: { hide: 'sides', view: 'sides' } }, async (app) => {
  assert.equal(await app.element('tab-sides').count(), 0);
  assert.equal(await app.element('sides-prompt').count(), 0, 'nor is it opened');
  const page = new URL(app.page.url());
  page.search = '?v=1&view=sides';
  await app.page.goto(page.href);
  await app.started();
  await app.element('sides-prompt').fill('');
  await app.element('sides-go').click();
  assert.match(await app.error(), /Prompt.*nothing/);
  await app.element('sides-prompt').fill('cook '.repeat(200));
  await app.element('sides-none').click();
  await app.element('sides-go').click();
  assert.equal(await ended(app), 'failed');
  assert.match(await app.element('sides-error').innerText(), /Prompt.*128 tokens at most/);
});
