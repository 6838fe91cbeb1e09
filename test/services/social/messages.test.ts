// Goal: people write to each other by their ids under the rules of permission, and a game receives only what was
// granted to it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import type { DirectDraft, Person } from '../../../services/social/ports.ts';
import { codeOf, openSocial, subscribe, told } from './arrange.ts';

let instance: Awaited<ReturnType<typeof openSocial>>;
beforeAll(async () => {
  instance = await openSocial();
}, 60_000);
afterAll(() => instance.close());

const HOUR_MS = 3_600_000;

const send = (by: Person, to: { readonly userId: UserId }, draft: DirectDraft | string = 'hello') =>
  instance.social.messages.send(by, to.userId, typeof draft === 'string' ? { content: draft } : draft);

interface Shown {
  readonly id: MessageId;
  readonly content: string;
  readonly channel: { readonly id: string; readonly type: number };
}

async function sent(by: Person, to: { readonly userId: UserId }, draft: DirectDraft | string = 'hello') {
  const reply = await send(by, to, draft);
  if (!reply.ok) throw new Error(JSON.stringify(reply.refusal));
  return reply.value as Shown;
}

async function listed(by: Person, to: { readonly userId: UserId }, limit = 50): Promise<Shown[]> {
  const reply = await instance.social.messages.list(by, to.userId, limit);
  if (!reply.ok) throw new Error(JSON.stringify(reply.refusal));
  return reply.value as Shown[];
}

describe('writing to another user', () => {
  it('is allowed to friends, and refused to strangers, to oneself and to bots', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    expect(codeOf(await send(ann, bob))).toBe(50278);
    expect(codeOf(await send(ann, ann))).toBe(50033);
    expect(codeOf(await send(ann, { userId: instance.botId }))).toBe(10013);
    await instance.befriend(ann, bob);
    expect(await sent(ann, bob)).toMatchObject({
      content: 'hello',
      author: { id: ann.userId },
      recipient_id: bob.userId,
      channel: { type: 1, recipients: [{ id: bob.userId }] },
    });
  });

  it('is allowed with a common guild, where a game may only continue a conversation', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game = await instance.game();
    const plays = await instance.playing(ann, game);
    await instance.guildOf(ann, bob);
    expect(codeOf(await send(plays, bob))).toBe(50278);
    await sent(ann, bob);
    await sent(plays, bob);
  });

  it('is allowed in the same game while both play it', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const [chess, go] = [await instance.game(), await instance.game('Go')];
    const [annPlays, bobPlays] = [await instance.playing(ann, chess), await instance.playing(bob, chess)];
    await instance.connect(annPlays);
    await instance.connect(await instance.playing(bob, go));
    expect(codeOf(await send(annPlays, bob))).toBe(50278);
    await instance.connect(bobPlays);
    await sent(annPlays, bob);
    instance.sessions.closeSessionsOfGrant(bob.userId, chess, { code: 4000, reason: '' });
    expect(codeOf(await send(annPlays, bob))).toBe(50278);
  });

  it('is refused in every way while either user blocks the other', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    await instance.befriend(ann, bob);
    const { channel } = await sent(ann, bob);
    const draft = { draft: { content: 'still here' }, attachments: [], forward: null };
    const authority = { ...SYSTEM, by: { ...SYSTEM.by, userId: ann.userId, system: undefined as never } };
    const directly = () =>
      instance.services.channels.call(channel.id as never, 'createMessage', draft, authority);
    expect(codeOf(await directly())).toBeNull();
    await instance.social.relationships.block(bob, ann.userId);
    expect(codeOf(await directly())).toBe(50007);
    expect(codeOf(await send(ann, bob))).toBe(50007);
    expect(codeOf(await send(bob, ann))).toBe(50007);
    await instance.social.relationships.remove(bob, ann.userId, null);
    // The block has ended the friendship: it is strangers who meet again.
    expect(codeOf(await directly())).toBe(50278);
    await instance.befriend(ann, bob);
    expect(codeOf(await directly())).toBeNull();
  });
});

