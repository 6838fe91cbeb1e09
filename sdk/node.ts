/** The client library in Node. */
import { type ClientConstructor, type Client as ClientOf, clientOf } from './client.ts';
import { nodeHost } from './node/host.ts';

export { createNodeAudio, type NodeAudioOptions, PackageMissing } from './call/node.ts';
export * from './shared.ts';

export type Client = ClientOf;
export const Client: ClientConstructor = /* @__PURE__ */ clientOf(nodeHost);
