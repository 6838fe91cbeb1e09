// Goal: sessions receive what other shards decide, once and in order, whatever moves, breaks or dies.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import type { RecordingSink } from '../support/instance.ts';

const authority = (userId: UserId) => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});

let cluster: TestCluster;
let world: Awaited<ReturnType<TestCluster['found']>>;
beforeAll(async () => (await openCluster(1)).close(), 60_000);
afterEach(() => cluster.close());

async function open(shards = 2): Promise<void> {
  cluster = await openCluster(shards);
  world = await cluster.found();
}

const rename = (instance: ClusterInstance, name: string) =>
  instance.guilds.call(world.guildId, 'updateGuild', { draft: { name } }, authority(world.ownerId));

const renamesOf = ({ dispatches }: RecordingSink): string[] =>
  dispatches.flatMap(({ t, d }) => (t === 'GUILD_UPDATE' ? [(d as { name: string }).name] : []));

const inOrder = ({ dispatches }: RecordingSink): void =>
  expect(dispatches.map(({ seq }) => seq)).toEqual(dispatches.map((_, index) => index + 1));

const namesOf = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `guild ${from + index}`);

const count = ({ names }: RecordingSink, t: string): number => names.filter((name) => name === t).length;

/** Connects, and waits for GUILD_CREATE. */
async function connected(instance: ClusterInstance, token: string, intents?: number) {
  const opened = await cluster.while(instance.connect(token, intents));
  await cluster.until(() => opened.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  return opened;
}

/** Resumes a session at another home shard after its last dispatch. */
async function moved(
  instance: ClusterInstance,
  token: string,
  { sink, session }: { readonly sink: RecordingSink; readonly session: { readonly id: string } },
) {
  const resumed = await cluster.while(instance.resume(token, session.id, sink.dispatches.at(-1)?.seq ?? 0));
  expect(resumed.outcome.kind).toBe('open');
  return resumed;
}

describe('a session', () => {
  it('receives the events of a guild at another shard in order, whichever shard ran the commands', async () => {
    await open(3);
    const sinks: RecordingSink[] = [];
    for (const instance of cluster.instances) sinks.push((await connected(instance, world.botToken)).sink);
    sinks.push((await connected(cluster.strangerTo(world.guildId), world.ownerToken)).sink);
    for (const [index, name] of namesOf(12).entries())
      await cluster.while(rename(cluster.instance(index % 3), name));
    await cluster.until(() => sinks.every((sink) => renamesOf(sink).length === 12), 'all names');
    for (const sink of sinks) {
      expect(renamesOf(sink)).toEqual(namesOf(12));
      expect(count(sink, 'READY')).toBe(1);
      expect(count(sink, 'GUILD_CREATE')).toBe(1);
      inOrder(sink);
    }
  });

  it('receives the open join request of its user after GUILD_CREATE, from a guild at another shard', async () => {
    await open();
    const { guildId, ownerId } = world;
    const form_fields = [{ field_type: 'TEXT_INPUT' as const, label: 'Why?', required: true }];
    const home = cluster.strangerTo(guildId);
    await cluster.while(
      home.guilds.call(
        guildId,
        'updateMemberVerification',
        { draft: { enabled: true, form_fields } },
        authority(ownerId),
      ),
    );
    const { user, token } = await cluster.while(home.operator.createUser({ username: 'applicant' }));
    await cluster.while(home.operator.addMember({ guildId, userId: user.id as UserId }));
    const { sink } = await connected(home, token);
    await cluster.until(() => sink.names.includes('GUILD_JOIN_REQUEST_CREATE'), 'GUILD_JOIN_REQUEST_CREATE');
    expect(sink.names.slice(0, 3)).toEqual(['READY', 'GUILD_CREATE', 'GUILD_JOIN_REQUEST_CREATE']);
  });

  it('receives dispatches that wait for it at the owner of its user as soon as it opens', async () => {
    await open();
    const owner = cluster.ownerOf(world.ownerId);
    const released = vi.spyOn(owner.notifier, 'sessionOpened');
    const { session } = await connected(cluster.strangerTo(world.ownerId), world.ownerToken);
    expect(released.mock.calls.map(([{ sessionId }]) => sessionId)).toEqual([session.id]);
  });

  it('receives later dispatches after the lease of the guild owner was unsafe for a moment', async () => {
    await open();
    const owner = cluster.ownerOf(world.guildId);
    const { sink } = await connected(cluster.strangerTo(world.guildId), world.botToken);
    // Once for each check of the lease within a command; commands that are refused may fail.
    for (let looks = 0; looks < 6; looks += 1) {
      owner.ownership.looksUntilUnsafe = looks;
      await cluster.while(rename(owner, `unsafe ${looks}`)).catch(() => undefined);
      owner.ownership.looksUntilUnsafe = -1;
      await cluster.while(rename(owner, `safe ${looks}`));
      await cluster.until(() => renamesOf(sink).includes(`safe ${looks}`), `what follows look ${looks}`);
    }
    inOrder(sink);
  });

  it('shares one frame with the other recipients at its home shard; a shard without recipients gets none', async () => {
    await open();
    const away = cluster.strangerTo(world.guildId);
    const deaf = await cluster.while(away.connect(world.botToken, INTENTS.GUILD_MESSAGES));
    await connected(cluster.ownerOf(world.guildId), world.botToken);
    await cluster.pass(2000);
    const frames = () =>
      cluster.net.told.flatMap(({ frame, to }) =>
        frame.kind === 'dispatch' && to === away.id ? [{ t: frame.t, sessions: frame.handles.length }] : [],
      );
    const before = frames().length;
    await cluster.while(rename(away, 'Unheard'));
    await cluster.pass(50);
    expect(frames().length).toBe(before);
    expect(deaf.sink.names).not.toContain('GUILD_UPDATE');

    await connected(away, world.botToken);
    await connected(away, world.ownerToken);
    await cluster.pass(2000);
    const middle = frames().length;
    await cluster.while(rename(away, 'Heard'));
    await cluster.pass(50);
    expect(frames().slice(middle)).toEqual([
      { t: 'GUILD_UPDATE', sessions: 2 },
      { t: 'GUILD_AUDIT_LOG_ENTRY_CREATE', sessions: 2 },
    ]);
  });

  it('receives every event, once and in order, when its guild moves between owner shards', async () => {
    await open(3);
    const sinks: RecordingSink[] = [];
    for (const instance of cluster.instances) sinks.push((await connected(instance, world.botToken)).sink);
    const names = namesOf(30);
    for (const [index, name] of names.entries()) {
      if (index % 10 === 5) await cluster.move(world.guildId, cluster.strangerTo(world.guildId));
      await cluster.while(rename(cluster.instance(index % 3), name));
    }
    await cluster.until(() => sinks.every((sink) => renamesOf(sink).length >= 30), 'all names');
    await cluster.pass(100);
    for (const sink of sinks) {
      expect(renamesOf(sink)).toEqual(names);
      expect(count(sink, 'GUILD_CREATE')).toBe(1);
      expect(count(sink, 'GUILD_DELETE')).toBe(0);
      inOrder(sink);
    }
  });

  it('receives GUILD_DELETE when its guild has no owner for long, and GUILD_CREATE from the next owner', async () => {
    await open();
    const { sink } = await connected(cluster.strangerTo(world.guildId), world.botToken);
    const next = cluster.strangerTo(world.guildId);
    await cluster.move(world.guildId, null);
    await cluster.pass(29_000);
    expect(sink.names).not.toContain('GUILD_DELETE');
    await cluster.pass(5000);
    expect(sink.dispatches.at(-1)).toMatchObject({
      t: 'GUILD_DELETE',
      d: { id: world.guildId, unavailable: true },
    });
    await cluster.move(world.guildId, next);
    await cluster.until(() => count(sink, 'GUILD_CREATE') === 2, 'the guild again');
    expect(count(sink, 'GUILD_DELETE')).toBe(1);
    await cluster.while(rename(next, 'Back'));
    await cluster.until(() => renamesOf(sink).includes('Back'), 'its name');
  });

  it('receives every event, once and in order, over broken links between the shards', async () => {
    await open();
    const away = cluster.strangerTo(world.guildId);
    const owner = cluster.ownerOf(world.guildId);
    const { sink } = await connected(away, world.botToken);
    for (const [index, name] of namesOf(20).entries()) {
      const renamed = rename(owner, name);
      if (index % 5 === 3) cluster.net.break(owner.id, away.id);
      await cluster.while(renamed);
    }
    await cluster.until(() => renamesOf(sink).length >= 20, 'all names');
    await cluster.pass(100);
    expect(renamesOf(sink)).toEqual(namesOf(20));
    inOrder(sink);
  });

  it('receives GUILD_CREATE and GUILD_DELETE when its user joins and leaves a guild at another shard', async () => {
    await open(3);
    const made = await cluster.while(cluster.instance(1).operator.createUser({ username: 'guest' }));
    const userId = made.user.id as UserId;
    const sinks: RecordingSink[] = [];
    for (const instance of cluster.instances)
      sinks.push((await cluster.while(instance.connect(made.token))).sink);
    const { guildId } = world;
    await cluster.while(cluster.instance(2).operator.addMember({ guildId, userId }));
    await cluster.until(() => sinks.every((sink) => sink.names.includes('GUILD_CREATE')), 'GUILD_CREATE');
    const kick = cluster.instance(0).guilds.call(guildId, 'kickMember', { userId }, authority(world.ownerId));
    expect((await cluster.while(kick)).ok).toBe(true);
    await cluster.until(() => sinks.every((sink) => sink.names.at(-1) === 'GUILD_DELETE'), 'GUILD_DELETE');
    await cluster.while(rename(cluster.instance(0), 'Without'));
    await cluster.pass(100);
    for (const sink of sinks) expect(renamesOf(sink)).toEqual([]);
  });

  it('receives GUILD_DELETE when its user was removed while no shard owned the guild', async () => {
    await open();
    const made = await cluster.while(cluster.instance(0).operator.createUser({ username: 'guest' }));
    const userId = made.user.id as UserId;
    const { guildId } = world;
    await cluster.while(cluster.instance(0).operator.addMember({ guildId, userId }));
    const away = cluster.strangerTo(guildId);
    const { sink } = await connected(away, made.token);
    const owner = cluster.ownerOf(guildId);
    const kick = owner.guilds.call(guildId, 'kickMember', { userId }, authority(world.ownerId));
    cluster.net.delayMs = () => 10_000;
    await cluster.while(kick);
    cluster.net.delayMs = () => 0;
    await cluster.move(guildId, away);
    await cluster.until(() => sink.names.includes('GUILD_DELETE'), 'GUILD_DELETE');
    expect(sink.dispatches.find(({ t }) => t === 'GUILD_DELETE')?.d).not.toHaveProperty('unavailable');
  });
});

describe('a session that moves to another home shard', () => {
  it('is handed over by a live home shard, and receives everything once', async () => {
    await open(3);
    const bot = await connected(cluster.instance(0), world.botToken);
    const owner = await connected(cluster.instance(1), world.ownerToken);
    await cluster.while(rename(cluster.instance(2), 'Before'));
    await cluster.until(() => renamesOf(bot.sink).length === 1, 'a name');
    const { seq } = bot.sink.dispatches.at(-1) ?? { seq: 0 };
    const shown = count(owner.sink, 'PRESENCE_UPDATE');
    const { sink } = await moved(cluster.instance(2), world.botToken, bot);
    await cluster.while(rename(cluster.instance(0), 'After'));
    await cluster.until(() => renamesOf(sink).includes('After'), 'a name');
    await cluster.pass(3000);
    expect(renamesOf(sink)).toEqual(['After']);
    expect(renamesOf(bot.sink)).toEqual(['Before']);
    expect(sink.dispatches.map((each) => each.seq)).toEqual(sink.dispatches.map((_, at) => seq + 1 + at));
    expect(sink.names).not.toContain('GUILD_CREATE');
    expect(count(owner.sink, 'PRESENCE_UPDATE')).toBe(shown);
    // The first home shard drops its copy later, without a dispatch.
    await cluster.pass(cluster.instance(0).foundation.config.resume_window_ms + 5000);
    expect(count(owner.sink, 'PRESENCE_UPDATE')).toBe(shown);
    await cluster.while(rename(cluster.instance(1), 'Later'));
    await cluster.until(() => renamesOf(sink).includes('Later'), 'a name');
  });

  it('is restored from the journal of a dead home shard, with the events since then', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'guildhall-cluster-'));
    cluster = await openCluster(3, { journal_dir: folder });
    world = await cluster.found();
    const victim = cluster.strangerTo(world.guildId);
    const bot = await connected(victim, world.botToken);
    const other = await connected(cluster.ownerOf(world.guildId), world.ownerToken);
    // Whether the other session receives its own presence depends on which of two shards is asked first: both are right.
    await cluster.pass(2000);
    const calm = count(other.sink, 'PRESENCE_UPDATE');
    for (const name of namesOf(5)) await cluster.while(rename(victim, name));
    await cluster.until(() => renamesOf(bot.sink).length === 5, 'names');
    await cluster.pass(50);
    const seen = bot.sink.dispatches.length - 2;
    const orphaned = cluster.kill(victim);
    const alive = cluster.strangerTo(victim.id);
    for (const name of namesOf(5, 5)) await cluster.while(rename(cluster.ownerOf(world.guildId), name));
    await cluster.adopt(alive, orphaned);
    const home = cluster.strangerTo(world.guildId);
    const back = await cluster.while(home.resume(world.botToken, bot.session.id, seen));
    expect(back.outcome.kind).toBe('open');
    for (const name of namesOf(5, 10)) await cluster.while(rename(alive, name));
    await cluster.until(() => renamesOf(back.sink).includes('guild 14'), 'the last name');
    await cluster.pass(2000);
    const whole = [...bot.sink.dispatches.slice(0, seen), ...back.sink.dispatches];
    expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, at) => at + 1));
    expect(whole.flatMap(({ t, d }) => (t === 'GUILD_UPDATE' ? [(d as { name: string }).name] : []))).toEqual(
      namesOf(15),
    );
    expect(whole.filter(({ t }) => t === 'GUILD_CREATE' || t === 'READY').length).toBe(2);
    expect(count(other.sink, 'PRESENCE_UPDATE')).toBe(calm);
    await rm(folder, { recursive: true });
  });
});

