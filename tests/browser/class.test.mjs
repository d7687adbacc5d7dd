// A class: all nine steps by the controls of the page alone and without a network, on a small laptop and on a phone; the
// to-do and R² in view; the summary; starting over; a projector; the handout and its answer key.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';

import { PATIENCE, findings, open, trial, visit } from './driver.mjs';
import { relay } from './relay.mjs';

const SCREENS = { laptop: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } };
const STAGED = [1, 2, 3, 4];
/** Exercises that the page checks, and open ones. */
const EXERCISES = { checked: 4, open: 8 };

const ticked = (app, step) => app.element(`step-${step}`).and(app.page.locator('[data-done=true]')).waitFor({ timeout: step < 5 ? undefined : PATIENCE });

/** Waits until the service worker has cached a file. */
async function kept(page, path) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  const is_kept = () => page.evaluate(async (path) => {
    const keys = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
    return keys.flat().some(({ url }) => url.includes(`/${path}?sha256=`));
  }, path);
  const end = Date.now() + PATIENCE;
  while (!await is_kept()) {
    assert.ok(Date.now() < end, `never cached: ${path}`);
    await setTimeout(100);
  }
}

/** What a visitor does in each step. */
const STEPS = {
  1: (app) => app.element('network-identity').click(),
  2: async (app) => {
    const handle = app.element('handle-low');
    // Away from the bar with Next, which stays at the lower edge.
    await handle.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    const box = await handle.locator('circle').boundingBox();
    const picture = await app.page.locator('.hand svg').boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await app.page.mouse.move(x, y);
    await app.page.mouse.down();
    // From −3 to about 0.9: on this side of the bend GELU is almost straight.
    await app.page.mouse.move(x + picture.width * 0.345, y, { steps: 8 });
    await app.page.mouse.up();
  },
  3: async (app) => {
    await app.element('many-rows-30').click();
    await app.element('many-inputs').press('End');
  },
  4: async (app) => {
    for (const trap of ['scalar', 'outlier', 'baseline']) {
      await app.element(`trap-${trap}`).click();
      await app.element(`trap-slider-${trap}`).press('End');
    }
    await app.element('trap-null').click();
    await app.element('trap-switch-null').check();
  },
  5: async (app) => {
    await app.run();
    assert.equal(await app.ended(), 'finished');
  },
  6: async (app) => {
    await app.view('losses');
    await app.order(app.element('measure-swap'));
  },
  7: async (app) => {
    await app.element('tab-compare').click();
    for (const preset of ['learned', 'training', 'seeds']) await app.element(`preset-${preset}`).click();
  },
  8: async (app) => {
    for (const view of ['regimes', 'ranks']) await app.view(view);
  },
  9: async (app) => {
    const { model, blocks } = await app.report();
    const least = (value) => blocks.reduce((best, block) => (value(block) < value(best) ? block : best)).block;
    assert.equal(model.hidden_size, 128);
    const answers = {
      parameters: '16,512',
      gap: least((block) => block.r2_lin - block.r2_lin_scalar),
      cheapest: least((block) => block.delta_ppl.linear),
      rank: blocks[0].effective_rank,
    };
    for (const [name, answer] of Object.entries(answers)) {
      await app.element(`answer-${name}`).fill(String(answer));
      await app.element(`answer-${name}`).press('Tab');
    }
  },
};

for (const [name, size] of Object.entries(SCREENS)) {
  trial(`all nine steps are done without a network after one visit, and without “Do it for me”, on a ${name}`, async () => {
    const network = await relay();
    const before = (page) => page.setViewportSize(size);
    const app = await open({ webgpu: false, query: { lesson: '1', rows: '1280' }, address: network.address, before });
    try {
      await app.started();
      for (const file of ['models/demo-gpt2/model.safetensors', 'data/recorded/index.json', 'data/published.json']) await kept(app.page, file);
      await network.end();
      await app.page.reload();
      await app.started();
      for (const [step, does] of Object.entries(STEPS)) {
        await app.element(`step-title-${step}`).and(app.page.locator(':visible')).waitFor();
        assert.equal(await app.element(`step-${step}`).getAttribute('data-done'), 'false');
        await does(app);
        await ticked(app, step);
        assert.ok(await app.element(`look-${step}`).isVisible());
        const [needed, there] = await app.page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(needed <= there, `step ${step} is ${needed} wide where ${there} are`);
        await app.element('lesson-next').click();
      }
      await app.waitForText('lesson-summary', /^The lesson is done/);
      await app.waitForText('summary-2', /reaches an R² of 0\.99\d/);
      await app.waitForText('summary-3', /24 inputs on 30 rows.*−\d/);
      await app.waitForText('summary-5', /R² by block: 0\.\d{3}(, 0\.\d{3}){5}/);
      await app.waitForText('summary-6', /ΔPPL by block/);
      await app.waitForText('summary-9', /4 of 4/);
      assert.deepEqual(await findings(app.page), []);
      assert.deepEqual(app.faults, []);
    } finally {
      await app.browser.close();
      await network.end().catch(() => {});
    }
  });
}

