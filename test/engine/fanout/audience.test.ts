/** Goal: every session receives what it may see, nothing else, and the memo never outlives what it rests on. */
import { describe, expect, it } from 'vitest';
import { type Delivery, directRecipients } from '../../../engine/fanout/audience.ts';
import type { Recipient } from '../../../engine/fanout/body.ts';
import type { Audience, Dispatch } from '../../../engine/kernel/dispatch.ts';
import { DISPATCH, type DispatchName } from '../../../protocol/dispatches.ts';
import type { ApplicationId, RoleId } from '../../../protocol/ids.ts';
import { INTENTS, type IntentName } from '../../../protocol/intents.ts';
import { P } from '../../../protocol/permissions.ts';
import { expandScopes, type Scope } from '../../../protocol/scopes.ts';
import {
  buildGuild,
  channel,
  everyone,
  GUILD_ID,
  type GuildWithSessions,
  id,
  inRoom,
  member,
  message,
  OWNER_ID,
  only,
  overwrite,
  RecordingSession,
  role,
  user,
} from '../../support/guild.ts';

const NOW_MS = 1_780_000_000_000;
const at = (ms: number): string => new Date(ms).toISOString();

const ids = (sessions: readonly Recipient[]): string[] => sessions.map(({ sessionId }) => sessionId).sort();
/** All sessions that receive anything of a dispatch, sorted. */
const reached = (guild: GuildWithSessions, dispatch: Dispatch, nowMs = NOW_MS): string[] =>
  ids(guild.audiences.recipients(guild, dispatch, nowMs).flatMap(({ to }) => to));

/** Bots 10 to 12 and person 13, one session each but for 10, with room 30 open and room 31 for role 20 only. */
function instance(): GuildWithSessions {
  return buildGuild({
    everyone: P.VIEW_CHANNEL,
    roles: [role('20', 0n, 1)],
    members: ['10', '11', '12', '13'].map((userId) =>
      member(userId, { roles: userId === '11' ? ['20'] : [] }),
    ),
    channels: [
      channel('30'),
      channel('31', [
        overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL }),
        overwrite('20', 0, { allow: P.VIEW_CHANNEL }),
      ]),
    ],
    sessions: [
      new RecordingSession('a1', '10', ['GUILDS', 'GUILD_MESSAGES', 'MESSAGE_CONTENT']),
      new RecordingSession('a2', '10', ['GUILD_MESSAGES']),
      new RecordingSession('b', '11', ['GUILDS', 'GUILD_MESSAGES']),
      new RecordingSession('c', '12', ['GUILD_MEMBERS']),
      new RecordingSession('d', '13'),
    ],
  });
}

const deliveriesOf = (guild: GuildWithSessions, dispatch: Dispatch) =>
  guild.audiences.recipients(guild, dispatch, NOW_MS);

const said = (d: object, to: Audience = inRoom('30')): Dispatch => ({ t: 'MESSAGE_CREATE', d, to });

describe('intents', () => {
  it('gate bots and not people', () => {
    expect(reached(instance(), { t: 'GUILD_ROLE_CREATE', d: {}, to: everyone })).toEqual(['a1', 'b', 'd']);
    expect(reached(instance(), { t: 'GUILD_MEMBER_ADD', d: {}, to: everyone })).toEqual(['c', 'd']);
  });

  it('gate what is meant for some users too', () => {
    expect(reached(instance(), { t: 'CHANNEL_CREATE', d: {}, to: only('10', '12', '13') })).toEqual([
      'a1',
      'd',
    ]);
    expect(reached(instance(), { t: 'VOICE_SERVER_UPDATE', d: {}, to: only('10', '12', '99') })).toEqual([
      'a1',
      'a2',
      'c',
    ]);
  });

  it('do not keep a member update from the member itself', () => {
    const update = (userId: string, to: Audience): Dispatch => ({
      t: 'GUILD_MEMBER_UPDATE',
      d: { user: user(userId) },
      to,
    });
    expect(reached(instance(), update('10', everyone))).toEqual(['a1', 'a2', 'c', 'd']);
    expect(reached(instance(), update('13', everyone))).toEqual(['c', 'd']);
    expect(reached(instance(), update('10', only('10', '11')))).toEqual(['a1', 'a2']);
  });

  it('gate direct messages by an intent of their own', () => {
    const sessions = [
      new RecordingSession('x', '10', ['DIRECT_MESSAGES']),
      new RecordingSession('y', '10', ['GUILD_MESSAGES']),
      new RecordingSession('z', '13'),
    ];
    expect(ids(directRecipients(sessions, 'MESSAGE_CREATE'))).toEqual(['x', 'z']);
    expect(ids(directRecipients(sessions, 'USER_UPDATE'))).toEqual(['x', 'y', 'z']);
  });
});