describe('a user', () => {
  const presence = (status: string) => ({ since: null, activities: [], status, afk: false }) as never;
  const shownTo = ({ dispatches }: RecordingSink): string[] =>
    dispatches.flatMap(({ t, d }) => {
      const { user, status } = d as { user?: { id: string }; status: string };
      return t === 'PRESENCE_UPDATE' && user?.id === world.ownerId ? [status] : [];
    });

  it('has one presence, merged from its sessions at all shards', async () => {
    await open(3);
    const { sink } = await connected(cluster.instance(0), world.botToken);
    const [a, b] = [
      await connected(cluster.instance(1), world.ownerToken),
      await connected(cluster.instance(2), world.ownerToken),
    ];
    await cluster.until(() => shownTo(sink).at(-1) === 'online', 'online');
    a.session.ask({ name: 'presence', input: presence('idle') });
    await cluster.pass(100);
    expect(shownTo(sink).at(-1)).toBe('online');
    b.session.ask({ name: 'presence', input: presence('dnd') });
    await cluster.until(() => shownTo(sink).at(-1) === 'dnd', 'dnd');
    b.session.detach(b.sink, false);
    await cluster.until(() => shownTo(sink).at(-1) === 'idle', 'idle');
    a.session.detach(a.sink, false);
    await cluster.until(() => shownTo(sink).at(-1) === 'offline', 'offline');
    expect(shownTo(sink)).toEqual(['online', 'dnd', 'idle', 'offline']);
  });

  it('keeps its presence when it or its guild moves to another shard', async () => {
    await open(3);
    const { sink } = await connected(cluster.instance(0), world.botToken);
    const { session } = await connected(cluster.instance(1), world.ownerToken);
    session.ask({ name: 'presence', input: presence('idle') });
    await cluster.until(() => shownTo(sink).at(-1) === 'idle', 'idle');
    const told = shownTo(sink).length;
    await cluster.move(world.ownerId, cluster.strangerTo(world.ownerId));
    await cluster.pass(3000);
    await cluster.move(world.guildId, cluster.strangerTo(world.guildId));
    await cluster.pass(3000);
    expect(
      shownTo(sink)
        .slice(told)
        .filter((status) => status !== 'idle'),
    ).toEqual([]);
    session.ask({ name: 'presence', input: presence('dnd') });
    await cluster.until(() => shownTo(sink).at(-1) === 'dnd', 'dnd');
  });

  it("is shown with its presence by an owner that restores the state which the lost owner's predecessor handed over", async () => {
    await open(4);
    const [home] = cluster.instances as [ClusterInstance];
    await cluster.move(world.ownerId, home);
    const { sink } = await connected(home, world.botToken);
    const { session } = await connected(home, world.ownerToken);
    const become = async (status: string) => {
      session.ask({ name: 'presence', input: presence(status) });
      await cluster.until(() => shownTo(sink).at(-1) === status, status);
    };
    const [, second, third, fourth] = cluster.instances as [
      ClusterInstance,
      ClusterInstance,
      ClusterInstance,
      ClusterInstance,
    ];
    await cluster.move(world.guildId, second);
    await become('dnd');
    // The next owner is lost before it replaces the state, with which the user was dnd.
    const dropSnapshots = vi.spyOn(cluster.storage.cluster, 'dropSnapshots').mockResolvedValue();
    await cluster.move(world.guildId, third);
    await become('online');
    dropSnapshots.mockRestore();
    const orphaned = cluster.kill(third);
    session.ask({ name: 'presence', input: presence('dnd') });
    await cluster.pass(100);
    await cluster.adopt(fourth, orphaned);
    await cluster.until(() => shownTo(sink).at(-1) === 'dnd', 'dnd');
  });

  it('stays online for the resume window after its home shard died, and is offline afterwards', async () => {
    await open(3);
    const homeless = cluster.instances.find(
      (instance) =>
        instance !== cluster.ownerOf(world.ownerId) && instance !== cluster.ownerOf(world.guildId),
    );
    if (!homeless) throw new Error('There is a third shard.');
    const { sink } = await connected(cluster.ownerOf(world.guildId), world.botToken);
    await connected(homeless, world.ownerToken);
    await cluster.until(() => shownTo(sink).at(-1) === 'online', 'online');
    const orphaned = cluster.kill(homeless);
    await cluster.adopt(cluster.ownerOf(world.guildId), orphaned);
    const windowMs = homeless.foundation.config.resume_window_ms;
    await cluster.pass(windowMs - 5000);
    expect(shownTo(sink).at(-1)).toBe('online');
    await cluster.pass(8000);
    expect(shownTo(sink).at(-1)).toBe('offline');
  });

  it('is offline after the resume window when the notification of its end was lost with the link', async () => {
    await open(3);
    const [, watching, home] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
    await cluster.move(world.ownerId, cluster.instance(0));
    const { sink } = await connected(watching, world.botToken);
    const opened = await connected(home, world.ownerToken);
    await cluster.until(() => shownTo(sink).at(-1) === 'online', 'online');
    opened.session.detach(opened.sink, false);
    for (const { id } of cluster.instances) if (id !== home.id) cluster.net.break(home.id, id);
    await cluster.pass(home.foundation.config.resume_window_ms + 5000);
    expect(shownTo(sink)).toEqual(['online', 'offline']);
  });

  it('is signed out at every shard', async () => {
    await open(3);
    const sinks: RecordingSink[] = [];
    for (const instance of cluster.instances) sinks.push((await connected(instance, world.ownerToken)).sink);
    await cluster.while(cluster.instance(1).identity.revokeAll(world.ownerId));
    await cluster.until(() => sinks.every(({ closed }) => closed?.code === 4004), '4004');
    for (const instance of cluster.instances)
      expect(await cluster.while(instance.authenticate(world.ownerToken))).toBeNull();
  });
});

