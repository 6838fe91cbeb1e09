// Goal: invited users can join an activity while it runs, and no other user receives its secret.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import type { ActivityTarget, DirectDraft, Person } from '../../../services/social/ports.ts';
import { until } from '../../support/instance.ts';
import { codeOf, openSocial, told } from './arrange.ts';

let instance: Awaited<ReturnType<typeof openSocial>>;
beforeAll(async () => {
  instance = await openSocial();
}, 60_000);
afterAll(() => instance.close());

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Player = Awaited<ReturnType<typeof instance.playing>>;

/** Two friends in one game; the first is at the board with a party that can be joined. */
async function atTheBoard(...scopes: Parameters<typeof instance.playing>[2][]) {
  const [ann, bob] = [await instance.person('ann'), await instance.person('bob')];
  const game = await instance.game();
  await instance.befriend(ann, bob);
  const [annPlays, bobPlays] = [
    await instance.playing(ann, game),
    await instance.playing(bob, game, ...scopes),
  ];
  const [annAt, bobAt] = [await instance.connect(annPlays), await instance.connect(bobPlays)];
  const play = (more: object = {}) =>
    annAt.session.ask({
      name: 'presence',
      input: {
        since: null,
        status: 'online' as never,
        afk: false,
        activities: [
          {
            name: 'Chess',
            type: 0,
            party: { id: 'table 1', size: [1, 2] },
            secrets: { join: 'sesame' },
            ...more,
          },
        ] as never,
      },
    });
  play();
  return { ann, bob, game, annPlays, bobPlays, annAt, bobAt, play };
}

const invite = (by: Person, to: Person, activity: Partial<DirectDraft['activity']>, content = 'come') =>
  instance.social.messages.send(by, to.userId, {
    content,
    activity: { type: 1, sessionId: null, partyId: null, ...activity },
  });

const accept = (by: Person, target: Omit<ActivityTarget, 'action'> & { readonly action?: 1 | 2 }) =>
  instance.social.activities.accept(by, { action: 1, ...target });

interface Invited {
  readonly id: MessageId;
  readonly channel_id: ChannelId;
}

async function invited(player: Player, to: Person, sessionId: string): Promise<ActivityTarget['invite']> {
  const reply = await invite(player, to, { sessionId, partyId: 'table 1' });
  if (!reply.ok) throw new Error(JSON.stringify(reply.refusal));
  const { id: messageId, channel_id: channelId } = reply.value as Invited;
  return { channelId, messageId };
}

describe('rich presence', () => {
  it('shows friends everything except the secrets', async () => {
    const { ann, bob } = await atTheBoard();
    const bobHimself = await instance.connect(bob);
    const { annAt, play } = await atTheBoard();
    expect(annAt.session).toBeDefined();
    play({ details: 'Opening' });
    expect(JSON.stringify(bobHimself.sink.dispatches)).not.toContain('sesame');
    const [ready] = told<{ presences: object[] }>(bobHimself.sink, 'READY');
    expect(ready?.presences).toMatchObject([
      { user: { id: ann.userId }, activities: [{ name: 'Chess', party: { id: 'table 1' }, flags: 2 }] },
    ]);
  });

  it('returns the URLs of its buttons to users who see it', async () => {
    const { ann, bob, game, annAt, play } = await atTheBoard();
    play({ buttons: [{ label: 'Watch', url: 'https://chess.test/1' }] });
    const target = { userId: ann.userId, sessionId: annAt.id, applicationId: game };
    const shown = await instance.social.activities.metadata(bob, target);
    expect(shown.ok && shown.value.button_urls).toEqual(['https://chess.test/1']);
    expect(codeOf(await instance.social.activities.metadata(await instance.person(), target))).toBe(10020);
  });
});

