import { runCli } from '../../cli/program.ts';
import type { ShardProcess, World } from '../../cli/world.ts';
import type { Config } from '../../config/config.ts';
import { DEFAULTS } from '../../config/config.ts';
import type { CallListing, Engine, EngineOptions } from '../../embedding.ts';
import type { TeamChange } from '../../engine/application/teams.ts';
import { channelPair } from '../support/channel.ts';

export const VOICE = {
  endpoint: '127.0.0.1:4323',
  caFile: '/somewhere/tls/ca.pem',
  secure: true,
  udpPort: 4324,
  webrtcPort: 4325,
  webrtcAddress: '127.0.0.1',
};

const ALONE = { cluster_id: null, partitions: 8, partitions_unserved: 0, shards: [] };

interface ConfiguredClient {
  readonly applicationId: string;
  readonly redirectUris?: readonly string[];
}

/** Operations without an answer: what they are asked is noted. */
const notingAll = (asked: unknown[]) =>
  Object.fromEntries(
    [
      'configureIdentityProvider',
      'removeIdentityProvider',
      'linkChildApplication',
      'banUser',
      'unbanUser',
    ].map((name) => [name, async (...given: unknown[]) => void asked.push([name, ...given])]),
  );

const CHANNELS = [
  { id: '501', type: 4 },
  { id: '502', type: 0 },
  { id: '503', type: 4 },
  { id: '504', type: 2 },
];

const ADDRESSES = {
  api: 'http://127.0.0.1:4321/api',
  gateway: 'ws://127.0.0.1:4321',
  cdn: 'http://127.0.0.1:4321',
  voice: VOICE,
};

/** Records as the operator sees them, whatever id is asked for. */
const RECORDS = {
  showApplication: async (id: string) => ({
    application: {
      ...{ id, name: 'Beacon', owner_id: '7', verify_key: 'ab'.repeat(32) },
      ...{ event_webhooks_status: 3, event_webhooks_url: 'https://beacon.example/events' },
    },
    bot: { id: '8', username: 'Beacon' },
    commands: 2,
  }),
  showUser: async (id: string) => ({
    user: { id, username: 'juniper', bot: false },
    guildIds: ['1003'],
    tokens: 1,
    banned: false,
  }),
  showGuild: async (id: string) => ({
    guild: {
      id,
      name: 'Harbour',
      owner_id: '7',
      approximate_member_count: 3,
      approximate_presence_count: 1,
    },
    channels: [{ id: '502', type: 0, name: 'general' }],
    bots: [{ id: '9', name: 'Beacon' }],
  }),
};

const TEAM = { id: '900', name: 'Crew', icon: null, ownerId: '7', members: [] };
const TEAMS = {
  createTeam: async () => TEAM,
  changeTeam: async (_: string, change: TeamChange) =>
    change.kind === 'setMember'
      ? { ...TEAM, members: [{ userId: change.userId, role: change.role, state: change.isInvited ? 1 : 2 }] }
      : TEAM,
  setApplicationOwner: async () => ({ id: '9' }),
  showTeam: async () => ({ team: TEAM, applications: [{ id: '9', name: 'Beacon' }] }),
  listTeams: async () => [TEAM],
};

/** An engine that remembers what it was asked, with the little state the commands look at. */
export function fakeEngine(config: Partial<Config>, listings: readonly CallListing[] = []) {
  const calls: string[] = [];
  let ids = 1000n;
  const nextId = () => String(++ids);
  const guilds: { id: string; name: string }[] = [];
  const members: { userId: string; permissions?: bigint }[] = [];
  const asked: unknown[] = [];
  const engine = {
    config: { ...DEFAULTS, ...config },
    api: {
      list_guild_channels: async () => CHANNELS,
      bot_partner_sdk_token: async () => ({ access_token: 'token-of-a-player' }),
      create_guild_application_command: async () => undefined,
      create_message: async () => undefined,
    },
    admin: {
      createApplication: async ({ name }: { name: string }) => {
        const id = nextId();
        return {
          application: { id, name, verify_key: 'ab'.repeat(32) },
          bot: { id: nextId(), username: name },
          botToken: `token-of-${name}`,
          clientSecret: `secret-of-${name}`,
        };
      },
      async createUser({ username, ...given }: { username: string }) {
        asked.push(['createUser', username, given]);
        return { user: { id: nextId(), username }, token: `token-of-${username}` };
      },
      createGuild: async ({ name }: { name: string }) => {
        const id = nextId();
        guilds.push({ id, name });
        return { id, name };
      },
      addMember: async (input: { userId: string; permissions?: bigint }) => void members.push(input),
      listGuilds: async (after: string | null) => guilds.filter(({ id }) => BigInt(id) > BigInt(after ?? 0)),
      listApplications: async () => [],
      ...TEAMS,
      ...RECORDS,
      deleteGuild: async (id: string) => void asked.push(['deleteGuild', id]),
      listUsers: async () => [{ id: '7', username: 'juniper' }],
      usersNamed: async (name: string) => (name === 'juniper' ? [{ id: '7', username: name }] : []),
      setPassword: async ({ userId }: { userId: string }) => ({
        loginName: 'juniper',
        password: `made-for-${userId}`,
      }),
      rotateToken: async () => ({ token: 'token-rotated' }),
      revokeTokens: async () => {},
      configureClient: async ({ applicationId, redirectUris = [] }: ConfiguredClient) => ({
        ...{ id: applicationId, name: 'Beacon', redirect_uris: redirectUris },
        oauth2: { publicClient: true, approvedScopes: [] },
      }),
      ...notingAll(asked),
    },
    calls: { list: async () => listings },
    cluster: { status: async () => ALONE, drain: async () => undefined },
    listen: async () => {
      calls.push('listen');
      return ADDRESSES;
    },
    drain: async () => void calls.push('drain'),
    close: async () => void calls.push('close'),
    on: () => () => undefined,
    playground: { signInLink: () => 'http://127.0.0.1:4321/#code=once' },
    metrics: async () => '',
    unready: async () => ({}),
  };
  return { engine: engine as unknown as Engine, calls, members, guilds, asked };
}

