import { isRtcp, RTP_HEADER_BYTES } from '../rtp/packet.ts';
import type { PeerStream } from './ports.ts';
import type { PeerOffer, PeerPayload } from './sdp.ts';

/**
 * Translates the SSRCs and payload types of a browser's packets to those of the call, and back. Changes the given packets in
 * place; all of them are untrusted. Header extensions, padding and payloads stay unchanged.
 */
export interface Translation {
  /** Translates a packet from the browser. @returns whether the packet may be passed on. */
  inbound(packet: Buffer): boolean;
  /** Translates a packet to the browser. @returns whether the browser can use the packet. */
  outbound(packet: Buffer): boolean;
}

/** One of the member's SSRCs in the call, and the browser's SSRC for it; null before its first packet. */
interface Slot {
  readonly ssrc: number;
  browserSsrc: number | null;
}

const RTCP = { SR: 200, RR: 201, BYE: 203, RTPFB: 205, PSFB: 206 } as const;
/** Formats of payload-specific feedback that list SSRCs: full intra request (RFC 5104) and REMB. */
const PSFB_FIR = 4;
const PSFB_REMB = 15;

export function createTranslation(
  ssrc: number,
  streams: readonly PeerStream[],
  offer: PeerOffer,
): Translation {
  const slots: Record<PeerPayload['kind'], Slot[]> = {
    audio: [{ ssrc, browserSsrc: null }],
    video: streams.map((stream) => ({ ssrc: stream.ssrc, browserSsrc: null })),
    rtx: streams.map((stream) => ({ ssrc: stream.rtxSsrc, browserSsrc: null })),
  };
  const all = [...slots.audio, ...slots.video, ...slots.rtx];
  const fromBrowser = new Map(offer.payloads.map((payload) => [payload.browserType, payload]));
  /** If the browser has several payload types for one codec, as for profiles of H264, the first of them is used. */
  const toBrowser = new Map([...offer.payloads].reverse().map((each) => [each.callType, each.browserType]));
  const ours = (browserSsrc: number): number => all.find((s) => s.browserSsrc === browserSsrc)?.ssrc ?? ssrc;
  const theirs = (callSsrc: number): number => all.find((s) => s.ssrc === callSsrc)?.browserSsrc ?? callSsrc;

  return {
    inbound(packet) {
      if (packet.length < 8 || packet[0]! >> 6 !== 2) return false;
      if (isRtcp(packet)) return eachReport(packet, (report) => renameSender(report, ours));
      if (packet.length < RTP_HEADER_BYTES) return false;
      const payload = fromBrowser.get(packet[1]! & 0x7f);
      if (payload === undefined) return false;
      const slot = slotFor(slots[payload.kind], packet.readUInt32BE(8));
      if (slot === null) return false;
      packet[1] = (packet[1]! & 0x80) | payload.callType;
      packet.writeUInt32BE(slot.ssrc, 8);
      return true;
    },
    outbound(packet) {
      if (packet.length < 8 || packet[0]! >> 6 !== 2) return false;
      if (isRtcp(packet)) return eachReport(packet, (report) => renameMedia(report, theirs));
      if (packet.length < RTP_HEADER_BYTES) return false;
      const type = toBrowser.get(packet[1]! & 0x7f);
      if (type === undefined) return false;
      packet[1] = (packet[1]! & 0x80) | type;
      return true;
    },
  };
}

/**
 * The slot of an SSRC; assigns one if it has none. A browser that starts a new sender uses a new SSRC, which then takes the
 * slot that was assigned first.
 */
function slotFor(slots: Slot[], browserSsrc: number): Slot | null {
  const known = slots.find((slot) => slot.browserSsrc === browserSsrc);
  if (known !== undefined) return known;
  const free = slots.find((slot) => slot.browserSsrc === null) ?? slots.shift();
  if (free === undefined) return null;
  free.browserSsrc = browserSsrc;
  if (!slots.includes(free)) slots.push(free);
  return free;
}

/** Visits the packets of an RTCP compound. @returns whether the compound is well-formed. */
function eachReport(compound: Buffer, visit: (report: Buffer) => void): boolean {
  for (let at = 0; at < compound.length; ) {
    if (compound.length - at < 8 || compound[at]! >> 6 !== 2) return false;
    const bytes = (compound.readUInt16BE(at + 2) + 1) * 4;
    if (bytes < 8 || at + bytes > compound.length) return false;
    visit(compound.subarray(at, at + bytes));
    at += bytes;
  }
  return true;
}

type Rename = (ssrc: number) => number;

const renameAt = (packet: Buffer, at: number, rename: Rename): void => {
  if (at + 4 <= packet.length) packet.writeUInt32BE(rename(packet.readUInt32BE(at)), at);
};

/** Renames the sender's SSRC, the first field of every RTCP packet; BYE lists more than one. */
function renameSender(report: Buffer, rename: Rename): void {
  const count = report[1] === RTCP.BYE ? report[0]! & 0x1f : 1;
  for (let i = 0; i < count; i++) renameAt(report, 4 + 4 * i, rename);
}

/** Renames the media SSRCs that a receiver's report or feedback refers to. */
function renameMedia(report: Buffer, rename: Rename): void {
  const type = report[1]!;
  const count = report[0]! & 0x1f;
  if (type === RTCP.RR || type === RTCP.SR) {
    const first = type === RTCP.RR ? 8 : 28;
    for (let i = 0; i < count; i++) renameAt(report, first + 24 * i, rename);
  } else if (type === RTCP.RTPFB || type === RTCP.PSFB) {
    renameAt(report, 8, rename);
    if (type === RTCP.PSFB && count === PSFB_FIR) {
      for (let at = 12; at + 8 <= report.length; at += 8) renameAt(report, at, rename);
    } else if (type === RTCP.PSFB && count === PSFB_REMB && report.length >= 20) {
      const listed = report[16]!;
      for (let i = 0; i < listed; i++) renameAt(report, 20 + 4 * i, rename);
    }
  }
}
