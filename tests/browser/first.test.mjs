// The first second: a recorded result shows before any module has loaded, nothing moves when the live page replaces the
// pre-rendered one, and one button measures the same here, pressed early or late.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';

import { assertClose, open, trial, visit } from './driver.mjs';

const SITE = process.env.STRAIGHTEDGE_URL;
/** Largest imperceptible layout shift. */
const STILL = 0.01;
/** Bytes allowed before the first view shows. */
const FIRST = 120_000;

const recorded = async () => (await fetch(new URL('data/recorded/demo-gpt2.json', SITE))).json();

/** Holds back modules until released. */
function held() {
  let letGo;
  const gone = new Promise((resolve) => { letGo = resolve; });
  return { letGo, before: (page) => page.route('**/*.wasm', async (route) => { await gone; await route.continue(); }) };
}

trial('the first view needs no module, and what is pressed on it is done once there is one', async () => {
  const report = await recorded();
  const { letGo, before } = held();
  const app = await open({ webgpu: false, query: {}, before, waitUntil: 'commit' });
  try {
    await app.element('measure-here').waitFor();
    const dots = app.element('chart').locator('svg:visible circle.dot');
    assert.equal(await dots.count(), report.blocks.length);
    assert.match(await app.element('status').innerText(), /Recorded with this page, not measured on your machine/);
    for (const [at, block] of report.blocks.entries()) {
      const shown = await app.element(`row-${at}`).locator('[data-column=r2_lin]').innerText();
      assertClose(`block ${at}`, Number(shown.replace('−', '-')), block.r2_lin, 6e-7);
    }
    await app.element('measure-here').click();
    assert.equal(await app.element('measure-here').getAttribute('aria-busy'), 'true');
    letGo();
    assert.equal(await app.ended(), 'finished', await app.element('error').allInnerTexts().then(String));
    const measured = await app.report();
    for (const [at, block] of measured.blocks.entries()) assertClose(`block ${at}`, block.r2_lin, report.blocks[at].r2_lin, 1e-5);
    assert.equal(await app.element('chart').locator('path.overlay:not(.line)').count(), report.blocks.length);
    assert.match(await app.element('agreement').innerText(), /Pearson 1\.000/);
    assert.ok(Number(await app.element('differences').getAttribute('data-most')) < 1e-4);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
});

trial('nothing moves when the page takes over, at any width', async () => {
  for (const width of [390, 800, 1280]) {
    const { letGo, before } = held();
    const narrow = async (page) => { await page.setViewportSize({ width, height: 900 }); await before(page); };
    const app = await open({ webgpu: false, query: {}, before: narrow, waitUntil: 'commit' });
    try {
      await app.element('measure-here').waitFor();
      await app.page.evaluate(() => {
        window.moved = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.moved += entry.value; }))
          .observe({ type: 'layout-shift' });
      });
      letGo();
      await app.started();
      await app.element('extent').waitFor();
      const moved = () => app.page.evaluate(() => window.moved);
      assert.ok(await moved() < STILL, `${await moved()} at ${width}`);
      // The check detects a shift by a line of text.
      await app.page.evaluate(() => { document.querySelector('.results').style.marginTop = '40px'; });
      await app.page.waitForFunction((still) => window.moved >= still, STILL);
    } finally {
      await app.browser.close();
    }
  }
});

/** Compressed bytes of a page and of the files its head needs before the first paint. */
async function needed(page) {
  const head = page.slice(0, page.indexOf('</head>'));
  const linked = [...head.matchAll(/(?:stylesheet" href|script src)="([^"]+)"/g)].map(([, path]) => new URL(path, SITE));
  assert.ok(linked.length >= 5, String(linked));
  const load = async (url) => Buffer.from(await (await fetch(url)).arrayBuffer());
  const files = [Buffer.from(page), ...await Promise.all(linked.map(load))];
  return files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
}

trial('what is needed for the first view is small', async () => {
  const page = await (await fetch(SITE)).text();
  const sent = await needed(page);
  console.log(`the first view takes ${sent} bytes compressed`);
  assert.ok(sent < FIRST, `${sent} bytes`);
  // The check detects a page that waits for a module, or that contains all its data.
  const waiting = page.replace('</head>', '<script src="./page_bg.wasm"></script></head>');
  const swollen = page.replace('</body>', `${Array.from({ length: 60_000 }, (_, at) => Math.sin(at)).join()}</body>`);
  for (const heavy of [waiting, swollen]) assert.ok(await needed(heavy) >= FIRST);
});

visit('published profiles are shown with their source, and nobody else is asked', { webgpu: false, query: {} }, async (app) => {
  await app.element('known-openai-community/gpt2').click();
  await app.element('chart').locator('path.overlay:not(.line)').nth(11).waitFor();
  assert.match(await app.element('overlay-note').innerText(), /published in arXiv 2606\.19379.*not measured here/);
  assert.match(await app.element('status').innerText(), /Published, not measured on your machine/);
  await app.element('chart').focus();
  await app.page.keyboard.press('End');
  assert.match(await app.element('readout').innerText(), /0\.712851/);
  await app.element('known-recorded').click();
  await app.element('chart').locator('circle.dot').nth(5).waitFor();
  assert.equal(await app.element('status').getAttribute('data-phase'), 'recorded');
});
