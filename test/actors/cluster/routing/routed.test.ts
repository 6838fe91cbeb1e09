// Goal: a function of a part runs at the owner of its key with the arguments and the command key of its call, and a part among shards is used like the part itself.
import { describe, expect, expectTypeOf, test, vi } from 'vitest';
import { routingOver } from '../../../../actors/cluster/routing/routed.ts';
import { HERE, type RoutedCall, type Routes } from '../../../../actors/placement/routing.ts';
import { SYSTEM } from '../../../../engine/kernel/authority.ts';
import { type ChannelId, isChannelId, type UserId } from '../../../../protocol/ids.ts';
import { CATALOGUE } from '../../../../protocol/link.ts';
import { id } from '../../../support/guild.ts';
import { routerOf } from '../routed.ts';

const OURS = id<UserId>(1);
const THEIRS = id<UserId>(2);
const context = { deadlineMs: 100, commandKey: null, trace: 't' };

type Rules = {
  readonly getLobby: { input: object; value: null };
  readonly readLobby: { input: object; value: null };
};
const RULES = { name: 'lobby', commands: { getLobby: {}, readLobby: { repeatable: true } } } as const;

/** Shard `a`, which owns `OURS`; `b` owns `THEIRS`. */
function arrange() {
  const made = routerOf(undefined, CATALOGUE);
  made.give(OURS, 'a');
  made.give(THEIRS, 'b');
  return { ...made, routing: routingOver(made.placement) };
}

describe('a routed function', () => {
  test('runs here for an own key and at the owner for another, for this shard and for callers elsewhere', async () => {
    const { routing, asked, scene, router } = arrange();
    const blocks = routing.ask('friends.blocks', async (_userId: UserId, other: UserId) => other === THEIRS);
    scene.answer = async () => false;
    expect(await blocks(OURS, THEIRS)).toBe(true);
    expect(asked).toEqual([]);
    expect(await blocks(THEIRS, OURS)).toBe(false);
    expect(asked).toMatchObject([{ to: 'b', method: 'friends.blocks', args: [THEIRS, OURS] }]);
    const elsewhere = { ...context, key: OURS };
    expect(await router.handler.ask('b', 'friends.blocks', [OURS, THEIRS], elsewhere)).toBe(true);
  });

  test('gets the command key last when its method is keyed, here and from another shard', async () => {
    const { routing, asked, scene, router } = arrange();
    const seen: unknown[] = [];
    const command = routing.command<ChannelId, Rules>(
      'lobby.command',
      RULES,
      isChannelId,
      async (...args) => {
        seen.push(args[4]);
        return { ok: true, value: null };
      },
    );
    const [ours, theirs] = [id<ChannelId>(1), id<ChannelId>(2)];
    await command(ours, 'getLobby', {}, SYSTEM);
    await router.handler.ask('b', 'lobby.command', [ours, 'getLobby', {}, SYSTEM], {
      ...context,
      ...{ key: ours, commandKey: 'theirs' },
    });
    expect(seen).toEqual([expect.stringMatching(/^\S+$/), 'theirs']);
    scene.answer = async () => ({ ok: true, value: null });
    await command(theirs, 'getLobby', {}, SYSTEM);
    expect(asked).toMatchObject([{ args: [theirs, 'getLobby', {}, SYSTEM] }]);
    expect(asked[0]?.context.commandKey).toMatch(/^\S+$/);
  });

  test('sends a repeatable command without a key, and refuses names that are no command of the aggregate', async () => {
    const { routing, asked, scene, router } = arrange();
    const command = routing.command<ChannelId, Rules>('lobby.command', RULES, isChannelId, async () => ({
      ok: true,
      value: null,
    }));
    const [ours, theirs] = [id<ChannelId>(1), id<ChannelId>(2)];
    scene.answer = async () => ({ ok: true, value: null });
    await command(theirs, 'readLobby', {}, SYSTEM);
    expect(asked[0]?.context.commandKey).toBeNull();
    for (const name of ['toString', '__proto__', 'deleteEverything'])
      await expect(
        router.handler.ask('b', 'lobby.command', [ours, name, {}, SYSTEM], { ...context, key: ours }),
      ).rejects.toMatchObject({ kind: 'failed', message: `Unknown command of lobby: ${name}.` });
  });

  test.each([
    ['a list', [], 'Malformed call of lobby.command: argument 3 must be command input, got object.'],
    ['text as a channel', { channelId: 'hall' }, /argument 3 must be command input/],
    ['an object as a user', { userId: { $ne: null } }, /argument 3 must be command input/],
  ])('does not run for a command from another shard whose input has %s', async (_, input, message) => {
    const { routing, router } = arrange();
    const run = vi.fn(async () => ({ ok: true, value: null }) as const);
    routing.command<ChannelId, Rules>('lobby.command', RULES, isChannelId, run);
    const ours = id<ChannelId>(1);
    const sent = router.handler.ask('b', 'lobby.command', [ours, 'getLobby', input, SYSTEM], {
      ...context,
      key: ours,
    });
    await expect(sent).rejects.toThrow(message);
    expect(run).not.toHaveBeenCalled();
  });

  test('has exactly the parameters of its method: a handler that wants more of them does not compile', () => {
    type Forget = RoutedCall<'attempts.forget', void>;
    expectTypeOf<(key: string, kind: string) => void>().toExtend<Forget>();
    expectTypeOf<(key: string, kind: 'login') => void>().not.toExtend<Forget>();
    type Change = RoutedCall<'lobbies.changeUser', void>;
    expectTypeOf<(id: ChannelId, user: { readonly id: UserId }) => void>().toExtend<Change>();
    expectTypeOf<(id: ChannelId, user: { readonly x: number }) => void>().not.toExtend<Change>();
    type Narrow = { part(userId: UserId, other: '7'): Promise<boolean> };
    type Route = Exclude<Routes<Narrow>['part'], 'local'>['method'];
    expectTypeOf<Route>().toEqualTypeOf<never>();
  });

  test('runs at the owner also without an answer, and one for all shards runs here and on every other shard', () => {
    const { routing, told, router } = arrange();
    const ran: unknown[] = [];
    const forget = routing.tell('attempts.forget', (key, kind) => void ran.push([key, kind]));
    forget(OURS, 'login');
    forget(THEIRS, 'login');
    router.handler.notified('b', [
      { kind: 'tell', method: 'attempts.forget', key: OURS, args: [OURS, 'login'] },
    ]);
    expect(ran).toEqual([
      [OURS, 'login'],
      [OURS, 'login'],
    ]);
    const drop = routing.tellAll('oauth.forget', (userId: UserId) => void ran.push(userId));
    drop(OURS);
    expect(ran.at(-1)).toBe(OURS);
    expect(told.map(({ to, frame }) => [to, frame.kind === 'tell' && frame.method])).toEqual([
      ['b', 'attempts.forget'],
      ['b', 'oauth.forget'],
      ['c', 'oauth.forget'],
    ]);
  });
});

