import type { VoiceOutcome, VoicePort } from '../../actors/call/ports.ts';
import type { Routing } from '../../actors/placement/routing.ts';

/** Close reason for a client that reached a shard without its call, through a port that several shards share. */
const OTHER_SHARD = 'The call is at another shard; VOICE_SERVER_UPDATE says where.';

/** Wraps calls so that clients on the wrong shard are refused with a reason. */
export function redirectingCalls(calls: VoicePort, routing: Pick<Routing, 'owns'>): VoicePort {
  const said = (serverId: string, outcome: VoiceOutcome): VoiceOutcome =>
    outcome.kind === 'open' || routing.owns(serverId) ? outcome : { ...outcome, reason: OTHER_SHARD };
  return {
    identify: (identify, sink) => said(identify.serverId, calls.identify(identify, sink)),
    resume: (resume, sink) => said(resume.serverId, calls.resume(resume, sink)),
  };
}
