import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

/**
 * Runs a program (`$2` and on) in a network and a mount namespace of its own: the only interface is loopback, there is no
 * route, and names are asked of 127.0.0.1 alone (`$1` is put in the place of /etc/resolv.conf).
 */
const SCRIPT =
  'set -e; ip link set lo up; mount --bind "$1" /etc/resolv.conf; shift; exec setpriv --pdeathsig KILL "$@"';

/** The command line with which a program runs in namespaces of its own. Whoever is not root gets a user namespace too. */
export function isolatedCommand(resolvFile, program) {
  const user = process.getuid() === 0 ? [] : ['--map-root-user'];
  return ['unshare', '--net', '--mount', ...user, 'sh', '-c', SCRIPT, 'sh', resolvFile, ...program];
}

/** The interfaces by which packets could leave, out of the kernel's tables of routes (of IPv4, with a title; of IPv6). */
export function interfacesBeyond(routes, routes6) {
  const lines = routes.split('\n').slice(1).filter(Boolean);
  const lines6 = routes6.split('\n').filter(Boolean);
  const names = [
    ...lines.map((line) => line.split('\t')[0]),
    ...lines6.map((line) => line.trim().split(/\s+/).at(-1)),
  ];
  return [...new Set(names)].filter((name) => name !== 'lo');
}

/** Throws where anything but loopback could be reached: before a client is started. */
export async function refuseUnlessIsolated() {
  // Without IPv6 there is no such table.
  const routes6 = await readFile('/proc/net/ipv6_route', 'utf8').catch(() => '');
  const beyond = interfacesBeyond(await readFile('/proc/net/route', 'utf8'), routes6);
  if (beyond.length === 0) return;
  throw new Error(
    `No client is started: this process could reach more than loopback, by ${beyond.join(', ')}.`,
  );
}

const HEADER_BYTES = 12;

/** The name that a DNS query asks for. */
export function askedName(query) {
  const labels = [];
  let at = HEADER_BYTES;
  while (at < query.length && query[at] > 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
    at += 1 + query[at];
  }
  return labels.join('.').toLowerCase();
}

/** Answers every question for a name with "there is no such name", and remembers it. */
export async function openNames() {
  const asked = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    if (query.length < HEADER_BYTES) return;
    asked.push(askedName(query));
    const answer = Buffer.from(query);
    answer.writeUInt16BE(0x81_83, 2);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(53, '127.0.0.1');
  await once(socket, 'listening');
  return { asked, close: () => socket.close() };
}
