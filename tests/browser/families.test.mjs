// Models of every family in the browser, on both backends, against the values of an independent implementation.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { assertClose, FIXTURES, visit } from './driver.mjs';

/** A model of every family. */
const MODELS = [
  'tiny-gpt2-scaled', 'tiny-gpt_neo', 'tiny-opt', 'tiny-opt-350m', 'tiny-bloom', 'tiny-mistral', 'tiny-qwen3', 'tiny-llama3',
  'tiny-phi', 'tiny-gemma', 'tiny-gemma2', 'tiny-gemma3', 'tiny-roberta', 'tiny-distilbert', 'tiny-modernbert',
];
/** One each with biases by distance, capped scores, and an encoder's local attention; a software adapter takes a minute
 * for one. tests/golden.rs and tests/route.rs take all families with kernels of their own through a GPU. */
const WITH_KERNELS = ['tiny-bloom', 'tiny-gemma2', 'tiny-modernbert'];
/** Largest relative difference of perplexities. */
const OF_PERPLEXITY = 1e-4;

for (const webgpu of [false, true]) {
  visit(`${webgpu ? 'families with kernels of their own are' : 'every family is'} measured as its reference ${webgpu ? 'on WebGPU' : 'on the CPU'}`, { webgpu }, async (app) => {
    const largest = {};
    const differ = (kind, found, expected, tolerance, what) => {
      assertClose(what, found, expected, tolerance);
      largest[kind] = Math.max(largest[kind] ?? 0, Math.abs(found - expected));
    };
    for (const name of webgpu ? WITH_KERNELS : MODELS) {
      const expected = JSON.parse(await readFile(join(FIXTURES, name, 'expected.json'), 'utf8'));
      await app.choose({ 'model-select': ':own' });
      await app.element('model-folder').setInputFiles(join(FIXTURES, name));
      await app.choose({ 'text-select': ':file' });
      await app.element('text-file').setInputFiles(join(FIXTURES, 'texts', 'encyclopedia.txt'));
      await app.choose({ rows: expected.rows, backend: webgpu ? 'gpu' : 'cpu' });
      for (const measure of ['swap', 'layers']) await app.element(`measures-${measure}`).check();
      const report = await app.measure();
      assert.equal(report.model.id, name);
      assert.equal(report.device.backend, webgpu ? 'gpu' : 'cpu');
      assert.equal(report.blocks.length, expected.blocks.length);
      for (const [at, block] of report.blocks.entries()) {
        differ('r2_lin', block.r2_lin, expected.blocks[at].r2_lin, 1e-5, `${name}, block ${at}: r2_lin`);
        differ('cosine', block.cosine, expected.blocks[at].cosine, 1e-5, `${name}, block ${at}: cosine`);
      }
      for (const [at, layer] of report.layers.entries()) {
        for (const field of ['linearity', 'linearity_no_residual']) {
          differ('layers', layer[field], expected.layers[at][field], 1e-5, `${name}, layer ${at}: ${field}`);
        }
      }
      if (!expected.ppl) continue;
      differ('ppl', report.ppl / expected.ppl, 1, OF_PERPLEXITY, `${name}: perplexity`);
      for (const [at, block] of report.blocks.entries()) {
        for (const swap of ['linear', 'mean', 'zero']) {
          const [found, wanted] = [block.delta_ppl[swap], expected.blocks[at].delta_ppl[swap]].map((delta) => delta / expected.ppl);
          differ('swaps', found, wanted, OF_PERPLEXITY * Math.max(1, 1 + wanted), `${name}, block ${at}: ${swap}`);
        }
      }
    }
    console.log(`largest differences ${webgpu ? 'on WebGPU' : 'on the CPU'}: ${JSON.stringify(largest)}`);
  });
}
