import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** A documentation address (RFC 5737), routed like any remote address. */
const FAR = '192.0.2.1';
const DISCARD_PORT = 9;

/**
 * The address from which this machine reaches others, which browsers on it use too; null if it has only loopback
 * addresses. Nothing is sent: connecting a UDP socket only looks up the route.
 */
export async function machineAddress(): Promise<string | null> {
  const socket = createSocket('udp4');
  try {
    socket.connect(DISCARD_PORT, FAR);
    await once(socket, 'connect');
    return socket.address().address;
  } catch {
    // No route to a remote address: a network without a gateway, or no network.
    return firstOutward(Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []));
  } finally {
    socket.close();
  }
}

/** The first address that is not loopback, IPv4 before IPv6. Skips link-local ones: candidates cannot carry their scope. */
export function firstOutward(
  addresses: readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[],
): string | null {
  const usable = addresses.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  return (usable.find(({ family }) => family === 'IPv4') ?? usable[0])?.address ?? null;
}
