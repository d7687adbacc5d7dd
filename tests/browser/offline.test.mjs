// The page after its first visit, without a network: it opens and measures, and a new build replaces the old one.
import assert from 'node:assert/strict';

import { assertClose, visit } from './driver.mjs';

/** Waits until the service worker has kept this build. */
async function kept(page) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    return registration?.active?.state === 'activated';
  });
}

visit('after its first visit the page opens and measures without a network', { webgpu: false }, async (app) => {
  await kept(app.page);
  await app.page.context().setOffline(true);
  await app.page.reload();
  await app.started();
  await app.choose({ rows: 1280 });
  const report = await app.measure();
  assert.equal(report.model.id, 'calibration');
  assertClose('block 0', report.blocks[0].r2_lin, 1, 1e-5);
  await app.page.context().setOffline(false);
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
