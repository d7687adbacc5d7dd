// Runs the benchmarks with the engine's wasm module in Node.js on Dawn, a browser's WebGPU without the browser.
//
// usage: node.mjs FOLDER SETTINGS.json RESULTS.json, where FOLDER holds bench.js and bench_bg.wasm
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { create, globals } from 'webgpu';

const [, , folder, settingsFile, resultsFile] = process.argv;

// What a worker's global scope has and Node's has not.
Object.assign(globalThis, globals);
const gpu = create([]);
// Dawn's own set has keys() that return an array, where a browser's return an iterator.
Object.defineProperty(gpu, 'wgslLanguageFeatures', { value: new Set(gpu.wgslLanguageFeatures.keys()) });
const navigator = { gpu, userAgent: `Node.js ${process.versions.node}` };
Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class WorkerGlobalScope {};

const results = new Promise((done, failed) => {
  globalThis.postMessage = (data) => {
    const message = JSON.parse(data);
    if (message.progress === 'ready') {
      readFile(settingsFile, 'utf8').then((settings) => globalThis.onmessage({ data: settings }), failed);
    } else if (message.progress) {
      console.error(`… ${message.progress}`);
    } else if (message.results) {
      done(message.results);
    } else {
      failed(new Error(message.failure));
    }
  };
});
const { default: init } = await import(pathToFileURL(resolve(folder, 'bench.js')));
await init({ module_or_path: await readFile(resolve(folder, 'bench_bg.wasm')) });
const found = await results;
found.host.system = `Node.js ${process.versions.node} with Dawn on ${process.platform} ${process.arch}`;
await writeFile(resultsFile, JSON.stringify(found));
// Dawn's threads would keep the process alive.
process.exit(0);
