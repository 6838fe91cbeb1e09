/**
 * The client library: sign-in, lobbies, messages, friends, presence and calls for games, in a browser. In Node the same
 * import gives `node.ts`.
 */
import { browserHost } from './browser.ts';
import { type ClientConstructor, type Client as ClientOf, clientOf } from './client.ts';

export { completeAuthorizePage } from './browser.ts';
export {
  type BrowserAudioOptions,
  createBrowserAudio,
  type DaveySource,
  serveCallWorker,
} from './call/browser.ts';
export * from './shared.ts';

export type Client = ClientOf;
export const Client: ClientConstructor = /* @__PURE__ */ clientOf(browserHost);
