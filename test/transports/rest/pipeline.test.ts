// Goal: every operation is called one way, and each step of that way can end it with the platform's answer.
import { describe, expect, test } from 'vitest';
import { refusal } from '../../../protocol/refusal.ts';
import { Int, Obj, Optional, Snowflake, Str } from '../../../protocol/schemas/request.ts';
import { anything } from '../../../protocol/schemas/schema.ts';
import { type AnyOperation, op, resource } from '../../../transports/rest/operation.ts';
import type { AnyAfterHook, AnyBeforeHook } from '../../../transports/rest/pipeline.ts';
import { BOT, HUMAN, pipelineOf } from '../../support/rest.ts';

const HERE = { caller: BOT, publicUrl: 'http://x', address: '10.0.0.1' };
const bucket = { per: 'channel_id', limit: 3, windowMs: 5_000 } as const;

const echo = (over: Partial<AnyOperation> = {}): AnyOperation => ({
  ...op({
    method: 'POST',
    path: '/channels/:channel_id/messages',
    auth: 'any',
    permission: 8n,
    bucket,
    body: Obj({ content: Str(1, 5), target: Optional(Snowflake()) }),
    query: Obj({ limit: Optional(Int(1, 100)) }),
    status: 200,
    reply: anything,
    handle: ({ params, query, body, authority }) => ({
      ok: true,
      value: { params, query, body, requires: String(authority.requires), by: authority.by },
    }),
  }),
  ...over,
});
const call = (content: unknown = 'hi', channel = '7') => ({
  ...HERE,
  params: { channel_id: channel },
  body: { content },
});

test('a handler receives the fields of its schemas and the authority of its caller', async () => {
  const { pipeline } = pipelineOf({ create_message: echo() });
  const result = await pipeline.invoke('create_message', {
    ...call(),
    query: { limit: '5', other: 'x' },
    body: { content: 12, target: 42, other: {} },
    reason: 'because',
  });
  expect(result).toMatchObject({
    status: 200,
    body: {
      params: { channel_id: '7' },
      query: { limit: 5 },
      body: { content: '12', target: '42' },
      requires: '8',
      by: { userId: BOT.userId, bot: true, reason: 'because' },
    },
  });
  expect(result.body).not.toMatchObject({ body: { other: {} } });
});

test('a wrong body, query or id is refused with 50035 and the path of the error', async () => {
  const { pipeline } = pipelineOf({ create_message: echo() });
  const errorsOf = async (over: object) =>
    (await pipeline.invoke('create_message', { ...call(), ...over })).body;
  expect(await errorsOf({ body: undefined })).toMatchObject({
    code: 50035,
    errors: { content: { _errors: [{ code: 'BASE_TYPE_REQUIRED', message: 'This field is required' }] } },
  });
  expect(await errorsOf({ query: { limit: '101' } })).toMatchObject({
    errors: { limit: { _errors: [{ code: 'NUMBER_TYPE_MAX' }] } },
  });
  expect(await errorsOf({ params: { channel_id: '@me' } })).toMatchObject({
    errors: { channel_id: { _errors: [{ code: 'NUMBER_TYPE_COERCE' }] } },
  });
});

test.each([
  ['any', null, 401, 0],
  ['bot', HUMAN, 403, 20002],
  ['user', BOT, 403, 20001],
] as const)('auth %s admits only its kinds of callers', async (auth, caller, status, code) => {
  const { pipeline } = pipelineOf({ create_message: echo({ auth }) });
  expect(await pipeline.invoke('create_message', { ...call(), caller })).toMatchObject({
    status,
    body: { code },
  });
});

test('ids have one spelling, and texts that the database cannot store are refused', async () => {
  const { pipeline } = pipelineOf({
    create_message: echo(),
    by_code: echo({ method: 'GET', path: '/invites/:code', bucket: { ...bucket, per: null } }),
  });
  expect(await pipeline.invoke('create_message', call('hi', '07'))).toMatchObject({ status: 400 });
  const params = { code: 'a\u0000b' };
  const result = await pipeline.invoke('by_code', { ...call(), params, reason: 'x\u0000\ud800' });
  expect(result.body).toMatchObject({ params: { code: 'ab' }, by: { reason: 'x\ufffd' } });
});

test('a parameter of the path that an embedding program forgets, or gives as a number, is refused', async () => {
  const { pipeline } = pipelineOf({ create_message: echo() });
  const invoke = (params: object) => pipeline.invoke('create_message', { ...call(), params } as never);
  const errors = (code: string) => ({ body: { errors: { channel_id: { _errors: [{ code }] } } } });
  expect(await invoke({})).toMatchObject(errors('BASE_TYPE_REQUIRED'));
  expect(await invoke({ channel_id: 7 })).toMatchObject(errors('NUMBER_TYPE_COERCE'));
  expect(await invoke({ channel_id: '7', more: 'x' })).toMatchObject({
    body: { params: { channel_id: '7' } },
  });
});