describe('messages', () => {
  it('reach the sessions of games that may read them, and no other game', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game = await instance.game();
    const plays = await instance.playing(ann, game);
    await instance.befriend(ann, bob);
    const [reads, deaf, himself] = [
      await instance.connect(await instance.playing(bob, game)),
      await instance.connect(await instance.playing(bob, game, 'sdk.social_layer_presence')),
      await instance.connect(bob),
    ];
    const metadata = { map: 'de_dust' };
    const { id } = await sent(plays, bob, { content: 'gg', metadata });
    for (const { sink } of [reads, himself])
      expect(told(sink, 'MESSAGE_CREATE')).toMatchObject([
        { id, content: 'gg', application_id: game, metadata },
      ]);
    expect(deaf.sink.names).not.toContain('MESSAGE_CREATE');
  });

  it('are listed newest first, of three days, for a game that both have authorized', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game = await instance.game();
    const plays = await instance.playing(ann, game);
    await instance.befriend(ann, bob);
    expect(await listed(ann, bob)).toEqual([]);
    await sent(ann, bob, 'old');
    instance.clock.advance(72 * HOUR_MS + 1);
    await sent(ann, bob, 'one');
    await sent(bob, ann, 'two');
    expect((await listed(bob, ann)).map(({ content }) => content)).toEqual(['two', 'one']);
    expect((await listed(ann, bob, 1)).map(({ content }) => content)).toEqual(['two']);
    expect(codeOf(await instance.social.messages.list(plays, bob.userId, 50))).toBe(10013);
    await instance.playing(bob, game);
    expect(await listed(plays, bob)).toHaveLength(2);
  });

  it('are changed and deleted by their author, and moderated by their application', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game = await instance.game();
    const plays = await instance.playing(ann, game);
    await instance.befriend(ann, bob);
    const { messages } = instance.social;
    const { id } = await sent(plays, bob, 'frist');
    const bobAt = await instance.connect(bob);
    const of = (applicationId: ApplicationId) =>
      messages.moderate(applicationId, [bob.userId, ann.userId], id, { verdict: 'fine' });
    expect(codeOf(await of(await instance.game('Other')))).toBe(10008);
    expect(codeOf(await of(game))).toBeNull();
    expect(told(bobAt.sink, 'MESSAGE_UPDATE')).toMatchObject([{ moderation_metadata: { verdict: 'fine' } }]);
    expect(codeOf(await messages.edit(bob, ann.userId, id, 'mine'))).toBe(50005);
    const edited = await messages.edit(plays, bob.userId, id, 'first');
    expect(edited.ok && edited.value).toMatchObject({
      content: 'first',
      edited_timestamp: expect.any(String),
    });
    expect(edited.ok && edited.value).not.toHaveProperty('moderation_metadata');
    expect(codeOf(await messages.remove(bob, ann.userId, id))).not.toBeNull();
    expect(codeOf(await messages.remove(plays, bob.userId, id))).toBeNull();
    expect(await listed(ann, bob)).toEqual([]);
    expect(codeOf(await messages.edit(plays, bob.userId, id, 'gone'))).toBe(10008);
  });

  it('are queued for the owner of a game in the commit that stores them', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game = await instance.game();
    await subscribe(instance, game, ['GAME_DIRECT_MESSAGE_CREATE', 'GAME_DIRECT_MESSAGE_DELETE']);
    const plays = await instance.playing(ann, game);
    await instance.befriend(ann, bob);
    const { id } = await sent(plays, bob, 'hi');
    await instance.social.messages.edit(plays, bob.userId, id, 'hey');
    await instance.social.messages.remove(plays, bob.userId, id);
    await sent(ann, bob, 'not of the game');
    const queued = await instance.storage.webhookEvents.pending(game, 10);
    expect(queued.map(({ type, data }) => [type, (data as Shown).id, (data as Shown).content])).toEqual([
      ['GAME_DIRECT_MESSAGE_CREATE', id, 'hi'],
      ['GAME_DIRECT_MESSAGE_DELETE', id, 'hey'],
    ]);
  });

  it('queue an event for their game when the author changes them without it, in the channel or by user id', {
    retry: 2,
  }, async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game = await instance.game();
    await subscribe(instance, game, ['GAME_DIRECT_MESSAGE_UPDATE', 'GAME_DIRECT_MESSAGE_DELETE']);
    await instance.befriend(ann, bob);
    const { id, channel } = await sent(await instance.playing(ann, game), bob, 'hi');
    const own = await sent(ann, bob, 'not of the game');
    const by = { userId: ann.userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
    const change = (messageId: MessageId) => {
      const edit = { messageId, edit: { content: 'hey' }, keep: null, attachments: [] };
      return instance.services.channels.call(channel.id as ChannelId, 'updateMessage', edit, {
        by,
        requires: 0n,
      });
    };
    for (const messageId of [id, own.id]) expect(codeOf(await change(messageId))).toBeNull();
    expect(codeOf(await instance.social.messages.edit(ann, bob.userId, id, 'ho'))).toBeNull();
    for (const messageId of [id, own.id])
      await instance.services.channels.call(
        channel.id as ChannelId,
        'deleteMessage',
        { messageId },
        { by, requires: 0n },
      );
    const queued = await instance.storage.webhookEvents.pending(game, 10);
    expect(queued.map(({ type, data }) => [type, (data as Shown).id, (data as Shown).content])).toEqual([
      ['GAME_DIRECT_MESSAGE_UPDATE', id, 'hey'],
      ['GAME_DIRECT_MESSAGE_UPDATE', id, 'ho'],
      ['GAME_DIRECT_MESSAGE_DELETE', id, 'ho'],
    ]);
  });

  it('belong to a channel that both users see once it exists', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    expect(codeOf(await instance.social.messages.channel(ann, bob.userId))).toBe(10003);
    await instance.befriend(ann, bob);
    const { channel } = await sent(ann, bob);
    const shown = await instance.social.messages.channel(bob, ann.userId);
    expect(shown.ok && shown.value).toMatchObject({ id: channel.id, recipients: [{ id: ann.userId }] });
  });
});

