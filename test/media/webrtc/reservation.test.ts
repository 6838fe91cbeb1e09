// Goal: the UDP port of browsers is taken while nobody is in a call, and given to the library when a browser comes.
import { afterEach, describe, expect, test } from 'vitest';
import type { PortReservation } from '../../../media/webrtc/ports.ts';
import { reserveUdpPort } from '../../../media/webrtc/reservation.ts';

let reservation: PortReservation;
afterEach(() => reservation.release());

/** Whether another socket can be opened on the port. */
const isFree = (port: number): Promise<boolean> =>
  reserveUdpPort('127.0.0.1', port).then(
    (other) => {
      other.release();
      return true;
    },
    () => false,
  );

describe('the port of browsers', () => {
  test('is taken while it is reserved, as often as it is', async () => {
    reservation = await reserveUdpPort('127.0.0.1');
    const { port } = reservation;
    await expect(reserveUdpPort('127.0.0.1', port)).rejects.toThrow('EADDRINUSE');
    reservation.release();
    reservation.release();
    expect(await isFree(port)).toBe(true);
    reservation.hold();
    reservation.hold();
    expect(await isFree(port)).toBe(false);
  });

  test('stays with another process when it cannot be reserved again', async () => {
    reservation = await reserveUdpPort('127.0.0.1');
    const { port } = reservation;
    reservation.release();
    const other = await reserveUdpPort('127.0.0.1', port);
    reservation.hold();
    await expect(reserveUdpPort('127.0.0.1', port)).rejects.toThrow('EADDRINUSE');
    other.release();
    reservation.hold();
    expect(await isFree(port)).toBe(false);
  });
});
