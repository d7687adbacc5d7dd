// Runs the benchmarks of the site at BENCH_URL in Chromium and writes what they give.
//
// usage: chromium.mjs SETTINGS.json RESULTS.json [PEERS.json]
import { readFile, writeFile } from 'node:fs/promises';

import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox', '--enable-unsafe-webgpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

const [, , settingsFile, resultsFile, peersFile] = process.argv;
const settings = await readFile(settingsFile, 'utf8');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
try {
  const page = await browser.newPage();
  await page.goto(process.env.BENCH_URL);
  await page.exposeFunction('tell', (what) => console.error(`… ${what}`));
  const results = await page.evaluate((settings) => new Promise((resolve, reject) => {
    const worker = new Worker('./engine.js', { type: 'module' });
    worker.onerror = (event) => reject(new Error(event.message ?? 'the worker could not be loaded'));
    worker.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.progress === 'ready') worker.postMessage(settings);
      else if (message.progress) globalThis.tell(message.progress);
      else if (message.results) resolve(message.results);
      else reject(new Error(message.failure));
    };
  }), settings);
  results.host.system = `Chromium ${browser.version()} on ${process.platform} ${process.arch}`;
  await writeFile(resultsFile, JSON.stringify(results));
  if (peersFile) await writeFile(peersFile, JSON.stringify(await peers(page, results)));
} finally {
  await browser.close();
}

/** The products that the engine was timed on, by the other libraries. */
async function peers(page, results) {
  const lines = results.devices.find(({ backend }) => backend === 'gpu')?.kernels ?? [];
  const shapes = lines.flatMap(({ name, rows }) => {
    const sizes = /^product (\d+) to (\d+)$/.exec(name);
    return sizes ? [[rows, Number(sizes[1]), Number(sizes[2])]] : [];
  });
  await page.addScriptTag({ url: './peers.js' });
  return page.evaluate((shapes) => globalThis.measurePeers(shapes), shapes);
}
