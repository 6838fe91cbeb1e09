import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import { WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, refused } from '../kernel/aggregate.ts';
import { channelIn } from '../permissions/permissions.ts';
import type { Presence } from '../presence/merge.ts';
import { sameValue } from './auditing.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';

/** Order among shards, where updates may overtake each other; absent in a standalone process. */
export interface UpdateOrder {
  /** Ascending for each user, also over changes of owner; an update with a lower number is dropped. */
  readonly n?: number;
  /** Repeats an update that an earlier owner of the guild received: this owner and its clients may not have it. */
  readonly again?: boolean;
}

/** Update numbers kept beyond those of online users: a late update arrives only seconds late. */
const NUMBERS_MAX = 4096;

/** Commands whose facts are never stored: they end with the process. */
type EphemeralCommands = {
  startTyping: { input: { readonly channelId: ChannelId }; value: null };
  /** The merged presence of all the user's sessions; null for offline. An equal presence changes nothing. */
  setPresence: {
    input: { readonly userId: UserId; readonly presence: Presence | null } & UpdateOrder;
    value: null;
  };
};

export const ephemeral: GuildTopic<
  EphemeralCommands,
  'typingStarted' | 'presenceChanged' | 'presenceReceived'
> = {
  commands: {
    startTyping: {
      decide: (guild, { channelId }, by, env) => {
        const channel = channelIn(guild, channelId);
        if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
        if (!WITH_MESSAGES.has(channel.type)) return refused(refusal('CANNOT_SEND_IN_NON_TEXT_CHANNEL'));
        return accepted(null, [{ type: 'typingStarted', channelId, userId: by.userId, atMs: env.nowMs }]);
      },
    },
    setPresence: {
      repeatable: true,
      background: true,
      needs: ({ userId }) => ({ members: [userId] }),
      decide: (guild, { userId, presence, n, again = false }) => {
        if (!guild.members.get(userId)) return accepted(null);
        const received = guild.presenceNumbers.get(userId);
        if (n !== undefined && received !== undefined && n <= received) return accepted(null);
        const facts: GuildFact[] = n === undefined ? [] : [{ type: 'presenceReceived', userId, n }];
        const next = presence === null ? null : presenceUpdate(guild, userId, presence);
        const isUnknownOffline = again && next === null && received === undefined;
        if (isUnknownOffline || !sameValue(guild.presences.get(userId) ?? null, next))
          facts.push({ type: 'presenceChanged', userId, presence: next });
        return accepted(null, facts);
      },
    },
  },
  facts: {
    typingStarted: {
      durable: false,
      apply: () => {},
      dispatches: (guild, { channelId, userId, atMs }) => {
        const member = guild.members.get(userId);
        const d = {
          channel_id: channelId,
          guild_id: guild.id,
          user_id: userId,
          timestamp: Math.floor(atMs / 1000),
          ...(member ? { member } : {}),
        };
        return [{ t: 'TYPING_START', d, to: { kind: 'channel', channelId } }];
      },
    },
    presenceChanged: {
      durable: false,
      apply: (guild, { userId, presence }) => {
        if (presence) guild.presences.set(userId, presence);
        else guild.presences.delete(userId);
      },
      dispatches: (guild, { userId, presence }) => [
        { t: 'PRESENCE_UPDATE', d: presence ?? offline(guild, userId), to: { kind: 'guild' } },
      ],
    },
    presenceReceived: {
      durable: false,
      apply: ({ presenceNumbers: numbers, presences }, { userId, n }) => {
        numbers.delete(userId);
        numbers.set(userId, n);
        // The least recently updated first.
        for (const oldest of numbers.keys()) {
          if (numbers.size <= presences.size + NUMBERS_MAX) break;
          numbers.delete(oldest);
        }
      },
      dispatches: () => [],
    },
  },
};

function presenceUpdate(guild: Guild, userId: UserId, presence: Presence): GatewayPresenceUpdate {
  const update = {
    user: { id: userId },
    guild_id: guild.id,
    status: presence.status,
    activities: [...presence.activities],
    client_status: presence.client_status,
  };
  // The type package spells the status values as an enumeration; the strings are the same.
  return update as GatewayPresenceUpdate;
}

const offline = (guild: Guild, userId: UserId): object => ({
  user: { id: userId },
  guild_id: guild.id,
  status: 'offline',
  activities: [],
  client_status: {},
});
