// Models from the hub, here from a mirror: previewed before any large download, stored for later visits without a
// network, and an error sentence for every fault.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parquetWriteBuffer } from 'hyparquet-writer';

import { App, FIXTURES, visit } from './driver.mjs';
import { hasty, impatient, unanswered } from './shims.mjs';

const FAMILIES = ['gpt2', 'gpt_neox', 'llama', 'bert'];
const SMALL = { 'text-select': 'tales:1', rows: 640, 'seq-len': 32, backend: 'cpu' };

/** A mirror's folder with these models, each a copy of a fixture. */
function models(copies) {
  return async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'straightedge-hub-'));
    t.after(() => rm(folder, { recursive: true }));
    for (const [name, fixture] of Object.entries(copies)) {
      await mkdir(join(folder, 'test', name), { recursive: true });
      for (const file of ['config.json', 'tokenizer.json', 'model.safetensors']) {
        await cp(join(FIXTURES, fixture, file), join(folder, 'test', name, file));
      }
    }
    return folder;
  };
}

/** Bytes of a fixture's weights. */
const weights = async (fixture) => (await stat(join(FIXTURES, fixture, 'model.safetensors'))).size;

const total = (stats, ending) => Object.entries(stats).filter(([path]) => path.endsWith(ending))
  .reduce((sum, [, { requests, bytes }]) => ({ requests: sum.requests + requests, bytes: sum.bytes + bytes }), { requests: 0, bytes: 0 });