describe('a bot', () => {
  it('starts its sessions within limits that are counted over all shards', async () => {
    cluster = await openCluster(3, { rate_limits: true, session_starts_per_day: 2 });
    world = await cluster.found();
    const start = (index: number, shard: number) =>
      cluster.while(cluster.instance(index).connect(world.botToken, INTENTS.GUILDS, [shard, 3]));
    await start(0, 0);
    await expect(start(1, 0)).rejects.toThrow('invalid');
    await start(1, 1);
    await expect(start(2, 2)).rejects.toThrow('The session start limit of the day is used up.');
    const limit = await cluster.while(cluster.instance(2).sessions.startLimitOf(world.botId));
    expect(limit).toMatchObject({ total: 2, remaining: 0 });
  });
});

describe('a guild that moves between shards under load', () => {
  it('delivers every message once and in order, whatever the network delays', async () => {
    const run = async (seed: number, moves: readonly number[]): Promise<void> => {
      await open(3);
      let state = seed;
      const random = (most: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state % most;
      };
      const sinks: RecordingSink[] = [];
      for (const instance of cluster.instances) sinks.push((await connected(instance, world.botToken)).sink);
      cluster.net.delayMs = () => random(20);
      const names = namesOf(100);
      const flow = (async () => {
        for (const name of names) await rename(cluster.instance(random(3)), name);
      })();
      for (const after of moves) {
        await cluster.pass(after);
        if (after % 3 === 0) cluster.net.break(`shard-${after % 2}`, 'shard-2');
        else await cluster.move(world.guildId, cluster.strangerTo(world.guildId));
      }
      await cluster.while(flow);
      await cluster.until(() => sinks.every((sink) => renamesOf(sink).length >= 100), 'all names');
      await cluster.pass(500);
      for (const sink of sinks) {
        expect(renamesOf(sink)).toEqual(names);
        inOrder(sink);
      }
      cluster.close();
    };
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 6 }), run),
      { numRuns: 6, endOnFailure: true, examples: [[27, [34, 2, 4, 49]]] },
    );
  }, 120_000);
});
