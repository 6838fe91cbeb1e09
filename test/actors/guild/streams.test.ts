// Goal: a guild's subscribers receive each dispatch once, in order, from any owner; a repeated command has one effect.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../engine/guild/guild.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import {
  ANN,
  BOB,
  CELLAR,
  FollowingSession,
  OwnedGuild,
  SQUARE,
  sees,
  settleAll,
} from '../../support/ownedguild.ts';

let guild: OwnedGuild;
let ann: FollowingSession;
let bob: FollowingSession;
beforeEach(() => arrange());
afterEach(() => {
  guild.close();
  expect(guild.faults).toEqual([]);
});

function arrange(...bounds: ConstructorParameters<typeof OwnedGuild>) {
  guild = new OwnedGuild(...bounds);
  ann = new FollowingSession('a1', ANN);
  bob = new FollowingSession('b1', BOB);
}

async function said(channelId: string, content: string, commandKey: string | null = null) {
  const saying = guild.say(channelId, content, commandKey);
  await settleAll();
  guild.owner.settle();
  return saying;
}

async function entered(...sessions: FollowingSession[]) {
  const entering = guild.enter(sessions);
  await settleAll();
  guild.owner.settle();
  return entering;
}

const kinds = (session: FollowingSession) => session.heard.map(([kind]) => kind).join('');

describe('a session that follows a guild', () => {
  it('receives the guild, then its stream position, then later dispatches', async () => {
    await said(SQUARE, 'before');
    await entered(ann);
    await said(SQUARE, 'one');
    await said(CELLAR, 'two');
    expect([kinds(ann), ann.messages]).toEqual(['cfdd', ['one', 'two']]);
    const [, [, n], [, first], [, second]] = ann.heard as [
      never,
      [never, number],
      [never, number],
      [never, number],
    ];
    expect([first > n, second > first]).toEqual([true, true]);
  });

  it('receives on its return what it missed and may see, in order, before anything later', async () => {
    await entered(ann, bob);
    await said(SQUARE, 'one');
    const away = [new FollowingSession('a1', ANN), new FollowingSession('b1', BOB)];
    for (const [at, was] of [ann, bob].entries()) away[at]?.heard.push(['f', was.cursor ?? 0]);
    for (const [channelId, text] of [
      [SQUARE, 'two'],
      [CELLAR, 'three'],
      [SQUARE, 'four'],
    ] as const)
      await said(channelId, text);
    expect(await entered(...away)).toEqual(['member', 'member']);
    await said(SQUARE, 'five');
    expect(away.map(({ messages }) => messages)).toEqual([
      ['two', 'three', 'four', 'five'],
      ['two', 'four', 'five'],
    ]);
    expect(away.map(kinds)).toEqual(['fdddfd', 'fddfd']);
    expect(ann.messages).not.toContain('five');
  });

  it('receives a dispatch once, and only when durable, if it returns during the commit', async () => {
    await entered(ann);
    const again = new FollowingSession('a1', ANN);
    again.heard.push(['f', ann.cursor ?? 0]);
    const saying = guild.say(SQUARE, 'under way');
    await settleAll();
    const entering = guild.enter([again]);
    await settleAll();
    const later = guild.say(SQUARE, 'later');
    await settleAll();
    expect([kinds(again), again.messages]).toEqual(['f', []]);
    guild.owner.settle();
    await Promise.all([saying, entering, later]);
    expect([kinds(again), again.messages]).toEqual(['fdfd', ['under way', 'later']]);
  });

  it('does not receive dispatches of hidden channels, nor a dispatch twice', async () => {
    await entered(bob);
    await said(CELLAR, 'secret');
    const again = new FollowingSession('b1', BOB);
    again.heard.push(['f', bob.cursor ?? 0]);
    await entered(again);
    expect([kinds(again), again.messages]).toEqual(['ff', []]);
    expect(again.cursor).toBeGreaterThan(bob.cursor ?? 0);
  });

  it('is refused as too old, and receives nothing, after too long an absence', async () => {
    guild.close();
    arrange({ dispatchesMax: 2 });
    await entered(bob);
    ann.heard.push(['f', bob.cursor ?? 0]);
    for (const text of ['one', 'two', 'three']) await said(SQUARE, text);
    expect(await entered(ann)).toEqual(['tooOld']);
    await said(SQUARE, 'four');
    expect(ann.messages).toEqual([]);
    expect(bob.messages).toEqual(['one', 'two', 'three', 'four']);
  });

  it('is sent its position, though it may see little, before earlier dispatches are evicted', async () => {
    guild.close();
    arrange({ dispatchesMax: 4 });
    await entered(ann, bob);
    for (let n = 0; n < 20; n += 1) await said(CELLAR, `secret ${n}`);
    const again = new FollowingSession('b1', BOB);
    again.heard.push(['f', bob.cursor ?? 0]);
    expect(bob.messages).toEqual([]);
    expect(await entered(again)).toEqual(['member']);
    expect(kinds(ann).match(/f/g)?.length).toBeLessThan(8);
  });

  it('is refused when its user is no member', async () => {
    const stranger = new FollowingSession('s1', '99');
    expect(await entered(stranger, ann)).toEqual(['gone', 'member']);
    expect([kinds(stranger), kinds(ann)]).toEqual(['', 'cf']);
  });
});

