import type { CallAudio } from './call/index.ts';
import type { LogCallback } from './log.ts';
import type { OpenSocket } from './voice/wire.ts';

/** Redirect URI of an authorization, and how its answer arrives. */
export interface RedirectPlace {
  readonly redirectUri: string;
  readonly close: () => void;
}

/** A connection to the RPC server of the person's machine. */
export interface LocalClient {
  /**
   * Sets the activity of the application; null takes it away.
   *
   * @param pid The process of the game's window; default: this process. @throws Error when there is no server, or it refuses.
   */
  setActivity(activity: object | null, pid?: number): Promise<void>;
  /** The signed-in user. @throws Error when the server cannot be reached or refuses. */
  user(): Promise<LocalUser>;
  close(): void;
}

/** The person who is signed in to the RPC server of this machine. */
export interface LocalUser {
  readonly id: string;
  readonly username: string;
  readonly globalName: string | null;
}

/** The parts of the SDK that differ between environments. */
export interface Host {
  /** Connection properties for IDENTIFY. */
  readonly os: string;
  readonly openSocket: OpenSocket;
  readonly fetch: typeof fetch;
  /** Origin of the server, where the environment knows one; without a trailing slash. */
  readonly origin: string | null;
  /** Opens a URL for the person. Called while a click is handled, as far as the application allows. */
  readonly openUrl: (url: string) => void;
  /**
   * Waits for redirects to a URI of this environment.
   *
   * @param arrived Called with each URL; returns false for one that does not match the request.
   * @param gone    The person closed the window, where that is detectable.
   * @param page    In pages: the redirect URL, when it is not the default.
   * @throws when the environment has no redirect URI.
   */
  readonly awaitRedirect: (
    arrived: (url: string) => boolean,
    gone: () => void,
    page: string | null,
  ) => Promise<RedirectPlace>;
  /** Audio of calls; nothing is opened before the first call. */
  readonly createAudio: () => CallAudio;
  /** Opens a connection of an application to the RPC server of this machine; null where there are no local sockets. */
  readonly openLocal: ((applicationId: string) => LocalClient) | null;
  /** Registers the command that starts a game when its link is opened; null where that is not possible. */
  readonly registerLaunch: ((applicationId: string, command: string) => boolean) | null;
  /** Opens a log in a folder; null in environments without files. @throws when it cannot be written. */
  readonly openLog: ((folder: string, name: string) => LogCallback & { readonly close: () => void }) | null;
}
