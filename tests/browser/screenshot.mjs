// Takes the README's picture: the page after a measurement of the calibration model.
import { open } from './driver.mjs';

const [, , file] = process.argv;
const app = await open({ webgpu: false });
await app.started();
await app.measure();
await app.page.screenshot({ path: file });
await app.browser.close();