describe('the next owner', () => {
  it('sends after a crash exactly the dispatches that the last owner had made durable', async () => {
    await entered(ann, bob);
    await said(SQUARE, 'one');
    const cut = guild.say(SQUARE, 'durable, told to nobody');
    await settleAll();
    const lost = guild.say(SQUARE, 'not durable');
    await settleAll();
    guild.crash(1);
    await expect(cut).rejects.toBeInstanceOf(LinkFault);
    await expect(lost).rejects.toBeInstanceOf(LinkFault);
    expect(await entered(ann, bob)).toEqual(['member', 'member']);
    await said(SQUARE, 'two');
    for (const session of [ann, bob])
      expect(session.messages).toEqual(['one', 'durable, told to nobody', 'two']);
  });

  it('receives the stream positions of sessions from the last owner', async () => {
    await entered(ann);
    await said(SQUARE, 'one');
    const before = guild.owner;
    const pending = guild.say(SQUARE, 'under way');
    await settleAll();
    guild.crash();
    await expect(pending).rejects.toThrow();
    expect(before.departedAt).toBe(ann.cursor);
    expect(before.lost).toEqual([]);
  });

  it('knows how much of the stream was evicted', async () => {
    guild.close();
    arrange({}, 2);
    await entered(bob);
    ann.heard.push(['f', bob.cursor ?? 0]);
    for (const text of ['one', 'two', 'three']) await said(SQUARE, text);
    guild.crash();
    expect(await entered(ann, bob)).toEqual(['tooOld', 'member']);
  });

  it('requests a session that was still arriving again instead of refusing it', async () => {
    await entered(bob);
    const pending = guild.say(SQUARE, 'under way');
    await settleAll();
    const arriving = guild.enter([ann]);
    await settleAll();
    guild.crash();
    await expect(pending).rejects.toThrow();
    await expect(arriving).rejects.toBeInstanceOf(NotServed);
    expect(ann.heard).toEqual([]);
  });

  it('reuses no stream number after a fault on the same shard', async () => {
    await entered(ann);
    await guild.call('startTyping', { channelId: SQUARE as never });
    const [, told = 0] = ann.heard.at(-1) ?? [];
    const failing = guild.say(SQUARE, 'in vain');
    await settleAll();
    for (const commit of guild.owner.waiting.splice(0)) commit.done(new Error('The disk is gone.'));
    await expect(failing).rejects.toThrow('The disk is gone.');
    expect(guild.owner.lost).toEqual(['a1']);
    const again = new FollowingSession('a1', ANN);
    await entered(again);
    await said(SQUARE, 'one');
    expect(again.heard.filter(([kind, n]) => kind !== 'c' && n <= told)).toEqual([]);
  });

  it('refuses a commit that an earlier owner of the same shard prepared', async () => {
    await entered(ann);
    guild.rows.epoch += 1;
    const late = guild.say(SQUARE, 'late');
    await settleAll();
    guild.owner.settle();
    await expect(late).rejects.toBeInstanceOf(NotServed);
    expect([ann.messages, guild.rows.messages.size, guild.owner.lost]).toEqual([[], 0, []]);
  });
});

