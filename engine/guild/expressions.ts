import type { StickerFormat } from '../../protocol/expressions.ts';
import type { EmojiId, GuildId, RoleId, SoundId, StickerId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';

/** An emoji of a guild or an application, in the wire's shape. */
export interface Emoji {
  readonly id: EmojiId;
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
  readonly id: StickerId;
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
  readonly sound_id: SoundId;
  readonly name: string;
  /** 0 to 1. */
  readonly volume: number;
  readonly emoji_id: string | null;
  readonly emoji_name: string | null;
  readonly guild_id: GuildId;
  readonly available: true;
  readonly user: APIUser;
}

/** The sound as members of a voice channel receive it. */
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
  emojiDeleted: { readonly emojiId: EmojiId };
};

export type StickerFacts = {
  stickerWritten: { readonly sticker: Sticker };
  stickerDeleted: { readonly stickerId: StickerId };
};

export type SoundFacts = {
  soundCreated: { readonly sound: Sound };
  soundUpdated: { readonly sound: Sound };
  soundDeleted: { readonly soundId: SoundId };
};
