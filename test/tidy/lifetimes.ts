import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

/** Rooms that are handed a lifetime. The others are packages of their own, or may not import from the actors. */
const HANDED = /^(actors|services|transports|compose|cli)\/|^[^/]+\.ts$/;

/** Flags that say that something has ended or ends, and those that say so by falling. */
const ENDED =
  /^(is|has|was)?(over|lost|gone|done|dead|down|shut(down|ting)?|left|quit(ting)?|torn(down)?|(clos|stopp|mov|end|finish|terminat|complet|abort|destroy|dispos|cancell?|drain|kill|halt|detach|releas|discard|retir|expir|disconnect|exit|cease|conclud)(ed|ing|d)?)$/i;
const LIVE = /^(is|was)?(open|live|alive|running|active|connected|attached|up)$/i;

/** Classes and files with an end of their own, each for a reason. */
const ENDS_ALLOWED = new Map([
  // They implement the lifetime and the wheel that ends with it.
  ['actors/runtime/clock.ts Lifetime', ['#isOver']],
  ['actors/runtime/wheel.ts TimerWheel', ['#stopped']],
  // Between this end and that of the process, both still answer: other shards ask again, work is refused.
  ['actors/runtime/registry.ts Registry', ['#isClosed']],
  ['actors/session/archive.ts ClusterArchive', ['#closed']],
  // The state of one request, socket, connection or stream, which its other side may end.
  ['transports/activities/forward.ts Exchange', ['#isOver']],
  ['transports/activities/inbound.ts Inbound', ['#isOver']],
  ['transports/activities/pool.ts Pool', ['#isClosed']],
  ['transports/cluster/directory.etcd.ts EtcdDirectory', ['#closed']],
  ['transports/cluster/directory.supervised.ts SupervisedDirectory', ['#closed']],
  ['transports/cluster/etcd.streams.ts', ['over']],
  ['transports/cluster/peer.ts Peer', ['#closed']],
  ['transports/cluster/replyqueue.ts ReplyQueue', ['#isClosed']],
  ['transports/http/exchange.ts Exchange', ['#over']],
  ['transports/outgoing/endpoints.ts', ['isOpen']],
  ['transports/recording/recorder.ts', ['isOver']],
  // The server accepts nothing new, and still answers what it has accepted.
  ['transports/http/exchange.ts', ['draining']],
  ['transports/http/server.ts', ['open']],
  ['transports/http/upgrade.ts SocketUpgrades', ['#draining']],
  // What has happened to a shard since it last served; the flag falls again when it has rejoined.
  ['actors/session/rejoin.ts', ['wasLost']],
  // The result of one pass over a queue: whether all of it succeeded.
  ['services/guilds/tags.ts', ['isDone']],
  ['services/webhooks/crossposts.ts Crossposts', ['isDone']],
  // Commands of the terminal, which end with their process.
  ['cli/calls.ts', ['isOver']],
  ['cli/replaybot.ts', ['isOver']],
  ['cli/supervisor.ts Supervisor', ['#isEnding']],
  ['cli/top.ts', ['isOver']],
]);

