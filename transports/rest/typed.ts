import type { UserId } from '../../protocol/ids.ts';
import type { Static, TSchema } from '../../protocol/schemas/request.ts';
import type { ValueOf } from '../../protocol/schemas/schema.ts';
import type { Written } from '../../protocol/wireids.ts';
import type { AuthKind, Operation, PathParams, Replies, Upload } from './operation.ts';
import type { operations, unlisted } from './resources/index.ts';

type Declared = typeof operations & typeof unlisted;

/** The name of an implemented operation, as in the platform's OpenAPI file and docs/http.md. */
export type OperationId = keyof Declared;

/** The types of a declaration; `unknown` for a part that the operation does not have. */
interface OperationTypes {
  readonly path: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly auth: AuthKind;
}

type PartsOf<Declaration> =
  Declaration extends Operation<infer Path, infer Query, infer Body, infer Auth>
    ? {
        readonly path: Path;
        readonly params: PathParams<Path>;
        // Without a schema the type parameter is every schema.
        readonly query: TSchema extends Query ? unknown : Static<Query>;
        readonly body: TSchema extends Body ? unknown : Static<Body>;
        readonly auth: Auth;
      }
    : OperationTypes;

type OperationParts<Id extends OperationId> = PartsOf<Declared[Id]>;

/** A field that is required if its value needs a key, and absent if the operation does not have it. */
type Field<Name extends string, Value> = unknown extends Value
  ? unknown
  : Record<never, never> extends Value
    ? { readonly [Key in Name]?: Value }
    : { readonly [Key in Name]: Value };

/** The arguments of an operation; ids are strings. `files` are for operations that take forms. */
export type ApiCall<Id extends OperationId> = Field<'params', Written<OperationParts<Id>['params']>> &
  Field<'query', Written<OperationParts<Id>['query']>> &
  Field<'body', Written<OperationParts<Id>['body']>> & { readonly files?: readonly Upload[] };

/** The caller of an operation and the reason for the audit log. Only operations without a caller take null. */
export interface ApiCaller<Id extends OperationId> {
  /** A bot or a user, by id. */
  readonly as: OperationParts<Id>['auth'] extends 'none' ? string | null : string;
  readonly reason?: string;
}

/** The body of a successful answer; undefined for none. */
export type ApiAnswer<Id extends OperationId> = RepliesOf<Declared[Id]>;

type RepliesOf<Declaration> =
  Declaration extends Operation<infer _P, infer _Q, infer _B, infer _A, infer R, infer Also>
    ? ValueOf<R> | (Replies extends Also ? never : ValueOf<Also[keyof Also]>)
    : never;

/** `create_message` as `createMessage`. */
export type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** Every operation twice: as `create_message(call, { as })`, and as `createMessage({ as, ...call })`. */
export type Api = {
  readonly [Id in OperationId]: (call: ApiCall<Id>, caller: ApiCaller<Id>) => Promise<ApiAnswer<Id>>;
} & {
  readonly [Id in OperationId as CamelCase<Id>]: (
    call: ApiCall<Id> & ApiCaller<Id>,
  ) => Promise<ApiAnswer<Id>>;
};

/** A call as a hook sees it: validated, with the known keys only. */
export interface HookCall<Id extends OperationId> {
  readonly operationId: Id;
  readonly callerId: UserId | null;
  readonly params: OperationParts<Id>['params'];
  readonly query: OperationParts<Id>['query'];
  readonly body: OperationParts<Id>['body'];
  readonly files: readonly Upload[];
}

/** Parts of a call that replace those that the caller sent. They are validated again. */
export type HookChange<Id extends OperationId> = Partial<ApiCall<Id>>;

/** Refuses a call; the caller gets it as the platform's error. */
export interface HookRefusal {
  readonly refuse: { readonly status: number; readonly code: number; readonly message: string };
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks returns nothing, and so does an async one.
type Maybe<T> = T | undefined | void | Promise<T | undefined | void>;

/** Called before an operation's handler; may change the call, or refuse it. */
export type BeforeHook<Id extends OperationId> = (call: HookCall<Id>) => Maybe<HookChange<Id> | HookRefusal>;

/** Called with an operation's answer, successful or refused; may change it. */
export type AfterHook<Id extends OperationId> = (
  call: HookCall<Id>,
  reply: HookReply<Id>,
) => Maybe<{ readonly status: number; readonly body: unknown }>;

export interface HookReply<Id extends OperationId> {
  readonly status: number;
  /** The answer of a successful call, or the error of a refused one. */
  readonly body: ApiAnswer<Id> | HookError;
}

/** The platform's error object. */
export interface HookError {
  readonly code: number;
  readonly message: string;
}
