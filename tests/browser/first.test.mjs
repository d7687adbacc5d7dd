// The first second: recorded texts show before any module has loaded and answer a click on a block, nothing moves when
// the live page replaces the pre-rendered one, and one button measures the same here, pressed early or late.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';

import { assertClose, open, trial, visit } from './driver.mjs';
import { relay } from './relay.mjs';

const SITE = process.env.STRAIGHTEDGE_URL;
/** Largest imperceptible layout shift. */
const STILL = 0.01;
/** Bytes allowed before the first view shows and answers. */
const FIRST = 120_000;

const recorded = async () => (await fetch(new URL('data/recorded/demo-gpt2.json', SITE))).json();

/** Holds back modules until released. */
function held() {
  let letGo;
  const gone = new Promise((resolve) => { letGo = resolve; });
  return { letGo, before: (page) => page.route('**/*.wasm', async (route) => { await gone; await route.continue(); }) };
}

/** Heading, text, KL and place of divergence of the recorded text shown, with its switches. */
const recordedText = (page) => page.evaluate(() => {
  const part = (name) => document.querySelector(`[data-testid=recorded-${name}]`);
  const switches = [...document.querySelectorAll('.chip.of-block')].map((block) => block.getAttribute('aria-pressed') === 'true');
  return {
    on: switches.flatMap((on, at) => (on ? [at] : [])),
    heading: part('heading').textContent,
    text: part('linear').innerText,
    bars: [...part('original').querySelectorAll('.token')].map((token) => token.dataset.kl).join(''),
    others: part('linear').querySelectorAll('.other').length,
    kl: part('kl').textContent,
    parting: part('parting').textContent,
  };
});

/** Waits until the recorded text is that of the blocks `on`, and holds it against the recording. */
async function showsText(page, texts, on) {
  const { tokens, mean_kl: mean } = texts.linear[on.reduce((sum, block) => sum + 2 ** block, 0)];
  const text = texts.prompt + tokens.join('');
  await page.waitForFunction((text) => document.querySelector('[data-testid=recorded-linear]').textContent === text, text);
  const shown = await recordedText(page);
  assert.deepEqual(shown.on, on);
  assertClose('mean KL', Number(shown.kl), mean, 0.006 * mean);
  assert.equal(shown.others, tokens.filter((token, at) => token !== texts.original[at]).length);
  return shown;
}

