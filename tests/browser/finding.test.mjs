// A result travels in its link, or in a report that the link names: shown at once as a claim, measured again without a
// difference, and whatever a stranger writes into it breaks nothing.
import assert from 'node:assert/strict';

import { open, trial, visit } from './driver.mjs';
import { impatient } from './shims.mjs';

const SITE = process.env.STRAIGHTEDGE_URL;
const SMALL = { webgpu: false, query: { model: 'demo-gpt2', rows: '1280', measures: 'swap' } };

/** Text of a read-only field of the fold that shares the result. */
async function way(app, name) {
  await app.element('share').evaluate((fold) => { fold.open = true; });
  return app.element(name).inputValue();
}

/** Opens an address in a browser of its own. */
async function elsewhere(address, body, before) {
  const app = await open({ webgpu: false, query: {}, address, before });
  try {
    await body(app);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
}

const numbers = ({ blocks }) => blocks.map(({ block, r2_lin, r2_lin_scalar, r2_folds, r2_cv_mean, r2_cv_std, rank, delta_ppl }) => (
  { block, r2_lin, r2_lin_scalar, r2_folds, r2_cv_mean, r2_cv_std, rank, losses: [delta_ppl.linear, delta_ppl.mean, delta_ppl.zero] }));

visit('a link holds the result, and another browser shows and verifies it', SMALL, async (app) => {
  const report = await app.measure();
  const link = await way(app, 'share-link');
  assert.ok(link.length <= 2000, `${link.length} characters`);
  assert.match(link, /model=demo-gpt2|#r=1/);
  await app.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await app.element('share-copy').click();
  await app.waitForText('share-copy', /Copied/);
  assert.equal(await app.page.evaluate(() => navigator.clipboard.readText()), link);
  assert.match(await app.page.title(), /^Demo GPT-2: \d of 6 blocks more than half linear – Straightedge$/);
  const cite = await way(app, 'share-cite');
  assert.ok(cite.includes(link.replaceAll('{', '%7B')) && cite.includes(report.date.slice(0, 10)), cite);

  await elsewhere(link, async (other) => {
    await other.element('replay').waitFor();
    assert.match(await other.element('status').innerText(), /From a link, not measured on your machine: 6 blocks/);
    const about = await other.element('about-result').innerText();
    for (const word of ['demo-gpt2', 'tales:1', report.date.slice(0, 10)]) assert.ok(about.includes(word), about);
    assert.match(await other.page.title(), /^Demo GPT-2: /);
    await other.started();
    assert.deepEqual(numbers(await other.report()), numbers(report), 'with every digit');
    assert.equal(await other.element('replay').innerText(), 'Measure it again');
    await other.order(other.element('replay'));
    assert.equal(await other.ended(), 'finished');
    assert.equal(await other.element('differences').getAttribute('data-most'), '0');
    assert.equal(new URL(other.page.url()).hash, '', 'what was measured here is no claim');
  });

  const frame = await way(app, 'share-embed');
  const [, source] = frame.match(/^<iframe src="([^"]+)"/);
  await elsewhere(source.replaceAll('&amp;', '&'), async (other) => {
    await other.element('embedded').waitFor();
    assert.match(await other.element('status').innerText(), /From a link/);
    assert.ok((await other.element('link-back').getAttribute('href')).includes('#r=1'));
  });
});

visit('a result that is opened in the same tab replaces the recording, and hostile ones break nothing', { webgpu: false, query: { rows: '1280' } }, async (app) => {
  await app.measure();
  const fragment = new URL(await way(app, 'share-link')).hash;
  await app.page.evaluate((hash) => { location.hash = hash; }, fragment);
  await app.waitForText('status', /From a link/);
  // The same pseudo-random mutations every time.
  let state = 24;
  const below = (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_%<"';
  const mutated = () => {
    const text = [...fragment.slice(3)];
    for (let changes = below(4); changes >= 0; changes -= 1) {
      const kind = below(8);
      if (kind === 0) text.length = below(text.length + 1);
      else if (kind === 1) text.splice(below(text.length), 1 + below(9));
      else text[below(text.length)] = letters[below(letters.length)];
    }
    return `#r=${text.join('')}`;
  };
  const hostile = ['#r=', '#r=1', '#r=2AAAA', `#r=1${'A'.repeat(100_000)}`, '#r=1%00', '#r=<img src=x onerror=alert(1)>'];
  for (let count = 0; count < 300; count += 1) hostile.push(mutated());
  const followed = await app.page.evaluate(async (fragments) => {
    let followed = 0;
    for (const fragment of fragments) {
      if (location.hash === fragment) continue;
      const changed = new Promise((done) => { addEventListener('hashchange', done, { once: true }); });
      const before = location.href;
      location.hash = fragment;
      if (location.href === before) continue;
      await changed;
      await new Promise(requestAnimationFrame);
      followed += 1;
    }
    return followed;
  }, hostile);
  assert.ok(followed > 200, `${followed} followed`);
  // The page still works: the intact link is shown again.
  await app.page.evaluate((hash) => { location.hash = hash; }, fragment);
  await app.waitForText('status', /From a link.*6 blocks/);
});

trial('report= opens a report of another host, which is named, and refuses what is none', async () => {
  let report;
  await elsewhere(`${SITE}?v=1&rows=1280`, async (app) => {
    await app.started();
    report = await app.measure();
  });
  const cors = { 'Access-Control-Allow-Origin': '*', 'Content-Type': 'application/json' };
  const answers = {
    '/good.json': { headers: cors, body: JSON.stringify(report) },
    '/none.json': { headers: cors, body: '{"schema": 1}' },
    '/page.json': { headers: cors, body: '<!doctype html><script>alert(1)</script>' },
    '/absent.json': { status: 404, headers: cors, body: '' },
    '/large.json': { headers: cors, body: ' '.repeat(33_000_000) },
  };
  const open_ = async (path, body) => {
    const app = await open({
      webgpu: false, query: {}, address: `${SITE}?v=1&report=https://host.example${path}`,
      before: async (page) => {
        if (path === '/silent.json') await page.addInitScript(impatient(30));
        await page.route('https://host.example/**', (route) => {
          const { pathname } = new URL(route.request().url());
          if (pathname === '/silent.json') return;
          const answer = answers[pathname];
          // What a browser makes of a host that does not allow it; a fulfilled route would allow it by itself.
          return answer ? route.fulfill(answer) : route.abort('failed');
        });
      },
    });
    try {
      await body(app);
      const expected = /foreign request: https:\/\/host\.example|host\.example|CORS policy|Failed to load resource/;
      assert.deepEqual(app.faults.filter((fault) => !expected.test(fault)), []);
    } finally {
      await app.browser.close();
    }
  };
  await open_('/good.json', async (app) => {
    await app.waitForText('status', /From https:\/\/host\.example\/good\.json, not measured on your machine: 6 blocks/);
    assert.match(app.page.url(), /report=https:\/\/host\.example\/good\.json/, 'it survives a reload');
    await app.element('share').evaluate((fold) => { fold.open = true; });
    await app.waitForText('share-note', /names the report’s address/);
    await app.started();
    assert.deepEqual((await app.report()).blocks, report.blocks);
    await app.order(app.element('replay'));
    assert.equal(await app.ended(), 'finished');
    assert.equal(await app.element('differences').getAttribute('data-most'), '0');
    assert.doesNotMatch(app.page.url(), /report=/);
  });
  const refusals = {
    '/none.json': /not a Straightedge report/, '/page.json': /not a Straightedge report/, '/absent.json': /cannot be read.*404/,
    '/closed.json': /cannot be read.*CORS/, '/large.json': /cannot be read.*larger than 32 MB/,
    '/silent.json': /cannot be read \(signal timed out/,
  };
  for (const [path, words] of Object.entries(refusals)) {
    await open_(path, async (app) => {
      assert.ok((await app.waitForText('error', words)).includes(`https://host.example${path}`));
      await app.waitForText('status', /Recorded with this page/);
      if (path !== '/silent.json') return;
      await app.started();
      await app.choose({ rows: 1280 });
      assert.equal((await app.measure()).blocks.length, report.blocks.length);
    });
  }
});
