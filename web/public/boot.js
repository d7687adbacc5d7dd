// Starts the page; says so in words where the browser cannot.
import init from './page.js';

init({ module_or_path: new URL('./page_bg.wasm', import.meta.url) }).catch((error) => {
  const words = document.createElement('p');
  words.className = 'boot';
  words.textContent = `The page could not be started: ${error.message}; reload it, or use a current browser.`;
  document.getElementById('app').replaceChildren(words);
});
