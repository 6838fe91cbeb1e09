import { describe, expect, test } from 'vitest';
import { filesUnder, parse, read, type Source } from '../support/source.ts';
import { ALL, fileNamed, type Module, moduleOf } from './modules.ts';

type Uses = Map<string, Set<'code' | 'test'>>;

const isTest = (path: string): boolean => path.startsWith('test/');

/** Files that run without being imported. */
const STARTED =
  /\.(test|bench|config)\.ts$|\.d\.ts$|^examples\/|^web\/docs\/main\.ts$|^bench\/[a-z/]+\/(host|crowd|load)\.ts$/;
/** Exports that a tool takes by their names. */
const TAKEN_BY_TOOLS: readonly (readonly [RegExp, string])[] = [
  [/\.config\.ts$/, 'default'],
  [/\.setup\.ts$/, 'default'],
];

/** Types without an import that the compiler writes into the declarations of other files. */
const IN_DECLARATIONS: readonly string[] = ['protocol/schemas/fields.ts Value'];

/** Values that their own file uses and only tests import. The list only shrinks. */
const TESTED = [
  // A fault that no interface causes.
  'compose/engine.ts assembleEngine',
  // Bounds and values that a test goes up to.
  'services/identity/identity.ts TOKENS_MAX',
  'services/oauth/devices.ts DEVICE_LIFE_SEC',
  'services/oauth/devices.ts POLL_INTERVAL_SEC',
  'services/oauth/endpoint.ts DEVICE_GRANT',
  'services/oauth/idtokens.ts KEY_PERIOD_MS',
  'services/players/keysets.ts KEY_SET_BOUNDS',
  'engine/account/account.ts SIGN_INS_MAX',
  'engine/account/account.ts SIGN_IN_AGE_MS',
  'engine/account/account.ts SIGN_IN_IDLE_MS',
  'engine/call/replay.ts SEQ_CYCLE',
  'engine/privatechannel/calls.ts RING_MS',
  'engine/call/video.ts EVERYTHING',
  'engine/oauth/holdings.ts CHAINS_PER_GRANT_MAX',
  'engine/oauth/holdings.ts CODE_LIFE_MS',
  'engine/provisional/profile.ts PROFILE_BYTES_MAX',
  'engine/social/relationships.ts RELATIONS_MAX',
  'media/crypto/gcm.ts SEAL_BYTES_MAX',
  'media/crypto/nonces.ts NONCE_WINDOW',
  'protocol/json.ts JSON_DEPTH_MAX',
  'sdk/call/call.machine.ts REJOINS_MAX',
  'sdk/call/node/rtp.ts KEY_BYTES',
  'sdk/voice/wire.ts CLOSE_TO_RESUME',
  'transports/gateway/codec/lane.ts PAYLOAD_COMPRESSION_BYTES_MIN',
  'transports/http/body.ts STALLED_MS',
  'transports/http/web.ts ROOM_PATH',
  // Tables that a test goes through.
  'config/config.ts SETTINGS',
  'protocol/confusables.generated.ts CONFUSABLES_VERSION',
  'protocol/security.ts SECURITY_EVENTS',
  'transports/admin/routes.ts ADMIN_ROUTES',
  // Functions and classes with tests of their own.
  'services/social/friendcache.ts RelationCache',
  'bench/gateway/bench.ts mergeTimelines',
  'bench/gateway/bench.ts quiet',
  'bench/gateway/seats.ts shardsOfGuild',
  'bench/lobbies/storm.ts judge',
  'bench/scale/model.ts homesOf',
  'bench/wire/websocket.ts FrameParser',
  'bench/wire/websocket.ts clientFrame',
  'cli/doctor.ts glibcVersion',
  'cli/doctor.ts portsOfConnections',
  'cli/doctor.ts nodeVersion',
  'cli/ports.ts wantedPorts',
  'config/config.ts isConfigKey',
  'engine/account/logins.ts isEmail',
  'engine/call/replay.ts nextSeq',
  'engine/call/replay.ts seqSteps',
  'engine/channel/text.ts cleanJson',
  'engine/guild/voice.members.ts voiceMemberOf',
  'engine/lobby/settings.ts listingOf',
  'engine/lobby/settings.ts numberOf',
  'engine/matchmaking/tickets.ts reachOf',
  'engine/permissions/permissions.ts highestRole',
  'engine/session/identify.ts shardOf',
  'engine/session/journal.ts checksum',
  'engine/social/relationships.ts relationOf',
  'media/crypto/nonces.ts isServerNonce',
  'media/webrtc/address.ts firstOutward',
  'protocol/usernames.ts skeleton',
  'sdk/authorize.ts readRedirect',
  'sdk/http.ts refusalOf',
  'sdk/pkce.ts base64Url',
  'sdk/voice/sdp.ts midsOf',
  'transports/admin/host.ts namedHost',
  'transports/http/cdn.ts targetOf',
  'transports/http/wellknown.ts discoveryDocument',
  'transports/rest/resources/messages.files.ts safeFilename',
  'services/operator/operator.ts granted',
];

