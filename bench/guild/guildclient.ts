import { type FrameEvents, WebSocketWire } from '../wire/websocket.ts';

const IDENTIFY = 2;
const HELLO = Buffer.from('"op":10');
const HELLO_BYTES_MAX = 512;

interface GuildClientPlan {
  readonly url: URL;
  readonly token: string;
  readonly intents: number;
  /** Receives each payload after HELLO; a view that is valid until the call returns. */
  readonly received: (payload: Buffer) => void;
  readonly closed: (error: Error) => void;
}

/** A JSON session that identifies itself and passes on what it receives, unparsed. */
export class GuildClient {
  readonly #wire: WebSocketWire;

  constructor({ url, token, intents, received, closed }: GuildClientPlan) {
    const at = new URL(url);
    at.search = '?v=10&encoding=json';
    const properties = { os: process.platform, browser: 'guildhall-bench', device: 'guildhall-bench' };
    const message: FrameEvents['message'] = (payload) => {
      if (payload === null) return;
      if (payload.length < HELLO_BYTES_MAX && payload.includes(HELLO))
        this.send(IDENTIFY, { token, intents, properties });
      else received(payload);
    };
    this.#wire = new WebSocketWire(at, {
      ...{ open: () => {}, message },
      closed: (code, reason) => closed(new Error(`A session was closed: ${code} ${reason}`)),
    });
  }

  send(op: number, d: object): void {
    this.#wire.send(JSON.stringify({ op, d }));
  }

  close(): void {
    this.#wire.close();
  }
}
