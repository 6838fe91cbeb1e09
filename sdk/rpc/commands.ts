import { type Args, type Authenticated, isObject, RpcError } from './link.ts';

/** An application that asks for a person's consent. */
export interface ConsentRequest {
  readonly application: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
}

/** Questions that the host asks the person. */
export interface Prompts {
  /** Asks the person whether the application may have these scopes. */
  consent(request: ConsentRequest): Promise<boolean>;
  /** Asks the person something that can be answered with yes or no. */
  confirm(question: string): Promise<boolean>;
  /** Opens an address in a window of its own. @returns false when it could not be opened. */
  openExternal(url: string): boolean;
  readonly locale: string;
}

/** Calls the API as the person, or with the token of the application that acts for the person. */
export type CallApi = (
  method: string,
  path: string,
  options?: { readonly body?: unknown; readonly token?: string; readonly form?: FormData },
) => Promise<{ readonly status: number; readonly body: unknown }>;

/** The type of an activity in a message that invites to its party. */
export const JOIN = 1;

/** An invite to a party, as its message names it. */
interface PartyInvite {
  readonly applicationId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly channelId: string;
  readonly messageId: string;
}

/** Accepts an invite. @returns the secret of the party; null for an invite that is not valid. */
export async function secretOfParty(
  call: CallApi,
  { applicationId, userId, sessionId, channelId, messageId }: PartyInvite,
): Promise<string | null> {
  const query = new URLSearchParams({ channel_id: channelId, message_id: messageId });
  const session = encodeURIComponent(sessionId);
  const path = `/users/${userId}/sessions/${session}/activities/${applicationId}/${JOIN}`;
  const { status, body } = await call('GET', `${path}?${query}`);
  return status === 200 && isObject(body) && typeof body.secret === 'string' ? body.secret : null;
}

export interface SharedPorts {
  readonly call: CallApi;
  readonly page: Prompts;
  readonly applicationId: string;
  readonly selfId: () => string | null;
}

export type Run = (args: Args, by: Authenticated | null) => unknown;

/** A required text argument. @throws RpcError */
export function text(args: Args, name: string, max: number): string {
  const value = args[name];
  if (typeof value !== 'string' || value === '' || value.length > max)
    throw new RpcError('INVALID_PAYLOAD', `${name} must be a text of at most ${max} characters.`);
  return value;
}

export const optional = (args: Args, name: string, max: number): string | null =>
  args[name] === undefined || args[name] === null ? null : text(args, name, max);

const ID = /^\d{1,20}$/;
/** A required id. @throws RpcError */
export function id(args: Args, name: string): string {
  const value = text(args, name, 20);
  if (!ID.test(value)) throw new RpcError('INVALID_PAYLOAD', `${name} must be an id.`);
  return value;
}

/** A user as applications see one. */
export function rpcUser(user: Args): object {
  return {
    ...{ id: user.id, username: user.username, discriminator: user.discriminator ?? '0' },
    ...{ global_name: user.global_name ?? null, avatar: user.avatar ?? null, avatar_decoration_data: null },
    ...{ bot: user.bot === true, flags: Number(user.public_flags ?? 0), premium_type: 0 },
  };
}

const SCOPES_MAX = 32;
const REASON_CHARS_MAX = 200;