interface ModuleSet {
  readonly modules: ReadonlyMap<string, Module>;
  /** Files that something starts by itself: a process, a page or a test. What they reach is alive. */
  readonly entries: readonly string[];
  /** Files whose exports the package publishes. */
  readonly published: readonly string[];
}

/** `export`s by `path name`, with who takes each. */
function usesOf({ modules, published }: ModuleSet): Uses {
  const uses: Uses = new Map();
  const take = (path: string, name: string, by: 'code' | 'test'): void => {
    const module = modules.get(path);
    if (!module) return;
    if (name === ALL) {
      for (const each of module.exports) take(path, each.name, by);
      for (const star of module.stars) take(star, ALL, by);
      return;
    }
    const key = `${path} ${name}`;
    const known = uses.get(key) ?? new Set();
    if (known.has(by)) return;
    uses.set(key, known.add(by));
    const own = module.exports.find((each) => each.name === name);
    if (own?.origin) take(own.origin.path, own.origin.name, by);
    if (!own) for (const star of module.stars) take(star, name, by);
  };
  for (const path of published) take(path, ALL, 'code');
  for (const module of modules.values())
    for (const { from, names } of module.uses)
      for (const name of names) take(from, name, isTest(module.path) ? 'test' : 'code');
  return uses;
}

/** Exports without an import, and values that only tests import. */
function deadExports(set: ModuleSet): { dead: string[]; tested: string[] } {
  const uses = usesOf(set);
  const dead: string[] = [];
  const tested: string[] = [];
  for (const { path, exports, inRows } of set.modules.values()) {
    if (!/\.tsx?$/.test(path)) continue;
    for (const { name, isType } of exports) {
      const by = uses.get(`${path} ${name}`);
      if (TAKEN_BY_TOOLS.some(([of, taken]) => of.test(path) && taken === name)) continue;
      if (isType && inRows.has(name)) continue;
      if (!by) dead.push(`${path} ${name}`);
      else if (!by.has('code') && !isTest(path) && !isType) tested.push(`${path} ${name}`);
    }
  }
  return { dead, tested };
}

/** Files that nothing reaches. */
function deadFiles({ modules, entries }: ModuleSet): string[] {
  const alive = new Set(entries);
  for (const path of alive) {
    const module = modules.get(path);
    if (!module) continue;
    for (const { from } of module.uses) alive.add(from);
    for (const { origin } of module.exports) if (origin) alive.add(origin.path);
    for (const each of [...module.stars, ...module.named]) alive.add(each);
  }
  return [...modules.keys()].filter((path) => !alive.has(path));
}

function moduleSetOf(sources: readonly Source[]): ModuleSet {
  const known = new Set(sources.map(({ path }) => path));
  const scripts = filesUnder('.', /\.m?js$/).map((path) => parse(path));
  const modules = new Map([...sources, ...scripts].map((source) => [source.path, moduleOf(source, known)]));
  const { bin, exports, scripts: commands } = JSON.parse(read('package.json'));
  const inPackage = (value: unknown): string[] =>
    [...JSON.stringify(value).matchAll(/[\w./-]+\.(?:ts|js)\b/g)].flatMap(([path]) => {
      const file = fileNamed(path, 'package.json', known);
      return file === null ? [] : [file];
    });
  const inTexts = filesUnder('.', /\.(html|md|ya?ml)$|^\.ci\/|^Dockerfile$/).flatMap((path) =>
    [...read(path).matchAll(/\bsrc="(\.[\w./-]+)"|\b(dist\/[\w./-]+\.js)\b/g)].flatMap(([, page, built]) => {
      const file = fileNamed(page ?? built ?? '', path, known);
      return file === null ? [] : [file];
    }),
  );
  const started = [...known].filter((path) => STARTED.test(path));
  return {
    modules,
    entries: [
      ...inPackage([bin, exports, commands]),
      ...inTexts,
      ...started,
      ...scripts.map(({ path }) => path),
    ],
    published: inPackage(exports),
  };
}

