/** Calls in Node: sound as frames that the application gives and takes. */
export { createNodeAudio, type NodeAudioOptions } from './node/audio.ts';
export { PackageMissing } from './node/packages.ts';