export interface Ran {
  readonly exitCode: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
  readonly configs: readonly Partial<Config>[];
  readonly engines: readonly ReturnType<typeof fakeEngine>[];
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** Called while the server runs; it stops afterwards. */
  readonly whileRunning?: (out: readonly string[]) => Promise<void>;
  /** Says when to stop, in place of the end of `whileRunning`. */
  readonly stop?: Promise<void>;
  /** Rows of the terminal that the command writes to; elsewhere when absent. */
  readonly rows?: number;
  readonly whilePausing?: (out: readonly string[]) => Promise<void>;
  readonly engine?: (config: Partial<Config>) => ReturnType<typeof fakeEngine>;
  /** The real engine, in place of one that only remembers. */
  readonly createEngine?: (options: EngineOptions) => Promise<Engine>;
  /** In place of ports that are all free. */
  readonly refusedPorts?: World['refusedPorts'];
  /** Gets every line of standard error. */
  readonly onErr?: (line: string) => void;
  /** Gets hold of every process that a supervisor starts. */
  readonly onShard?: (shard: ShardProcess) => void;
}

/** Runs one command line in a world of its own. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const configs: Partial<Config>[] = [];
  const engines: ReturnType<typeof fakeEngine>[] = [];
  let pids = 5000;
  let ready = () => {};
  const running = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const world: World = {
    env: options.env ?? {},
    cwd: options.cwd ?? '/nowhere',
    version: '0.0.1',
    out: (line) => {
      out.push(line);
      ready();
    },
    err(line) {
      err.push(line);
      options.onErr?.(line);
    },
    confirm: null,
    terminal: options.rows === undefined ? null : () => ({ rows: options.rows! }),
    // The moment of a redraw is the test's.
    pause: async () => void (await options.whilePausing?.(out)),
    randomBytes: (size) => new Uint8Array(size).fill(7),
    // The engine opens none: what else runs on this machine is no matter.
    refusedPorts: options.refusedPorts ?? (async () => []),
    loadEngine: async () => async (given) => {
      if (options.createEngine) return options.createEngine(given);
      const made = (options.engine ?? fakeEngine)(given.config ?? {});
      configs.push(given.config ?? {});
      engines.push(made);
      return made.engine;
    },
    untilToldToStop: () => options.stop ?? running.then(() => options.whileRunning?.(out)),
    supervisor: null,
    startShard() {
      const shard = shardIn(world, ++pids);
      options.onShard?.(shard);
      return shard;
    },
  };
  return { exitCode: await runCli(argv, world), out, err, configs, engines };
}

/** A shard's process, within this one. Killed it is only not heard of any more. */
function shardIn(world: World, pid: number): ShardProcess {
  const pair = channelPair();
  let end = (_: null): void => undefined;
  const killed = new Promise<null>((resolve) => {
    end = resolve;
  });
  const own: World = { ...world, supervisor: pair.other, untilToldToStop: () => new Promise(() => {}) };
  // It begins in a turn of its own, as a process does; what was said to it meanwhile is not lost.
  pair.hold(true);
  const exit = Promise.resolve().then(() => {
    const code = runCli(['shard'], own);
    pair.hold(false);
    return code;
  });
  return {
    pid,
    channel: pair.one,
    exit: Promise.race([exit, killed]),
    kill() {
      pair.close();
      end(null);
    },
  };
}
