import { CLOSE } from '../../protocol/closecodes.ts';
import { DISPATCH, type DispatchRow } from '../../protocol/dispatches.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { P } from '../../protocol/permissions.ts';
import { BINARY_VOICE_OPS, VOICE_CLOSE, VOICE_OP, VOICE_VERSIONS } from '../../protocol/voice.ts';
import { SERVER_VOICE_OPS } from '../../protocol/voiceframing.ts';
import { OPCODES, USER_OPCODES } from '../gateway/opcodes/index.ts';
import { type JsonSchema, jsonSchemaOf, pascal } from '../rest/jsonschema.ts';
import { VOICE_OPCODES } from '../voice/opcodes/index.ts';

/** An AsyncAPI document, as plain JSON. */
interface AsyncApi {
  readonly asyncapi: '3.0.0';
  readonly info: JsonSchema;
  readonly defaultContentType: string;
  readonly servers: JsonSchema;
  readonly channels: Readonly<Record<string, { readonly messages: Readonly<Record<string, JsonSchema>> }>>;
  readonly operations: Readonly<Record<string, JsonSchema>>;
}

type Messages = Readonly<Record<string, JsonSchema>>;
type Direction = 'receive' | 'send';

/**
 * Describes the gateway and the voice gateway as an AsyncAPI document, from the tables of opcodes and dispatches. As the
 * application is the server, it receives what clients send, and sends dispatches.
 *
 * @param version Of this server.
 * @param url     Base URL of the gateway, with the scheme ws or wss.
 * @source https://www.asyncapi.com/docs/reference/specification/v3.0.0
 */
export function asyncApi(version: string, url: string): AsyncApi {
  const { host, protocol, pathname } = new URL(url);
  const gateway = { receive: clientMessages(), send: { ...serverMessages(), ...dispatchMessages() } };
  const voice = { receive: voiceClientMessages(), send: voiceServerMessages() };
  const { min, max } = VOICE_VERSIONS;
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Guildhall gateways',
      version,
      description: 'The WebSockets of this server: dispatches and sessions, and the signalling of calls.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      gateway: { host, protocol: protocol.slice(0, -1), pathname },
      voice: {
        host: '{endpoint}',
        protocol: 'wss',
        variables: { endpoint: { description: '`endpoint` of VOICE_SERVER_UPDATE.' } },
      },
    },
    channels: {
      gateway: channel('gateway', { v: ['9', '10'] }, gateway, Object.entries(CLOSE)),
      voice: channel('voice', { v: range(min, max) }, voice, Object.entries(VOICE_CLOSE)),
    },
    operations: { ...operationsOf('gateway', gateway), ...operationsOf('voice', voice) },
  };
}

const range = (min: number, max: number): string[] =>
  Array.from({ length: max - min + 1 }, (_, index) => String(min + index));

function channel(
  name: string,
  { v }: { readonly v: readonly string[] },
  { receive, send }: Readonly<Record<Direction, Messages>>,
  closes: readonly (readonly [string, object])[],
) {
  return {
    address: '/',
    servers: [{ $ref: `#/servers/${name}` }],
    messages: { ...named('receive', receive), ...named('send', send) },
    bindings: {
      ws: {
        query: {
          type: 'object',
          properties: { v: { type: 'string', enum: v }, encoding: { type: 'string' } },
        },
      },
    },
    'x-close-codes': closes.map(([title, row]) => ({ title, ...row })),
  };
}

/** Some opcodes go both ways, so the name of a message says who sends it. */
const keyOf = (direction: Direction, name: string): string =>
  `${direction === 'receive' ? 'client' : 'server'}${pascal(name.toLowerCase())}`;

const named = (direction: Direction, messages: Messages): Messages =>
  Object.fromEntries(
    Object.entries(messages).map(([name, message]) => [keyOf(direction, name), { name, ...message }]),
  );

const operationsOf = (name: string, messages: Readonly<Record<Direction, Messages>>): Messages =>
  Object.fromEntries(
    (['receive', 'send'] as const).map((action) => [
      `${name}${pascal(action)}`,
      {
        action,
        channel: { $ref: `#/channels/${name}` },
        messages: Object.keys(messages[action]).map((each) => ({
          $ref: `#/channels/${name}/messages/${keyOf(action, each)}`,
        })),
      },
    ]),
  );

