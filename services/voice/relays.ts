import type { RelayEnd, RelayedClient, VoiceRelays } from '../../actors/call/ports.ts';
import type { Ownership, Router } from '../../actors/placement/ports.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';

/** A voice socket at the shard of the call, as the relay drives it. */
interface RelayedSocket {
  received(bytes: Uint8Array, binary: boolean): void;
  closed(code: number): void;
}

interface RelayPorts {
  readonly ownership: Pick<Ownership, 'self' | 'owns' | 'ownerOf' | 'onChange'>;
  readonly router: Pick<Router, 'tellShard' | 'serve' | 'onBroken'>;
  /** Opens the socket of a client; null when there is no room for it. */
  accept(client: Pick<RelayedClient, 'address' | 'version'>, end: RelayEnd): RelayedSocket | null;
  readonly randomBytes: (size: number) => Uint8Array;
}

const SENT = 1;
/** Close code of a connection that the network has lost. */
const LOST = 1006;
/** Clients resume after it. */
const { code: AGAIN } = VOICE_CLOSE.SERVER_CRASHED;
const BROKEN = 'The link between the shards broke.';
const FULL = 'The shard of the call has no room.';

/**
 * Relays the frames of voice clients between the shard that they have reached and the shard of their call. The first has
 * the connection and bounds what it buffers; the other has the socket's protocol, its session and its deadlines. Messages of
 * one shard to another arrive in order; when some may be missing, the connections are closed, and their clients resume.
 */
export function createVoiceRelays(ports: RelayPorts): VoiceRelays {
  const { router, ownership } = ports;
  const clients = clientsHere(ports);
  const sockets = socketsHere(ports);
  router.onBroken((shardId) => {
    clients.lose(shardId, null);
    sockets.lose(shardId);
  });
  ownership.onChange(({ gone }) => {
    for (const { id, instance } of gone) {
      clients.lose(id, instance);
      sockets.lose(id);
    }
  });
  return clients;
}

/** Clients that have reached this shard, and have their calls at others. */
function clientsHere({ ownership, router, randomBytes }: RelayPorts) {
  interface Entry {
    readonly client: RelayedClient;
    readonly shardId: string;
    readonly instance: string;
  }
  const entries = new Map<number, Entry>();
  // Not a number of an earlier run of this shard, for which others may still relay.
  let lastNumber = Buffer.from(randomBytes(6)).readUIntBE(0, 6);

  const clientOf = (number: number, from: string): RelayedClient | null => {
    const entry = entries.get(number);
    return entry?.shardId === from ? entry.client : null;
  };
  router.serve('voiceSockets.sent', ([number, frame, binary], { from }) =>
    clientOf(number, from)?.pass(frame, binary),
  );
  router.serve('voiceSockets.ended', ([number, code, reason], { from }) => {
    const client = clientOf(number, from);
    if (!client) return;
    entries.delete(number);
    if (code === null) client.terminate();
    else client.close(code, reason);
  });

  return {
    open(serverId: string, client: RelayedClient) {
      if (ownership.owns(serverId)) return 'here';
      const owner = ownership.ownerOf(serverId);
      // This shard may have been paused while another became the owner.
      if (!owner || owner.shardId === ownership.self?.id) return 'unknown';
      const { shardId, instance } = owner;
      lastNumber += 1;
      const number = lastNumber;
      entries.set(number, { client, shardId, instance });
      const { address, version } = client;
      let opening: { readonly address: string; readonly version: number } | null = { address, version };
      return {
        received(bytes: Uint8Array, binary: boolean) {
          const frame = Uint8Array.from(bytes);
          router.tellShard(shardId, 'voiceSockets.received', [number, opening, frame, binary]);
          opening = null;
        },
        closed(code: number) {
          if (entries.delete(number)) router.tellShard(shardId, 'voiceSockets.closed', [number, code]);
        },
      };
    },
    /** Closes the connections of clients with calls at a run of a shard; null: at any run. */
    lose(shardId: string, instance: string | null): void {
      for (const [number, entry] of [...entries]) {
        if (entry.shardId !== shardId || (instance !== null && entry.instance !== instance)) continue;
        entries.delete(number);
        entry.client.close(AGAIN, BROKEN);
      }
    },
  };
}

/** Sockets of clients that have reached other shards, and have their calls here. */
function socketsHere({ router, accept }: RelayPorts) {
  /** By shard and number. */
  const sockets = new Map<string, Map<number, RelayedSocket>>();

  const forget = (from: string, number: number): RelayedSocket | undefined => {
    const known = sockets.get(from);
    const socket = known?.get(number);
    known?.delete(number);
    if (known?.size === 0) sockets.delete(from);
    return socket;
  };
  const ended = (shardId: string, number: number, code: number | null, reason: string): void => {
    const socket = forget(shardId, number);
    if (!socket) return;
    router.tellShard(shardId, 'voiceSockets.ended', [number, code, reason]);
    socket.closed(code ?? LOST);
  };
  const endOf = (shardId: string, number: number): RelayEnd => ({
    send(frame, isBinary) {
      const bytes = typeof frame === 'string' ? Buffer.from(frame) : frame;
      router.tellShard(shardId, 'voiceSockets.sent', [number, bytes, isBinary]);
      return SENT;
    },
    // The shard that has the connection bounds what waits for its client.
    getBufferedAmount: () => 0,
    end: (code, reason) => ended(shardId, number, code, reason),
    close: () => ended(shardId, number, null, ''),
  });
  router.serve('voiceSockets.received', ([number, client, frame, binary], { from }) => {
    if (client) {
      const socket = accept(client, endOf(from, number));
      if (!socket) {
        router.tellShard(from, 'voiceSockets.ended', [number, AGAIN, FULL]);
        return;
      }
      const known = sockets.get(from) ?? new Map<number, RelayedSocket>();
      sockets.set(from, known.set(number, socket));
    }
    sockets.get(from)?.get(number)?.received(frame, binary);
  });
  router.serve('voiceSockets.closed', ([number, code], { from }) => forget(from, number)?.closed(code));

  return {
    lose(shardId: string): void {
      for (const number of [...(sockets.get(shardId)?.keys() ?? [])]) ended(shardId, number, AGAIN, BROKEN);
    },
  };
}
