import { RPC_SCOPE } from '../../protocol/rpc.ts';
import { type CallApi, JOIN, rpcUser, secretOfParty } from '../rpc/commands.ts';
import { type Accepted, type Args, isObject, RpcClosed, RpcLink } from '../rpc/link.ts';
import { inTurn } from '../rpc/prompts.ts';
import { type ActivityPage, createRunner } from './commands.ts';
import { browserPage, type FrameElement, frameWindow } from './page.ts';

export interface ActivityHostOptions {
  /** Base URL of the API, which ends in `/api`. */
  readonly api: string;
  /** The token of the person who looks at the page. */
  readonly token: string;
  readonly applicationId: string;
  /** Null in a private channel. */
  readonly guildId: string | null;
  readonly channelId: string;
  /** The element that shows the activity: its children are replaced. */
  readonly container: FrameElement;
  /** From the link that led here. */
  readonly customId?: string | null;
  readonly referrerId?: string | null;
  /** Replaces what the page does for the activity: dialogs, windows and presence. */
  readonly page?: Partial<ActivityPage>;
  /** Called once, when the activity is over for this page, with the reason as a sentence. */
  readonly ended?: (reason: string) => void;
}

/** How the page shows the activity. */
export const ACTIVITY_LAYOUT = { FOCUSED: 0, PIP: 1, GRID: 2 } as const;
const ORIENTATION = { PORTRAIT: 0, LANDSCAPE: 1 } as const;
type Layout = (typeof ACTIVITY_LAYOUT)[keyof typeof ACTIVITY_LAYOUT];

const USERS_KEPT_MAX = 500;
const RELATIONSHIPS: ReadonlySet<string> = new Set([
  'RELATIONSHIP_ADD',
  'RELATIONSHIP_UPDATE',
  'RELATIONSHIP_REMOVE',
]);
const RELAY_PATH = '/.guildhall/relay';
const SANDBOX =
  'allow-scripts allow-same-origin allow-forms allow-pointer-lock allow-orientation-lock allow-modals allow-downloads';
const ALLOW = 'autoplay; fullscreen; gamepad; clipboard-write';

const idsOf = (activity: unknown): string[] =>
  isObject(activity) && Array.isArray(activity.participants)
    ? activity.participants.flatMap((one) =>
        isObject(one) && typeof one.user_id === 'string' ? [one.user_id] : [],
      )
    : [];

/**
 * Shows an activity in a frame of the page and speaks for the person with it. The person takes part from `start` to
 * `close`. Pass the gateway's dispatches to `dispatch`, so that the activity receives changes of voice and of
 * participants at once.
 */
export class ActivityHost {
  readonly #options: ActivityHostOptions & { readonly page: ActivityPage };
  /** Names the frame, to the activity and to the server. */
  readonly #frameId = crypto.randomUUID();
  readonly #users = new Map<string, Promise<object | null>>();
  #link: RpcLink | null = null;
  #stop: (() => void) | null = null;
  #heartbeat: ReturnType<typeof setTimeout> | null = null;
  #selfId: string | null = null;
  #permissions = '0';
  #participantIds: readonly string[] = [];
  #instanceId = '';
  #isOver = false;

  constructor(options: ActivityHostOptions) {
    const page = { ...browserPage(), ...options.page };
    this.#options = { ...options, page: { ...page, ...inTurn(page) } };
  }

