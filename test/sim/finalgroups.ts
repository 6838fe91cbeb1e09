import type { ChannelId } from '../../protocol/ids.ts';
import type { SimClient } from './client.ts';
import type { SimCluster } from './cluster.ts';
import type { Database } from './database.ts';
import type { CallWish } from './groups.ts';
import type { GroupView } from './groupview.ts';
import type { Judge } from './judge.ts';
import type { Truth } from './truth.ts';

interface GroupFinalPorts {
  readonly judge: Judge;
  readonly database: Database;
  readonly truth: Truth;
  readonly cluster: SimCluster;
  readonly clients: readonly SimClient[];
}

const list = (items: Iterable<string>): string => [...items].sort().join();

/** A client knows the groups of its user as they are. */
export function judgeGroups(
  { life: { name, userId } }: SimClient,
  view: GroupView,
  { judge, database, truth }: GroupFinalPorts,
  hasFaults: boolean,
): void {
  const expectSame = (what: string, got: unknown, wanted: unknown) =>
    judge.expect(got === wanted, 'group', () => `${name} has ${what} as ${got}, not ${wanted}`);
  for (const [id, { channel }] of database.privateChannels) {
    const { group, recipientIds } = channel;
    if (!group) continue;
    const replica = view.replicas.get(id);
    const isIn = recipientIds.includes(userId as never);
    // The opening of a group is not stored: it is lost with the shard, or arrives after later changes.
    if (hasFaults && truth.joining(userId, id) === 'opened') continue;
    expectSame(`whether it is in ${id}`, replica !== undefined, isIn);
    if (!replica || !isIn) continue;
    expectSame(`recipients of ${id}`, list(replica.recipients), list(recipientIds));
    expectSame(`name of ${id}`, replica.name, group.name);
  }
}

/** A client knows who is in the calls of its user's groups. */
export function judgeCallsShown(
  { life: { name, userId } }: SimClient,
  view: GroupView,
  ports: GroupFinalPorts,
): void {
  for (const [id, { channel }] of ports.database.privateChannels) {
    if (!channel.group || !channel.recipientIds.includes(userId as never)) continue;
    const shown = [...view.calls].flatMap(([, state]) =>
      state.channel_id === id ? [`${state.user_id} ${state.session_id} ${state.self_mute}`] : [],
    );
    const seats = [...seatsOf(ports, id as ChannelId)].map(
      ([seatedId, { sessionId, muted }]) => `${seatedId} ${sessionId} ${muted}`,
    );
    const [got, wanted] = [list(shown), list(seats)];
    ports.judge.expect(
      got === wanted,
      'call',
      () => `${name} has in the call of ${id} ${got}, not ${wanted}`,
    );
  }
}

/**
 * A user that asked to join a call after the repair is in the call, no user without a session is, and all recipients know.
 */
export function judgeCalls(ports: GroupFinalPorts, wishes: ReadonlyMap<string, CallWish>): void {
  const { judge, database, clients } = ports;
  const living = new Set(clients.flatMap(({ up, life }) => (up && life.sessionId ? [life.sessionId] : [])));
  for (const [id, { channel }] of database.privateChannels) {
    const seats = seatsOf(ports, id as ChannelId);
    for (const [userId, { sessionId }] of seats) {
      const { recipientIds } = channel;
      judge.expect(
        living.has(sessionId),
        'call',
        () => `${userId} is in the call of ${id} without a session`,
      );
      judge.expect(recipientIds.includes(userId as never), 'call', () => `${userId} is in the call of ${id}`);
    }
    for (const [userId, { client, sessionId, channelId, joins, mutes }] of wishes) {
      // A session that began later has not asked.
      if (channelId !== id || !client.up || client.life.sessionId !== sessionId) continue;
      if (!channel.recipientIds.includes(userId as never)) continue;
      const wanted = joins ? `in it, ${mutes ? 'muted' : 'heard'}` : 'not in it';
      const said = (seat: { readonly muted: boolean } | undefined) =>
        seat ? `in it, ${seat.muted ? 'muted' : 'heard'}` : 'not in it';
      const got = said(seats.get(userId));
      judge.expect(
        got === wanted,
        'call',
        () =>
          `${userId} is ${got} in the call of ${id}, not ${wanted} (${seats.get(userId)?.sessionId}, ${sessionId} ${client.name})`,
      );
      for (const other of clients) {
        const view = other.life.groups;
        if (!view || !other.up || !channel.recipientIds.includes(other.userId as never)) continue;
        const state = view.calls.get(userId);
        const seen = said(state?.channel_id === id ? { muted: state.self_mute } : undefined);
        judge.expect(seen === wanted, 'call', () => `${other.name} has ${userId} as ${seen} of ${id}`);
      }
    }
  }
}

interface Seat {
  readonly sessionId: string;
  readonly muted: boolean;
}

/** Members of the call of a channel, as its owner shard has them. */
function seatsOf({ cluster }: GroupFinalPorts, id: ChannelId): ReadonlyMap<string, Seat> {
  const seats = new Map<string, Seat>();
  for (const { ownership, server } of cluster.running) {
    if (!ownership.owns(id) || !server.privateChannels.peek(id)) continue;
    server.privateChannels.work(id, {
      run: ({ call }) => {
        for (const [userId, state] of call?.voiceStates ?? [])
          seats.set(userId, { sessionId: state.session_id, muted: state.self_mute });
      },
      refuse: () => undefined,
      fault: () => undefined,
    });
  }
  return seats;
}
