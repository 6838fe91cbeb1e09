import type { CallListing } from '../../embedding.ts';
import type { MediaMetrics } from '../../media/plane.ts';
import type { CallView } from './calls.ts';

/** Lists the calls with the media metrics of their members. */
export const callListing = (views: readonly CallView[], metrics: MediaMetrics | null): CallListing[] =>
  views.map((view) => {
    const bySsrc = new Map(metrics?.calls.get(view.callId)?.map((each) => [each.ssrc, each]));
    const members = view.members.map((member) => {
      const known = member.ssrc === null ? undefined : bySsrc.get(member.ssrc);
      if (!known) return { ...member, media: null };
      const { packetsIn, packetsOut, bytesIn, bytesOut, loss, jitterMs } = known;
      return { ...member, media: { packetsIn, packetsOut, bytesIn, bytesOut, loss, jitterMs } };
    });
    return { ...view, members };
  });
