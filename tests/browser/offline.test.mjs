// The page after its first visit, without a network: it opens and measures, and a new build replaces the old one.
import assert from 'node:assert/strict';

import { open, trial, visit } from './driver.mjs';
import { relay } from './relay.mjs';

/** Waits until the service worker has kept this build. */
async function kept(page) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    return registration?.active?.state === 'activated';
  });
}

trial('below the root of its host the page opens and measures, and then it does so without a network', async () => {
  const network = await relay();
  const app = await open({ webgpu: false, query: {}, address: network.address });
  try {
    assert.match(new URL(app.page.url()).pathname, /^\/.+\/$/, 'below the root');
    await app.started();
    await kept(app.page);
    await app.choose({ rows: 1280 });
    const online = await app.measure();
    assert.equal(online.model.id, 'demo-gpt2');
    const asked = network.asked;
    assert.ok(asked > 20, `${asked} requests`);

    await network.end();
    await app.page.reload();
    await app.started();
    await app.choose({ rows: 1280 });
    const offline = await app.measure();
    assert.equal(network.asked, asked, 'nothing was asked for');
    const values = ({ blocks }) => blocks.map(({ r2_lin, rank }) => [r2_lin, rank]);
    assert.equal(offline.blocks.length, 6);
    assert.deepEqual(values(offline), values(online));
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
    await network.end();
  }
});

visit('nothing but files of the site is kept, each under its hash', { webgpu: false }, async (app) => {
  await kept(app.page);
  const keys = await app.page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return { names, urls: requests.flat().map((request) => request.url) };
  });
  const site = new URL('.', app.page.url()).href;
  assert.deepEqual(keys.names, [`straightedge ${site}`]);
  for (const url of keys.urls) assert.ok(url.startsWith(site) && url.includes('?sha256='), url);
  for (const file of ['page_bg.wasm', 'worker_bg.wasm', 'engine.js', 'models/index.json']) {
    assert.equal(keys.urls.filter((url) => url.startsWith(`${site}${file}?`)).length, 1, file);
  }
});
