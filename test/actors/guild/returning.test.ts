// Goal: a session that comes back to a guild knows it as those do who were there all the time.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { missedThreads } from '../../../actors/guild/guild.missed.ts';
import { DispatchStream } from '../../../actors/runtime/stream.ts';
import { buildGuild, channel, GUILD_ID, id } from '../../support/guild.ts';
import { ANN, BOB, FollowingSession, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';

let guild: OwnedGuild;
let ann: FollowingSession;
let bob: FollowingSession;
beforeEach(() => {
  guild = new OwnedGuild();
  ann = new FollowingSession('a1', ANN);
  bob = new FollowingSession('b1', BOB);
});
afterEach(() => {
  guild.close();
  expect(guild.faults).toEqual([]);
});

async function entered(...sessions: FollowingSession[]) {
  const entering = guild.enter(sessions);
  await settleAll();
  guild.owner.settle();
  return entering;
}

async function said(content: string) {
  const saying = guild.say(SQUARE, content);
  await settleAll();
  guild.owner.settle();
  await saying;
}

describe('a session that comes back', () => {
  it('receives the presences of users who came online from the next owner, though no record holds them', async () => {
    await entered(ann, bob);
    const away = new FollowingSession('b1', BOB);
    away.heard.push(['f', bob.cursor ?? 0]);
    const presence = { status: 'online', activities: [], client_status: {} } as never;
    await guild.call('setPresence', { userId: ANN as never, presence }, '0');
    await guild.handOver();
    await entered(away);
    expect(away.received.map(({ t }) => t)).toEqual(['PRESENCE_UPDATE']);
  });

  it('is refused as too old by the next owner when it missed a presence that the last owner had evicted', async () => {
    guild.close();
    guild = new OwnedGuild({ dispatchesMax: 2 });
    await entered(ann);
    const away = new FollowingSession('a1', ANN);
    away.heard.push(['f', ann.cursor ?? 0]);
    const presence = { status: 'online', activities: [], client_status: {} } as never;
    await guild.call('setPresence', { userId: BOB as never, presence }, '0');
    for (const text of ['one', 'two']) await said(text);
    await guild.handOver();
    expect(await entered(away)).toEqual(['tooOld']);
  });

  it('stays subscribed when it repeats its request with an evicted position', async () => {
    guild.close();
    guild = new OwnedGuild({ dispatchesMax: 2 });
    await entered(bob);
    const after = bob.cursor;
    for (const text of ['one', 'two', 'three']) await said(text);
    bob.heard.length = 0;
    bob.heard.push(['f', after ?? 0]);
    expect(await entered(bob)).toEqual(['member']);
    await said('four');
    expect(bob.messages).toEqual(['one', 'two', 'three', 'four']);
    expect(bob.received.filter(({ t }) => t === 'GUILD_CREATE')).toHaveLength(1);
  });

  it('receives each message once when it subscribes again after another object of the session has subscribed', async () => {
    await entered(ann);
    const other = new FollowingSession('a1', ANN);
    other.heard.push(['f', ann.cursor ?? 0]);
    const saying = guild.say(SQUARE, 'one');
    // Both ask while the message is on its way to the database.
    const entering = [guild.enter([other]), guild.enter([ann])];
    await settleAll();
    guild.owner.settle();
    await Promise.all([saying, ...entering]);
    await said('two');
    expect(ann.messages).toEqual(['one', 'two']);
  });

  it('is sent GUILD_CREATE when it asks for the guild whole after it has asked to continue', async () => {
    await entered(ann);
    // The actor before took the guild from the session while the first request was under way.
    const back = new FollowingSession('a1', ANN);
    back.heard.push(['f', ann.cursor ?? 0]);
    await guild.handOver();
    await entered(back);
    expect(back.received.map(({ t }) => t)).not.toContain('GUILD_CREATE');
    back.heard.length = 0;
    await entered(back);
    expect(back.received.map(({ t }) => t)).toEqual(['GUILD_CREATE']);
    back.heard.length = 0;
    await entered(back);
    expect(back.received.map(({ t }) => t)).toEqual(['GUILD_CREATE']);
  });

  it('receives what it missed, and then the guild again, when the actor that it followed has failed', async () => {
    await said('received');
    await entered(ann);
    const away = new FollowingSession('a1', ANN);
    away.heard.push(['f', ann.cursor ?? 0]);
    await said('missed');
    const failing = guild.say(SQUARE, 'in vain');
    await settleAll();
    for (const commit of guild.owner.waiting.splice(0)) commit.done(new Error('The disk is gone.'));
    await expect(failing).rejects.toThrow('The disk is gone.');
    await entered(away);
    expect(away.received.map(({ t }) => t)).toEqual(['MESSAGE_CREATE', 'GUILD_DELETE', 'GUILD_CREATE']);
    expect(away.messages).toEqual(['missed']);
    const created = away.received.at(-1)?.d as { member_count: number; members: object[] };
    expect(created.members).toHaveLength(3);
  });
});

describe('the archived threads that are read for returning sessions', () => {
  const [EVICTED, RECEIVED, MISSED] = ['50', '51', '52'] as const;
  const stream = new DispatchStream(GUILD_ID, 1, {
    ...{ dispatchesMax: 3, ageMs: 1e9, bytesMax: 1e9, numbers: { high: 0 } },
  });
  const [, received] = [EVICTED, RECEIVED, MISSED, SQUARE].map((channelId) =>
    stream.add({ t: 'MESSAGE_CREATE', d: {}, to: { kind: 'channel', channelId: id(channelId) } }, 0),
  );
  const returning = { after: received?.n ?? 0 };
  const newcomer = { after: null };
  const loaded = buildGuild({ channels: [channel(SQUARE)] });

  it.each([
    ['are those of the dispatches that a session missed', [returning], [MISSED]],
    ['are the same when a new session is subscribed with it', [returning, newcomer], [MISSED]],
    ['are none for a new session', [newcomer], []],
    ['are none for a session whose position was evicted', [{ after: 1 }], []],
  ])('%s', (_what, sessions, expected) => {
    expect(missedThreads(loaded, sessions, stream)).toEqual(expected);
  });
});
