import type { Guilds } from '../../actors/guild/guilds.ts';
import type { GuildChannel } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import { type PrivateCommands, privateRules } from '../../engine/privatechannel/rules.ts';
import type { ChannelId, GuildId, MessageId } from '../../protocol/ids.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { DirectoryStore, Storage } from '../../storage/ports.ts';
import type { OAuth } from '../oauth/ports.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';
import { carrierApplication } from '../social/messagerules.ts';

interface ChannelPorts {
  readonly storage: Storage;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly channels: Pick<ChannelDirectory, 'owner'>;
  readonly inPrivate: InPrivate;
}

type ChannelCall = (
  channelId: ChannelId,
  type: never,
  input: object,
  authority: Authority,
) => Promise<Reply<never>>;

const isPrivateCommand = (type: string): type is keyof PrivateCommands =>
  Object.hasOwn(privateRules.commands, type);

/** Commands that notify the game that sent the changed message, by any user and route. */
const CHANGES: ReadonlySet<string> = new Set<keyof PrivateCommands>(['updateMessage', 'deleteMessage']);

/** Sends a command to the owner of a channel: its guild, or the private channel. */
export function channelCalls(ports: ChannelPorts): ChannelCall {
  const { storage, guilds, inPrivate } = ports;

  async function privately(
    channelId: ChannelId,
    type: string,
    input: object,
    authority: Authority,
  ): Promise<Reply<never>> {
    if (!isPrivateCommand(type)) {
      // Strangers must not learn that the channel exists.
      const shown = await privately(channelId, 'getChannel', { channelId }, authority);
      return shown.ok ? { ok: false, refusal: refusal('CANNOT_EXECUTE_ON_DM') } : shown;
    }
    const { messageId } = input as { readonly messageId?: MessageId };
    const carried =
      messageId && CHANGES.has(type) ? await carrierApplication(channelId, messageId, storage) : {};
    const fullInput = { ...input, ...carried };
    return inPrivate(channelId, type, fullInput, authority) as Promise<Reply<never>>;
  }

  return async (channelId, type, input, authority) => {
    const owner = await ports.channels.owner(channelId);
    if (!owner) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
    const fullInput = { ...input, channelId } as never;
    if ('private' in owner) return privately(channelId, type, fullInput, authority);
    return guilds.call(owner.guildId, type, fullInput, { ...authority, channelId });
  };
}

type ChannelOwner = { readonly guildId: GuildId } | { readonly private: true };

const REMEMBERED_MAX = 100_000;

/**
 * Looks up which aggregate owns a channel. A channel never changes its owner, so results are cached: up to 100,000
 * channels, evicting the least recently used first. Unknown ids are not cached.
 */
export class ChannelDirectory {
  readonly #store: Pick<DirectoryStore, 'channelOwner'>;
  readonly #known = new Map<ChannelId, ChannelOwner>();

  constructor(store: Pick<DirectoryStore, 'channelOwner'>) {
    this.#store = store;
  }

  /** The owner if it is cached, else a promise that reads it. Null when the channel does not exist. */
  owner(channelId: ChannelId): ChannelOwner | Promise<ChannelOwner | null> {
    const known = this.#known.get(channelId);
    if (!known) return this.#read(channelId);
    this.#known.delete(channelId);
    this.#known.set(channelId, known);
    return known;
  }

  async #read(channelId: ChannelId): Promise<ChannelOwner | null> {
    const owner = await this.#store.channelOwner(channelId);
    if (!owner) return null;
    this.#known.set(channelId, owner);
    dropOldest(this.#known, REMEMBERED_MAX);
    return owner;
  }
}

interface LinkedLobbyPorts {
  readonly channels: {
    call(
      channelId: ChannelId,
      type: 'getChannel',
      input: object,
      authority: Authority,
    ): Promise<Reply<Pick<GuildChannel, 'linked_lobby'>>>;
  };
  readonly oauth: Pick<OAuth, 'granted'>;
}

/**
 * Why an author may not write in a channel that is linked to a lobby: the lobby may require that authors have authorized its
 * application. Null when writing is allowed. Bots cannot authorize applications and are exempt.
 *
 * @source https://docs.discord.food/resources/lobby#lobby-flags
 */
export type LinkRefusal = (channelId: ChannelId, authority: Authority) => Promise<Refusal | null>;

export const createLinkRefusal =
  ({ channels, oauth }: LinkedLobbyPorts): LinkRefusal =>
  async (channelId, authority) => {
    const { bot, userId } = authority.by;
    if (bot) return null;
    const channel = await channels.call(channelId, 'getChannel', {}, authority);
    // The message command itself checks whether the channel exists and the author may write in it.
    if (!channel.ok) return null;
    const link = channel.value.linked_lobby;
    if (!link?.require_application_authorization) return null;
    const granted = await oauth.granted(userId, link.application_id);
    return granted === null ? refusal('MISSING_PERMISSIONS') : null;
  };