  /** Joins or launches the activity, and loads it. @throws Error with the server's reason when it cannot. */
  async start(): Promise<void> {
    const [joined, self] = await Promise.all([this.#join(), this.#call('GET', '/users/@me')]);
    if (this.#isOver) return;
    this.#selfId = isObject(self.body) ? String(self.body.id) : null;
    const { origin, activity, heartbeat_interval: everyMs } = joined;
    if (typeof origin !== 'string' || !isObject(activity))
      throw new Error('This server does not serve activities.');
    this.#instanceId = String(activity.composite_instance_id);
    const location = isObject(activity.location) ? String(activity.location.id) : '';
    this.#show(origin, location);
    this.#beat(Number(everyMs));
  }

  /** A dispatch of the person's gateway session. */
  dispatch(t: string, d: Args): void {
    const { channelId, guildId, applicationId } = this.#options;
    if (t === 'EMBEDDED_ACTIVITY_UPDATE_V2' && d.composite_instance_id === this.#instanceId)
      this.#participate(idsOf(d));
    else if (t === 'VOICE_STATE_UPDATE' && d.channel_id === channelId) void this.#voice(d);
    else if (t === 'USER_UPDATE' && d.id === this.#selfId)
      this.#link?.emit('CURRENT_USER_UPDATE', rpcUser(d));
    else if ((t === 'ENTITLEMENT_CREATE' || t === 'ENTITLEMENT_DELETE') && d.application_id === applicationId)
      this.#link?.emit(t, { entitlement: { gift_code_flags: 0, ...d } });
    else if (RELATIONSHIPS.has(t) && isObject(d.user))
      this.#link?.emit('RELATIONSHIP_UPDATE', { type: d.type, user: rpcUser(d.user) });
    else if (t === 'GUILD_MEMBER_UPDATE' && d.guild_id === guildId) this.#member(d);
  }

  /** Somebody in the channel has begun or ceased to speak. */
  speaking(userId: string, isSpeaking: boolean): void {
    const data = { channel_id: this.#options.channelId, user_id: userId };
    this.#link?.emit(isSpeaking ? 'SPEAKING_START' : 'SPEAKING_STOP', data);
  }

  layout(mode: Layout): void {
    this.#link?.emit('ACTIVITY_LAYOUT_MODE_UPDATE', { layout_mode: mode });
  }

  /**
   * The person accepts an invite to a party of the application: the activity receives the secret of the party.
   *
   * @param invite The message of the invite, as the API shows it.
   * @throws Error when the invite is to another application, or no longer valid.
   */
  async accept(invite: Args): Promise<void> {
    const secret = await this.#secretOf(invite);
    if (secret === null) throw new Error('The invite is not valid.');
    this.#link?.emit('ACTIVITY_JOIN', { applicationId: this.#options.applicationId, secret });
  }

  /** Takes the activity off the page, and leaves it. */
  close(reason = 'The activity was closed.'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#heartbeat !== null) clearTimeout(this.#heartbeat);
    this.#link?.close();
    this.#stop?.();
    const query = new URLSearchParams({ connection_id: this.#frameId });
    this.#call('DELETE', `${this.#path()}?${query}`).catch(() => undefined);
    this.#options.ended?.(reason);
  }

  get #origin(): string {
    return this.#options.api.replace(/\/api$/, '');
  }

  #path(): string {
    const { channelId, applicationId } = this.#options;
    return `/channels/${channelId}/activities/${applicationId}`;
  }

  async #join(): Promise<Args> {
    const { status, body } = await this.#call('PUT', this.#path(), {
      body: { connection_id: this.#frameId },
    });
    if (status !== 200 || !isObject(body))
      throw new Error(
        isObject(body) && typeof body.message === 'string' ? body.message : `Status ${status}.`,
      );
    this.#permissions = String(body.permissions ?? '0');
    this.#participate(idsOf(body.activity));
    return body;
  }

  /**
   * Renews the participation, and gives up after several failures in a row. When the page was away for long (the machine slept), the
   * request launches another instance; the loaded activity belongs to the earlier one, so it ends.
   */
  #beat(everyMs: number, failures = 0): void {
    this.#heartbeat = setTimeout(() => {
      this.#join().then(
        ({ activity }) => {
          if (this.#isOver) return;
          const isSame = isObject(activity) && activity.composite_instance_id === this.#instanceId;
          if (isSame) this.#beat(everyMs);
          else this.close('The activity has ended: this page was away for too long.');
        },
        (error: Error) => {
          if (this.#isOver) return;
          if (failures < 2) this.#beat(everyMs, failures + 1);
          else this.close(error.message);
        },
      );
    }, everyMs);
  }

  #show(origin: string, location: string): void {
    const {
      applicationId,
      guildId,
      channelId,
      customId = null,
      referrerId = null,
      container,
    } = this.#options;
    const query = new URLSearchParams({
      ...{ frame_id: this.#frameId, instance_id: this.#instanceId, platform: 'desktop' },
      ...{ channel_id: channelId, location_id: location },
      ...(guildId !== null && { guild_id: guildId }),
      ...(customId !== null && { custom_id: customId }),
      ...(referrerId !== null && { referrer_id: referrerId }),
    });
    const frame = frameWindow(container, {
      ...{ url: `${origin}${RELAY_PATH}?${query}`, origin, sandbox: SANDBOX, allow: ALLOW },
      received: (message) => this.#link?.receive(message),
    });
    const unwatch = this.#options.page.watchOrientation?.((isLandscape) => this.#turned(isLandscape));
    this.#stop = () => {
      unwatch?.();
      frame.remove();
    };
    this.#link = new RpcLink({
      scopes: [RPC_SCOPE.EMBEDDED],
      accept: ({ client_id: clientId, frame_id: frameId }) => {
        if (clientId !== applicationId || frameId !== this.#frameId)
          throw new RpcClosed('INVALID_CLIENTID', 'This frame belongs to another application.');
        return this.#accepted();
      },
      nowMs: () => performance.now(),
      send: frame.send,
      ended: (_, message) => this.close(message),
    });
  }

