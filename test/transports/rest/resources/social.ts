import { vi } from 'vitest';
import type { ApplicationId, UserId } from '../../../../protocol/ids.ts';
import { expandScopes, type Scope } from '../../../../protocol/scopes.ts';
import type { AnyOperation, Caller } from '../../../../transports/rest/operation.ts';
import { pipelineOf } from '../../../support/rest.ts';

export const GAME = '77' as ApplicationId;

/** A person, or with scopes the game that acts for them. */
export function callerOf(...scopes: Scope[]): Caller {
  const authorization =
    scopes.length === 0
      ? null
      : { id: '1', applicationId: GAME, scopes: expandScopes(scopes), expiresMs: Number.MAX_SAFE_INTEGER };
  return {
    kind: 'user',
    userId: '10' as UserId,
    applicationId: authorization ? GAME : null,
    applicationFlags: 0,
    authorization,
  };
}

export const botOf = (applicationId: string): Caller => ({
  kind: 'bot',
  userId: '1000' as UserId,
  applicationId: applicationId as ApplicationId,
  applicationFlags: 0,
  authorization: null,
});

/** Operations in front of a social layer that says yes to everything, and remembers what it was asked. */
export function arrange<Parts extends Record<string, Record<string, unknown>>>(
  operations: Record<string, AnyOperation>,
  parts: Parts,
) {
  const social = Object.fromEntries(
    Object.entries(parts).map(([part, methods]) => [
      part,
      Object.fromEntries(Object.entries(methods).map(([name, value]) => [name, vi.fn(async () => value)])),
    ]),
  ) as { [P in keyof Parts]: { [M in keyof Parts[P]]: ReturnType<typeof vi.fn> } };
  const services = { social };
  const { pipeline } = pipelineOf(operations, { services, limited: false });
  const call = (operationId: string, caller: Caller, parts: object = {}) =>
    pipeline.invoke(operationId, { caller, publicUrl: 'http://test', address: null, ...parts } as never);
  return { social, call };
}

export const codeOf = ({ body }: { readonly body: unknown }): unknown =>
  (body as { code?: unknown } | undefined)?.code;
