import { type CallOwner, Calls, type CallsDeps } from '../../../actors/call/calls.ts';
import type { VoiceIdentify, VoiceMember, VoiceSession, VoiceSink } from '../../../actors/call/ports.ts';
import { createSupervisor } from '../../../actors/runtime/supervisor.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel, type Wheel } from '../../../actors/runtime/wheel.ts';
import type { DaveDelivery, DaveEffect } from '../../../media/dave/delivery.ts';
import type { Gate, MediaEvent, MediaRoom, VideoStream } from '../../../media/plane.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';

/** One frame as a client got it; `seq` null: not numbered. */
interface Received {
  readonly op: number;
  readonly d: unknown;
  readonly seq: number | null;
}

/** A voice socket that records its calls. */
export class RecordingSink implements VoiceSink {
  readonly address = '127.0.0.1';
  readonly frames: Received[] = [];
  closed: { code: number; reason: string } | null = null;

  send(op: number, d: unknown, seq: number | null): void {
    this.frames.push({ op, d, seq });
  }

  sendBinary(op: number, payload: Uint8Array, seq: number): void {
    this.frames.push({ op, d: [...payload], seq });
  }

  close(code: number, reason: string): void {
    this.closed = { code, reason };
  }

  ops(): number[] {
    return this.frames.map(({ op }) => op);
  }

  /** Payloads of one opcode, in order. */
  of(op: number): unknown[] {
    return this.frames.filter((frame) => frame.op === op).map(({ d }) => d);
  }

  clear(): this {
    this.frames.length = 0;
    return this;
  }
}

interface RoomMember {
  readonly userId: string;
  gate: Gate;
  audience: readonly number[] | null;
  streams: readonly VideoStream[];
  udp: Parameters<MediaRoom['connectUdp']>[1] | null;
  codecs: readonly { readonly name: string }[];
}

/** Media of one call that only remembers. */
class RecordingRoom implements MediaRoom {
  readonly address = { ip: '192.0.2.1', port: 4000 };
  readonly members = new Map<number, RoomMember>();
  readonly wants = new Map<number, { any: number; bySsrc: ReadonlyMap<number, number> }>();
  encryptedOnly = false;
  closed = false;
  /** The answer of `connectPeer`. */
  sdp: Promise<string | null> = Promise.resolve('v=0');
  readonly emit: (event: MediaEvent) => void;
  readonly #allot: () => number;

  constructor(allot: () => number, emit: (event: MediaEvent) => void) {
    this.#allot = allot;
    this.emit = emit;
  }

