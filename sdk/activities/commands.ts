import type { EmbeddedEvent } from '../../protocol/embedded.ts';
import { type Args, type Authenticated, type CommandRunner, RpcError } from './link.ts';

/** An application that asks for a person's consent. */
export interface ConsentRequest {
  readonly application: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
}

/** What the page does for an activity, with the person's word where it matters. */
export interface ActivityPage {
  /** Asks the person whether the application may have these scopes. */
  consent(request: ConsentRequest): Promise<boolean>;
  /** Asks the person something that can be answered with yes or no. */
  confirm(question: string): Promise<boolean>;
  /** Opens an address in a window of its own. @returns false when the browser did not. */
  openExternal(url: string): boolean;
  /** Lets the person choose an image; null when none was chosen. */
  chooseImage(): Promise<Blob | null>;
  /** Sets the person's presence; absent where the page has no session. */
  setPresence?(activity: object | null): void;
  readonly locale: string;
}

/** Calls the API as the person, or with the token of the application that acts for the person. */
export type CallApi = (
  method: string,
  path: string,
  options?: { readonly body?: unknown; readonly token?: string; readonly form?: FormData },
) => Promise<{ readonly status: number; readonly body: unknown }>;

interface RunnerPorts {
  readonly call: CallApi;
  readonly page: ActivityPage;
  readonly applicationId: string;
  readonly guildId: string | null;
  readonly channelId: string;
  readonly selfId: () => string | null;
  /** The person's permissions in the channel, decimal. */
  readonly permissions: () => string;
  readonly participants: () => Promise<readonly object[]>;
  /** Where a link to the activity leads. */
  readonly shareUrl: (customId: string | null) => string;
}

const isObject = (value: unknown): value is Args =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function text(args: Args, name: string, max: number): string {
  const value = args[name];
  if (typeof value !== 'string' || value === '' || value.length > max)
    throw new RpcError('INVALID_PAYLOAD', `${name} must be a text of at most ${max} characters.`);
  return value;
}

const optional = (args: Args, name: string, max: number): string | null =>
  args[name] === undefined || args[name] === null ? null : text(args, name, max);

const ID = /^\d{1,20}$/;
function id(args: Args, name: string): string {
  const value = text(args, name, 20);
  if (!ID.test(value)) throw new RpcError('INVALID_PAYLOAD', `${name} must be an id.`);
  return value;
}

/** A user as activities see one. */
export function rpcUser(user: Args): object {
  return {
    ...{ id: user.id, username: user.username, discriminator: user.discriminator ?? '0' },
    ...{ global_name: user.global_name ?? null, avatar: user.avatar ?? null, avatar_decoration_data: null },
    ...{ bot: user.bot === true, flags: Number(user.public_flags ?? 0), premium_type: 0 },
  };
}

type Run = (args: Args, by: Authenticated | null) => unknown;

const SCOPES_MAX = 32;
const MESSAGE_CHARS_MAX = 1_000;

export function createRunner(ports: RunnerPorts): CommandRunner {
  const table: Readonly<Record<string, Run>> = { ...reading(ports), ...asking(ports) };
  return {
    authenticate: (args) => authenticate(ports, args),
    async run(command, args, by) {
      const run = table[command];
      if (!run) throw new RpcError('INVALID_COMMAND', `${command} is not available here.`);
      return run(args, by);
    },
    subscribed(event: EmbeddedEvent, args) {
      const { channel_id: channelId, guild_id: guildId } = args;
      const isElsewhere =
        (channelId !== undefined && channelId !== null && channelId !== ports.channelId) ||
        (guildId !== undefined && guildId !== ports.guildId);
      if (isElsewhere) throw new RpcError('INVALID_CHANNEL', `${event} is of the activity's own channel.`);
    },
  };
}

