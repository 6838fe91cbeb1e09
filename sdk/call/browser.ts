/** Calls in a page: sound of its devices, and the worker that has the keys. */
export { type BrowserAudioOptions, createBrowserAudio } from './browser/audio.ts';
export type { DaveySource } from './browser/davey.ts';
export { serveCallWorker } from './browser/worker.ts';
