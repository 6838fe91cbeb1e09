import { createActor } from 'xstate';
import { CAPABILITY } from '../protocol/capabilities.ts';
import { INTENTS } from '../protocol/intents.ts';
import { deferred } from './deferred.ts';
import { ConnectionError, ErrorType, Status } from './enums.ts';
import type { Host } from './host.ts';
import { type Http, pause } from './http.ts';
import type { Log } from './log.ts';
import { aborted, asClientError, ClientError, networkError, notReady } from './result.ts';
import { type StatusEvent, statusMachine } from './status.machine.ts';
import { GatewayLink } from './voice/gatewaylink.ts';
import { backoffMs, isJson, type Json, type Timer } from './voice/wire.ts';

interface SessionOptions {
  readonly host: Host;
  readonly http: Http;
  readonly log: Log;
  /** Requested over HTTP when absent. */
  readonly gatewayUrl: string | null;
  readonly authorization: () => string | null;
  /** Receives the messages of guilds, in which applications answer. */
  readonly usesApplications: boolean;
  /** Intents besides those of the library. */
  readonly intents: number;
  readonly events: SessionEvents;
}

export interface SessionEvents {
  status(status: Status, error: ConnectionError, detail: number): void;
  /** Every dispatch except READY and RESUMED. */
  dispatch(name: string, d: Json): void;
  /** READY arrived. The status is not Ready yet: the store applies READY first. */
  readyReceived(d: Json): void;
  /** The status became Ready, by READY or by a resume. */
  sessionReady(fresh: boolean, d: Json): void;
}

/** Intents of a game: users and lobbies. The server omits what the token's scopes do not allow. */
const SDK_INTENTS =
  INTENTS.DIRECT_MESSAGES |
  INTENTS.PRIVATE_CHANNELS |
  INTENTS.CALLS |
  INTENTS.USER_RELATIONSHIPS |
  INTENTS.USER_PRESENCE |
  INTENTS.LOBBIES |
  INTENTS.LOBBY_DELETE;
/** In addition, where applications answer. */
const GUILD_INTENTS = INTENTS.GUILDS | INTENTS.GUILD_MESSAGES;
const SDK_CAPABILITIES = CAPABILITY.AUTO_LOBBY_CONNECT | CAPABILITY.LOBBY_CHANGES;

const STATUS_OF = {
  disconnected: Status.Disconnected,
  httpWait: Status.HttpWait,
  connecting: Status.Connecting,
  connected: Status.Connected,
  ready: Status.Ready,
  reconnecting: Status.Reconnecting,
  disconnecting: Status.Disconnecting,
} as const;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: ClientError) => void;
  readonly timer: Timer;
}

