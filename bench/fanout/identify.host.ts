/*
 * A server for `part.identify.ts`, of the build whose entry point is the first argument: a bot in many guilds. It is set up with
 * the interface for embedding programs, which earlier builds have too.
 */

export interface IdentifyHostOrder {
  /** `end` answers with the CPU time since `begin`. */
  readonly kind: 'begin' | 'end';
}

export type IdentifyHostNews =
  | { readonly kind: 'opened'; readonly gateway: string; readonly token: string; readonly guilds: number }
  | { readonly kind: 'ended'; readonly cpuMicros: number };

/** A person may own no more. */
const GUILDS_PER_OWNER = 100;

/** The interface that all builds have. */
interface Engine {
  listen(): Promise<{ readonly gateway: string }>;
  readonly admin: {
    createApplication(of: { name: string }): Promise<{ bot: { id: string }; botToken: string }>;
    createUser(of: { username: string }): Promise<{ user: { id: string } }>;
    createGuild(of: { name: string; ownerId: string }): Promise<{ id: string }>;
    addMember(of: { guildId: string; userId: string }): Promise<void>;
  };
}
type CreateEngine = (options: { readonly config: Readonly<Record<string, unknown>> }) => Promise<Engine>;

async function open(main: string, guilds: number, databaseUrl?: string): Promise<IdentifyHostNews> {
  const { createEngine }: { readonly createEngine: CreateEngine } = await import(main);
  const engine = await createEngine({
    config: {
      ...(databaseUrl && { database_url: databaseUrl }),
      ...{ log_level: 'error', listen_port: 0, rate_limits: false, voice: false },
    },
  });
  const { gateway } = await engine.listen();
  const { bot, botToken } = await engine.admin.createApplication({ name: 'Bench' });
  for (let made = 0; made < guilds; made += GUILDS_PER_OWNER) {
    const { user } = await engine.admin.createUser({ username: `owner${made}` });
    for (let at = made; at < Math.min(guilds, made + GUILDS_PER_OWNER); at += 1) {
      const { id } = await engine.admin.createGuild({ name: `Guild ${at}`, ownerId: user.id });
      await engine.admin.addMember({ guildId: id, userId: bot.id });
    }
  }
  return { kind: 'opened', gateway, token: botToken, guilds };
}

const say = (news: IdentifyHostNews): void => void process.send?.(news);
let since = process.cpuUsage();

process.on('message', ({ kind }: IdentifyHostOrder) => {
  const { user, system } = process.cpuUsage(since);
  if (kind === 'end') say({ kind: 'ended', cpuMicros: user + system });
  else since = process.cpuUsage();
});
process.on('disconnect', () => process.exit());

const [main = '', guilds = '1', databaseUrl] = process.argv.slice(2);
say(await open(main, Number(guilds), databaseUrl));
