import {
  type GoLiveStream,
  leaveReason,
  type StreamEnd,
  type StreamKey,
  serverOf,
  streamCreate,
  streamDelete,
  streamKey,
  streamRefusal,
  streamServerUpdate,
  streamUpdate,
  streamVoiceMember,
  watchRefusal,
} from '../../engine/call/stream.ts';
import { sameVoiceMember, type VoiceMember } from '../../engine/call/voicemember.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { FreshId, UserId } from '../../protocol/ids.ts';
import type { StreamRequest } from '../../protocol/sessionrequests.ts';
import type { VoiceListener } from './ports.ts';

/** The gateway session of a user that sends a stream request. */
export interface Streamer {
  readonly userId: UserId;
  readonly sessionId: string;
}

interface StreamPorts {
  /** All calls, including the calls of streams. */
  readonly calls: VoiceListener & { voiceMemberOf(serverId: string, userId: string): VoiceMember | null };
  readonly nextId: () => FreshId;
  readonly region: string;
  /** Delivers a dispatch to one session only. */
  readonly deliver: (to: Streamer, t: DispatchName, d: object) => void;
  /** Updates `self_stream` in the owner's voice state. */
  readonly show: (stream: GoLiveStream, live: boolean) => void;
}

/**
 * All Go Live streams of this process. This listener receives voice state changes before the calls do: a user who
 * leaves the voice channel leaves its streams, and a stream ends when its owner leaves.
 */
export class Streams implements VoiceListener {
  readonly #ports: StreamPorts;
  readonly #byKey = new Map<string, GoLiveStream>();
  readonly #byCall = new Map<string, GoLiveStream>();
  /** By id of the guild or private channel. */
  readonly #byServer = new Map<string, Set<GoLiveStream>>();

  constructor(ports: StreamPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** The stream of a call; undefined for a call that is not a stream's. */
  of(callId: string): GoLiveStream | undefined {
    return this.#byCall.get(callId);
  }

  /**
   * Handles the stream opcodes (18 to 22). A refused request is answered with a STREAM_DELETE that contains the reason.
   */
  ask(by: Streamer, request: StreamRequest): void {
    if (request.type === 'create') this.#create(by, { ...request.place, ownerId: by.userId });
    else {
      const { streamKey: key } = request;
      const stream = this.#byKey.get(key);
      if (!stream) this.#ports.deliver(by, 'STREAM_DELETE', streamDelete(key, 'stream_ended'));
      else if (request.type === 'watch') this.#watch(stream, by);
      else if (stream.voiceMembers.get(by.userId)?.sessionId === by.sessionId)
        this.#change(stream, by, request);
    }
  }

  #change(
    stream: GoLiveStream,
    { userId }: Streamer,
    request: Exclude<StreamRequest, { type: 'create' | 'watch' }>,
  ): void {
    const isOwner = userId === stream.ownerId;
    const voiceMember = stream.voiceMembers.get(userId);
    if (request.type === 'delete') this.#leave(stream, userId, 'user_requested');
    // Joining again makes the call send its endpoint again, unless a connection is open.
    else if (request.type === 'ping' && voiceMember) this.#ports.calls.voiceJoined(voiceMember);
    else if (request.type === 'setPaused' && isOwner && stream.paused !== request.paused) {
      stream.paused = request.paused;
      this.#tellAll(stream);
    }
  }