describe('presences in a guild above the large threshold', () => {
  const THRESHOLD = 50;
  const changed = (userId: string): Dispatch => ({
    t: 'PRESENCE_UPDATE',
    d: { user: { id: userId }, status: 'idle' },
    to: everyone,
  });

  /** People 13 to 16 and a bot; 13 and 14 are in one call, 15 in another. */
  function crowd(memberCount: number): GuildWithSessions {
    const people = ['13', '14', '15', '16'];
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      members: ['10', ...people].map((userId) => member(userId)),
      channels: [channel('50', [], { type: 2 }), channel('51', [], { type: 2 })],
      sessions: [
        new RecordingSession('bot', '10', ['GUILD_PRESENCES']),
        new RecordingSession('blind', '10', ['GUILDS']),
        ...people.map((userId) =>
          Object.assign(new RecordingSession(userId, userId), { largeThreshold: THRESHOLD }),
        ),
      ],
    });
    guild.memberCount = memberCount;
    for (const [userId, channelId] of [
      ['13', '50'],
      ['14', '50'],
      ['15', '51'],
    ] as const)
      guild.voiceStates.set(id(userId), { user_id: userId, channel_id: channelId } as never);
    return guild;
  }

  it('reach people in the same call, the own sessions, and bots with the intent', () => {
    const guild = crowd(THRESHOLD + 1);
    expect(reached(guild, changed('13'))).toEqual(['13', '14', 'bot']);
    expect(reached(guild, changed('15'))).toEqual(['15', 'bot']);
    expect(reached(guild, changed('16'))).toEqual(['16', 'bot']);
    expect(reached(guild, changed('10'))).toEqual(['bot']);
    expect(reached(guild, { t: 'GUILD_MEMBER_ADD', d: {}, to: everyone })).toEqual(['13', '14', '15', '16']);
  });

  it('need the intent also when they are addressed to the user whom they are about', () => {
    expect(reached(crowd(THRESHOLD), { ...changed('10'), to: only('10', '13') })).toEqual(['13', 'bot']);
  });

  it('reach no application that acts for a person', () => {
    const guild = crowd(THRESHOLD + 1);
    const acting = {
      id: 'grant',
      applicationId: id<ApplicationId>('77'),
      scopes: expandScopes(['identify']),
      expiresMs: NOW_MS,
    };
    guild.audiences.add(
      Object.assign(new RecordingSession('acting', '16'), {
        largeThreshold: THRESHOLD,
        authorization: acting,
      }),
    );
    expect(reached(guild, changed('16'))).toEqual(['16', 'bot']);
  });

  it('reach everyone up to the threshold, also after members have left', () => {
    const guild = crowd(THRESHOLD + 1);
    expect(reached(guild, changed('16'))).toEqual(['16', 'bot']);
    guild.memberCount -= 1;
    guild.visibilityVersion += 1;
    expect(reached(guild, changed('16'))).toEqual(['13', '14', '15', '16', 'bot']);
  });

  it('reach only sessions of members', () => {
    const guild = crowd(THRESHOLD + 1);
    guild.members.set(id('14'), null);
    guild.visibilityVersion += 1;
    expect(reached(guild, changed('13'))).toEqual(['13', 'bot']);
  });

  it('go to the sessions that a user has now', () => {
    const guild = crowd(THRESHOLD + 1);
    const second = Object.assign(new RecordingSession('second', '16'), { largeThreshold: THRESHOLD });
    guild.audiences.add(second);
    guild.audiences.add(Object.assign(new RecordingSession('16', '16'), { largeThreshold: THRESHOLD }));
    expect(reached(guild, changed('16'))).toEqual(['16', 'bot', 'second']);
    guild.audiences.delete('16');
    guild.audiences.delete('16');
    expect(reached(guild, changed('16'))).toEqual(['bot', 'second']);
    expect(guild.audiences.sessionCounts.get(id('16'))).toBe(1);
    guild.audiences.delete('second');
    expect(guild.audiences.sessionCounts.has(id('16'))).toBe(false);
  });
});