describe('a guild that is handed over', () => {
  const present = (userId: string) => {
    const presence = { status: 'online', activities: [], client_status: {} } as never;
    return guild.call('setPresence', { userId: userId as never, presence }, '0');
  };
  const look = async () => {
    const shown = new FollowingSession(`look${Math.random()}`, ANN);
    await entered(shown);
    const created = shown.received.find(({ t }) => t === 'GUILD_CREATE');
    return created?.d as { presences: unknown[]; voice_states: { user_id: string }[] };
  };

  it('keeps presences and voice states, and notifies the calls', async () => {
    await entered(ann, bob);
    await present(ANN);
    await guild.inVoice(BOB, 'b1');
    await guild.handOver();
    expect(await entered(ann, bob)).toEqual(['member', 'member']);
    expect(guild.owner.seats).toEqual([`+${BOB}`]);
    const shown = await look();
    expect([shown.presences.length, shown.voice_states.map(({ user_id }) => user_id)]).toEqual([1, [BOB]]);
    // Nothing has changed, so nothing is dispatched.
    await present(ANN);
    expect(ann.received.filter(({ t }) => t === 'PRESENCE_UPDATE')).toHaveLength(1);
  });

  it('removes voice states of users who do not return', async () => {
    await entered(ann, bob);
    await guild.inVoice(ANN, 'a1');
    await guild.inVoice(BOB, 'b1');
    await guild.handOver();
    await entered(ann);
    guild.clock.advance(29_000);
    await settleAll();
    expect(guild.owner.seats).toEqual([`+${ANN}`]);
    guild.clock.advance(2_000);
    await settleAll();
    guild.owner.settle();
    expect(guild.owner.seats).toEqual([`+${ANN}`]);
    const last = ann.received.at(-1);
    expect([last?.t, last?.d]).toMatchObject(['VOICE_STATE_UPDATE', { user_id: BOB, channel_id: null }]);
  });

  it('keeps voice states over a crash', async () => {
    await entered(bob);
    await guild.inVoice(BOB, 'b1');
    guild.crash();
    await entered(bob);
    expect((await look()).voice_states.map(({ user_id }) => user_id)).toEqual([BOB]);
    // Bob leaves voice, so that he is not in it in the next run either.
    await guild.inVoice(BOB, 'b1', null);
    guild.crash();
    await entered(bob);
    expect((await look()).voice_states).toEqual([]);
  });

  it('removes voice states of users who are no members any more', async () => {
    await entered(bob);
    await guild.inVoice(BOB, 'b1');
    guild.crash();
    guild.rows.members.delete(BOB);
    await entered(ann);
    expect((await look()).voice_states).toEqual([]);
    expect(guild.owner.seats).toEqual([]);
  });
});

describe('a command that is sent again', () => {
  const count = () => guild.rows.messages.size;

  it('runs once, and returns the same reply', async () => {
    const first = guild.say(SQUARE, 'hello', 'k1');
    await settleAll();
    const second = guild.say(SQUARE, 'hello', 'k1');
    await settleAll();
    guild.owner.settle();
    const third = guild.say(SQUARE, 'hello', 'k1');
    const [a, b, c] = await Promise.all([first, second, third]);
    expect([b, c, count()]).toEqual([a, a, 1]);
  });

  it('runs once at the next owner too, whether the first reply arrived or not', async () => {
    await entered(bob);
    const known = await said(SQUARE, 'hello', 'k1');
    const unheard = guild.say(SQUARE, 'unheard', 'k2');
    await settleAll();
    guild.crash(1);
    await expect(unheard).rejects.toMatchObject({ kind: 'lost' });
    const again = await Promise.all([guild.say(SQUARE, 'hello', 'k1'), guild.say(SQUARE, 'unheard', 'k2')]);
    expect(again[0]).toEqual(JSON.parse(JSON.stringify(known)));
    expect(again[1]).toMatchObject({ ok: true, value: { message: { content: 'unheard' } } });
    expect(count()).toBe(2);
  });

  it('is refused again after a handover, though its author is permitted by then', async () => {
    await entered(bob);
    const refused = await guild.say(CELLAR, 'let me in', 'k1', BOB);
    expect(refused.ok).toBe(false);
    await guild.handOver();
    guild.rows.members.set(BOB, { ...guild.rows.members.get(BOB), roles: ['40'] } as never);
    expect(await guild.say(CELLAR, 'let me in', 'k1', BOB)).toEqual(refused);
    const other = guild.say(CELLAR, 'let me in', 'k2', BOB);
    await settleAll();
    guild.owner.settle();
    expect((await other).ok).toBe(true);
  });

  it('has one effect and one answer, over any changes of owner', async () => {
    guild.close();
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ act: fc.constant('send' as const), key: fc.nat(4) }) },
      { weight: 3, arbitrary: fc.record({ act: fc.constant('settle' as const), key: fc.nat(3) }) },
      {
        weight: 1,
        arbitrary: fc.record({ act: fc.constantFrom('crash' as const, 'handOver' as const), key: fc.nat(2) }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        arrange();
        const answers = new Map<number, Set<string>>();
        const under: Promise<unknown>[] = [];
        const send = (key: number) => {
          const answered = guild.say(SQUARE, `message ${key}`, `key ${key}`).then(
            (reply) => {
              const all = answers.get(key) ?? new Set();
              answers.set(key, all.add(JSON.stringify(reply)));
            },
            // A client without an answer repeats its request.
            () => undefined,
          );
          under.push(answered);
        };
        for (const { act, key } of steps) {
          if (act === 'send') send(key);
          else if (act === 'settle') guild.owner.settle(key);
          else if (act === 'handOver') await guild.handOver();
          else guild.crash(key);
          await settleAll();
        }
        const sent = new Set(steps.flatMap(({ act, key }) => (act === 'send' ? [key] : [])));
        for (const key of sent) send(key);
        await settleAll();
        guild.owner.settle();
        await Promise.all(under);
        const contents = [...guild.rows.messages.values()].map(({ content }) => content).sort();
        expect(contents).toEqual([...sent].sort().map((key) => `message ${key}`));
        for (const key of sent) expect(answers.get(key)?.size).toBe(1);
        guild.close();
      }),
      { numRuns: 60 },
    );
  });
});

