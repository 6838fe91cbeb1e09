import type { us_socket_context_t, WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import { WebSocket as TargetSocket } from 'ws';
import { type HeaderLines, requestHeaders } from './headers.ts';
import type { Inbound } from './inbound.ts';
import type { RequestTarget } from './origins.ts';
import type { ProxyTarget } from './sites.ts';

/** A WebSocket that a page asks for. */
interface Opening {
  readonly inbound: Inbound;
  readonly context: us_socket_context_t;
  readonly asked: RequestTarget;
  readonly proxyTarget: ProxyTarget;
  /** The path at the target, without the query. */
  readonly path: string;
  /** Refuses the request with a status. */
  readonly refuse: (status: number) => void;
  /** Is called when the connection of the page has become a WebSocket. */
  readonly upgraded: () => void;
}

interface SocketBounds {
  /** Timeout for the target's agreement. */
  readonly targetMs: number;
  /** A WebSocket on which nothing passes ends. */
  readonly socketIdleMs: number;
}

/** The native server copies the data of a WebSocket, so methods would be lost. */
interface Attached {
  readonly joined: Joined;
}
type PageSocket = WebSocket<Attached>;

/** Largest message from a page; messages from a target may be four times as large. */
const MESSAGE_BYTES_MAX = 1 << 20;
const TARGET_MESSAGE_BYTES_MAX = 4 * MESSAGE_BYTES_MAX;
/** Unsent bytes above which the target is no longer read (towards a page), or the WebSocket is closed (towards a target). */
const BEHIND_BYTES_MAX = 1 << 20;
/** Unsent bytes towards the targets of all WebSockets above which one that sends more is closed. */
const ALL_BEHIND_BYTES_MAX = 256 << 20;

const TRY_AGAIN_LATER = 1013;
const NO_STATUS = 1005;
const ABNORMAL = 1006;

/** WebSockets between pages and targets. Each end is a whole WebSocket: no byte of a frame passes as it came. */
export class Sockets {
  readonly #bounds: SocketBounds;
  readonly #open = new Set<Joined>();
  readonly #behind = { bytes: 0 };

  constructor(bounds: SocketBounds) {
    this.#bounds = bounds;
  }

  /** The side of pages. */
  behavior(): Pick<WebSocketBehavior<Attached>, Exclude<keyof WebSocketBehavior<Attached>, 'upgrade'>> {
    return {
      ...{ maxPayloadLength: MESSAGE_BYTES_MAX, maxBackpressure: 0, compression: 0 },
      ...{ idleTimeout: 0, sendPingsAutomatically: false },
      open: (socket) => socket.getUserData().joined.opened(socket),
      message: (socket, message, isBinary) => socket.getUserData().joined.fromPage(message, isBinary),
      drain: (socket) => socket.getUserData().joined.drained(),
      pong: (socket, message) => socket.getUserData().joined.pongFromPage(message),
      close: (socket, code, reason) => socket.getUserData().joined.pageClosed(code, reason),
    };
  }

  /** Opens a WebSocket to the target, and then one to the page. */
  open(opening: Opening): void {
    const { inbound } = opening;
    const target = targetSocket(opening, this.#bounds.targetMs);
    if (!target) {
      opening.refuse(400);
      return;
    }
    const joined = new Joined(opening, target, this.#bounds.socketIdleMs, this.#behind);
    this.#open.add(joined);
    inbound.onOver(() => this.#open.delete(joined));
  }

  close(): void {
    for (const joined of this.#open) joined.end();
  }
}

/** Asks the target for a WebSocket; null when what the page asks for is malformed. */
function targetSocket(
  { inbound, asked, proxyTarget: site, path }: Opening,
  timeoutMs: number,
): TargetSocket | null {
  const { url, connect } = site;
  const protocols = inbound.headers.get('sec-websocket-protocol')?.split(',') ?? [];
  try {
    return new TargetSocket(
      `${url.protocol === 'https:' ? 'wss' : 'ws'}://${url.host}${path}${asked.search}`,
      protocols.map((each) => each.trim()),
      {
        ...{
          ...connect,
          headers: recordOf(requestHeaders(inbound.headers, true)),
          handshakeTimeout: timeoutMs,
        },
        ...{ perMessageDeflate: false, autoPong: false, maxPayload: TARGET_MESSAGE_BYTES_MAX },
      },
    );
  } catch {
    return null;
  }
}

const recordOf = (lines: HeaderLines): Record<string, string> =>
  Object.fromEntries(
    lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1] ?? ''] as const] : [])),
  );

