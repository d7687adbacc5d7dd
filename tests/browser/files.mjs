// Parses files saved by the page as other programs would: SVG, PNG and CSV.
import assert from 'node:assert/strict';

/** A table of the page in all digits, with plain minus signs, and empty cells for undefined values. */
export const shown = (app, table) => app.page.locator(table).evaluate((table) => [...table.rows].map((row) => [...row.cells].map(
  (cell) => (cell.title || cell.textContent).replaceAll('−', '-').replace('\u202f', '').replace(/^–$/, '').replace('R²lin', 'R²_lin'),
)));

/** The cells of a CSV; doubled quotes stand for one. */
export const parsed = (text) => text.trim().split('\r\n').map((line) => {
  const cells = line.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^,]*))(?=,|$)/g);
  return [...cells].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain);
});

/** Parses a standalone SVG in the browser. */
export const drawn = (app, svg) => app.page.evaluate((svg) => {
  const root = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
  const all = [...root.querySelectorAll('*')];
  return {
    name: root.nodeName,
    width: Number(root.getAttribute('width')),
    text: root.textContent,
    classes: all.filter((element) => element.hasAttribute('class')).length,
    bars: all.filter((element) => element.nodeName === 'rect' && element.getAttribute('fill') === '#0072b2').length,
    dots: all.filter((element) => element.nodeName === 'circle').map((dot) => Number(dot.getAttribute('cy'))),
  };
}, svg);

/** Size of a picture, and its number of pixels in the first look's colour and in any colour. */
export const seen = (app, bytes) => app.page.evaluate(async (base64) => {
  const data = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([data], { type: 'image/png' }));
  const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
  context.drawImage(picture, 0, 0);
  const { data: pixels } = context.getImageData(0, 0, picture.width, picture.height);
  let [coloured, vivid] = [0, 0];
  for (let at = 0; at < pixels.length; at += 4) {
    const [red, green, blue] = pixels.slice(at, at + 3);
    coloured += red === 0 && green === 0x72 && blue === 0xb2;
    vivid += Math.max(red, green, blue) - Math.min(red, green, blue) > 40;
  }
  return { width: picture.width, coloured, vivid, corner: [...pixels.slice(0, 4)] };
}, bytes.toString('base64'));

/** Saves a figure in all four forms and compares them with each other and with the page. */
export async function leaves(app, at) {
  const title = await app.element(`figure-${at}`).locator('h3').innerText();
  const fold = app.element(`numbers-${at}`);
  if (!(await fold.evaluate((element) => element.open))) await fold.locator('summary').click();
  const csv = parsed((await app.saved(`csv-${at}`)).bytes.toString());
  assert.deepEqual(csv, await shown(app, `[data-testid=numbers-${at}] table`), title);
  const svg = await app.saved(`svg-${at}`);
  const picture = await drawn(app, svg.bytes.toString());
  assert.equal(picture.name, 'svg', title);
  assert.equal(picture.classes, 0, `${title}: looks are written on the elements`);
  const plain = (text) => text.replace(/_?lin/g, '').toLowerCase();
  assert.ok(plain(picture.text).includes(plain(title)), `${title} in ${picture.text.slice(0, 80)}`);
  const pixels = await seen(app, (await app.saved(`png-${at}`)).bytes);
  assert.equal(pixels.width, 2 * picture.width, title);
  assert.ok(pixels.vivid > 50, `${title}: ${pixels.vivid} coloured pixels`);
  const data = JSON.parse((await app.saved(`json-${at}`)).bytes.toString());
  const points = data.chart.series.flatMap(({ points }) => points);
  assert.ok(points.length > 0 && points.some(({ y }) => Number.isFinite(y)), title);
  return { title, csv, data, picture };
}
