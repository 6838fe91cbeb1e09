import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { openSocket } from '../../media/io/opensocket.ts';
import { createMediaPlane, type RunningMediaPlane } from '../../media/io/plane.ts';
import type { MediaSocket } from '../../media/io/udp.ts';
import type { MediaRoom } from '../../media/plane.ts';
import type { Endpoint } from '../../media/sfu/ports.ts';
import { present } from '../../protocol/present.ts';
import type { TransportMode } from '../../protocol/voice.ts';
import { nowNs } from '../wire/pace.ts';
import { startMumble } from './mumble.ts';
import type { ContenderName, HostNews, HostOrder, Seat, Size } from './orders.ts';

const say = (news: HostNews): void => void process.send?.(news);
const HOST = '127.0.0.1';

/** The calls of a plain contender: who is in the call of the sender of a packet. */
class PlainCalls<A> {
  readonly #calls = new Map<number, Map<number, A>>();
  readonly #members: number;

  constructor({ members }: Size) {
    this.#members = members;
  }

  /** Addresses of the sender's call by port, its own included. */
  of(packet: Buffer, port: number, address: A): Map<number, A> {
    const call = Math.floor((packet.readUInt32BE(8) - 1) / this.#members);
    let known = this.#calls.get(call);
    if (!known) {
      known = new Map();
      this.#calls.set(call, known);
    }
    if (!known.has(port)) known.set(port, address);
    return known;
  }
}

const plainSeats = ({ calls, members }: Size): Seat[] =>
  Array.from({ length: calls * members }, (_, index) => ({ ssrc: index + 1, key: '' }));

/** Sends each packet to all known addresses of its call but its sender's: the cost of the transport alone. */
async function openDgram(size: Size): Promise<void> {
  const socket = createSocket('udp4');
  const calls = new PlainCalls<true>(size);
  socket.on('message', (packet, { port: from }) => {
    for (const port of calls.of(packet, from, true).keys())
      if (port !== from) socket.send(packet, port, HOST);
  });
  socket.bind(0, HOST);
  await once(socket, 'listening');
  say({ kind: 'opened', port: socket.address().port, seal: 'plain', seats: plainSeats(size) });
}

/** Receives packets in batches of the addon. */
async function openNative(size: Size): Promise<void> {
  const calls = new PlainCalls<Endpoint>(size);
  const nothing = Buffer.alloc(0);
  let socket: MediaSocket | null = null;
  socket = await openSocket(
    { host: HOST, port: 0, isNative: true },
    {
      datagram: (bytes, length, from) => {
        socket?.setBody(bytes.subarray(0, length));
        for (const [port, to] of calls.of(bytes, from.port, from))
          if (port !== from.port) socket?.sendUdp(to, null, nothing, 0);
      },
      settled: () => socket?.flush(),
    },
  );
  if (socket.sender.kind !== 'native') throw new Error(`There is no addon: ${socket.sender.reason}`);
  say({ kind: 'opened', port: socket.port, seal: 'plain', seats: plainSeats(size) });
}

let plane: RunningMediaPlane | null = null;

/** Opens a call whose members all speak and hear. */
function openCall(plane: RunningMediaPlane, callId: string, members: number, mode: TransportMode) {
  const room = plane.open(callId, () => {});
  const seats: Seat[] = [];
  for (let member = 0; member < members; member += 1) {
    const { ssrc } = room.join({ userId: String(member), layers: [] });
    const key = randomBytes(32);
    room.setGate(ssrc, { speaks: true, streams: false, receives: true });
    room.connectUdp(ssrc, { mode, key });
    seats.push({ ssrc, key: key.toString('hex') });
  }
  return { room, seats };
}

/** The server's own media plane in this thread, without signalling. */
async function openPlane(name: ContenderName, { calls, members }: Size): Promise<void> {
  const mode = name.includes('aes') ? 'aead_aes256_gcm_rtpsize' : 'aead_xchacha20_poly1305_rtpsize';
  plane = await createMediaPlane({
    host: HOST,
    port: 0,
    externalAddress: null,
    workers: 0,
    isNative: !name.endsWith('-dgram'),
    peers: null,
    onFault: (error) => {
      throw error;
    },
  });
  const seats: Seat[] = [];
  let port = 0;
  for (let call = 0; call < calls; call += 1) {
    const opened = openCall(plane, `bench ${call}`, members, mode);
    port = opened.room.address.port;
    seats.push(...opened.seats);
  }
  say({ kind: 'opened', port, seal: mode, seats });
}

/** Opens and closes calls beside those that are measured, so that what a call leaves behind is seen. */
function churn({ members }: Size): void {
  let last: MediaRoom | null = null;
  let calls = 0;
  setInterval(() => {
    last?.close();
    calls += 1;
    last = openCall(present(plane), `brief ${calls}`, members, 'aead_aes256_gcm_rtpsize').room;
  }, 1000);
}

function weigh(): void {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  say({ kind: 'weighed', rssBytes: rss, heapBytes: heapUsed });
}

let mumblePid: number | null = null;

/** mumble-server in a process of its own, as a child of this one. */
async function openMumble(size: Size): Promise<void> {
  const { pid, port } = await startMumble(size.members);
  mumblePid = pid;
  say({ kind: 'opened', port, seal: 'mumble', seats: plainSeats(size) });
}

function open(contender: ContenderName, size: Size): Promise<void> {
  if (contender === 'dgram') return openDgram(size);
  if (contender === 'native') return openNative(size);
  return contender === 'mumble' ? openMumble(size) : openPlane(contender, size);
}

/** CPU of all threads of the measured process. */
function cpuMicros(): number {
  if (mumblePid === null) {
    const { user, system } = process.cpuUsage();
    return user + system;
  }
  const folder = `/proc/${mumblePid}/task`;
  const nanos = readdirSync(folder).map((task) =>
    Number(readFileSync(`${folder}/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanos.reduce((sum, each) => sum + each, 0) / 1000;
}

let cpu = 0;
let sinceNs = nowNs();
process.on('message', (order: HostOrder) => {
  if (order.kind === 'open') void open(order.contender, order.size);
  else if (order.kind === 'begin') {
    cpu = cpuMicros();
    sinceNs = nowNs();
  } else if (order.kind === 'churn') churn(order.size);
  else if (order.kind === 'weigh') weigh();
  else say({ kind: 'ended', cpuMicros: cpuMicros() - cpu, wallMicros: (nowNs() - sinceNs) / 1000 });
});
process.on('disconnect', () => process.exit());
// Leaves no server behind that this process has started.
process.on('SIGTERM', () => process.exit());