trial('the first view needs no module, and what is pressed on it is done once there is one', async () => {
  const report = await recorded();
  const { letGo, before } = held();
  const app = await open({ webgpu: false, query: {}, before, waitUntil: 'commit' });
  try {
    await app.element('run').waitFor();
    assert.equal(await app.element('tab-sides').getAttribute('aria-selected'), 'true');
    const dots = app.page.locator('.small-profile circle.dot');
    assert.equal(await dots.count(), report.blocks.length);
    assert.match(await app.element('status').innerText(), /Recorded with this page, not measured on your machine/);
    await app.element('run').click();
    assert.equal(await app.element('run').getAttribute('aria-busy'), 'true');
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

/** Everything in the open view but its axes, which depend on the width that only the page knows. */
function everything() {
  const panel = document.querySelector('[data-testid=panel]').cloneNode(true);
  const all = (selector) => [...panel.querySelectorAll(selector)];
  for (const drawing of all('.drawing')) drawing.remove();
  // Before the page's module, an empty text is a space, and no comment marks where one may come.
  const textOf = (element) => element.textContent.replace(/\s+/g, '');
  return {
    text: textOf(panel),
    pressed: all('[aria-pressed=true]').map(textOf),
    lines: all('.runs svg, .legend svg, .spark svg').map((line) => line.outerHTML),
    captions: all('figcaption').length,
    chosen: [...document.querySelectorAll('[data-testid=panel] :is(input, select)')].map(({ value }) => value),
  };
}

trial('a link to a view or ready comparison shows what is recorded before any module has arrived, and the page takes it over', async () => {
  const script = await (await fetch(new URL('early.js', SITE))).text();
  const views = Object.keys(JSON.parse(script.match(/const VIEWS = (.*);/)[1]));
  const linkTo = (view) => new URL(`?view=${view.replace('-', '&compare=')}`, SITE).href;
  const { letGo, before } = held();
  const app = await open({ webgpu: false, query: { view: 'profile' }, before, waitUntil: 'commit' });
  const marks = app.page.locator('.results figure :is(.mark, .dot):visible');
  const shown = async (view) => {
    await app.element(`tab-${view.split('-')[0]}`).and(app.page.locator('[aria-selected=true]')).waitFor();
    return { ...await app.page.evaluate(everything), marks: await marks.count() };
  };
  try {
    const recorded = {};
    for (const view of views) {
      await app.page.goto(linkTo(view), { waitUntil: 'commit' });
      recorded[view] = await shown(view);
    }
    letGo();
    for (const view of views) {
      await app.page.goto(linkTo(view));
      await app.started();
      assert.deepEqual(recorded[view], await shown(view), view);
    }
    const drawn = views.filter((view) => recorded[view].captions > 0);
    assert.deepEqual(drawn.filter((view) => !view.startsWith('compare')), ['block', 'controls', 'healing', 'layers', 'losses', 'probes', 'profile', 'ranks', 'regimes']);
    assert.equal(drawn.filter((view) => view.startsWith('compare-')).length, 11);
    // In another language, or with anything else in the link, the page alone shows it.
    for (const more of ['&lang=de', '&rows=5120', '&compare=families']) {
      await app.page.goto(new URL(`?view=losses${more}`, SITE).href, { waitUntil: 'commit' });
      await app.started();
      assert.equal(await app.page.evaluate(() => performance.getEntriesByType('resource').some(({ name }) => name.includes('/views/'))), false);
    }
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
});

/** A line of 1.6 Mbit/s, with the delay of a phone. */
const SLOW = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };

trial('on a slow line a switch changes text and KL before any module has arrived, and the page takes it over', async () => {
  const texts = await (await fetch(new URL('data/continuations/demo-gpt2.json', SITE))).json();
  const arrived = [];
  const before = async (page) => {
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', SLOW);
    page.on('requestfinished', (request) => { if (/\.wasm/.test(request.url())) arrived.push(request.url()); });
  };
  const app = await open({ webgpu: false, query: {}, before, waitUntil: 'commit' });
  try {
    await app.element('sides-block-5').waitFor();
    const first = await recordedText(app.page);
    assert.equal(first.on.length, 1, 'the most linear block');
    const [own] = first.on;
    const other = own === 2 ? 3 : 2;
    await app.element(`sides-block-${other}`).click();
    const both = await showsText(app.page, texts, [own, other].sort());
    assert.notEqual(both.text, first.text);
    assert.notEqual(both.kl, first.kl);
    await app.element('sides-all').click();
    await showsText(app.page, texts, [0, 1, 2, 3, 4, 5]);
    await app.element('sides-none').click();
    const none = await showsText(app.page, texts, []);
    assert.equal(none.kl, '0');
    assert.match(none.parting, /identical/);
    for (const block of [1, 4]) await app.element(`sides-block-${block}`).click();
    const last = await showsText(app.page, texts, [1, 4]);
    assert.deepEqual(arrived, [], 'no module was needed');

    await app.started();
    assert.deepEqual(await recordedText(app.page), last, 'the page shows the same');
    await app.element('sides-block-4').click();
    await showsText(app.page, texts, [1]);
    assert.match(app.page.url(), /linear=1/);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
});

visit('recorded texts are those that the engine adds here', { webgpu: false, query: {} }, async (app) => {
  const spaced = (text) => text.replace(/\s+/g, ' ').trim();
  for (const on of [[1, 4], [0, 1, 2, 3, 4, 5]]) {
    await app.page.reload();
    await app.started();
    await app.element('sides-none').click();
    for (const block of on) await app.element(`sides-block-${block}`).click();
    await app.element('recorded-heading').filter({ hasText: on.join(', ') }).waitFor();
    const shown = await recordedText(app.page);
    await app.element('sides-go').click();
    await app.element('sides-status').and(app.page.locator('[data-phase=finished]')).waitFor();
    const [original, linear] = await app.page.locator('.flow').allInnerTexts();
    assert.equal(spaced(linear), spaced(shown.text), on.join());
    assert.notEqual(spaced(original), spaced(linear));
    const text = await app.element('sides-status').innerText();
    const [mean, low, high] = text.match(/Mean KL ([\d.]+) \(95.%: ([\d.]+) to ([\d.]+)\) nats/).slice(1);
    assert.ok(Number(low) < Number(mean) && Number(mean) < Number(high), text);
    assertClose('mean KL', Number(mean), Number(shown.kl), 0.006 * Number(mean));
    assert.equal(await app.element('recorded-texts').count(), 0, 'what was measured here takes its place');
  }
});

visit('a link that names anything opens the profile as before, and an address that names nothing stays bare', { webgpu: false, query: { model: 'demo-gpt2' } }, async (app) => {
  assert.equal(await app.element('tab-profile').getAttribute('aria-selected'), 'true');
  await app.page.waitForFunction(() => location.search === '?v=1&view=profile' || location.search === '?view=profile&v=1');
  await app.page.reload();
  await app.started();
  assert.equal(await app.element('tab-profile').getAttribute('aria-selected'), 'true');
  await app.view('sides');
  await app.page.waitForFunction(() => location.search.includes('view=sides'));
  await app.page.goto(new URL('.', SITE).href);
  await app.started();
  assert.equal(await app.element('tab-sides').getAttribute('aria-selected'), 'true');
  assert.equal(new URL(app.page.url()).search, '');
});

/** Adds up layout shifts from now on. */
function watchShifts() {
  window.moved = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.moved += entry.value; }))
    .observe({ type: 'layout-shift' });
}

trial('nothing moves when the page takes over, at any width', async () => {
  const opened = [{}, { view: 'compare', compare: 'fine-tuned' }].flatMap((query) => [390, 800, 1280].map((width) => ({ query, width })));
  for (const { query, width } of opened) {
    const { letGo, before } = held();
    const narrow = async (page) => { await page.setViewportSize({ width, height: 900 }); await before(page); };
    const app = await open({ webgpu: false, query, before: narrow, waitUntil: 'commit' });
    try {
      await app.element('run').waitFor();
      await app.page.evaluate(watchShifts);
      letGo();
      await app.started();
      await app.element('extent').waitFor();
      const moved = () => app.page.evaluate(() => window.moved);
      assert.ok(await moved() < STILL, `${await moved()} at ${width} of ${query.view}`);
      // The check detects a shift by a line of text.
      await app.page.evaluate(() => { document.querySelector('.results').style.marginTop = '40px'; });
      await app.page.waitForFunction((still) => window.moved >= still, STILL);
    } finally {
      await app.browser.close();
    }
  }
});

trial('on a phone nothing is painted before the results, which stand above the form, have arrived', async () => {
  const site = await relay();
  try {
    for (const expects of [true, false]) {
      let arrive;
      site.changes[''] = (page) => (expects ? page : page.replace(/<link rel="expect"[^>]*>/, ''));
      site.halves[''] = { before: 'class="results"', until: new Promise((resolve) => { arrive = resolve; }) };
      const before = async (page) => {
        await page.setViewportSize({ width: 390, height: 844 });
        await page.addInitScript(watchShifts);
      };
      const app = await open({ webgpu: false, query: {}, address: site.address, before, waitUntil: 'commit' });
      try {
        await app.page.locator('form.controls').waitFor({ state: 'attached' });
        await app.page.waitForTimeout(300);
        arrive();
        await app.element('recorded-texts').waitFor();
        const moved = () => app.page.evaluate(() => window.moved);
        if (expects) {
          await app.page.waitForTimeout(500);
          assert.ok(await moved() < STILL, `${await moved()}`);
        } else {
          // The check detects a page that is painted in halves.
          await app.page.waitForFunction((still) => window.moved >= still, STILL);
        }
      } finally {
        await app.browser.close();
      }
    }
  } finally {
    await site.end();
  }
});

/** Compressed bytes of a page and of the files its head needs before the first paint. */
async function needed(page) {
  const head = page.slice(0, page.indexOf('</head>'));
  const linked = [...head.matchAll(/(?:stylesheet" href|script src)="([^"]+)"/g)].map(([, path]) => new URL(path, SITE));
  assert.deepEqual(linked.slice(0, 2).map((url) => url.pathname.split('/').pop()), ['style.css', 'early.js']);
  linked.push(new URL('data/continuations/demo-gpt2.json', SITE));
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

visit('published profiles are shown with their source, while the hub has not answered', {
  webgpu: false, query: { view: 'profile' }, hasSilentHub: true,
}, async (app) => {
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
