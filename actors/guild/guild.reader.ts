import type { Guild } from '../../engine/guild/guild.ts';
import type { Needs } from '../../engine/guild/topic.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { GuildStore, MessageStore, UserStore } from '../../storage/ports.ts';
import { keep, type WindowRead } from '../runtime/reader.ts';

export interface GuildReads {
  readonly guilds: Pick<GuildStore, 'members' | 'bansOf' | 'invitesByCode'>;
  readonly messages: Pick<MessageStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
}

/** The reads that bring what a command needs into the guild's windows; none for what is there. */
export function* guildReads(guild: Guild, needs: Needs, stores: GuildReads): Iterable<WindowRead> {
  const { id, members, bans, users, invites, messages } = guild;
  const wanted = {
    members: needs.members?.filter((key) => !members.has(key)) ?? [],
    bans: needs.bans?.filter((key) => !bans.has(key)) ?? [],
    users: needs.users?.filter((key) => !users.has(key)) ?? [],
    invites: needs.invites?.filter((key) => !invites.has(key)) ?? [],
    messages: needs.messages?.filter((key) => !messages.has(key.id)) ?? [],
  };
  if (wanted.members.length > 0)
    yield read('member', wanted.members, async (keys) =>
      keep(members, keys, await stores.guilds.members(id, keys as UserId[]), ({ user }) => user.id),
    );
  if (wanted.bans.length > 0)
    yield read('ban', wanted.bans, async (keys) =>
      keep(bans, keys, await stores.guilds.bansOf(id, keys as UserId[]), ({ user }) => user.id),
    );
  if (wanted.users.length > 0)
    yield read('user', wanted.users, async (keys) =>
      keep(users, keys, await stores.users.get(keys as UserId[]), (user) => user.id),
    );
  if (wanted.invites.length > 0)
    yield read('invite', wanted.invites, async (keys) =>
      keep(invites, keys, await stores.guilds.invitesByCode(id, keys), ({ code }) => code),
    );
  if (wanted.messages.length > 0)
    yield read(
      'message',
      wanted.messages.map((key) => key.id),
      async (keys) => {
        const fresh = wanted.messages.filter((key) => keys.includes(key.id));
        keep(messages, keys, await stores.messages.get(id, fresh), (message) => message.id);
      },
    );
}

const read = (kind: string, keys: readonly string[], fetch: WindowRead['fetch']): WindowRead => ({
  kind,
  keys,
  fetch,
});