/** Commands that the page answers by itself. */
function reading(ports: RunnerPorts): Record<string, Run> {
  const { call, page } = ports;
  return {
    CAPTURE_LOG: () => null,
    ENCOURAGE_HW_ACCELERATION: () => ({ enabled: true }),
    GET_PLATFORM_BEHAVIORS: () => ({ iosKeyboardResizesView: false }),
    SET_CONFIG: ({ use_interactive_pip: isInteractive }) => ({ use_interactive_pip: isInteractive === true }),
    SET_ORIENTATION_LOCK_STATE: () => null,
    REQUEST_PROXY_TICKET_REFRESH: () => ({ ticket: '' }),
    USER_SETTINGS_GET_LOCALE: () => ({ locale: page.locale }),
    GET_SKUS_EMBEDDED: () => ({ skus: [] }),
    GET_ENTITLEMENTS_EMBEDDED: () => ({ entitlements: [] }),
    GET_CHANNEL_PERMISSIONS: () => ({ permissions: ports.permissions() }),
    GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: async () => ({ participants: await ports.participants() }),
    GET_CHANNEL: (args) => channel(ports, id(args, 'channel_id')),
    GET_USER: async (args) => {
      const { status, body } = await call('GET', `/users/${id(args, 'id')}`);
      return status === 200 && isObject(body) ? rpcUser(body) : null;
    },
    GET_RELATIONSHIPS: (_, by) => relationships(ports, by),
    SET_ACTIVITY: ({ activity }) => setActivity(ports, activity),
  };
}

