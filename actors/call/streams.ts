import { type Seat, sameSeat } from '../../engine/call/seat.ts';
import {
  leaveReason,
  type Stream,
  type StreamEnd,
  type StreamPlace,
  serverOf,
  streamCreate,
  streamDelete,
  streamKey,
  streamRefusal,
  streamSeat,
  streamServerUpdate,
  streamUpdate,
  watchRefusal,
} from '../../engine/call/stream.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { StreamRequest } from '../session/requests.ts';
import type { Seats } from './ports.ts';

/** Who asks: a gateway session of a person. */
export interface Streamer {
  readonly userId: UserId;
  readonly sessionId: string;
}

interface StreamPorts {
  /** The calls, those of streams among them. */
  readonly calls: Seats & { seatOf(serverId: string, userId: string): Seat | null };
  readonly nextId: () => string;
  readonly region: string;
  /** Delivers a dispatch to that session alone. */
  readonly tell: (to: Streamer, t: DispatchName, d: object) => void;
  /** Has the owner's voice state say whether it streams. */
  readonly show: (stream: Stream, live: boolean) => void;
}

/**
 * All Go Live streams of this process. It hears where everyone is in voice before the calls do: who leaves the voice
 * channel leaves its streams, and a stream ends with its owner's leave to show it.
 */
export class Streams implements Seats {
  readonly #ports: StreamPorts;
  readonly #byKey = new Map<string, Stream>();
  readonly #byCall = new Map<string, Stream>();
  /** By the guild or private channel. */
  readonly #byServer = new Map<string, Set<Stream>>();

  constructor(ports: StreamPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** The stream whose call that is; undefined for other calls. */
  of(callId: string): Stream | undefined {
    return this.#byCall.get(callId);
  }

  /** Stream opcodes (18 to 22). What is refused is answered with a STREAM_DELETE that says why. */
  ask(by: Streamer, request: StreamRequest): void {
    if (request.type === 'create') this.#create(by, { ...request.place, ownerId: by.userId });
    else {
      const { streamKey: key } = request;
      const stream = this.#byKey.get(key);
      if (!stream) this.#ports.tell(by, 'STREAM_DELETE', streamDelete(key, 'stream_ended'));
      else if (request.type === 'watch') this.#watch(stream, by);
      else if (stream.seats.get(by.userId)?.sessionId === by.sessionId) this.#change(stream, by, request);
    }
  }

  #change(
    stream: Stream,
    { userId }: Streamer,
    request: Exclude<StreamRequest, { type: 'create' | 'watch' }>,
  ): void {
    const isOwner = userId === stream.ownerId;
    const seat = stream.seats.get(userId);
    if (request.type === 'delete') this.#leave(stream, userId, 'user_requested');
    // To be seated again is to be told again where to connect, unless one is connected.
    else if (request.type === 'ping' && seat) this.#ports.calls.seated(seat);
    else if (request.type === 'setPaused' && isOwner && stream.paused !== request.paused) {
      stream.paused = request.paused;
      this.#tellAll(stream);
    }
  }

