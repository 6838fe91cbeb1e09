import { type ActorRefFrom, createActor } from 'xstate';
import { sameAddress } from '../../engine/call/address.ts';
import { gateOf } from '../../engine/call/audibility.ts';
import { ownVideo, shownVideo, showsVideo, speakingPayload, videoPayload } from '../../engine/call/member.ts';
import { descriptionPayload, readyPayload, type Transport } from '../../engine/call/payloads.ts';
import { type SinkWants, sharedCodecs, videoCodec, wantedLayers } from '../../engine/call/video.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { OpenDaveDelivery } from '../../media/dave/delivery.ts';
import type { MediaEvent, MediaPlane, MediaRoom } from '../../media/plane.ts';
import { TRANSPORT_MODES, VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import { type CallEvent, type CallShellEffects, callMachine } from './call.machine.ts';
import { CallEncryption } from './encryption.ts';
import type { Participant } from './participant.ts';
import type { SelectProtocol, VideoUpdate, VoiceCodec, VoiceIdentify, VoiceSink } from './ports.ts';
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
  lost(call: Call): void;
  released(call: Call): void;
  crashed(call: Call, error: unknown): void;
  counted(what: string, result: string): void;
  onFault(error: unknown, callId: string): void;
}

/** Upper bound on Select Protocol frames before media arrive; each may cost a peer connection. */
const ATTEMPTS_MAX = 16;
/** Shorter than a pause between words. */
const SPEAKING_APART_MS = 100;
const WHOLE_PICTURE = [{ type: 'video', rid: '100', quality: 100 }];

/**
 * One call: its places, its connected members, and the frames that introduce them to each other. The media room and the DAVE
 * delivery service exist while at least one member is connected.
 */
export class Call implements CallShellEffects, CallSessionHost {
  readonly callId: string;
  readonly groupId: string;
  readonly serverId: string;
  readonly guildId: string | null;
  readonly startedMs: number;
  readonly places = new Map<string, Participant>();
  readonly #host: CallHost;
  readonly #sessions = new Map<string, CallSession>();
  readonly #bySsrc = new Map<number, CallSession>();
  readonly #actor: ActorRefFrom<typeof callMachine>;
  #room: MediaRoom | null = null;
  #dave: CallEncryption | null = null;

