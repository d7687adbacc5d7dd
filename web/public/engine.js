// Starts the engine in its worker. Reports what Rust cannot report itself: a trap, no memory, no WebAssembly.
import init from './worker.js';

const crashed = (why) => postMessage(JSON.stringify({ crashed: ['Engine', [String(why?.message ?? why)]] }));
addEventListener('unhandledrejection', (event) => crashed(event.reason));

init({ module_or_path: new URL('./worker_bg.wasm', import.meta.url) }).catch(crashed);
