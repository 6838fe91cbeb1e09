/** Calls in Node: the application supplies and receives audio frames. */
export { createNodeAudio, type NodeAudioOptions } from './node/audio.ts';
export { PackageMissing } from './node/packages.ts';
