import { type CallAudio, DEFAULT_DEVICE } from '../../sdk/call/index.ts';
import type { ClientOptions } from '../../sdk/client/core.ts';
import { clientOf } from '../../sdk/client.ts';
import { AuthorizationTokenType, ErrorType } from '../../sdk/enums.ts';
import type { Host, RedirectPlace } from '../../sdk/host.ts';
import { ClientError } from '../../sdk/result.ts';
import type { SocketEvents } from '../../sdk/voice/wire.ts';

/** One request that the library made. */
interface ReceivedRequest {
  readonly method: string;
  /** With its query, below the API's base. */
  readonly path: string;
  readonly authorization: string | null;
  /** Parsed, whether JSON or a form. */
  readonly body: Record<string, unknown> | null;
}

type Answer = {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
};

/** No sound, and no devices. */
export const SILENCE: CallAudio = {
  inputDevice: DEFAULT_DEVICE,
  outputDevice: DEFAULT_DEVICE,
  load: async () => {},
  open: () => {
    throw new ClientError(ErrorType.Disabled, 'There is no sound in this test.');
  },
  inputDevices: async () => [],
  outputDevices: async () => [],
  useInput: async () => {},
  useOutput: async () => {},
  setInputVolume: () => {},
  setOutputVolume: () => {},
  setProcessing: () => {},
  watchDevices: () => () => {},
  close: () => {},
};

/** The access token of these tests. */
export const ACCESS_TOKEN = 'access.token.of-the-test';
export const ME = '1001';
export const PEER = '1002';
export const APPLICATION = '5001';
export const LOBBY = '7001';

const API = 'http://server.test/api/v10';

/** READY with what is given. */
export const readyBody = (more: object = {}): object => ({
  v: 10,
  session_id: 'session-1',
  resume_gateway_url: 'ws://server.test/resume',
  user: { id: ME, username: 'me', global_name: 'Me', avatar: null, flags: 0 },
  application: { id: APPLICATION, flags: 0 },
  relationships: [],
  game_relationships: [],
  private_channels: [],
  presences: [],
  users: [],
  lobbies: [],
  ...more,
});

/** A server as a client meets it, of which a test says every word: answers of HTTP, and messages of the gateway. */
export class ScriptedServer {
  readonly asked: ReceivedRequest[] = [];
  readonly sockets: {
    readonly url: string;
    readonly events: SocketEvents;
    readonly sent: { op: number; d: unknown }[];
    code: number | null;
  }[] = [];
  readonly opened: string[] = [];
  openLocal: Host['openLocal'] = null;
  /** By `METHOD /path` without its query; the last one without a match answers 404. */
  readonly #answers = new Map<string, (asked: ReceivedRequest) => Answer | Promise<Answer>>();
  #seq = 0;
  redirect: { arrived: (url: string) => boolean; gone: () => void; closed: boolean } | null = null;

  constructor() {
    this.answer('GET /gateway', () => ({ body: { url: 'ws://server.test' } }));
    this.answer('GET /oauth2/@me', () => ({
      body: { expires: new Date(Date.now() + 604_800_000).toISOString() },
    }));
  }

  answer(route: string, give: (asked: ReceivedRequest) => Answer | Promise<Answer>): void {
    this.#answers.set(route, give);
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = String(input);
    const path = url.slice(API.length);
    const headers = new Headers(init?.headers);
    const asked: ReceivedRequest = {
      method: init?.method ?? 'GET',
      path,
      authorization: headers.get('authorization'),
      body: bodyOf(String(init?.body ?? ''), headers.get('content-type')),
    };
    this.asked.push(asked);
    const give = this.#answers.get(`${asked.method} ${path.split('?')[0]}`);
    const signal = init?.signal;
    const {
      status = 200,
      body,
      headers: more = {},
    } = give
      ? await Promise.race([give(asked), ...(signal ? [rejectedBy(signal)] : [])])
      : { status: 404, body: { code: 0, message: '404: Not Found' } };
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
    return new Response(status === 204 ? null : text, { status, headers: more });
  };

  host(): Host {
    return {
      os: 'test',
      openSocket: (url, events) => {
        const socket = { url, events, sent: [] as { op: number; d: unknown }[], code: null as number | null };
        this.sockets.push(socket);
        return {
          send: (data) => void socket.sent.push(JSON.parse(String(data))),
          close: (code) => {
            socket.code = code;
          },
        };
      },
      fetch: this.fetch,
      origin: null,
      openUrl: (url) => void this.opened.push(url),
      awaitRedirect: async (arrived, gone): Promise<RedirectPlace> => {
        const redirect = { arrived, gone, closed: false };
        this.redirect = redirect;
        return {
          redirectUri: 'http://127.0.0.1:7777/callback',
          close: () => {
            redirect.closed = true;
          },
        };
      },
      openLocal: this.openLocal,
      registerLaunch: null,
      openLog: null,
      createAudio: () => SILENCE,
    };
  }

  /** The connection of now. */
  get socket() {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error('Nobody has connected.');
    return socket;
  }

  /** Payloads that the client has sent with this opcode on its newest connection. */
  sent(op: number): unknown[] {
    return this.socket.sent.filter((each) => each.op === op).map(({ d }) => d);
  }

  say(message: object): void {
    this.socket.events.message(JSON.stringify(message));
  }

  hello(): void {
    this.say({ op: 10, d: { heartbeat_interval: 41_250 } });
  }

  dispatch(name: string, d: object): void {
    this.say({ op: 0, s: ++this.#seq, t: name, d });
  }

  /** The server greets and lets the client in. */
  welcome(more: object = {}): void {
    this.hello();
    this.dispatch('READY', readyBody(more));
  }

  drop(code = 1006): void {
    this.socket.events.closed(code, '');
  }
}

function bodyOf(text: string, type: string | null): Record<string, unknown> | null {
  if (text === '') return null;
  return type?.includes('json') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
}

const rejectedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

/** Lets promises that wait for nothing but each other go on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** A client of a scripted server. */
export function scriptedClient(options: ClientOptions = {}, server = new ScriptedServer()) {
  const ClientHere = clientOf(() => server.host());
  const client = new ClientHere({ apiBase: API, ...options });
  return { client, server };
}

/** A client whose session stands. */
export async function readyClient(ready: object = {}, options: ClientOptions = {}) {
  const { client, server } = scriptedClient(options);
  await client.updateToken(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
  const connecting = client.connect();
  await settle();
  server.welcome(ready);
  await connecting;
  await settle();
  return { client, server };
}

/** Why a call was refused. @throws when it was not. */
export async function refusal(call: Promise<unknown>): Promise<ClientError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}
