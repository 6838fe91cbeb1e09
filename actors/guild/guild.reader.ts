import type { Guild } from '../../engine/guild/guild.ts';
import type { Needs } from '../../engine/guild/topic.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { GuildStore, MessageStore, UserStore } from '../../storage/ports.ts';

export interface GuildReaderPorts {
  readonly guilds: Pick<GuildStore, 'members' | 'bansOf' | 'invitesByCode'>;
  readonly messages: Pick<MessageStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
}

/** A read of one window: the keys that are absent, and how to fetch and keep them. */
interface Read {
  readonly kind: string;
  readonly keys: readonly string[];
  fetch(keys: readonly string[]): Promise<void>;
}

/**
 * Reads what a command needs into the guild's windows. Concurrent reads of one row share one query, so an answer
 * that is older than a later command can never overwrite what that command has written.
 */
export class GuildReader {
  readonly #ports: GuildReaderPorts;
  readonly #guild: Guild;
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(guild: Guild, ports: GuildReaderPorts) {
    this.#guild = guild;
    this.#ports = ports;
  }

  /** Null when everything is there already; else resolves when it is. */
  read(needs: Needs): Promise<void> | null {
    let waits: Promise<void>[] | null = null;
    for (const read of this.#reads(needs)) {
      const fresh: string[] = [];
      for (const key of new Set(read.keys)) {
        const running = this.#underWay.get(read.kind + key);
        if (running) (waits ??= []).push(running);
        else fresh.push(key);
      }
      if (fresh.length === 0) continue;
      const running = read.fetch(fresh).finally(() => {
        for (const key of fresh) this.#underWay.delete(read.kind + key);
      });
      for (const key of fresh) this.#underWay.set(read.kind + key, running);
      (waits ??= []).push(running);
    }
    return waits && Promise.all(waits).then(() => undefined);
  }

  *#reads(needs: Needs): Iterable<Read> {
    const { id, members, bans, users, invites, messages } = this.#guild;
    const { guilds } = this.#ports;
    const absentMembers = needs.members?.filter((key) => !members.has(key));
    if (absentMembers?.length)
      yield {
        kind: 'member:',
        keys: absentMembers,
        fetch: async (keys) =>
          keep(members, keys, await guilds.members(id, keys as UserId[]), (row) => row.user.id),
      };
    const absentBans = needs.bans?.filter((key) => !bans.has(key));
    if (absentBans?.length)
      yield {
        kind: 'ban:',
        keys: absentBans,
        fetch: async (keys) => keep(bans, keys, await guilds.bansOf(id, keys as UserId[]), (row) => row.user.id),
      };
    const absentUsers = needs.users?.filter((key) => !users.has(key));
    if (absentUsers?.length)
      yield {
        kind: 'user:',
        keys: absentUsers,
        fetch: async (keys) =>
          keep(users, keys, await this.#ports.users.get(keys as UserId[]), (row) => row.id),
      };
    const absentInvites = needs.invites?.filter((key) => !invites.has(key));
    if (absentInvites?.length)
      yield {
        kind: 'invite:',
        keys: absentInvites,
        fetch: async (keys) => keep(invites, keys, await guilds.invitesByCode(id, keys), (row) => row.code),
      };
    const absentMessages = needs.messages?.filter((key) => !messages.has(key.id));
    if (absentMessages?.length)
      yield {
        kind: 'message:',
        keys: absentMessages.map((key) => key.id),
        fetch: async (keys) => {
          const wanted = absentMessages.filter((key) => keys.includes(key.id));
          keep(messages, keys, await this.#ports.messages.get(id, wanted), (row) => row.id);
        },
      };
  }
}

/** Enters rows, and the knowledge that a key has none; what a command has entered meanwhile stays. */
function keep<K extends string, Row>(
  window: Map<K, Row | null>,
  keys: readonly string[],
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): void {
  for (const row of rows) if (!window.has(keyOf(row) as K)) window.set(keyOf(row) as K, row);
  for (const key of keys) if (!window.has(key as K)) window.set(key as K, null);
}