describe('an invite', () => {
  it('gives the secret to its recipient', async () => {
    const { ann, bob, game, annPlays, bobPlays, annAt } = await atTheBoard();
    const bobHimself = await instance.connect(bob);
    const sent = await invited(annPlays, bob, annAt.id);
    expect(told(bobHimself.sink, 'MESSAGE_CREATE')).toMatchObject([
      {
        content: 'come',
        activity: { type: 1, party_id: 'table 1', session_id: annAt.id },
        application: { id: game, name: 'Chess', type: null },
        application_id: game,
      },
    ]);
    const target = { userId: ann.userId, sessionId: annAt.id, applicationId: game, invite: sent };
    expect(await accept(bobPlays, target)).toEqual({ ok: true, value: { secret: 'sesame' } });
    expect(codeOf(await accept(bobPlays, { ...target, action: 2 }))).toBe(50039);
    const stranger = await instance.person();
    expect(codeOf(await accept(stranger, target))).toBe(50039);
    expect(codeOf(await accept(bobPlays, { ...target, userId: bob.userId }))).toBe(10020);
    expect(codeOf(await accept(bobPlays, { ...target, applicationId: await instance.game('Other') }))).toBe(
      10020,
    );
    expect(codeOf(await accept(bobPlays, { ...target, invite: null }))).toBe(50039);
  });

  it('ends with the party, the session, a block, and after six hours', async () => {
    const { ann, bob, game, annPlays, bobPlays, annAt, play } = await atTheBoard();
    const sent = await invited(annPlays, bob, annAt.id);
    const target = { userId: ann.userId, sessionId: annAt.id, applicationId: game, invite: sent };
    play({ party: { id: 'table 2' } });
    expect(codeOf(await accept(bobPlays, target))).toBe(50039);
    play();
    instance.clock.advance(6 * HOUR_MS);
    expect(codeOf(await accept(bobPlays, target))).toBeNull();
    instance.clock.advance(1);
    expect(codeOf(await accept(bobPlays, target))).toBe(50039);
    const again = { ...target, invite: await invited(annPlays, bob, annAt.id) };
    await instance.social.relationships.block(ann, bob.userId);
    expect(codeOf(await accept(bobPlays, again))).toBe(10020);
    await instance.social.relationships.remove(ann, bob.userId, null);
    expect(codeOf(await accept(bobPlays, again))).toBeNull();
    instance.sessions.closeSessionsOfGrant(ann.userId, game, { code: 4000, reason: '' });
    expect(codeOf(await accept(bobPlays, again))).toBe(10020);
  });

  it("must refer to an activity of the sender in the sender's own session", async () => {
    const { bob, annPlays, annAt, bobAt } = await atTheBoard();
    expect(codeOf(await invite(annPlays, bob, { sessionId: bobAt.id }))).toBe(50039);
    expect(codeOf(await invite(annPlays, bob, { sessionId: annAt.id, partyId: 'table 9' }))).toBe(50039);
    expect(codeOf(await invite(annPlays, bob, {}))).toBe(50039);
  });

  it('can be requested from a user with a party', async () => {
    const { ann, bobPlays, annPlays } = await atTheBoard();
    const asked = await invite(bobPlays, ann, { type: 5, partyId: 'table 1' }, '');
    expect(asked.ok && asked.value).toMatchObject({
      content: '',
      activity: { type: 5, party_id: 'table 1' },
    });
    expect(codeOf(await invite(annPlays, bobPlays, { type: 5 }))).toBe(50039);
  });

  it('reaches a game that may not read messages as its own dispatch, and such a game sends no text with it', async () => {
    const { ann, game, bobPlays, annPlays, annAt, bobAt } = await atTheBoard('sdk.social_layer_presence');
    await invited(annPlays, bobPlays, annAt.id);
    expect(bobAt.sink.names).not.toContain('MESSAGE_CREATE');
    expect(told(bobAt.sink, 'ACTIVITY_INVITE_CREATE')).toMatchObject([
      {
        message_id: expect.any(String),
        channel_id: expect.any(String),
        author: { id: ann.userId },
        application: { id: game },
        activity: { type: 1, party_id: 'table 1' },
      },
    ]);
    expect(annAt.sink.names).not.toContain('ACTIVITY_INVITE_CREATE');
    const asked = await invite(bobPlays, ann, { type: 5 }, 'let me in!');
    expect(asked.ok && asked.value).toMatchObject({ content: '' });
    const plain = instance.social.messages.send(bobPlays, ann.userId, { content: 'hi' });
    expect(codeOf(await plain)).toBe(50026);
  });

  it('is not needed by friends when the party is open to them', async () => {
    const { ann, game, bobPlays, annAt, play } = await atTheBoard();
    play({ party: { id: 'table 1', privacy: 1 } });
    const target = { userId: ann.userId, sessionId: annAt.id, applicationId: game, invite: null };
    expect(codeOf(await accept(bobPlays, target))).toBeNull();
    const stranger = await instance.playing(await instance.person(), game);
    expect(codeOf(await accept(stranger, target))).toBe(50039);
  });
});

