import type { VoiceListener } from '../actors/call/ports.ts';
import type { DirectDelivery } from '../actors/cluster/delivery/direct.ts';
import type { Membership } from '../actors/cluster/delivery/membership.ts';
import { createNotifier, type NotifierPorts } from '../actors/cluster/delivery/notify.ts';
import { committing, committingAsOwner } from '../actors/cluster/membership/commits.ts';
import type { Cluster } from '../actors/cluster/shard.ts';
import { guildMachine } from '../actors/guild/guild.machine.ts';
import type { GuildListener } from '../actors/guild/guild.notifications.ts';
import { GuildShell, type KeptSessions } from '../actors/guild/guild.shell.ts';
import { Guilds } from '../actors/guild/guilds.ts';
import type { Routing } from '../actors/placement/routing.ts';
import { CallLoading } from '../actors/privatechannel/callloading.ts';
import { privateChannelMachine } from '../actors/privatechannel/privatechannel.machine.ts';
import {
  type PrivateChannelPorts,
  PrivateChannelShell,
} from '../actors/privatechannel/privatechannel.shell.ts';
import type { AggregatePorts, Signing } from '../actors/runtime/aggregate.ports.ts';
import { KeptStates } from '../actors/runtime/keptstates.ts';
import { Registry } from '../actors/runtime/registry.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import type { TimerWheel, Wheel } from '../actors/runtime/wheel.ts';
import type { CommitAndNotify, CommitNotifier, Notifier } from '../actors/user/notifier.ts';
import { userMachine } from '../actors/user/user.machine.ts';
import { type UserListener, UserShell } from '../actors/user/user.shell.ts';
import { Users } from '../actors/user/users.ts';
import { contractMsOf } from '../config/choices.ts';
import type { Config } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import type { Guild } from '../engine/guild/guild.ts';
import type { PrivateChannelState } from '../engine/privatechannel/rules.ts';
import { type PrivateCommands, privateRules } from '../engine/privatechannel/rules.ts';
import type { UserAccount } from '../engine/user/user.ts';
import { type ChannelId, isChannelId, isGuildId } from '../protocol/ids.ts';
import { ChannelDirectory } from '../services/channels/channels.ts';
import {
  createPrivateChannels,
  PRIVATE_ROUTES,
  type PrivateChannels,
  type PrivatePorts,
} from '../services/privatechannels/privatechannels.ts';
import type { ClusterStore } from '../storage/cluster/port.ts';
import type { Storage, Writer } from '../storage/ports.ts';
import { createHooks } from '../transports/rest/hooks.ts';
import type { Foundation } from './foundation.ts';

interface OwnerPorts {
  readonly storage: Storage;
  readonly cluster: Cluster;
  readonly supervisor: Supervisor;
  readonly membership: Membership;
  readonly voiceListener: () => VoiceListener;
  readonly sign?: Signing['sign'];
}

/** The owning actors, their writer, and the routes to actors of other shards. */
export function createOwners(foundation: Foundation, ports: OwnerPorts) {
  const { config, lifetime, clock, wheel, nextId, logger, onFault } = foundation;
  const { storage, cluster, supervisor, membership, voiceListener, sign } = ports;
  const hooks = createHooks({
    guildOf: (ownerId) => (isGuildId(ownerId) && residents.registries.guild.peek(ownerId) ? ownerId : null),
    nearest,
    onBug: (error) => onFault(error, 'listener'),
  });
  const { ownership } = cluster;
  const writer = cluster.parts.writer(storage.writer, ownership, (error) => onFault(error, 'commit'));
  const aggregateOwnership = cluster.parts.aggregateOwnership(foundation, storage.cluster, ownership);
  const aggregate = {
    ...{ writer, ownership: aggregateOwnership, clock, nextId, tap: hooks.tap },
    rulesMs: contractMsOf(config),
    ...(sign && { sign }),
  };
  const residents = createResidents({
    ...{ supervisor, cluster, config, storage, lifetime, wheel, aggregate, voiceListener, onFault },
    guildListener: membership,
    userListener: membership,
    listeners: (userId) => access.notifier.listeners(userId),
    keepsSession: (userId, sessionId) => access.notifier.keepsSession(userId, sessionId),
    onBug: (kind, id, error) => logger.error({ err: error, kind, id }, 'A bug ended an actor.'),
  });
  const commit = committing(writer, ownership, clock);
  const access = createOwnerAccess({
    ...{ ...residents, writer, clock, wheel, cluster, storage, hooks, nextId, commit, onFault },
    recordAgeMs: config.record_age_ms,
    contactPolicy: config.direct_messages_from,
  });
  cluster.parts.keepCalls({ ownership, loading: residents.callLoading });
  const commits = { commit, commitAsOwner: committingAsOwner(writer, ownership) };
  const { guild, user, privateChannel } = residents.registries;
  const closeOwners = (): void => {
    guild.close();
    user.close();
    privateChannel.close();
  };
  return { ...residents, ...access, ...commits, hooks, aggregate, closeOwners };
}

export type Owners = ReturnType<typeof createOwners>;

interface ResidentPorts extends Pick<Foundation, 'lifetime' | 'onFault'> {
  readonly config: Config;
  readonly storage: Storage;
  readonly aggregate: AggregatePorts & Signing;
  readonly wheel: TimerWheel;
  readonly supervisor: Supervisor;
  readonly cluster: Cluster;
  readonly guildListener: GuildListener;
  readonly userListener: UserListener;
  /** A user's sessions that receive dispatches without a guild, or a route to them. */
  readonly listeners: PrivateChannelPorts['listeners'];
  readonly keepsSession: PrivateChannelPorts['keepsSession'];
  /** Receives the voice states of calls in private channels. */
  readonly voiceListener: () => VoiceListener;
  readonly onBug: (kind: string, id: string, error: Error) => void;
}