  join({ userId, layers }: Parameters<MediaRoom['join']>[0]): ReturnType<MediaRoom['join']> {
    const ssrc = this.#allot();
    const gate = { speaks: false, streams: false, receives: false };
    this.members.set(ssrc, { userId, gate, audience: null, streams: [], udp: null, codecs: [] });
    return {
      ssrc,
      streams: layers.map((layer) => ({ ...layer, ssrc: this.#allot(), rtxSsrc: this.#allot() })),
    };
  }

  leave(ssrc: number): void {
    this.members.delete(ssrc);
  }

  connectUdp(ssrc: number, transport: Parameters<MediaRoom['connectUdp']>[1]): void {
    this.at(ssrc).udp = transport;
  }

  setPayloadTypes(ssrc: number, codecs: readonly { readonly name: string }[]): void {
    this.at(ssrc).codecs = codecs;
  }

  connectPeer(): Promise<string | null> {
    return this.sdp;
  }

  setGate(ssrc: number, gate: Gate): void {
    this.at(ssrc).gate = gate;
  }

  setAudience(ssrc: number, only: readonly number[] | null): void {
    this.at(ssrc).audience = only;
  }

  setStreams(ssrc: number, streams: readonly VideoStream[]): void {
    this.at(ssrc).streams = streams;
  }

  setSinkWants(ssrc: number, wants: { any: number; bySsrc: ReadonlyMap<number, number> }): void {
    this.wants.set(ssrc, wants);
  }

  setEncryptedOnly(encryptedOnly: boolean): void {
    this.encryptedOnly = encryptedOnly;
  }

  close(): void {
    this.closed = true;
    this.members.clear();
  }

  of(userId: string): RoomMember & { readonly ssrc: number } {
    const found = [...this.members].find(([, member]) => member.userId === userId);
    if (!found) throw new Error(`${userId} is not in media.`);
    return { ...found[1], ssrc: found[0] };
  }

  at(ssrc: number): RoomMember {
    const member = this.members.get(ssrc);
    if (!member) throw new Error(`There is no member with the SSRC ${ssrc}.`);
    return member;
  }
}

/** A delivery service whose messages the test sets. */
class ScriptedDave implements DaveDelivery {
  version = 1;
  epoch: bigint | null = null;
  pendingCount = 0;
  transitions: { deadlineMs: number | null } = { deadlineMs: null };
  deadlineMs: number | null = null;
  /** Answered by the next inputs, one list each. */
  readonly script: (readonly DaveEffect[])[] = [];
  readonly inputs: unknown[][] = [];

  join = (...input: unknown[]) => this.#next('join', input);
  leave = (...input: unknown[]) => this.#next('leave', input);
  received = (...input: unknown[]) => this.#next('received', input);
  transitionReady = (...input: unknown[]) => this.#next('transitionReady', input);
  invalidCommitWelcome = (...input: unknown[]) => this.#next('invalidCommitWelcome', input);
  tick = (...input: unknown[]) => this.#next('tick', input);

  #next(name: string, input: unknown[]): readonly DaveEffect[] {
    this.inputs.push([name, ...input]);
    return this.script.shift() ?? [];
  }
}

export const SERVER = '900';
export const CALL = '1000';

export const seatOf = (userId: string, changes: Partial<VoiceMember> = {}): VoiceMember => ({
  callId: CALL as ChannelId,
  groupId: changes.callId ?? (CALL as ChannelId),
  serverId: SERVER,
  guildId: null,
  userId: userId as UserId,
  sessionId: `session of ${userId}`,
  silenced: false,
  deafened: false,
  mayStream: true,
  mayPrioritize: false,
  afkAfterMs: null,
  ...changes,
});

export const RESUME_WINDOW_MS = 60_000;

const SETTINGS = { callsMax: 10, membersMax: 10, e2eeRequired: true, resumeWindowMs: RESUME_WINDOW_MS };

/** Records what calls tell the owner of seats; `tokens` gets the latest ticket of each user. */
const recordingOwner = (
  told: [keyof CallOwner, VoiceMember][],
  moved: string[],
  tokens: Map<string, string>,
): CallOwner => ({
  invite(voiceMember, token) {
    told.push(['invite', voiceMember]);
    tokens.set(`${voiceMember.serverId} ${voiceMember.userId}`, token);
  },
  moved: (callId) => void moved.push(callId),
  dropped: (voiceMember) => told.push(['dropped', voiceMember]),
  silent: (voiceMember) => told.push(['silent', voiceMember]),
});

/** Calls over recorded media, a scripted delivery service and virtual time. */
export function arrange(
  changes: Partial<CallsDeps['settings']> = {},
  wheelOf: (clock: VirtualClock) => Wheel = (clock) => new TimerWheel(clock),
) {
  const clock = new VirtualClock();
  const rooms = new Map<string, RecordingRoom>();
  const deliveries: ScriptedDave[] = [];
  const told: [keyof CallOwner, VoiceMember][] = [];
  const moved: string[] = [];
  const tokens = new Map<string, string>();
  const faults: unknown[] = [];
  const unencrypted: string[] = [];
  let ssrc = 100;
  let bytes = 0;
  const owner = recordingOwner(told, moved, tokens);
  const calls = new Calls({
    settings: { ...SETTINGS, ...changes },
    plane: {
      open(callId, emit) {
        const room = new RecordingRoom(() => ssrc++, emit);
        rooms.set(callId, room);
        return room;
      },
    },
    openDave() {
      const dave = new ScriptedDave();
      deliveries.push(dave);
      return dave;
    },
    supervisor: createSupervisor(),
    wheel: wheelOf(clock),
    nowMs: () => clock.monotonic(),
    randomBytes: (size) => new Uint8Array(size).fill(bytes++ & 0xff),
    owner,
    onFault: (error) => faults.push(error),
    onUnencrypted: ({ userId }) => unencrypted.push(userId),
  });
  const tokenOf = (userId: string, serverId = SERVER) => tokens.get(`${serverId} ${userId}`) ?? '';

  return {
    calls,
    clock,
    told,
    moved,
    faults,
    unencrypted,
    deliveries,
    tokenOf,
    names: (name: keyof CallOwner) =>
      told.flatMap(([kind, voiceMember]) => (kind === name ? [voiceMember.userId] : [])),
    room: (callId = CALL) => given(rooms.get(callId)),
    identify(userId: string, sink: VoiceSink, changed: Partial<VoiceIdentify> = {}) {
      return calls.identify({ ...identifyOf(userId, tokenOf(userId, changed.serverId)), ...changed }, sink);
    },
    resume(userId: string, sink: VoiceSink, seqAck: number, version = 8) {
      const sessionId = `session of ${userId}`;
      return calls.resume({ version, serverId: SERVER, sessionId, token: tokenOf(userId), seqAck }, sink);
    },
    /** Seats a user, identifies and selects UDP. */
    connect(userId: string, voiceMember: Partial<VoiceMember> = {}, changed: Partial<VoiceIdentify> = {}) {
      calls.voiceJoined(seatOf(userId, voiceMember));
      const sink = new RecordingSink();
      const outcome = this.identify(userId, sink, { serverId: voiceMember.serverId ?? SERVER, ...changed });
      const session = opened(outcome);
      session.selectProtocol(UDP);
      return { sink, session };
    },
  };
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('There is none.');
  return value;
}

export const UDP = {
  protocol: 'udp',
  address: '127.0.0.1',
  port: 5,
  mode: 'aead_aes256_gcm_rtpsize',
  codecs: [],
} as const;

export const identifyOf = (userId: string, token: string): VoiceIdentify => ({
  version: 8,
  serverId: SERVER,
  channelId: null,
  userId,
  sessionId: `session of ${userId}`,
  token,
  maxDaveVersion: 1,
  video: false,
  streams: [],
});

export function opened(outcome: ReturnType<Calls['identify']>): VoiceSession {
  if (outcome.kind === 'open') return outcome.session;
  throw new Error(`Closed with ${outcome.code}.`);
}

export const codeOf = (outcome: ReturnType<Calls['identify']>): number =>
  outcome.kind === 'closed' ? outcome.code : 0;