const notIn = (found: readonly string[], listed: readonly string[]): string[] =>
  found.filter((each) => !listed.includes(each));

/** Every export is imported, and every file is reached. */
export function deadRules(sources: readonly Source[]): void {
  describe('dead code', () => {
    const set = moduleSetOf(sources);
    const { dead, tested } = deadExports(set);

    test('has no export that nobody imports', () => {
      const found = notIn(dead, IN_DECLARATIONS).map((each) => `${each}: drop \`export\`, or delete it`);
      const stale = notIn(IN_DECLARATIONS, dead).map((each) => `${each}: remove it from IN_DECLARATIONS`);
      expect([...found, ...stale]).toEqual([]);
    });

    test('has no value that only tests import, beyond the listed ones', () => {
      const found = notIn(tested, TESTED).map(
        (each) => `${each}: test it through what uses it, move it into the test, or delete it`,
      );
      const stale = notIn(TESTED, tested).map((each) => `${each}: remove it from TESTED`);
      expect([...found, ...stale]).toEqual([]);
    });

    test('has no file that nothing reaches, and none that only tests reach', () => {
      const entries = set.entries.filter((path) => !isTest(path));
      const found = [
        ...deadFiles(set).map((path) => `${path}: delete it`),
        ...notIn(deadFiles({ ...set, entries }), deadFiles(set))
          .filter((path) => !isTest(path))
          .map((path) => `${path}: only tests reach it: move it below test/`),
      ];
      expect(found).toEqual([]);
    });
  });

  describe('an export', () => {
    const taken = (files: Readonly<Record<string, string>>, published: readonly string[] = []) => {
      const parsed = Object.entries(files).map(([path, text]) => parse(path, text));
      const known = new Set(Object.keys(files));
      const modules = new Map(parsed.map((source) => [source.path, moduleOf(source, known)]));
      return deadExports({ modules, entries: [], published });
    };
    const A = 'export const a = 1; export type T = 1;';

    test.each([
      ['imported by name', 'import { a, type T } from "./a.ts";', []],
      ['imported under another name', 'import { a as b } from "./a.ts"; let t: import("./a.ts").T;', []],
      ['taken from a namespace', 'import * as all from "./a.ts";', []],
      ['imported when it is needed', 'const { a } = await import("./a.ts");', ['a.ts T']],
      ['handed on to nobody', 'export { a } from "./a.ts";', ['a.ts a', 'a.ts T', 'b.ts a']],
      [
        'an input of a command',
        'export interface I {} type OwnCommands = { a: { input: I } };',
        ['a.ts a', 'a.ts T'],
      ],
      ['imported by nobody', 'a(); "./a.ts";', ['a.ts a', 'a.ts T']],
    ])('that is %s leaves dead: %s %j', (_, text, dead) => {
      expect(taken({ 'a.ts': A, 'b.ts': text }).dead).toEqual(dead);
    });

    test('is alive when an entry point of the package hands it on, by name or with all others', () => {
      expect(taken({ 'a.ts': A, 'b.ts': 'export * from "./a.ts";' }, ['b.ts']).dead).toEqual([]);
      expect(taken({ 'a.ts': A, 'b.ts': 'export { a as c } from "./a.ts";' }, ['b.ts']).dead).toEqual([
        'a.ts T',
      ]);
    });

    test('is for tests only when no other code imports its value', () => {
      const files = { 'a.ts': A, 'test/a.test.ts': 'import { a, type T } from "../a.ts";' };
      expect(taken(files)).toEqual({ dead: [], tested: ['a.ts a'] });
      expect(taken({ ...files, 'b.ts': 'import { a } from "./a.ts";' }).tested).toEqual([]);
    });
  });
}
