import type { Static, TSchema } from 'typebox';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { PathParam } from '../../protocol/params.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { Services } from './services.ts';

/** Who called, as the token proved it. */
export interface Caller {
  readonly kind: 'bot' | 'user';
  readonly userId: UserId;
  /** The bot's application, or the one that acts for the user. */
  readonly applicationId: ApplicationId | null;
  readonly applicationFlags: number;
  /** Set when an application acts for the user (an OAuth2 token). Null for bots and for people themselves. */
  readonly authorization: Authorization | null;
  /** Which of the caller's own tokens it was, as far as it was one. */
  readonly tokenId?: string;
}

/** A file of a multipart request, already in the blob store's temporary area or in memory. */
export interface Upload {
  /** The form field: `files[0]`, `file`, `target_users_file`. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** Requests to one operation share a bucket per caller, and per value of its major parameter. */
export interface Bucket {
  /** Name of the major path parameter; null for one bucket per caller. */
  readonly per: 'channel_id' | 'guild_id' | 'webhook_id' | null;
  readonly limit: number;
  readonly windowMs: number;
  /** Operations of one group share their counters. Defaults to the operationId. */
  readonly group?: string;
  /** Instead of the above, for all callers of one application together, where `lobby_development_limits` is set. */
  readonly development?: { readonly limit: number; readonly windowMs: number };
}

/** Everything a handler gets. `params` hold the path's parameters, ids already checked for form. */
export interface Call<Params, Query, Body, Auth extends AuthKind> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly files: readonly Upload[];
  readonly caller: Auth extends 'none' ? Caller | null : Caller;
  /** The caller, the audit reason and the declaration's permission, to be handed on with every command. */
  readonly authority: Auth extends 'none' ? Authority | null : Authority;
  /** Base URL of this server as clients should use it, without a slash: for links in answers. */
  readonly publicUrl: string;
  /** Null without, and for operations that are not of the authorization server. */
  readonly basic: BasicCredentials | null;
  /** The peer's address; null for an embedded call. */
  readonly address: string | null;
}

/** A client's id and secret as Basic authentication shows them. @source RFC 6749, section 2.3.1 */
export interface BasicCredentials {
  readonly id: string;
  readonly secret: string;
}

/** What may call: `any` a bot or a user; `none` also nobody. */
export type AuthKind = 'any' | 'bot' | 'user' | 'none';

/** A handler's answer. A status not named in the declaration is a bug. */
export type Answer =
  | { readonly ok: true; readonly status?: number; readonly body?: unknown }
  | { readonly ok: false; readonly refusal: Refusal };

type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Params<Path extends string> = { readonly [Name in ParamNames<Path>]: PathParam<Name> };

export interface Operation<
  Path extends string = string,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
  Auth extends AuthKind = AuthKind,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Under the API's base, parameters as `:name`. */
  readonly path: Path;
  readonly auth: Auth;
  /**
   * Any of these opens the operation to an application that acts for a user; `any` opens it whatever was granted.
   * Without it OAuth2 tokens are refused. Bots, and people themselves, are not asked.
   */
  readonly scope?: Scope | readonly Scope[] | 'any';
  /** Bits the caller must hold; checked by the aggregate's owner, in the channel when the path names one. */
  readonly permission?: bigint;
  readonly bucket: Bucket;
  readonly query?: Q;
  readonly body?: B;
  /** Bytes of a body of JSON or of a form's fields. Absent: 64 KiB, and 16 KiB where `auth` is `none`; see `bodysize.ts`. */
  readonly bodyBytesMax?: number;
  /** Accepts multipart/form-data with `payload_json` and files. */
  readonly multipart?: true;
  /**
   * An endpoint of the authorization server: its body is a form, the client may show its secret by Basic
   * authentication, other credentials are not looked at, errors are told in the RFC's words, and no cache keeps an answer.
   *
   * @source RFC 6749, sections 2.3.1, 4 and 5
   */
  readonly oauth2?: true;
  /** Status of an accepted call; 204 has no body. */
  readonly status: 200 | 201 | 202 | 204;
  handle(call: Call<Params<Path>, Static<Q>, Static<B>, Auth>, services: Services): Promise<Answer> | Answer;
}

/** Declares one operation; only there to infer the types of `handle` from path and schemas. */
export function op<
  const Path extends string,
  Q extends TSchema,
  B extends TSchema,
  const Auth extends AuthKind,
>(operation: Operation<Path, Q, B, Auth>): Operation<Path, Q, B, Auth> {
  return operation;
}

/** Any operation. `handle` is a method, so one of narrower parameters still counts as one of these. */
export type AnyOperation = Operation;

/** Operations of one resource, by OpenAPI operationId. */
export function resource<const T extends Record<string, AnyOperation>>(operations: T): T {
  return operations;
}
