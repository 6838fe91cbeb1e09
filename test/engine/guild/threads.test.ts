// Goal: whatever happens in threads, who is in them, what they count and whether they are archived is as a plain model says.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guildRules } from '../../../engine/guild/rules.ts';
import { dueMsOf } from '../../../engine/guild/threads.rules.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import { type ChannelId, snowflakeAt, snowflakeOf, type UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  type GuildWithSessions,
  member,
  RecordingSession,
  role,
} from '../../support/guild.ts';
import { creation } from '../../support/messages.ts';
import { caller, NOW_MS } from '../../support/people.ts';

const PEOPLE = ['100000000000000010', '100000000000000011', '100000000000000012'] as const;
const MODERATOR = '100000000000000013';
const MODERATORS = '200000000000000100';
const PARENT = '300000000000000050' as ChannelId;
const HOUR_MS = 3_600_000;
const EVERYONE =
  P.VIEW_CHANNEL |
  P.SEND_MESSAGES |
  P.SEND_MESSAGES_IN_THREADS |
  P.CREATE_PUBLIC_THREADS |
  P.CREATE_PRIVATE_THREADS |
  P.READ_MESSAGE_HISTORY;

const arrange = (): GuildWithSessions =>
  buildGuild({
    everyone: EVERYONE,
    roles: [role(MODERATORS, P.MANAGE_THREADS | P.MANAGE_MESSAGES, 1)],
    members: [...PEOPLE.map((id) => member(id)), member(MODERATOR, { roles: [MODERATORS] })],
    channels: [channel(PARENT)],
  });

/** One guild with one thread, in which time passes. */
class World {
  readonly guild = arrange();
  nowMs = NOW_MS;
  readonly dispatches: Dispatch[] = [];
  #ids = 0n;
  readonly threadId: ChannelId;

  constructor(type: number) {
    const draft = { name: 'Talk', type, auto_archive_duration: 60 };
    const made = this.run('createThread', { channelId: PARENT, draft }, PEOPLE[0], PARENT);
    if (!made.ok) throw new Error(made.refusal.message);
    this.threadId = [...this.guild.threads.keys()][0]!;
  }

  /** Ids tell when something was sent. */
  #nextId() {
    this.#ids += 1n;
    return snowflakeOf(BigInt(snowflakeAt(this.nowMs)) + this.#ids);
  }

  get record() {
    return this.guild.threads.get(this.threadId)!;
  }

  run(type: string, input: object, userId: string, channelId = this.threadId) {
    const env = { nowMs: this.nowMs, nextId: () => this.#nextId() };
    const authority = { by: caller(userId), requires: 0n, channelId };
    const outcome = guildRules.decide(this.guild, type as never, input as never, authority, env);
    for (const fact of outcome.ok ? outcome.facts : [])
      this.dispatches.push(...guildRules.applyAndDispatch(this.guild, fact));
    return outcome;
  }

  archiveDue(): void {
    this.run('archiveThreads', {}, MODERATOR);
  }
}

type Step =
  | {
      readonly do: 'join' | 'leave' | 'say' | 'archive' | 'unarchive' | 'lock' | 'unlock';
      readonly who: number;
    }
  | { readonly do: 'delete' }
  | { readonly do: 'wait'; readonly minutes: number };

const who = fc.integer({ min: 0, max: 3 });
const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constantFrom('join', 'leave', 'say', 'archive', 'unarchive', 'lock', 'unlock'),
      who,
    }),
    fc.record({ do: fc.constant('delete') }),
    fc.record({ do: fc.constant('wait'), minutes: fc.integer({ min: 1, max: 90 }) }),
  ),
  { maxLength: 40 },
) as fc.Arbitrary<Step[]>;

/** The thread as its users see it, independent of the implementation. */
interface Model {
  members: Set<string>;
  alive: number;
  sent: number;
  isArchived: boolean;
  isLocked: boolean;
  quietSinceMs: number;
}

const nameOf = (index: number): string => PEOPLE[index] ?? MODERATOR;

function expected(model: Model, step: Step, nowMs: number): boolean {
  if (step.do === 'wait' || step.do === 'delete') return true;
  const id = nameOf(step.who);
  const manages = id === MODERATOR;
  const mayManage = manages || (id === PEOPLE[0] && !model.isLocked);
  switch (step.do) {
    case 'join':
    case 'leave':
      if (model.isArchived) return false;
      if (step.do === 'join') model.members.add(id);
      else model.members.delete(id);
      return true;
    case 'say':
      if (model.isLocked && !manages) return false;
      Object.assign(model, { isArchived: false, quietSinceMs: nowMs });
      model.members.add(id);
      model.alive += 1;
      model.sent += 1;
      return true;
    case 'archive':
      if (model.isArchived || !mayManage) return false;
      model.isArchived = true;
      return true;
    case 'unarchive':
      if (model.isLocked && !manages) return false;
      if (model.isArchived) Object.assign(model, { isArchived: false, quietSinceMs: nowMs });
      return true;
    default:
      if (model.isArchived || !manages) return false;
      model.isLocked = step.do === 'lock';
      return true;
  }
}

