// Goal: a malformed SDP fragment is at worst rejected, and only checked values of a fragment enter the server's SDP.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFragment, remoteOffer, sessionSdp } from '../../../media/webrtc/sdp.ts';

const FINGERPRINT = `sha-256 ${Array(32).fill('0A').join(':')}`;
const BASE = [
  'a=extmap-allow-mixed',
  'a=ice-ufrag:ab+/',
  `a=ice-pwd:${'x'.repeat(24)}`,
  'a=ice-options:trickle',
  `a=fingerprint:${FINGERPRINT}`,
  'a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level',
  'a=rtpmap:111 opus/48000/2',
];
const fragment = (...more: string[]): string => [...BASE, ...more].join('\n');
const without = (start: string): string => BASE.filter((line) => !line.startsWith(start)).join('\n');

describe('a fragment', () => {
  test('gives the credentials and payload types of a browser', () => {
    const offer = parseFragment(
      fragment('a=rtpmap:96 VP8/90000', 'a=rtpmap:97 rtx/90000', 'a=rtpmap:39 H264/90000'),
    );
    expect(offer).toEqual({
      iceUfrag: 'ab+/',
      icePwd: 'x'.repeat(24),
      fingerprint: FINGERPRINT,
      payloads: [
        { kind: 'audio', browserType: 111, callType: 120 },
        { kind: 'video', browserType: 96, callType: 103 },
        { kind: 'video', browserType: 39, callType: 101 },
        { kind: 'rtx', browserType: 97, callType: 104 },
      ],
    });
  });

  test('is read with either line ending, and maps retransmissions to their streams', () => {
    const text = fragment('a=rtpmap:96 VP8/90000', 'a=rtpmap:98 H264/90000', 'a=rtpmap:99 rtx/90000');
    const types = (sdp: string) => parseFragment(sdp)?.payloads.map(({ callType }) => callType);
    expect(types(text.replaceAll('\n', '\r\n'))).toEqual([120, 103, 101, 104]);
    expect(types(`${text}\na=fmtp:99 apt=98`)).toEqual([120, 103, 101, 102]);
  });

  test.each([
    ['no user fragment', without('a=ice-ufrag')],
    ['no password', without('a=ice-pwd')],
    ['no fingerprint', without('a=fingerprint')],
    ['no Opus', without('a=rtpmap')],
    ['a short password', fragment().replace('x'.repeat(24), 'x'.repeat(21))],
    ['a fingerprint of another length', fragment().replace('0A:0A', '0A')],
    ['a fingerprint by a broken hash', fragment().replace('sha-256', 'sha-1')],
    ['a payload type that RTCP has', fragment().replace('111', '72')],
    ['a line break in a value', fragment().replace('ab+/', 'ab+/\u2028a=x')],
    ['too many lines', fragment(...Array<string>(400).fill('a=x'))],
    ['too many characters', fragment('a'.repeat(16_384))],
    ['nothing', ''],
  ])('is rejected with %s', (_, text) => {
    expect(parseFragment(text)).toBeNull();
  });

  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(...BASE),
    fc
      .tuple(
        fc.constantFrom('a=ice-ufrag:', 'a=ice-pwd:', 'a=fingerprint:sha-256 ', 'a=rtpmap:'),
        fc.string(),
      )
      .map((both) => both.join('')),
    fc
      .tuple(fc.nat(200), fc.constantFrom('opus/48000/2', 'VP8/90000', 'rtx/90000'))
      .map(([type, codec]) => `a=rtpmap:${type} ${codec}`),
    fc.tuple(fc.nat(200), fc.nat(200)).map(([type, apt]) => `a=fmtp:${type} apt=${apt}`),
  );

  test('never throws for any lines, and yields bounded and printable SDP when it is accepted', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), fc.constantFrom('\n', '\r\n', '\r'), (lines, end) => {
        const offer = parseFragment(lines.join(end));
        if (offer === null) return;
        const types = offer.payloads.map(({ browserType }) => browserType);
        expect(new Set(types).size).toBe(types.length);
        expect(types.every((type) => type < 128 && !(type >= 64 && type <= 95))).toBe(true);
        expect(remoteOffer(offer).split('\r\n')).toHaveLength(16);
        expect(remoteOffer(offer)).toMatch(/^[\x20-\x7e\r\n]*$/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the session description', () => {
  const local = [
    'v=0',
    `a=fingerprint:${FINGERPRINT}`,
    'a=ice-ufrag:wxyz',
    `a=ice-pwd:${'y'.repeat(22)}`,
  ].join('\r\n');

  test('contains only the transport of the server', () => {
    expect(sessionSdp(local, '203.0.113.7', 3022)?.split('\n')).toEqual([
      'c=IN IP4 203.0.113.7',
      `a=fingerprint:${FINGERPRINT}`,
      'a=ice-ufrag:wxyz',
      `a=ice-pwd:${'y'.repeat(22)}`,
      'a=candidate:1 1 UDP 2130706431 203.0.113.7 3022 typ host',
    ]);
    expect(sessionSdp(local, '2001:db8::7', 3022)).toContain('c=IN IP6 2001:db8::7');
  });

  test('is null when the local description has no ICE password', () => {
    expect(sessionSdp(local.replace('a=ice-pwd', 'a=other'), '203.0.113.7', 3022)).toBeNull();
  });
});
