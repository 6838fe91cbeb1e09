import type { ChannelDirectory } from '../actors/channel/directory.ts';
import type { PrivateChannelShell } from '../actors/channel/private.shell.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import type { Tap } from '../actors/runtime/aggregate.ts';
import type { Registry } from '../actors/runtime/registry.ts';
import { inTurns } from '../actors/runtime/turns.ts';
import type { GatewaySessions } from '../actors/session/sessions.ts';
import { carrierOf } from '../actors/social/writing.ts';
import type { Users } from '../actors/user/users.ts';
import type { Authority } from '../engine/authority.ts';
import { type PrivateChannelState, type PrivateCommands, privateRules } from '../engine/channel/private.ts';
import { directRecipients } from '../engine/fanout/audience.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import type { Reply } from '../engine/outcome.ts';
import type { Application, PrivateChannel } from '../engine/user/facts.ts';
import {
  type ApplicationId,
  type ChannelId,
  compareIds,
  type MessageId,
  type UserId,
} from '../protocol/ids.ts';
import { refusal } from '../protocol/refusal.ts';
import type { Blobs } from '../storage/blobs.ts';
import type { Commit, Storage } from '../storage/ports.ts';
import type { Services } from '../transports/rest/services.ts';
import { privateCommands } from './places.ts';
import type { Parts } from './site.ts';

export interface ServicePorts
  extends Pick<Services, 'authenticate' | 'nextId' | 'nowMs' | 'randomBytes' | 'gateway'>,
    Parts {
  readonly storage: Storage;
  readonly blobs: Blobs;
  readonly guilds: Guilds;
  readonly users: Users;
  readonly channels: ChannelDirectory;
  readonly privateChannels: Registry<PrivateChannelState, PrivateChannelShell>;
  commit(ownerId: string, facts: Commit['facts']): Promise<void>;
  /** Flags or name of an application have changed: what is remembered of its bot no longer holds. */
  forget(botId: UserId): void;
  readonly monotonic: () => number;
  readonly hooks: { readonly tap: Tap };
  readonly sessions: Pick<GatewaySessions, 'wantAuthorizeRequests' | 'requestAuthorization'>;
}

const isPrivateCommand = (type: string): type is keyof PrivateCommands =>
  Object.hasOwn(privateRules.decide, type);

/** What a game that carried a message may want to hear of it, whoever does it by whatever route. */
const CHANGES: ReadonlySet<string> = new Set<keyof PrivateCommands>(['updateMessage', 'deleteMessage']);

/** What REST handlers may use, over the actors and stores. */
export function createServices(ports: ServicePorts): Services {
  const { storage, guilds, users } = ports;

  async function privately(
    channelId: ChannelId,
    type: string,
    input: object,
    authority: Authority,
  ): Promise<Reply<never>> {
    if (!isPrivateCommand(type)) {
      // To strangers the channel does not even exist.
      const shown = await privately(channelId, 'getChannel', { channelId }, authority);
      return shown.ok ? { ok: false, refusal: refusal('CANNOT_EXECUTE_ON_DM') } : shown;
    }
    const { messageId } = input as { readonly messageId?: MessageId };
    const carried = messageId && CHANGES.has(type) ? await carrierOf(channelId, messageId, storage) : {};
    const whole = { ...input, ...carried };
    return new Promise((resolve, reject) => {
      ports.privateChannels.workWith(channelId, (shell) =>
        shell.command(type, whole as never, authority, resolve as never, reject),
      );
    });
  }

  const inCall = privateCommands(ports.privateChannels);
  return {
    authenticate: ports.authenticate,
    calls: {
      ring: (channelId, userIds, authority) => inCall(channelId, 'ringCall', { userIds }, authority),
      stopRinging: (channelId, userIds, authority) =>
        inCall(channelId, 'stopRinging', { userIds }, authority),
    },
    guilds: { call: (guildId, type, input, authority) => guilds.call(guildId, type, input, authority) },
    channels: {
      async call(channelId, type, input, authority) {
        const owner = await ports.channels.owner(channelId);
        if (!owner) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
        const whole = { ...input, channelId } as never;
        if ('private' in owner) return privately(channelId, type, whole, authority);
        return guilds.call(owner.guildId, type, whole, { ...authority, channelId });
      },
    },
    users: {
      updateUser: (userId, change) => users.update(userId, change),
      openPrivateChannel: privateChannelOpener(ports),
    },
    applications: { update: applicationUpdater(ports) },
    authorizeRequests: {
      want: (caller, sessionId, wanted) => ports.sessions.wantAuthorizeRequests(caller, sessionId, wanted),
      ask: (userId, applicationId, requestId) =>
        ports.sessions.requestAuthorization(userId, applicationId, requestId),
    },
    oauth: ports.oauth,
    accounts: ports.accounts,
    provisional: ports.provisional,
    lobbies: ports.lobbies,
    matchmaking: ports.matchmaking,
    social: ports.social,
    read: storage,
    blobs: ports.blobs,
    nextId: ports.nextId,
    nowMs: ports.nowMs,
    randomBytes: ports.randomBytes,
    gateway: ports.gateway,
  };
}

/** Changes applications, one after the other. */
export function applicationUpdater({
  storage,
  commit,
  forget,
}: Pick<ServicePorts, 'storage' | 'commit' | 'forget'>): Services['applications']['update'] {
  const inTurn = inTurns<ApplicationId>();
  return (id, change) =>
    inTurn(id, async () => {
      const application = await storage.applications.get(id);
      if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const next: Application = { ...application, ...change };
      await commit(id, [{ type: 'applicationUpdated', application: next }]);
      if (next.bot_id) forget(next.bot_id);
      return { ok: true, value: next };
    });
}

/** Opens the channel between two users, once however many ask at the same time. */
function privateChannelOpener(ports: ServicePorts): Services['users']['openPrivateChannel'] {
  const { storage, users } = ports;
  const inTurn = inTurns<string>();
  return (a, b) => {
    const recipientIds = [a, b].sort(compareIds) as [UserId, UserId];
    return inTurn(recipientIds.join(), async (): Promise<Reply<PrivateChannel>> => {
      const known = await storage.privateChannels.between(a, b);
      if (known) return { ok: true, value: known };
      const recipients = await storage.users.get(recipientIds);
      if (recipients.length < 2) return { ok: false, refusal: refusal('UNKNOWN_USER') };
      const id = ports.nextId() as ChannelId;
      const channel: PrivateChannel = { id, type: 1, recipientIds, last_message_id: null, last_pin_ms: null };
      await ports.commit(id, [{ type: 'privateChannelOpened', channel }]);
      const state = {
        channel,
        recipients: new Map(recipients.map((user) => [user.id as UserId, user])),
        messages: new Map(),
        nonces: new Map(),
        call: null,
      };
      for (const { t, d, to } of privateRules.dispatches.privateChannelOpened(state, { channel })) {
        const body = new DispatchBody(t, d, ports.monotonic());
        ports.hooks.tap.see(t, d, id);
        if (to.kind !== 'users') continue;
        const sessions = to.userIds.flatMap((userId) => users.listeners(userId));
        for (const session of directRecipients(sessions, t)) session.deliver(body);
      }
      return { ok: true, value: channel };
    });
  };
}
