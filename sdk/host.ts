import type { CallAudio } from './call/index.ts';
import type { LogCallback } from './log.ts';
import type { OpenSocket } from './voice/wire.ts';

/** Where the answer of an authorization comes back to, and how. */
export interface RedirectPlace {
  readonly redirectUri: string;
  readonly close: () => void;
}

/** What differs between environments. */
export interface Host {
  /** What the gateway is told this client is. */
  readonly os: string;
  readonly openSocket: OpenSocket;
  readonly fetch: typeof fetch;
  /** Of the server, where the environment knows one; without a slash at its end. */
  readonly origin: string | null;
  /** Shows an address to the person. Called while a click is handled, as far as that depends on the application. */
  readonly openUrl: (url: string) => void;
  /**
   * Waits for redirects to an address of this environment's own.
   *
   * @param arrived Called with each address; false from it: it is not the awaited one.
   * @param gone    The person closed the window, as far as that can be seen.
   * @param page    Of pages: the address that is meant, when it is not the usual one.
   * @throws when there can be no such address here.
   */
  readonly awaitRedirect: (
    arrived: (url: string) => boolean,
    gone: () => void,
    page: string | null,
  ) => Promise<RedirectPlace>;
  /** The sound of calls; nothing is opened before there is one. */
  readonly createAudio: () => CallAudio;
  /** Writes a log into a folder; null where there are no files. @throws when it cannot be written. */
  readonly openLog: ((folder: string, name: string) => LogCallback & { readonly close: () => void }) | null;
}
