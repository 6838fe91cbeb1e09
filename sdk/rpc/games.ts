import type { RpcEvent } from '../../protocol/rpc.ts';
import { readActivity } from './activity.ts';
import {
  authenticate,
  id,
  JOIN,
  optional,
  type Run,
  type SharedPorts,
  secretOfParty,
  sharedCommands,
  text,
} from './commands.ts';
import { type Args, type Authenticated, type CommandRunner, isObject, RpcError } from './link.ts';
import type { Person } from './person.ts';
import { shopCommands } from './shop.ts';
import { guildView, messageView, voiceView } from './views.ts';
import type { VoiceControl } from './voicecontrol.ts';

/** An application that has connected to the person's RPC server. */
export interface RpcApplication {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly icon: string | null;
  readonly origins: readonly string[];
}

interface GamePorts extends SharedPorts {
  readonly application: RpcApplication;
  readonly person: Person;
  readonly voice: VoiceControl;
  readonly cdn: string;
  /** Takes the person into a voice channel, or out of the call when it is null. */
  joinVoice(guildId: string, channelId: string | null): void;
  /** Names the connection, for what ends with it. */
  readonly connection: object;
  /** Sets the activity of this connection; null takes it away. */
  show(activity: Args | null): void;
  /** The activity that this connection shows. */
  shown(): Args | null;
  /** Sends the secret of a joined party to all connections of an application. */
  joined(applicationId: string, secret: string): void;
}

const GUILD_EVENTS: ReadonlySet<RpcEvent> = new Set(['GUILD_STATUS', 'CURRENT_GUILD_MEMBER_UPDATE']);
const CHANNEL_EVENTS: ReadonlySet<RpcEvent> = new Set([
  'VOICE_STATE_CREATE',
  'VOICE_STATE_UPDATE',
  'VOICE_STATE_DELETE',
  'MESSAGE_CREATE',
  'MESSAGE_UPDATE',
  'MESSAGE_DELETE',
]);
/** For a channel, or without one for every channel that the person speaks in. */
const SPEAKING_EVENTS: ReadonlySet<RpcEvent> = new Set(['SPEAKING_START', 'SPEAKING_STOP']);
const MESSAGES_SHOWN = 50;
/** Any of these scopes, or `rpc`, shows a channel of the kind. */
const OF_GUILD_CHANNELS = ['guilds', 'guilds.channels.read', 'rpc.voice.read'];
const OF_PRIVATE_CHANNELS = ['dm_channels.read'];
const TEXT_TYPES: ReadonlySet<unknown> = new Set([0, 2, 5, 10, 11, 12, 13]);

/** Answers the commands of one application that is connected to the person's RPC server. */
export function createGameRunner(ports: GamePorts): CommandRunner {
  const table: Readonly<Record<string, Run>> = {
    ...sharedCommands(ports),
    ...shopCommands({ ...ports, origin: ports.cdn }),
    ...places(ports),
    ...voice(ports),
    ...parties(ports),
  };
  return {
    authenticate: (args) => authenticate(ports, args),
    async run(command, args, by) {
      const run = table[command];
      if (!run) throw new RpcError('INVALID_COMMAND', `${command} is not available here.`);
      return run(args, by);
    },
    subscribed(event, args) {
      if (GUILD_EVENTS.has(event)) return guildOf(ports, args).id;
      if (SPEAKING_EVENTS.has(event)) return args.channel_id ? id(args, 'channel_id') : null;
      return CHANNEL_EVENTS.has(event) ? id(args, 'channel_id') : null;
    },
  };
}

function guildOf({ person }: GamePorts, args: Args) {
  const guild = person.guilds.get(id(args, 'guild_id'));
  if (!guild) throw new RpcError('INVALID_GUILD', 'You are not a member of this guild.');
  return guild;
}

async function channelOf({ call }: GamePorts, channelId: string): Promise<Args> {
  const { status, body } = await call('GET', `/channels/${channelId}`);
  if (status !== 200 || !isObject(body)) throw new RpcError('INVALID_CHANNEL', 'Unknown channel.');
  return body;
}

/**
 * A channel as an application may see it: its latest messages and who is in its call have scopes of their own, and so has a
 * channel without a guild.
 *
 * @source https://docs.discord.com/developers/topics/oauth2#shared-resources-oauth2-scopes
 */