visit('every family is measured from its id as it is from its folder, and once more without a network', {
  webgpu: false, mirror: models(Object.fromEntries(FAMILIES.map((family) => [family, `tiny-${family}`]))),
}, async (app) => {
  for (const family of FAMILIES) {
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(join(FIXTURES, `tiny-${family}`));
    await app.choose(SMALL);
    const local = await app.measure();
    assert.equal(await app.hub(`test/${family}`), 'known');
    const text = await app.element('preflight').innerText();
    assert.match(text, /to download/);
    const remote = await app.measure();
    assert.equal(remote.model.id, `test/${family}`);
    assert.match(remote.model.revision, /^[0-9a-f]{40}$/);
    assert.ok(app.page.url().includes(`hub=test/${family}@${remote.model.revision}`), app.page.url());
    assert.deepEqual(remote.blocks.map((block) => block.r2_lin), local.blocks.map((block) => block.r2_lin), family);
    assert.equal(remote.model.sha256, local.model.sha256, family);
    const { requests } = total(await app.mirror.stats(), 'model.safetensors');
    assert.ok(requests <= 20, `${requests} requests for ${family}`);
    const referrers = Object.values(await app.mirror.stats()).reduce((sum, { referrers }) => sum + referrers, 0);
    assert.equal(referrers, 0, 'the hub is not told the page');
    const calls = Object.entries(await app.mirror.stats()).filter(([path]) => /\/(revision|tree)\//.test(path));
    assert.deepEqual(calls.map(([, { requests }]) => requests), [1, 1], 'looked up once, and nothing is asked beforehand');
    await app.mirror.reset();
  }
  await app.waitForText('storage-summary', /stored in this browser/);
  assert.equal(await app.element('storage-items').locator('li').count(), FAMILIES.length);

  await app.page.evaluate(() => navigator.serviceWorker.ready);
  await app.page.context().setOffline(true);
  await app.mirror.reset();
  await app.page.reload();
  await app.started();
  await app.waitForText('preflight', /are here already/);
  await app.choose(SMALL);
  const offline = await app.measure();
  assert.equal(offline.blocks.length > 0, true);
  const asked = Object.keys(await app.mirror.stats()).filter((path) => !path.startsWith('/__'));
  assert.deepEqual(asked, [], 'whatever the browser does without a network, nothing came to the hub');
  await app.page.context().setOffline(false);
  app.faults.length = 0; // What fails without a network is told by the browser as well.

  await app.element('downloads').evaluate((fold) => { fold.open = true; });
  await app.mirror.reset();
  await app.element('storage-items').locator('li button').first().click();
  await app.page.waitForFunction((count) => document.querySelectorAll('[data-testid=storage-items] li').length === count, FAMILIES.length - 1);
  await app.page.waitForTimeout(2000); // Longer than the page waits before it looks a changed choice up.
  const fetched = Object.keys(await app.mirror.stats()).filter((path) => !path.startsWith('/__'));
  assert.deepEqual(fetched, [], 'what was deleted is not fetched anew');
  await app.element('storage-clear').click();
  await app.page.waitForFunction(() => document.querySelectorAll('[data-testid=storage-items] li').length === 0);
});

visit('a model that is deleted while its preview is at work is not fetched again', {
  webgpu: false, mirror: models({ tiny: 'tiny-gpt2' }),
}, async (app) => {
  await app.hub('test/tiny');
  await app.choose(SMALL);
  await app.measure();
  await app.element('downloads').evaluate((fold) => { fold.open = true; });
  await app.choose({ 'text-select': ':pasted', rows: 99_999_999 });
  await app.mirror.reset();
  await app.page.evaluate(() => new MutationObserver((_, watcher) => {
    if (!/^Counting.*10\.4.MB/.test(document.querySelector('[data-testid=extent]')?.textContent)) return;
    watcher.disconnect();
    document.querySelector('[data-testid=storage-items] li button').click();
  }).observe(document.body, { childList: true, subtree: true, characterData: true }));
  await app.element('text-input').fill('One word after the other. '.repeat(400_000));
  await app.page.waitForFunction(() => document.querySelectorAll('[data-testid=storage-items] li').length === 0);
  await app.page.waitForTimeout(2000); // Longer than the page waits before it looks a changed choice up.
  const fetched = Object.keys(await app.mirror.stats()).filter((path) => !path.startsWith('/__'));
  assert.deepEqual(fetched, [], 'what was deleted is not fetched anew');
});

const DATASET = 'datasets/Salesforce/wikitext/wikitext-2-raw-v1';

/** A mirror with a model and the test split of WikiText-2, with another text here, in Parquet as on the hub. */
function withText(lines) {
  return async (t) => {
    const folder = await models({ tiny: 'tiny-gpt2' })(t);
    await mkdir(join(folder, DATASET), { recursive: true });
    const table = parquetWriteBuffer({ columnData: [{ name: 'text', data: lines, type: 'STRING' }], rowGroupSize: 1000 });
    await writeFile(join(folder, DATASET, 'test-00000-of-00001.parquet'), Buffer.from(table));
    return folder;
  };
}

const PARAGRAPHS = (await readFile(join(FIXTURES, 'texts/encyclopedia.txt'), 'utf8')).split(/(?<=\n)/);

visit('WikiText-2 comes from the hub, is counted beforehand once it is here, and a damaged table is refused', {
  webgpu: false, mirror: withText(PARAGRAPHS),
}, async (app) => {
  await app.hub('test/tiny');
  assert.equal(await app.element('text-select').inputValue(), ':hub:wikitext-2-test', 'the usual text of a model on the hub');
  assert.equal(await app.element('extent').count(), 0, 'nothing is counted that would have to be fetched first');
  await app.choose({ rows: 640, 'seq-len': 32, backend: 'cpu' });
  await app.mirror.fault('truncated', '.parquet', 1000);
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /the server sent something else|the connection failed/);
  await app.mirror.reset();
  const report = await app.measure();
  assert.equal(report.corpus.id, 'wikitext-2-test');
  assert.equal(report.corpus.sha256, createHash('sha256').update(PARAGRAPHS.join('')).digest('hex'));
  assert.equal(report.blocks.length, 4);
  await app.waitForText('extent', /enough for the 640 rows/);
  app.faults.length = 0;
});

visit('a reader of tables that never comes is given up, and the next measurement asks for it again', {
  webgpu: false, mirror: withText(PARAGRAPHS), shim: `${impatient(60)};${unanswered('table.wasm')}`,
}, async (app) => {
  await app.hub('test/tiny');
  await app.choose({ rows: 640, 'seq-len': 32, backend: 'cpu' });
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /table\.wasm did not arrive as it was built \(.*time.*\)/);
  assert.equal((await app.measure()).corpus.id, 'wikitext-2-test');
});

/** Faults: kind, affected file, and the error shown. */
const FAULTS = [
  ['missing', '/api/', /not found on the hub/],
  ['gated', '/api/', /access is restricted/],
  ['html', 'config.json', /the server sent something else/],
  ['json', 'model.safetensors', /the server sent something else/],
  ['content-range', 'model.safetensors', /the server sent something else/],
  ['truncated', 'model.safetensors', /the server sent something else|the connection failed/],
  ['flipped', 'model.safetensors', /damaged in transit/],
  ['redirects', 'config.json', /the connection failed|redirect/],
];

