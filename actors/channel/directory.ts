import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import type { DirectoryStore } from '../../storage/ports.ts';

type ChannelOwner = { readonly guildId: GuildId } | { readonly private: true };

const REMEMBERED_MAX = 100_000;

/**
 * Which aggregate owns a channel. A channel never changes hands, so what was once read is remembered, up to
 * 100,000 channels, the longest unused forgotten first; unknown ids are not remembered.
 */
export class ChannelDirectory {
  readonly #store: Pick<DirectoryStore, 'channelOwner'>;
  readonly #known = new Map<ChannelId, ChannelOwner>();

  constructor(store: Pick<DirectoryStore, 'channelOwner'>) {
    this.#store = store;
  }

  /** The owner when it is remembered, a promise when it must be read; null when there is no such channel. */
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
    if (this.#known.size > REMEMBERED_MAX) {
      const [oldest] = this.#known.keys();
      this.#known.delete(oldest as ChannelId);
    }
    return owner;
  }
}
