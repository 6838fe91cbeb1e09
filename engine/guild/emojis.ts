import { AUDIT } from '../../protocol/audit.ts';
import { expressionLimits } from '../../protocol/expressions.ts';
import { type EmojiId, everyoneRoleOf, type RoleId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { auditEntry, changesOf } from './auditing.ts';
import { creatorIn, mayChange, seesCreators, withoutUser } from './expressions.rules.ts';
import type { Emoji, EmojiFacts } from './expressions.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';

/** An emoji as a caller sees it. */
type ShownEmoji = Omit<Emoji, 'user'> & Partial<Pick<Emoji, 'user'>>;

type EmojiCommands = {
  listEmojis: { input: object; value: ShownEmoji[] };
  getEmoji: { input: { readonly emojiId: EmojiId }; value: ShownEmoji };
  /** An emoji that the caller may use: one without roles, or with one of the caller's. */
  useEmoji: { input: { readonly emojiId: EmojiId }; value: ShownEmoji };
  /** The image is already stored under the id. */
  createEmoji: {
    input: {
      readonly emojiId: EmojiId;
      readonly name: string;
      readonly roles: readonly RoleId[];
      readonly animated: boolean;
    };
    value: ShownEmoji;
  };
  updateEmoji: {
    input: { readonly emojiId: EmojiId; readonly name?: string; readonly roles?: readonly RoleId[] };
    value: ShownEmoji;
  };
  deleteEmoji: { input: { readonly emojiId: EmojiId }; value: null };
};

const AUDITED = ['name', 'roles'] as const;

/**
 * An emoji with those of its roles that still exist. When none does, it keeps the deleted ones: an empty list would open it
 * to everyone, here and in libraries, which compare its roles with the member's.
 */
function present(guild: Guild, emoji: Emoji): Emoji {
  const roles = emoji.roles.filter((id) => guild.roles.has(id));
  return roles.length === 0 || roles.length === emoji.roles.length ? emoji : { ...emoji, roles };
}

/** The guild's emoji for the gateway. */
export const emojisOf = (guild: Guild): ShownEmoji[] =>
  [...guild.expressions.emojis.values()].map((emoji) => withoutUser(present(guild, emoji)));

const shownTo = (guild: Guild, by: By, env: Env): ((emoji: Emoji) => ShownEmoji) => {
  const sees = seesCreators(guild, by, env);
  return (emoji) => (sees ? present(guild, emoji) : withoutUser(present(guild, emoji)));
};

const rolesIn = (guild: Guild, ids: readonly RoleId[]): RoleId[] =>
  [...new Set(ids)].filter((id) => guild.roles.has(id) && id !== everyoneRoleOf(guild.id));

function createEmoji(
  guild: Guild,
  { emojiId, name, roles, animated }: EmojiCommands['createEmoji']['input'],
  by: By,
  env: Env,
): Outcome<ShownEmoji, GuildFact> {
  const limits = expressionLimits(guild.info.premium_tier, guild.info.features);
  const alike = [...guild.expressions.emojis.values()].filter((emoji) => emoji.animated === animated);
  if (animated && alike.length >= limits.animatedEmojis) return refused(refusal('MAXIMUM_ANIMATED_EMOJIS'));
  if (!animated && alike.length >= limits.emojis) return refused(refusal('MAXIMUM_EMOJIS'));
  const user = creatorIn(guild, by);
  if (!user) return refused(refusal('UNKNOWN_USER'));
  const emoji: Emoji = {
    id: emojiId,
    name,
    roles: rolesIn(guild, roles),
    user,
    require_colons: true,
    managed: false,
    animated,
    available: true,
  };
  return accepted(emoji, [
    { type: 'emojiWritten', emoji },
    auditEntry(env, by, {
      actionType: AUDIT.EMOJI_CREATE,
      targetId: emojiId,
      changes: changesOf(null, emoji, ['name']),
    }),
  ]);
}

function updateEmoji(
  guild: Guild,
  { emojiId, name, roles }: EmojiCommands['updateEmoji']['input'],
  by: By,
  env: Env,
): Outcome<ShownEmoji, GuildFact> {
  const before = guild.expressions.emojis.get(emojiId);
  if (!before) return refused(refusal('UNKNOWN_EMOJI'));
  if (!mayChange(guild, by, before.user.id, env)) return refused(refusal('MISSING_PERMISSIONS'));
  const emoji: Emoji = {
    ...before,
    name: name ?? before.name,
    roles: roles ? rolesIn(guild, roles) : before.roles,
  };
  const changes = changesOf(before, emoji, AUDITED);
  const shown = shownTo(guild, by, env)(emoji);
  if (changes.length === 0) return accepted(shown);
  return accepted(shown, [
    { type: 'emojiWritten', emoji },
    auditEntry(env, by, { actionType: AUDIT.EMOJI_UPDATE, targetId: emojiId, changes }),
  ]);
}

function deleteEmoji(
  guild: Guild,
  { emojiId }: EmojiCommands['deleteEmoji']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const emoji = guild.expressions.emojis.get(emojiId);
  if (!emoji) return refused(refusal('UNKNOWN_EMOJI'));
  if (!mayChange(guild, by, emoji.user.id, env)) return refused(refusal('MISSING_PERMISSIONS'));
  return accepted(null, [
    { type: 'emojiDeleted', emojiId },
    auditEntry(env, by, {
      actionType: AUDIT.EMOJI_DELETE,
      targetId: emojiId,
      changes: changesOf(emoji, null, ['name']),
    }),
  ]);
}

const emojisDispatches = (guild: Guild): readonly Dispatch[] => [
  { t: 'GUILD_EMOJIS_UPDATE', d: { guild_id: guild.id, emojis: emojisOf(guild) }, to: { kind: 'guild' } },
];

/** The guild's own emoji. Their images are files, stored under their ids. */
export const emojis: GuildTopic<EmojiCommands, keyof EmojiFacts> = {
  commands: {
    listEmojis: {
      decide: (guild, _input, by, env) =>
        accepted([...guild.expressions.emojis.values()].map(shownTo(guild, by, env))),
    },
    getEmoji: {
      decide: (guild, { emojiId }, by, env) => {
        const emoji = guild.expressions.emojis.get(emojiId);
        return emoji ? accepted(shownTo(guild, by, env)(emoji)) : refused(refusal('UNKNOWN_EMOJI'));
      },
    },
    useEmoji: {
      anyFactor: true,
      decide: (guild, { emojiId }, by) => {
        const emoji = guild.expressions.emojis.get(emojiId);
        if (!emoji) return refused(refusal('UNKNOWN_EMOJI'));
        const { roles } = present(guild, emoji);
        const held = guild.members.get(by.userId)?.roles ?? [];
        const isOpen = roles.length === 0 || roles.some((id) => held.includes(id));
        return isOpen ? accepted(withoutUser(emoji)) : refused(refusal('UNKNOWN_EMOJI'));
      },
    },
    createEmoji: { decide: createEmoji },
    updateEmoji: { decide: updateEmoji },
    deleteEmoji: { decide: deleteEmoji },
  },
  facts: {
    emojiWritten: {
      apply: (guild, { emoji }) => {
        guild.expressions.emojis.set(emoji.id, emoji);
      },
      dispatches: emojisDispatches,
    },
    emojiDeleted: {
      apply: (guild, { emojiId }) => {
        guild.expressions.emojis.delete(emojiId);
      },
      dispatches: emojisDispatches,
    },
  },
};
