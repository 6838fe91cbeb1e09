// Goal: stock clients make rules of auto moderation, members meet them, and those who may hear of it, on the wire's own terms.
import {
  AuditLogEvent,
  AutoModerationActionType,
  type AutoModerationRule,
  AutoModerationRuleEventType,
  AutoModerationRuleKeywordPresetType,
  AutoModerationRuleTriggerType,
  Client,
  type ClientEvents,
  Events,
  GatewayIntentBits,
  type Guild,
  MessageType,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { P } from '../../protocol/permissions.ts';
import { startServer, type TestServer } from '../support/server.ts';

const TIMEOUT_MS = 10_000;
const { Guilds, GuildMembers, GuildMessages, GuildModeration, MessageContent } = GatewayIntentBits;
const { AutoModerationConfiguration, AutoModerationExecution } = GatewayIntentBits;
const HEARING = [Guilds, GuildMessages, AutoModerationConfiguration, AutoModerationExecution];

let server: TestServer;
/** Administrator, with all that it may hear. */
let bot: Client<true>;
/** Manages the guild, and may not read messages. */
let blind: Client<true>;
/** A plain member: receives no rule. */
let plain: Client<true>;
let guild: Guild;
const overheard: string[] = [];

async function online(token: string, intents: readonly GatewayIntentBits[]): Promise<Client<true>> {
  const { api, cdn } = server.info;
  const client = new Client({ intents: [...intents], rest: { api, cdn, mediaProxy: cdn, version: '10' } });
  client.on(Events.Error, (error) => expect.fail(error.message));
  const [[ready]] = await Promise.all([heard(client, Events.ClientReady), client.login(token)]);
  return ready;
}

function heard<E extends keyof ClientEvents>(client: Client, event: E): Promise<ClientEvents[E]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${event} did not come.`)), TIMEOUT_MS);
    client.once(event as string, (...args) => {
      clearTimeout(timer);
      resolve(args as ClientEvents[E]);
    });
  });
}

beforeAll(async () => {
  server = await startServer();
  const manager = await server.newBot('Sieve', { permissions: P.MANAGE_GUILD });
  const other = await server.newBot('Plain');
  bot = await online(server.info.bot.token, [...HEARING, GuildMembers, GuildModeration, MessageContent]);
  blind = await online(manager.token, HEARING);
  plain = await online(other.token, HEARING);
  plain.on(
    'raw' as never,
    (({ t }: { t: string }) => {
      if (t?.startsWith('AUTO_MODERATION')) overheard.push(t);
    }) as never,
  );
  guild = bot.guilds.cache.get(server.info.guild.id) as Guild;
});
afterAll(async () => {
  for (const client of [bot, blind, plain]) await client?.destroy();
  await server.finish();
});

const { Keyword, Spam, KeywordPreset, MentionSpam, MemberProfile } = AutoModerationRuleTriggerType;
const ofMessages = { eventType: AutoModerationRuleEventType.MessageSend, enabled: true } as const;
const block = { type: AutoModerationActionType.BlockMessage } as const;
const alert = () =>
  ({
    type: AutoModerationActionType.SendAlertMessage,
    metadata: { channel: server.info.guild.text_channel_id },
  }) as const;

/** Sends a message as a person of the demo. @returns the status and the body of the answer. */
const says = (content: string, person = 0) =>
  server.user(person).ask('create_message', {
    params: { channel_id: server.info.guild.text_channel_id },
    body: { content },
  });

describe('a rule', () => {
  test('is created, listed, read, changed and deleted by a manager, with a dispatch for each change', async () => {
    const [[born], rule] = await Promise.all([
      heard(blind, Events.AutoModerationRuleCreate),
      guild.autoModerationRules.create({
        ...ofMessages,
        name: 'Words',
        triggerType: Keyword,
        triggerMetadata: { keywordFilter: ['cat*'], regexPatterns: ['b[a4]d'], allowList: ['catalog'] },
        actions: [{ ...block, metadata: { customMessage: 'Not here.' } }],
        exemptRoles: [guild.roles.highest.id],
        exemptChannels: [server.info.guild.voice_channel_id],
        reason: 'Peace',
      }),
    ]);
    expect(born).toMatchObject({ id: rule.id, name: 'Words', triggerType: Keyword, creatorId: bot.user.id });
    expect(rule.triggerMetadata).toMatchObject({ keywordFilter: ['cat*'], allowList: ['catalog'] });
    const all = await guild.autoModerationRules.fetch({ cache: false });
    expect(all.map(({ id }) => id)).toEqual([rule.id]);
    const fetched = await guild.autoModerationRules.fetch({ autoModerationRule: rule.id, force: true });
    expect(fetched.actions[0]?.metadata.customMessage).toBe('Not here.');
    const [[, changed]] = await Promise.all([
      heard(blind, Events.AutoModerationRuleUpdate),
      rule.setKeywordFilter(['dog']),
    ]);
    expect(changed.triggerMetadata).toMatchObject({ keywordFilter: ['dog'], regexPatterns: ['b[a4]d'] });
    const [[gone]] = await Promise.all([heard(blind, Events.AutoModerationRuleDelete), rule.delete()]);
    expect(gone.id).toBe(rule.id);
    await expect(
      guild.autoModerationRules.fetch({ autoModerationRule: rule.id, force: true }),
    ).rejects.toThrow('Not Found');
    const log = await guild.fetchAuditLogs({ type: AuditLogEvent.AutoModerationRuleCreate });
    expect(log.entries.first()).toMatchObject({
      executorId: bot.user.id,
      reason: 'Peace',
      targetId: rule.id,
    });
    expect(overheard).toEqual([]);
  });

  test('exists for every trigger', async () => {
    const common = { name: 'rule', enabled: false, actions: [block, alert()] };
    const rules: AutoModerationRule[] = [];
    const made = async (options: Partial<Parameters<typeof guild.autoModerationRules.create>[0]>) =>
      rules.push(
        await guild.autoModerationRules.create({ ...ofMessages, triggerType: Spam, ...common, ...options }),
      );
    await made({ triggerType: Spam });
    await made({
      triggerType: KeywordPreset,
      triggerMetadata: { presets: [AutoModerationRuleKeywordPresetType.Profanity] },
    });
    await made({
      triggerType: MentionSpam,
      triggerMetadata: { mentionTotalLimit: 5, mentionRaidProtectionEnabled: true },
      actions: [{ type: AutoModerationActionType.Timeout, metadata: { durationSeconds: 60 } }],
    });
    await made({
      triggerType: MemberProfile,
      eventType: AutoModerationRuleEventType.MemberUpdate,
      triggerMetadata: { keywordFilter: ['cat'] },
      actions: [{ type: AutoModerationActionType.BlockMemberInteraction }],
    });
    await expect(made({ triggerType: Spam })).rejects.toThrow('AUTO_MODERATION_MAX_RULES_OF_TYPE_EXCEEDED');
    await expect(
      made({ triggerType: Keyword, triggerMetadata: { regexPatterns: ['(?=a)b'] } }),
    ).rejects.toThrow('AUTO_MODERATION_INVALID_REGEX');
    for (const rule of rules) await rule.delete();
  });

  test('is rejected for a caller who does not manage the guild', async () => {
    const own = plain.guilds.cache.get(guild.id) as Guild;
    await expect(own.autoModerationRules.fetch()).rejects.toThrow('Missing Permissions');
  });
});

describe('a forbidden word', () => {
  test('blocks the message, and an event with its content reaches sessions that may read it', async () => {
    const rule = await guild.autoModerationRules.create({
      ...ofMessages,
      name: 'Words',
      triggerType: Keyword,
      triggerMetadata: { keywordFilter: ['*ana*'] },
      actions: [{ ...block, metadata: { customMessage: 'No fruit.' } }, alert()],
    });
    const blocked = heard(bot, Events.AutoModerationActionExecution);
    const unread = heard(blind, Events.AutoModerationActionExecution);
    const alerted = heard(bot, Events.MessageCreate);
    expect(await says('One BANANA')).toMatchObject({
      status: 400,
      body: { code: 200000, errors: { content: { _errors: [{ message: 'No fruit.' }] } } },
    });
    const [[full], [less], [message]] = await Promise.all([blocked, unread, alerted]);
    expect(full).toMatchObject({
      ...{ ruleId: rule.id, userId: server.info.users[0]!.id, messageId: null },
      ...{ content: 'One BANANA', matchedKeyword: '*ana*', matchedContent: 'ANA' },
    });
    expect(less).toMatchObject({ ruleId: rule.id, content: '', matchedContent: '' });
    expect(message).toMatchObject({ type: MessageType.AutoModerationAction, content: '' });
    expect(message.embeds[0]?.data).toMatchObject({
      type: 'auto_moderation_message',
      description: 'One BANANA',
    });
    const log = await guild.fetchAuditLogs({ type: AuditLogEvent.AutoModerationBlockMessage });
    expect(log.entries.first()?.extra).toMatchObject({
      ...{ autoModerationRuleName: 'Words', autoModerationRuleTriggerType: '1' },
    });
    expect((await says('One apple')).status).toBe(200);
    await rule.delete();
    expect((await says('One BANANA')).status).toBe(200);
    expect(overheard).toEqual([]);
  });

  test('times its author out, who then cannot send messages', async () => {
    const rule = await guild.autoModerationRules.create({
      ...ofMessages,
      name: 'Silence',
      triggerType: Keyword,
      triggerMetadata: { regexPatterns: ['(?i)free\\s+nitro'] },
      actions: [block, { type: AutoModerationActionType.Timeout, metadata: { durationSeconds: 60 } }],
    });
    // The library emits changes of members that it knows.
    await guild.members.fetch(server.info.users[1]!.id);
    const changed = heard(bot, Events.GuildMemberUpdate);
    expect((await says('FREE nitro', 1)).status).toBe(400);
    const [, member] = await changed;
    expect(member.communicationDisabledUntilTimestamp).toBeGreaterThan(Date.now());
    expect(await says('hello', 1)).toMatchObject({ status: 403 });
    await member.timeout(null);
    await rule.delete();
  });

  test('quarantines a member whose nickname contains it until the nickname changes', async () => {
    const rule = await guild.autoModerationRules.create({
      ...{ name: 'Names', enabled: true, triggerType: MemberProfile },
      eventType: AutoModerationRuleEventType.MemberUpdate,
      triggerMetadata: { keywordFilter: ['cat*'] },
      actions: [{ type: AutoModerationActionType.BlockMemberInteraction }],
    });
    const renamed = (nick: string) =>
      server.user(0).ask('update_my_guild_member', { params: { guild_id: guild.id }, body: { nick } });
    expect(await renamed('Catherine')).toMatchObject({ status: 200 });
    expect(await says('hello')).toMatchObject({ status: 403 });
    expect(await renamed('Kate')).toMatchObject({ status: 200 });
    expect(await says('hello')).toMatchObject({ status: 200 });
    await rule.delete();
  });
});