describe('a headless session', () => {
  const activity = { name: 'Go', type: 0, secrets: { join: 's' }, party: { id: 'p' } };

  it('shows activities for 20 minutes unless renewed or ended', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game: ApplicationId = await instance.game('Go');
    const plays = await instance.playing(ann, game);
    await instance.befriend(ann, bob);
    const { sink } = await instance.connect(bob);
    const { activities } = instance.social;
    const seen = () => told(sink, 'PRESENCE_UPDATE').map(({ status }) => status);
    const begun = await activities.startHeadless(plays, [activity], null);
    if (!begun.ok) throw new Error('not begun');
    await until(() => seen().at(-1) === 'online', 'the presence');
    expect(told(sink, 'PRESENCE_UPDATE').at(-1)).toMatchObject({
      user: { id: ann.userId },
      activities: [{ name: 'Go', application_id: game }],
    });
    const { token } = begun.value;
    instance.clock.advance(19 * MINUTE_MS);
    expect(codeOf(await activities.startHeadless(plays, [activity], 'another'))).toBe(10020);
    expect(codeOf(await activities.startHeadless(plays, [activity], token))).toBeNull();
    instance.clock.advance(19 * MINUTE_MS);
    expect(seen().at(-1)).toBe('online');
    instance.clock.advance(2 * MINUTE_MS);
    await until(() => seen().at(-1) === 'offline', 'the end');
    expect(codeOf(await activities.endHeadless(plays, token))).toBe(10020);
    const again = await activities.startHeadless(plays, [activity], null);
    await until(() => seen().at(-1) === 'online', 'the presence again');
    expect(codeOf(await activities.endHeadless(plays, again.ok ? again.value.token : ''))).toBeNull();
    await until(() => seen().at(-1) === 'offline', 'the end again');
  });

  it("ends when the application's grant is revoked", async () => {
    const [ann, bob, game] = [await instance.person(), await instance.person(), await instance.game()];
    await instance.befriend(ann, bob);
    const { sink } = await instance.connect(bob);
    const plays = await instance.playing(ann, game);
    const begun = await instance.social.activities.startHeadless(plays, [{ name: 'Chess', type: 0 }], null);
    expect(codeOf(begun)).toBeNull();
    await until(() => told(sink, 'PRESENCE_UPDATE').length > 0, 'a presence');
    await instance.features.oauth.deauthorize(ann.userId, game);
    await until(() => told(sink, 'PRESENCE_UPDATE').length > 1, 'another presence');
    expect(told(sink, 'PRESENCE_UPDATE').at(-1)).toMatchObject({ status: 'offline', activities: [] });
    const token = begun.ok ? begun.value.token : '';
    expect(codeOf(await instance.social.activities.endHeadless(plays, token))).toBe(10020);
  });

  it('shows nothing for an invalid activity', async () => {
    const plays = await instance.playing(await instance.person(), await instance.game());
    expect(codeOf(await instance.social.activities.startHeadless(plays, [{ type: 99 }], null))).toBe(50035);
    expect(instance.users.presenceOf(plays.userId as UserId)).toBeNull();
  });
});
