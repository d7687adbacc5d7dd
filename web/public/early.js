// Runs before the page's module: hides the pre-rendered view if the link opens another one, and remembers a press on
// its button until the page can act on it.
const root = document.documentElement;
const asked = new URLSearchParams(location.search);
if (['model', 'hub', 'embed', 'view', 'hide', 'lesson', 'report'].some((name) => asked.has(name)) || location.hash.startsWith('#r=')) root.dataset.linked = '';
if (asked.has('embed')) root.dataset.embed = '';

const remember = (event) => {
  const button = event.target.closest?.('[data-testid=measure-here]');
  if (!button) return;
  root.dataset.pressed = '';
  button.setAttribute('aria-busy', 'true');
};
addEventListener('click', remember);
addEventListener('page ready', () => removeEventListener('click', remember), { once: true });
