import { type ConnectionError, LoggingSeverity, type Status } from '../enums.ts';
import type { Log, LogCallback } from '../log.ts';
import type { Disposer } from '../signal.ts';
import type { Core } from './core.ts';

/** The connection, its time-outs and its log. */
export class Connection {
  readonly #core: Core;
  readonly #files = new Map<string, { readonly close: () => void; readonly dispose: Disposer }>();

  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Connects with the token of `updateToken`, and stays connected until `disconnect`: what breaks is made again, and
   * resumed without a gap where that can be.
   *
   * @throws ClientError when the server does not want this client. When it is not reached within the time-out the
   *   promise rejects too, and the client goes on trying.
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

  /** Milliseconds that a call may take at most; 30000 unless set. @throws RangeError */
  setHttpRequestTimeout(timeoutMs: number): void {
    this.#core.http.timeoutMs = timeoutMs;
  }

  /** Lines of the log, from this severity up. Tokens and secrets are in none. */
  addLogCallback(callback: LogCallback, minSeverity: LoggingSeverity): Disposer {
    return this.#core.log.add(callback, minSeverity);
  }

  addVoiceLogCallback(callback: LogCallback, minSeverity: LoggingSeverity): Disposer {
    return this.#core.voiceLog.add(callback, minSeverity);
  }

  /** Writes the log into this folder; an empty one ends that. @returns false where there are no files. */
  setLogDir(folder: string, minSeverity: LoggingSeverity): boolean {
    return this.#logInto(this.#core.log, folder, 'guildhall', minSeverity);
  }

  setVoiceLogDir(folder: string, minSeverity: LoggingSeverity): boolean {
    return this.#logInto(this.#core.voiceLog, folder, 'guildhall_voice', minSeverity);
  }

  /** Opens the page where the person sees which games are connected with their account. */
  openConnectedGamesSettingsInPlatform(): void {
    this.#core.host.openUrl(`${this.#core.webBase}/settings`);
  }

  /** Ends the client for good: the connection, its calls, its logs. Whatever is called then is refused. */
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