visit('on a small laptop the to-do, the experiment and R² are in view without scrolling', { webgpu: false, query: { lesson: '1' } }, async (app) => {
  await app.page.setViewportSize(SCREENS.laptop);
  const inView = async (what, locator) => {
    const box = await locator.boundingBox();
    assert.ok(box && box.y >= 0 && box.y + box.height <= SCREENS.laptop.height, `${what}: ${JSON.stringify(box)}`);
    return box;
  };
  for (const step of STAGED) {
    await app.element(`step-${step}`).click();
    await app.page.evaluate(() => scrollTo(0, 0));
    await inView(`task ${step}`, app.element(`task-${step}`));
    await inView(`reading ${step}`, app.element(step === 4 ? 'trap-reading-scalar' : `reading-${step}`));
    const chart = await inView(`chart ${step}`, app.page.locator('.step:visible .trap:visible .picture svg:visible, .step:visible .example > .picture svg:visible').first());
    assert.ok(chart.width > SCREENS.laptop.width * 0.36 && chart.x > 300, `the large panel: ${JSON.stringify(chart)}`);
  }
  for (const step of [5, 6, 7, 8]) {
    await app.element(`step-${step}`).click();
    await app.page.evaluate(() => scrollTo(0, 0));
    await inView(`task ${step}`, app.element(`task-${step}`));
  }
});

visit('notation is the same in the first step and under Block, and that of the closed form is folded away', { webgpu: false, query: { lesson: '1' } }, async (app) => {
  const maths = (place) => app.page.locator(place).evaluateAll((all) => all.map((math) => math.textContent.replace(/\s/g, '')));
  const [lesson] = await maths('[data-step="1"] math');
  assert.match(lesson, /^y=f\(x\)=W2⊤φ\(W1⊤x\+b1\)\+b2y\^=W⊤x\+b$/);
  await app.element('step-3').click();
  const fold = app.page.locator('.step:visible .closed');
  assert.equal(await fold.locator('math').isVisible(), false);
  await fold.locator('summary').click();
  assert.match(await fold.innerText(), /eigenvectors/);
  await app.element('lesson-leave').click();
  await app.view('block');
  const [network, map] = await maths('[data-testid=formulas] math');
  assert.match(network, /^y=W2⊤GELU\w*\(W1⊤x\+b1\)\+b2$/);
  assert.match(map, /^y.=W⊤x\+b$/);
});

visit('progress outlasts the tab, and starting over erases it', { webgpu: false, query: { lesson: '1' } }, async (app) => {
  await app.element('network-identity').click();
  await ticked(app, 1);
  // What belongs to the tab ends with it.
  await app.page.evaluate(() => sessionStorage.clear());
  await app.page.reload();
  await ticked(app, 1);
  await app.element('step-9').click();
  await app.element('answer-parameters').fill('16512');
  await app.element('answer-parameters').press('Tab');
  await app.element('start-over').click();
  await app.element('start-over-now').click();
  await app.element('step-title-1').and(app.page.locator(':visible')).waitFor();
  await app.waitForText('lesson-progress', /^0 of 9/);
  await app.page.reload();
  await app.waitForText('lesson-progress', /^0 of 9/);
  assert.doesNotMatch(await app.page.evaluate(() => JSON.stringify(localStorage)), /16512/);
});

visit('a link opens the lesson in large type for a projector, and the page leaves it again', { webgpu: false, query: { lesson: '2', projector: '1' } }, async (app) => {
  await app.page.setViewportSize(SCREENS.laptop);
  const size = () => app.page.evaluate(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize));
  assert.ok(await size() >= 20);
  for (const name of ['task-2', 'reading-2']) {
    const box = await app.element(name).boundingBox();
    assert.ok(box.y >= 0 && box.y + box.height <= SCREENS.laptop.height, `${name}: ${JSON.stringify(box)}`);
  }
  assert.deepEqual(await findings(app.page), []);
  await app.element('lesson-projector').click();
  await app.page.waitForFunction(() => !location.search.includes('projector'));
  assert.ok(await size() < 20);
});

visit('the handout has everything but the outcomes, and the answer key has them', { webgpu: false, query: { lesson: '3', lock: 'model', model: 'demo-neox' } }, async (app) => {
  await app.page.emulateMedia({ media: 'print' });
  const shown = (place) => app.page.locator(`${place}:visible`).count();
  assert.equal(await shown('.step'), 9);
  assert.equal(await shown('.trap'), 4);
  // Steps 1 to 3, three traps, and the published values of step 8.
  await app.page.waitForFunction(() => document.querySelectorAll('.picture .small svg, .picture.hand svg').length >= 7);
  assert.equal(await shown('.picture svg'), 7);
  // One per step and trap, but for steps 4 and 9, and one per open exercise.
  assert.equal(await shown('.lines'), 7 + 4 + EXERCISES.open);
  assert.equal(await shown('.look'), 0);
  assert.equal(await shown('.answer'), 0);
  assert.match(await app.element('handout').innerText(), /Name[\s\S]*Date/);
  const address = new URL(await app.element('handout-address').innerText());
  assert.deepEqual(Object.fromEntries(address.searchParams), { v: '1', model: 'demo-neox', lock: 'model', lesson: '1' });
  const code = await app.element('handout-code').boundingBox();
  assert.ok(code.width > 80 && Math.abs(code.width - code.height) < 1, JSON.stringify(code));

  await app.page.emulateMedia({ media: 'screen' });
  for (const [button, paper] of [['print-key', 'key'], ['print-handout', 'handout']]) {
    await app.page.evaluate(() => { window.print = () => { window.printed = document.querySelector('.lesson').dataset.paper; }; });
    await app.element(button).click();
    await app.page.waitForFunction((paper) => window.printed === paper, paper);
  }
  await app.element('print-key').click();
  await app.page.emulateMedia({ media: 'print' });
  await app.page.locator('[data-paper=key]').waitFor();
  assert.equal(await shown('.look'), 9);
  assert.equal(await shown('.answer p'), EXERCISES.checked + EXERCISES.open);
  assert.equal(await shown('.lines'), 0);
});
