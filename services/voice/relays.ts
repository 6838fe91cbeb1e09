import type { RelayEnd, RelayedClient, VoiceRelays } from '../../actors/call/ports.ts';
import type { Ownership, Router } from '../../actors/placement/ports.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';

/** A voice socket at the shard of the call, as the relay drives it. */
interface RelayedSocket {
  received(bytes: Uint8Array, binary: boolean): void;
  closed(code: number): void;
}

interface RelayPorts {
  readonly ownership: Pick<Ownership, 'owns' | 'ownerOf' | 'onChange'>;
  readonly router: Pick<Router, 'tellShard' | 'serve' | 'onBroken'>;
  /** Opens the socket of a client; null when there is no room for it. */
  accept(client: Pick<RelayedClient, 'address' | 'version'>, end: RelayEnd): RelayedSocket | null;
  /** Not that of an earlier run of this shard: other shards may still relay for it. */
  readonly firstNumber: number;
}

interface Entry {
  readonly client: RelayedClient;
  readonly shardId: string;
  readonly instance: string;
}

const SENT = 1;
/** Close code of a connection that the network has lost. */
const LOST = 1006;
/** Clients resume after it. */
const { code: AGAIN } = VOICE_CLOSE.SERVER_CRASHED;
const BROKEN = 'The link to the shard of the call broke.';

/**
 * Relays the frames of voice clients between the shard that they have reached and the shard of their call. The first has
 * the connection and bounds what it buffers; the other has the socket's protocol, its session and its deadlines. Messages of
 * one shard to another arrive in order; when some may be missing, the connections are closed, and their clients resume.
 */
export function createVoiceRelays({ ownership, router, accept, firstNumber }: RelayPorts): VoiceRelays {
  /** Clients that have reached this shard, by number. */
  const entries = new Map<number, Entry>();
  /** Sockets of clients that have reached other shards, by shard and number. */
  const sockets = new Map<string, Map<number, RelayedSocket>>();
  let lastNumber = firstNumber;

  const entryOf = (number: number, from: string): Entry | null => {
    const entry = entries.get(number);
    return entry?.shardId === from ? entry : null;
  };
  const forget = (from: string, number: number): RelayedSocket | undefined => {
    const known = sockets.get(from);
    const socket = known?.get(number);
    known?.delete(number);
    if (known?.size === 0) sockets.delete(from);
    return socket;
  };
  const endOf = (shardId: string, number: number): RelayEnd => {
    const ended = (code: number | null, reason: string): void => {
      const socket = forget(shardId, number);
      if (!socket) return;
      router.tellShard(shardId, 'voiceSockets.ended', [number, code, reason]);
      socket.closed(code ?? LOST);
    };
    return {
      send(frame, isBinary) {
        const bytes = typeof frame === 'string' ? Buffer.from(frame) : frame;
        router.tellShard(shardId, 'voiceSockets.sent', [number, bytes, isBinary]);
        return SENT;
      },
      // The shard that has the connection bounds what waits for its client.
      getBufferedAmount: () => 0,
      end: ended,
      close: () => ended(null, ''),
    };
  };
  const lose = (shardId: string, isOver: (entry: Entry) => boolean): void => {
    for (const [number, entry] of [...entries]) {
      if (entry.shardId !== shardId || !isOver(entry)) continue;
      entries.delete(number);
      entry.client.end(AGAIN, BROKEN);
    }
    for (const number of [...(sockets.get(shardId)?.keys() ?? [])]) endOf(shardId, number).end(AGAIN, BROKEN);
  };

  router.serve('voiceSockets.received', ([number, client, frame, binary], { from }) => {
    if (client) {
      const socket = accept(client, endOf(from, number));
      if (!socket) {
        router.tellShard(from, 'voiceSockets.ended', [number, AGAIN, 'The shard of the call has no room.']);
        return;
      }
      const known = sockets.get(from) ?? new Map<number, RelayedSocket>();
      sockets.set(from, known.set(number, socket));
    }
    sockets.get(from)?.get(number)?.received(frame, binary);
  });
  router.serve('voiceSockets.closed', ([number, code], { from }) => forget(from, number)?.closed(code));
  router.serve('voiceSockets.sent', ([number, frame, binary], { from }) =>
    entryOf(number, from)?.client.pass(frame, binary),
  );
  router.serve('voiceSockets.ended', ([number, code, reason], { from }) => {
    const entry = entryOf(number, from);
    entries.delete(number);
    entry?.client.end(code, reason);
  });
  router.onBroken((shardId) => lose(shardId, () => true));
  ownership.onChange(({ gone }) => {
    for (const { id, instance } of gone) lose(id, (entry) => entry.instance === instance);
  });

  return {
    open(serverId, client) {
      const owner = ownership.owns(serverId) ? null : ownership.ownerOf(serverId);
      if (!owner) return null;
      const { shardId, instance } = owner;
      lastNumber += 1;
      const number = lastNumber;
      entries.set(number, { client, shardId, instance });
      const { address, version } = client;
      let opening: { readonly address: string; readonly version: number } | null = { address, version };
      return {
        received(bytes, binary) {
          const frame = Uint8Array.from(bytes);
          router.tellShard(shardId, 'voiceSockets.received', [number, opening, frame, binary]);
          opening = null;
        },
        closed(code) {
          if (entries.delete(number)) router.tellShard(shardId, 'voiceSockets.closed', [number, code]);
        },
      };
    },
  };
}
