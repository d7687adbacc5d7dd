// Starts the page, or shows an error if the browser cannot. Once the engine is loaded, a service worker caches the site
// for offline visits; the page also works without one.
import init from './page.js';

// Caching takes the line and the processor from what the visitor waits for.
addEventListener('engine ready', () => {
  navigator.serviceWorker?.register(new URL('./sw.js', import.meta.url)).catch(() => {});
}, { once: true });

init({ module_or_path: new URL('./page_bg.wasm', import.meta.url) }).catch((error) => {
  const words = document.createElement('p');
  words.className = 'boot';
  words.textContent = `The page could not be started: ${error.message}; reload it, or use a current browser.`;
  document.getElementById('app').replaceChildren(words);
});
