// Goal: the UDP port of browsers is reserved while no browser is in a call, and freed for the library when a browser connects.
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
  test('is in use while it is held and free once it is released, however often either is repeated', async () => {
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

  test('is held again only after another socket has released it', async () => {
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
