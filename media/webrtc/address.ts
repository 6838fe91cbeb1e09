import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** RFC 5737: an address that is nobody's, so that it is routed as any far one is. */
const FAR = '192.0.2.1';
const DISCARD_PORT = 9;

/**
 * The address from which this machine speaks to others, which browsers on it use too; null where it has none beside
 * loopback. Nothing is sent: connecting a UDP socket only asks the system for the route.
 */
export async function machineAddress(): Promise<string | null> {
  const socket = createSocket('udp4');
  try {
    socket.connect(DISCARD_PORT, FAR);
    await once(socket, 'connect');
    return socket.address().address;
  } catch {
    // No route to anywhere: a network without a way out, or none.
    return firstOutward(Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []));
  } finally {
    socket.close();
  }
}

/** The first address that is not loopback, version 4 before 6; link-local ones need a scope that candidates lack. */
export function firstOutward(
  addresses: readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[],
): string | null {
  const usable = addresses.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  return (usable.find(({ family }) => family === 'IPv4') ?? usable[0])?.address ?? null;
}
