import type { RingLimits } from '../../engine/call/replay.ts';
import { sameVoiceMember, type VoiceMember } from '../../engine/call/voicemember.ts';
import type { OpenDaveDelivery } from '../../media/dave/delivery.ts';
import type { MediaPlane } from '../../media/plane.ts';
import { isUserId, type UserId } from '../../protocol/ids.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { CallActor, type CallHost } from './call.shell.ts';
import { LeavingCalls } from './leavingcalls.ts';
import { Participant } from './participant.ts';
import type {
  ContinuedCall,
  VoiceIdentify,
  VoiceListener,
  VoiceOutcome,
  VoicePort,
  VoiceResume,
  VoiceSink,
} from './ports.ts';
import type { Close } from './session.ts';

interface CallSettings {
  readonly callsMax: number;
  readonly membersMax: number;
  readonly e2eeRequired: boolean;
  /** How long a voice session waits for its client, and a user without a voice session stays in voice. */
  readonly resumeWindowMs: number;
}

export interface CallsDeps {
  readonly settings: CallSettings;
  readonly plane: Pick<MediaPlane, 'open'>;
  readonly openDave: OpenDaveDelivery;
  readonly supervisor: Supervisor;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly owner: CallOwner;
  readonly onFault: (error: unknown, callId: string) => void;
  /** A client without DAVE was refused (4017); called at most once in ten minutes for each user. */
  readonly onUnencrypted: (voiceMember: VoiceMember) => void;
}

/** Notifies the owners of the channels. Results are not awaited, and no method may throw. */
export interface CallOwner {
  /** Sends the user's gateway session the endpoint and the ticket (VOICE_SERVER_UPDATE). */
  invite(voiceMember: VoiceMember, token: string): void;
  /** The call continues on another shard, which sends its members the new endpoint. */
  moved(callId: string, of: ContinuedCall): void;
  /** The user did not return, or was refused: remove the user from voice. */
  dropped(voiceMember: VoiceMember): void;
  /** The user has not spoken for the time that the voice member states. */
  silent(voiceMember: VoiceMember): void;
}

/** A call as `guildhall calls` and the embedding program see it. */
export interface CallView {
  readonly callId: string;
  readonly serverId: string;
  readonly guildId: string | null;
  readonly ageMs: number;
  /** `version` is 0 and `phase` is `plain` while no member is connected. */
  readonly dave: { readonly version: number; readonly epoch: string | null; readonly phase: string };
  readonly members: readonly MemberView[];
}

export interface MemberView {
  readonly userId: string;
  /** Null while the user is not connected to the voice gateway. */
  readonly ssrc: number | null;
  readonly transport: 'none' | 'udp' | 'webrtc';
  /** The voice socket is open, and media arrive. */
  readonly attached: boolean;
  readonly connected: boolean;
  readonly silenced: boolean;
  readonly deafened: boolean;
  readonly speaking: boolean;
}

/** Frames kept for one session: some minutes of a lively call, or one join of a large one. */
const RING: RingLimits = { framesMax: 1024, bytesMax: 512 << 10 };
/** Stock clients answer in well under a second; a client that does not is left behind and recovers by op 31. */
const DAVE_TRANSITION_MS = 2_000;
/** Libraries without DAVE rejoin at once and without end, so a refusal is reported once per user and interval. */
const UNENCRYPTED_REPORT_MS = 600_000;
const UNENCRYPTED_USERS_MAX = 1000;

const closed = ({ code, reason }: Close): VoiceOutcome => ({ kind: 'closed', code, reason });
const byUser = (serverId: string, userId: string): string => `${serverId} ${userId}`;

