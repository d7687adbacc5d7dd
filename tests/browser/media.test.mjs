// The visitor's settings: no motion if less is preferred, and only the result in print.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** Elements with transitions, animations or smooth scrolling. */
const moving = (page) => page.evaluate(() => [...document.querySelectorAll('*')].filter((element) => {
  const { transitionDuration, animationDuration, animationName, scrollBehavior } = getComputedStyle(element);
  const lasts = (list) => list.split(',').some((time) => parseFloat(time) > 0);
  return lasts(transitionDuration) || (animationName !== 'none' && lasts(animationDuration)) || scrollBehavior === 'smooth';
}).map((element) => element.tagName));

visit('nothing moves where less motion is wanted', { webgpu: false, query: { view: 'profile' } }, async (app) => {
  await app.page.emulateMedia({ reducedMotion: 'no-preference' });
  assert.ok((await moving(app.page)).includes('BUTTON'), 'otherwise colours fade');
  await app.page.emulateMedia({ reducedMotion: 'reduce' });
  for (const view of ['profile', 'block', 'compare']) {
    await app.view(view);
    assert.deepEqual(await moving(app.page), [], view);
  }
  // The check detects a style that moves anyway.
  await app.page.evaluate(() => { document.querySelector('button').style.transition = 'color 1s'; });
  assert.deepEqual(await moving(app.page), ['BUTTON']);
});

/** Which of the elements are visible. */
const seen = (app, names) => Promise.all(names.map(async (name) => [name, await app.element(name).first().isVisible()]));

visit('paper carries the result without what it was ordered with', { webgpu: false, query: { view: 'profile' } }, async (app) => {
  const parts = ['chart', 'table', 'run', 'model-select', 'tab-profile', 'svg-profile', 'readout'];
  assert.deepEqual(await seen(app, parts), parts.map((name) => [name, true]));
  await app.page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const printed = ['chart', 'table'];
  assert.deepEqual(await seen(app, parts), parts.map((name) => [name, printed.includes(name)]));
  const colours = await app.page.evaluate(() => {
    const of = (element, name) => getComputedStyle(element).getPropertyValue(name);
    const figure = document.querySelector('.figure');
    return [of(figure, 'background-color'), of(document.querySelector('h1'), 'color'), of(document.querySelector('.chart .dot'), 'fill')];
  });
  assert.deepEqual(colours, ['rgb(255, 255, 255)', 'rgb(0, 0, 0)', 'rgb(0, 114, 178)'], 'on white, also for those who read in the dark');
  const wide = await app.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${wide} pixels beyond the paper`);

  await app.page.emulateMedia({ media: 'screen' });
  await app.view('block');
  await app.element('detail').waitFor();
  await app.page.emulateMedia({ media: 'print' });
  assert.deepEqual(await seen(app, ['detail', 'block-numbers', 'chart-0', 'strip', 'block-missing', 'svg-0']),
    [['detail', true], ['block-numbers', true], ['chart-0', true], ['strip', false], ['block-missing', false], ['svg-0', false]]);
});
