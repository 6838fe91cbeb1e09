import type { CallListing, Engine } from '../../embedding.ts';
import { compareIds } from '../../protocol/ids.ts';

type Listed<Key extends string, From> = Readonly<Record<Key, From>>;

/** A member of a call in the admin API; times in milliseconds, loss from 0 to 1. */
export interface ListedMember
  extends Listed<'user_id', string>,
    Listed<'attached' | 'connected' | 'silenced' | 'deafened' | 'speaking', boolean> {
  /** Null while the user is not connected to the voice gateway. */
  readonly ssrc: number | null;
  readonly transport: 'none' | 'udp' | 'webrtc';
  /** Counted since the member connected; `in` is what the member sends. */
  readonly media: Listed<
    'packets_in' | 'packets_out' | 'bytes_in' | 'bytes_out' | 'loss' | 'jitter_ms',
    number
  > | null;
}

export interface ListedCall extends Listed<'call_id' | 'server_id', string> {
  /** Null in a private channel. */
  readonly guild_id: string | null;
  readonly age_ms: number;
  readonly dave: { readonly version: number; readonly epoch: string | null; readonly phase: string };
  readonly members: readonly ListedMember[];
}

/** The answer of `GET /calls`. */
export interface CallPage {
  /** False when this server does not serve calls. */
  readonly voice: boolean;
  /** Number of all calls, on this page or not. */
  readonly total: number;
  /** Ascending by id, which is the id of the call's channel. */
  readonly calls: readonly ListedCall[];
}

/** A page of the calls in progress. */
export async function callPage(
  { calls, config }: Pick<Engine, 'calls' | 'config'>,
  after: string | null,
  limit: number,
): Promise<CallPage> {
  const all = (await calls.list()).sort((one, other) => compareIds(one.callId, other.callId));
  const rest = after === null ? all : all.filter(({ callId }) => compareIds(callId, after) > 0);
  return { voice: config.voice, total: all.length, calls: rest.slice(0, limit).map(shown) };
}

function shown({ callId, serverId, guildId, ageMs, dave, members }: CallListing): ListedCall {
  return {
    call_id: callId,
    server_id: serverId,
    guild_id: guildId,
    age_ms: Math.round(ageMs),
    dave,
    members: members.map(({ userId, media, ...member }) => ({
      user_id: userId,
      ...member,
      media: media && {
        packets_in: media.packetsIn,
        packets_out: media.packetsOut,
        bytes_in: media.bytesIn,
        bytes_out: media.bytesOut,
        loss: media.loss,
        jitter_ms: media.jitterMs,
      },
    })),
  };
}