visit('each fault is told in its sentence, gives no result, and a later try works', {
  webgpu: false, mirror: models(Object.fromEntries(FAULTS.map(([kind]) => [kind, 'tiny-gpt2']))),
}, async (app) => {
  for (const [kind, path, words] of FAULTS) {
    // Only the hash of the whole file detects a flipped bit, not the header, which is read first.
    if (kind === 'flipped') await app.hub(`test/${kind}`);
    await app.mirror.fault(kind, path, 1000);
    const state = kind === 'flipped' ? 'known' : await app.hub(`test/${kind}`);
    await app.choose(SMALL);
    await app.run();
    assert.equal(await app.ended(), 'failed', kind);
    const text = await app.error();
    assert.match(text, words, `${kind}: ${text}`);
    assert.equal(await app.element('row-0').count(), 0, `${kind}: no result`);
    assert.ok(state !== 'known' || path.startsWith('model'), `${kind} is told beforehand: ${state}`);
    await app.mirror.reset();
    const report = await app.measure();
    assert.ok(report.blocks.length > 0 && !report.partial, kind);
    assert.equal(report.model.id, `test/${kind}`);
  }
  app.faults.length = 0; // The browser tells of every answer that is not a file.
});

visit('a connection that stalls is given up after its deadline, and a later try works', {
  webgpu: false, mirror: models({ stalled: 'tiny-llama' }), shim: hasty(),
}, async (app) => {
  await app.hub('test/stalled');
  await app.choose(SMALL);
  // Each answer stops half-way, so that every try brings less, until one brings nothing five times.
  await app.mirror.fault('stalled', 'model.safetensors', 1000);
  await app.engine().evaluate(() => { self.times = 60; });
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /^model\.safetensors: the connection failed \(no data for 60 seconds\)/);
  assert.equal(await app.element('row-0').count(), 0, 'no result');
  await app.engine().evaluate(() => { self.times = 1; });
  await app.mirror.reset();
  const report = await app.measure();
  assert.deepEqual([report.partial, report.blocks.length], [false, 4]);
  app.faults.length = 0; // The browser tells of every request that was given up.
});

/** A mirror with a model whose kind, as its configuration says, clears a terminal and turns the direction of writing. */
async function hostile(t) {
  const folder = await models({ refused: 'tiny-llama', hostile: 'tiny-llama' })(t);
  const path = join(folder, 'test', 'hostile', 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...config, model_type: '\u001b[2J\u202efirst', architectures: ['\u001b[2J\u202efirst'] }));
  return folder;
}

visit('what a refusal and a configuration bring of control characters and marks of direction is visible', {
  webgpu: false, mirror: hostile,
}, async (app) => {
  const tells = async (words) => {
    await app.choose(SMALL);
    await app.run();
    assert.equal(await app.ended(), 'failed');
    // The text of the element itself: what is laid out may have line breaks.
    const text = await app.element('error').evaluate((element) => element.textContent);
    assert.match(text, words);
    assert.doesNotMatch(text, /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  };
  assert.notEqual(await app.hub('test/hostile'), 'known');
  await tells(/\\u\{1b\}\[2J\\u\{202e\}first/);
  // The mirror's own refusal is not for pages to read.
  await app.page.route('**/api/models/**', (route) => route.fulfill({ status: 403, json: { error: '\u001b[2J\u202efirst\r\nsecond' } }));
  assert.equal(await app.hub('test/refused'), 'failed');
  await tells(/\\u\{202e\}first/);
  app.faults.length = 0; // The browser tells of every answer that is not a file.
});

/** A mirror with a model whose weights are a shard with an index. */
async function sharded(t) {
  const folder = await models({ shards: 'tiny-llama' })(t);
  const model = join(folder, 'test', 'shards');
  const [whole, shard] = [join(model, 'model.safetensors'), join(model, 'model-00001-of-00001.safetensors')];
  const bytes = await readFile(whole);
  const header = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE())).toString());
  const names = Object.keys(header).filter((name) => name !== '__metadata__');
  const weight_map = Object.fromEntries(names.map((name) => [name, 'model-00001-of-00001.safetensors']));
  await rename(whole, shard);
  await writeFile(join(model, 'model.safetensors.index.json'), JSON.stringify({ metadata: {}, weight_map }));
  return folder;
}

