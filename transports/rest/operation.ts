import type { Static, TSchema } from 'typebox';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { PathParam } from '../../protocol/params.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Schema } from '../../protocol/schemas/schema.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { Services } from './services.ts';

/** The authenticated caller. */
export interface Caller {
  readonly kind: 'bot' | 'user';
  readonly userId: UserId;
  /** The bot's application, or the application that acts for the user. */
  readonly applicationId: ApplicationId | null;
  readonly applicationFlags: number;
  /** Set when an application acts for the user (an OAuth2 token). Null for bots and for users themselves. */
  readonly authorization: Authorization | null;
  /** Identifies the token, if it is one of the user's own. */
  readonly tokenId?: string;
}

/** A file of a multipart request, in memory. */
export interface Upload {
  /** The form field: `files[0]`, `file`, `target_users_file`. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** A rate-limit bucket, one per caller and per value of the major parameter. */
export interface Bucket {
  /** Name of the major path parameter; null for one bucket per caller. */
  readonly per: 'channel_id' | 'guild_id' | 'webhook_id' | null;
  readonly limit: number;
  readonly windowMs: number;
  /** Operations of one group share counters. The default is the operationId. */
  readonly group?: string;
  /** Replaces `limit` and `windowMs`, for all callers of one application together, when `lobby_development_limits` is set. */
  readonly development?: { readonly limit: number; readonly windowMs: number };
}

/** A second bucket for calls on old objects. Its refusal has its own code. */
export interface AgedBucket extends Bucket {
  /** The path parameter that says when the thing was made. */
  readonly of: 'message_id';
  /** How old it is at least. */
  readonly afterMs: number;
  readonly refusal: 'MAXIMUM_OLD_MESSAGE_EDITS';
}

/** A second bucket for each value of a field of the body, counted once the body is read. */
export interface BodyBucket {
  readonly of: 'application_id';
  readonly limit: number;
  readonly windowMs: number;
}

/** The input of a handler. `params` are the path's parameters, ids already validated. */
export interface OperationCall<Params, Query, Body, Auth extends AuthKind> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly files: readonly Upload[];
  readonly caller: Auth extends 'none' ? Caller | null : Caller;
  /** The caller, the audit reason and the required permission; passed on with every command. */
  readonly authority: Auth extends 'none' ? Authority | null : Authority;
  /** Base URL of this server for clients, without a trailing slash, for links in answers. */
  readonly publicUrl: string;
  /** Language tags that the client prefers, best first; empty when it names none. */
  readonly locales: readonly string[];
  /** HTTP Basic credentials; null if there are none, and for operations outside the authorization server. */
  readonly basic: BasicCredentials | null;
  /** The peer's address; null for an embedded call. */
  readonly address: string | null;
}

/** A client's id and secret from HTTP Basic authentication. @source RFC 6749, section 2.3.1 */
export interface BasicCredentials {
  readonly id: string;
  readonly secret: string;
}

/** Kinds of callers an operation accepts: `any` means bots and users; `none` also accepts unauthenticated calls. */
export type AuthKind = 'any' | 'bot' | 'user' | 'none';

/** A handler's answer. Its status must be the one declared, unless set here. */
export type Answer =
  | { readonly ok: true; readonly status?: number; readonly value?: unknown }
  | { readonly ok: false; readonly refusal: Refusal };

type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** Path parameters by name; ids are branded. */
export type PathParams<Path extends string> = { readonly [Name in ParamNames<Path>]: PathParam<Name> };

type OperationStatus = 200 | 201 | 202 | 204;

/** Schemas by status. */
export type Replies = { readonly [Status in OperationStatus]?: Schema<unknown> };

export interface Operation<
  Path extends string = string,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
  Auth extends AuthKind = AuthKind,
  R extends Schema<unknown> = Schema<unknown>,
  Also extends Replies = Replies,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the API's base, with parameters as `:name`. */
  readonly path: Path;
  readonly auth: Auth;
  /**
   * Scopes of which any one opens the operation to an application that acts for a user; `any` needs no scope. Without this
   * field OAuth2 tokens are refused. Bots and users themselves need no scope.
   */
  readonly scope?: Scope | readonly Scope[] | 'any';
  /** Permission bits the caller needs; checked by the aggregate's owner, in the channel if the path names one. */
  readonly permission?: bigint;
  readonly bucket: Bucket;
  readonly agedBucket?: AgedBucket;
  readonly bodyBucket?: BodyBucket;
  readonly query?: Q;
  readonly body?: B;
  /** Bound of a JSON body or of a form's fields. Default: 64 KiB, or 16 KiB if `auth` is `none`; see `bodysize.ts`. */
  readonly bodyBytesMax?: number;
  /**
   * Accepts multipart/form-data with `payload_json` and files; `raised`: files of a message, whose bound a guild's
   * tier raises.
   */
  readonly multipart?: true | 'raised';
  /**
   * Marks an endpoint of the authorization server: its body is a form, the client may authenticate with HTTP Basic, other
   * credentials are ignored, errors have the format of the RFC, and answers are not cached.
   *
   * @source RFC 6749, sections 2.3.1, 4 and 5
   */
  readonly oauth2?: true;
  /** Accepts application/x-www-form-urlencoded: fields, or `payload_json` or `payload` with the JSON of the body. */
  readonly form?: true;
  /** The answer is a text, sent as text/plain. */
  readonly text?: true;
  /** Type of the answer when it is a file: bytes, or text. */
  readonly media?: 'image/png' | 'text/csv';
  /** Status of a successful call; 204 has no body. */
  readonly status: OperationStatus;
  /** Schema of the body of a successful answer; `none` for 204. Tests check answers against it, the server does not. */
  readonly reply: R;
  /** Other successful answers, which the handler gives a status of their own. */
  readonly also?: Also;
  handle(
    call: OperationCall<PathParams<Path>, Static<Q>, Static<B>, Auth>,
    services: Services,
  ): Promise<Answer> | Answer;
}

/** Declares one operation; the function only infers the types of `handle` from path and schemas. */
export function op<
  const Path extends string,
  Q extends TSchema,
  B extends TSchema,
  const Auth extends AuthKind,
  R extends Schema<unknown>,
  Also extends Replies,
>(operation: Operation<Path, Q, B, Auth, R, Also>): Operation<Path, Q, B, Auth, R, Also> {
  return operation;
}

/** Any operation. `handle` is a method, so an operation with narrower parameters is assignable too. */
export type AnyOperation = Operation;

/** Declares the operations of one resource, by OpenAPI operationId. */
export function resource<const T extends Record<string, AnyOperation>>(operations: T): T {
  return operations;
}
