import { rpcUser } from './commands.ts';
import { type Args, isObject } from './link.ts';
import type { GuildRecord, Voice } from './person.ts';

/** A guild as applications see it. @source https://docs.discord.food/topics/rpc#rpc-object-structures */
export const guildView = (guild: GuildRecord, cdn: string): object => ({
  ...{ id: guild.id, name: guild.name, vanity_url_code: guild.vanityUrlCode },
  icon_url: guild.icon === null ? null : `${cdn}/icons/${guild.id}/${guild.icon}.png`,
});

export function voiceView({ state, user, nick }: Voice, local: { volume: number; mute: boolean }): object {
  const { mute = false, deaf = false, self_mute = false, self_deaf = false, suppress = false } = state;
  return {
    nick: nick ?? user.global_name ?? user.username,
    ...{ mute: local.mute, volume: local.volume, pan: { left: 1, right: 1 } },
    voice_state: { mute, deaf, self_mute, self_deaf, suppress },
    user: rpcUser(user),
  };
}

export function messageView(message: Args): object {
  const { author, member } = message;
  const nick = isObject(member) && typeof member.nick === 'string' ? member.nick : null;
  return {
    ...{ id: message.id, content: message.content ?? '', type: message.type ?? 0 },
    ...{ timestamp: message.timestamp, edited_timestamp: message.edited_timestamp ?? null },
    ...{ tts: message.tts === true, pinned: message.pinned === true },
    ...{ mentions: message.mentions ?? [], mention_roles: message.mention_roles ?? [] },
    ...{ mention_everyone: message.mention_everyone === true },
    ...{ embeds: message.embeds ?? [], attachments: message.attachments ?? [] },
    ...(isObject(author) && { author: rpcUser(author), nick: nick ?? author.global_name ?? author.username }),
  };
}
