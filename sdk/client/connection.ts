import { type ConnectionError, LoggingSeverity, type Status } from '../enums.ts';
import type { LocalUser } from '../host.ts';
import type { Log, LogCallback } from '../log.ts';
import { invalid } from '../result.ts';
import type { Disposer } from '../signal.ts';
import { type Core, checkId } from './core.ts';

/** Connection, timeouts and logging. */
export class Connection {
  readonly #core: Core;
  readonly #files = new Map<string, { readonly close: () => void; readonly dispose: Disposer }>();

  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Connects with the token of `updateToken` and stays connected until `disconnect`: broken connections are
   * retried and resumed where possible.
   *
   * @throws ClientError when the server rejects this client. The promise also rejects after the timeout, while the
   *   client keeps retrying.
   */
  connect(): Promise<void> {
    return this.#core.session.connect();
  }

  disconnect(): void {
    this.#core.session.disconnect();
  }

  getStatus(): Status {
    return this.#core.session.status;
  }

  setStatusChangedCallback(
    callback: (status: Status, error: ConnectionError, errorDetail: number) => void,
  ): Disposer {
    return this.#core.signals.statusChanged.set(callback);
  }

  /** Maximum duration of a call in milliseconds; default 30000. @throws RangeError */
  setHttpRequestTimeout(timeoutMs: number): void {
    this.#core.http.timeoutMs = timeoutMs;
  }

  /** Receives log lines of at least this severity. They contain no tokens or secrets. */
  addLogCallback(callback: LogCallback, minSeverity: LoggingSeverity): Disposer {
    return this.#core.log.add(callback, minSeverity);
  }

  addVoiceLogCallback(callback: LogCallback, minSeverity: LoggingSeverity): Disposer {
    return this.#core.voiceLog.add(callback, minSeverity);
  }

  /** Writes the log into this folder; an empty path stops that. @returns false in environments without files. */
  setLogDir(folder: string, minSeverity: LoggingSeverity): boolean {
    return this.#logInto(this.#core.log, folder, 'guildhall', minSeverity);
  }

  setVoiceLogDir(folder: string, minSeverity: LoggingSeverity): boolean {
    return this.#logInto(this.#core.voiceLog, folder, 'guildhall_voice', minSeverity);
  }

  /**
   * The game shows or hides its chat. It silences nothing: no client of this server notifies the person of messages that
   * a game shows too.
   */
  setShowingChat(isShowing: boolean): void {
    if (typeof isShowing !== 'boolean') throw invalid('isShowing must be true or false.');
  }

  /** Opens the page on which the person manages connected games. */
  openConnectedGamesSettingsInPlatform(): void {
    this.#core.host.openUrl(`${this.#core.webBase}/settings`);
  }

  /**
   * Registers the command that starts the game when its link is opened, as by an accepted invite.
   *
   * @returns false where that is not possible: in browsers, and on desktops other than those of freedesktop.org.
   */
  registerLaunchCommand(applicationId: string, command: string): boolean {
    return this.#core.host.registerLaunch?.(checkId('applicationId', applicationId), command) ?? false;
  }

  /** Registers a game of Steam: its link starts it there. @returns false where `registerLaunchCommand` does. */
  registerLaunchSteamApplication(applicationId: string, steamAppId: number): boolean {
    if (!Number.isSafeInteger(steamAppId) || steamAppId <= 0)
      throw invalid('steamAppId must be an id of Steam.');
    return this.registerLaunchCommand(applicationId, `steam://rungameid/${steamAppId}`);
  }

  /** Whether a client of the platform runs on this machine: `guildhall rpc`. Always false in browsers. */
  isPlatformAppInstalled(): Promise<boolean> {
    return this.getPlatformClientConnectedUser(this.#core.applicationIdOr()).then((user) => user !== null);
  }

  /** The user of the client on this machine; null without a client. */
  async getPlatformClientConnectedUser(applicationId: string): Promise<LocalUser | null> {
    const local = this.#core.host.openLocal?.(checkId('applicationId', applicationId));
    if (!local) return null;
    try {
      return await local.user();
    } catch {
      return null;
    } finally {
      local.close();
    }
  }

  /** Closes the client for good: connection, calls, logs. Later calls are rejected. */
  destroy(): void {
    this.#core.calls.close();
    this.#core.session.disconnect();
    this.#core.http.destroy();
    for (const { close, dispose } of this.#files.values()) {
      dispose();
      close();
    }
    this.#files.clear();
  }

  #logInto(into: Log, folder: string, name: string, minimum: LoggingSeverity): boolean {
    const before = this.#files.get(name);
    this.#files.delete(name);
    before?.dispose();
    before?.close();
    if (minimum === LoggingSeverity.None || folder === '') return true;
    try {
      const file = this.#core.host.openLog?.(folder, name);
      if (!file) return false;
      this.#files.set(name, { close: file.close, dispose: into.add(file, minimum) });
      return true;
    } catch (error) {
      this.#core.log.error(`The log cannot be written: ${String(error)}`);
      return false;
    }
  }
}
