// The page after its first visit, without a network: it opens and measures, and a new build replaces the old one.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { open, trial, visit } from './driver.mjs';
import { relay } from './relay.mjs';

/** Longest wait for what a service worker does. */
const LONG = 2 * 60_000;

/** Waits until a promise of the page resolves to true; waitForFunction does not await promises. */
async function until(page, says, about) {
  const end = Date.now() + LONG;
  while (!await page.evaluate(says, about)) {
    assert.ok(Date.now() < end, `never: ${says} ${about ?? ''}`);
    await setTimeout(100);
  }
}

/** Waits until the service worker has cached this build. */
async function kept(page) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await until(page, async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    return registration?.active?.state === 'activated';
  });
}

/** Waits until a file is cached. */
const isKept = (page, path) => until(page, async (path) => {
  const kept = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
  return kept.flat().some(({ url }) => url.includes(`/${path}?sha256=`));
}, path);

/** A test of the page through a network that can change and fail. */
function byRelay(name, body) {
  trial(name, async () => {
    const network = await relay();
    const app = await open({ webgpu: false, query: {}, address: network.address });
    try {
      await app.started();
      await kept(app.page);
      await body(app, network);
      assert.deepEqual(app.faults, []);
    } finally {
      await app.browser.close();
      await network.end();
    }
  });
}

byRelay('below the root of its host the page opens and measures, and then it does so without a network', async (app, network) => {
  assert.match(new URL(app.page.url()).pathname, /^\/.+\/$/, 'below the root');
  await app.choose({ rows: 1280 });
  const online = await app.measure();
  assert.equal(online.model.id, 'demo-gpt2');
  const asked = [...network.asked];
  assert.ok(asked.includes('models/demo-gpt2/model.safetensors'), asked.join());

  await network.end();
  await app.page.reload();
  await app.started();
  await app.choose({ rows: 1280 });
  const offline = await app.measure();
  assert.deepEqual(network.asked, asked, 'nothing more was asked for');
  const values = ({ blocks }) => blocks.map(({ r2_lin, rank }) => [r2_lin, rank]);
  assert.equal(offline.blocks.length, 6);
  assert.deepEqual(values(offline), values(online));
});

byRelay('a new build takes the place of the old one at the next visit, for the files that changed', async (app, network) => {
  const hash = (text) => createHash('sha256').update(text).digest('base64');
  const page = await (await fetch(network.address)).text();
  const next = page.replace('<html lang="en">', '<html lang="en" data-build="next">');
  assert.notEqual(next, page);
  network.changes[''] = () => next;
  await isKept(app.page, 'models/demo-gpt2/model.safetensors');
  network.changes['sw.js'] = (script) => script.replace(hash(page), hash(next));
  network.asked.length = 0;
  await app.page.evaluate(async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    const { installing } = await registration.update();
    await new Promise((waits) => { installing.onstatechange = waits; });
  });
  assert.deepEqual(network.asked, ['sw.js', '']);
  assert.equal(await app.page.locator('html[data-build]').count(), 0);
  await app.page.reload();
  await app.page.locator('html[data-build=next]').waitFor();
  await app.started();
  const pages = await app.page.evaluate(async () => {
    const cache = await caches.open((await caches.keys())[0]);
    return (await cache.keys()).filter(({ url }) => url.includes('/?sha256=')).map(({ url }) => decodeURIComponent(url.split('=').slice(1).join('=')));
  });
  assert.deepEqual(pages, [hash(next)], 'the old page is forgotten');
});

byRelay('what the first view shows is measured without a network after a visit that measured nothing', async (app, network) => {
  await isKept(app.page, 'models/demo-gpt2/model.safetensors');
  await network.end();
  await app.page.reload();
  await app.started();
  await app.choose({ rows: 1280 });
  const offline = await app.measure();
  assert.deepEqual([offline.model.id, offline.blocks.length], ['demo-gpt2', 6]);
});

trial('what is measured before the service worker is there is kept as well, and so is what is only chosen', async () => {
  const network = await relay();
  let letGo;
  network.waits['sw.js'] = new Promise((gone) => { letGo = gone; });
  const app = await open({ webgpu: false, query: { model: 'demo-neox', rows: '1280' }, address: network.address });
  try {
    await app.started();
    const online = await app.measure();
    assert.equal(online.model.id, 'demo-neox');
    await app.choose({ 'model-select': 'demo-llama' });
    assert.equal(await app.page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.active ?? null), null);
    letGo();
    await kept(app.page);
    for (const model of ['demo-neox', 'demo-llama']) await isKept(app.page, `models/${model}/model.safetensors`);
    await network.end();
    await app.page.reload();
    await app.started();
    for (const model of ['demo-neox', 'demo-llama']) {
      await app.choose({ 'model-select': model, rows: 1280 });
      const offline = await app.measure();
      assert.deepEqual([offline.model.id, offline.blocks.length], [model, 6]);
    }
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
    await network.end().catch(() => {});
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