/** The two ends of one WebSocket, until either ends or nothing passes for long. */
class Joined {
  readonly #inbound: Inbound;
  readonly #target: TargetSocket;
  readonly #idle: NodeJS.Timeout;
  readonly #behind: { bytes: number };
  #page: PageSocket | null = null;

  constructor(
    { inbound, context, refuse, upgraded }: Opening,
    target: TargetSocket,
    idleMs: number,
    behind: { bytes: number },
  ) {
    this.#inbound = inbound;
    this.#target = target;
    this.#behind = behind;
    this.#idle = setTimeout(() => this.end(), idleMs);
    inbound.onOver(() => {
      clearTimeout(this.#idle);
      if (target.readyState === TargetSocket.CONNECTING) target.terminate();
    });
    target.on('open', () => {
      if (inbound.isOver) return target.terminate();
      inbound.upgrade<Attached>({ joined: this }, target.protocol, context);
      upgraded();
    });
    target.on('message', (message, isBinary) => {
      if (Buffer.isBuffer(message)) this.#toPage(message, isBinary);
    });
    target.on('ping', (message) => {
      this.#idle.refresh();
      this.#page?.ping(message);
    });
    target.on('unexpected-response', (_, { statusCode = 502 }) => {
      refuse(statusCode < 400 ? 502 : statusCode);
      target.terminate();
    });
    target.on('error', () => refuse(502));
    target.on('close', (code, reason) => this.#targetClosed(code, reason));
  }

  /** Breaks both ends off. */
  end(): void {
    this.#target.terminate();
    if (this.#page) this.#page.close();
    else this.#inbound.break();
  }

  opened(page: PageSocket): void {
    this.#page = page;
  }

  fromPage(message: ArrayBuffer, isBinary: boolean): void {
    this.#idle.refresh();
    const bytes = message.byteLength;
    const isBehind = this.#target.bufferedAmount > BEHIND_BYTES_MAX;
    if (isBehind || this.#behind.bytes + bytes > ALL_BEHIND_BYTES_MAX) {
      this.#page?.end(TRY_AGAIN_LATER, 'The target does not read fast enough.');
      return;
    }
    this.#behind.bytes += bytes;
    // The native server reuses the memory of `message`.
    this.#target.send(Buffer.from(Buffer.from(message)), { binary: isBinary }, () => {
      this.#behind.bytes -= bytes;
    });
  }

  drained(): void {
    if (this.#target.isPaused && (this.#page?.getBufferedAmount() ?? 0) < BEHIND_BYTES_MAX)
      this.#target.resume();
  }

  pongFromPage(message: ArrayBuffer): void {
    this.#idle.refresh();
    if (this.#target.readyState === TargetSocket.OPEN) this.#target.pong(Buffer.from(Buffer.from(message)));
  }

  pageClosed(code: number, reason: ArrayBuffer): void {
    this.#page = null;
    if (this.#target.isPaused) this.#target.resume();
    if (code === ABNORMAL) this.#target.terminate();
    else if (code === NO_STATUS || code === 0) this.#target.close();
    else this.#target.close(isSendable(code) ? code : undefined, Buffer.from(Buffer.from(reason)));
    this.#inbound.closed();
  }

  #toPage(message: Buffer, isBinary: boolean): void {
    this.#idle.refresh();
    if (!this.#page) return;
    this.#page.send(message, isBinary);
    if (this.#page.getBufferedAmount() > BEHIND_BYTES_MAX) this.#target.pause();
  }

  #targetClosed(code: number, reason: Buffer): void {
    if (!this.#page) return;
    if (code === ABNORMAL) this.#page.close();
    else if (code === NO_STATUS) this.#page.end();
    else this.#page.end(code, reason);
  }
}

/** @source RFC 6455, section 7.4; https://www.iana.org/assignments/websocket */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_STATUS && code !== ABNORMAL) ||
  (code >= 3000 && code <= 4999);
