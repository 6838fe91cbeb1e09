// Goal: the readers of what comes over UDP and in SDP answer every input, stay inside it, and are done at once.
import { discoveryRequest, isPing } from '../../media/rtp/discovery.ts';
import { beginsKeyframe } from '../../media/rtp/keyframe.ts';
import { clearHeaderBytes, isRtcp, RtpPacket, readRtp } from '../../media/rtp/packet.ts';
import {
  hasSenderInfo,
  isRemb,
  listedCount,
  listedSsrc,
  mediaSsrc,
  RTCP,
  RtcpPart,
  readRtcp,
  reportAt,
  reportCount,
  writeNack,
  writeReceiverReport,
  writeRemb,
  writeSenderReport,
} from '../../media/rtp/rtcp.ts';
import { parseFragment, remoteOffer, sessionSdp } from '../../media/webrtc/sdp.ts';
import { createTranslation } from '../../media/webrtc/translation.ts';
import { VIDEO_CODECS } from '../../protocol/voice.ts';
import { Random } from './random.ts';
import { type Target, Watch } from './watch.ts';

/** Runs a reader over inputs; an error is reported with the input. */
export function over<T>(
  make: (random: Random) => T,
  read: (input: T, watch: Watch) => void,
  show: (input: T) => string,
) {
  const target: Target = (inputs, seed) => {
    const random = new Random(seed);
    const watch = new Watch();
    while (watch.inputs < inputs) {
      const input = make(random);
      try {
        watch.timeAgain(() => read(input, watch));
      } catch (cause) {
        throw new Error(`It threw for ${show(input)}`, { cause });
      }
    }
    return watch;
  };
  return target;
}

const hex = (bytes: Buffer): string => bytes.toString('hex');

function datagram(random: Random): Buffer {
  const bytes = random.bytes(random.pick([12, 40, 400]));
  if (random.next() < 0.9 && bytes.length > 0) bytes[0] = 0x80 | (bytes[0]! & 0x3f);
  if (random.next() < 0.5 && bytes.length >= 16) bytes.writeUInt16BE(random.below(8), random.pick([2, 14]));
  return bytes;
}

const CODECS = [...VIDEO_CODECS.map(({ name }) => name), 'opus'];
const packet = new RtpPacket();

/** A datagram as it is read before anything is known of its sender. */
export const fuzzRtp = over(
  datagram,
  (bytes, watch) => {
    if (discoveryRequest(bytes, bytes.length) >= 0 || isPing(bytes, bytes.length)) watch.count('asks');
    const headerBytes = clearHeaderBytes(bytes, bytes.length);
    if (headerBytes < 0) return;
    const isRead = readRtp(packet, bytes, headerBytes, bytes, headerBytes, bytes.length);
    watch.count(isRead ? 'read' : 'refused');
    if (!isRead) return;
    const { payloadStart: start, payloadEnd: end } = packet;
    if (start < headerBytes || start > end || end > bytes.length)
      throw new Error('The payload lies outside.');
    for (const codec of CODECS) if (beginsKeyframe(codec, bytes, start, end)) watch.count(`${codec} begins`);
  },
  hex,
);

/** Compounds whose parts name types, counts and lengths of every kind. */
function compound(random: Random): Buffer {
  const parts = Array.from({ length: 1 + random.below(4) }, () => {
    const part = Buffer.concat([
      Buffer.of(0x80 | random.below(32), 200 + random.below(7), 0, 0),
      random.bytes(60),
    ]);
    part.writeUInt16BE(random.next() < 0.8 ? (part.length >> 2) - 1 : random.below(40), 2);
    if (random.next() < 0.3 && part.length >= 17) part.writeUInt32BE(0x5245_4d42, 12);
    return part.subarray(0, part.length & ~3);
  });
  const bytes = Buffer.concat(parts);
  return random.next() < 0.5 ? bytes : random.mangled(bytes);
}

const part = new RtcpPart();
const scratch = Buffer.alloc(2048);

