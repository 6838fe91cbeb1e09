// Goal: the OpenAPI document of this server is valid, complete, and says the same as the published file, up to a list.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { openApi } from '../../transports/rest/openapi.ts';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { operations, unlisted } from '../../transports/rest/resources/index.ts';
import { specDocument } from '../support/openapi.ts';
import { differences } from '../support/schemacompare.ts';

type Json = Readonly<Record<string, unknown>>;
interface Described {
  readonly operationId?: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: Json }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Json }>> };
  readonly responses: Readonly<Record<string, unknown>>;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}
type Paths = Readonly<Record<string, Readonly<Record<string, Described>>>>;

const document = openApi('0.0.0', 'http://127.0.0.1:3000/api/v10');
const all: Readonly<Record<string, AnyOperation>> = { ...operations, ...unlisted };

/** Operations by operationId; parameters of the path stand beside its methods, or in each. */
function byId(paths: Paths) {
  const found = new Map<string, Described & { readonly place: string }>();
  for (const [path, { parameters: shared, ...methods }] of Object.entries(paths)) {
    for (const [method, each] of Object.entries(methods)) {
      const parameters = [...((shared ?? []) as never[]), ...(each.parameters ?? [])];
      found.set(each.operationId ?? '', { ...each, parameters, place: `${method} ${path}` });
    }
  }
  return found;
}

const ours = byId(document.paths as never);

describe('the OpenAPI document', () => {
  test('describes every operation, at its method and path', () => {
    const places = Object.entries(all).map(
      ([id, { method, path }]) => [id, `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`] as const,
    );
    expect(new Map([...ours].map(([id, { place }]) => [id, place]))).toEqual(new Map(places));
  });

  test('marks the operations that only this server has', () => {
    const marked = [...ours].filter(([, each]) => 'x-guildhall-extension' in each).map(([id]) => id);
    expect(marked.sort()).toEqual(Object.keys(unlisted).sort());
  });

  test('contains the target of every reference, and schemas that compile', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) =>
      path.split('/').reduce<unknown>((at, key) => (at as Json | undefined)?.[key], document),
    );
    expect(references.length).toBeGreaterThan(100);
    expect(references.every((target) => target !== undefined)).toBe(true);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'own');
    for (const name of Object.keys(document.components.schemas))
      expect(typeof ajv.getSchema(`own#/components/schemas/${name}`)).toBe('function');
  });

  test('accepts what an operation accepts and refuses what it refuses', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'own');
    const check = ajv.compile({ $ref: 'own#/components/schemas/CreateGuildRoleRequest' });
    expect(check({ name: 'Keeper', permissions: '8', color: null })).toBe(true);
    expect(check({ name: '' })).toBe(false);
    expect(check({ color: 0x1000000 })).toBe(false);
  });

  test('gives each kind of caller its own way in', () => {
    expect(ours.get('create_guild_role')?.security).toEqual([{ BotToken: [] }, { UserToken: [] }]);
    expect(ours.get('login')?.security).toContainEqual({});
    expect(ours.get('get_my_user')?.security).toContainEqual({ OAuth2: ['identify'] });
    expect(ours.get('create_or_join_lobby')?.security).toContainEqual({ OAuth2: ['lobbies.write'] });
  });
});

const known: string[] = JSON.parse(readFileSync(new URL('openapi.json', import.meta.url), 'utf8'));

/**
 * How many differences there were when the list was begun; it may only shrink. A shared schema of the file stands under its
 * own name. "absent": the server ignores the field; "added": the file does not have it; "maxLength 4000 is 16384": the schema
 * lets more through, and the handler refuses it.
 */
const DIFFERENCES_MAX = 135;

describe('against the published file', () => {
  const spec = specDocument();
  const theirs = byId((spec.paths ?? {}) as Paths);

  function differencesOf(id: string): string[] {
    const [one, other] = [theirs.get(id), ours.get(id)];
    if (!one || !other) return [`${id} absent`];
    const found = one.place === other.place ? [] : [`${id} at ${other.place}`];
    for (const parameter of one.parameters ?? []) {
      const at = `${id} ${parameter.in} ${parameter.name}`;
      const same = other.parameters?.find((each) => each.name === parameter.name && each.in === parameter.in);
      if (!same) found.push(`${at} absent`);
      else {
        if (parameter.required === true && same.required !== true) found.push(`${at} not required`);
        if (parameter.required !== true && same.required === true) found.push(`${at} required`);
        found.push(...differences([spec, parameter.schema], [document as never, same.schema], at));
      }
    }
    const bodyOf = ({ requestBody }: Described) =>
      requestBody?.content['application/json'] ?? requestBody?.content['application/x-www-form-urlencoded'];
    const [theirBody, ourBody] = [bodyOf(one), bodyOf(other)];
    if (theirBody && !ourBody) found.push(`${id} body absent`);
    if (theirBody && ourBody)
      found.push(...differences([spec, theirBody.schema], [document as never, ourBody.schema], `${id} body`));
    return found;
  }

  test('differs in what the list says, and in nothing else', () => {
    const found = [...new Set(Object.keys(operations).flatMap(differencesOf))];
    expect(found.sort()).toEqual(known);
  });

  test('the list of differences is in order and has not grown', () => {
    expect(known).toEqual([...new Set(known)].sort());
    expect(known.length).toBeLessThanOrEqual(DIFFERENCES_MAX);
  });
});
