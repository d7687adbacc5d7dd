// Sentences that must be true: on missing recordings, the duration of many rows, faults of captured rows, warnings of
// many blocks, and each file that can be saved.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

visit('where nothing is recorded or measured, nothing is called a recording', {
  webgpu: false, query: { model: 'calibration', view: 'healing' },
}, async (app) => {
  const text = await app.element('cost-heal').innerText();
  assert.match(text, /time is known once/);
  assert.doesNotMatch(text, /recording/);
  await app.element('model-select').selectOption('demo-llama');
  await app.waitForText('cost-heal', /machine of the recording.* (s|min|h), the profile included/);
});

visit('many rows are told with what they take, by what is known of the model', { webgpu: false, query: {} }, async (app) => {
  await app.waitForText('cost', /machine of the recording.* \d+(\.\d)? (s|min)/);
  await app.choose({ rows: 99999999 });
  await app.waitForText('cost', /machine of the recording.* \d+ (s|min|h)/);
  await app.choose({ 'model-select': 'calibration' });
  await app.waitForText('cost', /6666 times the usual 15\s000 rows/);
  await app.choose({ rows: 1280 });
  await app.measure();
  await app.choose({ rows: 99999999 });
  await app.waitForText('cost', /last measurement here/);
});

/** A file of rows with tensors x and y in F32. */
function rowsFile(rows, inputs, spoil = () => {}) {
  const tensors = ['x', 'y'].map(() => Float32Array.from({ length: rows * inputs }, (_, at) => Math.sin(at * 1.7 + at * at)));
  spoil(...tensors);
  const bytes = rows * inputs * 4;
  const entry = (at) => ({ dtype: 'F32', shape: [rows, inputs], data_offsets: [at * bytes, (at + 1) * bytes] });
  const header = Buffer.from(JSON.stringify({ x: entry(0), y: entry(1) }));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([size, header, ...tensors.map(({ buffer }) => Buffer.from(buffer))]);
}

async function chooseRows(app, buffer) {
  await app.choose({ 'model-select': ':rows', backend: 'cpu' });
  await app.element('rows-file').setInputFiles({ name: 'rows.safetensors', mimeType: 'application/octet-stream', buffer });
}

visit('what is wrong with captured rows is told of rows, not of a text or of weights', { webgpu: false }, async (app) => {
  await chooseRows(app, rowsFile(10, 4));
  const few = await app.waitForText('extent', /10 rows are too few, where 160 are needed/);
  assert.doesNotMatch(few, /text|token/);
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /10 rows are too few/);

  const intact = rowsFile(640, 4);
  await chooseRows(app, intact.subarray(0, 2000));
  const damaged = await app.waitForText('extent', /rows\.safetensors: not captured rows/);
  assert.doesNotMatch(damaged, /weights|download|text|token/);

  // Numbers of which products need more than 32 bits.
  await chooseRows(app, intact);
  await app.choose({ rows: 999999999 });
  const { train_rows, heldout_rows } = (await app.measure()).protocol;
  assert.equal(train_rows + heldout_rows, 640);
  await app.choose({ 'seq-len': 999999999 });
  await app.waitForText('extent', /640 rows are too few, where 4999999995 are needed/);
  await app.choose({ 'seq-len': 32 });

  await chooseRows(app, rowsFile(640, 4, (x) => { x[37 * 4 + 1] = NaN; }));
  await app.run();
  assert.equal(await app.ended(), 'failed');
  const broken = await app.error();
  assert.match(broken, /tensor x: row 37 of the captured rows holds NaN/);
  assert.doesNotMatch(broken, /weights|download/);
});

visit('what is warned of many blocks is warned of once, and no option of the command line is named', {
  webgpu: false, query: { model: 'demo-gpt2', backend: 'cpu', rows: '256' },
}, async (app) => {
  await app.choose({ 'seq-len': 32 });
  const report = await app.measure();
  const few = report.warnings.filter(({ code }) => code === 'few_rows');
  assert.equal(few.length, 6, 'every block has it');
  const shown = await app.element('warnings').locator('li').allTextContents();
  const alike = shown.filter((text) => text.includes('fewer than twice'));
  assert.equal(alike.length, 1, shown.join(' | '));
  assert.match(alike[0], /^blocks 0-5: /);
  assert.ok(shown.every((text) => !/--[a-z]/.test(text)), shown.join(' | '));
});

visit('a chart that is saved is told from the report', { webgpu: false, query: { rows: '1280' } }, async (app) => {
  await app.measure();
  assert.match(await app.element('exports-profile').innerText(), /^Save this chart as/);
  assert.equal(await app.element('download').innerText(), 'Download report');
});
