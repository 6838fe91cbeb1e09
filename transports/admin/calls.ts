import type { CallListing, Engine } from '../../embedding.ts';
import { compareIds } from '../../protocol/ids.ts';

type Listed<Key extends string, From> = Readonly<Record<Key, From>>;

/** A member of a call as the admin API shows it; times in milliseconds, loss from 0 to 1. */
export interface ListedMember
  extends Listed<'user_id', string>,
    Listed<'attached' | 'connected' | 'silenced' | 'deafened' | 'speaking', boolean> {
  /** Null while the user is not connected to the voice gateway. */
  readonly ssrc: number | null;
  readonly transport: 'none' | 'udp' | 'webrtc';
  /** Since the member connected; `in` is what it sends. */
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

/** What `GET /calls` answers. */
export interface CallPage {
  /** False when this server serves no calls. */
  readonly voice: boolean;
  /** Calls there are, on this page or not. */
  readonly total: number;
  /** By ascending id, which is that of their channel. */
  readonly calls: readonly ListedCall[];
}

/** A page of the calls that are on now. */
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
