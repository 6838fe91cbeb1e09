import type { Ownership } from '../../actors/placement/ports.ts';
import type { Routes } from '../../actors/placement/routing.ts';
import type { PrivateChannelShell } from '../../actors/privatechannel/privatechannel.shell.ts';
import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import { eagerKeyedMutex, keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Registry } from '../../actors/runtime/registry.ts';
import type { CommitNotifier, DirectDispatch, Notifier } from '../../actors/user/notifier.ts';
import { ALL_SESSIONS } from '../../engine/fanout/direct.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  privateRules,
  privateState,
} from '../../engine/privatechannel/rules.ts';
import type { GroupSettings, PrivateChannel } from '../../engine/user/facts.ts';
import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import { type ChannelId, compareIds, type FreshId, type UserId, userPair } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage, StoredFact } from '../../storage/ports.ts';
import { reachBetween } from '../social/reach.ts';

/** Sends a command to a private channel; the command key is added on the way. */
export type InPrivate = <K extends keyof PrivateCommands>(
  channelId: ChannelId,
  type: K,
  input: PrivateCommands[K]['input'],
  authority: Authority,
  commandKey?: string | null,
) => Promise<Reply<PrivateCommands[K]['value']>>;

/** The private channels of the cluster. */
export interface PrivateChannels {
  readonly call: InPrivate;
  /**
   * The channel between two users, opened when there is none. Concurrent calls open one. The second user sees it at
   * once when the first may write to them (`reaches`: this is already known).
   */
  open(a: UserId, b: UserId, reaches?: boolean): Promise<Reply<PrivateChannel>>;
  /** Opens a group under a new id; a repeated call finds the group. All of its people see it at once. */
  openGroup(
    id: ChannelId,
    recipientIds: readonly UserId[],
    group: GroupSettings,
  ): Promise<Reply<PrivateChannel>>;
  /**
   * A relationship between the two users changed and is durable. When this resolves, no decision is based on the old
   * relationship, the dispatches of earlier decisions were sent, and a block has ended their call. A channel that is
   * not resident reads the relationship when it is loaded.
   */
  relationsChanged(channelId: ChannelId): Promise<void>;
}

export interface PrivatePorts extends CommitNotifier {
  readonly privateChannels: Registry<PrivateChannelState, PrivateChannelShell>;
  readonly ownership: Ownership;
  readonly storage: Pick<Storage, 'privateChannels' | 'users' | 'relationships'>;
  readonly notifier: Pick<Notifier, 'notifyEach'>;
  readonly contactPolicy: ContactPolicy;
  readonly hooks: { readonly tap: Tap };
  readonly nextId: () => FreshId;
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
}

/** The owner shard of the lower id decides about a pair of users. */
const lower = (a: UserId, b: UserId): UserId => (compareIds(a, b) < 0 ? a : b);

/** Commands run on the owner shard of the channel; opening a channel runs on the owner shard of one of its users. */
export const PRIVATE_ROUTES: Routes<PrivateChannels> = {
  call: 'local',
  open: { method: 'privateChannel.open', key: lower },
  openGroup: { method: 'privateChannel.openGroup', key: (channelId) => channelId },
  relationsChanged: { method: 'privateChannel.relationsChanged', key: (channelId) => channelId },
};

/** The private channels that this shard owns. */
export function createPrivateChannels(ports: PrivatePorts): PrivateChannels {
  const { privateChannels, ownership } = ports;
  const run: PrivateChannels['call'] = (channelId, type, input, authority, commandKey = null) =>
    new Promise((resolve, reject) => {
      privateChannels.workWith(channelId, (shell) =>
        shell.command(type, input, authority, resolve, reject, commandKey),
      );
    });
  // Joining a call may have to wait for a read that leaving does not need; leaving must not overtake it.
  const ordered = eagerKeyedMutex<string>();
  const call: PrivateChannels['call'] = (channelId, type, input, authority, commandKey) => {
    const job = () => run(channelId, type, input, authority, commandKey);
    return type === 'setCallState' ? ordered(`${channelId} ${authority.by.userId}`, job) : job();
  };
  const here: PrivateChannels = {
    call,
    open: opener(ports),
    openGroup: groupOpener(ports),
    async relationsChanged(channelId) {
      if (!privateChannels.peek(channelId)) return;
      await call(channelId, 'forgetRelations', {}, SYSTEM);
      await call(channelId, 'applyBlock', {}, SYSTEM);
    },
  };
  ownership.onChange(({ moved }) => {
    if (moved.length > 0) for (const shell of privateChannels.shells()) shell.ownersChanged();
  });
  return here;
}

