/** Goal: webhooks are made, moved and removed only by those who may, within their bounds, and no record holds a token. */
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import { channels } from '../../../engine/guild/channels.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import { webhooks } from '../../../engine/guild/webhooks.ts';
import type { Webhook } from '../../../engine/webhook/webhook.ts';
import type { ApplicationId, ChannelId, WebhookId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(webhooks, channels, audit);
const HOOK = '500' as WebhookId;
const bot = (applicationId = '900') =>
  caller('20', { bot: true, applicationId: applicationId as ApplicationId });
const holder = caller('0', { system: true });

/** Users: 2 owner, 10 keeper of webhooks, 12 plain, 20 a bot. Channels 50 and 51 for text, 52 a category, 53 a forum. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL,
    roles: [role('100', P.MANAGE_WEBHOOKS)],
    members: [fullMember('10', ['100']), fullMember('12'), fullMember('20')],
    channels: [
      channel('50'),
      channel('51'),
      channel('52', [], { type: 4 }),
      channel('53', [], { type: 15 }),
      channel('54', [], { type: 2 }),
    ],
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

const create = (guild: Guild, fields: object = {}, by = caller('10')) =>
  run<Webhook>(
    guild,
    'createWebhook',
    { channelId: '50', id: HOOK, name: 'Herald', avatar: null, ...fields },
    by,
  );
const update = (guild: Guild, fields: object, by = caller('10')) =>
  run<Webhook>(guild, 'updateWebhook', { webhookId: HOOK, ...fields }, by);
const remove = (guild: Guild, by = caller('10')) => run(guild, 'deleteWebhook', { webhookId: HOOK }, by);
const fill = (guild: Guild, count: number, channelId = '51') => {
  for (let index = 0; index < count; index += 1) {
    const id = String(10_000 + (guild.webhooks?.size ?? 0)) as WebhookId;
    guild.webhooks?.set(id, { id, channel_id: channelId as ChannelId } as Webhook);
  }
};

describe('a new webhook', () => {
  it('is dispatched to the channel and logged, without the token', () => {
    const { outcome, dispatches, facts } = create(arrange());
    expect(outcome).toMatchObject({
      ok: true,
      value: { id: HOOK, type: 1, channel_id: '50', guild_id: '1', name: 'Herald', application_id: null },
    });
    expect(dispatches[0]).toEqual({
      t: 'WEBHOOKS_UPDATE',
      d: { guild_id: '1', channel_id: '50' },
      to: { kind: 'channel', channelId: '50' },
    });
    expect(dispatches[1]?.d).toMatchObject({ action_type: 50, target_id: HOOK, user_id: '10' });
    expect(JSON.stringify(facts)).not.toContain('token');
  });

  it('belongs to the application of a bot, and to none if a person makes it', () => {
    expect(create(arrange(), {}, bot()).outcome).toMatchObject({ value: { application_id: '900' } });
    expect(create(arrange()).outcome).toMatchObject({ value: { application_id: null } });
  });

  it.each([
    ['a text channel', '50', undefined],
    ['a forum', '53', undefined],
    ['a voice channel', '54', undefined],
    ['a category', '52', 50024],
    ['no channel', '99', 10003],
  ])('is answered with the right code in %s', (_, channelId, code) => {
    expect(create(arrange(), { channelId }).code).toBe(code);
  });

  it.each([
    ['one character', 'x', undefined],
    ['80 characters', 'x'.repeat(80), undefined],
    ['80 characters beyond the basic plane', '\u{1f600}'.repeat(80), undefined],
    ['none', '', 50035],
    ['spaces only', '   ', 50035],
    ['81 characters', 'x'.repeat(81), 50035],
    ['a reserved word', 'my CLYDE', 50035],
    ['the other reserved word', 'the discord.com bell', 50035],
  ])('named with %s is answered with the right code', (_, name, code) => {
    const { outcome } = create(arrange(), { name });
    expect(outcome.ok ? undefined : outcome.refusal.code).toBe(code);
    if (!outcome.ok) expect(outcome.refusal.errors).toHaveProperty('name._errors');
  });

  it.each([
    ['14 in the channel', 14, '50', undefined],
    ['15 in the channel', 15, '50', 30007],
    ['999 in the guild', 999, '51', undefined],
    ['1000 in the guild', 1_000, '51', 30058],
  ])('is answered with the right code beside %s', (_, count, channelId, code) => {
    const guild = arrange();
    fill(guild, count, channelId);
    expect(create(guild).code).toBe(code);
  });
});

describe('a change of a webhook', () => {
  it('is logged, and a move is dispatched to both channels', () => {
    const guild = arrange();
    create(guild);
    const { dispatches } = update(guild, { name: 'Crier', avatar: 'abc', channelId: '51' });
    expect(dispatches.map(({ d }) => (d as { channel_id?: string }).channel_id)).toEqual([
      '50',
      '51',
      undefined,
    ]);
    expect(dispatches[2]?.d).toMatchObject({
      action_type: 51,
      changes: [
        { key: 'name', old_value: 'Herald', new_value: 'Crier' },
        { key: 'channel_id', old_value: '50', new_value: '51' },
        { key: 'avatar_hash', new_value: 'abc' },
      ],
    });
  });

  it('changes nothing when all values are equal', () => {
    const guild = arrange();
    create(guild);
    expect(update(guild, { name: 'Herald', channelId: '50' }).facts).toEqual([]);
  });

  it('is refused into a full channel, a category or an unknown one', () => {
    const guild = arrange();
    create(guild);
    fill(guild, 15);
    expect(update(guild, { channelId: '51' }).code).toBe(30007);
    expect(update(guild, { channelId: '52' }).code).toBe(50024);
    expect(update(guild, { channelId: '99' }).code).toBe(10003);
  });

  it('is refused into a channel where the caller does not manage webhooks, by its own application too', () => {
    const guild = arrange();
    create(guild, {}, bot());
    expect(update(guild, { channelId: '51' }, bot()).code).toBe(50013);
    expect(update(guild, { channelId: '51' }).code).toBeUndefined();
  });

  it('is logged without a user when the caller used the token', () => {
    const guild = arrange();
    create(guild);
    expect(update(guild, { name: 'Crier' }, holder).dispatches[1]?.d).toMatchObject({ user_id: null });
  });
});

describe('managing a webhook', () => {
  const COMMANDS = ['getWebhook', 'updateWebhook', 'deleteWebhook'] as const;

  it.each(COMMANDS)('%s requires MANAGE_WEBHOOKS, or its own application', (command) => {
    const guild = arrange();
    create(guild, {}, bot());
    expect(run(guild, command, { webhookId: HOOK }, caller('12')).code).toBe(50013);
    expect(run(guild, command, { webhookId: HOOK }, bot('901')).code).toBe(50013);
    expect(run(guild, command, { webhookId: HOOK }, bot()).code).toBeUndefined();
  });

  it.each(COMMANDS)('%s of an unknown webhook is refused with 10015', (command) => {
    expect(run(arrange(), command, { webhookId: '1' }, caller('10')).code).toBe(10015);
  });

  it('deletes a webhook once, with a dispatch and an audit log entry', () => {
    const guild = arrange();
    create(guild);
    const { dispatches } = remove(guild);
    expect(dispatches.map(({ t }) => t)).toEqual(['WEBHOOKS_UPDATE', 'GUILD_AUDIT_LOG_ENTRY_CREATE']);
    expect(dispatches[1]?.d).toMatchObject({ action_type: 52, target_id: HOOK });
    expect(remove(guild).code).toBe(10015);
  });

  it('ends with its channel', () => {
    const guild = arrange();
    create(guild);
    run(guild, 'deleteChannel', { channelId: '50' }, caller('2'));
    expect(guild.webhooks?.size).toBe(0);
  });

  it('lists the webhooks of one channel, or all', () => {
    const guild = arrange();
    create(guild);
    fill(guild, 2);
    const idsOf = (command: string, input: object) => {
      const { outcome } = run<readonly Webhook[]>(guild, command, input, caller('10'));
      return outcome.ok ? outcome.value.map(({ id }) => id) : [];
    };
    expect(idsOf('listChannelWebhooks', { channelId: '50' })).toEqual([HOOK]);
    expect(idsOf('listGuildWebhooks', {})).toHaveLength(3);
  });
});
