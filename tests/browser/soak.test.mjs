// Soak: measurements, cancels, changes of the model and reopened results in one page leave its memory and the engine's as
// they were. The first rounds fill what is bounded: kept tokenizers, measurements that stay comparable, listed results.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** Rounds before memory is compared, and afterwards; each has three measurements, a cancel and a reopened result. */
const [FIRST, MORE] = [8, Number(process.env.SOAK_ROUNDS ?? 8)];
/**
 * Measurements on a device, which a software adapter takes long for: before memory is compared, and afterwards; the first
 * of these is cancelled.
 */
const ON_DEVICE = [2, Number(process.env.SOAK_ON_DEVICE ?? 3)];
/** Bytes by which the page's module takes memory: for the text of the largest recording, three for each character. */
const STEP = 12 << 16;

/** Bytes of the WebAssembly memories of the page itself. */
async function ofModules(devtools) {
  const { result } = await devtools.send('Runtime.evaluate', { expression: 'WebAssembly.Memory.prototype' });
  const { objects } = await devtools.send('Runtime.queryObjects', { prototypeObjectId: result.objectId });
  const { result: sum } = await devtools.send('Runtime.callFunctionOn', {
    objectId: objects.objectId,
    functionDeclaration: 'function() { return this.reduce((sum, memory) => sum + memory.buffer.byteLength, 0); }',
    returnByValue: true,
  });
  for (const { objectId } of [objects, result]) await devtools.send('Runtime.releaseObject', { objectId });
  return sum.value;
}

/** What page and engine hold after garbage collections. */
async function held(app, devtools) {
  const { gpu: device, wasm: engine } = await app.memory();
  for (let at = 0; at < 3; at += 1) await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const value = (name) => metrics.find((metric) => metric.name === name).value;
  const heap = value('JSHeapUsedSize');
  return { device, engine, module: await ofModules(devtools), heap, nodes: value('Nodes'), listeners: value('JSEventListeners') };
}

/** Two models measured, one measurement cancelled, and the latest result opened and measured again. */
async function round(app) {
  await app.choose({ 'model-select': 'calibration', rows: 1280 });
  await app.measure();
  await app.choose({ 'model-select': 'demo-gpt2', 'text-select': 'tales:1', rows: 1280 });
  await app.measure();
  const cancelled = app.cancelWhenSeen('[data-testid=progress]');
  await app.run();
  await cancelled;
  assert.equal(await app.ended(), 'cancelled');
  const history = (open) => app.element('history').evaluate((fold, open) => { fold.open = open; }, open);
  await history(true);
  await app.element('kept-open').first().click();
  await history(false);
  await app.measure();
}

visit('forty-eight measurements and sixteen cancels in one page leave memory as it was', { webgpu: false }, async (app) => {
  const devtools = await app.page.context().newCDPSession(app.page);
  await devtools.send('Performance.enable');
  const seen = [];
  for (let at = 0; at < FIRST + MORE; at += 1) {
    await round(app);
    seen.push(await held(app, devtools));
    if (process.env.SOAK_ROUNDS) console.log(JSON.stringify(seen.at(-1)));
  }
  assertFlat(seen, FIRST);
  assert.ok(seen.every(({ device }) => device === 0), 'the CPU holds nothing on a device');
});

/** The last of what was `seen` is no more than that of the round `first`. */
function assertFlat(seen, first) {
  const [before, after] = [seen[first - 1], seen.at(-1)];
  for (const name of Object.keys(before).filter((name) => name !== 'device')) {
    const most = 1.05 * before[name] + (name === 'module' ? STEP : 0);
    assert.ok(before[name] > 0 && after[name] <= most, `${name}: ${seen.map((one) => one[name]).join(' ')}`);
  }
}

/** Counts in the engine's worker the buffers made on devices, and the bytes of those that are not destroyed. */
const COUNTED = `(() => {
  const seen = globalThis.buffers = { made: 0, bytes: 0 };
  const { createBuffer, destroy } = GPUDevice.prototype;
  GPUDevice.prototype.createBuffer = function (what) {
    const buffer = createBuffer.call(this, what);
    seen.made += 1;
    seen.bytes += what.size;
    const owned = (this.owned ??= new Set()).add(buffer);
    buffer.forget = () => { if (owned.delete(buffer)) seen.bytes -= what.size; };
    return buffer;
  };
  const own = GPUBuffer.prototype.destroy;
  GPUBuffer.prototype.destroy = function () { this.forget?.(); return own.call(this); };
  GPUDevice.prototype.destroy = function () { this.owned?.forEach((buffer) => buffer.forget()); return destroy.call(this); };
})()`;

visit('measurements on a device leave its memory as it was, to the byte', { webgpu: true, shim: COUNTED }, async (app) => {
  const seen = [];
  const [first, more] = ON_DEVICE;
  await app.choose({ 'model-select': 'calibration', rows: 640, 'seq-len': 32, backend: 'gpu' });
  for (let at = 0; at < first + more; at += 1) {
    if (at === first) {
      const cancelled = app.cancelWhenSaid('Measuring rows');
      await app.run();
      await cancelled;
      assert.equal(await app.ended(), 'cancelled');
    } else {
      assert.equal((await app.measure()).device.backend, 'gpu');
    }
    const [{ gpu, wasm }, { made, bytes }] = [await app.memory(), await app.engine().evaluate(() => globalThis.buffers)];
    seen.push({ gpu, wasm, made, bytes });
    if (process.env.SOAK_ROUNDS) console.log(JSON.stringify(seen.at(-1)));
  }
  const text = JSON.stringify(seen);
  assert.ok(seen.every(({ gpu }) => gpu === 0), `the engine holds nothing on the device after a measurement: ${text}`);
  assert.ok(seen.every(({ made }, at) => made > (seen[at - 1]?.made ?? 0)), `each measures on buffers: ${text}`);
  for (const { wasm, bytes } of seen.slice(first)) {
    assert.equal(bytes, seen[first - 1].bytes, text);
    assert.ok(wasm <= 1.05 * seen[first - 1].wasm, text);
  }
});