export const fuzzRtcp = over(
  compound,
  (bytes, watch) => {
    if (bytes.length > 1) isRtcp(bytes);
    for (let at = 0; readRtcp(part, bytes, at, bytes.length); at = part.end) {
      watch.count(part.type >= RTCP.SR && part.type <= RTCP.PSFB ? part.type : 'another');
      if (part.end <= at || part.end > bytes.length) throw new Error('A part lies outside.');
      mediaSsrc(part, bytes);
      for (let index = listedCount(part, bytes) - 1; index >= 0; index -= 1) listedSsrc(part, bytes, index);
      if (part.type === RTCP.SR && hasSenderInfo(part))
        writeSenderReport(scratch, 0, bytes, part, 1, 2 ** 31);
      if (part.type === RTCP.SR || part.type === RTCP.RR)
        for (let index = reportCount(part) - 1; index >= 0; index -= 1)
          writeReceiverReport(scratch, 0, bytes, reportAt(part, index), 1, 2, 3);
      if (part.type === RTCP.RTPFB) writeNack(scratch, 0, bytes, part, 1, 2, 3);
      if (isRemb(part, bytes)) writeRemb(scratch, 0, bytes, part, 1, 2);
    }
  },
  hex,
);

const LINES = [
  'a=ice-ufrag:abcd',
  `a=ice-pwd:${'p'.repeat(22)}`,
  `a=fingerprint:sha-256 ${Array(32).fill('AB').join(':')}`,
  `a=fingerprint:sha-512 ${Array(32).fill('AB').join(':')}`,
  'a=rtpmap:111 opus/48000/2',
  'a=rtpmap:96 VP8/90000',
  'a=rtpmap:97 rtx/90000',
  'a=rtpmap:98 H264/90000',
  'a=rtpmap:99 rtx/90000',
  'a=fmtp:97 apt=96',
  'a=fmtp:99 apt=98',
  'a=extmap-allow-mixed',
  'a=candidate:1 1 UDP 1 0.0.0.0 9 typ host',
  'v=0',
  '',
];
const CHARS = ['\r', '\n', '\0', ':', ' ', '=', '9', 'é', '😀', '\ud800'];

function fragment(random: Random): string {
  const first = random.next() < 0.5 ? LINES.slice(0, 5) : [];
  const lines = [...first, ...Array.from({ length: random.below(12) }, () => random.pick(LINES))];
  let text = lines.join(random.pick(['\n', '\r\n']));
  for (let edits = random.below(4); edits > 0; edits -= 1) {
    const at = random.below(text.length + 1);
    text = text.slice(0, at) + random.pick(CHARS) + text.slice(at + random.below(3));
  }
  return random.next() < 0.002 ? text.repeat(200) : text;
}

/** Nothing else may stand in an SDP of ours that is made of what a client has sent. */
const OFFER_LINE = /^[a-z]=[A-Za-z0-9 .:/+=-]*$/;

/** A fragment, the description that is made of it, and one that a server's own would be taken for. */
export const fuzzSdp = over(
  fragment,
  (text, watch) => {
    const offer = parseFragment(text);
    watch.count(offer === null ? 'refused' : 'read');
    sessionSdp(text, '192.0.2.1', 3022);
    if (offer === null) return;
    const lines = remoteOffer(offer).split('\r\n').slice(0, -1);
    if (lines.length !== 15 || !lines.every((line) => OFFER_LINE.test(line)))
      throw new Error('What was not checked has got into the offer.');
  },
  (text) => JSON.stringify(text),
);

const OFFER = parseFragment(LINES.slice(0, 11).join('\n'))!;
const STREAMS = [
  { ssrc: 11, rtxSsrc: 12 },
  { ssrc: 13, rtxSsrc: 14 },
];
const translation = createTranslation(10, STREAMS, OFFER);

/** Packets between a browser and the server inside their encrypted connection. */
export const fuzzPeer = over(
  (random) => {
    if (random.next() < 0.5) return compound(random);
    const bytes = datagram(random);
    if (bytes.length > 12) bytes[1] = random.pick([111, 96, 97, 98, 99, 120, bytes[1]!]);
    return bytes;
  },
  (bytes, watch) => {
    const copy = Buffer.from(bytes);
    watch.count(translation.inbound(copy) ? 'in' : 'not in');
    const isMedia = copy.length >= 12 && !isRtcp(copy);
    if (isMedia && !copy.equals(bytes) && ![10, 11, 12, 13, 14].includes(copy.readUInt32BE(8)))
      throw new Error('An SSRC that is not the member’s.');
    watch.count(translation.outbound(bytes) ? 'out' : 'not out');
  },
  hex,
);