test('an operation without a handler is answered with 404 and its name; an unknown operationId throws', async () => {
  const { pipeline } = pipelineOf({});
  expect(await pipeline.invoke('create_lobby', HERE)).toMatchObject({
    status: 404,
    body: { code: 0, message: expect.stringContaining('create_lobby') },
  });
  await expect(pipeline.invoke('no_such_operation', HERE)).rejects.toThrow(RangeError);
});

describe('limits', () => {
  test('a response has the remaining calls, and a 429 has Retry-After and Via', async () => {
    const { pipeline, clock } = pipelineOf({ create_message: echo() });
    const results = [];
    for (let n = 0; n < 4; n++) results.push(await pipeline.invoke('create_message', call()));
    expect(results.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(results[0]?.headers).toEqual({
      'X-RateLimit-Limit': '3',
      'X-RateLimit-Remaining': '2',
      'X-RateLimit-Reset': '1700000005.000',
      'X-RateLimit-Reset-After': '5.000',
      'X-RateLimit-Bucket': expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(results[3]).toMatchObject({
      headers: {
        'Retry-After': '5',
        'X-RateLimit-Scope': 'user',
        Via: expect.any(String),
        'X-RateLimit-Remaining': '0',
      },
      body: { code: 0, message: 'You are being rate limited.', retry_after: 5, global: false },
    });
    clock.advance(5_000);
    expect((await pipeline.invoke('create_message', call())).status).toBe(200);
  });

  test('channels and callers are counted separately; the operations of a group are counted together', async () => {
    const group = { ...bucket, limit: 1, group: 'both' };
    const { pipeline } = pipelineOf({
      create_message: echo({ bucket: group }),
      update_message: echo({ bucket: group }),
    });
    const status = async (id: string, over: object = {}) =>
      (await pipeline.invoke(id, { ...call(), ...over })).status;
    expect(await status('create_message')).toBe(200);
    expect(await status('update_message')).toBe(429);
    expect(await status('update_message', { params: { channel_id: '8' } })).toBe(200);
    expect(await status('update_message', { caller: HUMAN })).toBe(200);
  });

  test('a token in the path is counted separately for any caller, and not in the global limit', async () => {
    const execute = echo({
      path: '/webhooks/:webhook_id/:webhook_token',
      auth: 'none',
      bucket: { per: 'webhook_id', limit: 2, windowMs: 5_000 },
      handle: () => ({ ok: true, value: {} }),
    });
    const { pipeline } = pipelineOf(
      { create_message: echo(), execute_webhook: execute },
      { globalPerSecond: 1 },
    );
    const status = async (webhook_token: string, over: object = {}) => {
      const params = { webhook_id: '7', webhook_token };
      return (await pipeline.invoke('execute_webhook', { ...call(), params, ...over })).status;
    };
    expect(await status('right')).toBe(200);
    expect(await status('right', { caller: null, address: '192.0.2.9' })).toBe(200);
    expect(await status('right', { caller: HUMAN, address: '192.0.2.8' })).toBe(429);
    expect(await status('wrong')).toBe(200);
    expect((await pipeline.invoke('create_message', call())).status).toBe(200);
  });

  test('the global limit covers all operations, and its 429 is marked global and has no bucket', async () => {
    const { pipeline } = pipelineOf({ create_message: echo() }, { globalPerSecond: 2 });
    for (const channel of ['1', '2']) await pipeline.invoke('create_message', call('hi', channel));
    const { status, headers, body } = await pipeline.invoke('create_message', call('hi', '3'));
    expect([status, body]).toMatchObject([429, { global: true }]);
    expect(headers).toEqual({
      'Retry-After': '1',
      'X-RateLimit-Global': 'true',
      'X-RateLimit-Scope': 'global',
      Via: expect.any(String),
    });
  });

  test('an embedded call has no rate limit', async () => {
    const { pipeline } = pipelineOf({ create_message: echo() });
    for (let n = 0; n < 10; n++)
      expect(await pipeline.invoke('create_message', { ...call(), address: null })).toMatchObject({
        status: 200,
        headers: {},
      });
  });

  test('an address with 10,000 invalid requests is blocked for the rest of ten minutes', async () => {
    const free = { per: null, limit: 100_000, windowMs: 1 };
    const { pipeline, clock } = pipelineOf(
      { create_message: echo({ bucket: free }) },
      { globalPerSecond: 100_000 },
    );
    for (let n = 0; n < 10_000; n++) await pipeline.invoke('create_message', { ...call(), caller: null });
    expect((await pipeline.invoke('create_message', call())).status).toBe(429);
    expect((await pipeline.invoke('create_message', { ...call(), address: '10.0.0.2' })).status).toBe(200);
    clock.advance(600_000);
    expect((await pipeline.invoke('create_message', call())).status).toBe(200);
  });

  test('a 429 of a handler has the scope shared and its own Retry-After', async () => {
    const slow = { ...refusal('SLOWMODE_RATE_LIMIT'), retryAfterSec: 2.5 };
    const { pipeline } = pipelineOf({
      create_message: echo({ handle: () => ({ ok: false, refusal: slow }) }),
    });
    expect(await pipeline.invoke('create_message', call())).toMatchObject({
      status: 429,
      headers: { 'Retry-After': '3', 'X-RateLimit-Scope': 'shared', Via: expect.any(String) },
      body: { code: 20016, retry_after: 2.5, global: false },
    });
  });
});

describe('hooks', () => {
  const hooked = (before: AnyBeforeHook[], after: AnyAfterHook[] = []) =>
    pipelineOf(
      { create_message: echo() },
      {
        hooks: { before: new Map([['create_message', before]]), after: new Map([['create_message', after]]) },
      },
    ).pipeline;

  test('may rewrite a call, which is then validated again', async () => {
    const pipeline = hooked([() => ({ body: { content: 'other' } })]);
    expect(await pipeline.invoke('create_message', call())).toMatchObject({
      body: { body: { content: 'other' } },
    });
    const wrong = hooked([async () => ({ body: { content: 'too long' } })]);
    expect(await wrong.invoke('create_message', call())).toMatchObject({
      status: 400,
      body: { code: 50035 },
    });
  });

  test('may refuse a call', async () => {
    const pipeline = hooked([() => ({ refuse: { status: 403, code: 7, message: 'no' } })]);
    expect(await pipeline.invoke('create_message', call())).toMatchObject({
      status: 403,
      body: { code: 7, message: 'no' },
    });
  });

  test('may rewrite an answer', async () => {
    const pipeline = hooked([], [(_call, { status }) => ({ status: status + 1, body: 'rewritten' })]);
    expect(await pipeline.invoke('create_message', call())).toMatchObject({ status: 201, body: 'rewritten' });
  });
});

test('attachments are returned with signed URLs, and stored without', async () => {
  const attachment = Object.freeze({ url: '/a', proxy_url: '/b' });
  const kept = { id: '1', attachments: Object.freeze([attachment]), content: 'x' };
  const list = echo({ handle: () => ({ ok: true, value: [kept, { referenced_message: kept }] }) });
  const { pipeline } = pipelineOf(resource({ list_messages: list }));
  const signed = { ...kept, attachments: [{ url: '/a?signed', proxy_url: '/b?signed' }] };
  expect((await pipeline.invoke('list_messages', call())).body).toEqual([
    signed,
    { referenced_message: signed },
  ]);
  expect(kept.attachments).toEqual([attachment]);
});

describe('in a guild that requires a second factor', () => {
  const asking = () => {
    const factors: unknown[] = [];
    const handle: AnyOperation['handle'] = ({ authority }) => {
      const secondFactor = authority?.by.secondFactor;
      factors.push(secondFactor);
      return secondFactor === 'set'
        ? { ok: true, value: {} }
        : { ok: false, refusal: refusal('TWO_FACTOR_REQUIRED') };
    };
    return { factors, operation: echo({ handle }) };
  };

  test.each([
    ['runs the handler once for a caller with a factor', true, 200],
    ['refuses a caller without a factor, and runs the handler once', false, 401],
  ])('%s', async (_, hasFactor, status) => {
    const { factors, operation } = asking();
    const services = { accounts: { profile: async () => ({ hasFactor }) } };
    const { pipeline } = pipelineOf({ create_message: operation }, { services });
    const ask = () => pipeline.invoke('create_message', { ...call(), caller: HUMAN });
    const known = hasFactor ? 'set' : 'none';
    expect((await ask()).status).toBe(status);
    expect(factors).toEqual(['unknown', known]);
    expect((await ask()).status).toBe(status);
    expect(factors).toEqual(['unknown', known, known]);
  });

  test('looks up the factor at each call, so that a new factor is effective at once', async () => {
    const { operation } = asking();
    let hasFactor = false;
    const services = { accounts: { profile: async () => ({ hasFactor }) } };
    const { pipeline } = pipelineOf({ create_message: operation }, { services });
    const ask = async () => (await pipeline.invoke('create_message', { ...call(), caller: HUMAN })).status;
    expect([await ask(), await ask()]).toEqual([401, 401]);
    hasFactor = true;
    expect(await ask()).toBe(200);
  });
});
