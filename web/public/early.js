// What cannot wait for the page's module: a link to anything but the first view hides it until the page is there, and a
// press on its button is remembered and acted on.
const root = document.documentElement;
const asked = new URLSearchParams(location.search);
if (['model', 'hub', 'embed', 'view', 'hide', 'lesson'].some((name) => asked.has(name))) root.dataset.linked = '';
if (asked.has('embed')) root.dataset.embed = '';

const remember = (event) => {
  const button = event.target.closest?.('[data-testid=measure-here]');
  if (!button) return;
  root.dataset.pressed = '';
  button.setAttribute('aria-busy', 'true');
};
addEventListener('click', remember);
addEventListener('page ready', () => removeEventListener('click', remember), { once: true });
