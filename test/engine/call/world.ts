import { type CallState, newCallState } from '../../../engine/call/call.ts';
import type { CallDispatch } from '../../../engine/call/dispatch.ts';
import type { CallFact } from '../../../engine/call/facts.ts';
import type { Entering } from '../../../engine/call/members.ts';
import type { SelectProtocol } from '../../../engine/call/requests.ts';
import { type CallCommands, callRules } from '../../../engine/call/rules.ts';
import type { Layer } from '../../../engine/call/video.ts';
import type { VoiceMember } from '../../../engine/call/voicemember.ts';
import { factsOf } from '../../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';

const CALL = '900' as ChannelId;

export const ANN = '101' as UserId;
export const BEN = '102' as UserId;

export const memberWith = (userId: UserId, changes: Partial<VoiceMember> = {}): VoiceMember => ({
  ...{ callId: CALL, groupId: CALL, serverId: CALL, guildId: null, userId },
  sessionId: `session of ${userId}`,
  ...{ silenced: false, deafened: false, mayStream: true, mayPrioritize: false, afkAfterMs: null },
  ...changes,
});

export const layerOf = (ssrc: number): Layer => ({
  ...{ ssrc: ssrc + 1, rtxSsrc: ssrc + 2 },
  ...{ rid: '100', quality: 100, type: 'video' },
});

export const videoOf = (ssrc: number) => ({
  ...{ audioSsrc: ssrc, videoSsrc: ssrc + 1, rtxSsrc: ssrc + 2 },
  streams: [{ type: 'video', rid: '100', quality: 100, active: true, ssrc: ssrc + 1, rtx_ssrc: ssrc + 2 }],
});

export const codec = (name: string, priority = 1000) => ({
  ...{ name, type: 'video' as const, priority, encode: true, decode: true },
  ...{ payloadType: 100, rtxPayloadType: null },
});

export const UDP = {
  ...{ protocol: 'udp', address: '127.0.0.1', port: 5, mode: 'aead_aes256_gcm_rtpsize' },
  codecs: [],
} as const satisfies SelectProtocol;

/** The rules of one call, with every fact and dispatch since the last look. */
export class CallWorld {
  readonly state: CallState;
  readonly history: CallFact[] = [];
  nowMs = 1000;

  constructor(e2eeRequired = false) {
    this.state = newCallState(e2eeRequired);
  }

  run<N extends keyof CallCommands>(type: N, input: CallCommands[N]['input']): CallDispatch[] {
    const env = { nowMs: this.nowMs, randomBytes: (size: number) => new Uint8Array(size) };
    const facts = factsOf(callRules.decide(this.state, type, input, SYSTEM, env));
    this.history.push(...facts);
    return facts.flatMap((fact) => callRules.applyAndDispatch(this.state, fact));
  }

  enter(userId: UserId, ssrc: number, changes: Partial<Entering> = {}): CallDispatch[] {
    return this.run('enter', {
      ...{ voiceMember: memberWith(userId), audience: null, ssrc, layers: [layerOf(ssrc)] },
      ...{ mediaSessionId: `media ${ssrc}`, address: { ip: '127.0.0.1', port: 9 } },
      ...changes,
    });
  }
}