/** All calls of this process. Owners of channels decide who is in voice; voice sockets connect the users. */
export class Calls implements VoicePort, VoiceListener, CallHost {
  readonly ring = RING;
  readonly transitionMs = DAVE_TRANSITION_MS;
  readonly resumeWindowMs: number;
  readonly e2eeRequired: boolean;
  readonly wheel;
  readonly supervisor;
  readonly plane;
  readonly openDave;
  readonly randomBytes;
  /** Counts of DAVE outcomes by name and result, such as `transition executed`. */
  readonly daveCounts = new Map<string, number>();
  readonly #deps: CallsDeps;
  readonly #calls = new Map<string, CallActor>();
  /** Calls that continue on another shard, and how to end their remains here. */
  readonly #leaving: LeavingCalls;
  readonly #byUser = new Map<string, Participant>();
  /** Places by server and gateway session: op 7 names no user. */
  readonly #bySession = new Map<string, Participant>();
  /** When a refused client without DAVE was last reported, by user; least recent first. */
  readonly #unencryptedMs = new Map<string, number>();
  #refused = 0;
  #bugs = 0;

  constructor(deps: CallsDeps) {
    this.#deps = deps;
    this.resumeWindowMs = deps.settings.resumeWindowMs;
    this.e2eeRequired = deps.settings.e2eeRequired;
    this.wheel = deps.wheel;
    this.#leaving = new LeavingCalls(deps.wheel);
    this.supervisor = deps.supervisor;
    this.plane = deps.plane;
    this.openDave = deps.openDave;
    this.randomBytes = deps.randomBytes;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Number of calls that continue on another shard while connections here are still open. */
  get leaving(): number {
    return this.#leaving.size;
  }

  /** Users connected to a call. */
  get members(): number {
    let members = 0;
    for (const call of this.#calls.values()) members += call.members.size;
    return members;
  }

  /** Number of users refused because of `calls_max` or `call_members_max`. */
  get refused(): number {
    return this.#refused;
  }

  /** Number of calls that a bug ended. */
  get bugs(): number {
    return this.#bugs;
  }

  voiceJoined(voiceMember: VoiceMember): void {
    const key = byUser(voiceMember.serverId, voiceMember.userId);
    const participant = this.#byUser.get(key);
    if (
      participant?.call.callId !== voiceMember.callId ||
      participant.voiceMember.sessionId !== voiceMember.sessionId
    ) {
      this.#admit(voiceMember);
      // Last, so that the client knows the new endpoint when its connection closes.
      if (participant) this.#vacate(participant, VOICE_CLOSE.DISCONNECTED);
      return;
    }
    const before = participant.voiceMember;
    participant.voiceMember = voiceMember;
    // Nothing changed: the client asks to connect again. The ticket stays the same, because the client may be
    // connecting with it.
    if (sameVoiceMember(before, voiceMember)) {
      if (!participant.session) this.#deps.owner.invite(voiceMember, participant.token);
      return;
    }
    participant.call.run('changeMember', { userId: voiceMember.userId, voiceMember });
    if (before.afkAfterMs !== voiceMember.afkAfterMs) this.#watch(participant);
  }

  voiceLeft(serverId: string, userId: UserId): void {
    const participant = this.#byUser.get(byUser(serverId, userId));
    if (participant) this.#vacate(participant, VOICE_CLOSE.DISCONNECTED);
  }

  ended(callId: string, continues?: ContinuedCall, because: 'moved' | 'interrupted' = 'moved'): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    for (const participant of call.places.values()) this.#forget(participant);
    if (continues) {
      this.#calls.delete(callId);
      this.#leaving.add(call, because);
      this.#deps.owner.moved(callId, continues);
    } else call.terminate(VOICE_CLOSE.CALL_TERMINATED);
  }

  identify(identify: VoiceIdentify, sink: VoiceSink): VoiceOutcome {
    const participant = this.#byUser.get(byUser(identify.serverId, identify.userId));
    if (!participant) return closed(VOICE_CLOSE.SERVER_NOT_FOUND);
    const { voiceMember, call } = participant;
    if (!participant.admits(identify.token)) return closed(VOICE_CLOSE.AUTHENTICATION_FAILED);
    if (identify.sessionId !== voiceMember.sessionId) return closed(VOICE_CLOSE.SESSION_INVALID);
    if (identify.channelId !== null && identify.channelId !== voiceMember.groupId)
      return closed(VOICE_CLOSE.SERVER_NOT_FOUND);
    if (this.e2eeRequired && identify.maxDaveVersion === 0) {
      this.#reportUnencrypted(voiceMember);
      return closed(VOICE_CLOSE.E2EE_REQUIRED);
    }
    const earlier = participant.session;
    participant.session = null;
    // Not resumable: two clients with one ticket would replace each other forever.
    earlier?.end(VOICE_CLOSE.DISCONNECTED);
    return { kind: 'open', session: call.enter(participant, identify, sink) };
  }

  resume(resume: VoiceResume, sink: VoiceSink): VoiceOutcome {
    const participant = this.#bySession.get(byUser(resume.serverId, resume.sessionId));
    if (!participant) return closed(VOICE_CLOSE.SESSION_INVALID);
    const { session } = participant;
    // After a change of owners the token may be that of the former one: the new one follows.
    if (!participant.admits(resume.token))
      return closed(session ? VOICE_CLOSE.AUTHENTICATION_FAILED : VOICE_CLOSE.SESSION_INVALID);
    const missed = session?.missedBy(resume.version, resume.seqAck) ?? null;
    if (!session || missed === null) {
      participant.session = null;
      session?.end(VOICE_CLOSE.SESSION_INVALID);
      this.renew(participant);
      return closed(VOICE_CLOSE.SESSION_INVALID);
    }
    session.resume(sink, resume.version, missed);
    if (!session.buffered) participant.call.run('introduceOthers', { userId: session.userId });
    return { kind: 'open', session };
  }

  /**
   * Restricts the audience of a user to the given users, in the call now or later; null removes the restriction. It
   * holds until the user leaves the call.
   *
   * @returns false when the user is not in that call.
   */
  setAudibility(callId: string, userId: string, listenerIds: readonly string[] | null): boolean {
    const participant = this.#calls.get(callId)?.places.get(userId);
    if (!participant) return false;
    if (listenerIds && listenerIds.length > this.#deps.settings.membersMax)
      throw new RangeError('The call has more listeners than a call may have members.');
    const audience = listenerIds && new Set(listenerIds.filter(isUserId));
    participant.audience = audience;
    participant.call.run('changeAudience', { userId: participant.voiceMember.userId, audience });
    return true;
  }

  list(): CallView[] {
    const nowMs = this.nowMs();
    return [...this.#calls.values()].map((call) => viewOf(call, nowMs));
  }

  /** The channel in which a user is in voice on a server; null when the user is in none. */
  voiceMemberOf(serverId: string, userId: string): VoiceMember | null {
    return this.#byUser.get(byUser(serverId, userId))?.voiceMember ?? null;
  }

  /** Ends every call; clients that resume find no session. */
  close(): void {
    for (const callId of [...this.#calls.keys()]) this.ended(callId);
    this.#leaving.end();
  }

  nowMs(): number {
    return this.#deps.nowMs();
  }

  absent(participant: Participant, expired: boolean): void {
    const { serverId, userId } = participant.voiceMember;
    // The user has left, or the call has moved to another shard.
    if (this.#byUser.get(byUser(serverId, userId)) !== participant) return;
    if (expired) this.#drop(participant);
    else participant.awaitReturn(this.wheel, this.resumeWindowMs, () => this.#drop(participant));
  }

  renew(participant: Participant): void {
    this.#invite(participant);
    if (!participant.session) this.absent(participant, false);
  }

  lost(call: CallActor): void {
    this.#giveUp(call, () => call.terminate(VOICE_CLOSE.CALL_TERMINATED));
  }

  released(call: CallActor): void {
    if (this.#calls.get(call.callId) === call) this.#calls.delete(call.callId);
  }

  crashed(call: CallActor, error: unknown): void {
    this.#bugs += 1;
    this.#deps.onFault(error, call.callId);
    this.#giveUp(call, () => call.terminate(VOICE_CLOSE.SERVER_CRASHED));
    this.released(call);
  }

  counted(what: string, result: string): void {
    const key = `${what} ${result}`;
    this.daveCounts.set(key, (this.daveCounts.get(key) ?? 0) + 1);
  }

  onFault(error: unknown, callId: string): void {
    this.#deps.onFault(error, callId);
  }

  #reportUnencrypted(voiceMember: VoiceMember): void {
    const nowMs = this.nowMs();
    const users = this.#unencryptedMs;
    if (nowMs - (users.get(voiceMember.userId) ?? Number.NEGATIVE_INFINITY) < UNENCRYPTED_REPORT_MS) return;
    users.delete(voiceMember.userId);
    users.set(voiceMember.userId, nowMs);
    if (users.size > UNENCRYPTED_USERS_MAX)
      for (const [oldest] of users) {
        users.delete(oldest);
        break;
      }
    this.#deps.onUnencrypted(voiceMember);
  }

  #admit(voiceMember: VoiceMember): void {
    const call = this.#callOf(voiceMember);
    const { membersMax } = this.#deps.settings;
    if (!call || (call.places.size >= membersMax && !call.places.has(voiceMember.userId))) {
      this.#refused += 1;
      this.#deps.owner.dropped(voiceMember);
      return;
    }
    const participant = new Participant(voiceMember, call, this.nowMs());
    call.places.set(voiceMember.userId, participant);
    this.#byUser.set(byUser(voiceMember.serverId, voiceMember.userId), participant);
    this.#bySession.set(byUser(voiceMember.serverId, voiceMember.sessionId), participant);
    this.#watch(participant);
    this.#invite(participant);
  }

  #invite(participant: Participant): void {
    this.#deps.owner.invite(participant.voiceMember, participant.renew(this.randomBytes));
  }

  #callOf(voiceMember: VoiceMember): CallActor | null {
    const known = this.#calls.get(voiceMember.callId);
    if (known) return known;
    this.#leaving.returned(voiceMember.callId);
    if (this.#calls.size >= this.#deps.settings.callsMax) return null;
    const call = new CallActor(voiceMember, this);
    this.#calls.set(voiceMember.callId, call);
    return call;
  }

  #vacate(participant: Participant, close: Close): void {
    this.#forget(participant);
    participant.call.vacate(participant, close);
  }

  #drop(participant: Participant): void {
    this.#vacate(participant, VOICE_CLOSE.SESSION_TIMEOUT);
    this.#deps.owner.dropped(participant.voiceMember);
  }

  #giveUp(call: CallActor, end: () => void): void {
    const participants = [...call.places.values()];
    for (const participant of participants) this.#forget(participant);
    end();
    for (const { voiceMember } of participants) this.#deps.owner.dropped(voiceMember);
  }

  /** Another place may already have replaced this one. */
  #forget(participant: Participant): void {
    const { serverId, userId, sessionId } = participant.voiceMember;
    const user = byUser(serverId, userId);
    const session = byUser(serverId, sessionId);
    if (this.#byUser.get(user) === participant) this.#byUser.delete(user);
    if (this.#bySession.get(session) === participant) this.#bySession.delete(session);
  }

  #watch(participant: Participant): void {
    participant.watchSilence(
      this.wheel,
      () => this.nowMs(),
      () => this.#deps.owner.silent(participant.voiceMember),
    );
  }
}

function viewOf(call: CallActor, nowMs: number): CallView {
  const { encryption, names } = call;
  return {
    callId: names.callId,
    serverId: names.serverId,
    guildId: names.guildId,
    ageMs: nowMs - call.startedMs,
    dave: {
      version: encryption?.version ?? 0,
      epoch: encryption?.epoch?.toString() ?? null,
      phase: encryption?.phase ?? 'plain',
    },
    members: [...call.places.values()].map(({ voiceMember, session }) => {
      const member = call.members.get(voiceMember.userId);
      return {
        userId: voiceMember.userId,
        ssrc: member?.ssrc ?? null,
        transport: member?.transport ?? 'none',
        attached: session?.lifecycle.attached ?? false,
        connected: session?.lifecycle.connected ?? false,
        silenced: voiceMember.silenced,
        deafened: voiceMember.deafened,
        speaking: (member?.announced?.flags ?? 0) !== 0,
      };
    }),
  };
}
