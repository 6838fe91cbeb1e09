import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { GuildSounds, SoundboardSound } from '../../../protocol/schemas/expression.ts';
import { NameText, Nullable, Num, Obj, Optional, Snowflake, Str } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { badFile, readDataUri } from '../expressionfile.ts';
import { type Bucket, op, resource } from '../operation.ts';
import { readSound } from '../soundfile.ts';
import { FileData } from './emojis.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'guild_id', limit: 20, windowMs: 10_000 };
const WRITE: Bucket = { per: 'guild_id', limit: 20, windowMs: 60_000 };

const Name = () => NameText(LIMITS.sound_name_chars_min, LIMITS.sound_name_chars_max);
const CHANGEABLE = {
  volume: Optional(Nullable(Num(0, 1))),
  emoji_id: Optional(Nullable(Snowflake())),
  emoji_name: Optional(Nullable(Str(1, LIMITS.sound_emoji_chars_max))),
};

/** The emoji of a body: a custom one when it has an id; both null remove it, both absent keep it. */
function emojiOf(body: { readonly emoji_id?: string | null; readonly emoji_name?: string | null }) {
  if (body.emoji_id === undefined && body.emoji_name === undefined) return undefined;
  const id = body.emoji_id ?? null;
  return { emoji_id: id, emoji_name: id === null ? (body.emoji_name ?? null) : null };
}

/** Operations on a guild's own soundboard sounds. */
export const guildSounds = resource({
  list_guild_soundboard_sounds: op({
    method: 'GET',
    path: '/guilds/:guild_id/soundboard-sounds',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: GuildSounds,
    handle: async ({ params, authority }, { guilds }) => {
      const reply = await guilds.call(params.guild_id, 'listSounds', {}, authority);
      return reply.ok ? { ok: true, value: { items: reply.value } } : reply;
    },
  }),
  get_guild_soundboard_sound: op({
    method: 'GET',
    path: '/guilds/:guild_id/soundboard-sounds/:sound_id',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: SoundboardSound,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getSound', { soundId: params.sound_id }, authority),
  }),
  create_guild_soundboard_sound: op({
    method: 'POST',
    path: '/guilds/:guild_id/soundboard-sounds',
    auth: 'any',
    permission: P.CREATE_GUILD_EXPRESSIONS,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.expression,
    body: Obj({ name: Name(), ...CHANGEABLE, sound: FileData() }),
    status: 201,
    reply: SoundboardSound,
    handle: async ({ params, body, authority }, { guilds, expressionFiles, nextId }) => {
      const read = readDataUri(body.sound, 'sound', LIMITS.sound_bytes_max);
      if (!read) return badFile('sound', 'BINARY_TYPE_INVALID', 'Invalid sound data');
      if (!read.ok) return read;
      // Listing with this authority requires the permission of the command, before anything is parsed or stored.
      const allowed = await guilds.call(params.guild_id, 'listSounds', {}, authority);
      if (!allowed.ok) return allowed;
      const file = await readSound(read.value);
      if (!file.ok) return file;
      const soundId = nextId();
      const emoji = emojiOf(body) ?? { emoji_id: null, emoji_name: null };
      const input = { soundId, name: body.name, volume: body.volume ?? 1, emoji };
      return await expressionFiles.using('soundboard-sounds', soundId, file.value, () =>
        guilds.call(params.guild_id, 'createSound', input, authority),
      );
    },
  }),
  update_guild_soundboard_sound: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/soundboard-sounds/:sound_id',
    auth: 'any',
    bucket: WRITE,
    body: Obj({ name: Optional(Name()), ...CHANGEABLE }),
    status: 200,
    reply: SoundboardSound,
    handle: async ({ params, body, authority }, { guilds }) => {
      const emoji = emojiOf(body);
      const input = {
        soundId: params.sound_id,
        ...(body.name === undefined ? {} : { name: body.name }),
        ...(body.volume == null ? {} : { volume: body.volume }),
        ...(emoji === undefined ? {} : { emoji }),
      };
      return await guilds.call(params.guild_id, 'updateSound', input, authority);
    },
  }),
  delete_guild_soundboard_sound: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/soundboard-sounds/:sound_id',
    auth: 'any',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, { guilds, expressionFiles }) => {
      const input = { soundId: params.sound_id };
      const reply = await guilds.call(params.guild_id, 'deleteSound', input, authority);
      if (reply.ok) await expressionFiles.delete('soundboard-sounds', params.sound_id);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});