/** Commands that every host answers in the same way. */
export function sharedCommands(ports: SharedPorts): Record<string, Run> {
  const { call, page } = ports;
  return {
    AUTHORIZE: (args) => authorize(ports, args),
    CAPTURE_LOG: () => null,
    SEND_ANALYTICS_EVENT: () => null,
    USER_SETTINGS_GET_LOCALE: () => ({ locale: page.locale }),
    GET_USER: async (args) => {
      const { status, body } = await call('GET', `/users/${id(args, 'id')}`);
      return status === 200 && isObject(body) ? rpcUser(body) : null;
    },
    GET_RELATIONSHIPS: (_, by) => relationships(ports, by),
    OPEN_EXTERNAL_LINK: async (args) => {
      const url = text(args, 'url', 2_048);
      if (!/^https?:\/\//i.test(url))
        throw new RpcError('INVALID_PAYLOAD', 'Only web addresses can be opened.');
      const isWanted = await page.confirm(`The application wants to open ${new URL(url).href}`);
      return { opened: isWanted && page.openExternal(url) };
    },
  };
}

/** Asks the person, unless they have agreed to these scopes before. The code is for the application's server alone. */
async function authorize({ call, page, applicationId }: SharedPorts, args: Args): Promise<object> {
  if (args.client_id !== applicationId) throw new RpcError('INVALID_CLIENTID', 'This is not your client id.');
  // Activities send `scope`, games `scopes`.
  const given: unknown = args.scopes ?? args.scope;
  const scopes: readonly unknown[] = Array.isArray(given) ? given : [];
  if (scopes.length === 0 || scopes.length > SCOPES_MAX || !scopes.every((one) => typeof one === 'string'))
    throw new RpcError('INVALID_PAYLOAD', 'scopes must be a list of scopes.');
  if (args.response_type !== undefined && args.response_type !== 'code')
    throw new RpcError('INVALID_PAYLOAD', 'response_type must be code.');
  const query = new URLSearchParams({
    client_id: applicationId,
    response_type: 'code',
    scope: scopes.join(' '),
  });
  for (const [name, max] of [
    ['redirect_uri', 2_048],
    ['code_challenge', 128],
    ['code_challenge_method', 8],
    ['state', 1_024],
  ] as const) {
    const value = optional(args, name, max);
    if (value !== null) query.set(name, value);
  }
  const path = `/oauth2/authorize?${query}`;
  const asked = await call('GET', path);
  if (asked.status !== 200 || !isObject(asked.body) || !isObject(asked.body.application))
    throw new RpcError('OAUTH2_ERROR', `The request for authorization is refused: ${reasonOf(asked)}`);
  const { application, authorized } = asked.body;
  if (authorized !== true) {
    if (args.prompt === 'none') throw new RpcError('OAUTH2_ERROR', 'The person has not agreed before.');
    const known = { id: applicationId, name: String(application.name) };
    if (!(await page.consent({ application: known, scopes: scopes.map(String) })))
      throw new RpcError('OAUTH2_ERROR', 'The person did not agree.');
  }
  const { status, body } = await call('POST', path, { body: { authorize: true } });
  const location = status === 200 && isObject(body) ? body.location : null;
  const code = typeof location === 'string' ? new URL(location).searchParams.get('code') : null;
  if (code === null) throw new RpcError('OAUTH2_ERROR', 'The application could not be authorized.');
  return { code };
}

/** Why the server refuses, for the developer of the application: its message, or the error in its redirect. */
function reasonOf({ status, body }: { readonly status: number; readonly body: unknown }): string {
  const { location, message } = isObject(body) ? body : {};
  const isUrl = typeof location === 'string' && URL.canParse(location);
  const error = isUrl ? new URL(location).searchParams : new URLSearchParams();
  const known = error.get('error_description') ?? error.get('error') ?? message ?? `status ${status}`;
  return String(known).slice(0, REASON_CHARS_MAX);
}

/** The token must be one of this application, for this person. */
export async function authenticate(
  { call, applicationId, selfId }: SharedPorts,
  args: Args,
): Promise<Authenticated> {
  const token = text(args, 'access_token', 1_024);
  const { status, body } = await call('GET', '/oauth2/@me', { token });
  if (status !== 200 || !isObject(body) || !isObject(body.application) || !Array.isArray(body.scopes))
    throw new RpcError('INVALID_TOKEN', 'The token is not valid.');
  const { application, expires, scopes } = body;
  if (application.id !== applicationId)
    throw new RpcError('INVALID_TOKEN', 'The token is of another application.');
  const user = isObject(body.user) ? body.user : await ownUser(call, token);
  if (user !== null && user.id !== selfId())
    throw new RpcError('INVALID_TOKEN', 'The token is of another person.');
  const shownUser = user && {
    ...{ id: user.id, username: user.username, discriminator: user.discriminator ?? '0' },
    ...{ avatar: user.avatar ?? null, global_name: user.global_name ?? null },
    public_flags: Number(user.public_flags ?? 0),
  };
  const shown = {
    ...{ id: applicationId, name: application.name, icon: application.icon ?? null },
    description: application.description ?? '',
  };
  return {
    token,
    scopes: new Set(scopes.map(String)),
    body: { access_token: token, user: shownUser ?? { id: selfId() }, scopes, expires, application: shown },
  };
}

async function ownUser(call: CallApi, token: string): Promise<Args | null> {
  const { status, body } = await call('GET', '/users/@me', { token });
  return status === 200 && isObject(body) ? body : null;
}

async function relationships({ call }: SharedPorts, by: Authenticated | null): Promise<object> {
  const { status, body } = await call('GET', '/users/@me/relationships', by ? { token: by.token } : {});
  const all: readonly unknown[] = status === 200 && Array.isArray(body) ? body : [];
  const shown = all.flatMap((one) =>
    isObject(one) && isObject(one.user) ? [{ type: one.type, user: rpcUser(one.user) }] : [],
  );
  return { relationships: shown };
}