describe('an application that acts for a user', () => {
  const acting = (scopes: readonly Scope[], intents: readonly IntentName[]): Recipient =>
    Object.assign(new RecordingSession('app', '13'), {
      intents: intents.reduce((all, name) => all | INTENTS[name], 0),
      authorization: { id: '1', applicationId: '3' as ApplicationId, scopes: new Set(scopes), expiresMs: 0 },
    });
  const SOCIAL = [...expandScopes(['sdk.social_layer'])];
  const ALL = Object.keys(INTENTS) as IntentName[];

  it('receives no dispatch of guilds, whatever its scopes and intents', () => {
    const guild = instance();
    const session = acting(SOCIAL, ALL);
    guild.audiences.add(session);
    guild.visibilityVersion++;
    for (const t of Object.keys(DISPATCH) as DispatchName[])
      for (const to of [everyone, inRoom('30'), only('10')])
        expect(reached(guild, { t, d: {}, to }), t).not.toContain('app');
  });

  it.each([
    ['MESSAGE_CREATE', ['dm_channels.messages.read'], ['DIRECT_MESSAGES'], true],
    ['MESSAGE_CREATE', ['dm_channels.messages.read'], ['GUILD_MESSAGES'], false],
    ['MESSAGE_CREATE', ['dm_channels.read', 'messages.read'], ['DIRECT_MESSAGES'], false],
    ['TYPING_START', SOCIAL, ALL, false],
    ['CHANNEL_CREATE', ['dm_channels.read'], ['PRIVATE_CHANNELS'], true],
    ['CHANNEL_CREATE', ['dm_channels.read'], ['GUILDS'], false],
    ['CALL_CREATE', ['voice'], ['CALLS'], true],
    ['CALL_CREATE', ['voice'], [], false],
    ['CALL_CREATE', SOCIAL, ALL, false],
    ['PRESENCE_UPDATE', ['presences.read'], ['USER_PRESENCE'], true],
    ['PRESENCE_UPDATE', ['activities.read'], ['USER_PRESENCE'], true],
    ['PRESENCE_UPDATE', ['activities.read'], ['GUILD_PRESENCES'], false],
    ['PRESENCE_UPDATE', ['activities.write'], ['USER_PRESENCE'], false],
    ['RELATIONSHIP_ADD', ['relationships.read'], ['USER_RELATIONSHIPS'], true],
    ['RELATIONSHIP_ADD', [], ['USER_RELATIONSHIPS'], false],
    ['LOBBY_CREATE', ['lobbies.write'], ['LOBBIES'], true],
    ['LOBBY_DELETE', ['lobbies.write'], ['LOBBIES'], false],
    ['OAUTH2_TOKEN_REVOKE', [], [], true],
    ['ENTITLEMENT_CREATE', SOCIAL, ALL, false],
  ] as const)('receives %s with the scopes %j and the intents %j: %s', (t, scopes, intents, heard) => {
    expect(directRecipients([acting(scopes, intents)], t)).toHaveLength(heard ? 1 : 0);
  });
});

describe('permissions', () => {
  it('exclude members who may not see the channel', () => {
    expect(reached(instance(), said({ author: user('13') }, inRoom('31')))).toEqual(['b']);
    expect(reached(instance(), said({ author: user('13') }, inRoom('99')))).toEqual([]);
  });

  it('apply to a deleted channel as they were before', () => {
    const guild = instance();
    const gone = guild.channels.get(id('31'))!;
    guild.channels.delete(id('31'));
    // An empty audience before the change is not remembered.
    expect(reached(guild, { t: 'CHANNEL_UPDATE', d: gone, to: inRoom('31') })).toEqual([]);
    expect(reached(guild, { t: 'CHANNEL_DELETE', d: gone, to: inRoom('31') })).toEqual(['b']);
  });

  it("exclude users without the permission of the dispatch's row", () => {
    const guild = instance();
    const ban: Dispatch = { t: 'GUILD_BAN_ADD', d: { user: user('40') }, to: everyone };
    expect(reached(guild, ban)).toEqual([]);
    guild.members.set(id('13'), member('13', { roles: ['20'] }));
    guild.roles.set(id<RoleId>('20'), role('20', P.VIEW_AUDIT_LOG, 1));
    guild.visibilityVersion++;
    expect(reached(guild, ban)).toEqual(['d']);
  });

  it('leave out who is no longer a member', () => {
    const guild = instance();
    guild.members.set(id('13'), null);
    guild.members.delete(id('11'));
    expect(reached(guild, { t: 'GUILD_UPDATE', d: {}, to: everyone })).toEqual(['a1']);
    expect(reached(guild, said({ author: user('10') }))).toEqual(['a1', 'a2']);
  });

  it('come back by themselves when a time-out ends, and not before', () => {
    const guild = instance();
    guild.roles.set(id<RoleId>('20'), role('20', P.MANAGE_CHANNELS, 1));
    const restrained = (userId: string, untilMs: number) =>
      guild.members.set(
        id(userId),
        member(userId, { roles: ['20'], communication_disabled_until: at(untilMs) }),
      );
    restrained('13', NOW_MS + 10);
    restrained(OWNER_ID, NOW_MS + 5);
    const invite: Dispatch = { t: 'INVITE_CREATE', d: {}, to: inRoom('30') };
    const elsewhere: Dispatch = { t: 'INVITE_DELETE', d: {}, to: inRoom('31') };
    expect(reached(guild, invite)).toEqual([]);
    expect(reached(guild, elsewhere)).toEqual([]);
    expect(reached(guild, invite, NOW_MS + 9)).toEqual([]);
    expect(reached(guild, invite, NOW_MS + 10)).toEqual(['d']);
    expect(reached(guild, elsewhere, NOW_MS + 10)).toEqual(['d']);
    expect(reached(guild, said({ author: user('13') }), NOW_MS)).toContain('d');
  });
});