  constructor(voiceMember: Pick<VoiceMember, 'callId' | 'groupId' | 'serverId' | 'guildId'>, host: CallHost) {
    this.callId = voiceMember.callId;
    this.groupId = voiceMember.groupId;
    this.serverId = voiceMember.serverId;
    this.guildId = voiceMember.guildId;
    this.startedMs = host.nowMs();
    this.#host = host;
    this.#actor = createActor(callMachine, { input: this, parent: host.supervisor });
    this.#actor.subscribe({ error: (error) => this.#crashed(error) });
    this.#actor.start();
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

  get sessions(): ReadonlyMap<string, CallSession> {
    return this.#sessions;
  }

  get encryption(): Pick<CallEncryption, 'version' | 'epoch' | 'phase'> | null {
    return this.#dave;
  }

  /** Opens a voice session for a place without one, and introduces it and the other members to each other. */
  enter(participant: Participant, identify: VoiceIdentify, sink: VoiceSink): CallSession {
    if (this.#sessions.size === 0) this.#send('connect');
    const room = this.#room;
    if (!room) throw new Error('The call has no media room: no member is connected.');
    const asked = identify.streams.length === 0 && identify.video ? WHOLE_PICTURE : identify.streams;
    const media = room.join({ userId: participant.voiceMember.userId, layers: asked });
    const start = {
      ...identify,
      mediaSessionId: Buffer.from(this.#host.randomBytes(16)).toString('hex'),
      voiceMember: participant.voiceMember,
      audience: participant.audience,
      media,
    };
    const session = new CallSession(start, sink, this);
    this.#sessions.set(session.userId, session);
    this.#bySsrc.set(session.ssrc, session);
    participant.take(session);
    room.setSinkWants(session.ssrc, session.member.wants);
    this.#applyGate(session);
    this.#applyAudiences(session);
    session.sendOnce(VOICE_OP.READY, readyPayload(media.ssrc, room.address, media.streams));
    this.introduce(session);
    this.#tell(VOICE_OP.CLIENTS_CONNECT, { user_ids: [session.userId] }, session);
    // Media are faster than signalling: stock clients drop packets of an SSRC that they do not know yet.
    this.#tellSpeaking(session);
    return session;
  }

  /** Sends a session the other members: their user ids, SSRCs and video streams. */
  introduce(session: CallSession): void {
    const others = [...this.#sessions.values()].filter((other) => other !== session);
    if (others.length > 0)
      session.send(VOICE_OP.CLIENTS_CONNECT, { user_ids: others.map(({ userId }) => userId) });
    for (const other of others) {
      if (other.toldSpeaking !== null) session.send(VOICE_OP.SPEAKING, speakingPayload(other.member));
      if (showsVideo(other.member)) session.send(VOICE_OP.VIDEO, videoPayload(other.member));
    }
  }

  /** The voice state of the place's user has changed. */
  memberChanged({ voiceMember, session }: Participant): void {
    if (!session) return;
    session.member = { ...session.member, voiceMember };
    this.#applyGate(session);
    this.#tellSpeaking(session);
    this.#tellVideo(session);
  }

  /** The set of users that may hear the place's user has changed. */
  audienceChanged(participant: Participant): void {
    const { session, audience } = participant;
    if (!session) return;
    session.member = { ...session.member, audience };
    this.#room?.setAudience(session.ssrc, this.#audienceOf(session));
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
    const { plane, openDave, e2eeRequired, transitionMs, randomBytes } = this.#host;
    const room = plane.open(this.callId, (event) => {
      if (room === this.#room) this.#happened(event);
    });
    this.#room = room;
    room.setEncryptedOnly(e2eeRequired);
    const delivery = openDave({
      groupId: this.groupId,
      required: e2eeRequired,
      transitionMs,
      randomBytes,
    });
    this.#dave = new CallEncryption(delivery, {
      wheel: this.#host.wheel,
      nowMs: () => this.#host.nowMs(),
      described: (userId) => {
        const session = this.#sessions.get(userId);
        return session?.lifecycle.described ? session : null;
      },
      // While all members are in one epoch, unencrypted media are not forwarded.
      phase: (phase) => room.setEncryptedOnly(e2eeRequired || phase === 'secure'),
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

  selected(session: CallSession, select: SelectProtocol): void {
    session.selections += 1;
    session.attempts += 1;
    if (session.attempts > ATTEMPTS_MAX) {
      session.end(VOICE_CLOSE.RATE_LIMITED);
      return;
    }
    if (select.codecs.length > 0) this.#noteCodecs(session, select.codecs);
    if (select.protocol === 'webrtc') this.#selectPeer(session, select.fragment);
    else this.#selectUdp(session, select);
  }

  spoke(session: CallSession, flags: number): void {
    const { speech } = session.member;
    session.member = { ...session.member, speech: { ...speech, claimed: flags } };
    if (flags !== 0) this.places.get(session.userId)?.spoke(this.#host.nowMs());
    this.#tellSpeaking(session);
  }

  filmed(session: CallSession, update: VideoUpdate): void {
    session.member = { ...session.member, video: ownVideo(session.member, update) };
    this.#tellVideo(session);
  }

  coded(session: CallSession, codecs: readonly VoiceCodec[]): void {
    this.#noteCodecs(session, codecs);
    this.#tellCodecs();
  }

  wanted(session: CallSession, wants: SinkWants): void {
    session.member = { ...session.member, wants };
    this.#room?.setSinkWants(session.ssrc, wants);
    this.#tellWants();
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
    this.#bySsrc.delete(session.ssrc);
    this.#room?.leave(session.ssrc);
    this.#tell(VOICE_OP.CLIENT_DISCONNECT, { user_id: userId }, session);
    this.#dave?.leave(userId);
    if (this.#sessions.size === 0) this.#send('empty');
    else {
      this.#applyAudiences(session);
      this.#tellCodecs();
      this.#tellWants();
    }
    const participant = this.places.get(userId);
    if (participant?.session !== session) return;
    participant.session = null;
    this.#host.absent(participant, expired);
  }

  onFault(error: unknown): void {
    this.#host.onFault(error, this.callId);
  }

  #noteCodecs(session: CallSession, codecs: readonly VoiceCodec[]): void {
    session.member = { ...session.member, codecs };
    this.#room?.setPayloadTypes(session.ssrc, codecs);
  }

  #selectUdp(session: CallSession, select: SelectProtocol & { readonly protocol: 'udp' }): void {
    const mode = TRANSPORT_MODES.find((known) => known === select.mode);
    if (!mode) {
      session.end(VOICE_CLOSE.UNKNOWN_ENCRYPTION_MODE);
      return;
    }
    const key = this.#host.randomBytes(32);
    const { address, port } = select;
    const isOwn = session.address !== null && sameAddress(session.address, address);
    this.#room?.connectUdp(session.ssrc, { mode, key, claimed: isOwn ? { address, port } : null });
    this.#describe(session, { kind: 'udp', mode, key });
  }

  #selectPeer(session: CallSession, fragment: string): void {
    const selection = session.selections;
    // A later Select Protocol, or the end of the session, voids this one.
    const isStale = () => session.over || session.selections !== selection;
    this.#room?.connectPeer(session.ssrc, fragment).then(
      (sdp) => {
        if (isStale()) return;
        if (sdp === null) session.end(VOICE_CLOSE.UNKNOWN_PROTOCOL);
        else this.#describe(session, { kind: 'webrtc', sdp });
      },
      (error: unknown) => {
        this.#host.onFault(error, this.callId);
        if (!isStale()) session.cut(VOICE_CLOSE.WEBRTC_CRASHED);
      },
    );
  }

  #describe(session: CallSession, transport: Transport): void {
    const codec = videoCodec(session.member.codecs, this.#sharedCodecs());
    session.toldCodec = codec;
    const describe = (daveVersion: number) => {
      const { mediaSessionId } = session;
      session.transport = transport.kind;
      session.lifecycle.send('describe');
      session.send(
        VOICE_OP.SESSION_DESCRIPTION,
        descriptionPayload(transport, { daveVersion, videoCodec: codec, mediaSessionId }),
      );
    };
    if (session.lifecycle.described) describe(Math.min(this.#dave?.version ?? 0, session.maxDaveVersion));
    else this.#dave?.join(session, describe);
    this.#tellCodecs();
    this.#tellWants();
  }

  #happened(event: MediaEvent): void {
    if (event.type === 'restored') {
      for (const session of this.#sessions.values()) session.cut(VOICE_CLOSE.SERVER_CRASHED);
      return;
    }
    if (event.type === 'lost') {
      this.#host.lost(this);
      return;
    }
    const session = this.#bySsrc.get(event.ssrc);
    if (!session) return;
    const participant = this.places.get(session.userId);
    if (event.type === 'connected') {
      session.attempts = 0;
      session.lifecycle.send('reach');
    } else if (event.type === 'speaking') {
      const { speech } = session.member;
      session.member = { ...session.member, speech: { ...speech, heard: event.speaking } };
      participant?.spoke(this.#host.nowMs());
      this.#tellSpeaking(session);
    } else if (event.type === 'unreachable') {
      session.lifecycle.send('lose');
      // A peer connection does not recover by itself; a UDP client recovers with its next packet.
      if (session.transport === 'webrtc') session.cut(VOICE_CLOSE.WEBRTC_CRASHED);
    } else if (participant) {
      session.end(VOICE_CLOSE.SESSION_INVALID);
      this.#host.renew(participant);
    }
  }

  #tell(op: number, d: object, except: CallSession): void {
    const weightBytes = weightOf(d);
    for (const session of this.#sessions.values()) if (session !== except) session.send(op, d, weightBytes);
  }

  /** Sends a change at once, then waits a moment: rapidly changing flags must not load a large call. */
  #tellSpeaking(session: CallSession): void {
    if (session.over || session.hushed) return;
    const payload = speakingPayload(session.member);
    // A member that was never allowed to speak has sent no media, so nobody needs its SSRC.
    const isUnheard = session.toldSpeaking === null && session.member.voiceMember.silenced;
    if (isUnheard || payload.speaking === session.toldSpeaking) return;
    // Announcing an SSRC is not a change of its flags.
    session.hushed = session.toldSpeaking !== null || payload.speaking !== 0;
    session.toldSpeaking = payload.speaking;
    this.#tell(VOICE_OP.SPEAKING, payload, session);
    if (!session.hushed) return;
    this.wheel.after(() => {
      session.hushed = false;
      this.#tellSpeaking(session);
    }, SPEAKING_APART_MS);
  }

  #tellVideo(session: CallSession): void {
    const video = shownVideo(session.member);
    if (video === session.toldVideo) return;
    session.toldVideo = video;
    const streams = video.streams.map(({ ssrc, rtx_ssrc: rtxSsrc, rid, quality, active }) => ({
      ssrc,
      rtxSsrc,
      rid,
      quality,
      active,
    }));
    this.#room?.setStreams(session.ssrc, streams);
    this.#tell(VOICE_OP.VIDEO, videoPayload(session.member), session);
    this.#tellWants();
  }

  /** Sends members with video the requested layers, when these have changed. */
  #tellWants(): void {
    for (const sender of this.#sessions.values()) {
      if (!showsVideo(sender.member)) continue;
      const wanted = wantedLayers(sender.member.layers, this.#wantsBesides(sender));
      const encoded = JSON.stringify(wanted);
      if (encoded === sender.sentWants) continue;
      sender.sentWants = encoded;
      sender.send(VOICE_OP.MEDIA_SINK_WANTS, wanted);
    }
  }

  *#wantsBesides(sender: CallSession): Generator<SinkWants> {
    for (const session of this.#sessions.values()) if (session !== sender) yield session.member.wants;
  }

  #sharedCodecs(): ReadonlySet<string> {
    return sharedCodecs([...this.#sessions.values()].map(({ member }) => member.codecs));
  }

  /** Sends SESSION_UPDATE to members whose video codec has changed. */
  #tellCodecs(): void {
    const shared = this.#sharedCodecs();
    for (const session of this.#sessions.values()) {
      const codec = videoCodec(session.member.codecs, shared);
      if (!session.lifecycle.described || codec === session.toldCodec) continue;
      session.toldCodec = codec;
      const { mediaSessionId } = session;
      session.send(VOICE_OP.SESSION_UPDATE, {
        audio_codec: 'opus',
        video_codec: codec,
        media_session_id: mediaSessionId,
      });
    }
  }

  #applyGate(session: CallSession): void {
    const gate = gateOf(session.member.voiceMember);
    const encoded = JSON.stringify(gate);
    if (encoded === session.sentGate) return;
    session.sentGate = encoded;
    this.#room?.setGate(session.ssrc, gate);
  }

  /** Media know members by SSRC, so audiences are set again when sessions begin and end. */
  #applyAudiences(changed: CallSession): void {
    for (const session of this.#sessions.values())
      if (session === changed ? session.member.audience : session.member.audience?.has(changed.userId))
        this.#room?.setAudience(session.ssrc, this.#audienceOf(session));
  }

  #audienceOf({ member: { audience } }: CallSession): number[] | null {
    if (audience === null) return null;
    return [...audience].flatMap((userId) => {
      const session = this.#sessions.get(userId);
      return session ? [session.ssrc] : [];
    });
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
