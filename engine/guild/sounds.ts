import { AUDIT } from '../../protocol/audit.ts';
import { expressionLimits } from '../../protocol/expressions.ts';
import type { SoundId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry, changesOf } from './auditing.ts';
import { creatorIn, mayChange, seesCreators, withoutUser } from './expressions.rules.ts';
import type { Sound, SoundFacts } from './expressions.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';

/** A sound as a caller sees it. */
type ShownSound = Omit<Sound, 'user'> & Partial<Pick<Sound, 'user'>>;

/** A custom emoji by id, or a Unicode emoji by name; nothing for both null. */
type SoundEmoji = Pick<Sound, 'emoji_id' | 'emoji_name'>;

type SoundCommands = {
  listSounds: { input: object; value: ShownSound[] };
  getSound: { input: { readonly soundId: SoundId }; value: ShownSound };
  /** The file is already stored under the id. */
  createSound: {
    input: {
      readonly soundId: SoundId;
      readonly name: string;
      readonly volume: number;
      readonly emoji: SoundEmoji;
    };
    value: ShownSound;
  };
  updateSound: {
    input: {
      readonly soundId: SoundId;
      readonly name?: string;
      readonly volume?: number;
      readonly emoji?: SoundEmoji;
    };
    value: ShownSound;
  };
  deleteSound: { input: { readonly soundId: SoundId }; value: null };
};

const AUDITED = ['name', 'volume', 'emoji_id', 'emoji_name'] as const;

/** The guild's sounds for the gateway. */
export const soundsOf = (guild: Guild): ShownSound[] =>
  [...guild.expressions.sounds.values()].map(withoutUser);

const shownTo = (guild: Guild, by: By, env: Env): ((sound: Sound) => ShownSound) => {
  const sees = seesCreators(guild, by, env);
  return (sound) => (sees ? sound : withoutUser(sound));
};

/** Whether the guild has the custom emoji, if there is one. */
const isKnown = (guild: Guild, { emoji_id: id }: SoundEmoji): boolean =>
  id === null || guild.expressions.emojis.has(id);

function createSound(
  guild: Guild,
  { soundId, name, volume, emoji }: SoundCommands['createSound']['input'],
  by: By,
  env: Env,
): Outcome<ShownSound, GuildFact> {
  const limits = expressionLimits(guild.info.premium_tier, guild.info.features);
  if (guild.expressions.sounds.size >= limits.sounds) return refused(refusal('MAXIMUM_SOUNDBOARD_SOUNDS'));
  if (!isKnown(guild, emoji)) return refused(refusal('UNKNOWN_EMOJI'));
  const user = creatorIn(guild, by);
  if (!user) return refused(refusal('UNKNOWN_USER'));
  const sound: Sound = {
    sound_id: soundId,
    name,
    volume,
    ...emoji,
    guild_id: guild.id,
    available: true,
    user,
  };
  return accepted(sound, [
    { type: 'soundCreated', sound },
    auditEntry(env, by, {
      actionType: AUDIT.SOUNDBOARD_SOUND_CREATE,
      targetId: soundId,
      changes: changesOf(null, sound, AUDITED),
    }),
  ]);
}

function updateSound(
  guild: Guild,
  { soundId, name, volume, emoji }: SoundCommands['updateSound']['input'],
  by: By,
  env: Env,
): Outcome<ShownSound, GuildFact> {
  const before = guild.expressions.sounds.get(soundId);
  if (!before) return refused(refusal('UNKNOWN_SOUND'));
  if (!mayChange(guild, by, before.user.id, env)) return refused(refusal('MISSING_PERMISSIONS'));
  if (emoji && !isKnown(guild, emoji)) return refused(refusal('UNKNOWN_EMOJI'));
  const sound: Sound = { ...before, name: name ?? before.name, volume: volume ?? before.volume, ...emoji };
  const changes = changesOf(before, sound, AUDITED);
  const shown = shownTo(guild, by, env)(sound);
  if (changes.length === 0) return accepted(shown);
  return accepted(shown, [
    { type: 'soundUpdated', sound },
    auditEntry(env, by, { actionType: AUDIT.SOUNDBOARD_SOUND_UPDATE, targetId: soundId, changes }),
  ]);
}

function deleteSound(
  guild: Guild,
  { soundId }: SoundCommands['deleteSound']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const sound = guild.expressions.sounds.get(soundId);
  if (!sound) return refused(refusal('UNKNOWN_SOUND'));
  if (!mayChange(guild, by, sound.user.id, env)) return refused(refusal('MISSING_PERMISSIONS'));
  return accepted(null, [
    { type: 'soundDeleted', soundId },
    auditEntry(env, by, {
      actionType: AUDIT.SOUNDBOARD_SOUND_DELETE,
      targetId: soundId,
      changes: changesOf(sound, null, AUDITED),
    }),
  ]);
}

const set = (guild: Guild, { sound }: { readonly sound: Sound }): void => {
  guild.expressions.sounds.set(sound.sound_id, sound);
};

/** The guild's own soundboard sounds. Their files are stored under their ids. */
export const sounds: GuildTopic<SoundCommands, keyof SoundFacts> = {
  commands: {
    listSounds: {
      decide: (guild, _input, by, env) =>
        accepted([...guild.expressions.sounds.values()].map(shownTo(guild, by, env))),
    },
    getSound: {
      decide: (guild, { soundId }, by, env) => {
        const sound = guild.expressions.sounds.get(soundId);
        return sound ? accepted(shownTo(guild, by, env)(sound)) : refused(refusal('UNKNOWN_SOUND'));
      },
    },
    createSound: { decide: createSound },
    updateSound: { decide: updateSound },
    deleteSound: { decide: deleteSound },
  },
  facts: {
    soundCreated: {
      apply: set,
      dispatches: (_guild, { sound }) => [
        { t: 'GUILD_SOUNDBOARD_SOUND_CREATE', d: sound, to: { kind: 'guild' } },
      ],
    },
    soundUpdated: {
      apply: set,
      dispatches: (_guild, { sound }) => [
        { t: 'GUILD_SOUNDBOARD_SOUND_UPDATE', d: sound, to: { kind: 'guild' } },
      ],
    },
    soundDeleted: {
      apply: (guild, { soundId }) => {
        guild.expressions.sounds.delete(soundId);
      },
      dispatches: (guild, { soundId: sound_id }) => [
        {
          t: 'GUILD_SOUNDBOARD_SOUND_DELETE',
          d: { sound_id, guild_id: guild.id },
          to: { kind: 'guild' },
        },
      ],
    },
  },
};