  #create(by: Streamer, place: StreamKey): void {
    const { calls, nextId, show } = this.#ports;
    const key = streamKey(place);
    const voiceMember = calls.voiceMemberOf(serverOf(place), by.userId);
    const refusal = streamRefusal(place, voiceMember, by.sessionId);
    const known = this.#byKey.get(key);
    if (refusal || !voiceMember)
      this.#ports.deliver(by, 'STREAM_DELETE', streamDelete(key, refusal ?? 'invalid_channel'));
    else if (known) this.#enter(known, voiceMember);
    else {
      const { sessionId } = by;
      const stream = {
        ...place,
        key,
        sessionId,
        rtcServerId: nextId(),
        voiceMembers: new Map(),
        paused: false,
      };
      this.#add(stream);
      show(stream, true);
      this.#enter(stream, voiceMember);
    }
  }

  #add(stream: GoLiveStream): void {
    this.#byKey.set(stream.key, stream);
    this.#byCall.set(stream.rtcServerId, stream);
    const others = this.#byServer.get(serverOf(stream));
    if (others) others.add(stream);
    else this.#byServer.set(serverOf(stream), new Set([stream]));
  }

  #remove(stream: GoLiveStream): void {
    this.#byKey.delete(stream.key);
    this.#byCall.delete(stream.rtcServerId);
    const others = this.#byServer.get(serverOf(stream));
    others?.delete(stream);
    if (others?.size === 0) this.#byServer.delete(serverOf(stream));
  }

  #watch(stream: GoLiveStream, by: Streamer): void {
    const voiceMember = this.#ports.calls.voiceMemberOf(serverOf(stream), by.userId);
    const refusal = watchRefusal(stream, voiceMember, by.sessionId);
    if (refusal || !voiceMember)
      this.#ports.deliver(by, 'STREAM_DELETE', streamDelete(stream.key, refusal ?? 'invalid_channel'));
    else this.#enter(stream, voiceMember);
  }

  #enter(stream: GoLiveStream, voiceMember: VoiceMember): void {
    const isNew = !stream.voiceMembers.has(voiceMember.userId);
    const own = streamVoiceMember(stream, voiceMember);
    stream.voiceMembers.set(voiceMember.userId, own);
    this.#ports.deliver(voiceMember, 'STREAM_CREATE', streamCreate(stream, this.#ports.region));
    if (isNew) this.#tellAll(stream, voiceMember.userId);
    this.#ports.calls.voiceJoined(own);
  }

  /** Removes a user from the stream. The stream ends when its owner leaves. */
  #leave(stream: GoLiveStream, userId: UserId, reason: StreamEnd): void {
    const voiceMember = stream.voiceMembers.get(userId);
    if (!voiceMember) return;
    if (userId === stream.ownerId) this.#end(stream, reason);
    else {
      stream.voiceMembers.delete(userId);
      this.#ports.deliver(voiceMember, 'STREAM_DELETE', streamDelete(stream.key, reason));
      this.#tellAll(stream);
      this.#ports.calls.voiceLeft(stream.rtcServerId, userId);
    }
  }

  #end(stream: GoLiveStream, reason: StreamEnd): void {
    const { calls, deliver: tell, show } = this.#ports;
    this.#remove(stream);
    const voiceMembers = [...stream.voiceMembers.values()];
    stream.voiceMembers.clear();
    show(stream, false);
    for (const voiceMember of voiceMembers) {
      const why = voiceMember.userId === stream.ownerId ? reason : 'stream_ended';
      tell(voiceMember, 'STREAM_DELETE', streamDelete(stream.key, why));
    }
    calls.ended(stream.rtcServerId);
  }

  #tellAll(stream: GoLiveStream, exceptId: UserId | null = null): void {
    const d = streamUpdate(stream, this.#ports.region);
    for (const voiceMember of stream.voiceMembers.values())
      if (voiceMember.userId !== exceptId) this.#ports.deliver(voiceMember, 'STREAM_UPDATE', d);
  }

  // Notifications from the owners of voice channels

  voiceJoined(voiceMember: VoiceMember): void {
    for (const [stream, before] of this.#streamsOf(voiceMember.serverId, voiceMember.userId)) {
      const reason = leaveReason(stream, voiceMember);
      const after = streamVoiceMember(stream, voiceMember);
      if (reason) this.#leave(stream, voiceMember.userId, reason);
      else if (!sameVoiceMember(before, after)) {
        stream.voiceMembers.set(voiceMember.userId, after);
        this.#ports.calls.voiceJoined(after);
      }
    }
  }

  voiceLeft(serverId: string, userId: UserId): void {
    for (const [stream] of this.#streamsOf(serverId, userId)) this.#leave(stream, userId, 'invalid_channel');
  }

  ended(callId: string): void {
    for (const stream of [...this.#byKey.values()])
      if (stream.channelId === callId) this.#end(stream, 'invalid_channel');
  }

  /** The streams of a server in which a user is, with the voice member. O(streams of the server). */
  #streamsOf(serverId: string, userId: UserId): [GoLiveStream, VoiceMember][] {
    return [...(this.#byServer.get(serverId) ?? [])].flatMap((stream): [GoLiveStream, VoiceMember][] => {
      const voiceMember = stream.voiceMembers.get(userId);
      return voiceMember ? [[stream, voiceMember]] : [];
    });
  }

  // Notifications from the calls of streams

  /** Sends the token and endpoint of the call. */
  invite(stream: GoLiveStream, voiceMember: VoiceMember, token: string, endpoint: string | null): void {
    this.#ports.deliver(voiceMember, 'STREAM_SERVER_UPDATE', streamServerUpdate(stream, token, endpoint));
  }

  /** The call removed a user for good, or refused the user. */
  dropped(stream: GoLiveStream, { userId, sessionId }: VoiceMember): void {
    if (stream.voiceMembers.get(userId)?.sessionId === sessionId) this.#leave(stream, userId, 'stream_ended');
  }
}