const nameOf = (ops: Readonly<Record<string, number>>, op: unknown): string =>
  Object.keys(ops).find((name) => ops[name] === op) ?? String(op);

const framed = (op: number, d: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  payload: {
    type: 'object',
    properties: { op: { const: op }, d, ...more },
    required: ['op', 'd', ...Object.keys(more)],
  },
});

function clientMessages(): Messages {
  const of = (opcodes: typeof OPCODES, more: JsonSchema) =>
    [...opcodes].map(([op, { schema, moment }]) => {
      const message = { ...framed(Number(op), jsonSchemaOf(schema)), 'x-phase': moment, ...more };
      return [nameOf(OP, op), message] as const;
    });
  return Object.fromEntries([...of(OPCODES, {}), ...of(USER_OPCODES, { 'x-sessions-of-users-only': true })]);
}

const NOTHING = { type: 'null' };
const HELLO = {
  type: 'object',
  properties: { heartbeat_interval: { type: 'number', description: 'Milliseconds.' } },
  required: ['heartbeat_interval'],
};

const serverMessages = (): Messages => ({
  HELLO: framed(OP.HELLO, HELLO),
  HEARTBEAT_ACK: framed(OP.HEARTBEAT_ACK, {}),
  RECONNECT: framed(OP.RECONNECT, NOTHING),
  INVALID_SESSION: framed(OP.INVALID_SESSION, {
    type: 'boolean',
    description: 'Whether RESUME may succeed.',
  }),
});

const bitNames = (bits: Readonly<Record<string, number | bigint>>, wanted: number | bigint): string[] =>
  Object.entries(bits).flatMap(([name, bit]) =>
    (BigInt(bit) & BigInt(wanted)) === BigInt(bit) && BigInt(bit) !== 0n ? [name] : [],
  );

const dispatchMessages = (): Messages =>
  Object.fromEntries(Object.entries<DispatchRow>(DISPATCH).map(([t, row]) => [t, dispatchMessage(t, row)]));

/** `x-intents`: what a bot's session subscribes with, in guilds and outside; empty when every session receives it. */
function dispatchMessage(t: string, row: DispatchRow): JsonSchema {
  const { intent, dmIntent, oauth2Intent, permission, scope, contentGated, lobbyChanges } = row;
  const intents = (bits: number | null | undefined) => (bits == null ? [] : bitNames(INTENTS, bits));
  return {
    ...framed(
      OP.DISPATCH,
      { type: ['object', 'array', 'null'] },
      { t: { const: t }, s: { type: 'integer' } },
    ),
    'x-intents': intents(intent),
    ...(dmIntent === undefined ? {} : { 'x-direct-message-intents': intents(dmIntent) }),
    ...(oauth2Intent === undefined ? {} : { 'x-oauth2-intents': intents(oauth2Intent) }),
    ...(permission ? { 'x-any-permission': bitNames(P, permission.anyOf) } : {}),
    ...(scope ? { 'x-scopes': scope === 'any' ? 'any' : [scope].flat() } : {}),
    ...(contentGated ? { 'x-message-content': true } : {}),
    // With or without the capability LOBBY_CHANGES.
    ...(lobbyChanges === undefined ? {} : { 'x-lobby-changes': lobbyChanges }),
    ...(t.startsWith('GUILDHALL_') ? { 'x-guildhall-extension': true } : {}),
  };
}

/** Binary frames have their opcode in the first byte, behind the sequence number in those of the server. */
const binary = (op: number): JsonSchema => ({
  contentType: 'application/octet-stream',
  payload: { type: 'string', format: 'binary' },
  'x-opcode': op,
});

const voiceClientMessages = (): Messages =>
  Object.fromEntries(
    Object.entries(VOICE_OPCODES).map(([key, { schema, moment }]) => {
      const op = Number(key);
      const message = schema === null ? binary(op) : framed(op, jsonSchemaOf(schema));
      return [nameOf(VOICE_OP, op), { ...message, 'x-phase': moment }];
    }),
  );

const voiceServerMessages = (): Messages =>
  Object.fromEntries(
    SERVER_VOICE_OPS.map((op) => {
      const message = BINARY_VOICE_OPS.has(op) ? binary(op) : framed(op, op === VOICE_OP.HELLO ? HELLO : {});
      return [nameOf(VOICE_OP, op), message];
    }),
  );