/** The resident actors of this shard. */
export function createResidents(ports: ResidentPorts) {
  const { config, storage, aggregate, wheel } = ports;
  const common = (kind: string, idleMs: number) => ({
    backlogMax: config.guild_backlog_max,
    idleMs,
    supervisor: ports.supervisor,
    clock: aggregate.clock,
    wheel,
    admits: ports.cluster.admits,
    onBug: (id: string, error: Error) => ports.onBug(kind, id, error),
  });

  const guildPorts = {
    ...aggregate,
    guilds: storage.guilds,
    ...{ messages: storage.messages, threads: storage.threads, users: storage.users },
    ...{ webhooks: storage.webhooks, scheduledEvents: storage.scheduledEvents },
    windows: { members: config.guild_member_window_max, messages: config.guild_message_window_max },
    ...{ wheel, kept: new KeptStates<KeptSessions>() },
    listener: ports.guildListener,
  };
  const guildRegistry = new Registry<Guild, GuildShell>({
    ...common('guild', config.guild_idle_ms),
    machine: guildMachine,
    makeShell: (id, send) => new GuildShell(id, guildPorts, send),
  });

  const userPorts = { ...aggregate, users: storage.users, userListener: ports.userListener };
  const userRegistry = new Registry<UserAccount, UserShell>({
    ...common('user', config.user_idle_ms),
    machine: userMachine,
    makeShell: (id, send) => new UserShell(id, userPorts, send),
  });
  const users = new Users(
    userRegistry,
    ports.cluster.routing,
    (session) => ports.userListener.sessionReplaced(session),
    storage.users,
  );

  const callLoading: CallLoading = new CallLoading({
    ...{ registry: () => privateChannels, store: storage.privateChannels, wheel },
    ...{ lifetime: ports.lifetime, onFault: ports.onFault, owns: (id) => ports.cluster.routing.owns(id) },
  });
  const privateChannels = privateChannelsOf(ports, common('private channel', config.user_idle_ms), (id) =>
    callLoading.reload(id),
  );
  const registries = { guild: guildRegistry, user: userRegistry, privateChannel: privateChannels };
  ports.cluster.participants.set('guild', guildRegistry);
  ports.cluster.participants.set('user', userRegistry);
  ports.cluster.participants.set('private_channel', privateChannels);
  return {
    guilds: new Guilds(guildRegistry, ports.cluster.routing),
    users,
    privateChannels,
    callLoading,
    channels: new ChannelDirectory(storage.directory),
    registries,
  };
}

function privateChannelsOf(
  { aggregate, storage, config, wheel, listeners, keepsSession, voiceListener }: ResidentPorts,
  common: Omit<
    ConstructorParameters<typeof Registry<PrivateChannelState, PrivateChannelShell>>[0],
    'machine' | 'makeShell'
  >,
  interrupted: PrivateChannelPorts['interrupted'],
) {
  const { privateChannels, users, messages, relationships } = storage;
  const privatePorts: PrivateChannelPorts = {
    ...{
      ...aggregate,
      privateChannels,
      users,
      messages,
      relationships,
      listeners,
      keepsSession,
      voiceListener,
    },
    contactPolicy: config.direct_messages_from,
    messageWindowMax: config.guild_message_window_max,
    resumeWindowMs: config.resume_window_ms,
    ...{ wheel, interrupted },
  };
  return new Registry<PrivateChannelState, PrivateChannelShell>({
    ...common,
    machine: privateChannelMachine,
    makeShell: (id, send) => new PrivateChannelShell(id, privatePorts, send),
  });
}

/** Access to aggregates and users wherever they are owned. A standalone process owns all of them. */
export interface OwnerAccess {
  readonly routing: Routing;
  readonly notifier: Notifier;
  readonly privates: PrivateChannels;
  readonly commitAndNotify: CommitAndNotify;
  readonly inPrivate: PrivateChannels['call'];
  /** As `inPrivate`, on this shard alone: rejects when another shard owns the channel. */
  readonly inPrivateHere: PrivateChannels['call'];
  readonly openPrivate: PrivateChannels['open'];
  readonly direct: DirectDelivery | null;
}

interface OwnerAccessPorts
  extends Omit<NotifierPorts, 'userDelivery'>,
    Omit<PrivatePorts, 'notifier' | 'ownership' | keyof CommitNotifier> {
  readonly cluster: Cluster;
  readonly writer: Writer;
  readonly storage: PrivatePorts['storage'] & { readonly cluster: ClusterStore };
  readonly recordAgeMs: number;
  readonly wheel: Wheel;
  readonly onFault: (error: unknown, where: string) => void;
}

function createOwnerAccess(ports: OwnerAccessPorts): OwnerAccess {
  const { ownership, routing } = ports.cluster;
  const direct = ports.cluster.parts.directDelivery(ports);
  const notifier = createNotifier({ ...ports, userDelivery: direct?.userDelivery ?? null });
  const commits = ports.cluster.parts.commitNotifier({
    ...{ ...ports, ownership, notifier, store: ports.storage.cluster },
  });
  const here = createPrivateChannels({ ...ports, ...commits, ownership, notifier });
  const inPrivate = routing.command<ChannelId, PrivateCommands>(
    'privateChannel.command',
    privateRules,
    isChannelId,
    here.call,
  );
  const privates: PrivateChannels = { ...routing.service(here, PRIVATE_ROUTES), call: inPrivate };
  const calls = { inPrivate, inPrivateHere: here.call, openPrivate: privates.open };
  return { direct, routing, notifier, privates, commitAndNotify: commits.commitAndNotify, ...calls };
}
