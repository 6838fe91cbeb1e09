import { VirtualClock } from './actors/runtime/virtual.ts';
import type { Engine, EngineOptions } from './embedding.ts';
import { createEngine } from './main.ts';
import type { OptionValue } from './sdk/interactions/invocation.ts';
import type {
  FieldValue,
  InteractionAnswer,
  Place,
  ShownMessage,
  ShownModal,
} from './sdk/interactions/person.ts';

export type { InteractionAnswer, ShownMessage, ShownModal } from './sdk/interactions/person.ts';
export { VirtualClock };

/** Creates an in-memory engine whose time advances only by `clock.advance`, for tests of programs that embed one. */
export async function createTestEngine(
  options: Omit<EngineOptions, 'clock'> & { readonly clock?: VirtualClock } = {},
): Promise<{ readonly engine: Engine; readonly clock: VirtualClock }> {
  const clock = options.clock ?? new VirtualClock();
  const config = { log_level: 'silent', listen_port: 0, voice_workers: 0, ...options.config } as const;
  return { engine: await createEngine({ ...options, config, clock }), clock };
}

/** A user of a test guild. Each method resolves with what the user would see. */
export interface TestUser {
  readonly id: string;
  readonly token: string;
  /** Runs what a person types: `/ping text:hello`. */
  type(text: string): Promise<InteractionAnswer>;
  slash(name: string, options?: Readonly<Record<string, OptionValue>>): Promise<InteractionAnswer>;
  /** The bot's suggestions for `focused`, as far as it is typed in `options`. */
  autocomplete(
    name: string,
    options: Readonly<Record<string, OptionValue>>,
    focused: string,
  ): Promise<InteractionAnswer>;
  contextMenu(name: string, target: { readonly id: string }): Promise<InteractionAnswer>;
  click(message: ShownMessage, customId: string): Promise<InteractionAnswer>;
  select(message: ShownMessage, customId: string, values: readonly string[]): Promise<InteractionAnswer>;
  submit(modal: ShownModal, values: Readonly<Record<string, FieldValue>>): Promise<InteractionAnswer>;
  /** The same user elsewhere: in another channel, or in a private channel (`guildId` null). */
  in(place: Place): TestUser;
}

/** A server in memory with a guild, a bot and a user, for the tests of a bot. */
export interface TestGuild {
  readonly engine: Engine;
  readonly guildId: string;
  readonly channelId: string;
  readonly bot: { readonly id: string; readonly token: string; readonly applicationId: string };
  readonly user: TestUser;
  /** Options of a client library that tell it where the server is: `new Client({ intents, rest: guild.rest })`. */
  readonly rest: { readonly api: string; readonly cdn: string; readonly version: '10' };
  newUser(username: string): Promise<TestUser>;
  close(): Promise<void>;
}

/** Starts a server on a free port of this machine, with a guild, a bot and a user. */
export async function startTestGuild(options: EngineOptions = {}): Promise<TestGuild> {
  const config = {
    log_level: 'silent',
    ...{ listen_port: 0, admin_port: 0, voice_workers: 0, rate_limits: false },
    ...options.config,
  } as const;
  const engine = await createEngine({ ...options, config });
  try {
    const { api, cdn } = await engine.listen();
    return await testGuildOf(engine, { api, cdn, version: '10' });
  } catch (error) {
    await engine.close();
    throw error;
  }
}

const TEXT_CHANNEL = 0;

async function testGuildOf(engine: Engine, rest: TestGuild['rest']): Promise<TestGuild> {
  const { admin } = engine;
  const owner = await admin.createUser({ username: 'owner' });
  const guild = await admin.createGuild({ name: 'Test guild', ownerId: owner.user.id });
  const made = await admin.createApplication({ name: 'Bot', ownerId: owner.user.id, guildId: guild.id });
  const channel = await engine.api.create_guild_channel(
    { params: { guild_id: guild.id }, body: { name: 'tests', type: TEXT_CHANNEL } },
    { as: owner.user.id },
  );
  const channelId = idOf(channel);
  const newUser = async (username: string): Promise<TestUser> => {
    const { user, token } = await admin.createUser({ username, guildId: guild.id });
    return testUser(engine, user.id, token, { guildId: guild.id, channelId });
  };
  return {
    ...{ engine, rest, channelId, newUser, guildId: guild.id },
    bot: { id: made.bot.id, token: made.botToken, applicationId: made.application.id },
    user: await newUser('ann'),
    close: () => engine.close(),
  };
}

function idOf(body: unknown): string {
  if (typeof body === 'object' && body !== null && 'id' in body) return String(body.id);
  throw new TypeError('The answer has no id.');
}

function testUser(engine: Engine, id: string, token: string, place: Place): TestUser {
  const person = engine.person(id);
  return {
    ...{ id, token },
    type: (text) => person.type(text, place),
    slash: (name, values = {}) => person.slash(name, values, place),
    autocomplete: (name, values, focused) => person.autocomplete(name, values, focused, place),
    contextMenu: (name, target) => person.contextMenu(name, target, place),
    click: (message, customId) => person.click(message, customId, place),
    select: (message, customId, values) => person.select(message, customId, values, place),
    submit: (modal, values) => person.submit(modal, values, place),
    in: (elsewhere) => testUser(engine, id, token, elsewhere),
  };
}
