import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { GuildChannel, LinkedLobby } from '../../engine/guild/guild.ts';
import type { LinkUpdate } from '../../engine/guild/lobbylinks.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import { LOBBY_FLAGS, type LobbyLink, type LobbyMessage } from '../../engine/lobby/lobby.ts';
import type { LobbyObject } from '../../engine/lobby/objects.ts';
import type { Application } from '../../engine/user/facts.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { ApplicationId, ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { splitInvites } from '../../protocol/invites.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { GuildStore } from '../../storage/guild/port.ts';
import type { LobbyStore } from '../../storage/lobby/port.ts';
import type { ChannelDirectory } from '../channels/channels.ts';
import type { LobbyOperations } from './ports.ts';

interface LinkPorts {
  readonly call: LobbyOperations['call'];
  readonly lobbies: Pick<LobbyStore, 'linkedTo'>;
  readonly guilds: Guilds;
  readonly channels: ChannelDirectory;
  readonly invites: Pick<GuildStore, 'invites'>;
  readonly inviteCode: () => string;
  readonly application: (id: ApplicationId) => Promise<Application | null>;
  readonly clock: Clock;
  readonly routing: Routing;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Permissions in the channel that linking requires. */
const LINK_PERMISSIONS = P.MANAGE_CHANNELS | P.VIEW_CHANNEL | P.SEND_MESSAGES;

const UNKNOWN_CHANNEL_CODES: ReadonlySet<number> = new Set([
  refusal('UNKNOWN_CHANNEL').code,
  refusal('UNKNOWN_GUILD').code,
]);

const requiresAuthorization = ({ flags }: Pick<LobbyObject, 'flags'>): boolean =>
  (flags & LOBBY_FLAGS.REQUIRE_APPLICATION_AUTHORIZATION) !== 0;

/**
 * Links lobbies to channels. Lobby and guild each store one half of a link; the guild's half is written first and its
 * channel names the lobby. A half without the other, left by a crash, is removed at the next message or attempt to link.
 */
export class Links {
  readonly #ports: LinkPorts;
  readonly #mutex = keyedMutex<string>();
  /** Copies of messages that are being written to channels, by lobby. */
  readonly #copies = new Map<ChannelId, Set<Promise<unknown>>>();

  readonly #owners;

  constructor(ports: LinkPorts) {
    this.#ports = ports;
    const { ask } = ports.routing;
    this.#owners = {
      link: ask('lobbyLinks.link', (lobbyId: ChannelId, channelId: ChannelId | null, authority: Authority) =>
        this.#linkExclusively(lobbyId, channelId, authority),
      ),
      refresh: ask('lobbyLinks.refresh', (lobbyId: ChannelId) => this.#refresh(lobbyId)),
      /** The lobby that a channel of the guild is linked to, or null. */
      named: ask(
        'lobbyLinks.named',
        async (guildId: GuildId, channelId: ChannelId): Promise<ChannelId | null> => {
          const link = await ports.guilds.look(
            guildId,
            (guild) => guild.channels.get(channelId)?.linked_lobby,
          );
          // Without an answer nothing is known of the channel.
          if (link && 'refusal' in link && link.refusal.status >= 500)
            throw new NotServed(`The guild is overloaded: ${link.refusal.message}`);
          return link && 'lobby_id' in link ? link.lobby_id : null;
        },
      ),
    };
  }

  link(lobbyId: ChannelId, channelId: ChannelId | null, authority: Authority): Promise<Reply<LobbyObject>> {
    return this.#owners.link(lobbyId, channelId, authority);
  }

