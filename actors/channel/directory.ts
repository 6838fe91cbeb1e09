import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import type { DirectoryStore } from '../../storage/ports.ts';

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
