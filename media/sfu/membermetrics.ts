import type { MemberMetrics } from '../plane.ts';
import { type Member, UdpLink } from './room.ts';

/** Figures of one member. Loss counts audio and each layer, but not retransmissions; jitter is that of the audio. */
export function memberMetricsOf(member: Member): MemberMetrics {
  let expected = 0;
  let received = 0;
  for (const { kind, reception } of member.streams) {
    if (kind === 'rtx') continue;
    expected += reception.expected;
    received += reception.count;
  }
  const { packetsIn, packetsOut, bytesIn, bytesOut } = member;
  return {
    ssrc: member.ssrc,
    userId: member.userId,
    transport: member.link === null ? 'none' : member.link instanceof UdpLink ? 'udp' : 'webrtc',
    packetsIn,
    packetsOut,
    bytesIn,
    bytesOut,
    // RFC 3550 counts duplicates as received, so the share could become negative without the bound.
    loss: expected > 0 ? Math.max(0, 1 - received / expected) : 0,
    jitterMs: member.audio.reception.jitterMs,
  };
}
