import { P } from '../../protocol/permissions.ts';
import type { Schema } from '../../protocol/schemas/schema.ts';
import { SCOPES } from '../../protocol/scopes.ts';
import { bodyBytesMaxOf } from './bodysize.ts';
import { type JsonSchema, jsonSchemaOf, pascal, shareSchemas } from './jsonschema.ts';
import type { AnyOperation } from './operation.ts';
import { createReplySchemas } from './replyschemas.ts';
import { operations, unlisted } from './resources/index.ts';

/** An OpenAPI document, as plain JSON. */
interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: JsonSchema;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> } & JsonSchema;
}

/**
 * Describes all operations as an OpenAPI document, from their declarations alone.
 * Operations that the platform's published file does not list have `x-guildhall-extension`.
 *
 * @param version Of this server.
 * @param url     Base URL of the API, ending in `/api/v10`.
 * @source https://spec.openapis.org/oas/v3.1.0
 */
export function openApi(version: string, url: string): OpenApi {
  const all = Object.entries<AnyOperation>({ ...operations, ...unlisted });
  const bodies = all.flatMap(([id, { body }]) =>
    body ? [[requestName(id), jsonSchemaOf(body)] as const] : [],
  );
  const { schemas, shared } = shareSchemas(new Map(bodies));
  const required = new Set(bodies.flatMap(([name, body]) => (body.required === undefined ? [] : [name])));
  const replies = createReplySchemas();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const [operationId, operation] of all) {
    const path = operation.path.replace(PARAMETER, '{$1}');
    const name = requestName(operationId);
    const schema = schemas.get(name) ?? null;
    const body = schema && { ...bodyOf(operation, schema), required: required.has(name) };
    const extension = Object.hasOwn(operations, operationId) ? {} : { 'x-guildhall-extension': true };
    const responses = responsesOf(operationId, operation, replies.of);
    const described = { ...describe(operationId, operation, body, responses), ...extension };
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Guildhall HTTP API',
      version,
      description: 'Every operation of this server. Those marked x-guildhall-extension are its own.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url }],
    paths,
    components: { schemas: { ...shared, ...replies.shared, ...ERROR_SCHEMAS }, ...components(url) },
  };
}

const requestName = (operationId: string): string => `${pascal(operationId)}Request`;

const PARAMETER = /:(\w+)/g;

function describe(
  operationId: string,
  operation: AnyOperation,
  body: JsonSchema | null,
  responses: JsonSchema,
): JsonSchema {
  const { path, query, permission, bucket } = operation;
  const inPath = [...path.matchAll(PARAMETER)].map(([, name = '']) => ({
    ...{ name, in: 'path', required: true },
    schema: name.endsWith('_id') && name !== 'instance_id' ? SNOWFLAKE : { type: 'string' },
  }));
  const parameters = [...inPath, ...(query ? inQuery(jsonSchemaOf(query)) : [])];
  return {
    operationId,
    tags: [path.split('/')[1] ?? ''],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: body } : {}),
    responses: { ...responses, ...REFUSALS },
    security: securityOf(operation),
    ...(permission ? { 'x-permissions': namesOf(permission) } : {}),
    'x-rate-limit': { per: bucket.per ?? 'caller', limit: bucket.limit, window_ms: bucket.windowMs },
  };
}

const SNOWFLAKE = { type: 'string', format: 'snowflake', pattern: '^(0|[1-9][0-9]*)$' };

function inQuery(schema: JsonSchema): JsonSchema[] {
  const { properties, required } = schema;
  const names: unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties ?? {}).map(([name, each]) => ({
    ...{ name, in: 'query', schema: each },
    ...(names.includes(name) ? { required: true } : {}),
  }));
}

const FORM = 'application/x-www-form-urlencoded';

function bodyOf(operation: AnyOperation, schema: JsonSchema): JsonSchema {
  const { oauth2, form, multipart } = operation;
  const withFiles = {
    type: 'object',
    properties: { payload_json: schema },
    patternProperties: { '^(file|files\\[[0-9]\\]|target_users_file)$': FILE },
  };
  return {
    content: {
      ...(oauth2 ? {} : { 'application/json': { schema } }),
      ...(oauth2 || form ? { [FORM]: { schema } } : {}),
      ...(multipart ? { 'multipart/form-data': { schema: withFiles } } : {}),
    },
    'x-bytes-max': bodyBytesMaxOf(operation, false),
  };
}