describe('the end of a time-out', () => {
  it('reaches both halves of a split by content', () => {
    const guild = instance();
    guild.roles.set(id<RoleId>('20'), role('20', P.MANAGE_GUILD, 1));
    guild.audiences.add(new RecordingSession('m', '12', ['AUTO_MODERATION_EXECUTION']));
    guild.audiences.add(new RecordingSession('n', '11', ['AUTO_MODERATION_EXECUTION']));
    guild.members.set(
      id('12'),
      member('12', { roles: ['20'], communication_disabled_until: at(NOW_MS + 1) }),
    );
    const d = { content: 'bad', matched_content: 'bad', matched_keyword: 'bad' };
    const execution: Dispatch = { t: 'AUTO_MODERATION_ACTION_EXECUTION', d, to: everyone };
    expect(reached(guild, execution)).toEqual(['n']);
    expect(reached(guild, execution, NOW_MS + 1)).toEqual(['m', 'n']);
    expect(guild.audiences.recipients(guild, execution, NOW_MS + 1)[0]!.d).toEqual({
      ...d,
      content: '',
      matched_content: '',
    });
  });
});

describe('shared verdicts', () => {
  const invite = (channelId: string): Dispatch => ({ t: 'INVITE_CREATE', d: {}, to: inRoom(channelId) });
  const managed = (): GuildWithSessions => {
    const guild = instance();
    guild.roles.set(id<RoleId>('20'), role('20', P.MANAGE_CHANNELS, 1));
    guild.audiences.add(new RecordingSession('e', '14'));
    for (const userId of ['13', '14']) guild.members.set(id(userId), member(userId, { roles: ['20'] }));
    return guild;
  };

  it.each([{ communication_disabled_until: at(NOW_MS + 1) }, { flags: 1 << 7 }])(
    'do not carry over between a member restrained by %o and others with the same roles',
    (restraint) => {
      for (const [restrained, free] of [
        ['13', 'e'],
        ['14', 'd'],
      ] as const) {
        const guild = managed();
        guild.members.set(id(restrained), member(restrained, { roles: ['20'], ...restraint }));
        expect(reached(guild, invite('30'))).toEqual([free]);
      }
    },
  );

  it('do not carry over from members to the owner', () => {
    const guild = instance();
    guild.audiences.add(new RecordingSession('o', OWNER_ID));
    expect(reached(guild, invite('30'))).toEqual(['o']);
  });

  it('do not carry over from a text channel to a voice channel with the same overwrites', () => {
    const guild = managed();
    guild.channels.set(id('32'), channel('32', [], { type: 2 }));
    expect(reached(guild, invite('30'))).toEqual(['d', 'e']);
    expect(reached(guild, invite('32'))).toEqual([]);
  });
});

