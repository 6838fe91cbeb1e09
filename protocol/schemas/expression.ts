import type { GuildId, RoleId } from '../ids.ts';
import {
  choice,
  decimal,
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const emoji = object(
  {
    id: id(),
    name: text,
    user: optional(User),
    roles: list(id<RoleId>()),
    require_colons: flag,
    managed: flag,
    animated: flag,
    available: flag,
  },
  'Emoji',
);
export interface Emoji extends ValueOf<typeof emoji> {}
export const Emoji: Schema<Emoji> = emoji;

const applicationEmojis = object(
  {
    items: list(Emoji),
  },
  'ApplicationEmojis',
);
export interface ApplicationEmojis extends ValueOf<typeof applicationEmojis> {}
export const ApplicationEmojis: Schema<ApplicationEmojis> = applicationEmojis;

const soundboardSound = object(
  {
    name: text,
    sound_id: id(),
    volume: decimal,
    emoji_id: nullable(id()),
    emoji_name: nullable(text),
    guild_id: optional(id<GuildId>()),
    available: flag,
    user: optional(User),
  },
  'SoundboardSound',
);
export interface SoundboardSound extends ValueOf<typeof soundboardSound> {}
export const SoundboardSound: Schema<SoundboardSound> = soundboardSound;

const guildSounds = object(
  {
    items: list(SoundboardSound),
  },
  'GuildSounds',
);
export interface GuildSounds extends ValueOf<typeof guildSounds> {}
export const GuildSounds: Schema<GuildSounds> = guildSounds;

const guildSticker = object(
  {
    id: id(),
    name: text,
    tags: text,
    type: choice(2),
    format_type: nullable(choice(1, 2, 3, 4)),
    description: nullable(text),
    available: flag,
    guild_id: id<GuildId>(),
    user: optional(User),
  },
  'GuildSticker',
);
export interface GuildSticker extends ValueOf<typeof guildSticker> {}
export const GuildSticker: Schema<GuildSticker> = guildSticker;

const standardSticker = object(
  {
    id: id(),
    name: text,
    tags: text,
    type: choice(1),
    format_type: nullable(choice(1, 2, 3, 4)),
    description: nullable(text),
    pack_id: id(),
    sort_value: integer,
  },
  'StandardSticker',
);

const sticker = oneOf(GuildSticker, standardSticker);
export type Sticker = ValueOf<typeof sticker>;
export const Sticker: Schema<Sticker> = sticker;

const stickerPack = object(
  {
    id: id(),
    sku_id: id(),
    name: text,
    description: nullable(text),
    stickers: list(standardSticker),
    cover_sticker_id: optional(id()),
  },
  'StickerPack',
);
export interface StickerPack extends ValueOf<typeof stickerPack> {}
export const StickerPack: Schema<StickerPack> = stickerPack;

const stickerPackCollection = object(
  {
    sticker_packs: list(StickerPack),
  },
  'StickerPackCollection',
);
export interface StickerPackCollection extends ValueOf<typeof stickerPackCollection> {}
export const StickerPackCollection: Schema<StickerPackCollection> = stickerPackCollection;
