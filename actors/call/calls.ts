import type { RingLimits } from '../../engine/call/replay.ts';
import { type Seat, sameSeat } from '../../engine/call/seat.ts';
import type { OpenDaveDelivery } from '../../media/dave/delivery.ts';
import type { MediaPlane } from '../../media/plane.ts';
import type { UserId } from '../../protocol/ids.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { Call, type CallHost } from './call.shell.ts';
import { Place } from './place.ts';
import type {
  MovedCall,
  Seats,
  VoiceIdentify,
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
  /** How long a voice session waits for its client, and a seat for another voice session. */
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
  readonly owner: SeatOwner;
  readonly onFault: (error: unknown, callId: string) => void;
  /** A client without DAVE was refused (4017); called at most once in ten minutes for each user. */
  readonly onUnencrypted: (seat: Seat) => void;
}

/** What calls tell those whose seats they are. Nothing is awaited, and nothing may throw. */
export interface SeatOwner {
  /** Tells the gateway session of the seat where to connect, and with what (VOICE_SERVER_UPDATE). */
  invite(seat: Seat, token: string): void;
  /** The call goes on at another shard, which is to tell everyone in it where. */
  moved(callId: string, of: MovedCall): void;
  /** The user is lost for good, or was never let in: the seat is to be given up. */
  dropped(seat: Seat): void;
  /** The user has not spoken for as long as the seat says. */
  silent(seat: Seat): void;
}

/** What `guildhall calls` and the embedding program see of a call. */
export interface CallView {
  readonly callId: string;
  readonly serverId: string;
  readonly guildId: string | null;
  readonly ageMs: number;
  /** `version` is 0 and `phase` `plain` while nobody is connected. */
  readonly dave: { readonly version: number; readonly epoch: string | null; readonly phase: string };
  readonly members: readonly MemberView[];
}

export interface MemberView {
  readonly userId: string;
  /** Null while the user is not connected to the voice gateway. */
  readonly ssrc: number | null;
  readonly transport: 'none' | 'udp' | 'webrtc';
  /** A voice socket is there, and media comes through. */
  readonly attached: boolean;
  readonly connected: boolean;
  readonly silenced: boolean;
  readonly deafened: boolean;
  readonly speaking: boolean;
}

/** Frames kept for one session: some minutes of a lively call, or one join of a large one. */
const RING: RingLimits = { framesMax: 1024, bytesMax: 512 << 10 };
/** The published clients answer in well under a second; who does not is left behind and recovers by op 31. */
const DAVE_TRANSITION_MS = 2_000;
/** How long the connections of a call that has changed hands are kept. */
const MOVED_MS = 5_000;

/** Libraries without DAVE rejoin at once and without end, so a refusal is reported once per user and interval. */
const UNENCRYPTED_REPORT_MS = 600_000;
const UNENCRYPTED_USERS_MAX = 1000;

const closed = ({ code, reason }: Close): VoiceOutcome => ({ kind: 'closed', code, reason });
const byUser = (serverId: string, userId: string): string => `${serverId} ${userId}`;

/** All calls of this process. Owners of channels say who sits where; voice sockets bring the users in. */
export class Calls implements VoicePort, Seats, CallHost {
  readonly ring = RING;
  readonly transitionMs = DAVE_TRANSITION_MS;
  readonly resumeWindowMs: number;
  readonly e2eeRequired: boolean;
  readonly wheel;
  readonly supervisor;
  readonly plane;
  readonly openDave;
  readonly randomBytes;
  /** What came to an end in DAVE, and how, as `transition executed`, to count. */
  readonly daveCounts = new Map<string, number>();
  readonly #deps: CallsDeps;
  readonly #calls = new Map<string, Call>();
  /** Calls that go on at another shard, and how to end what is left of them here. */
  readonly #leaving = new Map<string, () => void>();
  readonly #byUser = new Map<string, Place>();
  /** Places by server and gateway session: op 7 names no user. */
  readonly #bySession = new Map<string, Place>();
  /** When a refused client without DAVE was last reported, by user; the least recent first. */
  readonly #unencryptedMs = new Map<string, number>();
  #refused = 0;
  #bugs = 0;

