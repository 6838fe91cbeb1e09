import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import type { InPrivate, PrivateChannels } from './privatechannels.ts';

interface PairPorts {
  readonly storage: Pick<Storage, 'privateChannels' | 'users'>;
  readonly privates: Pick<PrivateChannels, 'relationsChanged'>;
  readonly inPrivate: InPrivate;
}

/** Private channels of one account that move to another at most. */
const MOVED_CHANNELS_MAX = 10_000;

/** What a changed relationship, or the merge of two accounts, does to the private channels of the people. */
export function channelsOfPairs({ storage, privates, inPrivate }: PairPorts) {
  const { users, privateChannels } = storage;
  return {
    /** A private channel that is at hand reads anew what the two are to each other; any other does when it is loaded. */
    async relationsChanged(a: UserId, b: UserId): Promise<void> {
      const channel = await privateChannels.between(a, b);
      if (channel) await privates.relationsChanged(channel.id);
    },

    /** Where `to` writes to the same person already, the older channel stays where it was. */
    async move(from: UserId, to: UserId): Promise<void> {
      const [user] = await users.get([to]);
      if (!user) return;
      for (const { id, recipientIds } of await privateChannels.of(from, MOVED_CHANNELS_MAX)) {
        const peerId = recipientIds.find((recipientId) => recipientId !== from);
        if (!peerId || peerId === to || (await privateChannels.between(to, peerId))) continue;
        await inPrivate(id, 'replaceRecipient', { from, user }, SYSTEM);
        await privates.relationsChanged(id);
      }
    },
  };
}