  #linkExclusively(
    lobbyId: ChannelId,
    channelId: ChannelId | null,
    authority: Authority,
  ): Promise<Reply<LobbyObject>> {
    return this.#mutex(lobbyId, async () => {
      const { call } = this.#ports;
      const linking = channelId !== null;
      const may = await call(lobbyId, 'authorizeLink', { linking }, authority);
      if (!may.ok) return may;
      const before = may.value;
      const asItIs = () => call(lobbyId, 'getLobby', {}, authority);
      if (channelId === null) return before ? this.#unlink(lobbyId, before) : asItIs();
      if (before?.channel.id === channelId) {
        if (await this.#isNamed(lobbyId, before)) return asItIs();
        await this.#unlink(lobbyId, before);
        return this.#link(lobbyId, channelId, null, authority);
      }
      return this.#link(lobbyId, channelId, before, authority);
    });
  }

  async #link(
    lobbyId: ChannelId,
    channelId: ChannelId,
    before: LobbyLink | null,
    authority: Authority,
  ): Promise<Reply<LobbyObject>> {
    const { call, channels, guilds, clock } = this.#ports;
    const owner = await channels.owner(channelId);
    if (!owner) return refused(refusal('UNKNOWN_CHANNEL'));
    if ('private' in owner) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
    const { guildId } = owner;
    const lobby = await call(lobbyId, 'getLobby', {}, authority);
    if (!lobby.ok) return lobby;
    const link: LinkedLobby = {
      application_id: lobby.value.application_id,
      lobby_id: lobbyId,
      linked_by: authority.by.userId,
      linked_at: isoTimestamp(clock.now()),
      require_application_authorization: requiresAuthorization(lobby.value),
    };
    const stale = await this.#staleLink(guildId, channelId);
    const demanded = { ...authority, channelId, requires: LINK_PERMISSIONS };
    const agreed = await guilds.call(guildId, 'linkChannel', { channelId, link, stale }, demanded);
    if (!agreed.ok) return agreed;
    if (before) await this.#unlink(lobbyId, before);
    const { linked_by, linked_at } = link;
    const half: LobbyLink = { guild_id: guildId, channel: agreed.value, linked_by, linked_at };
    const linked = await call(lobbyId, 'linkLobby', { link: half }, SYSTEM);
    if (!linked.ok) {
      await this.#free(guildId, channelId, lobbyId);
      return linked;
    }
    // The channel was unlinked, deleted or linked to another lobby before this lobby's half was stored.
    if (await this.#isNamed(lobbyId, half)) return linked;
    await this.#unlink(lobbyId, half);
    return refused(refusal('CONFLICT'));
  }

  /** Whether the channel of the lobby's half names the lobby. @throws NotServed when its guild does not answer. */
  async #isNamed(lobbyId: ChannelId, { guild_id, channel }: LobbyLink): Promise<boolean> {
    return (await this.#owners.named(guild_id, channel.id)) === lobbyId;
  }

  /** Updates the copy of the lobby's settings in its channel, and unlinks a lobby whose channel does not name it. */
  refresh(lobbyId: ChannelId): Promise<void> {
    return this.#owners.refresh(lobbyId);
  }

  #refresh(lobbyId: ChannelId): Promise<void> {
    return this.#mutex(lobbyId, async () => {
      const lobby = await this.#ports.call(lobbyId, 'getLobby', {}, SYSTEM);
      const channel = lobby.ok ? (lobby.value.linked_channel as GuildChannel | undefined) : undefined;
      if (!lobby.ok || !channel) return;
      if ((await this.#owners.named(channel.guild_id, channel.id)) !== lobbyId) {
        await this.#ports.call(lobbyId, 'unlinkLobby', { channelId: channel.id }, SYSTEM);
        return;
      }
      const link = channel.linked_lobby;
      if (!link) return;
      const next = { ...link, require_application_authorization: requiresAuthorization(lobby.value) };
      if (link.require_application_authorization === next.require_application_authorization) return;
      const input = {
        channelId: channel.id,
        link: next,
        stale: null,
      };
      await this.#ports.guilds.call(channel.guild_id, 'linkChannel', input, SYSTEM);
    });
  }

  /** The lobby that a channel names although that lobby is not linked to it. */
  async #staleLink(guildId: GuildId, channelId: ChannelId): Promise<ChannelId | null> {
    const named = await this.#owners.named(guildId, channelId);
    return named === null || (await this.#ports.lobbies.linkedTo(channelId)) === named ? null : named;
  }

  async #unlink(lobbyId: ChannelId, link: LobbyLink): Promise<Reply<LobbyObject>> {
    const channelId = link.channel.id;
    const reply = await this.#ports.call(lobbyId, 'unlinkLobby', { channelId }, SYSTEM);
    await this.#free(link.guild_id, channelId, lobbyId);
    return reply;
  }

  /**
   * Removes the guild's half of the link if it belongs to this lobby. It waits for the lobby's earlier messages, whose calls
   * it could overtake while they wait for rows or for the guild's next owner; each ends by the deadline of its call.
   */
  async #free(guildId: GuildId, channelId: ChannelId, lobbyId: ChannelId): Promise<unknown> {
    await Promise.allSettled(this.#copies.get(lobbyId) ?? []);
    return this.#ports.guilds.call(guildId, 'unlinkChannel', { channelId, lobbyId }, SYSTEM);
  }

  async unlinkChannel(channelId: ChannelId, authority: Authority): Promise<Reply<object>> {
    const { channels, guilds, lobbies } = this.#ports;
    const owner = await channels.owner(channelId);
    if (!owner || 'private' in owner) return refused(refusal('UNKNOWN_CHANNEL'));
    const demanded = { ...authority, channelId };
    const freed = await guilds.call(owner.guildId, 'unlinkChannel', { channelId, lobbyId: null }, demanded);
    if (!freed.ok) return freed;
    // Another lobby may have been linked to the channel since; it stays linked.
    const lobbyId = await lobbies.linkedTo(channelId);
    if (lobbyId) await this.refresh(lobbyId);
    return freed;
  }

  /** Creates an invite to the linked channel for one user, usable once within an hour, on behalf of the server. */
  async invite(
    lobbyId: ChannelId,
    userId: UserId,
    authority: Authority,
  ): Promise<Reply<{ readonly code: string }>> {
    const { call, guilds, invites, inviteCode, clock } = this.#ports;
    const may = await call(lobbyId, 'authorizeInvite', { userId }, authority);
    if (!may.ok) return may;
    const { guildId, channelId } = may.value;
    const { live, expired } = splitInvites(await invites.invites(guildId, null, 0), clock.now());
    const code = inviteCode();
    const input = {
      ...{ channelId, code, temporary: false, roleIds: [], reuse: null, maxUses: 1 },
      maxAgeSec: LIMITS.lobby_invite_age_sec,
      targetUserIds: [userId],
      inviteCount: live.length,
      expired,
    };
    const made = await guilds.call(guildId, 'createInvite', input, SYSTEM);
    return made.ok ? { ok: true, value: { code } } : made;
  }

  /** Copies a lobby's message to its channel. A refusal by the channel is not reported to the sender. */
  said(lobbyId: ChannelId, link: LobbyLink, message: LobbyMessage): void {
    const { guilds, onFault } = this.#ports;
    const channelId = link.channel.id;
    const { author, content, flags } = message;
    const additionalName = message.lobby_member?.additional_name ?? null;
    const input = { channelId, lobbyId, author, content, flags, additionalName };
    const copy = guilds.call(link.guild_id, 'writeFromLobby', input, SYSTEM);
    this.#track(lobbyId, copy);
    copy
      .then((reply) =>
        !reply.ok && UNKNOWN_CHANNEL_CODES.has(reply.refusal.code) ? this.#unlink(lobbyId, link) : undefined,
      )
      .catch((fault) => onFault(fault, lobbyId));
  }

  #track(lobbyId: ChannelId, copy: Promise<unknown>): void {
    const copies = this.#copies.get(lobbyId) ?? new Set();
    this.#copies.set(lobbyId, copies.add(copy));
    const end = (): void => {
      copies.delete(copy);
      if (copies.size === 0) this.#copies.delete(lobbyId);
    };
    copy.then(end, end);
  }

  /** Copies news of a linked channel to its lobby. */
  news({ lobbyId, applicationId, guildId, channelId, news }: LinkUpdate): void {
    const { onFault } = this.#ports;
    const publish = async (): Promise<unknown> => {
      const { call, application } = this.#ports;
      if (news.kind === 'gone') return call(lobbyId, 'unlinkLobby', { channelId }, SYSTEM);
      if (news.kind === 'changed')
        return call(lobbyId, 'linkedChannelChanged', { channel: news.channel }, SYSTEM);
      const input = { guildId, channelId, news, application: await application(applicationId) };
      const shown = await call(lobbyId, 'showChannelMessage', input, SYSTEM);
      const unknown = !shown.ok && shown.refusal.code === refusal('UNKNOWN_LOBBY').code;
      return (shown.ok && !shown.value) || unknown ? this.#free(guildId, channelId, lobbyId) : null;
    };
    this.#mutex(`news ${lobbyId}`, publish).catch((fault) => onFault(fault, lobbyId));
  }

  /** The lobby was deleted: unlinks its channel. */
  deleted(lobbyId: ChannelId, link: LobbyLink): void {
    const { onFault } = this.#ports;
    this.#free(link.guild_id, link.channel.id, lobbyId).catch((fault) => onFault(fault, lobbyId));
  }
}
