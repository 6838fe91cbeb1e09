// Goal: a user of a call without sound reads what is wrong and what to do, for each cause that a page can detect.
import { expect, test } from 'vitest';
import { type ReachFacts, whyUnreached } from '../../../../sdk/call/browser/reach.ts';

const sdp = (address: string): string =>
  `c=IN IP4 ${address}\na=ice-ufrag:abcd\na=candidate:1 1 UDP 2130706431 ${address} 3022 typ host`;

const HERE: ReachFacts = {
  session: sdp('127.0.0.1'),
  pageHost: '127.0.0.1',
  isFirefox: false,
  localCandidates: 2,
  pairs: 1,
};

test.each<[string, Partial<ReachFacts>, RegExp]>([
  ['no description came', { session: null }, /has not said where.*log of the server/],
  ['the description has no address', { session: 'c=IN IP4 0.0.0.0' }, /has not said where/],
  [
    'a server on loopback serves a page of another machine',
    { pageHost: 'chat.example.org' },
    /127\.0\.0\.1 for sound, which is this device and not the server.*external_address/,
  ],
  ['WebRTC is turned off', { localCandidates: 0, pairs: 0 }, /no network address.*allow WebRTC/],
  [
    'Firefox receives the candidate 127.0.0.1',
    { isFirefox: true, pairs: 0 },
    /Firefox sends no calls to 127\.0\.0\.1.*--voice-address auto.*UDP port 3022/,
  ],
  ['packets vanish on this machine', {}, /Nothing came back from 127\.0\.0\.1, UDP port 3022/],
  [
    'Firefox sends, and receives nothing',
    { isFirefox: true, session: sdp('203.0.113.7'), pageHost: 'chat.example.org' },
    /Nothing came back from 203\.0\.113\.7, UDP port 3022.*Let UDP port 3022 through.*external_address/,
  ],
  ['the address is of version 6', { session: sdp('::1'), pageHost: 'localhost' }, /from ::1, UDP port 3022/],
])('the page explains when %s', (_, changes, sentence) => {
  expect(whyUnreached({ ...HERE, ...changes })).toMatch(sentence);
});
