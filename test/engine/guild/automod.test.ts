// Goal: a guild's rules apply to the messages and names of members, except exempt ones.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Rule, RuleDraft } from '../../../engine/automod/rule.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import { guildPermissions } from '../../../engine/permissions/permissions.ts';
import { snowflakeOf } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role, user } from '../../support/guild.ts';
import { creation, edition } from '../../support/messages.ts';
import { fullMember, NOW_MS, type Ran } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const TALK = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.READ_MESSAGE_HISTORY | P.CHANGE_NICKNAME;
const [OWNER, MOD, ANN, BOB, HELPER, ROBOT] = ['2', '10', '11', '12', '13', '14'];

/** Channels: 50 in category 40, 51 for alerts, 52 a category. Roles: 60 manages the guild, 61 silences, 62 helps. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: TALK,
    roles: [
      role('60', P.MANAGE_GUILD, 3),
      role('61', P.MANAGE_GUILD | P.MODERATE_MEMBERS, 4),
      role('62', 0n, 1),
    ],
    members: [
      fullMember(MOD, ['61']),
      fullMember('15', ['60']),
      fullMember(ANN),
      fullMember(BOB),
      fullMember(HELPER, ['62']),
      fullMember(ROBOT, [], { user: user(ROBOT, true) }),
    ],
    channels: [channel('50', [], { parent_id: '40' }), channel('51'), channel('52', [], { type: 4 })],
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

let guild: Guild;
beforeEach(() => {
  guild = arrange();
});

const KEYWORD: RuleDraft = { name: 'words', event_type: 1, trigger_type: 1, enabled: true };
const create = (draft: RuleDraft, by = MOD) =>
  ruled<Rule>(guild, 'createAutoModerationRule', { draft: { ...KEYWORD, ...draft } }, by);
let made = 0;
function rule(draft: RuleDraft): Rule {
  const { outcome } = create(draft);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  // Ids of tests restart with each command.
  made += 1;
  const own = { ...outcome.value, id: snowflakeOf(BigInt(800_000 + made)) };
  guild.autoModeration.delete(outcome.value.id);
  guild.autoModeration.set(own);
  return own;
}
const say = (content: string, by = ANN, more: object = {}, nowMs = NOW_MS) =>
  ruled(guild, 'createMessage', { ...creation({ content }), ...more }, by, nowMs);
const errorsOf = ({ outcome }: Ran<unknown>) => (outcome.ok ? null : outcome.refusal.errors);
const words = (count: number, length = 5) =>
  Array.from({ length: count }, (_, n) => `${n}`.padStart(length, 'w'));

describe('a rule', () => {
  it('is created, changed and deleted, dispatched to managers, and logged', () => {
    const first = create({ trigger_metadata: { keyword_filter: ['cat'] } });
    const shape = {
      guild_id: '1',
      creator_id: MOD,
      name: 'words',
      event_type: 1,
      trigger_type: 1,
      trigger_metadata: { keyword_filter: ['cat'], regex_patterns: [], allow_list: [] },
      actions: [{ type: 1, metadata: {} }],
      enabled: true,
      exempt_roles: [],
      exempt_channels: [],
    };
    expect(first.outcome).toMatchObject({ ok: true, value: shape });
    expect(first.dispatches).toMatchObject([
      { t: 'AUTO_MODERATION_RULE_CREATE', d: shape, to: { kind: 'guild' } },
      { t: 'GUILD_UPDATE', d: { features: ['AUTO_MODERATION'] } },
      { t: 'GUILD_AUDIT_LOG_ENTRY_CREATE', d: { action_type: 140, user_id: MOD } },
    ]);
    const ruleId = guild.autoModeration.rules[0]?.id;
    const change = { ruleId, draft: { name: 'dogs', trigger_metadata: { regex_patterns: ['d.g'] } } };
    const changed = ruled<Rule>(guild, 'updateAutoModerationRule', change, MOD);
    expect(changed.outcome).toMatchObject({
      value: { name: 'dogs', trigger_metadata: { keyword_filter: ['cat'], regex_patterns: ['d.g'] } },
    });
    expect(changed.dispatches.map(({ t }) => t)).toEqual([
      'AUTO_MODERATION_RULE_UPDATE',
      'GUILD_AUDIT_LOG_ENTRY_CREATE',
    ]);
    expect(ruled(guild, 'updateAutoModerationRule', change, MOD).facts).toEqual([]);
    const gone = ruled(guild, 'deleteAutoModerationRule', { ruleId }, MOD);
    expect(gone.dispatches).toMatchObject([
      { t: 'AUTO_MODERATION_RULE_DELETE', d: { name: 'dogs' } },
      { t: 'GUILD_UPDATE', d: { features: [] } },
      { d: { action_type: 142, target_id: ruleId } },
    ]);
    for (const command of ['getAutoModerationRule', 'deleteAutoModerationRule'])
      expect(ruled(guild, command, { ruleId }, MOD)).toMatchObject({ code: 0, facts: [] });
  });

  it('keeps the guild feature while another rule exists', () => {
    const ruleId = [rule({}), rule({ trigger_type: 3 })][0]?.id;
    expect(ruled(guild, 'deleteAutoModerationRule', { ruleId }, MOD).types).not.toContain('guildUpdated');
  });

  it.each([
    [1, LIMITS.automod_keyword_rules_max],
    [3, 1],
    [4, 1],
    [5, 1],
    [6, 1],
  ] as const)('has trigger %i at most %i times in a guild', (trigger, max) => {
    const draft = { trigger_type: trigger, event_type: trigger === 6 ? 2 : 1 } as const;
    for (let count = 0; count < max; count += 1) rule(draft);
    const more = create(draft);
    expect(more.code).toBe(50035);
    expect(errorsOf(more)).toMatchObject({
      _errors: [{ code: 'AUTO_MODERATION_MAX_RULES_OF_TYPE_EXCEEDED' }],
    });
  });

  const metadata = (trigger_metadata: NonNullable<RuleDraft['trigger_metadata']>): RuleDraft => ({
    trigger_metadata,
  });
  it.each<[what: string, good: RuleDraft, bad: RuleDraft, path: string]>([
    [
      'keywords',
      metadata({ keyword_filter: words(1_000) }),
      metadata({ keyword_filter: words(1_001) }),
      'trigger_metadata.keyword_filter',
    ],
    [
      'letters of a keyword as compared',
      metadata({ keyword_filter: ['ﷺ'.repeat(6)] }),
      metadata({ keyword_filter: ['x', 'ﷺ'.repeat(60)] }),
      'trigger_metadata.keyword_filter.1',
    ],
    [
      'keywords without letters',
      metadata({ keyword_filter: ['*x*'] }),
      metadata({ keyword_filter: ['**'] }),
      'trigger_metadata.keyword_filter.0',
    ],
    [
      'allowed words',
      metadata({ allow_list: words(100) }),
      metadata({ allow_list: words(101) }),
      'trigger_metadata.allow_list',
    ],
    [
      'allowed words beside a list',
      { trigger_type: 4, ...metadata({ presets: [1], allow_list: words(1_000) }) },
      { trigger_type: 4, ...metadata({ presets: [1], allow_list: words(1_001) }) },
      'trigger_metadata.allow_list',
    ],
    [
      'patterns',
      metadata({ regex_patterns: ['a', 'b+'] }),
      metadata({ regex_patterns: ['a', '(b'] }),
      'trigger_metadata.regex_patterns.1',
    ],
    ['events', {}, { event_type: 2 }, 'event_type'],
    ['events of profiles', { trigger_type: 6, event_type: 2 }, { trigger_type: 6 }, 'event_type'],
    [
      'channels of alerts',
      { actions: [{ type: 2, metadata: { channel_id: '51' as never } }] },
      { actions: [{ type: 2, metadata: { channel_id: '52' as never } }] },
      'actions.0.metadata.channel_id',
    ],
    [
      'alerts without a channel',
      { actions: [{ type: 1 }] },
      { actions: [{ type: 1 }, { type: 2 }] },
      'actions.1.metadata.channel_id',
    ],
    [
      'triggers that may time out',
      { trigger_type: 5, actions: [{ type: 3, metadata: { duration_seconds: 60 } }] },
      { trigger_type: 3, actions: [{ type: 3, metadata: { duration_seconds: 60 } }] },
      'actions.0.type',
    ],
    [
      'triggers that may quarantine',
      { trigger_type: 6, event_type: 2, actions: [{ type: 4 }] },
      { actions: [{ type: 4 }] },
      'actions.0.type',
    ],
    [
      'triggers that may block',
      { actions: [{ type: 1 }] },
      { trigger_type: 6, event_type: 2, actions: [{ type: 1 }] },
      'actions.0.type',
    ],
  ])('has its bounds for %s', (_, good, bad, at) => {
    expect(create(good).code).toBeUndefined();
    guild = arrange();
    const refused = create(bad);
    expect(refused.code).toBe(50035);
    const leaf = at
      .split('.')
      .reduce<object | undefined>(
        (tree, key) => (tree as Record<string, object>)?.[key],
        errorsOf(refused) ?? {},
      );
    expect(leaf).toHaveProperty('_errors');
  });

  it('keeps its trigger', () => {
    const { id } = rule({});
    const change = { ruleId: id, draft: { trigger_type: 3 } };
    expect(ruled(guild, 'updateAutoModerationRule', change, MOD).code).toBe(50035);
  });

  it('shares the bound on patterns with the other rules', () => {
    const large = { trigger_metadata: { regex_patterns: Array.from({ length: 10 }, () => 'a{90}') } };
    rule(large);
    rule(large);
    rule(large);
    expect(create(large).code).toBe(50035);
  });
});

describe('a message with a forbidden word', () => {
  it('is blocked with the custom message of the rule, logged and dispatched', () => {
    const { id } = rule({
      trigger_metadata: { keyword_filter: ['*ana*'] },
      actions: [{ type: 1, metadata: { custom_message: 'No fruit, please.' } }],
    });
    const { outcome, code, types, dispatches } = say('One BANANA');
    expect(code).toBe(200000);
    expect(outcome).toMatchObject({
      refusal: { status: 400, errors: { content: { _errors: [{ message: 'No fruit, please.' }] } } },
    });
    expect(types).toEqual(['auditLogged', 'autoModerationActionExecuted']);
    expect(dispatches).toMatchObject([
      {
        t: 'GUILD_AUDIT_LOG_ENTRY_CREATE',
        d: {
          action_type: 143,
          user_id: ANN,
          target_id: ANN,
          options: {
            auto_moderation_rule_name: 'words',
            auto_moderation_rule_trigger_type: '1',
            channel_id: '50',
          },
        },
      },
      {
        t: 'AUTO_MODERATION_ACTION_EXECUTION',
        to: { kind: 'guild' },
        d: {
          guild_id: '1',
          action: { type: 1, metadata: { custom_message: 'No fruit, please.' } },
          rule_id: id,
          rule_trigger_type: 1,
          user_id: ANN,
          channel_id: '50',
          content: 'One BANANA',
          matched_keyword: '*ana*',
          matched_content: 'ANA',
        },
      },
    ]);
    expect(dispatches[1]?.d).not.toHaveProperty('message_id');
    expect(say('One apple').code).toBeUndefined();
  });

  it('is sent and reported to moderators when the rule only alerts', () => {
    rule({
      trigger_metadata: { keyword_filter: ['cat'] },
      actions: [{ type: 2, metadata: { channel_id: '51' as never } }],
    });
    const { types, facts, dispatches } = say('my cat');
    expect(types).toEqual([
      'messageCreated',
      'messageCreated',
      'auditLogged',
      'autoModerationActionExecuted',
    ]);
    const [sent, alert] = facts.flatMap((fact) => (fact.type === 'messageCreated' ? fact.message : []));
    expect(alert).toMatchObject({
      type: 24,
      channel_id: '51',
      author: { id: ANN },
      content: '',
      embeds: [
        {
          type: 'auto_moderation_message',
          description: 'my cat',
          fields: expect.arrayContaining([
            { name: 'rule_name', value: 'words', inline: false },
            { name: 'channel_id', value: '50', inline: false },
            { name: 'keyword', value: 'cat', inline: false },
            { name: 'keyword_matched_content', value: 'cat', inline: false },
            { name: 'flagged_message_id', value: sent?.id, inline: false },
            { name: 'decision_outcome', value: 'flagged', inline: false },
          ]),
        },
      ],
    });
    expect(dispatches.at(-1)?.d).toMatchObject({
      message_id: sent?.id,
      alert_system_message_id: alert?.id,
      action: { type: 2, metadata: { channel_id: '51' } },
    });
  });

  it('times out its author for the duration of the rule', () => {
    rule({
      trigger_metadata: { regex_patterns: ['(?i)free\\s+nitro'] },
      actions: [{ type: 1 }, { type: 3, metadata: { duration_seconds: 60 } }],
    });
    const { types, dispatches } = say('FREE  nitro');
    expect(types).toContain('memberUpdated');
    const until = guild.members.get(ANN as never)?.communication_disabled_until;
    expect(Date.parse(until ?? '')).toBe(NOW_MS + 60_000);
    expect(dispatches.map(({ d }) => (d as { action_type?: number }).action_type).filter(Boolean)).toEqual([
      143, 145,
    ]);
  });

  it('is blocked as an edit too, with the id of no message', () => {
    const sent = say('harmless');
    const [message] = sent.facts.flatMap((fact) => (fact.type === 'messageCreated' ? fact.message : []));
    rule({ trigger_metadata: { keyword_filter: ['cat'] } });
    const edit = edition(message!.id, { content: 'a cat' });
    const { code, types } = ruled(guild, 'updateMessage', edit, ANN);
    expect(code).toBe(200000);
    expect(types).not.toContain('messageUpdated');
    expect(guild.messages.get(message!.id)?.content).toBe('harmless');
  });

  it.each([
    ['the owner', OWNER, {}],
    ['a member who manages the guild', MOD, {}],
    ['a bot', ROBOT, {}],
    ['a member with an exempt role', HELPER, {}],
    ['any member in an exempt channel', ANN, { channelId: '51' }],
  ])('is sent by %s', (_, by, more) => {
    rule({
      trigger_metadata: { keyword_filter: ['cat'] },
      exempt_roles: ['62' as never],
      exempt_channels: ['51' as never],
    });
    expect(say('a cat', by, more).code).toBeUndefined();
    expect(say('a cat').code).toBe(200000);
  });

  it('is sent where the category is exempt, and when everyone is', () => {
    rule({ trigger_metadata: { keyword_filter: ['cat'] }, exempt_channels: ['40' as never] });
    expect(say('a cat').code).toBeUndefined();
    expect(say('a cat', ANN, { channelId: '51' }).code).toBe(200000);
    guild = arrange();
    rule({ trigger_metadata: { keyword_filter: ['cat'] }, exempt_roles: ['1' as never] });
    expect(say('a cat').code).toBeUndefined();
  });

  it('is sent when the rule is disabled, and when the allow list contains the surrounding word', () => {
    rule({ trigger_metadata: { keyword_filter: ['cat'] }, enabled: false });
    expect(say('a cat').code).toBeUndefined();
    rule({
      trigger_metadata: {
        keyword_filter: ['*cat*'],
        regex_patterns: ['b[a4]d'],
        allow_list: ['location*', 'badminton'],
      },
    });
    expect(say('Locations for badminton').code).toBeUndefined();
    expect(say('location of a catch').code).toBe(200000);
    expect(say('badminton, b4d').code).toBe(200000);
  });

  it('is matched by the built-in word lists', () => {
    rule({ trigger_type: 4, trigger_metadata: { presets: [1], allow_list: ['damn good'] } });
    expect(say('damn').code).toBe(200000);
    expect(say('damn good').code).toBeUndefined();
  });
});

describe('patterns', () => {
  it('refuse messages with 20029 while their work exceeds its bound', () => {
    rule({ trigger_metadata: { regex_patterns: ['[a-z]{490}[0-9]'] }, exempt_roles: ['62' as never] });
    const text = 'a '.repeat(990);
    let sent = 0;
    while (say(text, sent % 2 ? ANN : BOB).code === undefined) sent += 1;
    expect(sent).toBe(Math.ceil(LIMITS.automod_regex_work_max / (493 * text.trim().length)));
    const { outcome } = say(text);
    expect(outcome).toMatchObject({ refusal: { code: 20029, retryAfterSec: expect.any(Number) } });
    const waitMs = outcome.ok ? 0 : (outcome.refusal.retryAfterSec ?? 0) * 1_000;
    expect(say(text, ANN, {}, NOW_MS + waitMs - 1).code).toBe(20029);
    expect(say(text, HELPER).code).toBeUndefined();
    expect(say(text, ANN, {}, NOW_MS + waitMs + 1).code).toBeUndefined();
    expect(say(text, MOD, {}, NOW_MS + waitMs + 2).code).toBeUndefined();
  });
});

describe('spam', () => {
  it('is too many messages, or the same one too often, and ends with time', () => {
    rule({ trigger_type: 3 });
    for (let count = 0; count < LIMITS.automod_repeats_max; count += 1)
      expect(say('buy now').code).toBeUndefined();
    expect(say('BUY now').code).toBe(200000);
    expect(say('buy  \u200b now').code).toBe(200000);
    expect(say('buy now', BOB).code).toBeUndefined();
    expect(say('buy now', ANN, {}, NOW_MS + LIMITS.automod_repeats_ms).code).toBeUndefined();
    guild = arrange();
    rule({ trigger_type: 3 });
    for (let count = 0; count < LIMITS.automod_spam_messages_max; count += 1)
      expect(say(`number ${count}`).code).toBeUndefined();
    expect(say('one more').code).toBe(200000);
    expect(say('one more', ANN, {}, NOW_MS + LIMITS.automod_spam_ms).code).toBeUndefined();
  });
});

describe('an alert', () => {
  it('does not count as a message of the member that it reports', () => {
    rule({ trigger_type: 3 });
    rule({
      trigger_metadata: { keyword_filter: ['cat'] },
      actions: [{ type: 2, metadata: { channel_id: '51' as never } }],
    });
    for (let count = 0; count < LIMITS.automod_spam_messages_max; count += 1)
      expect(say(`cat ${count}`).code).toBeUndefined();
    expect(say('one more').code).toBe(200000);
  });
});

describe('mentions', () => {
  const naming = (count: number, from = 0) =>
    Array.from({ length: count }, (_, n) => `<@${100_000_000_000_000_000n + BigInt(from + n)}>`).join(' ');

  it('are counted once for each user and role', () => {
    rule({ trigger_type: 5, trigger_metadata: { mention_total_limit: 3 } });
    expect(say(naming(3)).code).toBeUndefined();
    expect(say(`${naming(3)} ${naming(2)}`).code).toBeUndefined();
    expect(say(naming(4)).code).toBe(200000);
    expect(say(`${naming(3)} <@&100000000000000009>`).code).toBe(200000);
  });

  it('are a raid when many members send them within a minute', () => {
    rule({
      trigger_type: 5,
      trigger_metadata: { mention_total_limit: 10, mention_raid_protection_enabled: true },
    });
    for (let count = 0; count < 5; count += 1)
      expect(say(naming(10, count * 10), count % 2 ? ANN : BOB).code).toBeUndefined();
    expect(say(naming(1)).code).toBe(200000);
    expect(say('nobody is mentioned').code).toBeUndefined();
    expect(say(naming(1), ANN, {}, NOW_MS + LIMITS.automod_raid_ms).code).toBeUndefined();
  });
});

describe('a profile', () => {
  const FLAG = 1 << 7;
  const flagsOf = (userId: string) => guild.members.get(userId as never)?.flags ?? 0;
  const call = (nick: string | null, by = ANN) => ruled(guild, 'updateMyMember', { nick }, by);

  it('quarantines its member for a forbidden word until the next name', () => {
    rule({ trigger_type: 6, event_type: 2, trigger_metadata: { keyword_filter: ['*cat*'] } });
    const { outcome, types, dispatches } = call('Cattle');
    expect(outcome).toMatchObject({ value: { nick: 'Cattle', flags: FLAG } });
    expect(types).toEqual(['memberUpdated', 'auditLogged', 'autoModerationActionExecuted', 'auditLogged']);
    expect(flagsOf(ANN) & FLAG).toBe(FLAG);
    expect(dispatches.map(({ d }) => (d as { action_type?: number }).action_type).filter(Boolean)).toContain(
      146,
    );
    expect(guildPermissions(guild, ANN as never, NOW_MS) & P.SEND_MESSAGES).toBe(0n);
    call('Dog');
    expect(flagsOf(ANN) & FLAG).toBe(0);
    expect(call('Cattle', MOD).types).not.toContain('autoModerationActionExecuted');
  });

  it('is checked when its member joins or changes the username', () => {
    rule({ trigger_type: 6, event_type: 2, trigger_metadata: { keyword_filter: ['cat'] } });
    guild.users.set('77' as never, { ...user('77'), global_name: 'Cat' });
    expect(ruled(guild, 'addMember', { userId: '77' }, '0').code).toBeUndefined();
    expect(flagsOf('77') & FLAG).toBe(FLAG);
    ruled(guild, 'memberUserChanged', { user: { ...user('77'), global_name: 'Dog' } }, '0');
    expect(flagsOf('77') & FLAG).toBe(0);
  });
});