describe('messages between provisional accounts', () => {
  const provisional = async (applicationId: ApplicationId, name: string) => {
    const reply = await instance.features.provisional.signInByBot(applicationId, name, name);
    if (!reply.ok || reply.value.kind !== 'tokens') throw new Error(JSON.stringify(reply));
    const token = reply.value.tokens.accessToken.reveal();
    const principal = await instance.features.oauth.authenticate(token);
    const { userId, authorization } = principal!;
    return { userId, authorization, token };
  };

  it('are delivered to sessions of the game and never stored', async () => {
    const game = await instance.game();
    const [ann, bob] = [await provisional(game, 'ann'), await provisional(game, 'bob')];
    await instance.befriend(ann, bob, game);
    const annAt = await instance.connect(ann);
    expect(codeOf(await send(ann, bob))).toBe(50007);
    const bobAt = await instance.connect(bob);
    const { id, channel } = await sent(ann, bob, 'psst');
    expect(channel).toMatchObject({ id: bob.userId, type: 18 });
    const seen = { id, content: 'psst', channel_type: 18 };
    expect(told(bobAt.sink, 'MESSAGE_CREATE')).toMatchObject([{ ...seen, channel_id: ann.userId }]);
    expect(told(annAt.sink, 'MESSAGE_CREATE')).toMatchObject([{ ...seen, channel_id: bob.userId }]);
    expect(await instance.storage.privateChannels.between(ann.userId, bob.userId)).toBeNull();
    expect(await listed(ann, bob)).toEqual([]);
    expect(codeOf(await send(ann, bob, { content: ' ' }))).toBe(50006);
  });
});