function opener(ports: PrivatePorts): PrivateChannels['open'] {
  const { storage } = ports;
  const mutex = keyedMutex<string>();
  return (a, b, reaches = false) => {
    const recipientIds = userPair(a, b);
    return mutex(recipientIds.join(), async (): Promise<Reply<PrivateChannel>> => {
      const known = await storage.privateChannels.between(a, b);
      if (known) return { ok: true, value: known };
      const recipients = await storage.users.get(recipientIds);
      if (recipients.length < 2) return { ok: false, refusal: refusal('UNKNOWN_USER') };
      const id = ports.nextId();
      const channel: PrivateChannel = { id, type: 1, recipientIds, last_message_id: null, last_pin_ms: null };
      const isShown = reaches || (await isReached(ports, recipients, a));
      await show(ports, channel, recipients, isShown ? null : b);
      return { ok: true, value: channel };
    });
  };
}

/**
 * The id of a group names the request to open it: when the reply was lost, the request is repeated, here or at the next owner,
 * and the group may be stored although no client received it.
 */
function groupOpener(ports: PrivatePorts): PrivateChannels['openGroup'] {
  const { storage, commitAndNotify, notifyAgain, hooks } = ports;
  const mutex = keyedMutex<string>();
  return (id, recipientIds, group) =>
    mutex(id, async () => {
      const stored = await storage.privateChannels.get(id);
      if (stored) {
        await notifyAgain(id);
        return { ok: true, value: stored };
      }
      const users = await storage.users.get(recipientIds);
      const channel: PrivateChannel = {
        ...{ id, type: 3, recipientIds, group, last_message_id: null, last_pin_ms: null },
      };
      const shown = shownTo(channel, users, null);
      // Numbered with the group: recipients are sent it before its changes, also when the owner of their account is unreachable now.
      const notify = await commitAndNotify(id, [opening(channel)], shown);
      for (const { t, d } of shown) hooks.tap.see(t, d, id);
      notify();
      return { ok: true, value: channel };
    });
}

const opening = (channel: PrivateChannel) => ({ type: 'privateChannelOpened', channel }) as const;

/** The dispatches that show a new channel to its users, except to one of them. */
const shownTo = (channel: PrivateChannel, users: readonly APIUser[], hiddenFrom: UserId | null) =>
  privateRules
    .applyAndDispatch(privateState(channel, users, null), opening(channel))
    .flatMap(({ t, d, to }): DirectDispatch[] =>
      to.kind === 'users' && !to.userIds.some((userId) => userId === hiddenFrom)
        ? [{ userIds: to.userIds, filter: ALL_SESSIONS, t, d }]
        : [],
    );

/** Stores a new channel of two users, whose id any shard may own, and shows it to them, except to one of them. */
async function show(
  ports: PrivatePorts,
  channel: PrivateChannel,
  users: readonly APIUser[],
  hiddenFrom: UserId | null,
): Promise<void> {
  await ports.commit(channel.id, [opening(channel)]);
  for (const { userIds, filter, t, d } of shownTo(channel, users, hiddenFrom)) {
    ports.hooks.tap.see(t, d, channel.id);
    ports.notifier.notifyEach(
      userIds.map((userId) => [userId, filter]),
      t,
      d,
    );
  }
}

/** A user who may not write to another must not appear in the other's list of channels either. */
async function isReached(
  { storage, contactPolicy }: PrivatePorts,
  users: readonly APIUser[],
  fromId: UserId,
): Promise<boolean> {
  const from = users.find(({ id }) => id === fromId);
  const to = users.find(({ id }) => id !== fromId);
  if (!from || !to) return false;
  const between = { from, to, replied: false, begun: false };
  const through = { applicationId: null, together: false };
  const { no } = await reachBetween(
    { relationships: storage.relationships, contactPolicy },
    between,
    through,
  );
  return no === null;
}
