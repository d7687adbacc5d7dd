// Runs before the page's module: where a link opens another pre-rendered view or comparison, shows that; hides what is pre-rendered,
// which is in English, if the link asks for more or the page opens in another language; answers clicks on the switches of
// the blocks with the recorded texts, and remembers them, and a press on Measure, for the page.
const root = document.documentElement;
const asked = new URLSearchParams(location.search);
const LANGUAGES = ['en', 'de'];
// The files of the other views and of the ready comparisons, with their hashes.
const VIEWS = {/* views */};
const tags = navigator.languages.map((tag) => tag.split('-')[0].toLowerCase());
root.lang = [asked.get('lang'), ...tags].find((tag) => LANGUAGES.includes(tag)) ?? 'en';
const asksMore = [...asked.keys()].some((name) => !['v', 'lang', 'view', 'compare'].includes(name)) || location.hash.startsWith('#r=');
const compared = asked.has('compare') ? `-${asked.get('compare')}` : '';
const view = root.lang === 'en' && !asksMore ? (asked.get('view') ?? 'sides') + compared : '';
if (view !== 'sides') root.dataset.linked = '';
if (asked.has('embed')) root.dataset.embed = '';

let isReady = false;

/** Asks for a file that is needed later. What has a hash is only used by a request with the same one. */
function preload(href, integrity = '') {
  document.head.append(Object.assign(document.createElement('link'), { rel: 'preload', as: 'fetch', href, integrity, crossOrigin: 'anonymous' }));
}
const preloadModule = () => preload('./page_bg.wasm', '{sha256 page_bg.wasm}');
if ('linked' in root.dataset) {
  preloadModule();
} else {
  preload('./data/recorded/demo-gpt2.json');
  // The module is large, and delays nothing that the first view needs. A preload after boot.js has asked for it would
  // fetch it twice.
  let isAsked = false;
  addEventListener('module asked', () => { isAsked = true; }, { once: true });
  new PerformanceObserver((_, observer) => {
    observer.disconnect();
    if (!isAsked) preloadModule();
  }).observe({ type: 'paint', buffered: true });
}
const texts = 'linked' in root.dataset
  ? Promise.reject(new Error('another view is opened'))
  : fetch('./data/continuations/demo-gpt2.json', { priority: 'high' }).then((answer) => answer.json());
texts.catch(() => {});

/** Puts a pre-rendered view in place of the first one, unless the page is there already. */
async function put(name) {
  const html = await fetch(`./views/${name}.html`, { priority: 'high', integrity: VIEWS[name] }).then((answer) => answer.text());
  if (document.readyState === 'loading') await new Promise((loaded) => { addEventListener('DOMContentLoaded', loaded, { once: true }); });
  const place = document.getElementById('app');
  if (!place.querySelector('[inert]')) return;
  place.innerHTML = html;
  delete root.dataset.linked;
}
// Without it the page shows the view as soon as its module has arrived.
if (Object.hasOwn(VIEWS, view)) put(view).catch(() => {});

const part = (name) => document.querySelector(`[data-testid=recorded-${name}]`);

/** Shows the recorded text of the linear blocks `on`, exactly as the page itself writes it. */
function show({ original, linear }, on) {
  const { tokens, kl, mean_kl: mean } = linear[on.reduce((sum, block) => sum + 2 ** block, 0)];
  const most = Math.max(Number(part('texts').dataset.least), ...kl);
  part('original').querySelectorAll('.token').forEach((token, at) => {
    token.dataset.kl = Math.round(9 * Math.min(kl[at] / most, 1));
  });
  part('linear').querySelectorAll('.token').forEach((token, at) => {
    token.textContent = tokens[at];
    token.classList.toggle('other', tokens[at] !== original[at]);
  });
  const { none, one, many } = part('heading').dataset;
  part('heading').textContent = [none, one][on.length]?.replace('{blocks}', on) ?? many.replace('{blocks}', on.join(', '));
  part('kl').textContent = mean === 0 ? '0' : mean.toPrecision(3);
  const parting = tokens.findIndex((token, at) => token !== original[at]);
  const { same, parted } = part('parting').dataset;
  part('parting').textContent = parting < 0 ? same : parted.replace('{at}', parting + 1);
}

/** The blocks that are linear after a press on a switch, or on a button that names blocks. */
function chosen(button, switches) {
  const is = (block) => block.getAttribute('aria-pressed') === 'true';
  if (!switches.includes(button)) return (button.dataset.blocks || '').split(',').filter(Boolean).map(Number);
  return switches.flatMap((block, at) => (is(block) !== (block === button) ? [at] : []));
}

const press = (event) => {
  const measure = event.target.closest?.('[data-testid=run]');
  if (measure) {
    root.dataset.pressed = '';
    measure.setAttribute('aria-busy', 'true');
  }
  const button = event.target.closest?.('.ask-blocks button');
  if (!button) return;
  const switches = [...document.querySelectorAll('.chip.of-block')];
  const on = chosen(button, switches);
  root.dataset.linear = on.join();
  switches.forEach((block, at) => block.setAttribute('aria-pressed', String(on.includes(at))));
  document.querySelector('[data-testid=sides-all]').setAttribute('aria-pressed', String(on.length === switches.length));
  document.querySelector('[data-testid=sides-none]').setAttribute('aria-pressed', String(on.length === 0));
  texts.then((known) => { if (!isReady && root.dataset.linear === on.join()) show(known, on); }, () => {});
};
// The pre-rendered form has no action yet.
const submit = (event) => event.preventDefault();
addEventListener('click', press);
addEventListener('submit', submit);
addEventListener('page ready', () => {
  isReady = true;
  removeEventListener('click', press);
  removeEventListener('submit', submit);
}, { once: true });
