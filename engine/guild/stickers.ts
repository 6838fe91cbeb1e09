import { AUDIT } from '../../protocol/audit.ts';
import { expressionLimits, STICKER_FORMAT, type StickerFormat } from '../../protocol/expressions.ts';
import type { StickerId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { auditEntry, changesOf } from './auditing.ts';
import { creatorIn, mayChange, seesCreators, withoutUser } from './expressions.rules.ts';
import type { Sticker, StickerFacts } from './expressions.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';

/** A sticker as a caller sees it. */
type ShownSticker = Omit<Sticker, 'user'> & Partial<Pick<Sticker, 'user'>>;

type StickerCommands = {
  listStickers: { input: object; value: ShownSticker[] };
  getSticker: { input: { readonly stickerId: StickerId }; value: ShownSticker };
  /** The file is already stored under the id. */
  createSticker: {
    input: {
      readonly stickerId: StickerId;
      readonly name: string;
      readonly tags: string;
      readonly description: string | null;
      readonly format: StickerFormat;
    };
    value: ShownSticker;
  };
  updateSticker: {
    input: {
      readonly stickerId: StickerId;
      readonly name?: string;
      readonly tags?: string;
      readonly description?: string | null;
    };
    value: ShownSticker;
  };
  deleteSticker: { input: { readonly stickerId: StickerId }; value: null };
};

const AUDITED = ['name', 'tags', 'description'] as const;
const AUDITED_WHOLE = ['id', 'name', 'tags', 'description', 'format_type', 'available', 'guild_id'] as const;

/** The guild's stickers for the gateway. */
export const stickersOf = (guild: Guild): ShownSticker[] =>
  [...guild.expressions.stickers.values()].map(withoutUser);

const shownTo = (guild: Guild, by: By, env: Env): ((sticker: Sticker) => ShownSticker) => {
  const sees = seesCreators(guild, by, env);
  return (sticker) => (sees ? sticker : withoutUser(sticker));
};

function createSticker(
  guild: Guild,
  { stickerId, name, tags, description, format }: StickerCommands['createSticker']['input'],
  by: By,
  env: Env,
): Outcome<ShownSticker, GuildFact> {
  const limits = expressionLimits(guild.info.premium_tier, guild.info.features);
  if (guild.expressions.stickers.size >= limits.stickers) return refused(refusal('MAXIMUM_STICKERS'));
  const mayBeLottie = ['VERIFIED', 'PARTNERED'].some((feature) => guild.info.features.includes(feature));
  if (format === STICKER_FORMAT.LOTTIE && !mayBeLottie) return refused(refusal('INVALID_FILE'));
  const user = creatorIn(guild, by);
  if (!user) return refused(refusal('UNKNOWN_USER'));
  const sticker: Sticker = {
    id: stickerId,
    name,
    tags,
    type: 2,
    format_type: format,
    description,
    available: true,
    guild_id: guild.id,
    user,
  };
  return accepted(sticker, [
    { type: 'stickerWritten', sticker },
    auditEntry(env, by, {
      actionType: AUDIT.STICKER_CREATE,
      targetId: stickerId,
      changes: changesOf(null, sticker, AUDITED_WHOLE),
    }),
  ]);
}

function updateSticker(
  guild: Guild,
  { stickerId, ...change }: StickerCommands['updateSticker']['input'],
  by: By,
  env: Env,
): Outcome<ShownSticker, GuildFact> {
  const before = guild.expressions.stickers.get(stickerId);
  if (!before) return refused(refusal('UNKNOWN_STICKER'));
  if (!mayChange(guild, by, before.user.id, env)) return refused(refusal('MISSING_PERMISSIONS'));
  const sticker: Sticker = { ...before, ...change };
  const changes = changesOf(before, sticker, AUDITED);
  const shown = shownTo(guild, by, env)(sticker);
  if (changes.length === 0) return accepted(shown);
  return accepted(shown, [
    { type: 'stickerWritten', sticker },
    auditEntry(env, by, { actionType: AUDIT.STICKER_UPDATE, targetId: stickerId, changes }),
  ]);
}

function deleteSticker(
  guild: Guild,
  { stickerId }: StickerCommands['deleteSticker']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const sticker = guild.expressions.stickers.get(stickerId);
  if (!sticker) return refused(refusal('UNKNOWN_STICKER'));
  if (!mayChange(guild, by, sticker.user.id, env)) return refused(refusal('MISSING_PERMISSIONS'));
  return accepted(null, [
    { type: 'stickerDeleted', stickerId },
    auditEntry(env, by, {
      actionType: AUDIT.STICKER_DELETE,
      targetId: stickerId,
      changes: changesOf(sticker, null, AUDITED_WHOLE),
    }),
  ]);
}

const stickersDispatches = (guild: Guild): readonly Dispatch[] => [
  {
    t: 'GUILD_STICKERS_UPDATE',
    d: { guild_id: guild.id, stickers: stickersOf(guild) },
    to: { kind: 'guild' },
  },
];

/** The guild's own stickers. Their files are stored under their ids. */
export const stickers: GuildTopic<StickerCommands, keyof StickerFacts> = {
  commands: {
    listStickers: {
      decide: (guild, _input, by, env) =>
        accepted([...guild.expressions.stickers.values()].map(shownTo(guild, by, env))),
    },
    getSticker: {
      anyFactor: true,
      decide: (guild, { stickerId }, by, env) => {
        const sticker = guild.expressions.stickers.get(stickerId);
        return sticker ? accepted(shownTo(guild, by, env)(sticker)) : refused(refusal('UNKNOWN_STICKER'));
      },
    },
    createSticker: { decide: createSticker },
    updateSticker: { decide: updateSticker },
    deleteSticker: { decide: deleteSticker },
  },
  facts: {
    stickerWritten: {
      apply: (guild, { sticker }) => {
        guild.expressions.stickers.set(sticker.id, sticker);
      },
      dispatches: stickersDispatches,
    },
    stickerDeleted: {
      apply: (guild, { stickerId }) => {
        guild.expressions.stickers.delete(stickerId);
      },
      dispatches: stickersDispatches,
    },
  },
};
