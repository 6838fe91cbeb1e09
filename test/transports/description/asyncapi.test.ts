// Goal: the AsyncAPI document names every opcode and dispatch once, with what a session needs to receive it.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { GatewayOpcodes } from 'discord-api-types/v10';
import { describe, expect, test } from 'vitest';
import { CLOSE } from '../../../protocol/closecodes.ts';
import { DISPATCH } from '../../../protocol/dispatches.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import { asyncApi } from '../../../transports/description/asyncapi.ts';
import { OPCODES, USER_OPCODES } from '../../../transports/gateway/opcodes/index.ts';
import { VOICE_OPCODES } from '../../../transports/voice/opcodes/index.ts';

type Json = Readonly<Record<string, unknown>>;
const document = asyncApi('0.0.0', 'ws://127.0.0.1:3000');
const { gateway, voice } = document.channels as Record<
  'gateway' | 'voice',
  (typeof document.channels)[string]
>;
const opOf = ({ payload, 'x-opcode': code }: Json) =>
  code ?? (payload as { properties: { op: { const: number } } }).properties.op.const;
const dispatches = Object.values(gateway.messages).filter((message) => opOf(message) === 0);
const messageOf = (name: string) => dispatches.find((message) => message.name === name) ?? {};

describe('the gateway', () => {
  test('sends every dispatch of the table, once', () => {
    expect(dispatches.map(({ name }) => name)).toEqual(Object.keys(DISPATCH));
  });

  test('names what a session needs to receive a dispatch', () => {
    expect(messageOf('MESSAGE_CREATE')).toMatchObject({
      'x-intents': ['GUILD_MESSAGES'],
      'x-direct-message-intents': ['DIRECT_MESSAGES'],
      'x-message-content': true,
      'x-scopes': ['dm_channels.messages.read'],
    });
    expect(messageOf('GUILD_BAN_ADD')['x-any-permission']).toEqual(['BAN_MEMBERS', 'VIEW_AUDIT_LOG']);
    expect(messageOf('INTERACTION_CREATE')['x-intents']).toEqual([]);
    expect(messageOf('GUILDHALL_LOBBY_HOST')['x-guildhall-extension']).toBe(true);
    expect(messageOf('LOBBY_UPDATE')['x-lobby-changes']).toBe(false);
    expect(messageOf('GUILDHALL_LOBBY_UPDATE')['x-lobby-changes']).toBe(true);
    expect(messageOf('LOBBY_CREATE')).not.toHaveProperty('x-guildhall-extension');
  });

  test('receives every opcode that a client may send', () => {
    const sent = Object.entries(gateway.messages).filter(([key]) => key.startsWith('client'));
    expect(sent.map(([, message]) => opOf(message))).toEqual([...OPCODES.keys(), ...USER_OPCODES.keys()]);
    expect(sent.map(([, message]) => opOf(message))).toEqual(
      expect.arrayContaining([GatewayOpcodes.Identify, GatewayOpcodes.Resume, GatewayOpcodes.Heartbeat]),
    );
  });

  test('lists every close code', () => {
    expect(gateway).toMatchObject({
      'x-close-codes': Object.entries(CLOSE).map(([title, row]) => ({ title, ...row })),
    });
  });

  test.each([
    ['clientIdentify', { op: 2, d: { token: 'a', intents: 513, properties: {} } }, true],
    ['clientIdentify', { op: 2, d: { intents: 513 } }, false],
    ['clientIdentify', { op: 3, d: { token: 'a' } }, false],
    ['clientRequestGuildMembers', { op: 8, d: { guild_id: '1', query: '', limit: 0 } }, true],
    ['clientVoiceStateUpdate', { op: 4, d: { guild_id: '1', channel_id: null, self_mute: 'no' } }, false],
    ['serverHello', { op: 10, d: { heartbeat_interval: 41_250 } }, true],
    ['serverMessageCreate', { op: 0, t: 'MESSAGE_CREATE', s: 3, d: { id: '1' } }, true],
    ['serverMessageCreate', { op: 0, t: 'MESSAGE_UPDATE', s: 3, d: {} }, false],
  ])('%s of %j fits its schema: %s', (key, frame, fits) => {
    const { payload } = gateway.messages[key] as { payload: object };
    expect(new Ajv2020({ strict: false }).validate(payload, frame)).toBe(fits);
  });
});

describe('the voice gateway', () => {
  test('receives and sends every implemented opcode', () => {
    const of = (side: string) =>
      Object.entries(voice.messages).flatMap(([key, message]) =>
        key.startsWith(side) ? [opOf(message)] : [],
      );
    expect(of('client')).toEqual(Object.keys(VOICE_OPCODES).map(Number));
    const all = new Set([...of('client'), ...of('server')]);
    const absent = Object.entries(VOICE_OP).flatMap(([name, op]) => (all.has(op) ? [] : [name]));
    // The platform's, which this server neither sends nor reads.
    expect(absent).toEqual(['CHANNEL_OPTIONS_UPDATE', 'CLIENT_FLAGS', 'SPEED_TEST', 'CLIENT_PLATFORM']);
  });
});

test('every operation refers to messages of its channel, and every message has an operation', () => {
  const refs = Object.values(document.operations).flatMap(({ messages }) =>
    (messages as { $ref: string }[]).map(({ $ref }) => $ref),
  );
  const places = Object.entries(document.channels).flatMap(([name, { messages }]) =>
    Object.keys(messages).map((key) => `#/channels/${name}/messages/${key}`),
  );
  expect(refs.sort()).toEqual(places.sort());
});
