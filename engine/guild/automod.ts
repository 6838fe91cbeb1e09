import { AUDIT } from '../../protocol/audit.ts';
import { WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import type { AutoModerationRuleId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { compilePattern } from '../automod/regex.ts';
import { ACTION, type Rule, type RuleDraft, rulesMax, settingsOf } from '../automod/rule.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { auditEntry, changesOf } from './auditing.ts';
import { bitsOf } from './authorize.ts';
import type { AutoModerationFacts, GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';

type AutoModerationCommands = {
  listAutoModerationRules: { input: object; value: readonly Rule[] };
  getAutoModerationRule: { input: { readonly ruleId: AutoModerationRuleId }; value: Rule };
  createAutoModerationRule: { input: { readonly draft: RuleDraft }; value: Rule };
  updateAutoModerationRule: {
    input: { readonly ruleId: AutoModerationRuleId; readonly draft: RuleDraft };
    value: Rule;
  };
  deleteAutoModerationRule: { input: { readonly ruleId: AutoModerationRuleId }; value: null };
};

/** The platform publishes no code for an unknown rule. */
const unknownRule = () => refused(refusal('NOT_FOUND'));

/** Fields of a rule that the audit log lists. */
const AUDITED = [
  'name',
  'event_type',
  'trigger_type',
  'trigger_metadata',
  'actions',
  'enabled',
  'exempt_roles',
  'exempt_channels',
] as const;

const timesOut = ({ actions }: Rule): boolean => actions.some(({ type }) => type === ACTION.TIMEOUT);

/** Refuses callers without MODERATE_MEMBERS if one of the rules, before and after a change, has the action TIMEOUT. */
function timeoutRefusal(guild: Guild, rules: readonly Rule[], by: By, nowMs: number): Refusal | null {
  const isAllowed = !rules.some(timesOut) || (bitsOf(guild, by, nowMs) & P.MODERATE_MEMBERS) !== 0n;
  return isAllowed ? null : refusal('MISSING_PERMISSIONS');
}

/** Checks that need the guild: the alert's channel, and the bound on patterns. */
function misfit(guild: Guild, rule: Rule, draft: RuleDraft): Refusal | null {
  for (const [index, action] of rule.actions.entries()) {
    if (!draft.actions) break;
    if (action.type !== ACTION.SEND_ALERT_MESSAGE) continue;
    const channel = guild.channels.get(action.metadata.channel_id);
    if (channel && WITH_MESSAGES.has(channel.type)) continue;
    const path = ['actions', index, 'metadata', 'channel_id'];
    return invalidField(path, 'AUTO_MODERATION_INVALID_CHANNEL', 'Alerts need a text channel of this guild.');
  }
  const all = [...guild.autoModeration.rules.filter(({ id }) => id !== rule.id), rule];
  const sizes = all.flatMap(({ trigger_metadata: { regex_patterns: sources = [] } }) =>
    sources.map((source) => compilePattern(source)?.size ?? 0),
  );
  if (sizes.reduce((sum, size) => sum + size, 0) <= LIMITS.automod_regex_sizes_per_guild_max) return null;
  const path = ['trigger_metadata', 'regex_patterns'];
  return invalidField(
    path,
    'AUTO_MODERATION_INVALID_REGEX',
    'All patterns of this guild together are too large.',
  );
}

/** Shown on guilds that have rules. */
const FEATURE = 'AUTO_MODERATION';

/** The guild's feature follows whether it has rules. */
function featured({ info }: Guild, hasRules: boolean): readonly GuildFact[] {
  const { features } = info;
  if (features.includes(FEATURE) === hasRules) return [];
  const after = hasRules ? [...features, FEATURE] : features.filter((each) => each !== FEATURE);
  return [{ type: 'guildUpdated', info: { ...info, features: after } }];
}

function createRule(guild: Guild, draft: RuleDraft, by: By, env: Env): Outcome<Rule, GuildFact> {
  const settings = settingsOf(draft, null);
  if (!settings.ok) return settings;
  const trigger = settings.value.trigger_type;
  const max = rulesMax(trigger);
  const alike = guild.autoModeration.rules.filter(({ trigger_type: each }) => each === trigger);
  if (alike.length >= max) {
    const message = `Maximum number of rules with trigger type ${trigger} is ${max}`;
    return refused(invalidField([], 'AUTO_MODERATION_MAX_RULES_OF_TYPE_EXCEEDED', message));
  }
  const rule: Rule = { id: env.nextId(), guild_id: guild.id, creator_id: by.userId, ...settings.value };
  const no = timeoutRefusal(guild, [rule], by, env.nowMs) ?? misfit(guild, rule, draft);
  if (no) return refused(no);
  const changes = changesOf(null, rule, AUDITED);
  return accepted(rule, [
    { type: 'autoModerationRuleCreated', rule },
    ...featured(guild, true),
    auditEntry(env, by, { actionType: AUDIT.AUTO_MODERATION_RULE_CREATE, targetId: rule.id, changes }),
  ]);
}

function updateRule(
  guild: Guild,
  { ruleId, draft }: AutoModerationCommands['updateAutoModerationRule']['input'],
  by: By,
  env: Env,
): Outcome<Rule, GuildFact> {
  const before = guild.autoModeration.get(ruleId);
  if (!before) return unknownRule();
  const settings = settingsOf(draft, before);
  if (!settings.ok) return settings;
  const rule: Rule = { ...before, ...settings.value };
  const no = timeoutRefusal(guild, [before, rule], by, env.nowMs) ?? misfit(guild, rule, draft);
  if (no) return refused(no);
  const changes = changesOf(before, rule, AUDITED);
  if (changes.length === 0) return accepted(before);
  return accepted(rule, [
    { type: 'autoModerationRuleUpdated', rule },
    auditEntry(env, by, { actionType: AUDIT.AUTO_MODERATION_RULE_UPDATE, targetId: ruleId, changes }),
  ]);
}

function deleteRule(guild: Guild, ruleId: AutoModerationRuleId, by: By, env: Env): Outcome<null, GuildFact> {
  const rule = guild.autoModeration.get(ruleId);
  if (!rule) return unknownRule();
  const changes = changesOf(rule, null, AUDITED);
  return accepted(null, [
    { type: 'autoModerationRuleDeleted', rule },
    ...featured(guild, guild.autoModeration.rules.length > 1),
    auditEntry(env, by, { actionType: AUDIT.AUTO_MODERATION_RULE_DELETE, targetId: ruleId, changes }),
  ]);
}

const set = (guild: Guild, { rule }: { readonly rule: Rule }): void => guild.autoModeration.set(rule);

const shown =
  (t: Dispatch['t']) =>
  (_guild: Guild, { rule }: { readonly rule: Rule }): readonly Dispatch[] => [
    { t, d: rule, to: { kind: 'guild' } },
  ];

/** Rules about members' messages and names. */
export const autoModeration: GuildTopic<AutoModerationCommands, keyof AutoModerationFacts> = {
  commands: {
    listAutoModerationRules: { decide: (guild) => accepted(guild.autoModeration.rules) },
    getAutoModerationRule: {
      decide: (guild, { ruleId }) => {
        const rule = guild.autoModeration.get(ruleId);
        return rule ? accepted(rule) : unknownRule();
      },
    },
    createAutoModerationRule: { decide: (guild, { draft }, by, env) => createRule(guild, draft, by, env) },
    updateAutoModerationRule: { decide: updateRule },
    deleteAutoModerationRule: { decide: (guild, { ruleId }, by, env) => deleteRule(guild, ruleId, by, env) },
  },
  facts: {
    autoModerationRuleCreated: { apply: set, dispatches: shown('AUTO_MODERATION_RULE_CREATE') },
    autoModerationRuleUpdated: { apply: set, dispatches: shown('AUTO_MODERATION_RULE_UPDATE') },
    autoModerationRuleDeleted: {
      apply: (guild, { rule }) => guild.autoModeration.delete(rule.id),
      dispatches: shown('AUTO_MODERATION_RULE_DELETE'),
    },
    autoModerationWorked: {
      durable: false,
      apply: (guild, { units, atMs }) => guild.autoModeration.work.note(units, atMs),
      dispatches: () => [],
    },
    autoModerationActionExecuted: {
      durable: false,
      apply: () => {},
      dispatches: (guild, { execution }) => [
        {
          t: 'AUTO_MODERATION_ACTION_EXECUTION',
          d: { guild_id: guild.id, ...execution },
          to: { kind: 'guild' },
        },
      ],
    },
  },
};