function act(world: World, step: Exclude<Step, { do: 'wait' | 'delete' }>): boolean {
  const { threadId } = world;
  const id = nameOf(step.who);
  const change = (threadChange: object) =>
    world.run('updateChannel', { channelId: threadId, draft: {}, threadChange }, id).ok;
  switch (step.do) {
    case 'join':
      return world.run('joinThread', { channelId: threadId }, id).ok;
    case 'leave':
      return world.run('leaveThread', { channelId: threadId }, id).ok;
    case 'say':
      return world.run('createMessage', { ...creation({ content: 'x' }), channelId: threadId }, id).ok;
    case 'archive':
      return change({ archived: true });
    case 'unarchive':
      return change({ archived: false });
    default:
      return change({ locked: step.do === 'lock' });
  }
}

function play(world: World, model: Model, step: Step): void {
  if (step.do === 'wait') {
    world.nowMs += step.minutes * 60_000;
    world.archiveDue();
    if (!model.isArchived && world.nowMs >= model.quietSinceMs + HOUR_MS) model.isArchived = true;
    return;
  }
  if (step.do === 'delete') {
    const found = [...world.guild.messages.values()].find(
      (each) => each?.channel_id === world.threadId && each.type === 0,
    );
    if (!found || model.isArchived) return;
    const input = { channelId: world.threadId, messageId: found.id };
    expect(world.run('deleteMessage', input, MODERATOR).ok).toBe(true);
    model.alive -= 1;
    return;
  }
  const should = expected(model, step, world.nowMs);
  expect([step, act(world, step)]).toEqual([step, should]);
}

