import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import type { InPrivate, PrivateChannels } from './privatechannels.ts';

interface PairPorts {
  readonly storage: Pick<Storage, 'privateChannels' | 'users'>;
  readonly privates: Pick<PrivateChannels, 'relationsChanged'>;
  readonly inPrivate: InPrivate;
}

/** Most private channels that move from one account to another. */
const MOVED_CHANNELS_MAX = 10_000;

/** Updates private channels after a changed relationship or a merge of two accounts. */
export function channelsOfPairs({ storage, privates, inPrivate }: PairPorts) {
  const { users, privateChannels } = storage;
  return {
    /** A resident private channel reads the relations of its users again; any other reads them when it is loaded. */
    async relationsChanged(a: UserId, b: UserId): Promise<void> {
      const channel = await privateChannels.between(a, b);
      if (channel) await privates.relationsChanged(channel.id);
    },

    /** Where `to` already has a channel with the same user, the older channel stays with `from`. */
    async move(from: UserId, to: UserId): Promise<void> {
      const [user] = await users.get([to]);
      if (!user) return;
      for (const { id, recipientIds, group } of await privateChannels.of(from, MOVED_CHANNELS_MAX)) {
        const peerId = recipientIds.find((recipientId) => recipientId !== from);
        const isTaken = peerId === to || (peerId && (await privateChannels.between(to, peerId)));
        if (!group && (!peerId || isTaken)) continue;
        await inPrivate(id, 'replaceRecipient', { from, user }, SYSTEM);
        await privates.relationsChanged(id);
      }
    },
  };
}
