import type { Account, AccountFact } from '../../engine/account/facts.ts';
import { isKnown, knownAlso } from '../../engine/account/places.ts';
import { deviceOf } from '../../protocol/devices.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { AccountStore } from '../../storage/account/port.ts';
import { type AttemptRequest, networkAt } from './attempts.ts';
import type { Keys } from './keys.ts';
import type { ClientInfo } from './ports.ts';

/** Whether the account knows the client's network or browser. */
type Recognised = Pick<AttemptRequest, 'known' | 'device'>;

/** Recognises networks and browsers that accounts have signed in from. Only keyed digests are stored. */
export interface Recognition {
  recognise(account: Account | null, client: ClientInfo): Promise<Recognised>;
  /** Records the network of a sign-in after the reply was sent. */
  remember(userId: UserId, client: ClientInfo): void;
  /** Facts that store `device` as a known browser, replacing the device name in `client`. */
  deviceKnown(userId: UserId, device: string, client: ClientInfo): Promise<readonly AccountFact[]>;
}

interface RecognitionPorts {
  readonly accounts: Pick<AccountStore, 'get'>;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly AccountFact[]): Promise<void>;
  /** Unix milliseconds. */
  nowMs(): number;
  onFault(error: unknown): void;
}

type KeyedMutex = <T>(key: string, job: () => Promise<T>) => Promise<T>;

export function createRecognition(
  ports: RecognitionPorts,
  keys: () => Promise<Keys>,
  mutex: KeyedMutex,
): Recognition {
  async function networkDigest(userId: UserId, client: ClientInfo): Promise<string | null> {
    const network = networkAt(client);
    return network === null ? null : (await keys()).digest(`network ${userId} ${network}`);
  }

  const deviceDigest = async (device: string): Promise<string> => (await keys()).digest(`device ${device}`);

  return {
    async recognise(account, client) {
      if (account === null) return { known: false, device: null };
      const nowMs = ports.nowMs();
      const name = deviceOf(account.userId, client.devices);
      const digest = name && (await deviceDigest(name));
      const device = digest !== null && isKnown(account.devices, digest, nowMs) ? digest : null;
      const network = await networkDigest(account.userId, client);
      const known = device !== null || (network !== null && isKnown(account.networks, network, nowMs));
      return { known, device };
    },

    remember(userId, client) {
      mutex(userId, async () => {
        const [account, digest] = [await ports.accounts.get(userId), await networkDigest(userId, client)];
        const networks = account && digest && knownAlso(account.networks, digest, ports.nowMs());
        if (account && networks)
          await ports.commit(userId, [{ type: 'accountWritten', account: { ...account, networks } }]);
      }).catch(ports.onFault);
    },

    async deviceKnown(userId, device, client) {
      const account = await ports.accounts.get(userId);
      if (account === null || deviceOf(userId, [device]) === null) return [];
      const given = deviceOf(userId, client.devices);
      const replaced = given && (await deviceDigest(given));
      const devices = knownAlso(account.devices, await deviceDigest(device), ports.nowMs(), replaced);
      return devices ? [{ type: 'accountWritten', account: { ...account, devices } }] : [];
    },
  };
}
