import http from 'node:http';
import { WebSocket } from 'ws';

/** Dispatches of one gateway session. */
export interface Session {
  readonly id: string;
  close(): void;
}

interface Payload {
  readonly op: number;
  readonly t: string | null;
  readonly d: Readonly<Record<string, unknown>>;
}

const HELLO = 10;
const IDENTIFY = 2;
const HEARTBEAT = 1;
/** GUILDS and GUILD_MESSAGES. */
const INTENTS = 1 | 512;

/** Opens a session, and passes on its dispatches from READY on. */
export function openSession(
  gateway: string,
  token: string,
  received: (t: string, d: Payload['d']) => void,
): Promise<Session> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${gateway}/?v=10&encoding=json`);
    let beat: NodeJS.Timeout | undefined;
    const close = (): void => {
      clearInterval(beat);
      socket.close();
    };
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const { op, t, d }: Payload = JSON.parse(data.toString());
      if (op === HELLO) {
        beat = setInterval(
          () => socket.send(JSON.stringify({ op: HEARTBEAT, d: null })),
          Number(d.heartbeat_interval),
        );
        const properties = { os: 'linux', browser: 'bench', device: 'bench' };
        socket.send(JSON.stringify({ op: IDENTIFY, d: { token, intents: INTENTS, properties } }));
      }
      if (t === null) return;
      received(t, d);
      if (t === 'READY') {
        resolve({ id: String(d.session_id), close });
      }
    });
  });
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** A POST over a connection that is kept. */
export function post(url: string, body: object, authorization?: string): Promise<Reply> {
  const bytes = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = http.request(
      url,
      {
        ...{ agent, method: 'POST' },
        headers: {
          'content-type': 'application/json',
          'content-length': bytes.length,
          ...(authorization !== undefined && { authorization }),
        },
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() }),
        );
      },
    );
    request.on('error', reject);
    request.end(bytes);
  });
}
