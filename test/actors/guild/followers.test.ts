// Goal: other parts of the server hear of a guild's durable facts exactly what concerns them.
import { describe, expect, it } from 'vitest';
import { GUILD_FOLLOWERS, type GuildListener } from '../../../actors/guild/guild.followers.ts';
import { tellFollowers } from '../../../actors/runtime/aggregate.ts';
import { Audiences } from '../../../engine/fanout/audience.ts';
import type { Recipient } from '../../../engine/fanout/body.ts';
import type { GuildFact } from '../../../engine/guild/facts.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';

const GUILD = '1' as GuildId;
const ADA = '11' as UserId;
const BOB = '12' as UserId;

const session = { sessionId: 's', userId: BOB } as Recipient;

interface Heard {
  readonly calls: unknown[];
  readonly audiences: Audiences;
  readonly leaving: Map<GuildFact, readonly Recipient[]>;
}

function heard(facts: readonly object[], guild: Guild | null = null): Heard {
  const calls: unknown[] = [];
  const audiences = new Audiences([session]);
  const leaving = new Map((facts as readonly GuildFact[]).map((fact) => [fact, [session]]));
  const get =
    (_: object, name: string | symbol) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args, audiences.sessions.size]);
  const listener = new Proxy({}, { get }) as GuildListener;
  const to = { id: GUILD, listener, guild, audiences, lastNumber: 7, leaving };
  tellFollowers(GUILD_FOLLOWERS, facts as readonly GuildFact[], to);
  return { calls, audiences, leaving };
}

const person = { id: ADA };
const bot = { id: ADA, bot: true };

describe('the followers of a guild', () => {
  it.each<[string, object, unknown[]]>([
    ['a new member', { type: 'memberAdded', member: { user: person } }, [['memberJoined', GUILD, ADA]]],
    [
      'a new bot',
      { type: 'memberAdded', member: { user: bot } },
      [
        ['memberJoined', GUILD, ADA],
        ['botChanged', GUILD, ADA, 'created'],
      ],
    ],
    [
      'a removed member, with the position of the removal',
      { type: 'memberRemoved', user: person },
      [['memberLeft', GUILD, ADA, 7]],
    ],
    [
      'a removed bot',
      { type: 'memberRemoved', user: bot },
      [
        ['memberLeft', GUILD, ADA, 7],
        ['botChanged', GUILD, ADA, 'deleted'],
      ],
    ],
    [
      'a removed member who shows the tag of the guild',
      { type: 'memberRemoved', user: { ...person, primary_guild: { identity_guild_id: GUILD } } },
      [['memberLeft', GUILD, ADA, 7], ['tagsQueued']],
    ],
    [
      'a removed member who shows the tag of another guild',
      { type: 'memberRemoved', user: { ...person, primary_guild: { identity_guild_id: '2' } } },
      [['memberLeft', GUILD, ADA, 7]],
    ],
    ['another tag', { type: 'pageWritten', page: 'tag' }, [['tagsQueued']]],
    ['another page', { type: 'pageWritten', page: 'onboarding' }, []],
    ['a queued crosspost', { type: 'crosspostQueued' }, [['crossposted']]],
    ['a new event', { type: 'scheduledEventCreated', event: { due_ms: 5 } }, [['eventDue', 5]]],
    ['a changed event', { type: 'scheduledEventUpdated', event: { due_ms: 6 } }, [['eventDue', 6]]],
    ['another time of an event', { type: 'scheduledEventTimed', event: { due_ms: 0 } }, [['eventDue', 0]]],
    ['an event without a time', { type: 'scheduledEventUpdated', event: { due_ms: null } }, []],
    ['a fact that concerns nobody else', { type: 'roleCreated' }, []],
  ])('hear of %s', (_name, fact, expected) =>
    expect(heard([fact]).calls).toEqual(expected.map((call) => [...(call as unknown[]), 1])),
  );

  it('do not hear a second time of the sessions of a removal that is durable', () => {
    const added = { type: 'memberAdded', member: { user: person } };
    const { leaving } = heard([{ type: 'memberRemoved', user: person }, added]);
    expect([...leaving.keys()]).toEqual([added]);
  });

  it('hear that each member and each user with a session left a deleted guild, whose sessions are unsubscribed', () => {
    const { calls, audiences } = heard([{ type: 'guildDeleted', memberIds: [ADA, BOB] }]);
    expect(calls).toEqual([
      ['memberLeft', GUILD, ADA, 7, 1],
      ['memberLeft', GUILD, BOB, 7, 0],
    ]);
    expect(audiences.sessions.size).toBe(0);
  });

  it('hear that a user who is no member any more, but has a session, left a deleted guild', () => {
    expect(heard([{ type: 'guildDeleted', memberIds: [] }]).calls).toEqual([
      ['memberLeft', GUILD, BOB, 7, 0],
    ]);
  });

  it('hear of the tag of a deleted guild only when it had one', () => {
    const fact = { type: 'guildDeleted', memberIds: [] };
    const tagged = (tag: object | null) => heard([fact], { pages: { tag } } as Guild).calls.at(-1);
    expect(tagged({})).toEqual(['tagsQueued', 0]);
    expect(tagged(null)).toEqual(['memberLeft', GUILD, BOB, 7, 0]);
  });
});
