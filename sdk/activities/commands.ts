import type { RpcEvent } from '../../protocol/rpc.ts';
import {
  authenticate,
  id,
  optional,
  type Prompts,
  type Run,
  type SharedPorts,
  sharedCommands,
  text,
} from '../rpc/commands.ts';
import { type Authenticated, type CommandRunner, isObject, RpcError } from '../rpc/link.ts';
import { shopCommands } from '../rpc/shop.ts';
import { shareInteraction } from './shareinteraction.ts';

/** Actions of the page for an activity; the person confirms the ones that need consent. */
export interface ActivityPage extends Prompts {
  /** Lets the person choose an image; null when none was chosen. */
  chooseImage(): Promise<Blob | null>;
  /** Sets the person's presence; absent where the page has no session. */
  setPresence?(activity: object | null): void;
  /** Calls back whenever the screen is turned, until the returned function is called; absent where no screen turns. */
  watchOrientation?(turned: (isLandscape: boolean) => void): () => void;
}

interface RunnerPorts extends SharedPorts {
  readonly page: ActivityPage;
  readonly guildId: string | null;
  readonly channelId: string;
  /** Origin of the server. */
  readonly origin: string;
  /** The person's permissions in the channel, decimal. */
  readonly permissions: () => string;
  readonly participants: () => Promise<readonly object[]>;
  /** Where a link to the activity leads. */
  readonly shareUrl: (customId: string | null) => string;
}

const MESSAGE_CHARS_MAX = 1_000;

export function createRunner(ports: RunnerPorts): CommandRunner {
  const table: Readonly<Record<string, Run>> = {
    ...sharedCommands(ports),
    ...shopCommands(ports),
    ...reading(ports),
    ...asking(ports),
  };
  return {
    authenticate: (args) => authenticate(ports, args),
    async run(command, args, by) {
      const run = table[command];
      if (!run) throw new RpcError('INVALID_COMMAND', `${command} is not available here.`);
      return run(args, by);
    },
    subscribed(event: RpcEvent, args) {
      const { channel_id: channelId, guild_id: guildId } = args;
      const isElsewhere =
        (channelId !== undefined && channelId !== null && channelId !== ports.channelId) ||
        (guildId !== undefined && guildId !== ports.guildId);
      if (isElsewhere) throw new RpcError('INVALID_CHANNEL', `${event} is of the activity's own channel.`);
      return null;
    },
  };
}

/** Commands that the page answers by itself. */
function reading(ports: RunnerPorts): Record<string, Run> {
  return {
    ENCOURAGE_HW_ACCELERATION: () => ({ enabled: true }),
    GET_PLATFORM_BEHAVIORS: () => ({ iosKeyboardResizesView: false }),
    SET_CONFIG: ({ use_interactive_pip: isInteractive }) => ({ use_interactive_pip: isInteractive === true }),
    SET_ORIENTATION_LOCK_STATE: () => null,
    REQUEST_PROXY_TICKET_REFRESH: () => ({ ticket: '' }),
    GET_CHANNEL_PERMISSIONS: () => ({ permissions: ports.permissions() }),
    GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: async () => ({ participants: await ports.participants() }),
    GET_CHANNEL: (args) => channel(ports, id(args, 'channel_id')),
    SET_ACTIVITY: ({ activity }) => setActivity(ports, activity),
  };
}

/** Commands that the person is asked about. */
function asking(ports: RunnerPorts): Record<string, Run> {
  const { call, page } = ports;
  return {
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
    SHARE_INTERACTION: (args) => shareInteraction(ports, args),
    INITIATE_IMAGE_UPLOAD: (_, by) => upload(ports, by),
  };
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
  if (!(await page.confirm('Make an invite to this activity?'))) return null;
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