const TIMERS = new Set(['setTimeout', 'setInterval', 'setImmediate']);
/** A signal that no scope ends. */
const DEADLINE = /^AbortSignal(\??\.timeout|\??\.?\[\W*timeout\W*)$/;

/** Rooms of the server; the client library and the pages run without its clock. */
const TIMED = /^(?!(sdk|web|bench|test|scripts|examples|deploy|docs|templates)\/)/;

/** Files that begin timers without a clock, each for a reason. */
const TIMERS_ALLOWED = new Set([
  'actors/runtime/clock.ts', // The clock.
  // The media plane runs in threads of its own, and imports nothing from the actors.
  'media/io/lane.ts',
  'media/io/plane.ts',
  'media/io/supervised.ts',
  'media/io/thread.ts',
  'media/webrtc/peers.ts',
  // The storage imports nothing from the actors either; these bound one request, one close and one turn.
  'storage/blob/blobs.s3.ts',
  'storage/database/driver.ts',
  'storage/database/postgres.ts',
  // Timeouts of one socket or request, which clear them.
  'transports/activities/sockets.ts',
  'transports/admin/port.ts',
  // Deadlines of one outgoing HTTP call: their signal keeps no process alive.
  'transports/admin/cluster.ts',
  'transports/admin/front.ts',
  'transports/outgoing/endpoints.ts',
  'transports/outgoing/providers.ts',
  'transports/payments/stripe.http.ts',
  'cli/doctor.ts',
  'cli/login.ts',
  'cli/remote.ts',
  'cli/replayplayer.ts',
  // Processes that must not end before their timers: those of the clock do not keep a process alive.
  'cli/process.ts',
  'cli/replaybot.ts',
  'cli/replayconnection.ts',
  'cli/serve.ts',
  'cli/shard.ts',
  'cli/supervisor.ts',
]);

/** The name of a field or variable; private ones with `#`. */
const nameOf = (node: Node): string =>
  `${node.type === 'PrivateIdentifier' ? '#' : ''}${node.name as string}`;

/** Whether a field or variable is a flag: it begins as a boolean, or is declared as one. */
function isFlag(initial: Node | null, annotated: Node | null | undefined): boolean {
  const type = annotated?.typeAnnotation as Node | undefined;
  return typeof initial?.value === 'boolean' || type?.type === 'TSBooleanKeyword';
}

/** The name of a mutable flag that says that its owner has ended; null for other nodes. */
function endOf(node: Node, parents: readonly Node[]): string | null {
  const isMember = node.type === 'PropertyDefinition' || node.type === 'TSPropertySignature';
  const isField = isMember && node.readonly !== true;
  const isVariable = node.type === 'VariableDeclarator' && parents[0]?.kind === 'let';
  if (!isField && !isVariable) return null;
  const named = (isField ? node.key : node.id) as Node;
  const initial = (isField ? (node.value ?? null) : node.init) as Node | null;
  const annotated = (isField ? node.typeAnnotation : named.typeAnnotation) as Node | null | undefined;
  const name = nameOf(named);
  const word = name.replace('#', '');
  const isEnd = ENDED.test(word) || (initial?.value === true && LIVE.test(word));
  return isEnd && isFlag(initial, annotated) ? name : null;
}

/** Where the flag stands: the file, with the class of a field. */
function placeOf(path: string, parents: readonly Node[]): string {
  const around = parents.find(({ type }) => type === 'ClassDeclaration' || type === 'ClassExpression');
  const name = (around?.id as Node | null | undefined)?.name as string | undefined;
  return name === undefined ? path : `${path} ${name}`;
}

interface Found {
  readonly place: string;
  readonly name: string;
  readonly line: string;
}

function endsIn(source: Source): Found[] {
  const found: Found[] = [];
  if (!HANDED.test(source.path)) return found;
  visit(source.program, (node, parents) => {
    const name = endOf(node, parents);
    if (name === null) return;
    const line = `${source.path}:${source.lineAt(node.start)}`;
    found.push({ place: placeOf(source.path, parents), name, line });
  });
  return found;
}

const isAllowed = ({ place, name }: Found): boolean => ENDS_ALLOWED.get(place)?.includes(name) === true;

/** Lines that name a timer of the platform, in a call, as a value or in an import. */
function timersIn({ path, program, text, lineAt }: Source): string[] {
  const found: string[] = [];
  if (!TIMED.test(path)) return found;
  visit(program, (node, [parent, outer]) => {
    // `globalThis['setTimeout']`, and a destructured one: a text that names a timer begins it.
    const isNamed = node.type === 'Identifier' || node.type === 'Literal';
    const isDeadline = node.type === 'MemberExpression' && DEADLINE.test(text.slice(node.start, node.end));
    const name = isDeadline ? 'AbortSignal.timeout' : isNamed && String(node.name ?? node.value);
    if (!name || !(isDeadline || TIMERS.has(name))) return;
    const isType = parent?.type.startsWith('TS') === true;
    const isKey = parent?.key === node && parent.computed !== true && outer?.type !== 'ObjectPattern';
    if (!isType && !isKey) found.push(`${path}:${lineAt(node.start)} uses ${name}`);
  });
  return found;
}

/** Ends and timers belong to a lifetime; `sources` are without tests. */
export function lifetimeRules(sources: readonly Source[]): void {
  describe('lifetimes', () => {
    const ends = sources.flatMap(endsIn);
    const timers = new Map(sources.map((source) => [source.path, timersIn(source)]));

    test('say when something has ended, instead of a flag beside them', () => {
      const flags = ends.filter((end) => !isAllowed(end));
      expect(flags.map(({ line, name }) => `${line} ${name}: take a scope, and ask its \`over\``)).toEqual(
        [],
      );
    });

    test('begin every timer, through the clock or a wheel', () => {
      const raw = [...timers].filter(([path]) => !TIMERS_ALLOWED.has(path)).flatMap(([, lines]) => lines);
      expect(raw).toEqual([]);
    });

    test('have no exception that nothing needs any more', () => {
      const needed = new Set(ends.filter(isAllowed).map(({ place, name }) => `${place} ${name}`));
      const listed = [...ENDS_ALLOWED].flatMap(([place, names]) => names.map((name) => `${place} ${name}`));
      expect(listed.filter((each) => !needed.has(each))).toEqual([]);
      expect([...TIMERS_ALLOWED].filter((path) => (timers.get(path) ?? []).length === 0)).toEqual([]);
    });

    test.each([
      ['class A { #over = false; }', 1],
      ['class A { closed = false; isClosed: boolean; #isOver = true; }', 3],
      ['interface A { over: boolean; readonly closed: boolean; }', 1],
      ['const make = () => { let isStopped = false; return () => isStopped; };', 1],
      [
        'class A { #moved = false; isLost = false; #hasEnded: boolean; private gone: boolean; dead = false; }',
        5,
      ],
      ['const run = () => { let isDone = false; let wasMoved = true; return isDone && wasMoved; };', 2],
      ['interface Shell { ended: boolean; readonly lost: boolean; }', 1],
      ['const end = (moved: boolean) => moved; class A { #movedAtMs = 0; #abandoned = false; }', 0],
      ['class A { #finished = false; #terminated = false; #shut = false; #isClosing: boolean; }', 4],
      ['const run = () => { let isAborted = false; let wasDestroyed = false; let isDisposed: boolean; };', 3],
      ['class A { #isOpen = true; alive = true; #isWaiting = true; #open = false; }', 2],
      ['class A { #pending = false; #shutter = false; #isSending = false; #isExtended = false; }', 0],
      ['class A { get over() { return this.scope.over; } }', 0],
      ['class A { readonly over: boolean; readonly #closed: () => void; }', 0],
      ["class A { #state: 'live' | 'over' = 'live'; #overflowed = false; }", 0],
    ])('count the flags of %s as %i', (text, count) => {
      expect(endsIn(parse('services/sample.ts', text))).toHaveLength(count);
      expect(endsIn(parse('sdk/sample.ts', text))).toEqual([]);
    });

    test.each([
      ['const t = setTimeout(run, 5);', 1],
      ["import { setTimeout as pause } from 'node:timers/promises';", 1],
      ['globalThis.setInterval(run, 5); later(setImmediate);', 2],
      ["const signal = AbortSignal.timeout(5); AbortSignal['timeout'](5);", 2],
      ["globalThis['setTimeout'](run, 5); const { ['setInterval']: begin } = globalThis;", 2],
      ['const { setTimeout: later } = globalThis;', 1],
      ['AbortSignal.any([scope.signal]); signal.timeout(5); this.settings.timeout;', 0],
      ['type T = ReturnType<typeof setTimeout>;', 0],
      ['clock.setTimer(run, 5); const it = { setTimeout: 1 };', 0],
    ])('count the raw timers of %s as %i', (text, count) => {
      expect(timersIn(parse('services/sample.ts', text))).toHaveLength(count);
    });
  });
}
