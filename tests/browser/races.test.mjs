// Which kernels are fastest is found out at the first visit, kept in the browser, and no note there can do harm.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** The note and when it was written; with `text` it is replaced first. */
const note = (page, text) => page.evaluate(async (text) => {
  const root = await navigator.storage.getDirectory();
  const handle = await (await root.getDirectoryHandle('straightedge')).getFileHandle('races.txt');
  if (text !== undefined) {
    const writer = await handle.createWritable();
    await writer.write(text);
    await writer.close();
  }
  const file = await handle.getFile();
  return { text: await file.text(), written: file.lastModified };
}, text);

visit('kernels race at the first visit, and again only where their note is lost', { webgpu: true }, async (app) => {
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
  const first = await note(app.page);
  const [shaders, winners, ...rest] = first.text.split('\n');
  assert.match(shaders, /^[0-9a-f]{64}$/);
  assert.match(winners, /^matmul_\w+\t\w+\t\w+\t\w+\t./);
  assert.deepEqual(rest, ['']);

  await again();
  assert.deepEqual(await note(app.page), first, 'the second visit held no race');

  for (const hostile of [first.text.slice(0, first.text.length / 2), `${shaders}\nmatmul_of_tomorrow\tThread\tOne\tPlanes\tany\n`, '\u0000']) {
    await note(app.page, hostile);
    const report = await again();
    assert.equal((await note(app.page)).text.split('\n')[0], shaders, hostile);
    for (const [at, block] of report.blocks.entries()) {
      const off = Math.abs(block.r2_lin - blocks[at].r2_lin);
      assert.ok(off <= 1e-6, `block ${at} is off by ${off}`);
    }
  }
});
