// Goal: no address of a private, local or special network passes for a public one, in any spelling.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPublicAddress } from '../../../transports/outgoing/address.ts';

describe('an address', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    '',
    'example.org',
    '127.1',
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '::8.8.8.8',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
    'fec0::1',
    'ff02::1',
  ])('%s is not', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  const SPECIAL = [
    [0x00000000, 8],
    [0x0a000000, 8],
    [0x64400000, 10],
    [0x7f000000, 8],
    [0xa9fe0000, 16],
    [0xac100000, 12],
    [0xc0000000, 24],
    [0xc0000200, 24],
    [0xc0586300, 24],
    [0xc0a80000, 16],
    [0xc6120000, 15],
    [0xc6336400, 24],
    [0xcb007100, 24],
    [0xe0000000, 3],
  ] as const;
  const dotted = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

  test('is public in IPv4 exactly when it is in none of the special networks, by arithmetic', () => {
    const anywhere = fc.nat(0xffffffff);
    const within = fc
      .tuple(fc.constantFrom(...SPECIAL), fc.nat(0xffffffff))
      .map(([[net, bits], low]) => (net | (low >>> bits)) >>> 0);
    fc.assert(
      fc.property(fc.oneof(anywhere, within), (value) => {
        const special = SPECIAL.some(([net, bits]) => value >>> (32 - bits) === net >>> (32 - bits));
        expect(isPublicAddress(dotted(value))).toBe(!special);
      }),
    );
  });

  test('is never public in IPv6 when it is outside of 2000::/3, or carries an address of IPv4', () => {
    const group = fc.nat(0xffff).map((value) => value.toString(16));
    fc.assert(
      fc.property(fc.array(group, { minLength: 7, maxLength: 7 }), fc.nat(0xffff), (rest, first) => {
        const address = [first.toString(16), ...rest].join(':');
        if (first >>> 13 !== 1) expect(isPublicAddress(address)).toBe(false);
        expect(isPublicAddress(`::ffff:${rest[0]}:${rest[1]}`)).toBe(false);
        expect(isPublicAddress(`2002:${rest.join(':')}`)).toBe(false);
      }),
    );
  });

  test('is not public when it is no address', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (!/^[\d.]+$|:/.test(text)) expect(isPublicAddress(text)).toBe(false);
      }),
    );
  });
});
