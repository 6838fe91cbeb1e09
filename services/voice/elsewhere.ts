import type { VoiceOutcome, VoicePort } from '../../actors/call/ports.ts';
import type { Routing } from '../../actors/placement/routing.ts';

/** What a client reads that has come to a shard which holds no such call: through a port that several share. */
const OTHER_SHARD = 'The call is at another shard; VOICE_SERVER_UPDATE says where.';

/** The calls for clients that may have come to the wrong shard: they are refused as ever, and told why. */
export function redirectingCalls(calls: VoicePort, routing: Pick<Routing, 'standalone' | 'owns'>): VoicePort {
  if (routing.standalone) return calls;
  const said = (serverId: string, outcome: VoiceOutcome): VoiceOutcome =>
    outcome.kind === 'open' || routing.owns(serverId) ? outcome : { ...outcome, reason: OTHER_SHARD };
  return {
    identify: (identify, sink) => said(identify.serverId, calls.identify(identify, sink)),
    resume: (resume, sink) => said(resume.serverId, calls.resume(resume, sink)),
  };
}
