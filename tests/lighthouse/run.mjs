// Rates the page in every Lighthouse category, with Lighthouse's settings of a desktop and of a phone, compressed as by
// hosts; exits with 1 if a score is too low.
import assert from 'node:assert/strict';

import { launch } from 'chrome-launcher';
import lighthouse, { desktopConfig } from 'lighthouse';

import { relay } from '../browser/relay.mjs';

/** Lighthouse's settings, and the lowest accepted score of a category, of 1. */
const SETTINGS = [
  { device: 'desktop', config: desktopConfig, least: 0.95 },
  { device: 'mobile', config: undefined, least: 0.9 },
];

/** Number of runs, because times vary; the median counts. Files are compressed during the first. */
const TIMES = 3;

const QUIET = ['--headless=new', '--no-sandbox', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic'];

function setting(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set; run this with: cargo xtask lighthouse`);
  return value;
}

/** Lighthouse's results for a page, in a separate browser. */
async function rated(url, config) {
  const browser = await launch({ chromePath: setting('CHROMIUM'), chromeFlags: QUIET });
  try {
    const { lhr } = await lighthouse(url, { port: browser.port, logLevel: 'error' }, config);
    if (lhr.runtimeError) throw new Error(`${lhr.runtimeError.code}: ${lhr.runtimeError.message}`);
    return lhr;
  } finally {
    browser.kill();
  }
}

/** Audits that lowered a category, the largest loss first. */
function losses({ auditRefs }, audits) {
  const lost = auditRefs.map(({ id, weight }) => ({ ...audits[id], lost: weight * (1 - (audits[id].score ?? 1)) }));
  const named = lost.filter(({ lost }) => lost > 0).sort((a, b) => b.lost - a.lost);
  return named.map(({ id, displayValue }) => (displayValue ? `${id} ${displayValue}` : id)).join(', ');
}

/** Rates the page with one of the settings. */
async function rate(url, { device, config, least }) {
  const rounds = [];
  for (let at = 0; at < TIMES; at += 1) rounds.push(await rated(url, config));
  const performance = ({ categories }) => categories.performance.score;
  const { categories, audits, lighthouseVersion } = rounds.sort((a, b) => performance(a) - performance(b))[(TIMES - 1) / 2];
  console.log(`Lighthouse ${lighthouseVersion}, ${device}; performance in ${TIMES} rounds: ${rounds.map(performance).join(', ')}`);
  const all = Object.values(categories);
  for (const category of all) {
    console.log(`${category.title.padEnd(16)} ${category.score?.toFixed(2) ?? 'none'}  ${losses(category, audits)}`.trimEnd());
  }
  const low = all.filter(({ score }) => !(score >= least)).map(({ title }) => title);
  if (all.length > 0 && low.length === 0) return;
  console.error(`${device}, below ${least}: ${low.join(', ') || 'nothing was rated'}`);
  process.exitCode = 1;
}

setting('STRAIGHTEDGE_URL');
const site = await relay({ asHost: true });
for (const settings of SETTINGS) await rate(site.address, settings);
await site.end();
