// Exact second moments through the browser's own shader compiler, against integers of 128 bits in wasm.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

visit('exact Grams are exact bit by bit in this browser', { webgpu: true }, async (app) => {
  const outcomes = await app.page.evaluate(async () => {
    const checks = await import(new URL('checks.js', document.baseURI).href);
    await checks.default({ module_or_path: new URL('checks_bg.wasm', document.baseURI) });
    return JSON.parse(await checks.exact_grams());
  });
  assert.ok(outcomes.length >= 20, `${outcomes.length} cases`);
  for (const [name, why] of outcomes) assert.equal(why, null, `${name}: ${why}`);
});
