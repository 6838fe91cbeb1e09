import { type CallAudio, type CallHost, type Calls, createCalls } from '../call/index.ts';
import { ErrorType, Status, statusToString } from '../enums.ts';
import { createHandles, type Handles } from '../handles.ts';
import type { Host } from '../host.ts';
import { Http } from '../http.ts';
import { Log } from '../log.ts';
import { ClientError, invalid } from '../result.ts';
import { Session, type SessionEvents } from '../session.ts';
import { Signal } from '../signal.ts';
import { reduce } from '../store/reduce.ts';
import { emptyState, type Notice, type State } from '../store/store.ts';
import { voiceUrlOf } from '../voice/voiceurl.ts';
import { isJson, type Json, type OpenSocket } from '../voice/wire.ts';
import { createSignals, emitNotice, type Signals } from './signals.ts';

export interface ClientOptions {
  /**
   * API base such as `http://127.0.0.1:3000/api`, with or without version. Default: the page's own server, or this
   * machine.
   */
  readonly apiBase?: string;
  /** Origin of the pages for people: sign-in, consent, activation. Default: the API's origin. */
  readonly webBase?: string;
  /** Origin of images. Default: the API's origin. */
  readonly cdnBase?: string;
  /** Gateway URL. Default: requested over HTTP. */
  readonly gatewayUrl?: string;
  readonly applicationId?: string;
  /** In pages: the URL on this site that sign-in redirects to. Default: its `/callback`. */
  readonly redirectPage?: string;
  /** Opens a URL for the person, instead of the environment's own way. */
  readonly openUrl?: (url: string) => void;
  /** Audio of calls, instead of the environment's own. */
  readonly createAudio?: () => CallAudio;
  /**
   * Maps the endpoint that the gateway named to the URL of the voice server. Default: `wss://` plus the endpoint;
   * the gateway's own port when the gateway is unencrypted.
   */
  readonly voiceUrl?: (endpoint: string) => string;
  /** The person uses guilds, and commands, buttons and forms of applications; for clients of people, not for games. */
  readonly usesApplications?: boolean;
  /** Gateway intents besides those that the client needs itself. */
  readonly intents?: number;
  /** Opens the gateway's and the voice gateway's sockets, instead of the environment's own way. */
  readonly openSocket?: OpenSocket;
  /** Also logs Info and Verbose; never enable it in a release. */
  readonly debug?: boolean;
}

/** State shared by the groups of client methods. */
export interface Core {
  readonly host: Host;
  readonly webBase: string;
  readonly redirectPage: string | null;
  readonly log: Log;
  /** Log of calls. */
  readonly voiceLog: Log;
  readonly calls: Calls;
  readonly http: Http;
  readonly session: Session;
  readonly usesApplications: boolean;
  readonly state: State;
  readonly handles: Handles;
  readonly signals: Signals;
  readonly token: TokenCell;
  /** Every dispatch, READY and RESUMED included, after the store has applied it. */
  readonly dispatched: Signal<[name: string, d: Json]>;
  /** The session is ready, after READY or a resume. */
  readonly sessionReady: Signal<[fresh: boolean]>;
  readonly setApplicationId: (applicationId: string) => void;
  /** @throws ClientError when the id is neither given nor set. */
  readonly applicationIdOr: (given?: string) => string;
  /** Emits changes of the store to the application. */
  readonly notify: (notices: readonly Notice[]) => void;
}

/** The client's token; null before there is one. */
interface TokenCell {
  value: { readonly authorization: string; readonly token: string } | null;
}

const DEFAULT_ORIGIN = 'http://127.0.0.1:3000';
const VERSION = 'v10';
const ID = /^\d{1,20}$/;

/** @throws ClientError of type ValidationError. */
export function checkId(name: string, value: string): string {
  if (typeof value !== 'string' || !ID.test(value))
    throw invalid(`${name} must be an id: a string of digits.`);
  return value;
}