async function channelView(ports: GamePorts, channelId: string, by: Authenticated | null): Promise<object> {
  const has = (...scopes: readonly string[]): boolean =>
    ['rpc', ...scopes].some((scope) => by?.scopes.has(scope) === true);
  const channel = await channelOf(ports, channelId);
  if (!has(...(typeof channel.guild_id === 'string' ? OF_GUILD_CHANNELS : OF_PRIVATE_CHANNELS)))
    throw new RpcError('INVALID_PERMISSIONS', 'The application has no scope for channels of this kind.');
  const asked =
    TEXT_TYPES.has(channel.type) && has('messages.read')
      ? await ports.call('GET', `/channels/${channelId}/messages?limit=${MESSAGES_SHOWN}`)
      : null;
  const messages: readonly unknown[] = asked?.status === 200 && Array.isArray(asked.body) ? asked.body : [];
  const { name = null, type, topic = null, bitrate = 0, user_limit = 0, position = 0 } = channel;
  const isInCall = (one: { readonly channelId: string }) => one.channelId === channelId;
  const voices = has('rpc.voice.read') ? [...ports.person.voices.values()].filter(isInCall) : [];
  return {
    ...{ id: channelId, name, type, topic, bitrate, user_limit, position },
    guild_id: channel.guild_id ?? null,
    messages: messages.filter(isObject).reverse().map(messageView),
    voice_states: voices.map((one) => voiceView(one, ports.voice.of(one.userId))),
  };
}

/** Shows a text channel to the person, in a page of the server: the RPC server has no window. */
async function showText(ports: GamePorts, args: Args, by: Authenticated | null): Promise<object | null> {
  // There is no window that could show no channel.
  if (args.channel_id === null || args.channel_id === undefined) return null;
  const channelId = id(args, 'channel_id');
  const { type, name, guild_id: guildId } = await channelOf(ports, channelId);
  if (!TEXT_TYPES.has(type) || typeof guildId !== 'string')
    throw new RpcError('INVALID_CHANNEL', 'Only text channels of guilds can be selected.');
  const query = new URLSearchParams({ guild: guildId, channel: channelId });
  const { application, page, cdn } = ports;
  if (await page.confirm(`${application.name} wants to show you #${String(name)}.`))
    page.openExternal(`${cdn}/voice-room/?${query}`);
  return channelView(ports, channelId, by);
}

/** Guilds, channels and people. */
function places(ports: GamePorts): Record<string, Run> {
  const { call, person, cdn } = ports;
  return {
    GET_GUILD: (args) => ({ ...guildView(guildOf(ports, args), cdn), members: [] }),
    GET_GUILDS: () => ({ guilds: [...person.guilds.values()].map((guild) => guildView(guild, cdn)) }),
    GET_CHANNEL: (args, by) => channelView(ports, id(args, 'channel_id'), by),
    SELECT_TEXT_CHANNEL: (args, by) => showText(ports, args, by),
    GET_CHANNELS: async (args) => {
      const { status, body } = await call('GET', `/guilds/${guildOf(ports, args).id}/channels`);
      if (status !== 200 || !Array.isArray(body)) throw new RpcError('INVALID_GUILD', 'Unknown guild.');
      const channels = body.filter(isObject).map((one) => ({ id: one.id, name: one.name, type: one.type }));
      return { channels };
    },
    CREATE_CHANNEL_INVITE: async (args) => {
      const { status, body } = await call('POST', `/channels/${id(args, 'channel_id')}/invites`, {
        body: {},
      });
      if (status !== 200) throw new RpcError('INVALID_PERMISSIONS', 'Invites cannot be made there.');
      return body;
    },
    SET_CERTIFIED_DEVICES: ({ devices }) => {
      if (!Array.isArray(devices)) throw new RpcError('INVALID_PAYLOAD', 'devices must be a list.');
      return null;
    },
  };
}

