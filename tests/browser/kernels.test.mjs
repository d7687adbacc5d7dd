// The engine's shaders in the browser's own compiler: exact second moments against 128-bit integers, and every
// operation in every kernel that implements it against the CPU.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** Outcomes of a check: the name of each case, with its failure or null. */
const outcomes = async (app, check) => JSON.parse(await called(app, check));

/** What a function of the checks returns. */
const called = (app, check) => app.page.evaluate(async (check) => {
  const checks = await import(new URL('checks.js', document.baseURI).href);
  await checks.default({ module_or_path: new URL('checks_bg.wasm', document.baseURI) });
  const returned = await checks[check]();
  return typeof returned === 'string' ? returned : [...returned];
}, check);

visit('exact Grams are exact bit by bit in this browser', { webgpu: true }, async (app) => {
  const cases = await outcomes(app, 'exact_grams');
  assert.ok(cases.length >= 20, `${cases.length} cases`);
  for (const [name, why] of cases) assert.equal(why, null, `${name}: ${why}`);
});

visit('every kernel compiles in this browser and gives what the CPU gives', { webgpu: true }, async (app) => {
  const devices = await outcomes(app, 'operations');
  const products = ['matmul_any', 'matmul_shared', 'matmul_shared_8x8', 'matmul_register'];
  assert.deepEqual(devices.map(([name]) => name.split(',')[0]), products);
  for (const [name, why] of devices) assert.equal(why, null, `${name}: ${why}`);
});

visit('the rate of a fast GPU is computed from more operations than 32 bits hold', {}, async (app) => {
  const flops = await called(app, 'product_flops');
  assert.equal(flops[0], 2 * 64 ** 3);
  assert.equal(flops.at(-1), 2 * 8192 * 1024 ** 2);
  for (const [at, more] of flops.slice(1).entries()) assert.ok(more > flops[at], `${flops}`);
});