describe('content', () => {
  const blanked = { content: '', embeds: [], attachments: [], components: [] };
  const byPayload = (deliveries: Delivery[]) =>
    Object.fromEntries(
      deliveries.map(({ d, to }) => [(d as { content: string }).content || 'blank', ids(to)]),
    );

  it('is one payload when everyone may read it', () => {
    const guild = instance();
    guild.audiences.delete('a2');
    guild.audiences.delete('b');
    const d = message('13');
    const [delivery, ...more] = guild.audiences.recipients(guild, said(d), NOW_MS);
    expect(delivery!.d).toBe(d);
    expect(ids(delivery!.to)).toEqual(['a1', 'd']);
    expect(more).toEqual([]);
  });

  it('is blanked for bots without the intent', () => {
    const d = message('13');
    const deliveries = deliveriesOf(instance(), said(d));
    expect(byPayload(deliveries)).toEqual({ hello: ['a1', 'd'], blank: ['a2', 'b'] });
    const { poll: _, ...rest } = d;
    expect(deliveries[1]!.d).toEqual({ ...rest, ...blanked });
    expect(d.content).toBe('hello');
  });

  it('is left to the author and to those it mentions', () => {
    expect(byPayload(deliveriesOf(instance(), said(message('11'))))).toEqual({
      hello: ['a1', 'b', 'd'],
      blank: ['a2'],
    });
    expect(byPayload(deliveriesOf(instance(), said(message('13', ['10', '11', '99']))))).toEqual({
      hello: ['a1', 'a2', 'b', 'd'],
    });
    expect(byPayload(deliveriesOf(instance(), said(message('11'), only('10', '11'))))).toEqual({
      hello: ['a1', 'b'],
      blank: ['a2'],
    });
  });

  it('is blanked in what a message quotes and forwards', () => {
    const quoted = message('12');
    const d = {
      ...message('13'),
      referenced_message: quoted,
      message_snapshots: [{ message: { content: 'x', embeds: [{}], attachments: [], type: 0 } }],
    };
    expect(deliveriesOf(instance(), said(d))[1]!.d).toMatchObject({
      ...blanked,
      referenced_message: blanked,
      message_snapshots: [{ message: { content: '', embeds: [], attachments: [], type: 0 } }],
    });
    expect(quoted.content).toBe('hello');
  });

  it('adds no field that was absent', () => {
    const d = { id: '50', author: user('13'), content: 'hello', referenced_message: null };
    expect(deliveriesOf(instance(), said(d))[1]!.d).toEqual({ ...d, content: '' });
  });
});

describe('memo', () => {
  it('hands out the same list until something changes', () => {
    const guild = instance();
    const list = () =>
      guild.audiences.recipients(guild, said({ author: user('13') }), NOW_MS).map(({ to }) => to);
    const [first, second] = [list(), list()];
    for (const [index, to] of first.entries()) expect(to).toBe(second[index]);
    guild.visibilityVersion++;
    for (const [index, to] of list().entries()) expect(to).not.toBe(first[index]);
  });

  it('lets a dispatch in flight keep its list', () => {
    const guild = instance();
    const [{ to }] = guild.audiences.recipients(
      guild,
      { t: 'GUILD_UPDATE', d: {}, to: everyone },
      NOW_MS,
    ) as [Delivery];
    const before = [...to];
    guild.audiences.add(new RecordingSession('e', '13'));
    guild.visibilityVersion++;
    expect(reached(guild, { t: 'GUILD_UPDATE', d: {}, to: everyone })).toEqual(['a1', 'b', 'd', 'e']);
    expect(to).toEqual(before);
  });

  it('shares one list between channels with the same overwrites, and between rows that demand the same', () => {
    const guild = instance();
    guild.channels.set(id('32'), { ...guild.channels.get(id('31'))!, id: id('32') });
    const list = (t: DispatchName, channelId: string) =>
      guild.audiences.recipients(guild, { t, d: {}, to: inRoom(channelId) }, NOW_MS)[0]!.to;
    expect(list('MESSAGE_DELETE', '31')).toBe(list('MESSAGE_DELETE', '32'));
    expect(list('MESSAGE_DELETE_BULK', '31')).toBe(list('MESSAGE_DELETE', '31'));
    expect(list('MESSAGE_DELETE', '31')).not.toBe(list('MESSAGE_DELETE', '30'));
  });

  it('is dropped rather than let grow without bound', () => {
    const guild = instance();
    for (let index = 0; index < 200_000; index += 1) {
      const sessionId = `s${index}`;
      guild.audiences.add(new RecordingSession(sessionId, '13', []));
    }
    for (let channelId = 100; channelId < 160; channelId += 1) {
      guild.channels.set(id(channelId), channel(String(channelId)));
      reached(guild, { t: 'MESSAGE_DELETE', d: {}, to: inRoom(String(channelId)) });
    }
    expect(guild.audiences.listCount).toBeLessThanOrEqual(41);
  });
});

describe('the subscribed sessions', () => {
  it('are counted for each user, once for each id, and a user without any has no count', () => {
    const { audiences } = instance();
    const counts = () => Object.fromEntries(audiences.sessionCounts);
    expect(counts()).toEqual({ 10: 2, 11: 1, 12: 1, 13: 1 });
    audiences.add(new RecordingSession('a2', '10'));
    audiences.delete('unknown');
    audiences.delete('b');
    audiences.delete('b');
    audiences.delete('a1');
    expect(counts()).toEqual({ 10: 1, 12: 1, 13: 1 });
    expect([...audiences.sessions.keys()].sort()).toEqual(['a2', 'c', 'd']);
  });
});