visit('a truncated shard is told by name and gives no result, and a later try works', { webgpu: false, mirror: sharded }, async (app) => {
  assert.equal(await app.hub('test/shards'), 'known');
  await app.choose(SMALL);
  await app.mirror.fault('truncated', '-00001-of-', 1000);
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /model-00001-of-00001\.safetensors.*(the server sent something else|the connection failed)/s);
  assert.equal(await app.element('row-0').count(), 0, 'no result');
  await app.mirror.reset();
  const report = await app.measure();
  assert.equal(report.blocks.length, 4);
  app.faults.length = 0;
});

visit('a broken connection, a server that asks to wait and one that fails without CORS headers cost time and nothing else', {
  // Slower than the page reads: bytes that the browser has buffered are lost when a connection breaks.
  webgpu: false, mirror: models({ cut: 'tiny-llama', busy: 'tiny-llama', unavailable: 'tiny-llama' }), throttle: 1_000_000,
}, async (app) => {
  for (const kind of ['cut', 'busy', 'unavailable']) {
    await app.hub(`test/${kind}`);
    await app.choose(SMALL);
    await app.mirror.reset();
    await app.mirror.fault(kind, 'model.safetensors', 1);
    const report = await app.measure();
    assert.equal(report.partial, false);
    const size = await weights('tiny-llama');
    const { requests, bytes } = total(await app.mirror.stats(), 'model.safetensors');
    assert.ok(requests >= 2, `${kind}: asked again`);
    // Starting over would send half as much again. Bytes buffered when the connection broke are fetched again.
    assert.ok(bytes < 1.25 * size, `${bytes} bytes for a ${kind}`);
  }
  app.faults.length = 0;
});

visit('cancelled while it lists and while it downloads, it starts again; a closed tab loses nothing', {
  webgpu: false, mirror: models({ slow: 'tiny-llama' }),
}, async (app) => {
  await app.choose({ ...SMALL, 'model-select': ':hub' });
  await app.mirror.fault('busy', '/api/', 1000);
  await app.element('hub-id').fill('test/slow');
  await app.element('hub-preview').click();
  const cancelled = app.cancelWhenSaid('Waiting');
  await app.run();
  await cancelled;
  assert.equal((await app.memory()).gpu, 0);
  assert.equal(await app.ended(), 'cancelled');
  await app.mirror.reset();

  // Every response stops half-way.
  assert.equal(await app.hub('test/slow'), 'known');
  await app.choose(SMALL);
  await app.mirror.fault('stalled', 'model.safetensors', 1000);
  await app.run();
  await app.waitForText('progress', /of .* · .*B\/s/);
  await app.element('cancel').click();
  assert.equal((await app.memory()).gpu, 0);
  assert.equal(await app.ended(), 'cancelled');

  await app.run();
  await app.waitForText('progress', /of .* · .*B\/s/);
  await app.page.reload();
  await app.started();
  await app.waitForText('preflight', /are here already/);
  await app.choose(SMALL);
  const { bytes: before } = total(await app.mirror.stats(), 'model.safetensors');
  await app.mirror.reset();
  const report = await app.measure();
  assert.equal(report.partial, false);
  const { bytes } = total(await app.mirror.stats(), 'model.safetensors');
  const needed = await weights('tiny-llama');
  assert.ok(before > 0 && bytes > 0 && bytes <= needed - before / 2, `${bytes} of ${needed} bytes after ${before} before the tab was closed`);
  app.faults.length = 0; // The browser tells of every request that was given up.
});

visit('where storage is full it goes on in memory and says so', { webgpu: false, mirror: models({ full: 'tiny-llama' }) }, async (app) => {
  const session = await app.page.context().newCDPSession(app.page);
  await session.send('Storage.overrideQuotaForOrigin', { origin: new URL(app.page.url()).origin, quotaSize: 200_000 });
  await app.hub('test/full');
  await app.choose(SMALL);
  const report = await app.measure();
  assert.equal(report.partial, false);
  assert.match(await app.element('warnings').innerText(), /kept in memory/);
});

