import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { CommitAndNotify } from '../../actors/user/notifier.ts';
import {
  type ActivityChange,
  type ActivityFact,
  type ActivityInstance,
  embeddedActivityObject,
  idOf,
  instanceObject,
} from '../../engine/activity/instance.ts';
import { isEmbedded } from '../../engine/application/mappings.ts';
import { OWN_SESSIONS } from '../../engine/fanout/direct.ts';
import type { Described } from '../../engine/interaction/place.ts';
import { wantedBy } from '../../engine/interaction/resolved.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { readInstanceId } from '../../protocol/activityinstances.ts';
import { PRIVATE, VOICE_LIKE, WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import { NotServed } from '../../protocol/faults.ts';
import { type FreshId, snowflakeOf } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Commit, Storage } from '../../storage/ports.ts';
import type { Places } from '../interactions/places.ts';
import { ActivityOwner } from './owner.ts';
import type { ActivityRequest, RunningActivities } from './ports.ts';

interface RunningPorts {
  readonly storage: Pick<Storage, 'activities' | 'applications' | 'privateChannels'>;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly places: Pick<Places, 'describe'>;
  readonly commitAndNotify: CommitAndNotify;
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  readonly routing: Routing;
  readonly wheel: Wheel;
  /** Ends the work in the background. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
}

type ChangePorts = Pick<RunningPorts, 'guilds' | 'storage' | 'commitAsOwner' | 'commitAndNotify'>;

/** Running activities as compose holds them. */
export interface ServedActivities extends RunningActivities {
  readonly counts: { readonly running: number };
}

const OWNERS_PAGE = 100;
/** First and longest delay before a failed adoption is repeated. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
const NOTHING = wantedBy([]);
const NOBODY = snowflakeOf(0n);

/** Serves running activities, including those of an earlier process. */
export function startRunningActivities(ports: RunningPorts): ServedActivities {
  const { storage, routing, wheel, scope, onFault } = ports;
  const owner = new ActivityOwner({
    ...{ ...ports, scope, store: storage.activities },
    change: (change, facts) => changed(ports, change, facts),
  });
  const adopt = async (isMine: (ownerId: string) => boolean): Promise<void> => {
    for (let after: string | null = null; !scope.over; ) {
      const page: string[] = await storage.activities.owners(after, OWNERS_PAGE);
      for (const id of page) if (isMine(id) && routing.owns(id)) await owner.adopt(id);
      if (page.length < OWNERS_PAGE) return;
      after = page.at(-1) ?? null;
    }
  };
  // Otherwise the leases of an activity that nobody asks for would never end.
  const adopting = (isMine: (ownerId: string) => boolean, retryMs: number): void => {
    adopt(isMine).catch((error) => {
      if (scope.over) return;
      onFault(error);
      wheel.after(() => adopting(isMine, Math.min(retryMs * 2, RETRY_MS_MAX)), retryMs);
    });
  };
  adopting(() => true, RETRY_MS);
  routing.onMoved((moved) => {
    owner.forgetMoved(moved);
    adopting(moved, RETRY_MS);
  });

  const at = routes(ports, owner);
  return {
    counts: {
      get running() {
        return owner.running;
      },
    },
    async join(request) {
      const reply = await at.join(request.ownerId, request);
      if (!reply.ok) return reply;
      const { instance, permissions } = reply.value;
      return { ok: true, value: { activity: embeddedActivityObject(instance), permissions } };
    },
    async launch(request) {
      const reply = await at.join(request.ownerId, { ...request, connectionId: null });
      return reply.ok ? { ok: true, value: idOf(reply.value.instance) } : reply;
    },
    leave: (request) => at.leave(request.ownerId, request),
    list: (request) => at.list(request.ownerId, request),
    async find(applicationId, instanceId) {
      const named = readInstanceId(instanceId);
      if (!named) return null;
      const { guildId, channelId } = named.location;
      const all = await at.all(guildId ?? channelId);
      const isIt = (one: ActivityInstance) => one.applicationId === applicationId && idOf(one) === instanceId;
      const found = all.find(isIt);
      return found ? instanceObject(found) : null;
    },
  };
}

/** Runs on the shard that owns the location. */
function routes(ports: RunningPorts, owner: ActivityOwner) {
  const { routing } = ports;
  return {
    join: routing.ask('runningActivities.join', (_ownerId: string, request: ActivityRequest) =>
      joined(ports, owner, request),
    ),
    leave: routing.ask('runningActivities.leave', (_ownerId: string, request: ActivityRequest) =>
      owner.leave(request),
    ),
    list: routing.ask(
      'runningActivities.list',
      async (
        _ownerId: string,
        request: Parameters<RunningActivities['list']>[0],
      ): Promise<Reply<object[]>> => {
        const described = await describe(ports, request);
        if (!described.ok) return refused(described.refusal);
        const all = await owner.instances(request.ownerId);
        const here = all.filter(({ channelId }) => channelId === request.channelId);
        return { ok: true, value: here.map(embeddedActivityObject) };
      },
    ),
    all: routing.ask('runningActivities.all', async (ownerId: string) => [
      ...(await owner.instances(ownerId)),
    ]),
  };
}

const describe = (
  { places }: Pick<RunningPorts, 'places'>,
  { userId, ...place }: Omit<ActivityRequest, 'applicationId' | 'connectionId'>,
): Promise<Reply<Described>> =>
  places.describe(place, {
    // The application receives nothing about the location here.
    ...{ channelId: place.channelId, userId, applicationId: NOBODY, botId: null },
    ...{ wanted: NOTHING, message: null },
  });

/** Joins at the owner. A participant who has lost access is removed at the next renewal. */
async function joined(
  ports: RunningPorts,
  owner: ActivityOwner,
  request: ActivityRequest,
): Promise<Reply<{ readonly instance: ActivityInstance; readonly permissions: string }>> {
  const application = await ports.storage.applications.get(request.applicationId);
  if (!application || !isEmbedded(application)) return refused(refusal('UNKNOWN_APPLICATION'));
  const described = await describe(ports, request);
  const no = described.ok ? joinRefusal(described.value) : described.refusal;
  if (no === null && described.ok) {
    const reply = await owner.join(request);
    const { permissions } = described.value;
    return reply.ok ? { ok: true, value: { instance: reply.value, permissions } } : reply;
  }
  // An overloaded guild does not know whether the participant has lost access.
  if (no === null || no.status < 500) await owner.leave({ ...request, connectionId: null });
  return refused(no ?? refusal('MISSING_ACCESS'));
}

/** @returns 50001 without a view of the channel, 50024 for a channel of another type, 50013 without the permission. */
function joinRefusal({ type, permissions }: Described): Refusal | null {
  if (PRIVATE.has(type)) return null;
  if (!WITH_MESSAGES.has(type)) return refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE');
  const needed = P.USE_EMBEDDED_ACTIVITIES | (VOICE_LIKE.has(type) ? P.CONNECT : 0n);
  return (BigInt(permissions) & needed) === needed ? null : refusal('MISSING_PERMISSIONS');
}

/** Stores a change in the commit that shows it, so that an owner which ends in between does not leave a wrong picture. */
async function changed(
  { guilds, storage, commitAsOwner, commitAndNotify }: ChangePorts,
  { instance, isShown }: ActivityChange,
  facts: readonly ActivityFact[],
): Promise<void> {
  const { ownerId, guildId, channelId } = instance;
  if (!isShown) return commitAsOwner(ownerId, facts);
  const activity = embeddedActivityObject(instance);
  if (guildId !== null) {
    const reply = await guilds.call(guildId, 'changeActivity', { channelId, facts, activity }, SYSTEM);
    if (reply.ok) return;
    if (reply.refusal.status >= 500) throw new NotServed(reply.refusal.message);
    // The guild has been deleted.
    return commitAsOwner(ownerId, facts);
  }
  const channel = await storage.privateChannels.get(channelId);
  const userIds = channel?.recipientIds ?? [];
  const shown = { t: 'EMBEDDED_ACTIVITY_UPDATE_V2', d: activity, filter: OWN_SESSIONS, userIds } as const;
  const notify = await commitAndNotify(ownerId, facts, [shown]);
  notify();
}