/** Commands that the person is asked about. */
function asking(ports: RunnerPorts): Record<string, Run> {
  const { call, page } = ports;
  return {
    AUTHORIZE: (args) => authorize(ports, args),
    OPEN_EXTERNAL_LINK: async (args) => {
      const url = text(args, 'url', 2_048);
      if (!/^https?:\/\//i.test(url))
        throw new RpcError('INVALID_PAYLOAD', 'Only web addresses can be opened.');
      const isWanted = await page.confirm(`The activity wants to open ${new URL(url).href}`);
      return { opened: isWanted && page.openExternal(url) };
    },
    OPEN_INVITE_DIALOG: () => invite(ports),
    OPEN_SHARE_MOMENT_DIALOG: async (args) => {
      const url = text(args, 'mediaUrl', 1_024);
      if (await page.confirm(`Send this to the channel? ${url}`)) await say(ports, url);
      return null;
    },
    SHARE_LINK: async (args) => {
      const message = text(args, 'message', MESSAGE_CHARS_MAX);
      const link = ports.shareUrl(optional(args, 'custom_id', 64));
      const isSent = await page.confirm(`Send this to the channel? ${message} ${link}`);
      if (isSent) await say(ports, `${message}\n${link}`);
      return { success: isSent, didCopyLink: false, didSendMessage: isSent };
    },
    INVITE_USER_EMBEDDED: async (args) => {
      const userId = id(args, 'user_id');
      const content = optional(args, 'content', 1_024) ?? '';
      if (!(await page.confirm(`Invite a friend to the activity? ${content}`))) return null;
      const opened = await call('POST', '/users/@me/channels', { body: { recipient_id: userId } });
      if (opened.status !== 200 || !isObject(opened.body))
        throw new RpcError('INVALID_USER', 'Unknown user.');
      await say(
        { ...ports, channelId: String(opened.body.id) },
        `${content}\n${ports.shareUrl(null)}`.trim(),
      );
      return null;
    },
    INITIATE_IMAGE_UPLOAD: (_, by) => upload(ports, by),
  };
}

/** Asks the person, unless they have agreed to these scopes before. The code is for the application's server alone. */
async function authorize({ call, page, applicationId }: RunnerPorts, args: Args): Promise<object> {
  if (args.client_id !== applicationId) throw new RpcError('INVALID_CLIENTID', 'This is not your client id.');
  const scopes: readonly unknown[] = Array.isArray(args.scope) ? args.scope : [];
  if (scopes.length === 0 || scopes.length > SCOPES_MAX || !scopes.every((one) => typeof one === 'string'))
    throw new RpcError('INVALID_PAYLOAD', 'scope must be a list of scopes.');
  if (args.response_type !== undefined && args.response_type !== 'code')
    throw new RpcError('INVALID_PAYLOAD', 'response_type must be code.');
  const query = new URLSearchParams({
    client_id: applicationId,
    response_type: 'code',
    scope: scopes.join(' '),
  });
  for (const [name, max] of [
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
    throw new RpcError('OAUTH2_ERROR', 'The request for authorization is not valid.');
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

/** The token must be one of this application, for this person. */
async function authenticate(
  { call, applicationId, selfId }: RunnerPorts,
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

async function channel({ call, channelId, guildId }: RunnerPorts, wanted: string): Promise<object> {
  if (wanted !== channelId)
    throw new RpcError('INVALID_CHANNEL', 'Only the channel of the activity is shown.');
  const { status, body } = await call('GET', `/channels/${channelId}`);
  if (status !== 200 || !isObject(body)) throw new RpcError('INVALID_CHANNEL', 'Unknown channel.');
  const { type, name = null, topic = null, bitrate = null, user_limit = null, position = null } = body;
  const shown = { id: channelId, type, name, topic, bitrate, user_limit, position };
  return { ...shown, ...(guildId !== null && { guild_id: guildId }), voice_states: [], messages: [] };
}

async function relationships({ call }: RunnerPorts, by: Authenticated | null): Promise<object> {
  const { status, body } = await call('GET', '/users/@me/relationships', by ? { token: by.token } : {});
  const all: readonly unknown[] = status === 200 && Array.isArray(body) ? body : [];
  const shown = all.flatMap((one) =>
    isObject(one) && isObject(one.user) ? [{ type: one.type, user: rpcUser(one.user) }] : [],
  );
  return { relationships: shown };
}

function setActivity({ page, applicationId }: RunnerPorts, given: unknown): object {
  const activity = isObject(given)
    ? { name: 'Activity', type: 0, ...given, application_id: applicationId }
    : null;
  page.setPresence?.(activity);
  return activity ?? { name: '', type: 0 };
}

const INVITE_TO_ACTIVITY = 2;

async function invite(ports: RunnerPorts): Promise<null> {
  const { call, page, channelId, guildId, applicationId } = ports;
  if (guildId === null) throw new RpcError('INVALID_CHANNEL', 'There are no invites to private channels.');
  const target = { target_type: INVITE_TO_ACTIVITY, target_application_id: applicationId };
  const { status, body } = await call('POST', `/channels/${channelId}/invites`, { body: target });
  if (status !== 200 || !isObject(body))
    throw new RpcError('INVALID_PERMISSIONS', 'Invites cannot be made here.');
  await page.confirm(`Invite others with the code ${String(body.code)}`);
  return null;
}

async function say({ call, channelId }: RunnerPorts, content: string): Promise<void> {
  const body = { content, allowed_mentions: { parse: [] } };
  const { status } = await call('POST', `/channels/${channelId}/messages`, { body });
  if (status !== 200) throw new RpcError('INVALID_PERMISSIONS', 'Messages cannot be sent there.');
}

async function upload({ call, page, applicationId }: RunnerPorts, by: Authenticated | null): Promise<object> {
  const image = await page.chooseImage();
  if (image === null || by === null) throw new RpcError('UNKNOWN_ERROR', 'No image was chosen.');
  const form = new FormData();
  form.set('file', image, 'image.png');
  const path = `/applications/${applicationId}/attachment`;
  const { status, body } = await call('POST', path, { form, token: by.token });
  const attachment = status === 200 && isObject(body) ? body.attachment : null;
  if (!isObject(attachment)) throw new RpcError('UNKNOWN_ERROR', 'The image could not be stored.');
  return { image_url: attachment.url };
}
