import type { Guilds } from '../../actors/guild/guilds.ts';
import type { GuildChannel } from '../../engine/guild/guild.ts';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { PrivateChannelObject } from '../../engine/privatechannel/objects.ts';
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

/** Guild commands whose input names a channel. Private channels have some of them, under the same names. */
type ChannelCommand = {
  [K in keyof GuildCommands]: Input<K> extends { readonly channelId: ChannelId } ? K : never;
}[keyof GuildCommands];
type PrivateCommand = ChannelCommand & keyof PrivateCommands;
type Input<K extends keyof GuildCommands> = GuildCommands[K]['input'];
type Value<K extends ChannelCommand> =
  | GuildCommands[K]['value']
  | (K extends PrivateCommand ? PrivateCommands[K]['value'] : never);

/**
 * Sends a command to the owner of the channel: its guild, or the private channel. A command that private channels do not
 * have is refused with 50003; an unknown channel with 10003.
 */
export type ChannelCall = <K extends ChannelCommand>(
  channelId: ChannelId,
  type: K,
  input: Omit<Input<K>, 'channelId'>,
  authority: Authority,
) => Promise<Reply<Value<K>>>;

const isPrivateCommand = (type: ChannelCommand): type is PrivateCommand =>
  Object.hasOwn(privateRules.commands, type);

/** Sends a command to the owner of a channel: its guild, or the private channel. */
export function channelCalls(ports: ChannelPorts): ChannelCall {
  const { storage, guilds, inPrivate } = ports;

  async function privately<K extends PrivateCommand>(
    channelId: ChannelId,
    type: K,
    input: PrivateCommands[K]['input'] & { readonly messageId?: MessageId },
    authority: Authority,
  ): Promise<Reply<PrivateCommands[K]['value']>> {
    const { messageId } = input;
    const { notifiesGame = false } = privateRules.commands[type];
    const carried = messageId && notifiesGame ? await carrierApplication(channelId, messageId, storage) : {};
    return inPrivate(channelId, type, { ...input, ...carried }, authority);
  }

  /** Strangers must not learn that the channel exists. */
  async function refusePrivately(channelId: ChannelId, authority: Authority): Promise<Reply<never>> {
    const shown = await privately(channelId, 'getChannel', { channelId }, authority);
    return shown.ok ? { ok: false, refusal: refusal('CANNOT_EXECUTE_ON_DM') } : shown;
  }

  return async (channelId, type, input, authority) => {
    const owner = await ports.channels.owner(channelId);
    if (!owner) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
    const fullInput = { ...input, channelId } as Input<typeof type>;
    if ('private' in owner)
      return isPrivateCommand(type)
        ? privately(channelId, type, fullInput as PrivateCommands[typeof type]['input'], authority)
        : refusePrivately(channelId, authority);
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
    ): Promise<Reply<Pick<GuildChannel, 'linked_lobby'> | PrivateChannelObject>>;
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
    const link = 'linked_lobby' in channel.value ? channel.value.linked_lobby : null;
    if (!link?.require_application_authorization) return null;
    const granted = await oauth.granted(userId, link.application_id);
    return granted === null ? refusal('MISSING_PERMISSIONS') : null;
  };
