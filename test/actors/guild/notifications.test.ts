// Goal: the listener of a guild is notified exactly of the durable facts that concern it.
import { describe, expect, it } from 'vitest';
import { GUILD_NOTIFICATIONS, type GuildListener } from '../../../actors/guild/guild.notifications.ts';
import { notifyListeners } from '../../../actors/runtime/aggregate.ts';
import { Audiences } from '../../../engine/fanout/audience.ts';
import type { Recipient } from '../../../engine/fanout/body.ts';
import type { GuildFact } from '../../../engine/guild/facts.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';

const GUILD = '1' as GuildId;
const ADA = '11' as UserId;
const BOB = '12' as UserId;

const session = { sessionId: 's', userId: BOB } as Recipient;

interface Notified {
  readonly calls: unknown[];
  readonly audiences: Audiences;
  readonly leaving: Map<GuildFact, readonly Recipient[]>;
}

function notified(facts: readonly object[], guild: Guild | null = null): Notified {
  const calls: unknown[] = [];
  const audiences = new Audiences([session]);
  const leaving = new Map((facts as readonly GuildFact[]).map((fact) => [fact, [session]]));
  const get =
    (_: object, name: string | symbol) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args, audiences.sessions.size]);
  const listener = new Proxy({}, { get }) as GuildListener;
  const to = { id: GUILD, listener, guild, audiences, lastNumber: 7, leaving };
  notifyListeners(GUILD_NOTIFICATIONS, facts as readonly GuildFact[], to);
  return { calls, audiences, leaving };
}

const person = { id: ADA };
const bot = { id: ADA, bot: true };

describe('the listener of a guild', () => {
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
    ['no created role', { type: 'roleCreated' }, []],
  ])('is notified of %s', (_name, fact, expected) =>
    expect(notified([fact]).calls).toEqual(expected.map((call) => [...(call as unknown[]), 1])),
  );

  it('is not notified again of the sessions of a removal that is durable', () => {
    const added = { type: 'memberAdded', member: { user: person } };
    const { leaving } = notified([{ type: 'memberRemoved', user: person }, added]);
    expect([...leaving.keys()]).toEqual([added]);
  });

  it('is notified that each member and each user with a session left a deleted guild, whose sessions are unsubscribed', () => {
    const { calls, audiences } = notified([{ type: 'guildDeleted', memberIds: [ADA, BOB] }]);
    expect(calls).toEqual([
      ['memberLeft', GUILD, ADA, 7, 1],
      ['memberLeft', GUILD, BOB, 7, 0],
    ]);
    expect(audiences.sessions.size).toBe(0);
  });

  it('is notified that a user with a session left a deleted guild, although the user is no member any more', () => {
    expect(notified([{ type: 'guildDeleted', memberIds: [] }]).calls).toEqual([
      ['memberLeft', GUILD, BOB, 7, 0],
    ]);
  });

  it('is notified of the tag of a deleted guild only when it had one', () => {
    const fact = { type: 'guildDeleted', memberIds: [] };
    const tagged = (tag: object | null) => notified([fact], { pages: { tag } } as Guild).calls.at(-1);
    expect(tagged({})).toEqual(['tagsQueued', 0]);
    expect(tagged(null)).toEqual(['memberLeft', GUILD, BOB, 7, 0]);
  });
});
