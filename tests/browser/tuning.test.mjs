// The fastest kernels are determined at the first visit and cached in the browser; a corrupt cache does no harm.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** The tuning cache and its modification time; with `text` it is replaced first. */
const cache = (page, text) => page.evaluate(async (text) => {
  const root = await navigator.storage.getDirectory();
  const handle = await (await root.getDirectoryHandle('straightedge')).getFileHandle('tuning.txt');
  if (text !== undefined) {
    const writer = await handle.createWritable();
    await writer.write(text);
    await writer.close();
  }
  const file = await handle.getFile();
  return { text: await file.text(), written: file.lastModified };
}, text);

visit('kernels are tuned at the first visit, and again only where that is not clear or lost', { webgpu: true }, async (app) => {
  const measure = async () => {
    await app.choose({ backend: 'gpu', rows: 640 });
    return app.measure();
  };
  const again = async () => {
    await app.page.reload();
    await app.started();
    return measure();
  };
  const { blocks } = await measure();
  const first = await cache(app.page);
  const [shaders, ...lines] = first.text.split('\n');
  assert.match(shaders, /^[0-9a-f]{64}$/);
  assert.equal(lines.pop(), '');
  for (const line of lines) assert.match(line, /^[\w ]+\t\w+\t\d+\t\d+\t.+, (soft|hard)ware, [\d ]+$/);
  assert.ok(lines.some((line) => line.startsWith('product\tmatmul_')), first.text);
  assert.ok(lines.some((line) => line.startsWith('exact second moments\t')), first.text);

  const clear = await cache(app.page, first.text.replace(/\t\d+\t\d+\t/g, '\t50\t1\t'));
  await again();
  assert.deepEqual(await cache(app.page), clear, 'the second visit held no contest');

  for (const hostile of [first.text.slice(0, 70), `${shaders}\nproduct\tmatmul_of_tomorrow\t50\t1\tany\n`, '\u0000']) {
    await cache(app.page, hostile);
    const report = await again();
    assert.equal((await cache(app.page)).text.split('\n')[0], shaders, hostile);
    for (const [at, block] of report.blocks.entries()) {
      const off = Math.abs(block.r2_lin - blocks[at].r2_lin);
      assert.ok(off <= 1e-6, `block ${at} is off by ${off}`);
    }
  }
});
