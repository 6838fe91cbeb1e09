import type { StickerFormat } from '../../protocol/expressions.ts';
import type { GuildId, RoleId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import type { By } from '../kernel/authority.ts';
import type { Env } from '../kernel/outcome.ts';
import { holds } from '../permissions/permissions.ts';
import { bitsOf } from './caller.ts';
import type { Guild } from './guild.ts';

/** An emoji of a guild or an application, in the wire's shape. */
export interface Emoji {
  readonly id: string;
  readonly name: string;
  /** The only roles whose members may use it; empty for everyone. Roles deleted since may be among them. */
  readonly roles: readonly RoleId[];
  /** Its creator, as the user was then. */
  readonly user: APIUser;
  readonly require_colons: true;
  readonly managed: false;
  readonly animated: boolean;
  readonly available: true;
}

/** A sticker of a guild, in the wire's shape. */
export interface Sticker {
  readonly id: string;
  readonly name: string;
  readonly tags: string;
  readonly type: 2;
  readonly format_type: StickerFormat;
  readonly description: string | null;
  readonly available: true;
  readonly guild_id: GuildId;
  readonly user: APIUser;
}

/** A soundboard sound of a guild, in the wire's shape. */
export interface Sound {
  readonly sound_id: string;
  readonly name: string;
  /** 0 to 1. */
  readonly volume: number;
  readonly emoji_id: string | null;
  readonly emoji_name: string | null;
  readonly guild_id: GuildId;
  readonly available: true;
  readonly user: APIUser;
}

/** What members in a channel hear of a sound. */
export type PlayedSound = Pick<Sound, 'sound_id' | 'volume' | 'emoji_id' | 'emoji_name'>;

/** A guild's expressions by id, oldest first. Resident like the roles: at most some hundreds. */
export interface Expressions {
  readonly emojis: Map<string, Emoji>;
  readonly stickers: Map<string, Sticker>;
  readonly sounds: Map<string, Sound>;
}

/** Expressions as they are stored. */
export interface ExpressionLists {
  readonly emojis: readonly Emoji[];
  readonly stickers: readonly Sticker[];
  readonly sounds: readonly Sound[];
}

export const NO_EXPRESSIONS: ExpressionLists = { emojis: [], stickers: [], sounds: [] };

export const expressionsOf = ({ emojis, stickers, sounds }: ExpressionLists): Expressions => ({
  emojis: new Map(emojis.map((emoji) => [emoji.id, emoji])),
  stickers: new Map(stickers.map((sticker) => [sticker.id, sticker])),
  sounds: new Map(sounds.map((sound) => [sound.sound_id, sound])),
});

export type EmojiFacts = {
  emojiWritten: { readonly emoji: Emoji };
  emojiDeleted: { readonly emojiId: string };
};

export type StickerFacts = {
  stickerWritten: { readonly sticker: Sticker };
  stickerDeleted: { readonly stickerId: string };
};

export type SoundFacts = {
  soundCreated: { readonly sound: Sound };
  soundUpdated: { readonly sound: Sound };
  soundDeleted: { readonly soundId: string };
};

/** The creator of an expression: a member, or the operator's user of a system command. */
export const creatorIn = (guild: Guild, by: By): APIUser | null => guild.members.get(by.userId)?.user ?? null;

/**
 * Whether the caller may change or delete an expression: any with MANAGE_GUILD_EXPRESSIONS, the own ones also with
 * CREATE_GUILD_EXPRESSIONS.
 *
 * @source https://docs.discord.com/developers/topics/permissions
 */
export function mayChange(guild: Guild, by: By, creatorId: UserId | string, env: Env): boolean {
  const held = bitsOf(guild, by, env.nowMs);
  if (holds(held, P.MANAGE_GUILD_EXPRESSIONS)) return true;
  return creatorId === by.userId && holds(held, P.CREATE_GUILD_EXPRESSIONS, env.splits);
}

/** Whether the caller sees who created an expression. */
export function seesCreators(guild: Guild, by: By, env: Env): boolean {
  return (bitsOf(guild, by, env.nowMs) & (P.MANAGE_GUILD_EXPRESSIONS | P.CREATE_GUILD_EXPRESSIONS)) !== 0n;
}

/** The object without its creator, as the gateway and members without the permissions see it. */
export function withoutUser<T extends { readonly user: APIUser }>({
  user: _user,
  ...rest
}: T): Omit<T, 'user'> {
  return rest;
}
