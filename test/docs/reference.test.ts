// Goal: the pages of docs/reference/ say what the declarations say. `npm run reference` writes them again.
import { expect, test } from 'vitest';
import { CLOSE } from '../../protocol/closecodes.ts';
import { ERRORS } from '../../protocol/errors.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import { asyncApi } from '../../transports/description/asyncapi.ts';
import { openApi } from '../../transports/rest/openapi.ts';
import { run } from '../cli/arrange.ts';
import { ADVICE, code, isPage, table } from '../support/referencepage.ts';

const codes = (texts: readonly string[]): string => texts.map(code).join(', ');

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}
interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: object;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly 'x-permissions'?: readonly string[];
  readonly 'x-rate-limit': { readonly per: string; readonly limit: number; readonly window_ms: number };
  readonly 'x-guildhall-extension'?: boolean;
}

const CALLERS: Readonly<Record<string, string>> = { BotToken: 'bots', UserToken: 'users' };

function callersOf({ security }: Described): string {
  const names = security.map((way) => {
    const [[name, scopes = []] = []] = Object.entries(way);
    if (name === undefined) return 'anyone';
    if (name !== 'OAuth2') return CALLERS[name] ?? name;
    return scopes.length === 0 ? 'any OAuth2 token' : `OAuth2 ${codes(scopes)}`;
  });
  return names.join(', ');
}

const fieldsOf = ({ properties = {}, required = [] }: Schema): string =>
  codes(Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`)));

test('operations.md has every operation of the HTTP API', async () => {
  const { paths, components } = openApi('', 'http://127.0.0.1:3000/api/v10');
  const bodyOf = ({ requestBody }: Described): Schema => {
    const [first] = Object.values(requestBody?.content ?? {});
    const name = first?.schema.$ref?.split('/').at(-1);
    return (name === undefined ? first?.schema : components.schemas[name]) ?? {};
  };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const operation = described as unknown as Described;
      return { path, method: method.toUpperCase(), operation };
    }),
  );
  const tags = [...new Set(all.map(({ operation }) => operation.tags[0] ?? ''))].toSorted();
  const entry = ({ path, method, operation }: (typeof all)[number]): string[] => {
    const query = (operation.parameters ?? []).filter((each) => each.in === 'query').map(({ name }) => name);
    const { per, limit, window_ms: windowMs } = operation['x-rate-limit'];
    const body = fieldsOf(bodyOf(operation));
    const statuses = Object.keys(operation.responses).filter((each) => /^2/.test(each));
    const rights = operation['x-permissions'] ?? [];
    return [
      `### ${operation.operationId}`,
      '',
      `${code(`${method} ${path}`)} → ${statuses.join(' or ')}`,
      '',
      `- For ${callersOf(operation)}${rights.length > 0 ? `, with ${codes(rights)}` : ''}; ${limit} in ${windowMs / 1000} s per ${per}.`,
      ...(query.length > 0 ? [`- Query: ${codes(query)}`] : []),
      ...(body === '' ? [] : [`- Body: ${body}`]),
      ...(operation['x-guildhall-extension'] ? ['- Only this server has it.'] : []),
      '',
    ];
  };
  const chapters = tags.flatMap((tag) => [
    `## ${tag}`,
    '',
    ...all.filter(({ operation }) => operation.tags[0] === tag).flatMap(entry),
  ]);
  expect(all.length).toBeGreaterThan(300);
  await isPage('operations', [
    ...['# Operations of the HTTP API', ''],
    `${all.length} operations below ${code('/api/v10')}. Types of all fields are in ${code('/openapi.json')} of a running server; [the HTTP API](../http.md) says`,
    'how calls are checked and refused. A name with `?` may be left out.',
    ...['', ADVICE, '', ...chapters],
  ]);
});

interface Message {
  readonly name: string;
  readonly payload: { readonly properties?: { readonly op?: { const: number }; readonly d?: Schema } };
  readonly 'x-opcode'?: number;
  readonly 'x-intents'?: readonly string[];
  readonly 'x-direct-message-intents'?: readonly string[];
  readonly 'x-scopes'?: readonly string[] | string;
  readonly 'x-guildhall-extension'?: boolean;
}

