// What arrives with another byte than was built is refused at the first visit, when no service worker compares it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

import { open, trial } from './driver.mjs';
import { relay } from './relay.mjs';

/** Changes one byte of words in a file, which stays valid: a message of a module, a comment of a script. */
const changing = (words) => (_, bytes) => {
  const changed = Buffer.from(bytes);
  const at = changed.indexOf(words);
  assert.ok(at >= 0, `it holds ${words}`);
  changed[at] ^= 0x20;
  return changed;
};

/** What is said of each file, and where. */
const FILES = {
  'early.js': ['// Runs before'],
  'style.css': ['/* '],
  'page.js': ['@returns', '.boot', /^The page could not be started: .*page\.js; reload it/],
  'page_bg.wasm': ['cannot be read', '.boot', /^The page could not be started: page_bg\.wasm did not arrive as it was built \(.+\); reload it/],
  'worker_bg.wasm': ['cannot be read', '[data-testid=error]', /^engine: worker_bg\.wasm did not arrive as it was built \(.+\); reload the page/],
};

for (const [file, [words, place, expected]] of Object.entries(FILES)) {
  trial(`${file} with another byte is refused at the first visit`, async () => {
    const network = await relay();
    network.changes[file] = changing(words);
    const app = await open({ webgpu: false, query: {}, address: network.address });
    try {
      if (place) return assert.match(await app.page.locator(place).innerText(), expected);
      // The page works without it.
      await app.started();
      const refusals = app.faults.filter((fault) => /digest.*integrity/.test(fault));
      assert.ok(refusals.length > 0 && refusals.every((fault) => fault.includes(file)), app.faults.join());
    } finally {
      await app.browser.close();
      await network.end();
    }
  });
}

trial('with its own bytes each file is asked for once, and the reader of tables has its hash too', async () => {
  const network = await relay();
  // Without a service worker, which asks for everything by itself.
  const app = await open({ webgpu: false, query: {}, address: network.address, shim: ';' });
  try {
    await app.started();
    for (const file of [...Object.keys(FILES), 'boot.js']) {
      assert.equal(network.asked.filter((path) => path === file).length, 1, file);
    }
    const table = Buffer.from(await (await fetch(`${network.address}table.wasm`)).arrayBuffer());
    const hash = createHash('sha256').update(table).digest('base64');
    assert.equal(await app.engine().evaluate(() => self.tableIntegrity), `sha256-${hash}`);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
    await network.end();
  }
});
