// Takes the README's picture: the page after a measurement of the calibration model on WebGPU.
import { open } from './driver.mjs';

const [, , file] = process.argv;
const app = await open({ webgpu: true });
await app.started();
await app.choose({ backend: 'gpu' });
await app.measure();
await app.element('protocol').evaluate((fold) => { fold.open = false; });
await app.page.screenshot({ path: file, fullPage: true, animations: 'disabled' });
await app.browser.close();