test('dispatches.md has every dispatch and opcode of both gateways', async () => {
  const { channels } = asyncApi('', 'ws://127.0.0.1:3000');
  const messagesOf = (channel: string, side: string) =>
    Object.entries(channels[channel]?.messages ?? {}).flatMap(([key, message]) =>
      key.startsWith(side) ? [message as unknown as Message] : [],
    );
  const opOf = ({ payload, 'x-opcode': op }: Message): number => op ?? payload.properties?.op?.const ?? -1;
  const opcodes = (channel: string): string[] =>
    table(
      ['op', 'name', 'from', 'fields'],
      [
        ...messagesOf(channel, 'client').map((each) => [each, 'the client'] as const),
        ...messagesOf(channel, 'server').map((each) => [each, 'the server'] as const),
      ]
        .filter(([each]) => channel === 'voice' || opOf(each) !== 0)
        .map(([each, from]) => [
          ...[String(opOf(each)), code(each.name), from],
          each['x-opcode'] === undefined ? fieldsOf(each.payload.properties?.d ?? {}) : 'binary',
        ]),
    );
  const dispatches = messagesOf('gateway', 'server').filter((each) => opOf(each) === 0);
  const rows = dispatches.map((each) => {
    const own = each['x-intents'] ?? [];
    const direct = each['x-direct-message-intents'] ?? [];
    const scopes = [each['x-scopes'] ?? []].flat();
    return [
      code(each.name),
      own.length === 0 ? 'none' : codes(own),
      direct.length === 0 ? '' : codes(direct),
      scopes.join(', '),
      each['x-guildhall-extension'] ? 'yes' : '',
    ];
  });
  await isPage('dispatches', [
    ...['# Dispatches and opcodes', ''],
    'What the gateways send and accept. [The gateway](../gateway.md) explains sessions, [voice](../voice.md) calls; payloads are described in `/asyncapi.json`',
    ...['of a running server.', '', ADVICE, '', '## Dispatches', ''],
    'An intent in the second column subscribes a bot; “none” reaches every session concerned. OAuth2 sessions need a scope of the fourth column.',
    '',
    ...table(['name', 'intents', 'in private channels', 'scopes', 'only here'], rows),
    ...['', '## Opcodes of the gateway', '', ...opcodes('gateway')],
    ...['', '## Opcodes of the voice gateway', '', ...opcodes('voice')],
  ]);
});

test('errors.md has every error and close code', async () => {
  const yes = (value: boolean): string => (value ? 'yes' : 'no');
  const refusals = Object.entries(ERRORS).map(([name, { status, code: number, message }]) => [
    ...[String(number), String(status), message.replaceAll('|', '\\|'), code(name)],
  ]);
  const closes = Object.values(CLOSE).map(({ code: number, reason, reconnect, resumable }) => [
    ...[String(number), reason, yes(reconnect), yes(resumable)],
  ]);
  const voice = Object.values(VOICE_CLOSE).map(({ code: number, reason }) => [String(number), reason]);
  await isPage('errors', [
    ...['# Errors and close codes', ''],
    'A refused call is answered with `{"code", "message"}`, and with `errors` by field where fields are wrong. A gateway closes with a code and a reason.',
    ...['', ADVICE, '', '## Errors of the HTTP API', ''],
    ...table(['code', 'status', 'message', 'name'], refusals),
    ...['', '## Close codes of the gateway', ''],
    ...table(['code', 'reason', 'reconnect', 'resume'], closes),
    ...['', '## Close codes of the voice gateway', '', ...table(['code', 'reason'], voice)],
  ]);
});

/** The help of a command and of all commands below it. */
async function helpOf(words: readonly string[]): Promise<string[]> {
  const { out } = await run([...words, '--help']);
  const text = out.join('\n');
  const [, listed = ''] = /^Commands:\n((?: {2}.*\n?)+)/m.exec(text) ?? [];
  const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name = '']) => name);
  const below = await Promise.all(
    names.filter((name) => name !== 'help').map((name) => helpOf([...words, name])),
  );
  const title = ['guildhall', ...words].join(' ');
  const own = words.length === 0 ? [] : [`## ${title}`, '', '```text', text.trimEnd(), '```', ''];
  return [...own, ...below.flat()];
}

test('commands.md has every command with its help', async () => {
  const chapters = await helpOf([]);
  expect(chapters.length).toBeGreaterThan(100);
  await isPage('commands', [
    ...['# Commands', ''],
    'What `--help` prints. Every command has `--json`; a command for a running server takes `GUILDHALL_ADMIN_URL` and `GUILDHALL_ADMIN_TOKEN`. The benches have',
    ...['a help of their own: `guildhall bench --help`.', '', ADVICE, '', ...chapters],
  ]);
});
