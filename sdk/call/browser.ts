/** Calls in a page: audio devices, and the worker that holds the encryption keys. */
export { type BrowserAudioOptions, createBrowserAudio } from './browser/audio.ts';
export type { DaveySource } from './browser/davey.ts';
export { serveCallWorker } from './browser/worker.ts';