/** The client's connection: looks up the gateway, keeps the link and reports its status. */
export class Session {
  readonly #options: SessionOptions;
  readonly #machine;
  #status: Status = Status.Disconnected;
  #link: GatewayLink | null = null;
  #url: string | null = null;
  #urlRequest: AbortController | null = null;
  #cause: { error: ConnectionError; detail: number; sentence: string } | null = null;
  readonly #waiters = new Set<Waiter>();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#machine = createActor(statusMachine, {
      input: { ask: () => void this.#ask(), open: () => this.#open(), close: () => this.#close() },
    });
    this.#machine.subscribe(({ value }) => this.#moved(STATUS_OF[value]));
    this.#machine.start();
  }

  get status(): Status {
    return this.#status;
  }

  get sessionId(): string | null {
    return this.#link?.sessionId ?? null;
  }

  /** URL of the gateway; null before it is known. */
  get url(): string | null {
    return this.#url;
  }

  /** @throws ClientError unless Ready: a message without a session would be lost. */
  send(op: number, d: unknown): void {
    if (this.#status !== Status.Ready || this.#link === null) throw notReady();
    this.#link.send(op, d);
  }

  /**
   * Connects unless it is connected or connecting. It keeps retrying after the promise rejected by timeout.
   *
   * @throws ClientError when the server rejects this client, or it is not Ready within the timeout.
   */
  connect(): Promise<void> {
    if (this.#options.authorization() === null)
      return Promise.reject(notReady('There is no token yet: set one with updateToken.'));
    this.#send('connect');
    return this.whenReady();
  }

  whenReady(): Promise<void> {
    if (this.#status === Status.Ready) return Promise.resolve();
    const { timeoutMs } = this.#options.http;
    const { promise, resolve, reject } = deferred<void>();
    const timer = setTimeout(() => {
      this.#waiters.delete(waiter);
      reject(networkError(`The gateway could not be reached within ${timeoutMs} ms.`));
    }, timeoutMs);
    const waiter = { resolve, reject, timer };
    this.#waiters.add(waiter);
    return promise;
  }

  /** Ends the session; it is not resumed. */
  disconnect(error: ConnectionError = ConnectionError.None): void {
    this.#cause = { error, detail: 0, sentence: 'The client was disconnected.' };
    this.#send('disconnect');
  }

  /** Reconnects with the current token, if there is a connection. */
  renew(): void {
    this.#send('renew');
  }

  #send(type: StatusEvent['type']): void {
    this.#machine.send({ type });
  }

  async #ask(): Promise<void> {
    const { gatewayUrl, http, log } = this.#options;
    const asking = new AbortController();
    this.#urlRequest = asking;
    for (let attempt = 0; !asking.signal.aborted; attempt++) {
      try {
        const { signal } = asking;
        const found =
          gatewayUrl === null
            ? await http.call({ method: 'GET', path: '/gateway', as: 'nobody', signal })
            : { url: gatewayUrl };
        this.#url = urlOf(found);
        if (!asking.signal.aborted) this.#send('addressed');
        return;
      } catch (error) {
        if (asking.signal.aborted) return;
        const { result, message } = asClientError(error);
        if (!result.retryable) {
          this.#end(ConnectionError.ConnectionFailed, result.status, message);
          return;
        }
        log.warn(`The gateway's address is not known yet: ${message}`);
        const waitMs = Math.max(backoffMs(attempt), result.retryAfter * 1000);
        await pause(waitMs, asking.signal).catch(() => {});
      }
    }
  }

  #open(): void {
    const { host, log, authorization, usesApplications, intents, events } = this.#options;
    this.#link?.close();
    const token = authorization();
    const url = this.#url;
    if (token === null || url === null) {
      queueMicrotask(() => this.#end(ConnectionError.ConnectionFailed, 0, 'There is no token.'));
      return;
    }
    this.#link = new GatewayLink({
      url,
      token,
      intents: SDK_INTENTS | (usesApplications ? GUILD_INTENTS : 0) | intents,
      capabilities: SDK_CAPABILITIES,
      properties: { os: host.os, browser: 'guildhall', device: 'guildhall' },
      open: host.openSocket,
      events: {
        hello: () => this.#send('opened'),
        ready: (d) => this.#sessionReady('READY', d),
        dispatch: (name, d) => {
          if (name === 'RESUMED') this.#sessionReady(name, d);
          else events.dispatch(name, d);
        },
        online: (online) => {
          if (!online) this.#send('lost');
        },
        ended: (code, reason) => {
          log.error(`The gateway ended the session with ${code} ${reason}`);
          this.#end(ConnectionError.UnexpectedClose, code, reason || `The gateway closed with ${code}.`);
        },
      },
    });
  }

  #sessionReady(name: 'READY' | 'RESUMED', d: Json): void {
    const { events } = this.#options;
    const fresh = name === 'READY';
    if (fresh) events.readyReceived(d);
    this.#send('ready');
    events.sessionReady(fresh, d);
  }

  #end(error: ConnectionError, detail: number, sentence: string): void {
    this.#cause = { error, detail, sentence };
    this.#link?.close();
    this.#send('ended');
  }

  #close(): void {
    this.#urlRequest?.abort();
    this.#link?.close();
    queueMicrotask(() => this.#send('closed'));
  }

  #moved(status: Status): void {
    if (status === this.#status) return;
    this.#status = status;
    const cause = this.#cause;
    if (status === Status.Ready) this.#settle((waiter) => waiter.resolve());
    if (status === Status.Disconnected) {
      this.#cause = null;
      this.#link = null;
      const error =
        cause === null || cause.error === ConnectionError.None
          ? aborted('The client was disconnected.')
          : new ClientError(ErrorType.NetworkError, cause.sentence, { errorCode: cause.detail });
      this.#settle((waiter) => waiter.reject(error));
    }
    const isEnd = status === Status.Disconnected || status === Status.Disconnecting;
    const { error = ConnectionError.None, detail = 0 } = (isEnd && cause) || {};
    this.#options.events.status(status, error, detail);
  }

  #settle(tell: (waiter: Waiter) => void): void {
    for (const waiter of this.#waiters) {
      clearTimeout(waiter.timer);
      tell(waiter);
    }
    this.#waiters.clear();
  }
}

/** Adds version and encoding to the gateway's URL. @throws ClientError when the response has no URL. */
function urlOf(answer: unknown): string {
  const url = isJson(answer) && typeof answer.url === 'string' ? answer.url : '';
  if (!/^wss?:/.test(url) || !URL.canParse(url))
    throw new ClientError(ErrorType.HTTPError, 'The server did not return the URL of its gateway.');
  const full = new URL(url);
  full.searchParams.set('v', '10');
  full.searchParams.set('encoding', 'json');
  return full.href;
}