const FILE = { type: 'string', contentMediaType: 'application/octet-stream' };

/** The successful answers of an operation by status. */
function responsesOf(
  operationId: string,
  { status, reply, also, text, media }: AnyOperation,
  schemaOf: (reply: Schema<unknown>) => JsonSchema,
): JsonSchema {
  const type = text ? 'text/plain' : (media ?? 'application/json');
  const all = Object.entries({ ...also, [status]: reply });
  return Object.fromEntries(
    all.map(([code, schema]) => {
      const description = `${code} response for ${operationId}`;
      if (code === '204') return [code, { description }];
      const content = { [type]: { schema: schema ? schemaOf(schema) : {} } };
      return [code, { description, headers: HEADERS, content }];
    }),
  );
}

const HEADERS = Object.fromEntries(
  ['Limit', 'Remaining', 'Reset', 'Reset-After', 'Bucket'].map((name) => [
    `X-RateLimit-${name}`,
    { $ref: `#/components/headers/X-RateLimit-${name}` },
  ]),
);
const REFUSALS = {
  429: { $ref: '#/components/responses/RateLimited' },
  '4XX': { $ref: '#/components/responses/Refused' },
};

/** One alternative per way in: a bot's token, a user's own, and an OAuth2 token with one of the scopes. */
function securityOf({ auth, scope }: AnyOperation): JsonSchema[] {
  const scopes = scope === undefined ? [] : scope === 'any' ? [[]] : [scope].flat().map((name) => [name]);
  return [
    ...(auth === 'none' ? [{}] : []),
    ...(auth === 'user' ? [] : [{ BotToken: [] }]),
    ...(auth === 'bot' ? [] : [{ UserToken: [] }]),
    ...scopes.map((names) => ({ OAuth2: names })),
  ];
}

const namesOf = (permission: bigint): string[] =>
  Object.entries(P).flatMap(([name, bit]) => ((permission & bit) === bit ? [name] : []));

const ERROR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Refusal: {
    type: 'object',
    properties: {
      code: { type: 'integer' },
      message: { type: 'string' },
      errors: { description: 'Problems by the path of the field, as lists named _errors.', type: 'object' },
    },
    required: ['code', 'message'],
  },
  RateLimit: {
    type: 'object',
    properties: {
      message: { type: 'string' },
      retry_after: { type: 'number', description: 'Seconds.' },
      global: { type: 'boolean' },
      code: { type: 'integer' },
    },
    required: ['message', 'retry_after', 'global'],
  },
};

function components(url: string): JsonSchema {
  const base = url.replace(/\/api\/v10$/, '');
  const scopes = Object.fromEntries(Object.entries(SCOPES).map(([name, { words }]) => [name, words]));
  const tokenUrl = `${base}/api/oauth2/token`;
  const authorizationUrl = `${base}/oauth2/authorize`;
  const token = { type: 'apiKey', in: 'header', name: 'Authorization' };
  const refusal = (name: string) => ({
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
  });
  return {
    securitySchemes: {
      BotToken: { ...token, description: 'The token of a bot, after `Bot `.' },
      UserToken: { ...token, description: 'The token of a user, by itself.' },
      OAuth2: {
        type: 'oauth2',
        flows: {
          implicit: { authorizationUrl, scopes },
          authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes },
          clientCredentials: { tokenUrl, scopes },
        },
      },
    },
    responses: {
      Refused: { description: 'The call is refused.', ...refusal('Refusal') },
      RateLimited: { description: 'Too many calls.', ...refusal('RateLimit') },
    },
    headers: {
      'X-RateLimit-Limit': { schema: { type: 'integer' }, description: 'Calls in a window.' },
      'X-RateLimit-Remaining': { schema: { type: 'integer' }, description: 'Calls left in this window.' },
      'X-RateLimit-Reset': { schema: { type: 'number' }, description: 'Unix seconds of the next window.' },
      'X-RateLimit-Reset-After': { schema: { type: 'number' }, description: 'Seconds to the next window.' },
      'X-RateLimit-Bucket': {
        schema: { type: 'string' },
        description: 'Equal for calls that share a window.',
      },
    },
  };
}
