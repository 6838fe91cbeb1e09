import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { PortReservation } from './ports.ts';

/**
 * Listens on the UDP port for browsers while the native library does not, which listens only while there are peers:
 * another server that starts meanwhile finds the port taken. The library also needs a definite port; 0 picks a free one
 * here.
 *
 * @throws the system's error, such as EADDRINUSE.
 */
export async function reserveUdpPort(bindAddress: string, wanted = 0): Promise<PortReservation> {
  const open = (port: number): Socket => {
    const socket = createSocket(isIPv6(bindAddress) ? 'udp6' : 'udp4');
    socket.bind({ address: bindAddress, port, exclusive: true });
    return socket;
  };
  const first = open(wanted);
  try {
    await once(first, 'listening');
  } catch (error) {
    first.close();
    throw error;
  }
  const { port } = first.address();
  let held: Socket | null = first;
  return {
    port,
    hold() {
      if (held !== null) return;
      const socket = open(port);
      held = socket;
      // The library may not have freed the port yet; it then keeps the port and uses it for the next browser.
      socket.on('error', () => {
        if (held !== socket) return;
        held = null;
        socket.close();
      });
    },
    release() {
      held?.close();
      held = null;
    },
  };
}
