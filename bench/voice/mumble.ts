import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { VoiceClient } from './client.ts';
import { Ocb2Sealer } from './ocb2.ts';

/** Where Debian's package mumble-server puts the server. */
const PROGRAM = process.env.BENCH_MURMURD ?? '/usr/sbin/murmurd';
const HOST = '127.0.0.1';
const START_MS = 15_000;
const RETRY_MS = 100;

export const hasMumble = existsSync(PROGRAM);

/** Starts mumble-server on a free port of loopback, with a new database and without limits that the load would reach. */
export async function startMumble(users: number): Promise<{ readonly pid: number; readonly port: number }> {
  const probe = createServer().listen(0, HOST);
  await once(probe, 'listening');
  const address = probe.address();
  if (address === null || typeof address === 'string') throw new Error('There is no free port.');
  const { port } = address;
  probe.close();
  await once(probe, 'close');
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-mumble-'));
  // Started by root, it runs as a user of its own.
  chmodSync(folder, 0o777);
  const settings = [
    `database=${join(folder, 'server.sqlite')}`,
    `logfile=${join(folder, 'server.log')}`,
    `host=${HOST}`,
    `port=${port}`,
    `users=${users + 10}`,
    'bandwidth=100000000',
    'autobanAttempts=0',
    'opusthreshold=0',
    'ice=',
  ];
  const file = join(folder, 'server.ini');
  writeFileSync(file, `${settings.join('\n')}\n`);
  const child: ChildProcess = spawn(PROGRAM, ['-fg', '-ini', file], { stdio: 'ignore' });
  process.on('exit', () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const lateMs = Date.now() + START_MS;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || Date.now() > lateMs) throw new Error('mumble-server does not start.');
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  return { pid: child.pid ?? 0, port };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ host: HOST, port, rejectUnauthorized: false });
  socket.on('error', () => {});
  const isOpen = await Promise.race([
    once(socket, 'secureConnect').then(
      () => true,
      () => false,
    ),
    once(socket, 'close').then(() => false),
  ]);
  socket.destroy();
  return isOpen;
}

const VERSION = 0;
const AUTHENTICATE = 2;
const PING = 3;
const SERVER_SYNC = 5;
const CRYPT_SETUP = 15;
const PING_MS = 10_000;
const UDP_PING = 0x20;
const OPUS = 0x80;
const RECEIVE_BUFFER_BYTES = 4 << 20;
/** Answers to pings are shorter than any packet of sound. */
const SOUND_BYTES_MIN = 20;

/** Protocol Buffers: a field of bytes, and one of a number below 128 or a varint. */
const bytesField = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
function numberField(field: number, value: number): Buffer {
  const bytes = [field << 3];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

/** The fields of bytes that are shorter than 128, by number. */
function fieldsOf(message: Buffer): Map<number, Buffer> {
  const fields = new Map<number, Buffer>();
  let at = 0;
  while (at < message.length) {
    const tag = message[at] ?? 0;
    at += 1;
    if ((tag & 7) !== 2) return fields;
    const length = message[at] ?? 0;
    fields.set(tag >> 3, message.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return fields;
}

/** Numbers in the voice channel's own encoding. */
function varint(value: number): Buffer {
  if (value < 0x80) return Buffer.from([value]);
  if (value < 0x4000) return Buffer.from([0x80 | (value >> 8), value & 0xff]);
  return Buffer.from([0xc0 | (value >> 16), (value >> 8) & 0xff, value & 0xff]);
}

/**
 * A client of mumble-server, by its public protocol: TLS for the session and its key, then encrypted UDP. It counts what it
 * receives and decrypts none of it.
 */
export class MumbleClient implements VoiceClient {
  onPacket: (ssrc: number, sequence: number, bytes: number) => void = () => {};
  readonly ssrc: number;
  readonly #control: TLSSocket;
  readonly #udp: Socket;
  #sealer: Ocb2Sealer | null = null;
  #sequence = 0;
  #unread = Buffer.alloc(0);
  #synced = (): void => {};

  static async open(port: number, ssrc: number): Promise<MumbleClient> {
    const control = connect({ host: HOST, port, rejectUnauthorized: false });
    await once(control, 'secureConnect');
    const udp = createSocket('udp4');
    udp.connect(port, HOST);
    await once(udp, 'connect');
    udp.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
    const client = new MumbleClient(control, udp, ssrc);
    await client.#signIn();
    return client;
  }

  private constructor(control: TLSSocket, udp: Socket, ssrc: number) {
    this.#control = control;
    this.#udp = udp;
    this.ssrc = ssrc;
    control.on('data', (bytes) => this.#read(bytes));
    control.on('error', () => {});
    udp.on('error', () => {});
    udp.on('message', ({ length }) => {
      if (length >= SOUND_BYTES_MIN) this.onPacket(this.ssrc, 0, length);
    });
  }

  async #signIn(): Promise<void> {
    const synced = new Promise<void>((resolve) => {
      this.#synced = resolve;
    });
    this.#tell(VERSION, numberField(1, 0x010304));
    this.#tell(
      AUTHENTICATE,
      Buffer.concat([bytesField(1, Buffer.from(`bench-${this.ssrc}`)), numberField(5, 1)]),
    );
    await synced;
    setInterval(() => this.#tell(PING, Buffer.alloc(0)), PING_MS).unref();
    // The server learns the address from the first packet that it can decrypt.
    this.#send(Buffer.concat([Buffer.from([UDP_PING]), varint(1)]));
  }

  #tell(type: number, message: Buffer): void {
    const header = Buffer.alloc(6);
    header.writeUInt16BE(type, 0);
    header.writeUInt32BE(message.length, 2);
    this.#control.write(Buffer.concat([header, message]));
  }

  #read(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length >= 6) {
      const type = this.#unread.readUInt16BE(0);
      const end = 6 + this.#unread.readUInt32BE(2);
      if (this.#unread.length < end) return;
      this.#receive(type, this.#unread.subarray(6, end));
      this.#unread = this.#unread.subarray(end);
    }
  }

  #receive(type: number, message: Buffer): void {
    const fields = fieldsOf(message);
    const [key, nonce] = [fields.get(1), fields.get(2)];
    if (type === CRYPT_SETUP && key && nonce) this.#sealer = new Ocb2Sealer(key, nonce);
    else if (type === SERVER_SYNC) this.#synced();
  }

  get sequence(): number {
    return this.#sequence;
  }

  say(payload: Buffer): void {
    const sequence = varint(this.#sequence);
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#send(Buffer.concat([Buffer.from([OPUS]), sequence, varint(payload.length), payload]));
  }

  #send(plain: Buffer): void {
    if (this.#sealer) this.#udp.send(this.#sealer.seal(plain));
  }

  close(): void {
    this.#control.destroy();
    this.#udp.close();
  }
}
