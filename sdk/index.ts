/**
 * Client library for games in a browser: sign-in, lobbies, messages, friends, presence and calls. In Node the same
 * import resolves to `node.ts`.
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
