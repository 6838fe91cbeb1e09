import { isIPv6 } from 'node:net';
import { OPUS_PAYLOAD_TYPE, VIDEO_CODECS } from '../../protocol/voice.ts';

/** The used parts of a browser's SDP fragment. Every string has been validated and is safe in another SDP. */
export interface PeerOffer {
  readonly iceUfrag: string;
  readonly icePwd: string;
  /** Hash name and colon-separated bytes: `sha-256 AB:CD…`. */
  readonly fingerprint: string;
  /** The browser's payload types and their payload types in calls. */
  readonly payloads: readonly PeerPayload[];
}

export interface PeerPayload {
  readonly kind: 'audio' | 'video' | 'rtx';
  /** Payload type in the browser's packets. */
  readonly browserType: number;
  /** Payload type in calls: 120 for Opus, `VIDEO_CODECS` for the others. */
  readonly callType: number;
}

/** A browser's own fragment has 2 to 4 KiB. */
const FRAGMENT_CHARS_MAX = 16_384;
const LINES_MAX = 400;

/** RFC 8839, 5.4: 4 to 256 and 22 to 256 characters of ice-char. */
const UFRAG = /^a=ice-ufrag:([A-Za-z0-9+/]{4,256})$/;
const PWD = /^a=ice-pwd:([A-Za-z0-9+/]{22,256})$/;
const FINGERPRINT = /^a=fingerprint:(sha-(?:256|384|512)) ((?:[0-9A-F]{2}:){31,63}[0-9A-F]{2})$/i;
const RTPMAP = /^a=rtpmap:(\d{1,3}) ([A-Za-z0-9-]{1,16})\/(\d{1,6})(?:\/\d)?$/;
const APT = /^a=fmtp:(\d{1,3}) apt=(\d{1,3})$/;

const HASH_BYTES: Readonly<Record<string, number>> = { 'sha-256': 32, 'sha-384': 48, 'sha-512': 64 };

/**
 * Reads the fragment of op 1: SDP lines without media sections. Never throws.
 *
 * @returns null when it is too large, or lacks what a connection with sound needs.
 */
export function parseFragment(fragment: string): PeerOffer | null {
  if (fragment.length > FRAGMENT_CHARS_MAX) return null;
  const lines = fragment.split(/\r?\n/, LINES_MAX + 1);
  if (lines.length > LINES_MAX) return null;
  const iceUfrag = firstMatch(lines, UFRAG)?.[1];
  const icePwd = firstMatch(lines, PWD)?.[1];
  const fingerprint = fingerprintOf(lines);
  const payloads = payloadsOf(lines);
  if (iceUfrag === undefined || icePwd === undefined || fingerprint === null) return null;
  if (!payloads.some(({ kind }) => kind === 'audio')) return null;
  return { iceUfrag, icePwd, fingerprint, payloads };
}

function firstMatch(lines: readonly string[], pattern: RegExp): RegExpExecArray | null {
  for (const line of lines) {
    const match = pattern.exec(line);
    if (match !== null) return match;
  }
  return null;
}

function fingerprintOf(lines: readonly string[]): string | null {
  const match = firstMatch(lines, FINGERPRINT);
  if (match === null) return null;
  const hash = match[1]!.toLowerCase();
  const bytes = match[2]!.toUpperCase();
  return bytes.length === HASH_BYTES[hash]! * 3 - 1 ? `${hash} ${bytes}` : null;
}

/** Dynamic payload types that cannot be mistaken for RTCP (RFC 5761, 4), and the unassigned range below them. */
const isPayloadType = (type: number): boolean => (type >= 96 && type <= 127) || (type >= 35 && type <= 63);

function payloadsOf(lines: readonly string[]): PeerPayload[] {
  const found = new Map<number, PeerPayload>();
  const retransmissions: number[] = [];
  for (const line of lines) {
    const match = RTPMAP.exec(line);
    if (match === null) continue;
    const browserType = Number(match[1]);
    if (!isPayloadType(browserType) || found.has(browserType)) continue;
    const name = match[2]!.toUpperCase();
    const clock = match[3];
    const video = VIDEO_CODECS.find((codec) => codec.name === name);
    if (name === 'OPUS' && clock === '48000')
      found.set(browserType, { kind: 'audio', browserType, callType: OPUS_PAYLOAD_TYPE });
    else if (video !== undefined && clock === '90000')
      found.set(browserType, { kind: 'video', browserType, callType: video.payloadType });
    else if (name === 'RTX' && clock === '90000') retransmissions.push(browserType);
  }
  return [...found.values(), ...retransmissionsOf(lines, found, retransmissions)];
}

/**
 * Maps retransmission payload types to their codec, which `apt` names. Published clients omit `apt` and send the
 * retransmission line of one codec only; it is then assigned to the first video codec.
 */
function retransmissionsOf(
  lines: readonly string[],
  found: ReadonlyMap<number, PeerPayload>,
  types: readonly number[],
): PeerPayload[] {
  const primaryOf = new Map<number, number>();
  for (const line of lines) {
    const match = APT.exec(line);
    if (match !== null) primaryOf.set(Number(match[1]), Number(match[2]));
  }
  const firstVideo = [...found.values()].find(({ kind }) => kind === 'video');
  return [...new Set(types)].flatMap((browserType) => {
    const primary = primaryOf.has(browserType) ? found.get(primaryOf.get(browserType)!) : firstVideo;
    const codec = VIDEO_CODECS.find(({ payloadType }) => payloadType === primary?.callType);
    if (codec === undefined || found.has(browserType)) return [];
    return [{ kind: 'rtx' as const, browserType, callType: codec.rtxPayloadType }];
  });
}

/**
 * The offer in the form the native library accepts. One section carries all media: with a single track the library passes
 * on every packet whatever its SSRC, so that the browser's SSRCs need not be known beforehand. The browser answers its own
 * offer with `setup:passive` for this side, hence `active` here.
 */
export function remoteOffer(offer: PeerOffer): string {
  const audio = offer.payloads.find(({ kind }) => kind === 'audio')!;
  return lines([
    'v=0',
    'o=- 1 1 IN IP4 0.0.0.0',
    's=-',
    't=0 0',
    'a=group:BUNDLE 0',
    `m=audio 9 UDP/TLS/RTP/SAVPF ${audio.browserType}`,
    'c=IN IP4 0.0.0.0',
    'a=mid:0',
    'a=sendrecv',
    'a=rtcp-mux',
    'a=setup:active',
    `a=ice-ufrag:${offer.iceUfrag}`,
    `a=ice-pwd:${offer.icePwd}`,
    `a=fingerprint:${offer.fingerprint}`,
    `a=rtpmap:${audio.browserType} opus/48000/2`,
  ]);
}

/**
 * The SDP of op 4, made from the native library's local description and the address that browsers reach.
 *
 * @returns null when the description lacks a line, which would be a bug of the library.
 */
export function sessionSdp(localDescription: string, address: string, port: number): string | null {
  const local = localDescription.split(/\r?\n/);
  const wanted = ['a=fingerprint:', 'a=ice-ufrag:', 'a=ice-pwd:'].map((start) =>
    local.find((line) => line.startsWith(start)),
  );
  if (wanted.includes(undefined)) return null;
  return [
    `c=IN ${isIPv6(address) ? 'IP6' : 'IP4'} ${address}`,
    ...wanted,
    // RFC 8445, 5.1.2.1: the priority of the one host candidate, component 1.
    `a=candidate:1 1 UDP 2130706431 ${address} ${port} typ host`,
  ].join('\n');
}

const lines = (all: readonly string[]): string => `${all.join('\r\n')}\r\n`;