visit('what the browser evicted from its storage is fetched again', { webgpu: false, mirror: models({ evicted: 'tiny-llama' }) }, async (app) => {
  await app.hub('test/evicted');
  await app.choose(SMALL);
  const first = await app.measure();
  const session = await app.page.context().newCDPSession(app.page);
  await session.send('Storage.clearDataForOrigin', { origin: new URL(app.page.url()).origin, storageTypes: 'all' });
  await app.mirror.reset();
  const again = await app.measure();
  assert.deepEqual(again.blocks.map((block) => block.r2_lin), first.blocks.map((block) => block.r2_lin));
  const { bytes } = total(await app.mirror.stats(), 'model.safetensors');
  assert.ok(bytes >= 0.9 * await weights('tiny-llama'), `${bytes} bytes`);
});

visit('a private window without storage measures in memory and says so', { webgpu: false, mirror: models({ private: 'tiny-llama' }) }, async (app) => {
  // As private windows of some browsers do.
  await app.engine().evaluate(() => {
    navigator.storage.getDirectory = () => Promise.reject(new DOMException('no files in a private window', 'SecurityError'));
  });
  await app.hub('test/private');
  await app.choose(SMALL);
  const report = await app.measure();
  assert.equal(report.partial, false);
  assert.match(await app.element('warnings').innerText(), /keeps no files for this page .*; downloads last only as long as this page is open/);
  await app.waitForText('storage-summary', /cannot store anything \(no files in a private window\)/);
});

visit('two tabs that download one model both measure it, and the next visit has it', {
  webgpu: false, mirror: models({ shared: 'tiny-llama' }), throttle: 1_000_000,
}, async (app) => {
  await app.hub('test/shared');
  await app.choose(SMALL);
  const page = await app.page.context().newPage();
  await page.goto(app.page.url());
  const other = new App(app.browser, page, app.faults, app.mirror);
  await other.started();
  await other.waitForText('preflight', /to download/);
  await other.choose(SMALL);
  const [one, two] = await Promise.all([app.measure(), other.measure()]);
  assert.deepEqual(two.blocks.map((block) => block.r2_lin), one.blocks.map((block) => block.r2_lin));
  assert.equal(two.model.sha256, one.model.sha256);
  await app.mirror.reset();
  await app.page.reload();
  await app.started();
  await app.waitForText('preflight', /are here already/);
  assert.equal(await app.element('storage-items').locator('li').count(), 1);
  await app.choose(SMALL);
  await app.measure();
  assert.equal(total(await app.mirror.stats(), 'model.safetensors').requests, 0, 'all of it is stored');
});

/**
 * Flips a bit in the largest stored part of a file, a low one where it holds numbers, and gives the part another length,
 * as a share of its own.
 */
const spoil = (app, file, share) => app.page.evaluate(async ([file, share]) => {
  const parts = [];
  const open = [await navigator.storage.getDirectory()];
  for (let folder = open.pop(); folder; folder = open.pop()) {
    for await (const [name, entry] of folder.entries()) {
      if (entry.kind === 'directory') open.push(entry);
      else if (folder.name.includes(file) && /^\d/.test(name)) {
        parts.push({ entry, start: parseInt(name, 10), bytes: new Uint8Array(await (await entry.getFile()).arrayBuffer()) });
      }
    }
  }
  const { entry, start, bytes } = parts.reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a));
  const quarter = bytes.length >> 2;
  const at = quarter - ((start + quarter) % 4);
  const writer = await entry.createWritable({ keepExistingData: true });
  await writer.write({ type: 'write', position: at, data: Uint8Array.of(bytes[at] ^ 1) });
  await writer.truncate(Math.floor(bytes.length * share));
  await writer.close();
}, [file, share]);

const scores = ({ blocks }) => blocks.map((block) => block.r2_lin);

visit('a stored file that was changed, cut or lengthened since it was verified is fetched again as a whole', {
  webgpu: false, mirror: models({ flipped: 'tiny-llama' }),
}, async (app) => {
  await app.hub('test/flipped');
  await app.choose(SMALL);
  const intact = await app.measure();
  for (const share of [0.5, 1.5]) {
    await spoil(app, 'tokenizer', share);
    await app.mirror.reset();
    await app.page.reload();
    await app.started();
    await app.choose(SMALL);
    const again = await app.measure();
    assert.ok(total(await app.mirror.stats(), 'tokenizer.json').requests > 0, `${share} of it is stored, and it is fetched again`);
    assert.deepEqual(scores(again), scores(intact));
  }
});