describe('a thread', () => {
  it('equals a simple model after any steps', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const world = new World(11);
        const model: Model = {
          ...{ members: new Set([PEOPLE[0]]), alive: 0, sent: 0 },
          ...{ isArchived: false, isLocked: false, quietSinceMs: world.nowMs },
        };
        for (const step of all) {
          play(world, model, step);
          const { thread, members } = world.record;
          expect({
            ...{ members: [...members.keys()].sort(), alive: thread.message_count },
            sent: thread.total_message_sent,
            isArchived: thread.thread_metadata.archived,
            isLocked: thread.thread_metadata.locked,
          }).toEqual({
            ...{ members: [...model.members].sort(), alive: model.alive, sent: model.sent },
            ...{ isArchived: model.isArchived, isLocked: model.isLocked },
          });
          expect(thread.member_count).toBe(model.members.size);
          expect(dueMsOf(thread) === null).toBe(model.isArchived);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('loses members who leave the guild, and is deleted with its channel', () => {
    const world = new World(12);
    world.run('addThreadMember', { channelId: world.threadId, userId: PEOPLE[1] }, PEOPLE[0]);
    expect([...world.record.members.keys()]).toEqual([PEOPLE[0], PEOPLE[1]]);
    const { user } = world.guild.members.get(PEOPLE[1] as UserId)!;
    for (const fact of guildRules.decide(
      world.guild,
      'leaveGuild' as never,
      {} as never,
      { by: caller(PEOPLE[1]), requires: 0n },
      { nowMs: world.nowMs, nextId: () => '1' as never },
    ).facts ?? [])
      guildRules.applyAndDispatch(world.guild, fact);
    expect([user.id, [...world.record.members.keys()]]).toEqual([PEOPLE[1], [PEOPLE[0]]]);
    guildRules.applyAndDispatch(world.guild, {
      type: 'channelDeleted',
      channel: world.guild.channels.get(PARENT)!,
    });
    expect(world.guild.threads.get(world.threadId)).toBeNull();
  });

  it('is archived at its own time when many are due at once, in whatever order they were made', () => {
    const world = new World(11);
    const times = [4_320, 60, 1_440].map((minutes) => {
      const draft = { name: 'Long', type: 11, auto_archive_duration: minutes };
      world.run('createThread', { channelId: PARENT, draft }, PEOPLE[0], PARENT);
      return { id: [...world.guild.threads.keys()].at(-1)!, atMs: world.nowMs + minutes * 60_000 };
    });
    world.nowMs += 10 * 86_400_000;
    world.archiveDue();
    for (const { id, atMs } of times) {
      const { archived, archive_timestamp: at } = world.guild.threads.get(id)!.thread.thread_metadata;
      expect([archived, Date.parse(at)]).toEqual([true, atMs]);
    }
  });

  it('counts against the bound of active ones, and an archived one does not', () => {
    const world = new World(11);
    const draft = { name: 'One more', type: 11 };
    for (let made = 1; made < 1_000; made += 1)
      world.run('createThread', { channelId: PARENT, draft }, PEOPLE[0], PARENT);
    const more = () => world.run('createThread', { channelId: PARENT, draft }, PEOPLE[0], PARENT);
    expect(more()).toMatchObject({ ok: false, refusal: { code: 160_006 } });
    const change = { channelId: world.threadId, draft: {}, threadChange: { archived: true } };
    expect(world.run('updateChannel', change, PEOPLE[0]).ok).toBe(true);
    expect(more().ok).toBe(true);
  });

  it('is archived as of its own time, also when many are due at once', () => {
    const world = new World(11);
    world.nowMs += 60_000;
    const draft = { name: 'Later', type: 11, auto_archive_duration: 60 };
    world.run('createThread', { channelId: PARENT, draft }, PEOPLE[0], PARENT);
    world.nowMs += 10 * HOUR_MS;
    world.archiveDue();
    const times = [...world.guild.threads.values()].map((record) => {
      const { archived, archive_timestamp: at } = record!.thread.thread_metadata;
      return archived && Date.parse(at) - NOW_MS;
    });
    expect(times).toEqual([HOUR_MS, HOUR_MS + 60_000]);
  });

  it('stays in the archive when a message would make one active thread too many', () => {
    const world = new World(11);
    const change = { channelId: world.threadId, draft: {}, threadChange: { archived: true } };
    expect(world.run('updateChannel', change, PEOPLE[0]).ok).toBe(true);
    const draft = { name: 'One more', type: 11 };
    for (let made = 0; made < 1_000; made += 1)
      world.run('createThread', { channelId: PARENT, draft }, PEOPLE[0], PARENT);
    const message = { ...creation({ content: 'x' }), channelId: world.threadId };
    expect(world.run('createMessage', message, PEOPLE[0])).toMatchObject({ refusal: { code: 160_006 } });
    const back = { ...change, threadChange: { archived: false } };
    expect(world.run('updateChannel', back, PEOPLE[0])).toMatchObject({ refusal: { code: 160_006 } });
    expect(world.record.thread.thread_metadata.archived).toBe(true);
  });

  it('is unarchived by a message, with the documented order of dispatches', () => {
    const world = new World(11);
    for (const id of [PEOPLE[0], PEOPLE[1]]) world.guild.audiences.add(new RecordingSession(id, id));
    world.run('joinThread', { channelId: world.threadId }, PEOPLE[1]);
    const change = { channelId: world.threadId, draft: {}, threadChange: { archived: true } };
    world.run('updateChannel', change, PEOPLE[0]);
    world.dispatches.length = 0;
    world.run('createMessage', { ...creation({ content: 'x' }), channelId: world.threadId }, PEOPLE[2]);
    expect(world.dispatches.map(({ t, to }) => [t, to.kind])).toEqual([
      ['THREAD_UPDATE', 'channel'],
      ['THREAD_MEMBER_UPDATE', 'users'],
      ['THREAD_MEMBER_UPDATE', 'users'],
      ['MESSAGE_CREATE', 'channel'],
      ['THREAD_CREATE', 'users'],
      ['THREAD_MEMBERS_UPDATE', 'channel'],
    ]);
    expect(world.dispatches[0]?.d).toMatchObject({ thread_metadata: { archived: false } });
  });
});

describe('a private thread that is not open to invitations', () => {
  const mention = (world: World, userId: string) => {
    const content = `<@${PEOPLE[2]}>`;
    const input = { ...creation({ content }), channelId: world.threadId };
    expect(world.run('createMessage', input, userId).ok).toBe(true);
    return world.record.members.has(PEOPLE[2] as UserId);
  };
  const arranged = () => {
    const world = new World(12);
    const input = { channelId: world.threadId, userId: PEOPLE[1] };
    world.run('addThreadMember', input, PEOPLE[0]);
    const change = { channelId: world.threadId, draft: {}, threadChange: { invitable: false } };
    expect(world.run('updateChannel', change, PEOPLE[0]).ok).toBe(true);
    return world;
  };

  it.each([
    ['its owner', PEOPLE[0], true],
    ['a member', PEOPLE[1], false],
    ['a moderator', MODERATOR, true],
  ])('adds a user that %s mentions: %s, %s', (_who, id, expected) => {
    expect(mention(arranged(), id)).toBe(expected);
  });

  it('is deleted for the members who see it and for moderators, also after a past time-out', () => {
    const world = arranged();
    const { guild } = world;
    for (const id of [...PEOPLE, MODERATOR]) guild.audiences.add(new RecordingSession(id, id));
    const moderator = guild.members.get(MODERATOR as UserId)!;
    const communication_disabled_until = new Date(world.nowMs - HOUR_MS).toISOString();
    guild.members.set(MODERATOR as UserId, { ...moderator, communication_disabled_until });
    world.dispatches.length = 0;
    expect(world.run('deleteChannel', { channelId: world.threadId }, MODERATOR).ok).toBe(true);
    expect(world.dispatches.find(({ t }) => t === 'THREAD_DELETE')?.to).toEqual({
      kind: 'users',
      userIds: [PEOPLE[0], PEOPLE[1], MODERATOR],
    });
  });
});
