// Goal: metrics tell of accounts, lobbies and tokens how much there is and how much there may be, and never whose.
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NotServed } from '../../../protocol/faults.ts';
import type { Metric } from '../../../protocol/metrics.ts';
import { anything } from '../../../protocol/schemas/schema.ts';
import { createMetrics } from '../../../transports/admin/metrics.ts';
import { addMetrics } from '../../../transports/admin/residentmetrics.ts';
import { op, resource } from '../../../transports/rest/operation.ts';
import { type LobbyInstance, openLobbyInstance } from '../../support/lobbyinstance.ts';
import { startApi } from '../../support/rest.ts';

const samples = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('metrics', () => {
  const shown = async (...metrics: Metric[]) => {
    const register = new Registry();
    addMetrics(register, metrics);
    return samples(await register.metrics());
  };
  const figure = (name: string, given: Partial<Metric> = {}): Metric => ({
    ...{ name, help: 'Some.', read: () => 1 },
    ...given,
  });

  test('are separate by label if they share a name, and their bound is exported once', async () => {
    const bound = { max: 9 };
    const lines = await shown(
      figure('things', { ...bound, labels: { kind: 'a' } }),
      figure('things', { ...bound, labels: { kind: 'b' }, read: async () => 2 }),
      figure('others'),
    );
    expect(lines.sort()).toEqual([
      'guildhall_bounds{figure="things"} 9',
      'others 1',
      'things{kind="a"} 1',
      'things{kind="b"} 2',
    ]);
  });

  test('are omitted when they cannot be read, and the others are exported', async () => {
    const lost = () => Promise.reject(new Error('The database is gone.'));
    const lines = await shown(
      figure('waiting', { read: lost }),
      figure('things', { labels: { kind: 'a' }, read: lost }),
      figure('things', { labels: { kind: 'b' } }),
    );
    expect(lines).toEqual(['things{kind="b"} 1']);
  });
});

describe('a server with lobbies', () => {
  let instance: LobbyInstance;
  beforeAll(async () => {
    instance = await openLobbyInstance();
  }, 60_000);
  afterAll(() => instance.close());

  const metricsOf = () =>
    createMetrics({
      residents: instance.registries,
      storage: instance.storage,
      metrics: instance.foundation.metrics,
      gateway: () => null,
      faults: new Map(),
      voice: null,
    });

  async function read(
    metrics = metricsOf(),
  ): Promise<{ text: string; value: (series: string) => number | undefined }> {
    const text = await metrics.text();
    const values = new Map(samples(text).map((line) => line.split(' ') as [string, string]));
    const value = (series: string) => (values.has(series) ? Number(values.get(series)) : undefined);
    return { text, value };
  }

  test('exports sessions by kind, lobbies and connected lobby members', async () => {
    const player = await instance.player();
    const other = await instance.player();
    for (const each of [player, other])
      await instance.lobbies.createOrJoin({ secret: 'counted', lobby: {}, member: {} }, each.authority);
    await player.connect();
    await player.connect();
    await instance.connect((await instance.identity.issue(instance.ownerId, 'user')).reveal());
    await instance.connect();
    const { value } = await read();
    expect(value('guildhall_gateway_sessions{kind="application"}')).toBe(2);
    expect(value('guildhall_gateway_sessions{kind="person"}')).toBe(1);
    expect(value('guildhall_gateway_sessions{kind="bot"}')).toBe(1);
    expect(value('guildhall_residents{kind="lobby"}')).toBe(1);
    expect(value('guildhall_actor_bugs{kind="lobby"}')).toBe(0);
    expect(value('guildhall_lobby_members_connected')).toBe(1);
    // The owner, the bot, and the player, among whose own tokens the one of the application was looked for first.
    expect(value('guildhall_token_holders_at_hand{kind="own"}')).toBe(3);
    expect(value('guildhall_token_holders_at_hand{kind="oauth2"}')).toBeGreaterThan(0);
    expect(value('guildhall_bounds{figure="guildhall_token_holders_at_hand"}')).toBe(40_000);
    expect(value('guildhall_bounds{figure="guildhall_password_hashes_waiting"}')).toBe(100);
    expect(value('guildhall_password_hashes_waiting')).toBe(0);
  });

  test('counts refused sign-ins by reason, without names, addresses or ids', async () => {
    const { accounts } = instance.features;
    const place = { address: '192.0.2.7', agent: 'Somebody' };
    for (let guess = 0; guess < 6; guess += 1)
      await accounts.signIn({ login: 'somebody', password: `a guess ${guess}` }, place);
    await accounts.secondFactor('no ticket', '123456', place);
    const { text, value } = await read();
    expect(value('guildhall_sign_ins_refused{reason="wrong"}')).toBe(6);
    expect(value('guildhall_sign_ins_refused{reason="too_many"}')).toBe(1);
    expect(value('guildhall_sign_ins_refused{reason="banned"}')).toBe(0);
    for (const told of ['somebody', '192.0.2.7', instance.ownerId, instance.applicationId])
      expect(text).not.toContain(told);
  });

  test('measures every answer by operation and status class, and counts those with 503', async () => {
    const metrics = metricsOf();
    const lost = op({
      ...{ method: 'GET', path: '/gateway', auth: 'none', status: 200, reply: anything },
      bucket: { per: null, limit: 10, windowMs: 1_000 },
      handle: () => Promise.reject(new NotServed('No shard serves it.')),
    });
    const api = await startApi(resource({ get_gateway: lost }), { metrics: metrics.http });
    try {
      for (const path of ['/gateway', '/gateway', '/elsewhere']) await fetch(`${api.url}/api/v10${path}`);
    } finally {
      await api.server.close();
    }
    const { value } = await read(metrics);
    const count = (labels: string) => value(`guildhall_http_request_seconds_count{${labels}}`);
    expect(count('operation="get_gateway",status="5xx"')).toBe(2);
    expect(count('operation="none",status="4xx"')).toBe(1);
    expect(value('guildhall_http_unavailable')).toBe(2);
  });

  test('counts waiting webhook events', async () => {
    const before = (await read()).value('guildhall_webhook_events_waiting') ?? Number.NaN;
    const event = {
      id: '7',
      applicationId: instance.applicationId,
      type: 'APPLICATION_DEAUTHORIZED',
    } as never;
    await instance.commit(instance.applicationId, [{ type: 'webhookEventQueued', event }]);
    expect((await read()).value('guildhall_webhook_events_waiting')).toBe(before + 1);
    expect(await instance.storage.webhookEvents.count(before)).toBe(before);
  });
});
