// Devices with exactly WebGPU's default limits, and with lower ones.
import assert from 'node:assert/strict';
import { join } from 'node:path';

import { FIXTURES, open, trial } from './driver.mjs';
import { DEFAULTS, fewSteps, limited } from './shims.mjs';

/** One of each kind of work on a device; the others repeat it. */
const MEASURES = 'swap,layers,probes,conjunction,controls';

/** Training steps of each; the numbers need not be good. */
const STEPS = 4;

const CHOICE = { backend: 'gpu', rows: 640 };

/** Small, since an emulated device measures it. */
const [MODEL, TEXT] = [join(FIXTURES, 'tiny-gpt2'), join(FIXTURES, 'texts/encyclopedia.txt')];

const r2 = ({ blocks }) => blocks.map((block) => block.r2_lin);

async function measured(query, shim) {
  const app = await open({ webgpu: true, query: { ...CHOICE, ...query }, shim });
  try {
    await app.started();
    await app.choose({ 'model-select': ':own' });
    await app.element('model-folder').setInputFiles(MODEL);
    await app.choose({ 'text-select': ':file' });
    await app.element('text-file').setInputFiles(TEXT);
    await app.run();
    const phase = await app.ended();
    if (phase === 'failed') return { error: await app.error() };
    return { report: await app.report(), faults: app.faults };
  } finally {
    await app.browser.close();
  }
}

trial('everything is measured within the default limits of WebGPU', async () => {
  const { report, error, faults } = await measured({ measures: MEASURES }, `${limited(DEFAULTS)};${fewSteps(STEPS)}`);
  assert.equal(error, undefined);
  assert.deepEqual(faults, []);
  assert.equal(report.device.backend, 'gpu');
  assert.deepEqual(Object.keys(report.device.limits).sort(), Object.keys(BELOW).sort(), 'each has a test below');
  for (const [name, value] of Object.entries(report.device.limits)) assert.equal(value, DEFAULTS[name], name);
  const { report: usual } = await measured({});
  assert.ok(usual.device.limits.maxBufferSize > DEFAULTS.maxBufferSize, 'this browser allows more');
  for (const [at, value] of r2(usual).entries()) {
    const off = Math.abs(r2(report)[at] - value);
    assert.ok(off <= 1e-6, `block ${at} is off by ${off}`);
  }
  for (const block of report.blocks) {
    const { delta_ppl, controls, probes, conjunction } = block;
    assert.ok(Number.isFinite(delta_ppl.linear) && Number.isFinite(conjunction), `block ${block.block} has numbers`);
    for (const [name, found] of Object.entries({ controls, probes })) {
      assert.ok(Object.keys(found).length > 0, `block ${block.block} has no ${name}`);
    }
    for (const [name, probe] of Object.entries(probes)) assert.ok(Number.isFinite(probe.r2) && probe.steps <= STEPS, name);
  }
  assert.ok(report.layers.length > 0, 'layers are measured');
});

/** Limits below WebGPU's defaults, as some devices have in compatibility mode. */
const BELOW = {
  maxStorageBuffersPerShaderStage: 4,
  maxComputeInvocationsPerWorkgroup: 128,
  maxComputeWorkgroupStorageSize: 4096,
  maxStorageBufferBindingSize: 65536,
  maxBufferSize: 134217728,
  maxComputeWorkgroupsPerDimension: 32767,
};

for (const [name, value] of Object.entries(BELOW)) {
  trial(`a device with ${name} of ${value} is refused in a sentence that names it`, async () => {
    const { error } = await measured({}, limited({ ...DEFAULTS, [name]: value }));
    assert.match(error ?? '', new RegExp(`^GPU: .*${name}.* ${value}.*; .*CPU`));
  });
}

trial('with a device that has too little, automatic choice measures on the CPU and says why', async () => {
  const { report, error } = await measured({ backend: 'auto' }, limited({ ...DEFAULTS, maxStorageBuffersPerShaderStage: 4 }));
  assert.equal(error, undefined);
  assert.equal(report.device.backend, 'cpu');
  assert.ok(report.warnings.some((warning) => /no hardware GPU/.test(warning.text)), JSON.stringify(report.warnings));
});
