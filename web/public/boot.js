// Starts the page, or shows an error if the browser cannot. Once the engine is loaded, a service worker caches the site
// for offline visits; the page also works without one. The build fills in the module's hash.

// Caching takes the line and the processor from what the visitor waits for.
addEventListener('engine ready', () => {
  navigator.serviceWorker?.register(new URL('./sw.js', import.meta.url)).catch(() => {});
}, { once: true });

/** The page's script, which the head asks for with its hash, and its module. */
async function start() {
  const { default: init } = await import('./page.js');
  dispatchEvent(new Event('module asked'));
  const module = await fetch(new URL('./page_bg.wasm', import.meta.url), { integrity: '{sha256 page_bg.wasm}', signal: AbortSignal.timeout(600000) })
    .catch((why) => { throw new Error(`page_bg.wasm did not arrive as it was built (${why.message})`); });
  await init({ module_or_path: module });
}

start().catch((error) => {
  const words = document.createElement('p');
  words.className = 'boot';
  words.textContent = `The page could not be started: ${error.message}; reload it, or use a current browser.`;
  document.getElementById('app').replaceChildren(words);
});
