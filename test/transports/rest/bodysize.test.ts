// Goal: every operation has a bound on its body that admits what its schema admits, and open operations have the smallest.
import { describe, expect, test } from 'vitest';
import { IMAGE_BYTES_MAX } from '../../../protocol/schemas/request.ts';
import { BODY_BYTES, bodyBytesMaxOf } from '../../../transports/rest/bodysize.ts';
import type { AnyOperation } from '../../../transports/rest/operation.ts';
import { operations, unlisted } from '../../../transports/rest/resources/index.ts';

interface Schema {
  readonly type?: string;
  readonly form?: string;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

const IMAGE_TEXT = Math.ceil((IMAGE_BYTES_MAX * 4) / 3) + 64;
const KEY_BYTES = 64;
/** Size of a field that the schema leaves open; the engine's rules bound it. */
const ANY_BYTES = 1_024;
const WIDE = 24;

/** Length of the longest JSON text in ASCII that a schema admits; of several images one counts. */
function longest(schema: Schema): number {
  if (schema.anyOf) return Math.max(...schema.anyOf.map(longest));
  if (schema.enum) return Math.max(...schema.enum.map((value) => JSON.stringify(value).length));
  if (schema.const !== undefined) return JSON.stringify(schema.const).length;
  if (schema.type === 'string') return schema.form === undefined ? 2 + (schema.maxLength ?? 0) : 34;
  if (schema.type === 'array') return 2 + (schema.maxItems ?? 0) * (1 + longest(schema.items ?? {}));
  if (schema.patternProperties) {
    const [value = {}] = Object.values(schema.patternProperties);
    return 2 + (schema.maxProperties ?? 0) * (KEY_BYTES + 4 + longest(value));
  }
  if (schema.properties)
    return (
      2 + Object.entries(schema.properties).reduce((sum, [key, of]) => sum + key.length + 4 + longest(of), 0)
    );
  return schema.type === undefined ? ANY_BYTES : WIDE;
}

const hasImage = (schema: unknown): boolean => JSON.stringify(schema).includes('"form":"image"');

/** Their schemas keep texts and maps only finite; the rules know what these may be together. */
const BY_RULES: Readonly<Record<string, number>> = {
  create_message: BODY_BYTES.message,
  update_message: BODY_BYTES.message,
  create_thread: BODY_BYTES.message,
  execute_webhook: BODY_BYTES.message,
  update_webhook_message: BODY_BYTES.message,
  execute_slack_compatible_webhook: BODY_BYTES.report,
  execute_github_compatible_webhook: BODY_BYTES.report,
  update_original_webhook_message: BODY_BYTES.message,
  // Nine access tokens of 10,240 characters and as many nicknames.
  create_dm: BODY_BYTES.texts,
  add_group_dm_user: BODY_BYTES.signedIn,
  create_lobby: BODY_BYTES.message,
  edit_lobby: BODY_BYTES.message,
  bulk_update_lobby_members: BODY_BYTES.message,
  // Not every option with a hundred roles and channels at once.
  put_guilds_onboarding: BODY_BYTES.onboarding,
  update_application_role_connections_metadata: BODY_BYTES.translations,
};

const all: [string, AnyOperation][] = Object.entries({ ...operations, ...unlisted });
const withBody = all.filter(([, { body }]) => body !== undefined);

describe('the bound of a body', () => {
  test.each(withBody)('admits every body that the schema of %s allows', (operationId, operation) => {
    const needs = longest(operation.body as Schema) + (hasImage(operation.body) ? IMAGE_TEXT : 0);
    const bytesMax = bodyBytesMaxOf(operation, false);
    expect(bytesMax).toBeGreaterThanOrEqual(BY_RULES[operationId] ?? needs);
  });

  test.each(all)('exceeds the need of %s by no more than a default', (_, operation) => {
    const { auth, bodyBytesMax, body, path } = operation;
    const bytesMax = bodyBytesMaxOf(operation, true);
    if (operation.multipart) expect(bytesMax).toBe(Number.POSITIVE_INFINITY);
    else if (auth === 'none' && !path.includes('_token'))
      expect(bytesMax).toBeLessThanOrEqual(BODY_BYTES.tokens);
    else if (hasImage(body ?? {})) expect(bytesMax).toBe(BODY_BYTES.image);
    else expect(bytesMax).toBeLessThanOrEqual(BODY_BYTES.translations);
    if (bodyBytesMax !== undefined) expect(body).toBeDefined();
  });

  test('is the smallest one for an unknown path', () => {
    expect(bodyBytesMaxOf(null, true)).toBe(BODY_BYTES.open);
    expect(Math.min(...Object.values(BODY_BYTES))).toBe(BODY_BYTES.open);
  });

  test('admits a message with 6,000 characters of embeds and 4,000 of content in surrogate escapes, and ten descriptions', () => {
    const escaped = (chars: number) => chars * '\\ud83d\\ude00'.length;
    expect(escaped(6_000 + 4_000 + 10 * 1_024)).toBeLessThanOrEqual(BODY_BYTES.message);
  });
});
