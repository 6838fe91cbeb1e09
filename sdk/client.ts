import type { Calls } from './call/index.ts';
import { Accounts, watchToken } from './client/accounts.ts';
import { Applications } from './client/applications.ts';
import { AuthorizeRequests } from './client/authorizerequests.ts';
import { Connection } from './client/connection.ts';
import { type ClientOptions, createCore } from './client/core.ts';
import { Guilds } from './client/guilds.ts';
import { Lobbies } from './client/lobbies.ts';
import { Messages } from './client/messages.ts';
import { People } from './client/people.ts';
import { Presence } from './client/presence.ts';
import { errorToString, statusToString } from './enums.ts';
import { Extensions } from './extensions.ts';
import type { Host } from './host.ts';
import { COMMIT, VERSION } from './version.ts';

/** The methods of a client come in groups; each is a class that the client shows as its own. */
const GROUPS = [
  Accounts,
  Applications,
  AuthorizeRequests,
  Extensions,
  Connection,
  Guilds,
  Lobbies,
  Messages,
  People,
  Presence,
] as const;

type Public<T> = Pick<T, keyof T>;

/**
 * A player's client: identity, lobbies, messages, friends, presence. Its state comes from one gateway connection
 * and is read through handles. Calls reject with a `ClientError`.
 */
export interface Client
  extends Public<Accounts>,
    Public<Applications>,
    Public<AuthorizeRequests>,
    Public<Extensions>,
    Public<Connection>,
    Public<Guilds>,
    Public<Lobbies>,
    Public<Messages>,
    Public<People>,
    Public<Presence>,
    Omit<Public<Calls>, 'close' | 'drop' | 'getCallInfoHandle'> {}

export interface ClientConstructor {
  new (options?: ClientOptions): Client;
  /** Friends, presence, invites, messages and lobbies. */
  getDefaultCommunicationScopes(): string;
  /** Friends, presence and invites. */
  getDefaultPresenceScopes(): string;
  getVersionMajor(): number;
  getVersionMinor(): number;
  getVersionPatch(): number;
  /** Commit that this version was built from; empty outside of a package. */
  getVersionHash(): string;
  readonly errorToString: typeof errorToString;
  readonly statusToString: typeof statusToString;
}

/** Creates the `Client` class of an environment. */
export const clientOf = (hostOf: () => Host): ClientConstructor =>
  class {
    static getDefaultCommunicationScopes = () => 'openid sdk.social_layer';
    static getDefaultPresenceScopes = () => 'openid sdk.social_layer_presence';
    static getVersionMajor = () => versionPart(0);
    static getVersionMinor = () => versionPart(1);
    static getVersionPatch = () => versionPart(2);
    static getVersionHash = (): string => COMMIT;
    static errorToString = errorToString;
    static statusToString = statusToString;

    constructor(options: ClientOptions = {}) {
      const core = createCore(hostOf(), options);
      watchToken(core);
      for (const Group of GROUPS) show(this, new Group(core));
      show(this, core.calls);
    }
  } as ClientConstructor;

const versionPart = (at: number): number => Number.parseInt(VERSION.split('.')[at] ?? '0', 10);

/** Internal methods of `Calls` that the client does not expose. */
const HIDDEN = new Set(['constructor', 'close', 'drop', 'getCallInfoHandle']);

/** Exposes the methods of a group on the client. */
function show(client: object, group: object): void {
  for (const place of [Object.getPrototypeOf(group) as object, group])
    for (const name of Object.getOwnPropertyNames(place)) {
      const method: unknown = Reflect.get(group, name);
      if (typeof method === 'function' && !HIDDEN.has(name))
        Object.assign(client, { [name]: method.bind(group) });
    }
}
