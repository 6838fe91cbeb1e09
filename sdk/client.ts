import { accounts, watchToken } from './client/accounts.ts';
import { authorizeRequests } from './client/authorizerequests.ts';
import { connection } from './client/connection.ts';
import { type ClientOptions, createCore } from './client/core.ts';
import { lobbies } from './client/lobbies.ts';
import { messages } from './client/messages.ts';
import { people } from './client/people.ts';
import { presence } from './client/presence.ts';
import { voice } from './client/voice.ts';
import { errorToString, statusToString } from './enums.ts';
import type { Host } from './host.ts';

type Group =
  | typeof accounts
  | typeof authorizeRequests
  | typeof connection
  | typeof lobbies
  | typeof messages
  | typeof people
  | typeof presence
  | typeof voice;
type Intersection<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer All) => void
  ? All
  : never;

/**
 * A player's client: who they are, the lobbies they are in, what they say, who their friends are and what they do.
 * Everything it knows comes from one connection and is read through handles. Calls reject with a `ClientError`.
 */
export type Client = Intersection<ReturnType<Group>>;

export interface ClientConstructor {
  new (options?: ClientOptions): Client;
  /** Friends, presence, invites, messages and lobbies. */
  getDefaultCommunicationScopes(): string;
  /** Friends, presence and invites. */
  getDefaultPresenceScopes(): string;
  readonly errorToString: typeof errorToString;
  readonly statusToString: typeof statusToString;
}

/** The `Client` of an environment. */
export const clientOf = (hostOf: () => Host): ClientConstructor =>
  class {
    static getDefaultCommunicationScopes = () => 'openid sdk.social_layer';
    static getDefaultPresenceScopes = () => 'openid sdk.social_layer_presence';
    static errorToString = errorToString;
    static statusToString = statusToString;

    constructor(options: ClientOptions = {}) {
      const core = createCore(hostOf(), options);
      watchToken(core);
      for (const group of [
        accounts,
        authorizeRequests,
        connection,
        lobbies,
        messages,
        people,
        presence,
        voice,
      ])
        Object.assign(this, group(core));
    }
  } as unknown as ClientConstructor;
