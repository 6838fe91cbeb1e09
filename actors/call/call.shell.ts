import { type ActorRefFrom, createActor } from 'xstate';
import { newCallState } from '../../engine/call/call.ts';
import type { CallDispatch, PeerRequest } from '../../engine/call/dispatch.ts';
import type { CallMember } from '../../engine/call/member.ts';
import { descriptionPayload } from '../../engine/call/payloads.ts';
import type { CallCommands } from '../../engine/call/rules.ts';
import { layersOf } from '../../engine/call/video.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { OpenDaveDelivery } from '../../media/dave/delivery.ts';
import type { MediaEvent, MediaPlane, MediaRoom } from '../../media/plane.ts';
import type { UserId } from '../../protocol/ids.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import { type CallEvent, type CallShellEffects, callMachine } from './call.machine.ts';
import { CallEncryption } from './encryption.ts';
import { applySetting } from './mediasettings.ts';
import type { Participant } from './participant.ts';
import type { VoiceIdentify, VoiceSink } from './ports.ts';
import { CallRunner } from './runner.ts';
import { CallSession, type CallSessionHost, type Close, weightOf } from './session.ts';

/** State shared by all calls; one object, to keep each call small. */
export interface CallHost extends Pick<CallSessionHost, 'ring' | 'resumeWindowMs' | 'wheel'> {
  readonly supervisor: Supervisor;
  readonly plane: Pick<MediaPlane, 'open'>;
  readonly openDave: OpenDaveDelivery;
  readonly e2eeRequired: boolean;
  /** Deadline for members to report ready for a DAVE transition. */
  readonly transitionMs: number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** A voice session has ended while its user stays in voice. `expired`: the client did not resume it in time. */
  absent(participant: Participant, expired: boolean): void;
  /** The user must connect again, with another ticket. */
  renew(participant: Participant): void;
  /** The media of the call were lost and cannot be restored. */
  lost(call: CallActor): void;
  released(call: CallActor): void;
  crashed(call: CallActor, error: unknown): void;
  counted(what: string, result: string): void;
  onFault(error: unknown, callId: string): void;
}

/** A dispatch of one kind. */
type DispatchOf<K extends CallDispatch['kind']> = CallDispatch & { readonly kind: K };

/**
 * One call: runs the commands of its aggregate in order (`engine/call`), and carries out what they dispatch. It holds
 * what has a lifetime: the places, the voice sessions, and, while at least one member is connected, the media room and
 * the DAVE delivery service.
 */
export class CallActor implements CallShellEffects, CallSessionHost {
  /** The call's names: its own, the DAVE group's, and those of its server. */
  readonly names: Pick<VoiceMember, 'callId' | 'groupId' | 'serverId' | 'guildId'>;
  readonly startedMs: number;
  readonly places = new Map<string, Participant>();
  readonly #host: CallHost;
  readonly #runner: CallRunner;
  readonly #sessions = new Map<string, CallSession>();
  readonly #actor: ActorRefFrom<typeof callMachine>;
  #room: MediaRoom | null = null;
  #dave: CallEncryption | null = null;