visit('a preview leaves the saved state of a measurement closed', {
  webgpu: false, mirror: models({ tiny: 'tiny-gpt2' }),
}, async (app) => {
  const opened = () => app.engine().evaluate(() => self.opened.filter((name) => name.startsWith('state-')).length);
  await app.engine().evaluate(() => {
    const open = FileSystemFileHandle.prototype.createSyncAccessHandle;
    self.opened = [];
    FileSystemFileHandle.prototype.createSyncAccessHandle = function (...given) {
      self.opened.push(this.name);
      return open.apply(this, given);
    };
  });
  await app.hub('test/tiny');
  await app.page.waitForFunction(() => Number(document.querySelector('[data-testid=status]').dataset.ended) > 0);
  assert.equal(await opened(), 0);
  await app.choose(SMALL);
  await app.measure();
  assert.ok(await opened() >= 2, 'a measurement opens both states');
});

visit('stored weights that were damaged before they were whole are told, and a measurement of them does not go on', {
  webgpu: false, mirror: models({ damaged: 'tiny-llama' }),
}, async (app) => {
  await app.hub('test/damaged');
  await app.choose({ ...SMALL, rows: 20_000 });
  // The state before block 1 is saved by then, and the last block is still to come.
  const cancelled = app.cancelWhenSeen('[data-testid=row-1]');
  await app.run();
  await cancelled;
  assert.equal(await app.ended(), 'cancelled');
  await app.page.reload();
  await app.started();
  await app.element('resume').waitFor();
  await spoil(app, 'safetensors', 1);
  // As if another page held the saved state, this measurement leaves it alone.
  await app.engine().evaluate(async () => {
    let folder = await navigator.storage.getDirectory();
    for (const name of ['straightedge', 'sweep']) folder = await folder.getDirectoryHandle(name);
    self.held = await (await folder.getFileHandle('state-0')).createSyncAccessHandle();
  });
  await app.choose(SMALL);
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /^model\.safetensors: damaged .*; this measurement is discarded, start again to fetch it anew$/);
  await app.page.reload();
  await app.started();
  await app.order(app.element('resume'));
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /the weights were found to be damaged since, and were fetched again/);
  await app.choose(SMALL);
  const { partial, blocks } = await app.measure();
  assert.deepEqual([partial, blocks.length], [false, 4]);
});

visit('cancelled while weights go to the GPU, all of its memory is given back', {
  webgpu: true, mirror: models({ gpu: 'tiny-gpt2' }),
}, async (app) => {
  await app.hub('test/gpu');
  await app.choose({ ...SMALL, backend: 'gpu' });
  for (const stage of ['Preparing the device', 'Loading weights', 'Measuring rows']) {
    const cancelled = app.cancelWhenSaid(stage);
    await app.run();
    await cancelled;
    const { gpu, wasm } = await app.memory();
    assert.equal(gpu, 0, `after ${stage}`);
    assert.ok(wasm > 0);
    assert.equal(await app.ended(), 'cancelled');
  }
  const report = await app.measure();
  assert.equal(report.device.backend, 'gpu');
});

/** Two models of which one has no tokenizer. */
async function bare(t) {
  const folder = await models({ bare: 'tiny-gpt2', other: 'tiny-gpt2' })(t);
  await rm(join(folder, 'test', 'bare', 'tokenizer.json'));
  return folder;
}

visit('a model without a tokenizer takes that of another model, in the link and in the report too', { webgpu: false, mirror: bare }, async (app) => {
  assert.equal(await app.hub('test/other'), 'known');
  await app.choose(SMALL);
  const own = await app.measure();
  assert.equal(await app.hub('test/bare'), 'refused');
  await app.choose({ tokenizer: `${app.mirror.url}/test/other/tree/main` });
  await app.element('tokenizer').blur();
  await app.element('preflight').and(app.page.locator('[data-state=known]')).waitFor();
  const report = await app.measure();
  assert.equal(report.model.tokenizer, `test/other@${own.model.revision}`);
  assert.deepEqual(report.blocks.map(({ r2_lin }) => r2_lin), own.blocks.map(({ r2_lin }) => r2_lin));
  assert.match(app.page.url(), /tokenizer=test\/other/);
});
