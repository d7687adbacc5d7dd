// The visitor's own files: captured rows by picker and by drop, and the preview of rows and texts before anything is
// measured.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { assertClose, dragFolder, drop, FIXTURES, visit } from './driver.mjs';

const PLANTED = join(FIXTURES, 'planted');
const ROWS = join(PLANTED, 'k4.safetensors');

visit('captured rows are fitted from a file, and say what cannot be had without their model', { webgpu: false }, async (app) => {
  const expected = JSON.parse(await readFile(join(PLANTED, 'expected.json'), 'utf8'));
  const reference = expected.k4;
  await app.choose({ 'model-select': ':rows' });
  assert.match(await app.element('model-note').innerText(), /stays on your machine/);
  assert.equal(await app.element('text-select').count(), 0, 'rows need no text');
  await app.element('rows-file').setInputFiles(ROWS);
  await app.choose({ rows: 1000000, 'seq-len': 32 });
  await app.waitForText('extent', /rows/);
  const report = await app.measure();
  assert.equal(report.model.architecture, 'rows');
  assert.equal(report.model.id, 'k4.safetensors');
  assert.equal(report.blocks.length, 1);
  assertClose('r2_lin', report.blocks[0].r2_lin, reference.r2_lin, 1e-6);
  assert.equal(report.blocks[0].rank, reference.rank);
  await app.view('losses');
  assert.match(await app.element('refused-swap').innerText(), /without their model/);
});

visit('a dropped file of rows is taken for one, and a model’s weights alone are not', { webgpu: false }, async (app) => {
  await drop(app.page, [['rows.safetensors', (await readFile(ROWS)).toString('base64')]]);
  assert.equal(await app.element('model-select').inputValue(), ':rows');
  await app.waitForText('model-note', /rows\.safetensors.*stays on your machine/);
  await app.waitForText('extent', /rows/);
  await drop(app.page, [['model.safetensors', (await readFile(ROWS)).toString('base64')]]);
  assert.match(await app.error(), /config\.json: not found/);
});

visit('a folder dragged from a file manager is taken with all that is in it', { webgpu: false }, async (app) => {
  await dragFolder(app.page, join(FIXTURES, 'tiny-llama'));
  await app.waitForText('model-note', /tiny-llama.*nothing leaves your machine/s);
  await app.choose({ 'text-select': 'tales:1', rows: 640, 'seq-len': 32 });
  const report = await app.measure();
  assert.equal(report.model.id, 'tiny-llama');
  assert.equal(report.blocks.length, 4);
});

visit('tokens are counted against the rows asked for before anything is measured', { webgpu: false }, async (app) => {
  await app.waitForText('extent', /^3840 tokens fill only 3840 rows.*15\s000 were requested/);
  await app.choose({ 'model-select': ':own' });
  await app.element('model-folder').setInputFiles(join(FIXTURES, 'tiny-llama'));
  await app.choose({ 'text-select': ':pasted' });
  await app.element('text-input').fill('One word after the other. '.repeat(10));
  await app.waitForText('extent', /5 folds/);
  assert.match(await app.element('extent').getAttribute('class'), /bad/);
  await app.choose({ 'text-select': 'tales:1', rows: 640 });
  await app.waitForText('extent', /enough for the 640 rows/);
  await app.choose({ rows: 1500000 });
  await app.waitForText('extent', /1\s500\s000|Counting/);
  await app.choose({ rows: 640, 'seq-len': 32 });
  const report = await app.measure();
  assert.equal(report.corpus.id, 'tales:1');
  assert.equal(report.blocks.length, 4);
});