  constructor(deps: CallsDeps) {
    this.#deps = deps;
    this.resumeWindowMs = deps.settings.resumeWindowMs;
    this.e2eeRequired = deps.settings.e2eeRequired;
    this.wheel = deps.wheel;
    this.supervisor = deps.supervisor;
    this.plane = deps.plane;
    this.openDave = deps.openDave;
    this.randomBytes = deps.randomBytes;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Calls that go on at another shard and whose connections here still stand. */
  get leaving(): number {
    return this.#leaving.size;
  }

  /** Users connected to a call. */
  get members(): number {
    let members = 0;
    for (const call of this.#calls.values()) members += call.sessions.size;
    return members;
  }

  /** Seats refused because of `calls_max` or `call_members_max`. */
  get refused(): number {
    return this.#refused;
  }

  /** Calls that a bug has ended. */
  get bugs(): number {
    return this.#bugs;
  }

  seated(seat: Seat): void {
    const key = byUser(seat.serverId, seat.userId);
    const place = this.#byUser.get(key);
    if (place?.call.callId !== seat.callId || place.seat.sessionId !== seat.sessionId) {
      this.#admit(seat);
      // Last, so that the user's client knows where to go when its connection closes.
      if (place) this.#vacate(place, VOICE_CLOSE.DISCONNECTED);
      return;
    }
    const before = place.seat;
    place.seat = seat;
    // The seat has not changed: the client asks for another chance to connect. The ticket stays the same, as the client
    // may be connecting with it.
    if (sameSeat(before, seat)) {
      if (!place.session) this.#deps.owner.invite(seat, place.token);
      return;
    }
    place.call.reseated(place);
    if (before.afkAfterMs !== seat.afkAfterMs) this.#watch(place);
  }

  unseated(serverId: string, userId: UserId): void {
    const place = this.#byUser.get(byUser(serverId, userId));
    if (place) this.#vacate(place, VOICE_CLOSE.DISCONNECTED);
  }

  ended(callId: string, moved?: MovedCall): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    for (const place of call.places.values()) this.#forget(place);
    if (moved) {
      this.#goElsewhere(call);
      this.#deps.owner.moved(callId, moved);
    } else call.terminate(VOICE_CLOSE.CALL_TERMINATED);
  }

  /**
   * Clients hear each other here until they are told where the call is, and leave by themselves then. One that is put out
   * before would come back to where it was; one that is told to wait (VOICE_SERVER_UPDATE without an endpoint) would be
   * silent meanwhile, and bots as the published guide has them give up after five seconds of that.
   */
  #goElsewhere(call: Call): void {
    this.#calls.delete(call.callId);
    for (const place of call.places.values()) place.leave();
    const end = (): void => {
      timer.cancel();
      this.#leaving.delete(call.callId);
      call.terminate(VOICE_CLOSE.SERVER_CRASHED);
    };
    const timer = this.wheel.add(end, MOVED_MS);
    this.#leaving.set(call.callId, end);
  }

  identify(identify: VoiceIdentify, sink: VoiceSink): VoiceOutcome {
    const place = this.#byUser.get(byUser(identify.serverId, identify.userId));
    if (!place) return closed(VOICE_CLOSE.SERVER_NOT_FOUND);
    const { seat, call } = place;
    if (!place.admits(identify.token)) return closed(VOICE_CLOSE.AUTHENTICATION_FAILED);
    if (identify.sessionId !== seat.sessionId) return closed(VOICE_CLOSE.SESSION_INVALID);
    if (identify.channelId !== null && identify.channelId !== seat.groupId)
      return closed(VOICE_CLOSE.SERVER_NOT_FOUND);
    if (this.e2eeRequired && identify.maxDaveVersion === 0) {
      this.#reportUnencrypted(seat);
      return closed(VOICE_CLOSE.E2EE_REQUIRED);
    }
    const earlier = place.session;
    place.session = null;
    // Not resumable: two clients with one ticket would take it from each other for ever.
    earlier?.end(VOICE_CLOSE.DISCONNECTED);
    return { kind: 'open', session: call.enter(place, identify, sink) };
  }

  resume(resume: VoiceResume, sink: VoiceSink): VoiceOutcome {
    const place = this.#bySession.get(byUser(resume.serverId, resume.sessionId));
    if (!place) return closed(VOICE_CLOSE.SESSION_INVALID);
    if (!place.admits(resume.token)) return closed(VOICE_CLOSE.AUTHENTICATION_FAILED);
    const { session } = place;
    const missed = session?.missedBy(resume.version, resume.seqAck) ?? null;
    if (!session || missed === null) {
      place.session = null;
      session?.end(VOICE_CLOSE.SESSION_INVALID);
      this.renew(place);
      return closed(VOICE_CLOSE.SESSION_INVALID);
    }
    session.resume(sink, resume.version, missed);
    if (!session.buffered) place.call.introduce(session);
    return { kind: 'open', session };
  }