/** Voice, as far as a program without a microphone can act. */
function voice(ports: GamePorts): Record<string, Run> {
  const { person, voice: control, connection } = ports;
  const selected = () => person.voices.get(ports.selfId() ?? '') ?? null;
  return {
    GET_VOICE_SETTINGS: () => control.settings,
    SET_VOICE_SETTINGS: (args) => control.change(connection, args),
    PUSH_TO_TALK: ({ active }) => void control.hold(connection, active),
    SET_USER_VOICE_SETTINGS: (args) => control.changeUser(id(args, 'user_id'), args),
    GET_SELECTED_VOICE_CHANNEL: (_, by) => {
      const own = selected();
      return own === null ? null : channelView(ports, own.channelId, by);
    },
    SELECT_VOICE_CHANNEL: async (args, by) => {
      const own = selected();
      if (args.channel_id === null || args.channel_id === undefined) {
        if (own !== null) ports.joinVoice(own.guildId, null);
        return null;
      }
      const channelId = id(args, 'channel_id');
      if (own?.channelId === channelId) return channelView(ports, channelId, by);
      if (own !== null && args.force !== true)
        throw new RpcError('SELECT_VOICE_FORCE_REQUIRED', 'You are in another voice channel.');
      const { guild_id: guildId } = await channelOf(ports, channelId);
      if (typeof guildId !== 'string')
        throw new RpcError('INVALID_CHANNEL', 'Only voice channels of guilds can be selected.');
      ports.joinVoice(guildId, channelId);
      return channelView(ports, channelId, by);
    },
  };
}

/** Presence, and invites to the party that it shows. */
function parties(ports: GamePorts): Record<string, Run> {
  const { application } = ports;
  return {
    SET_ACTIVITY: ({ activity }) => {
      if (activity === null || activity === undefined) {
        ports.show(null);
        return null;
      }
      if (!isObject(activity)) throw new RpcError('INVALID_PAYLOAD', 'activity must be an object.');
      const read = readActivity(activity, application);
      ports.show(read);
      const { secrets: _secret, buttons, ...shown } = read;
      const labels = Array.isArray(buttons) ? { buttons: buttons.map(({ label }: Args) => label) } : {};
      return { ...shown, ...labels };
    },
    ACTIVITY_INVITE_USER: (args) => {
      if (args.type !== JOIN) throw new RpcError('INVALID_PAYLOAD', 'type must be 1.');
      return invite(ports, id(args, 'user_id'), optional(args, 'content', 1_024) ?? '');
    },
    SEND_ACTIVITY_JOIN_INVITE: (args) => invite(ports, id(args, 'user_id'), ''),
    // The request stays in the conversation, and the person answers it there or not at all.
    CLOSE_ACTIVITY_REQUEST: (args) => void id(args, 'user_id'),
    CLOSE_ACTIVITY_JOIN_REQUEST: (args) => void id(args, 'user_id'),
    ACCEPT_ACTIVITY_INVITE: async (args) => {
      const applicationId = optional(args, 'application_id', 20) ?? application.id;
      if (applicationId !== application.id)
        throw new RpcError('INVALID_CLIENTID', 'The invite is to another application.');
      const secret = await secretOfParty(ports.call, {
        ...{ applicationId, userId: id(args, 'user_id'), sessionId: text(args, 'session_id', 128) },
        ...{ channelId: id(args, 'channel_id'), messageId: id(args, 'message_id') },
      });
      if (secret === null) throw new RpcError('INVALID_ACTIVITY_JOIN_REQUEST', 'The invite is not valid.');
      ports.joined(applicationId, secret);
      return null;
    },
    VALIDATE_APPLICATION: () => null,
  };
}

async function invite(ports: GamePorts, userId: string, content: string): Promise<null> {
  const activity = ports.shown();
  const party = activity !== null && isObject(activity.party) ? activity.party : null;
  if (activity === null || party === null || !isObject(activity.secrets) || ports.person.sessionId === null)
    throw new RpcError(
      'INVALID_ACTIVITY_JOIN_REQUEST',
      'Set an activity with a party and a join secret first.',
    );
  const body = {
    content,
    activity: { type: JOIN, session_id: ports.person.sessionId, party_id: party.id },
    application_id: ports.application.id,
  };
  const { status } = await ports.call('POST', `/users/${userId}/messages`, { body });
  if (status !== 200) throw new RpcError('INVALID_USER', 'The user cannot be invited.');
  return null;
}
