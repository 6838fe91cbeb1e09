import { WebSocketWire } from '../wire/websocket.ts';

interface ClientPlan {
  readonly url: URL;
  readonly token: string;
  readonly intents: number;
  /** Called with the content of each message of the run. A new session starts over where a stock library would have to. */
  readonly message: (content: string, arrivedMs: number) => void;
  /** READY (`isNew`) or RESUMED. */
  readonly opened: (isNew: boolean) => void;
}

/** First and longest delay before a refused connection is retried. */
const RETRY_MS = { first: 100, most: 2_000 };
const OP = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalid: 9,
  hello: 10,
} as const;

const MESSAGE = Buffer.from('"t":"MESSAGE_CREATE"');
const CONTENT = Buffer.from('"content":"');
const SEQUENCE = Buffer.from('"s":');
const QUOTE = 0x22;
const DIGITS_MAX = 16;

interface Envelope {
  readonly op: number;
  readonly t: string | null;
  readonly s: number | null;
  readonly d: Readonly<Record<string, unknown>>;
}

/** A session that behaves like stock libraries: reconnects after every end, and resumes as long as possible. */
export class ResumingClient {
  readonly #plan: ClientPlan;
  #wire: WebSocketWire | null = null;
  #session: { readonly id: string; readonly url: URL } | null = null;
  #seq = 0;
  #heart: NodeJS.Timeout | null = null;
  #failures = 0;
  #isOver = false;
  isOpen = false;

  constructor(plan: ClientPlan) {
    this.#plan = plan;
  }

  connect(): void {
    const url = new URL(this.#session?.url ?? this.#plan.url);
    url.search = '?v=10&encoding=json';
    this.#wire = new WebSocketWire(url, {
      open: () => undefined,
      message: (payload) => payload && this.#heed(payload),
      closed: (code) => this.#closed(code),
    });
  }

  /** Breaks the connection as a network failure does. */
  drop(): void {
    this.#wire?.destroy();
  }

  /** Stops reading from its socket, like a client that hangs. It does not reconnect. */
  stopReading(): void {
    this.#isOver = true;
    this.#wire?.pause();
  }

  close(): void {
    this.#isOver = true;
    this.#wire?.close();
    this.#stopHeart();
  }

  #heed(payload: Buffer): void {
    const arrivedMs = performance.now();
    if (this.#heedMessage(payload, arrivedMs)) return;
    const { op, t, s, d } = JSON.parse(payload.toString()) as Envelope;
    if (op === OP.hello) this.#hello(Number(d.heartbeat_interval));
    if (op === OP.invalid) this.#session = null;
    if (op === OP.invalid || op === OP.reconnect) this.drop();
    if (op !== OP.dispatch) return;
    this.#seq = s ?? this.#seq;
    if (t !== 'READY' && t !== 'RESUMED') return;
    if (t === 'READY')
      this.#session = { id: String(d.session_id), url: new URL(String(d.resume_gateway_url)) };
    this.#failures = 0;
    this.isOpen = true;
    this.#plan.opened(t === 'READY');
  }

  /** Messages are not parsed: thousands of clients share a process, and parsing would dominate the measurement. */
  #heedMessage(payload: Buffer, arrivedMs: number): boolean {
    if (payload.indexOf(MESSAGE) < 0) return false;
    const from = payload.indexOf(CONTENT) + CONTENT.length;
    const content = payload.toString('latin1', from, payload.indexOf(QUOTE, from));
    const seqAt = payload.lastIndexOf(SEQUENCE) + SEQUENCE.length;
    this.#seq = Number.parseInt(payload.toString('latin1', seqAt, seqAt + DIGITS_MAX), 10);
    this.#plan.message(content, arrivedMs);
    return true;
  }

  #hello(intervalMs: number): void {
    const { token, intents } = this.#plan;
    const properties = { os: process.platform, browser: 'guildhall-bench', device: 'guildhall-bench' };
    this.#send(
      this.#session
        ? { op: OP.resume, d: { token, session_id: this.#session.id, seq: this.#seq } }
        : { op: OP.identify, d: { token, intents, properties } },
    );
    this.#stopHeart();
    this.#heart = setInterval(() => this.#send({ op: OP.heartbeat, d: this.#seq }), intervalMs);
  }

  #send(payload: object): void {
    this.#wire?.send(JSON.stringify(payload));
  }

  #closed(code: number): void {
    this.#stopHeart();
    this.isOpen = false;
    this.#wire = null;
    if (this.#isOver) return;
    // A session that the server has ended must not be resumed.
    if (code === 4007 || code === 4009) this.#session = null;
    const waitMs =
      this.#failures === 0 ? 0 : Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** (this.#failures - 1));
    this.#failures += 1;
    setTimeout(() => !this.#isOver && this.connect(), waitMs * (0.5 + Math.random() / 2));
  }

  #stopHeart(): void {
    if (this.#heart) clearInterval(this.#heart);
    this.#heart = null;
  }
}
