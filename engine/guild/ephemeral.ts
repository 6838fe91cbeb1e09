import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import { WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, refused } from '../outcome.ts';
import type { Presence } from '../presence/merge.ts';
import { sameValue } from './auditing.ts';
import type { EphemeralFacts, GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { Topic } from './topic.ts';

/** Commands whose facts are never stored: they are lost with the process, and nobody minds. */
export type EphemeralCommands = {
  startTyping: { input: { readonly channelId: ChannelId }; value: null };
  /** The merged presence of all the user's sessions; `null`: offline. Nothing happens when it is as before. */
  setPresence: { input: { readonly userId: UserId; readonly presence: Presence | null }; value: null };
};

export const ephemeral: Topic<
  EphemeralCommands,
  Pick<EphemeralFacts, 'typingStarted' | 'presenceChanged'>,
  GuildFact
> = {
  needs: {
    startTyping: () => ({}),
    setPresence: ({ userId }) => ({ members: [userId] }),
  },

  decide: {
    startTyping: (guild, { channelId }, by, env) => {
      const channel = guild.channels.get(channelId);
      if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
      if (!WITH_MESSAGES.has(channel.type)) return refused(refusal('CANNOT_SEND_IN_NON_TEXT_CHANNEL'));
      return accepted(null, [{ type: 'typingStarted', channelId, userId: by.userId, atMs: env.nowMs }]);
    },

    setPresence: (guild, { userId, presence }) => {
      if (!guild.members.get(userId)) return accepted(null);
      const next = presence === null ? null : presenceUpdate(guild, userId, presence);
      if (sameValue(guild.presences.get(userId) ?? null, next)) return accepted(null);
      return accepted(null, [{ type: 'presenceChanged', userId, presence: next }]);
    },
  },

  apply: {
    typingStarted: () => undefined,
    presenceChanged: (guild, { userId, presence }) => {
      if (presence) guild.presences.set(userId, presence);
      else guild.presences.delete(userId);
    },
  },

  dispatches: {
    typingStarted: (guild, { channelId, userId, atMs }) => {
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
    presenceChanged: (guild, { userId, presence }) => [
      { t: 'PRESENCE_UPDATE', d: presence ?? offline(guild, userId), to: { kind: 'guild' } },
    ],
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
  // The type package spells the words of a status as an enumeration; they are the same words.
  return update as GatewayPresenceUpdate;
}

const offline = (guild: Guild, userId: UserId): object => ({
  user: { id: userId },
  guild_id: guild.id,
  status: 'offline',
  activities: [],
  client_status: {},
});
