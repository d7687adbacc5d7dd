// Published models: one press looks a model up and measures it, from the mirror that a link names; published
// values are labelled as such.
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FIXTURES, visit } from './driver.mjs';

const ID = 'openai-community/gpt2';

/** A mirror on which a tiny model has the name of a published one. */
async function mirror(t) {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-published-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, ID), { recursive: true });
  for (const file of ['config.json', 'tokenizer.json', 'model.safetensors']) {
    await cp(join(FIXTURES, 'tiny-gpt2', file), join(folder, ID, file));
  }
  return folder;
}

const SMALL = { 'text-select': 'puzzles:1', rows: 640, 'seq-len': 32, backend: 'cpu' };

visit('one press on a published model measures it', { webgpu: false, query: { view: 'profile' }, mirror }, async (app) => {
  await app.choose(SMALL);
  await app.element(`known-${ID}`).click();
  assert.equal(await app.element('run').innerText(), 'Measure GPT-2', 'the one button names what is shown');
  await app.run();
  assert.equal(await app.ended(), 'finished', await app.element('error').allInnerTexts().then(String));
  const report = await app.report();
  assert.equal(report.model.id, ID);
  assert.equal(await app.element('model-select').inputValue(), `:hub:${ID}`);
  assert.equal(await app.element('row-0').count(), 1);
});

visit('a link keeps its mirror whatever model it opens on, and models of the hub come from there', {
  webgpu: false, query: { view: 'losses' }, mirror,
}, async (app) => {
  await app.element('downloads').evaluate((fold) => { fold.open = true; });
  assert.equal(await app.element('mirror').inputValue(), app.mirror.url);
  assert.equal(new URL(app.page.url()).searchParams.get('mirror'), app.mirror.url);
  assert.equal(await app.hub(ID), 'known');
  const asked = Object.keys(await app.mirror.stats()).filter((path) => path.includes(ID));
  assert.ok(asked.length > 0, 'the mirror was asked');
});

visit('what is published invites to no click and is captioned as what it is', {
  webgpu: false, query: { view: 'profile' }, hasSilentHub: true,
}, async (app) => {
  await app.element('chart').hover();
  await app.page.mouse.move(0, 0);
  assert.match(await app.element('readout').innerText(), /[Cc]lick/, 'a recording has blocks to open');
  await app.element(`known-${ID}`).click();
  await app.element('chart').locator('path.overlay:not(.line)').nth(11).waitFor();
  assert.doesNotMatch(await app.element('readout').innerText(), /[Cc]lick/);
  const caption = await app.page.locator('figure figcaption').first().innerText();
  assert.match(caption, /R² scalar/);
  assert.doesNotMatch(caption, /R²_?\n?lin is the share|Whiskers/);
});