  constructor({ callId, groupId, serverId, guildId }: CallActor['names'], host: CallHost) {
    this.names = { callId, groupId, serverId, guildId };
    this.startedMs = host.nowMs();
    this.#host = host;
    this.#runner = new CallRunner(newCallState(host.e2eeRequired), host, (dispatch) =>
      this.#carryOut(dispatch),
    );
    this.#actor = createActor(callMachine, { input: this, parent: host.supervisor });
    this.#actor.subscribe({ error: (error) => this.#crashed(error) });
    this.#actor.start();
  }

  get callId(): string {
    return this.names.callId;
  }

  get ring() {
    return this.#host.ring;
  }

  get resumeWindowMs() {
    return this.#host.resumeWindowMs;
  }

  get wheel() {
    return this.#host.wheel;
  }

  get supervisor() {
    return this.#host.supervisor;
  }

  /** The connected members. */
  get members(): ReadonlyMap<UserId, CallMember> {
    return this.#runner.state.members;
  }

  get encryption(): Pick<CallEncryption, 'version' | 'epoch' | 'phase'> | null {
    return this.#dave;
  }

  isAudioReceived(userId: UserId): boolean {
    return this.members.get(userId)?.speech.isReceived ?? false;
  }

  run<N extends keyof CallCommands>(type: N, input: CallCommands[N]['input']): void {
    this.#runner.run(type, input);
  }

  /** Opens a voice session for a place without one, and introduces it and the other members to each other. */
  enter(participant: Participant, identify: VoiceIdentify, sink: VoiceSink): CallSession {
    if (this.#sessions.size === 0) this.#send('connect');
    const room = this.#room;
    if (!room) throw new Error('The call has no media room: no member is connected.');
    const { voiceMember, audience } = participant;
    const { userId } = voiceMember;
    const media = room.join({ userId, layers: layersOf(identify.streams, identify.video) });
    const { version, maxDaveVersion } = identify;
    const session = new CallSession({ userId, version, maxDaveVersion }, sink, this);
    this.#sessions.set(userId, session);
    participant.take(session);
    this.run('enter', {
      ...{ voiceMember, audience, ssrc: media.ssrc, layers: media.streams, address: room.address },
      mediaSessionId: Buffer.from(this.#host.randomBytes(16)).toString('hex'),
    });
    return session;
  }

  /** Removes a user from the call. */
  vacate(participant: Participant, close: Close): void {
    participant.leave();
    const { userId } = participant.voiceMember;
    if (this.places.get(userId) === participant) this.places.delete(userId);
    participant.session?.end(close);
    participant.session = null;
    if (this.places.size === 0) this.#send('end');
  }

  /** Removes all users and ends the call. */
  terminate(close: Close): void {
    for (const participant of [...this.places.values()]) this.vacate(participant, close);
    this.#send('end');
  }

  open(): void {
    const { plane, openDave, e2eeRequired, transitionMs, randomBytes, wheel } = this.#host;
    const { callId, groupId } = this.names;
    const room = plane.open(callId, (event) => {
      if (room === this.#room) this.#happened(event);
    });
    this.#room = room;
    this.run('openMedia', {});
    const delivery = openDave({ groupId, required: e2eeRequired, transitionMs, randomBytes });
    this.#dave = new CallEncryption(delivery, {
      wheel,
      nowMs: () => this.#host.nowMs(),
      described: (userId) => {
        const session = this.#sessions.get(userId);
        return session?.lifecycle.described ? session : null;
      },
      settled: (phase) => this.run('changeEncryption', { phase }),
      counted: (what, result) => this.#host.counted(what, result),
      expel: (session, close) => session.end(close),
    });
  }

  close(): void {
    this.#dave?.close();
    this.#dave = null;
    this.#room?.close();
    this.#room = null;
  }

  release(): void {
    this.#host.released(this);
  }

  daveReceived(session: CallSession, op: number, payload: Uint8Array): void {
    if (session.lifecycle.described) this.#dave?.received(session.userId, op, payload);
  }

  daveReady(session: CallSession, transitionId: number): void {
    if (session.lifecycle.described) this.#dave?.ready(session.userId, transitionId);
  }

  daveInvalid(session: CallSession, transitionId: number): void {
    if (session.lifecycle.described) this.#dave?.invalid(session.userId, transitionId);
  }

  left(session: CallSession, expired: boolean): void {
    const { userId } = session;
    if (this.#sessions.get(userId) !== session) return;
    this.#sessions.delete(userId);
    this.#runner.inOrder(() => {
      this.#runner.decide('leave', { userId });
      if (this.#sessions.size === 0) this.#send('empty');
      const participant = this.places.get(userId);
      if (participant?.session !== session) return;
      participant.session = null;
      this.#host.absent(participant, expired);
    });
  }

  onFault(error: unknown): void {
    this.#host.onFault(error, this.callId);
  }

  #happened(event: MediaEvent): void {
    if (event.type === 'restored') this.run('restoreMedia', {});
    else if (event.type === 'lost') this.#host.lost(this);
    else {
      const userId = this.#runner.state.bySsrc.get(event.ssrc);
      if (userId !== undefined) this.#happenedTo(userId, event);
    }
  }

  #happenedTo(userId: UserId, event: MediaEvent & { readonly ssrc: number }): void {
    if (event.type === 'speaking') this.run('hear', { userId, isReceived: event.speaking });
    else if (event.type === 'exhausted') this.run('exhaustKey', { userId });
    else {
      const isReached = event.type === 'connected';
      this.#sessions.get(userId)?.lifecycle.send(isReached ? 'reach' : 'lose');
      this.run(isReached ? 'reachMedia' : 'loseMedia', { userId });
    }
  }

  #carryOut(dispatch: CallDispatch): void {
    switch (dispatch.kind) {
      case 'toMember':
        this.#sessions.get(dispatch.userId)?.send(dispatch.op, dispatch.d);
        return;
      case 'toMemberOnce':
        this.#sessions.get(dispatch.userId)?.sendOnce(dispatch.op, dispatch.d);
        return;
      case 'toOthers':
        this.#sendToOthers(dispatch);
        return;
      case 'requestPeer':
        this.#requestPeer(dispatch.peer, dispatch.fragment);
        return;
      case 'describe':
        this.#describe(dispatch);
        return;
      case 'leaveGroup':
        this.#dave?.leave(dispatch.userId);
        return;
      case 'announceLater': {
        const { userId, delayMs } = dispatch;
        this.wheel.after(() => this.run('announceSpeaking', { userId }), delayMs);
        return;
      }
      case 'spoke':
        this.places.get(dispatch.userId)?.spoke(this.#host.nowMs());
        return;
      case 'close':
        this.#closeConnection(dispatch);
        return;
      case 'renewTicket': {
        const participant = this.places.get(dispatch.userId);
        if (participant) this.#host.renew(participant);
        return;
      }
      default:
        if (this.#room) applySetting(this.#room, dispatch);
    }
  }

  /** The frame is weighed once for all members. */
  #sendToOthers({ userId, op, d }: DispatchOf<'toOthers'>): void {
    const weightBytes = weightOf(d);
    for (const session of this.#sessions.values())
      if (session.userId !== userId) session.send(op, d, weightBytes);
  }

  #describe({ userId, transport, videoCodec, mediaSessionId }: DispatchOf<'describe'>): void {
    const session = this.#sessions.get(userId);
    const dave = this.#dave;
    if (!session || !dave) return;
    const describe = (daveVersion: number) => {
      session.lifecycle.send('describe');
      session.send(
        VOICE_OP.SESSION_DESCRIPTION,
        descriptionPayload(transport, { daveVersion, videoCodec, mediaSessionId }),
      );
    };
    if (session.lifecycle.described) describe(dave.versionOf(session));
    else dave.join(session, describe);
  }

  #requestPeer(peer: PeerRequest, fragment: string): void {
    this.#room?.connectPeer(peer.ssrc, fragment).then(
      (sdp) => this.run('answerPeer', { ...peer, sdp }),
      (error: unknown) => {
        this.onFault(error);
        this.run('failPeer', peer);
      },
    );
  }

  #closeConnection({ userId, close }: DispatchOf<'close'>): void {
    const session = this.#sessions.get(userId);
    if (close.resumable) session?.cut(close);
    else session?.end(close);
  }

  #send(type: CallEvent['type']): void {
    // A stopped actor would log a warning for every event.
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send({ type });
  }

  #crashed(error: unknown): void {
    this.close();
    this.#host.crashed(this, error);
  }
}