  /**
   * Bounds who hears a user to the given ones, whoever is in the call now or later; null lifts the bound. It holds
   * until the user leaves the call.
   *
   * @returns false when the user has no seat in that call.
   */
  setAudibility(callId: string, userId: string, listenerIds: readonly string[] | null): boolean {
    const place = this.#calls.get(callId)?.places.get(userId);
    if (!place) return false;
    if (listenerIds && listenerIds.length > this.#deps.settings.membersMax)
      throw new RangeError('More listeners than a call may have members.');
    place.audience = listenerIds && new Set(listenerIds);
    place.call.reheard(place);
    return true;
  }

  list(): CallView[] {
    const nowMs = this.nowMs();
    return [...this.#calls.values()].map((call) => viewOf(call, nowMs));
  }

  /** Where a user is in voice on a server; null: nowhere. */
  seatOf(serverId: string, userId: string): Seat | null {
    return this.#byUser.get(byUser(serverId, userId))?.seat ?? null;
  }

  /** Ends every call; clients that come back find no session. */
  close(): void {
    for (const callId of [...this.#calls.keys()]) this.ended(callId);
    for (const end of [...this.#leaving.values()]) end();
  }

  nowMs(): number {
    return this.#deps.nowMs();
  }

  absent(place: Place, expired: boolean): void {
    if (expired) this.#drop(place);
    else place.awaitReturn(this.wheel, this.resumeWindowMs, () => this.#drop(place));
  }

  renew(place: Place): void {
    this.#invite(place);
    if (!place.session) this.absent(place, false);
  }

  lost(call: Call): void {
    this.#giveUp(call, () => call.terminate(VOICE_CLOSE.CALL_TERMINATED));
  }

  released(call: Call): void {
    if (this.#calls.get(call.callId) === call) this.#calls.delete(call.callId);
  }

  crashed(call: Call, error: unknown): void {
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

  #reportUnencrypted(seat: Seat): void {
    const nowMs = this.nowMs();
    const users = this.#unencryptedMs;
    if (nowMs - (users.get(seat.userId) ?? Number.NEGATIVE_INFINITY) < UNENCRYPTED_REPORT_MS) return;
    users.delete(seat.userId);
    users.set(seat.userId, nowMs);
    if (users.size > UNENCRYPTED_USERS_MAX)
      for (const [oldest] of users) {
        users.delete(oldest);
        break;
      }
    this.#deps.onUnencrypted(seat);
  }

  #admit(seat: Seat): void {
    const call = this.#callOf(seat);
    const { membersMax } = this.#deps.settings;
    if (!call || (call.places.size >= membersMax && !call.places.has(seat.userId))) {
      this.#refused += 1;
      this.#deps.owner.dropped(seat);
      return;
    }
    const place = new Place(seat, call, this.nowMs());
    call.places.set(seat.userId, place);
    this.#byUser.set(byUser(seat.serverId, seat.userId), place);
    this.#bySession.set(byUser(seat.serverId, seat.sessionId), place);
    this.#watch(place);
    this.#invite(place);
  }

  #invite(place: Place): void {
    this.#deps.owner.invite(place.seat, place.renew(this.randomBytes));
  }

  #callOf(seat: Seat): Call | null {
    const known = this.#calls.get(seat.callId);
    if (known) return known;
    // It has come back.
    this.#leaving.get(seat.callId)?.();
    if (this.#calls.size >= this.#deps.settings.callsMax) return null;
    const call = new Call(seat, this);
    this.#calls.set(seat.callId, call);
    return call;
  }

  #vacate(place: Place, close: Close): void {
    this.#forget(place);
    place.call.vacate(place, close);
  }

  #drop(place: Place): void {
    if (place.gone) return;
    this.#vacate(place, VOICE_CLOSE.SESSION_TIMEOUT);
    this.#deps.owner.dropped(place.seat);
  }

  #giveUp(call: Call, end: () => void): void {
    const places = [...call.places.values()];
    for (const place of places) this.#forget(place);
    end();
    for (const { seat } of places) this.#deps.owner.dropped(seat);
  }

  /** Another place may already stand where this one stood. */
  #forget(place: Place): void {
    const { serverId, userId, sessionId } = place.seat;
    const user = byUser(serverId, userId);
    const session = byUser(serverId, sessionId);
    if (this.#byUser.get(user) === place) this.#byUser.delete(user);
    if (this.#bySession.get(session) === place) this.#bySession.delete(session);
  }

  #watch(place: Place): void {
    place.watchSilence(
      this.wheel,
      () => this.nowMs(),
      () => this.#deps.owner.silent(place.seat),
    );
  }
}

function viewOf(call: Call, nowMs: number): CallView {
  const { encryption } = call;
  return {
    callId: call.callId,
    serverId: call.serverId,
    guildId: call.guildId,
    ageMs: nowMs - call.startedMs,
    dave: {
      version: encryption?.version ?? 0,
      epoch: encryption?.epoch?.toString() ?? null,
      phase: encryption?.phase ?? 'plain',
    },
    members: [...call.places.values()].map(({ seat, session }) => ({
      userId: seat.userId,
      ssrc: session?.ssrc ?? null,
      transport: session?.transport ?? 'none',
      attached: session?.attached ?? false,
      connected: session?.connected ?? false,
      silenced: seat.silenced,
      deafened: seat.deafened,
      speaking: (session?.toldSpeaking ?? 0) !== 0,
    })),
  };
}
