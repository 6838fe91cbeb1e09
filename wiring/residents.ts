import type { Seats } from '../actors/call/ports.ts';
import { ChannelDirectory } from '../actors/channel/directory.ts';
import { guildMachine } from '../actors/guild/guild.machine.ts';
import { type GuildListener, GuildShell } from '../actors/guild/guild.shell.ts';
import { Guilds } from '../actors/guild/guilds.ts';
import { privateChannelMachine } from '../actors/privatechannel/privatechannel.machine.ts';
import {
  type PrivateChannelPorts,
  PrivateChannelShell,
} from '../actors/privatechannel/privatechannel.shell.ts';
import type { AggregatePorts } from '../actors/runtime/aggregate.ports.ts';
import { Registry } from '../actors/runtime/registry.ts';
import type { Signing } from '../actors/runtime/signing.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import type { TimerWheel } from '../actors/runtime/wheel.ts';
import { userMachine } from '../actors/user/user.machine.ts';
import { type UserListener, UserShell, type UserState } from '../actors/user/user.shell.ts';
import { Users } from '../actors/user/users.ts';
import type { Config } from '../config/config.ts';
import type { Guild } from '../engine/guild/guild.ts';
import type { PrivateChannelState } from '../engine/privatechannel/rules.ts';
import type { Storage } from '../storage/ports.ts';
import type { Cluster } from './cluster.ts';

interface ResidentPorts {
  readonly config: Config;
  readonly storage: Storage;
  readonly aggregate: AggregatePorts & Signing;
  readonly wheel: TimerWheel;
  readonly supervisor: Supervisor;
  readonly cluster: Cluster;
  readonly guildListener: GuildListener;
  readonly userListener: UserListener;
  /** Sessions of a user that take what has no guild, or the way to them. */
  readonly listeners: PrivateChannelPorts['listeners'];
  /** Hears where people are in the calls of private channels. */
  readonly seats: () => Seats;
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
    messages: storage.messages,
    users: storage.users,
    windows: { members: config.guild_member_window_max, messages: config.guild_message_window_max },
    wheel,
    listener: ports.guildListener,
  };
  const guildRegistry = new Registry<Guild, GuildShell>({
    ...common('guild', config.guild_idle_ms),
    machine: guildMachine,
    makeShell: (id, send) => new GuildShell(id, guildPorts, send),
  });

  const userPorts = { ...aggregate, users: storage.users, userListener: ports.userListener };
  const userRegistry = new Registry<UserState, UserShell>({
    ...common('user', config.user_idle_ms),
    machine: userMachine,
    makeShell: (id, send) => new UserShell(id, userPorts, send),
  });
  const users = new Users(
    userRegistry,
    ports.cluster,
    (session) => ports.userListener.displacedSession(session),
    storage.users,
  );

  const privatePorts = {
    ...aggregate,
    privateChannels: storage.privateChannels,
    users: storage.users,
    messages: storage.messages,
    relationships: storage.relationships,
    contactPolicy: config.direct_messages_from,
    messageWindowMax: config.guild_message_window_max,
    listeners: ports.listeners,
    wheel,
    seats: ports.seats,
  };
  const privateChannels = new Registry<PrivateChannelState, PrivateChannelShell>({
    ...common('private channel', config.user_idle_ms),
    machine: privateChannelMachine,
    makeShell: (id, send) => new PrivateChannelShell(id, privatePorts, send),
  });

  const registries = { guild: guildRegistry, user: userRegistry, privateChannel: privateChannels };
  ports.cluster.tenants.set('guild', guildRegistry);
  ports.cluster.tenants.set('user', userRegistry);
  ports.cluster.tenants.set('private_channel', privateChannels);
  return {
    guilds: new Guilds(guildRegistry, ports.cluster),
    users,
    privateChannels,
    channels: new ChannelDirectory(storage.directory),
    registries,
  };
}
