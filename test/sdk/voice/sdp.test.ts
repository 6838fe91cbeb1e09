// Goal: the page's part of SDP fits the server's: what one writes, the other reads.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseFragment, sessionSdp } from '../../../media/webrtc/sdp.ts';
import { answerTo, fragmentOf, midsOf } from '../../../sdk/voice/sdp.ts';

const FINGERPRINT = `sha-256 ${Array(32).fill('0A').join(':')}`;
const section = (mid: string) => [
  'm=audio 9 UDP/TLS/RTP/SAVPF 111 63',
  'a=ice-ufrag:abcd',
  `a=ice-pwd:${'x'.repeat(24)}`,
  `a=fingerprint:${FINGERPRINT}`,
  `a=mid:${mid}`,
  'a=rtpmap:111 opus/48000/2',
  'a=rtpmap:63 red/48000/2',
];
const OFFER = [
  'v=0',
  's=-',
  'a=extmap-allow-mixed',
  ...section('0'),
  ...section('1'),
  ...section('x'),
  '',
].join('\r\n');
const LOCAL = ['a=ice-ufrag:wxyz', `a=ice-pwd:${'y'.repeat(22)}`, `a=fingerprint:${FINGERPRINT}`].join(
  '\r\n',
);
const SESSION = sessionSdp(LOCAL, '203.0.113.7', 3022)!;

test('a fragment has every line once, and is what the server wants', () => {
  const fragment = fragmentOf(OFFER);
  expect(fragment.split('\n')).toEqual([
    'a=extmap-allow-mixed',
    'a=ice-ufrag:abcd',
    `a=ice-pwd:${'x'.repeat(24)}`,
    `a=fingerprint:${FINGERPRINT}`,
    'a=rtpmap:111 opus/48000/2',
  ]);
  expect(parseFragment(fragment)?.payloads).toEqual([{ kind: 'audio', browserType: 111, callType: 120 }]);
});

test('an answer has the sections of the offer, in its order, and one transport', () => {
  const answer = answerTo(OFFER, SESSION, [
    { mid: '0', sends: true, ssrc: null },
    { mid: 'x', sends: false, ssrc: 77 },
  ]);
  expect(midsOf(answer)).toEqual(['0', '1', 'x']);
  expect(answer).toContain('a=group:BUNDLE 0 1 x\r\n');
  expect(answer.match(/^a=(recvonly|sendonly)/gm)).toEqual(['a=recvonly', 'a=sendonly', 'a=sendonly']);
  expect(answer.match(/^a=ssrc:.*/gm)).toEqual(['a=ssrc:77 cname:s77']);
  expect(answer.match(/^a=candidate:.*/gm)).toHaveLength(3);
  expect(answer.match(/^a=setup:passive/gm)).toHaveLength(3);
  expect(answer.match(/^c=.*/gm)).toEqual(Array(3).fill('c=IN IP4 203.0.113.7'));
});

test('no text throws', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (offer, session) => {
      fragmentOf(offer);
      expect(answerTo(offer, session, [])).toMatch(/^v=0\r\n/);
    }),
  );
});
