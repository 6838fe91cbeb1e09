import { createHash, randomBytes } from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import { present } from '../../protocol/present.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const CONTROL_BYTES_MAX = 125;
const HEADER_BYTES_MAX = 10;
const UPGRADE_BYTES_MAX = 16_384;
const MESSAGE_BYTES_MAX = 64 << 20;
const UINT32 = 2 ** 32;

/** Callbacks of a parser. Payloads are views that are valid until the call returns. */
export interface FrameEvents {
  /** A complete message; `payload` is null while the parser only counts. */
  message(payload: Buffer | null, payloadBytes: number, binary: boolean): void;
  /** A ping, pong or close frame. */
  control(opcode: number, payload: Buffer): void;
  /** The bytes are not a server's WebSocket stream. Nothing is parsed afterwards. */
  broken(reason: string): void;
}

/**
 * Parses what a server sends, in chunks of any size. It either collects the payloads of messages or only counts them, which
 * costs nothing per byte: decoding would dominate the measurement.
 *
 * @source RFC 6455 section 5
 */
export class FrameParser {
  /** Whether payloads of messages are passed on. May change between messages. */
  collecting = true;
  readonly #events: FrameEvents;
  readonly #header = Buffer.alloc(HEADER_BYTES_MAX);
  #headerBytes = 0;
  #headerNeeded = 2;
  /** Missing payload bytes of the current frame; -1 while its header is being read. */
  #left = -1;
  #opcode = 0;
  #fin = false;
  #parts: Buffer[] = [];
  #messageParts: Buffer[] = [];
  #messageBytes = 0;
  #messageOpcode = 0;
  #collects = true;
  #isBroken = false;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (!this.#isBroken) {
      if (this.#left < 0) {
        at = this.#readHeader(chunk, at);
        if (this.#left < 0) return;
      }
      const take = Math.min(this.#left, chunk.length - at);
      const whole = take === this.#left;
      if (take > 0 && (this.#opcode >= OPCODE.close || this.#collects)) {
        const part = chunk.subarray(at, at + take);
        // An incomplete frame must outlive this chunk.
        this.#parts.push(whole && this.#fin && this.#parts.length === 0 ? part : Buffer.from(part));
      }
      at += take;
      this.#left -= take;
      if (!whole) return;
      this.#left = -1;
      this.#endFrame();
    }
  }

  /** Reads header bytes from `at`. @returns where it stopped. When the header is complete, `#left` is the payload's length. */
  #readHeader(chunk: Buffer, from: number): number {
    let at = from;
    const header = this.#header;
    while (at < chunk.length) {
      header[this.#headerBytes] = chunk[at] ?? 0;
      this.#headerBytes += 1;
      at += 1;
      if (this.#headerBytes === 2) {
        const short = (header[1] ?? 0) & 0x7f;
        this.#headerNeeded = short === 126 ? 4 : short === 127 ? HEADER_BYTES_MAX : 2;
      }
      if (this.#headerBytes === this.#headerNeeded) {
        this.#headerBytes = 0;
        this.#headerNeeded = 2;
        this.#beginFrame();
        return at;
      }
    }
    return at;
  }

  #beginFrame(): void {
    const header = this.#header;
    const first = header[0] ?? 0;
    const second = header[1] ?? 0;
    this.#fin = (first & 0x80) !== 0;
    this.#opcode = first & 0x0f;
    const short = second & 0x7f;
    const length =
      short < 126
        ? short
        : short === 126
          ? header.readUInt16BE(2)
          : header.readUInt32BE(2) * UINT32 + header.readUInt32BE(6);
    const fault = this.#faultOf(first, second, length);
    if (fault) {
      this.#break(fault);
      return;
    }
    this.#left = length;
    if (this.#opcode === OPCODE.text || this.#opcode === OPCODE.binary) {
      this.#messageOpcode = this.#opcode;
      this.#messageBytes = 0;
      this.#collects = this.collecting;
    }
    if (this.#opcode < OPCODE.close) this.#messageBytes += length;
  }

  #faultOf(first: number, second: number, length: number): string | null {
    const { continuation, text, binary, close, pong } = OPCODE;
    if ((first & 0x70) !== 0) return 'a reserved bit is set';
    if ((second & 0x80) !== 0) return 'a server frame is masked';
    if (this.#opcode >= close) {
      if (this.#opcode > pong) return 'the opcode is unknown';
      return this.#fin && length <= CONTROL_BYTES_MAX ? null : 'a control frame is long or in pieces';
    }
    if (this.#opcode > binary) return 'the opcode is unknown';
    const inside = this.#messageOpcode !== 0;
    if (inside && (this.#opcode === text || this.#opcode === binary)) return 'a message has no end';
    if (!inside && this.#opcode === continuation) return 'a message has no beginning';
    return this.#messageBytes + length > MESSAGE_BYTES_MAX ? 'a message is too long' : null;
  }

  #endFrame(): void {
    const parts = this.#parts;
    const payload = parts.length === 1 ? present(parts[0]) : Buffer.concat(parts);
    if (parts.length > 0) this.#parts = [];
    if (this.#opcode >= OPCODE.close) {
      this.#events.control(this.#opcode, payload);
      return;
    }
    if (!this.#fin) {
      if (this.#collects) this.#messageParts.push(payload);
      return;
    }
    const binary = this.#messageOpcode === OPCODE.binary;
    this.#messageOpcode = 0;
    if (!this.#collects) {
      this.#events.message(null, this.#messageBytes, binary);
      return;
    }
    const before = this.#messageParts;
    if (before.length > 0) this.#messageParts = [];
    const message = before.length === 0 ? payload : Buffer.concat([...before, payload]);
    this.#events.message(message, this.#messageBytes, binary);
  }

  #break(reason: string): void {
    this.#isBroken = true;
    this.#events.broken(reason);
  }
}

/** A client's frame, masked as servers require. */
export function clientFrame(opcode: number, payload: Uint8Array, mask: Uint8Array = randomBytes(4)): Buffer {
  const { length } = payload;
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + extended + 4 + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) frame.writeUInt16BE(length, 2);
  if (extended === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.set(mask, 2 + extended);
  const at = 6 + extended;
  for (let index = 0; index < length; index += 1)
    frame[at + index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  return frame;
}

interface WireEvents {
  open(): void;
  message(payload: Buffer | null, payloadBytes: number, binary: boolean): void;
  /** Called once at the end. `code` is the close frame's, 1006 without one. */
  closed(code: number, reason: string): void;
}

/** Shared read buffer of all sockets of a thread; parsers copy what they keep. */
const READ_BUFFER = Buffer.allocUnsafeSlow(256 << 10);

/** A WebSocket client with only the features that measuring needs. */
export class WebSocketWire {
  readonly #socket: net.Socket;
  readonly #events: WireEvents;
  readonly #parser: FrameParser;
  readonly #key = randomBytes(16).toString('base64');
  #upgrade: Buffer | null = Buffer.alloc(0);
  #close = { code: 1006, reason: 'The connection was lost.' };
  #isClosed = false;

  /** @param localAddress  Source address, to use the ports of more than one address. */
  constructor(url: URL, events: WireEvents, localAddress?: string) {
    this.#events = events;
    this.#parser = new FrameParser({
      message: (payload, bytes, binary) => events.message(payload, bytes, binary),
      control: (opcode, payload) => this.#control(opcode, payload),
      broken: (reason) => this.#fail(reason),
    });
    const secure = url.protocol === 'wss:';
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = Number(url.port) || (secure ? 443 : 80);
    this.#socket = secure
      ? tls.connect({ host, port, servername: net.isIP(host) ? '' : host })
      : net.connect({
          host,
          port,
          ...(localAddress !== undefined && { localAddress }),
          onread: { buffer: READ_BUFFER, callback: (bytes) => this.#read(READ_BUFFER.subarray(0, bytes)) },
        });
    if (secure) this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.setNoDelay(true);
    this.#socket.once(secure ? 'secureConnect' : 'connect', () => this.#askUpgrade(url));
    this.#socket.on('error', (error) => this.#fail(error.message));
    this.#socket.on('close', () => this.#end());
  }

  set collecting(collecting: boolean) {
    this.#parser.collecting = collecting;
  }

  send(text: string): void {
    if (!this.#isClosed) this.#socket.write(clientFrame(OPCODE.text, Buffer.from(text)));
  }

  sendBinary(payload: Uint8Array): void {
    if (!this.#isClosed) this.#socket.write(clientFrame(OPCODE.binary, payload));
  }

  close(code = 1000): void {
    if (this.#isClosed) return;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#socket.end(clientFrame(OPCODE.close, payload));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause();
  }

  #askUpgrade(url: URL): void {
    this.#socket.write(
      [
        `GET ${url.pathname}${url.search} HTTP/1.1`,
        `Host: ${url.host}`,
        'Upgrade: websocket',
        'Connection: Upgrade',
        `Sec-WebSocket-Key: ${this.#key}`,
        'Sec-WebSocket-Version: 13',
        '\r\n',
      ].join('\r\n'),
    );
  }

  #read(chunk: Buffer): boolean {
    if (this.#upgrade === null) this.#parser.push(chunk);
    else this.#readUpgrade(chunk);
    return true;
  }

  #readUpgrade(chunk: Buffer): void {
    const all = Buffer.concat([present(this.#upgrade), chunk]);
    const end = all.indexOf('\r\n\r\n');
    this.#upgrade = all;
    if (end < 0) {
      if (all.length > UPGRADE_BYTES_MAX) this.#fail('The answer to the upgrade has no end.');
      return;
    }
    const head = all.toString('latin1', 0, end);
    const accept = createHash('sha1')
      .update(this.#key + GUID)
      .digest('base64');
    const accepted = /^sec-websocket-accept:\s*(\S+)\s*$/im.exec(head)?.[1];
    if (!/^HTTP\/1\.1 101 /.test(head) || accepted !== accept) {
      this.#fail(`No upgrade: ${head.split('\r\n', 1)[0]}`);
      return;
    }
    this.#upgrade = null;
    this.#events.open();
    if (all.length > end + 4) this.#parser.push(all.subarray(end + 4));
  }

  #control(opcode: number, payload: Buffer): void {
    if (opcode === OPCODE.ping) this.#socket.write(clientFrame(OPCODE.pong, payload));
    if (opcode !== OPCODE.close) return;
    if (payload.length >= 2)
      this.#close = { code: payload.readUInt16BE(0), reason: payload.toString('utf8', 2) };
    this.#socket.end(clientFrame(OPCODE.close, payload.subarray(0, 2)));
  }

  #fail(reason: string): void {
    this.#close = { code: 1006, reason };
    this.#socket.destroy();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.closed(this.#close.code, this.#close.reason);
  }
}