export function createCore(environment: Host, options: ClientOptions): Core {
  const { openSocket = environment.openSocket, openUrl = environment.openUrl } = options;
  const isOwn = openSocket === environment.openSocket && openUrl === environment.openUrl;
  const host: Host = isOwn ? environment : { ...environment, openSocket, openUrl };
  const base = versioned(options.apiBase ?? `${host.origin ?? DEFAULT_ORIGIN}/api`);
  const { origin } = new URL(base);
  const log = new Log(options.debug ?? false);
  const complain = (error: unknown) => log.error(`A callback of the application threw: ${String(error)}`);
  const signals = createSignals(complain);
  const application: ApplicationCell = { id: options.applicationId ?? null };
  const token: TokenCell = { value: null };
  const authorization = () => token.value?.authorization ?? null;
  const state = emptyState(() => application.id);
  const dispatched = new Signal<[string, Json]>(complain);
  const sessionReady = new Signal<[boolean]>(complain);
  const notify = (notices: readonly Notice[]) => {
    for (const notice of notices) emitNotice(signals, notice);
  };
  const unauthorized = () => signals.unauthorized.emit();
  const http = new Http({ apiBase: base, fetch: host.fetch, log, authorization, unauthorized });
  const events = sessionEvents({ state, application, signals, dispatched, sessionReady, notify, log });
  const gatewayUrl = options.gatewayUrl ?? null;
  const { usesApplications = false, intents = 0 } = options;
  const session = new Session({
    ...{ host, http, log, gatewayUrl, authorization, usesApplications, intents, events },
  });
  const voiceLog = log.beside();
  const calls = createCalls(callHost({ host, session, state, dispatched, voiceLog, complain, options }));
  // Without a session there are no calls.
  signals.statusChanged.add((status) => {
    if (status === Status.Disconnected) calls.drop();
  });
  const cdnBase = trimmed(options.cdnBase ?? origin);
  return {
    host,
    webBase: trimmed(options.webBase ?? origin),
    redirectPage: options.redirectPage ?? null,
    log,
    voiceLog,
    http,
    session,
    usesApplications,
    state,
    calls,
    handles: createHandles(state, cdnBase, (lobbyId) => calls.getCallInfoHandle(lobbyId)),
    signals,
    token,
    dispatched,
    sessionReady,
    notify,
    setApplicationId(id) {
      application.id = checkId('applicationId', id);
    },
    applicationIdOr(given) {
      const id = given ?? application.id;
      if (id === null) throw invalid('There is no application id: set one with setApplicationId.');
      return checkId('applicationId', id);
    },
  };
}

interface ApplicationCell {
  id: string | null;
}

interface EventParts
  extends Pick<Core, 'state' | 'signals' | 'dispatched' | 'sessionReady' | 'notify' | 'log'> {
  readonly application: ApplicationCell;
}

function sessionEvents(parts: EventParts): SessionEvents {
  const { state, application, signals, dispatched, sessionReady, notify, log } = parts;
  let news: readonly Notice[] = [];
  return {
    status(status, error, detail) {
      log.info(`The status is ${statusToString(status)}.`);
      // Without a session no account is signed in.
      if (status === Status.Disconnected) state.meId = null;
      signals.statusChanged.emit(status, error, detail);
    },
    dispatch(name, d) {
      log.verbose(() => `The gateway sent ${name}`);
      const notices = reduce(state, name, d);
      dispatched.emit(name, d);
      notify(notices);
    },
    readyReceived(d) {
      application.id ??= applicationOf(d);
      news = reduce(state, 'READY', d);
    },
    sessionReady(fresh, d) {
      dispatched.emit(fresh ? 'READY' : 'RESUMED', d);
      if (fresh) notify(news);
      sessionReady.emit(fresh);
    },
  };
}

interface CallParts {
  readonly host: Host;
  readonly session: Session;
  readonly state: State;
  readonly dispatched: Signal<[string, Json]>;
  readonly voiceLog: Log;
  readonly complain: (error: unknown) => void;
  readonly options: ClientOptions;
}

function callHost(parts: CallParts): CallHost {
  const { host, session, state, dispatched, voiceLog, complain, options } = parts;
  const audio = (options.createAudio ?? host.createAudio)();
  return {
    get userId() {
      return state.meId;
    },
    get sessionId() {
      return session.sessionId;
    },
    isMember: (lobbyId) => (session.status === Status.Ready ? state.lobbies.has(lobbyId) : null),
    audio,
    voiceUrl: options.voiceUrl ?? ((endpoint) => voiceUrlOf(endpoint, session.url)),
    send(op, d) {
      if (session.status === Status.Ready) session.send(op, d);
    },
    subscribe: dispatched.add,
    openSocket: host.openSocket,
    complain,
    log: (line) => voiceLog.info(line),
  };
}

/** @throws ClientError of type ValidationError. */
function versioned(apiBase: string): string {
  const base = trimmed(apiBase);
  if (!URL.canParse(base)) throw invalid('apiBase is not a URL.');
  return /\/v\d+$/.test(base) ? base : `${base}/${VERSION}`;
}

const trimmed = (url: string): string => url.replace(/\/+$/, '');

const applicationOf = (d: Json): string | null => {
  const id = isJson(d.application) ? d.application.id : null;
  return typeof id === 'string' && ID.test(id) ? id : null;
};

/** Error for a response without a required field. */
export const unexpected = (what: string): ClientError =>
  new ClientError(ErrorType.HTTPError, `The server's response contains no valid ${what}.`, { status: 200 });
