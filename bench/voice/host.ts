import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createMediaPlane } from '../../media/io/plane.ts';
import { nowNs } from '../wire/pace.ts';
import type { ContenderName, HostNews, HostOrder, Seat } from './orders.ts';

const say = (news: HostNews): void => void process.send?.(news);
const HOST = '127.0.0.1';

/** Sends each packet to all known addresses but its sender's: the cost of the transport alone. */
async function openPlain(members: number): Promise<void> {
  const socket = createSocket('udp4');
  const known = new Map<number, true>();
  socket.on('message', (packet, { port: from }) => {
    if (!known.has(from)) known.set(from, true);
    for (const port of known.keys()) if (port !== from) socket.send(packet, port, HOST);
  });
  socket.bind(0, HOST);
  await once(socket, 'listening');
  const seats = Array.from({ length: members }, (_, index) => ({ ssrc: index + 1, key: '' }));
  say({ kind: 'opened', port: socket.address().port, seal: 'plain', seats });
}

/** The server's own media plane in this thread, without signalling. */
async function openPlane(name: ContenderName, members: number): Promise<void> {
  const mode = name === 'guildhall-aes' ? 'aead_aes256_gcm_rtpsize' : 'aead_xchacha20_poly1305_rtpsize';
  const plane = await createMediaPlane({
    host: HOST,
    port: 0,
    externalAddress: null,
    workers: 0,
    peers: null,
    onFault: (error) => {
      throw error;
    },
  });
  const room = plane.open('bench', () => {});
  const seats = Array.from({ length: members }, (_, index): Seat => {
    const { ssrc } = room.join({ userId: String(index), layers: [] });
    const key = randomBytes(32);
    room.setGate(ssrc, { speaks: true, streams: false, hears: true });
    room.connectUdp(ssrc, { mode, key });
    return { ssrc, key: key.toString('hex') };
  });
  say({ kind: 'opened', port: room.address.port, seal: mode, seats });
}

let cpu = process.cpuUsage();
let sinceNs = nowNs();
process.on('message', (order: HostOrder) => {
  if (order.kind === 'open') {
    const { contender, members } = order;
    void (contender === 'dgram' ? openPlain(members) : openPlane(contender, members));
  } else if (order.kind === 'begin') {
    cpu = process.cpuUsage();
    sinceNs = nowNs();
  } else {
    const { user, system } = process.cpuUsage(cpu);
    say({ kind: 'ended', cpuMicros: user + system, wallMicros: (nowNs() - sinceNs) / 1000 });
  }
});
process.on('disconnect', () => process.exit());
