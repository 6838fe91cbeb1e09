// Goal: `voice_webrtc_address: auto` finds an address that a browser on this machine sends calls to.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { firstOutward, machineAddress } from '../../../media/webrtc/address.ts';

const of = (address: string, internal = false) => ({
  address,
  internal,
  family: isIP(address) === 4 ? ('IPv4' as const) : ('IPv6' as const),
});

describe('the address of a machine without a route outwards', () => {
  test.each([
    ['IPv4 before IPv6', [of('2001:db8::1'), of('192.0.2.7')], '192.0.2.7'],
    ['IPv6 when there is no IPv4', [of('fe80::1'), of('2001:db8::1')], '2001:db8::1'],
    ['null with loopback addresses only', [of('127.0.0.1', true), of('::1', true)], null],
    ['null with loopback and link-local addresses only', [of('127.0.0.1', true), of('fe80::1')], null],
  ])('is %s', (_, addresses, found) => {
    expect(firstOutward(addresses)).toBe(found);
  });
});

test('the address of this machine is one of its own and not loopback, or null', async () => {
  const outward = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).filter((one) => !one.internal),
  );
  const found = await machineAddress();
  if (found === null) expect(outward.filter(({ address }) => !address.startsWith('fe80'))).toEqual([]);
  else expect(outward.map(({ address }) => address)).toContain(found);
});