  #create(by: Streamer, place: StreamPlace): void {
    const { calls, nextId, show } = this.#ports;
    const key = streamKey(place);
    const seat = calls.seatOf(serverOf(place), by.userId);
    const refusal = streamRefusal(place, seat, by.sessionId);
    const known = this.#byKey.get(key);
    if (refusal || !seat)
      this.#ports.tell(by, 'STREAM_DELETE', streamDelete(key, refusal ?? 'invalid_channel'));
    else if (known) this.#enter(known, seat);
    else {
      const { sessionId } = by;
      const stream = { ...place, key, sessionId, rtcServerId: nextId(), seats: new Map(), paused: false };
      this.#add(stream);
      show(stream, true);
      this.#enter(stream, seat);
    }
  }

  #add(stream: Stream): void {
    this.#byKey.set(stream.key, stream);
    this.#byCall.set(stream.rtcServerId, stream);
    const others = this.#byServer.get(serverOf(stream));
    if (others) others.add(stream);
    else this.#byServer.set(serverOf(stream), new Set([stream]));
  }

  #remove(stream: Stream): void {
    this.#byKey.delete(stream.key);
    this.#byCall.delete(stream.rtcServerId);
    const others = this.#byServer.get(serverOf(stream));
    others?.delete(stream);
    if (others?.size === 0) this.#byServer.delete(serverOf(stream));
  }

  #watch(stream: Stream, by: Streamer): void {
    const seat = this.#ports.calls.seatOf(serverOf(stream), by.userId);
    const refusal = watchRefusal(stream, seat, by.sessionId);
    if (refusal || !seat)
      this.#ports.tell(by, 'STREAM_DELETE', streamDelete(stream.key, refusal ?? 'invalid_channel'));
    else this.#enter(stream, seat);
  }

  #enter(stream: Stream, seat: Seat): void {
    const isNew = !stream.seats.has(seat.userId);
    const own = streamSeat(stream, seat);
    stream.seats.set(seat.userId, own);
    this.#ports.tell(seat, 'STREAM_CREATE', streamCreate(stream, this.#ports.region));
    if (isNew) this.#tellAll(stream, seat.userId);
    this.#ports.calls.seated(own);
  }

  /** Takes somebody out; with its owner the stream is over. */
  #leave(stream: Stream, userId: UserId, reason: StreamEnd): void {
    const seat = stream.seats.get(userId);
    if (!seat) return;
    if (userId === stream.ownerId) this.#end(stream, reason);
    else {
      stream.seats.delete(userId);
      this.#ports.tell(seat, 'STREAM_DELETE', streamDelete(stream.key, reason));
      this.#tellAll(stream);
      this.#ports.calls.unseated(stream.rtcServerId, userId);
    }
  }

  #end(stream: Stream, reason: StreamEnd): void {
    const { calls, tell, show } = this.#ports;
    this.#remove(stream);
    const seats = [...stream.seats.values()];
    stream.seats.clear();
    show(stream, false);
    for (const seat of seats) {
      const why = seat.userId === stream.ownerId ? reason : 'stream_ended';
      tell(seat, 'STREAM_DELETE', streamDelete(stream.key, why));
    }
    calls.ended(stream.rtcServerId);
  }

  #tellAll(stream: Stream, exceptId: UserId | null = null): void {
    const d = streamUpdate(stream, this.#ports.region);
    for (const seat of stream.seats.values())
      if (seat.userId !== exceptId) this.#ports.tell(seat, 'STREAM_UPDATE', d);
  }

  // From the owners of seats in voice channels

  seated(seat: Seat): void {
    for (const [stream, before] of this.#streamsOf(seat.serverId, seat.userId)) {
      const reason = leaveReason(stream, seat);
      const after = streamSeat(stream, seat);
      if (reason) this.#leave(stream, seat.userId, reason);
      else if (!sameSeat(before, after)) {
        stream.seats.set(seat.userId, after);
        this.#ports.calls.seated(after);
      }
    }
  }

  unseated(serverId: string, userId: UserId): void {
    for (const [stream] of this.#streamsOf(serverId, userId)) this.#leave(stream, userId, 'invalid_channel');
  }

  ended(callId: string): void {
    for (const stream of [...this.#byKey.values()])
      if (stream.channelId === callId) this.#end(stream, 'invalid_channel');
  }

  /** The streams of that server in which a user is, with the seat. O(streams of the server). */
  #streamsOf(serverId: string, userId: UserId): [Stream, Seat][] {
    return [...(this.#byServer.get(serverId) ?? [])].flatMap((stream): [Stream, Seat][] => {
      const seat = stream.seats.get(userId);
      return seat ? [[stream, seat]] : [];
    });
  }

  // From the calls of streams

  /** The ticket to the call. */
  invite(stream: Stream, seat: Seat, token: string, endpoint: string | null): void {
    this.#ports.tell(seat, 'STREAM_SERVER_UPDATE', streamServerUpdate(stream, token, endpoint));
  }

  /** The call has lost a user for good, or never let them in. */
  dropped(stream: Stream, { userId, sessionId }: Seat): void {
    if (stream.seats.get(userId)?.sessionId === sessionId) this.#leave(stream, userId, 'stream_ended');
  }
}