  #accepted(): Accepted {
    const { applicationId, guildId, channelId } = this.#options;
    return {
      ready: {
        v: 1,
        config: { api_endpoint: this.#options.api.replace(/^https?:/, ''), environment: 'production' },
      },
      runner: createRunner({
        call: (...request) => this.#call(...request),
        page: this.#options.page,
        ...{ applicationId, guildId, channelId, origin: this.#origin },
        selfId: () => this.#selfId,
        permissions: () => this.#permissions,
        participants: () => this.#participants(),
        shareUrl: (custom) => this.#shareUrl(custom),
      }),
    };
  }

  #turned(isLandscape: boolean): void {
    const [name, value] = isLandscape
      ? (['landscape', ORIENTATION.LANDSCAPE] as const)
      : (['portrait', ORIENTATION.PORTRAIT] as const);
    this.#link?.emit('ORIENTATION_UPDATE', { screen_orientation: value, orientation: name });
  }

  #shareUrl(customId: string | null): string {
    const query = new URLSearchParams({ ...(this.#selfId !== null && { referrer_id: this.#selfId }) });
    if (customId !== null) query.set('custom_id', customId);
    return `${this.#origin}/activities/${this.#options.applicationId}?${query}`;
  }

  #participate(ids: readonly string[]): void {
    if (ids.join() === this.#participantIds.join()) return;
    this.#participantIds = ids;
    this.#participants().then(
      (participants) => this.#link?.emit('ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE', { participants }),
      () => undefined,
    );
  }

  async #participants(): Promise<object[]> {
    const users = await Promise.all(this.#participantIds.map((id) => this.#user(id)));
    return users.filter((user) => user !== null);
  }

  /** A user, read once. */
  #user(id: string): Promise<object | null> {
    const known = this.#users.get(id);
    if (known) return known;
    const read = this.#call('GET', `/users/${id}`).then(
      ({ status, body }) => (status === 200 && isObject(body) ? rpcUser(body) : null),
      () => null,
    );
    this.#users.set(id, read);
    const [oldest] = this.#users.keys();
    if (this.#users.size > USERS_KEPT_MAX && oldest !== undefined) this.#users.delete(oldest);
    return read;
  }

  async #voice(d: Args): Promise<void> {
    const member = isObject(d.member) ? d.member : {};
    const user = isObject(member.user) ? rpcUser(member.user) : await this.#user(String(d.user_id));
    if (user === null) return;
    const { mute, deaf, self_mute, self_deaf, suppress } = d;
    this.#link?.emit('VOICE_STATE_UPDATE', {
      ...{ mute: false, volume: 100, user },
      nick: String(member.nick ?? ('username' in user ? user.username : '')),
      voice_state: { mute, deaf, self_mute, self_deaf, suppress },
    });
  }

  #member({ user, nick = null, avatar = null, guild_id: guildId }: Args): void {
    if (!isObject(user) || user.id !== this.#selfId) return;
    const data = { user_id: user.id, nick, avatar, guild_id: guildId, avatar_decoration_data: null };
    this.#link?.emit('CURRENT_GUILD_MEMBER_UPDATE', { ...data, color_string: null });
  }

  async #secretOf({ id, channel_id, author, activity, application }: Args): Promise<string | null> {
    const { applicationId } = this.#options;
    const isInvite = isObject(author) && isObject(activity) && isObject(application);
    if (!isInvite || activity.type !== JOIN || application.id !== applicationId) return null;
    return secretOfParty(this.#call, {
      ...{ applicationId, userId: String(author.id), sessionId: String(activity.session_id) },
      ...{ channelId: String(channel_id), messageId: String(id) },
    });
  }

  readonly #call: CallApi = async (method, path, { body, token, form } = {}) => {
    const { api, token: own } = this.#options;
    const sent = form ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${api}/v10${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token ?? own}`,
        ...(sent !== undefined && !form && { 'content-type': 'application/json' }),
      },
      ...(sent !== undefined && { body: sent }),
    });
    const answer = await response.text();
    const parsed: unknown = answer === '' ? null : JSON.parse(answer);
    return { status: response.status, body: parsed };
  };
}