describe('a routed part', () => {
  interface Part {
    readonly size: number;
    local(text: string): string;
    forget(userId: UserId): Promise<void>;
    readonly inner: { blocks(userId: UserId, other: UserId): Promise<boolean> };
  }
  const ROUTES: Routes<Part> = {
    ...{ size: 'local', local: 'local' },
    forget: { method: 'friends.forget', key: (userId) => (userId === THEIRS ? null : userId) },
    inner: { blocks: { method: 'friends.blocks', key: (_userId, other) => other } },
  };
  function makePart() {
    let size = 0;
    return {
      get size() {
        return size;
      },
      local: (text: string) => `${text} ${size}`,
      forget: async () => {
        size += 1;
      },
      inner: { blocks: async () => true },
    };
  }

  test('returns the part itself in a standalone process', () => {
    const part = makePart();
    expect(HERE.service<Part>(part, ROUTES)).toBe(part);
  });

  test('runs each method at the owner that its route names, reads getters each time, and runs here without an owner', async () => {
    const { routing, asked, scene } = arrange();
    const part = routing.service<Part>(makePart(), ROUTES);
    await part.forget(OURS);
    await part.forget(THEIRS);
    expect([part.size, part.local('after'), asked]).toEqual([2, 'after 2', []]);
    scene.answer = async () => false;
    expect([await part.inner.blocks(THEIRS, OURS), await part.inner.blocks(OURS, THEIRS)]).toEqual([
      true,
      false,
    ]);
    expect(asked).toMatchObject([{ to: 'b', args: [OURS, THEIRS], context: { key: THEIRS } }]);
  });
});