const ACTS =
  'square square square cellar cellar typing settle settle settle enter enter break crash handOver'.split(
    ' ',
  );

describe('any interleaving of commands, sessions and owners', () => {
  const step = fc.record({
    act: fc.constantFrom(...ACTS),
    at: fc.nat(3),
  });
  const steps = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' });

  it('delivers to each session every durable dispatch that it may see once and in order', async () => {
    guild.close();
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (all, narrow) => {
        if (narrow) arrange({ dispatchesMax: 6 }, 9);
        else arrange();
        const sessions = [ann, bob, new FollowingSession('a2', ANN)];
        await play(all, sessions);
        for (const session of sessions) {
          expect(inOrder(session)).toBe(true);
          expect(session.messages).toEqual(dueTo(session));
          if (!narrow) expect(kinds(session).match(/c/g)).toHaveLength(1);
        }
        guild.close();
      }),
      { numRuns: 120 },
    );
  }, 30_000);

  async function play(all: readonly { act: string; at: number }[], sessions: readonly FollowingSession[]) {
    const under: Promise<unknown>[] = [];
    /** A home asks once at a time for each session. */
    const asking = new Set<FollowingSession>();
    const enter = async (wanted: readonly FollowingSession[]): Promise<void> => {
      const asked = wanted.filter((session) => !asking.has(session));
      for (const session of asked) asking.add(session);
      const outcomes = await guild.enter(asked).catch(() => []);
      for (const session of asked) asking.delete(session);
      const late = asked.filter((_, at) => outcomes[at] === 'tooOld');
      if (late.length > 0) await guild.enter(late, true).catch(() => undefined);
    };
    for (const [n, { act, at }] of all.entries()) {
      const some = at === 3 ? sessions : sessions.slice(at, at + 1);
      if (act === 'square') under.push(guild.say(SQUARE, `m${n}`).catch(() => undefined));
      else if (act === 'cellar') under.push(guild.say(CELLAR, `m${n}`).catch(() => undefined));
      else if (act === 'typing') {
        const typing = guild.call('startTyping', { channelId: SQUARE as never });
        under.push(typing.catch(() => undefined));
      } else if (act === 'settle') guild.owner.settle(at + 1);
      else if (act === 'enter') under.push(enter(some));
      else if (act === 'handOver') await guild.handOver();
      else if (act === 'break') {
        for (const session of some) {
          session.breakOff();
          asking.delete(session);
        }
        under.push(enter(some));
      } else guild.crash(at);
      // Not always: commands and sessions also come side by side.
      if (at !== 1) await settleAll();
    }
    const rest = async (): Promise<void> => {
      for (let turn = 0; turn < 4; turn += 1) {
        await settleAll();
        guild.owner.settle();
      }
    };
    await rest();
    under.push(enter(sessions));
    await rest();
    const unanswered = new Set(under);
    for (const each of under) void each.then(() => unanswered.delete(each));
    await settleAll();
    expect(unanswered.size).toBe(0);
  }

  function inOrder({ heard }: FollowingSession): boolean {
    let last = 0;
    return heard.every(([kind, n]) => {
      const follows = kind === 'c' || (kind === 'd' ? n > last : n >= last);
      last = Math.max(last, n);
      return follows;
    });
  }

  /** Messages that the session is due: from each GUILD_CREATE it received up to the next one. */
  function dueTo({ heard, userId }: FollowingSession): string[] {
    const spans: { from: number | null; to: number }[] = [];
    for (const [kind, n] of heard) {
      const span = spans.at(-1);
      if (kind === 'c') spans.push({ from: null, to: 0 });
      else if (span) {
        span.from ??= n;
        span.to = n;
      }
    }
    const last = spans.at(-1);
    if (last) last.to = Number.POSITIVE_INFINITY;
    return guild.rows.records
      .flatMap(({ dispatches }) => dispatches)
      .filter(
        ({ t, n }) => t === 'MESSAGE_CREATE' && spans.some(({ from, to }) => n > (from ?? n) && n <= to),
      )
      .sort((a, b) => a.n - b.n)
      .map(({ d }) => d as StoredMessage)
      .filter(({ channel_id }) => sees(userId, channel_id))
      .map(({ content }) => content);
  }
});
